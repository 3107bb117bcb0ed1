// SPDX-License-Identifier: Apache-2.0
// spur explain JOB: why a job waits, since it is the question users have at night. What stands in its way, when it is
// planned to start, and which smaller wish would start it sooner; all of it tried out by the controller's own
// planner.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/display.h"
#include "cli/job_target.h"
#include "cli/json.h"
#include "cli/options.h"
#include "text/date.h"
#include "text/time_limit.h"

namespace spur::cli {
namespace {

using Kind = wire::JobExplanation::Blocker::Kind;
using Certainty = wire::JobExplanation::Certainty;

struct Explain {
  bool json = false, help = false, version = false;
};
template <bool Explain::* Field>
OptionStatus flag(Explain& e, std::string_view) {
  e.*Field = true;
  return {};
}
constexpr Option<Explain> kOptions[] = {
    {{"json", 0, Takes::Nothing, nullptr, "write the answer as JSON"}, flag<&Explain::json>},
    {{"version", 'V', Takes::Nothing, nullptr, "print the version"}, flag<&Explain::version>},
    {{"help", 0, Takes::Nothing, nullptr, "show this help message"}, flag<&Explain::help>},
};

std::string job_list(const std::vector<JobId>& jobs) {
  constexpr std::size_t kShown = 8;
  std::string out;
  for (std::size_t i = 0; i < jobs.size() && i < kShown; ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ", ", jobs[i].value);
  if (jobs.size() > kShown) out += fmt::format(" and {} more", jobs.size() - kShown);
  return out;
}

std::string blocker_text(const wire::JobExplanation::Blocker& blocker) {
  switch (blocker.kind) {
    case Kind::Hold:
      return "the hold on it (scontrol release)";
    case Kind::Dependency:
      return blocker.jobs.empty() ? "its dependency" : "its dependency on job " + job_list(blocker.jobs);
    case Kind::BeginTime:
      return "its begin time";
    case Kind::PartitionState:
      return fmt::format("the state of partition {}", blocker.partition);
    case Kind::PartitionLimit:
      return fmt::format("the limits of partition {}", blocker.partition);
    case Kind::Node:
      return fmt::format("node {} being out of service", blocker.node);
    case Kind::Reservation:
      return fmt::format("reservation {}", blocker.partition);
    case Kind::RunningJob:
      return fmt::format("running job {} ({})", job_list(blocker.jobs),
                         is_set(blocker.ends) ? "ends by " + text::format_date(blocker.ends) : "no time limit");
    case Kind::Queue:
      if (blocker.jobs.size() == 1) return fmt::format("job {}, which comes first", job_list(blocker.jobs));
      return fmt::format("{} jobs that come first: {}", blocker.jobs.size(), job_list(blocker.jobs));
  }
  return {};
}

std::string change_text(const wire::JobExplanation::Change& change) {
  if (change.instead.empty())
    return change.now.empty() ? fmt::format("without {}", change.option)
                              : fmt::format("without {} {}", change.option, change.now);
  return fmt::format("{} {} instead of {}", change.option, change.instead, change.now);
}

std::string date(Time start, Time now) {
  return fmt::format("{} (in {})", text::format_date(start),
                     text::format_elapsed(std::chrono::floor<seconds>(start - now)));
}

std::string when(const wire::JobExplanation::Change& change, Time now) {
  if (change.start <= now) return "now";
  switch (change.certainty) {
    case Certainty::Promised:
      return fmt::format("at {}, promised", date(change.start, now));
    case Certainty::ByLimits:
      return fmt::format("at {}, by the limits", date(change.start, now));
    case Certainty::Expected:
      break;
  }
  return fmt::format("about {}", date(change.start, now));
}

std::string start_text(const wire::JobExplanation& told) {
  const bool known = is_set(told.start);
  const std::string at = known ? date(told.start, told.as_of) : std::string();
  switch (told.certainty) {
    case Certainty::Promised:
      return known ? fmt::format("It is promised to start at {}.\n", at) : std::string();
    case Certainty::ByLimits:
      if (!known) return "It will not start unless somebody does something.\n";
      return fmt::format("It starts at {} by the limits: if nobody else comes and all jobs use theirs.\n", at);
    case Certainty::Expected:
      break;
  }
  return known ? fmt::format("It is expected to start about {}.\n", at) : std::string();
}

void print_text(Context& context, const std::string& shown, const wire::JobExplanation& told) {
  auto& out = context.out;
  if (told.starts_now) {
    out.print("Job {} starts with the next planning.\n", shown);
    return;
  }
  out.print("Job {} waits ({}).\n", shown, model::reason_name(told.reason));
  out.write(start_text(told));
  if (told.impossible) out.print("Its request does not fit into the cluster, whatever else ends.\n");
  if (!told.blockers.empty()) {
    out.print("It would start now without{}\n", told.blockers.size() == 1 ? "" : " all of these");
    for (const auto& blocker : told.blockers) out.print("  {}\n", blocker_text(blocker));
  }
  if (told.changes.empty()) return;
  out.print("It would start sooner with\n");
  for (const auto& change : told.changes) out.print("  {:<40} {}\n", change_text(change), when(change, told.as_of));
}

constexpr std::string_view kind_name(Kind kind) {
  constexpr std::string_view kNames[] = {"hold", "dependency",  "begin_time", "partition_state", "partition_limit",
                                         "node", "running_job", "queue",      "reservation"};
  return kNames[static_cast<std::size_t>(kind)];
}

constexpr std::string_view certainty_name(Certainty certainty) {
  constexpr std::string_view kNames[] = {"expected", "limits", "promised"};
  return kNames[static_cast<std::size_t>(certainty)];
}

void print_json(Context& context, const wire::JobExplanation& told) {
  Json json;
  json.open_object();
  json.field("job_id", told.job.value).field("reason", model::reason_name(told.reason));
  json.field("starts_now", told.starts_now).field("impossible", told.impossible);
  json.moment("start_time", told.start)
      .field("certainty", certainty_name(told.certainty))
      .moment("as_of", told.as_of);
  json.open_array("blockers");
  for (const auto& blocker : told.blockers) {
    json.open_object().field("kind", kind_name(blocker.kind)).open_array("jobs");
    for (const JobId job : blocker.jobs) json.field({}, job.value);
    json.close_array().field("node", blocker.node).field("partition", blocker.partition);
    json.moment("ends", blocker.ends).close_object();
  }
  json.close_array().open_array("changes");
  for (const auto& change : told.changes) {
    json.open_object().field("option", change.option).field("now", change.now).field("instead", change.instead);
    json.moment("start_time", change.start).field("certainty", certainty_name(change.certainty)).close_object();
  }
  json.close_array().close_object();
  context.out.write(std::move(json).finish());
}

}  // namespace

int cmd_explain(Context& context) {
  Explain options;
  const auto rest = read_line<Explain>(context, kOptions, options, Order::Anywhere, 1);
  if (!rest) return rest.error();
  if (options.version) return print_version(context);
  if (options.help) {
    context.out.write("Usage: spur explain [--json] JOB[_TASK]\n" + help_text(rows_of<Explain>(kOptions)));
    return 0;
  }
  if (rest->size() != 1) {
    context.error("one job id is needed");
    return 1;
  }
  const auto target = parse_job_target(rest->front());
  if (!target || (target->tasks && target->tasks->size() != 1)) {
    context.error("Invalid job id specified: {}", rest->front());
    return 1;
  }
  const auto controller = context.controller();
  if (!controller) {
    context.error("{}", words(controller.error()));
    return 1;
  }
  const auto task = target->tasks ? target->tasks->lowest() : std::nullopt;
  const auto told = (*controller)->explain(target->id, task);
  if (!told) {
    context.error("{}: {}", rest->front(), words(told.error()));
    return 1;
  }
  options.json ? print_json(context, *told) : print_text(context, rest->front(), *told);
  return 0;
}

}  // namespace spur::cli
