// SPDX-License-Identifier: Apache-2.0
#include "cli/squeue_watch.h"

#include <algorithm>
#include <map>
#include <set>

#include "cli/display.h"
#include "cli/live_jobs.h"
#include "cli/terminal.h"

namespace spur::cli {
namespace {

int report(Context& context, const Error& error) {
  context.plain("slurm_load_jobs error: {}", words(error));
  return 1;
}

// Everything is drawn anew when something changes, and each second, since the time that jobs have run goes on.
int watch_on_screen(Context& context, Controller& controller, const QueueView& view) {
  LiveJobs jobs(controller, view.filter, true);
  FullScreen screen(context.out, context.input);
  for (;;) {
    LiveJobs::Look look = jobs.look();
    if (look.failed) {
      screen.draw("");
      return report(context, *look.failed);
    }
    const Time now = context.now();
    look.table.as_of = std::max(look.table.as_of, now);
    const ScreenSize size = screen_size(context.out);
    const std::vector<QueueLine> lines = look.known ? view.lines(look.table) : std::vector<QueueLine>{};
    std::string text = cut_to_columns(
        fmt::format("{}   {} lines   q quits{}", date_line(now), lines.size(),
                    look.lost ? "   the controller does not answer: " + *look.lost : ""),
        size.columns);
    if (!view.header.empty()) text += "\n" + cut_to_columns(view.header, size.columns);
    const std::size_t room = static_cast<std::size_t>(std::max(1, size.rows - (view.header.empty() ? 1 : 2)));
    const bool all = lines.size() <= room;
    for (std::size_t i = 0; i < (all ? lines.size() : room - 1); ++i)
      text += "\n" + cut_to_columns(lines[i].text, size.columns);
    if (!all) text += fmt::format("\n... and {} more", lines.size() - room + 1);
    screen.draw(text);
    const Readable ready = wait_readable(context.input, jobs.fd(), 1000);
    if (ready.first) {
      const int key = screen.key();
      if (key == 'q' || key == 'Q' || key == 4 || key == -1) return 0;
    }
  }
}

class ChangeLog {
 public:
  ChangeLog(Context& context, const QueueView& view) : context_(context), view_(view) {}

  bool take(const wire::JobChanges& changes) {
    const WatchedJobs::Changed changed = jobs_.take(changes);
    for (const JobId id : changed.jobs) touched_.insert(id.value);
    for (const model::JobPtr& job : changed.gone) {
      const auto at = told_.find(job->id.value);
      if (at == told_.end()) continue;
      if (!model::is_final(job->state)) print("gone", model::display_id(*job));
      told_.erase(at);
    }
    if (!jobs_.current()) return true;
    for (const QueueLine& line : view_.lines(jobs_.table(&touched_))) tell(line);
    touched_.clear();
    begun_ = true;
    context_.out.flush();
    return true;
  }

 private:
  void tell(const QueueLine& line) {
    const model::Job* job = jobs_.find(line.job);
    // What was over before we came is no news.
    const bool news = begun_ || !job || !model::is_final(job->state) || !view_.any_state;
    std::string& told = told_[line.job.value][line.part];
    if (!news || told == line.text) return;
    told = line.text;
    print(begun_ ? "changed" : "listed", line.text);
  }

  void print(std::string_view event, std::string_view text) {
    context_.out.print("{}|{}|{}\n", moment(context_.now(), ""), event, text);
  }

  Context& context_;
  const QueueView& view_;
  WatchedJobs jobs_;
  std::set<std::uint32_t> touched_;
  std::map<std::uint32_t, std::map<std::string, std::string>> told_;  // by job: its lines
  bool begun_ = false;
};

}  // namespace

int watch_queue(Context& context, Controller& controller, const QueueView& view) {
  if (is_terminal(context.out)) return watch_on_screen(context, controller, view);
  ChangeLog log(context, view);
  wire::JobWatch watch{.filter = view.filter,
                       .on_changes = [&](const wire::JobChanges& changes) { return log.take(changes); }};
  if (view.any_state) watch.filter.all_states = true;
  const Status end = controller.watch_jobs(watch);
  return end ? 0 : report(context, end.error());
}

}  // namespace spur::cli
