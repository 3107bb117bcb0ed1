// SPDX-License-Identifier: Apache-2.0
// scancel: ends or signals jobs, named by id or picked by what they are. Programs cancel whatever they once started,
// so an id that is unknown or finished is no error when cancelling (it is when another signal was asked for).
#include <unistd.h>

#include <algorithm>
#include <set>
#include <span>

#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/job_target.h"
#include "cli/options.h"
#include "cli/steps.h"
#include "cli/users.h"
#include "text/hostlist.h"
#include "text/signal_name.h"
#include "text/words.h"

namespace spur::cli {
namespace {

struct Scancel {
  wire::JobFilter filter;
  bool filtered = false;  // one of the options that pick jobs was given
  std::string qos, reservation, wckey;
  int signal = 0;  // 0: the whole ending sequence
  bool batch = false, full = false, interactive = false, quiet = false, me = false, cron = false;
  bool help = false, usage = false, version = false;
  int verbose = 0;
  bool sibling = false;
  ClusterList clusters;
};
using Value = std::string_view;

template <bool Scancel::* Field>
OptionStatus flag(Scancel& s, Value) {
  s.*Field = true;
  return {};
}
template <std::vector<std::string> wire::JobFilter::* Field>
OptionStatus names(Scancel& s, Value v) {
  for (const std::string_view name : text::split(v, ',')) (s.filter.*Field).emplace_back(name);
  s.filtered = true;
  return {};
}
template <std::string Scancel::* Field>
OptionStatus word(Scancel& s, Value v) {
  s.*Field = std::string(v);
  s.filtered = true;
  return {};
}

OptionStatus set_user(Scancel& s, Value v) {
  const auto uid = find_user(v);
  if (!uid) return bad_option(fmt::format("Invalid user name: {}", v), 1);
  s.filter.users = {*uid};
  s.filtered = true;
  return {};
}

OptionStatus set_state(Scancel& s, Value v) {
  using enum model::JobState;
  s.filter.states.clear();
  for (const std::string_view name : text::split(v, ',')) {
    const auto state = model::parse_state(name);
    const bool known = state && state->flag == 0 &&
                       (state->state == Pending || state->state == Running || state->state == Suspended);
    if (!known) {
      return bad_option(
          {}, 1,
          fmt::format("Invalid job state specified: {}\nValid job states are PENDING, RUNNING, and SUSPENDED", v));
    }
    s.filter.states.push_back(*state);
  }
  s.filtered = true;
  return {};
}

OptionStatus set_nodes(Scancel& s, Value v) {
  const auto hosts = text::expand_hostlist(v);
  if (!hosts) return bad_option(fmt::format("Invalid node name {}", v), 1);
  s.filter.nodes = *hosts;
  s.filtered = true;
  return {};
}

OptionStatus set_signal(Scancel& s, Value v) {
  const auto signal = text::parse_signal(v);
  if (!signal) return bad_option({}, 1, fmt::format("Unknown job signal: {}", v));
  s.signal = *signal;
  return {};
}

OptionStatus set_verbose(Scancel& s, Value) {
  ++s.verbose;
  return {};
}
OptionStatus set_clusters(Scancel& s, Value v) {
  s.clusters = parse_clusters(v);
  return {};
}
OptionStatus set_sibling(Scancel& s, Value) {
  s.sibling = true;
  return {};
}
OptionStatus accept(Scancel&, Value) {
  return {};
}

constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
// clang-format off
constexpr Option<Scancel> kOptions[] = {
    {{"account", 'A', V, "account", "act only on jobs charging this account"}, names<&wire::JobFilter::accounts>, "SCANCEL_ACCOUNT"},
    {{"admin-comment", 0, V}},
    {{"batch", 'b', N, nullptr, "signal batch shell for specified job"}, flag<&Scancel::batch>, "SCANCEL_BATCH"},
    {{"clusters", 'M', V, "names", "clusters to issue commands to: this one's name", "cluster"}, set_clusters, "SLURM_CLUSTERS"},
    {{"cron", 'c', N, nullptr, "also jobs of scrontab, where the site asks for it"}, flag<&Scancel::cron>, "SCANCEL_CRON"},
    {{"ctld", 0, N, nullptr, "route request through the controller (it always is)"}, accept, "SCANCEL_CTLD"},
    {{"full", 'f', N, nullptr, "signal batch shell and all steps for specified job"}, flag<&Scancel::full>, "SCANCEL_FULL"},
    {{"hurry", 'H', N, nullptr, "leave out the stage-out of burst buffers (there is none)"}, accept, "SCANCEL_HURRY"},
    {{"interactive", 'i', N, nullptr, "require response from user for each job"}, flag<&Scancel::interactive>, "SCANCEL_INTERACTIVE"},
    {{"me", 0, N, nullptr, "act only on jobs of the calling user"}, flag<&Scancel::me>},
    {{"name", 'n', V, "job_name", "act only on jobs with this name", "jobname"}, names<&wire::JobFilter::names>, "SCANCEL_NAME"},
    {{"nodelist", 'w', V, "nodes", "act only on jobs on these nodes"}, set_nodes},
    {{"partition", 'p', V, "partition", "act only on jobs in this partition"}, names<&wire::JobFilter::partitions>, "SCANCEL_PARTITION"},
    {{"qos", 'q', V, "qos", "act only on jobs with this quality of service"}, word<&Scancel::qos>, "SCANCEL_QOS"},
    {{"quiet", 'Q', N, nullptr, "disable warnings"}, flag<&Scancel::quiet>},
    {{"reservation", 'R', V, "reservation", "act only on jobs with this reservation"}, word<&Scancel::reservation>},
    {{"sibling", 0, V, "cluster", "the job's sibling there (there is no federation)"}, set_sibling},
    {{"signal", 's', V, "name|integer", "signal to send to job, default is SIGKILL"}, set_signal},
    {{"state", 't', V, "states", "act only on jobs in this state.  Valid job\nstates are PENDING, RUNNING and SUSPENDED"}, set_state, "SCANCEL_STATE"},
    {{"user", 'u', V, "user_name", "act only on jobs of this user"}, set_user, "SCANCEL_USER"},
    {{"verbose", 'v', N, nullptr, "verbosity level"}, set_verbose, "SCANCEL_VERBOSE"},
    {{"version", 'V', N, nullptr, "output version information and exit"}, flag<&Scancel::version>},
    {{"wckey", 0, V, "wckey", "act only on jobs with this workload\ncharacterization key"}, word<&Scancel::wckey>, "SCANCEL_WCKEY"},
    {{"help", 0, N, nullptr, "show this help message"}, flag<&Scancel::help>},
    {{"usage", 0, N, nullptr, "display brief usage message"}, flag<&Scancel::usage>},
};
// clang-format on

constexpr std::string_view kUsage =
    "Usage: scancel [-A account] [--batch] [--full] [--interactive] [-n job_name]\n"
    "               [-p partition] [-Q] [-q qos] [-R reservation] [-s signal | integer]\n"
    "               [-t PENDING | RUNNING | SUSPENDED] [--usage] [-u user_name]\n"
    "               [-V] [-v] [-w hosts...] [--wckey=wckey]\n"
    "               [job_id[_array_id]]\n";

// One job to cancel, with the name it goes by in messages.
struct Victim {
  state::JobTarget target;
  std::string shown;
  std::string name, partition;  // only known when the job was looked up
};

// An array's rest is meant without the tasks that already have records of their own, and the other way round.
state::JobTarget target_of(const model::Job& job) {
  if (!job.array_job) return {job.id, std::nullopt};
  state::JobTarget target{job.array_job, IndexSet()};
  if (job.array_pending) target.tasks = *job.array_pending;
  if (job.array_task) target.tasks->insert(*job.array_task);
  return target;
}

bool picked(const model::Job& job, const Scancel& options) {
  const model::JobSpec& spec = *job.spec;
  if (!options.qos.empty() && spec.qos != options.qos) return false;
  if (!options.reservation.empty() && spec.reservation != options.reservation) return false;
  return options.wckey.empty() || spec.wckey == options.wckey;
}

std::expected<std::vector<Victim>, int> look_up(Context& context, Controller& controller, const Scancel& options) {
  wire::JobFilter filter = options.filter;
  if (filter.states.empty()) {
    for (const auto state : {model::JobState::Pending, model::JobState::Running, model::JobState::Suspended})
      filter.states.push_back({state, 0});
  }
  const auto table = controller.jobs(filter);
  if (!table) {
    context.plain("slurm_load_jobs error: {}", words(table.error()));
    return std::unexpected(1);
  }
  std::vector<Victim> victims;
  for (const model::JobPtr& job : table->jobs) {
    if (model::is_final(job->state) || !picked(*job, options)) continue;
    victims.push_back({target_of(*job), job->het_job ? std::to_string(job->id.value) : model::display_id(*job),
                       job->spec->name,
                       job->spec->partitions.empty() ? std::string() : job->spec->partitions.front()});
  }
  // A heterogeneous job that waits is cancelled whole, by its first component.
  std::set<JobId> covered;
  for (const model::JobPtr& job : table->jobs) {
    const auto is_meant = [&](JobId id) {
      return std::ranges::any_of(victims, [&](const Victim& victim) { return victim.target.id == id; });
    };
    if (job->is_het_follower() && job->state == model::JobState::Pending && is_meant(job->het_job))
      covered.insert(job->id);
  }
  std::erase_if(victims, [&](const Victim& victim) { return covered.contains(victim.target.id); });
  return victims;
}

// The answer to "[y/n]?"; an end of input is a no.
bool confirmed(Context& context, const Victim& victim) {
  for (;;) {
    context.out.print("Cancel job_id={} name={} partition={} [y/n]? ", victim.shown, victim.name, victim.partition);
    context.out.flush();
    char first = 0, c = 0;
    while (::read(context.input, &c, 1) == 1 && c != '\n')
      if (first == 0) first = c;
    if (first == 'y' || first == 'Y') return true;
    if (first == 'n' || first == 'N' || c != '\n') return false;
  }
}

// Says what came of it. 0, or the exit status for this one.
int tell(Context& context, const Scancel& options, const Victim& victim, const Status& done) {
  if (done) return 0;
  const ErrorCode code = done.error().code;
  const bool gone = code == ErrorCode::InvalidJobId || code == ErrorCode::JobAlreadyDone;
  const bool plain = options.signal == 0 && !options.batch;
  if (gone && plain && options.verbose == 0) return 0;
  context.error("Kill job error on job id {}: {}", victim.shown,
                gone && !plain ? std::string(slurm_message(ErrorCode::InvalidJobId)) : words(done.error()));
  if (gone) return plain ? 0 : 1;
  return slurm_errno(code) & 0xff;
}

// One after another, where somebody reads along.
int cancel_each(Context& context, Controller& controller, const Scancel& options, const std::vector<Victim>& victims) {
  int status = 0;
  for (const Victim& victim : victims) {
    if (options.interactive && !confirmed(context, victim)) continue;
    if (options.verbose > 0 && options.signal == 0) context.info("Terminating job {}", victim.shown);
    if (options.verbose > 0 && options.signal != 0) context.info("Signal {} to job {}", options.signal, victim.shown);
    status = std::max(status, tell(context, options, victim,
                                   controller.cancel(victim.target, options.signal, options.batch, options.full, options.cron)));
  }
  return status;
}

// A user's whole queue is a few calls, each made durable at once.
int cancel_together(Context& context, Controller& controller, const Scancel& options, std::span<const Victim> victims) {
  constexpr std::size_t kAtOnce = 1000;
  int status = 0;
  for (; !victims.empty(); victims = victims.subspan(std::min(kAtOnce, victims.size()))) {
    const auto some = victims.first(std::min(kAtOnce, victims.size()));
    std::vector<state::JobTarget> targets;
    for (const Victim& victim : some) targets.push_back(victim.target);
    const auto done = controller.cancel_all(targets, options.signal, options.batch, options.full, options.cron);
    for (std::size_t i = 0; i < some.size(); ++i)
      status = std::max(status, tell(context, options, some[i], done ? (*done)[i] : std::unexpected(done.error())));
  }
  return status;
}

// Through the agent that manages the job's steps. 0, or the exit status.
int cancel_step(Context& context, Controller& controller, const Scancel& options, const StepTarget& target) {
  const std::string shown = fmt::format("{}.{}", target.job.value, *target.step);
  if (options.verbose > 0 && options.signal == 0) context.info("Terminating step {}", shown);
  if (options.verbose > 0 && options.signal != 0) context.info("Signal {} to step {}", options.signal, shown);
  const auto ticket = controller.step_ticket(target.job);
  Status done;
  if (!ticket || ticket->addresses.empty())
    done = std::unexpected(ticket ? Error{ErrorCode::JobAlreadyDone, {}} : ticket.error());
  else
    done = controller.signal_step(ticket->addresses.front(), ticket->ticket, *target.step, options.signal);
  if (done) return 0;
  const bool gone = done.error().code == ErrorCode::JobAlreadyDone;
  if (gone && options.signal == 0 && options.verbose == 0) return 0;
  context.error("Kill job error on job step id {}: {}", shown, words(done.error()));
  return gone && options.signal == 0 ? 0 : 1;
}

std::expected<std::vector<state::JobTarget>, int> read_ids(Context& context, const std::vector<std::string>& rest,
                                                           std::vector<StepTarget>& steps) {
  std::vector<state::JobTarget> ids;
  for (const std::string& argument : rest)
    for (const std::string& id : split_job_list(argument)) {
      const std::size_t dot = id.find('.');
      if (dot != std::string::npos && parse_job_target(id.substr(0, dot))) {
        const auto step = parse_step_target(id);
        if (!step) {
          context.error("Invalid job id {}", id);
          return std::unexpected(1);
        }
        steps.push_back(*step);
        continue;
      }
      const auto target = parse_job_target(id);
      if (!target) {
        context.error("Invalid job id {}", id);
        return std::unexpected(1);
      }
      ids.push_back(*target);
    }
  return ids;
}

std::string target_text(const state::JobTarget& target) {
  if (target.het_offset) return fmt::format("{}+{}", target.id.value, *target.het_offset);
  if (!target.tasks) return fmt::format("{}", target.id.value);
  if (target.tasks->size() == 1) return fmt::format("{}_{}", target.id.value, *target.tasks->lowest());
  return fmt::format("{}_[{}]", target.id.value, target.tasks->to_string());
}

}  // namespace

int cmd_scancel(Context& context) {
  Scancel options;
  const auto rest = read_line<Scancel>(context, kOptions, options, Order::Anywhere, 1);
  if (!rest) return rest.error();
  if (options.version) return print_version(context);
  if (options.usage || options.help) {
    context.out.write(options.usage
                          ? std::string(kUsage)
                          : "Usage: scancel [OPTIONS] [job_id[_array_id]]\n" + help_text(rows_of<Scancel>(kOptions)));
    return 0;
  }
  context.quiet = options.quiet;
  if (options.me) {
    options.filter.users = {Uid(geteuid())};
    options.filtered = true;
  }
  std::vector<StepTarget> steps;
  const auto ids = read_ids(context, *rest, steps);
  if (!ids) return ids.error();
  if (ids->empty() && steps.empty() && !options.filtered) {
    context.error("No job identification provided");
    return 1;
  }
  const auto controller = context.controller();
  if (!controller) {
    context.error("{}", words(controller.error()));
    return 1;
  }
  if (!is_this_cluster(context, **controller, options.clusters)) return 1;
  if (options.sibling && !ids->empty()) {
    // As where no job is of a federation; the status is the last byte of Slurm's number for it.
    context.error("Kill job error on job id {}: Not a valid federated job", target_text(ids->front()));
    return 7103 & 0xff;
  }
  int status = 0;
  for (const StepTarget& step : steps) status = std::max(status, cancel_step(context, **controller, options, step));
  std::vector<Victim> victims;
  if (!steps.empty() && ids->empty()) return status;
  if (options.filtered || options.interactive) {
    options.filter.jobs = *ids;
    auto found = look_up(context, **controller, options);
    if (!found) return found.error();
    victims = *std::move(found);
    // Who asks about each job hears of those that are not there.
    for (const state::JobTarget& id : *ids) {
      const bool known =
          std::ranges::any_of(victims, [&](const Victim& victim) { return victim.target.id == id.id; });
      if (known || !options.interactive || options.filtered) continue;
      context.error("Kill job error on job id {}: {}", target_text(id), slurm_message(ErrorCode::InvalidJobId));
      status = 1;
    }
  } else {
    for (const state::JobTarget& id : *ids) victims.push_back({id, target_text(id), {}, {}});
  }
  const bool each = victims.size() == 1 || options.interactive || options.verbose > 0;
  return std::max(status, each ? cancel_each(context, **controller, options, victims)
                               : cancel_together(context, **controller, options, victims));
}

}  // namespace spur::cli
