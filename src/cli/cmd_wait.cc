// SPDX-License-Identifier: Apache-2.0
// spur wait JOB...: until jobs have ended, without asking again and again: the controller tells of each change. A
// controller that goes away meanwhile is waited for, or another one takes over. The exit status is that of
// `sbatch --wait`: the highest of the jobs' own.
#include <algorithm>

#include "cli/commands.h"
#include "cli/display.h"
#include "cli/job_target.h"
#include "cli/options.h"
#include "cli/watched_jobs.h"
#include "state/job_target.h"
#include "text/decimal.h"
#include "text/time_limit.h"

namespace spur::cli {
namespace {

constexpr int kTimedOut = 124;  // as timeout(1) has it

struct Wait {
  bool any = false, quiet = false, help = false, version = false;
  std::optional<seconds> timeout;
};
template <bool Wait::* Field>
OptionStatus flag(Wait& w, std::string_view) {
  w.*Field = true;
  return {};
}
OptionStatus set_timeout(Wait& w, std::string_view value) {
  if (const auto plain = text::parse_decimal32(value)) {
    w.timeout = seconds(*plain);
    return {};
  }
  const auto span = text::parse_time_seconds(value);
  if (!span || !*span) return bad_option(fmt::format("Invalid --timeout: {}", value), 1);
  w.timeout = **span;
  return {};
}
constexpr Option<Wait> kOptions[] = {
    {{"any", 'a', Takes::Nothing, nullptr, "until one of the jobs has ended, not all"}, flag<&Wait::any>},
    {{"quiet", 'q', Takes::Nothing, nullptr, "do not print how each job ended"}, flag<&Wait::quiet>},
    {{"timeout", 't', Takes::Value, "time", "give up after so long, with exit status 124:\nseconds, or minutes:seconds, days-hours, ..."},
     set_timeout},
    {{"version", 'V', Takes::Nothing, nullptr, "print the version"}, flag<&Wait::version>},
    {{"help", 'h', Takes::Nothing, nullptr, "show this help message"}, flag<&Wait::help>},
};

// One word of the line, and what became of it.
struct Awaited {
  std::string word;
  state::JobTarget target;
  bool seen = false, over = false;
  int status = 0;
};

class Waiting {
 public:
  Waiting(Context& context, const Wait& options, std::vector<Awaited> awaited)
      : context_(context), options_(options), awaited_(std::move(awaited)) {}

  wire::JobWatch watch() {
    wire::JobWatch watch{.filter = {}, .on_changes = [this](wire::JobChanges& changes) { return take(changes); }};
    for (const Awaited& one : awaited_) watch.filter.jobs.push_back(one.target);
    watch.filter.all_states = true;
    if (options_.timeout) watch.timeout = *options_.timeout;
    return watch;
  }
  int status() const {
    int highest = unknown_ ? 1 : 0;
    for (const Awaited& one : awaited_)
      if (one.over) highest = std::max(highest, one.status);
    return highest;
  }

 private:
  static bool is_over(const model::Job& job) {
    return model::is_final(job.state) && (job.flags & model::kCompleting) == 0;
  }

  // False: enough.
  bool take(const wire::JobChanges& changes) {
    const WatchedJobs::Changed changed = jobs_.take(changes);
    for (const model::JobPtr& job : changed.gone)
      if (!is_over(*job)) vanished(*job);
    if (!jobs_.current()) return true;
    const wire::JobTable table = jobs_.table();
    for (Awaited& one : awaited_)
      if (!one.over) look_at(one, table);
    const auto over = [](const Awaited& one) { return one.over; };
    return options_.any ? std::ranges::none_of(awaited_, over) : !std::ranges::all_of(awaited_, over);
  }

  void look_at(Awaited& one, const wire::JobTable& table) {
    int status = 0;
    bool seen = false;
    const model::Job* worst = nullptr;
    for (const model::JobPtr& job : table.jobs) {
      if (!state::means(one.target, *job)) continue;
      seen = true;
      if (!is_over(*job)) {
        one.seen = true;
        return;
      }
      const int its = exit_status_of(*job);
      if (!worst || its > status) worst = job.get();
      status = std::max(status, its);
    }
    if (!seen && !one.seen) {
      context_.error("{}: {}", one.word, slurm_message(ErrorCode::InvalidJobId));
      unknown_ = true;
    }
    one.over = true;
    one.status = std::max(one.status, status);
    if (!worst || options_.quiet) return;
    context_.out.print("{} {} {}:{}\n", one.word, model::long_name(worst->state, worst->flags), worst->exit.code,
                       worst->exit.signal);
    context_.out.flush();
  }

  // It ended, and was forgotten, while there was nobody to tell.
  void vanished(const model::Job& job) {
    context_.error("job {} is not known any more: how it ended was not seen", model::display_id(job));
    for (Awaited& one : awaited_)
      if (state::means(one.target, job)) one.status = 1;
  }

  Context& context_;
  const Wait& options_;
  std::vector<Awaited> awaited_;
  WatchedJobs jobs_;
  bool unknown_ = false;
};

}  // namespace

int cmd_wait(Context& context) {
  Wait options;
  const auto words_given = read_line<Wait>(context, kOptions, options, Order::Anywhere, 1);
  if (!words_given) return words_given.error();
  if (options.version) return print_version(context);
  if (options.help || words_given->empty()) {
    (options.help ? context.out : context.err)
        .write("Usage: spur wait [OPTIONS] JOB...\n" + help_text(rows_of<Wait>(kOptions)));
    return options.help ? 0 : 1;
  }
  std::vector<Awaited> awaited;
  for (const std::string& word : *words_given) {
    for (const std::string& part : split_job_list(word)) {
      const auto target = parse_job_target(part);
      if (!target) {
        context.error("Invalid job id: {}", part);
        return 1;
      }
      awaited.push_back({.word = part, .target = *target});
    }
  }
  const auto controller = context.controller();
  if (!controller) {
    context.error("{}", words(controller.error()));
    return 1;
  }
  Waiting waiting(context, options, std::move(awaited));
  const Status done = (*controller)->watch_jobs(waiting.watch());
  if (done) return waiting.status();
  if (options.timeout && done.error().code == ErrorCode::TimedOut) {
    context.error("not ended within {}", text::format_elapsed(*options.timeout));
    return kTimedOut;
  }
  context.error("{}", words(done.error()));
  return 1;
}

}  // namespace spur::cli
