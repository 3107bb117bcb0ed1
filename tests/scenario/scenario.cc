// SPDX-License-Identifier: Apache-2.0
#include "scenario.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/index_set.h"
#include "options.h"
#include "sched/naive_test.h"
#include "text/array_spec.h"

namespace spur::scenario {

Scenario::Scenario() : zero_(from_unix_seconds(1'700'000'000)), now_(zero_) {}

const std::map<std::string, Scenario::Handler>& Scenario::handlers() {
  static const std::map<std::string, Handler> table{
      {"nodes", &Scenario::nodes},
      {"partition", &Scenario::partition},
      {"switch", &Scenario::add_switch},
      {"block", &Scenario::add_block},
      {"config", &Scenario::config},
      {"reconfigure", &Scenario::reconfigure},
      {"register", &Scenario::register_node},
      {"lost", &Scenario::lost},
      {"silent", &Scenario::silent},
      {"responding", &Scenario::responding},
      {"drain", &Scenario::drain},
      {"down", &Scenario::down},
      {"undrain", &Scenario::undrain},
      {"resume_node", &Scenario::resume_node},
      {"put_off", &Scenario::put_off},
      {"create_nodes", &Scenario::create_nodes},
      {"delete_nodes", &Scenario::delete_nodes},
      {"claim", &Scenario::claim},
      {"submit", &Scenario::submit},
      {"run", &Scenario::run},
      {"will_run", &Scenario::will_run},
      {"done", &Scenario::done},
      {"cancel", &Scenario::cancel},
      {"timeout", &Scenario::timeout},
      {"hold", &Scenario::hold},
      {"release", &Scenario::release},
      {"requeue", &Scenario::requeue},
      {"suspend", &Scenario::suspend},
      {"resume", &Scenario::resume},
      {"update", &Scenario::update},
      {"purge", &Scenario::purge},
      {"reserve", &Scenario::reserve},
      {"unreserve", &Scenario::unreserve},
      {"show_reservations", &Scenario::show_reservations},
      {"at", &Scenario::at},
      {"plan", &Scenario::plan},
      {"show", &Scenario::show},
      {"show_nodes", &Scenario::show_nodes},
      {"allocation", &Scenario::allocation},
  };
  return table;
}

Result<std::string> Scenario::play(const std::string& text) {
  out_.clear();
  const Line line = parse_line(text);
  const auto handler = handlers().find(line.directive);
  if (handler == handlers().end()) return fail(ErrorCode::InvalidArgument, "unknown directive " + line.directive);
  const bool shapes = line.directive == "nodes" || line.directive == "partition" || line.directive == "config" ||
                      line.directive == "switch" || line.directive == "block";
  if (!shapes) SPUR_TRY(set_up());
  SPUR_TRY((this->*handler->second)(line));
  if (is_set_up_) SPUR_TRY(cluster_.check_invariants());
  return out_;
}

state::Outcome Scenario::try_apply(state::Command command) {
  state::Batch batch{now_, {}};
  batch.commands.push_back(std::move(command));
  std::vector<state::Effect> effects;
  return std::move(cluster_.apply(cluster_.index() + 1, batch, &effects).at(0));
}

state::Outcome Scenario::apply(state::Command command) {
  auto outcome = try_apply(std::move(command));
  if (!outcome.status)
    say(fmt::format("refused: {} ({})", spur::name_of(outcome.status.error().code), outcome.status.error().message));
  return outcome;
}

// ---- time and planning

Status Scenario::move_to(const Line& line) {
  if (const std::string* to = line.option("at")) {
    SPUR_ASSIGN(const Duration span, parse_span(*to));
    if (zero_ + span < now_) return fail(ErrorCode::InvalidArgument, "time does not go backwards");
    now_ = zero_ + span;
    let_reservations_be();
  }
  return {};
}

Status Scenario::at(const Line& line) {
  if (line.words.size() != 1) return fail(ErrorCode::InvalidArgument, "at TIME");
  Line moved = line;
  moved.options.emplace_back("at", line.words[0]);
  return move_to(moved);
}

Result<sched::Plan> Scenario::make_plan() {
  const auto text_of = [&](const sched::Plan& plan) {
    std::string text;
    for (const auto& start : plan.starts) {
      text +=
          fmt::format("start {} {}", start.job.value, start.array_task ? fmt::format("{}", *start.array_task) : "");
      for (const auto& grant : start.allocation->nodes) {
        text +=
            fmt::format(" {}/{}/{}:{}", grant.node.value, grant.tasks, grant.memory_mib, fmt::join(grant.cpus, ","));
        for (const auto& devices : grant.devices)
          text += fmt::format("+{}{}{}{}", devices.gres, fmt::join(devices.indices, ","),
                              devices.shares.empty() ? "" : "x", fmt::join(devices.shares, ","));
      }
      text += "; ";
    }
    for (const auto& wait : plan.waits)
      text += fmt::format("wait {} {} {}; ", wait.job.value, model::reason_name(wait.reason),
                          to_micros(wait.expected_start));
    return text + fmt::format("wake {} more {}", to_micros(plan.wake_at), plan.more);
  };
  auto plan = sched::plan(cluster_.view(), params_, now_);
  const auto naive = sched::Naive(cluster_.view(), params_, now_).run();
  if (text_of(plan) != text_of(naive))
    return fail(ErrorCode::Internal, fmt::format("the naive scheduler disagrees:\n  plan:  {}\n  naive: {}",
                                                 text_of(plan), text_of(naive)));
  return plan;
}

// Starts what starts, then tells of all that wait.
Status Scenario::plan(const Line& line) {
  SPUR_TRY(move_to(line));
  std::map<JobId, Time> expected;
  for (bool more = true; more;) {
    SPUR_ASSIGN(const sched::Plan made, make_plan());
    SPUR_TRY(check_reasons(made));
    for (const auto& start : made.starts) {
      const auto outcome = apply(state::StartJob{start.job, start.array_task, start.allocation, start.limit});
      if (!outcome.status) return fail(ErrorCode::Internal, "a start was refused: " + outcome.status.error().message);
      const auto& job = *model::find_job(cluster_.view(), outcome.job);
      std::string text = fmt::format("start {} on {}", name_of(job), job.last_nodes);
      if (cluster_.view().partitions->size() > 1) text += " in " + start.allocation->partition;
      if (start.limit.is_set()) text += fmt::format(" for {}m", start.limit.minutes_value());
      say(text);
    }
    state::SetReasons reasons;
    expected.clear();
    for (const auto& wait : made.waits) {
      reasons.rows.push_back({wait.job, wait.reason, wait.expected_start});
      if (is_set(wait.expected_start)) expected[wait.job] = wait.expected_start;
    }
    if (!reasons.rows.empty()) apply(std::move(reasons));
    more = made.more;
    if (!more && is_set(made.wake_at)) say("wake  " + show_time(made.wake_at));
  }
  cluster_.view().pending.for_each([&](std::uint32_t, const model::JobPtr& job) {
    std::string text = fmt::format("wait  {} reason={}", name_of(*job), model::reason_name(job->reason));
    if (expected.contains(job->id)) text += " expected=" + show_time(expected[job->id]);
    say(text);
  });
  return {};
}

// Every job that the plan leaves waiting has one reason, from this plan or from its record.
Status Scenario::check_reasons(const sched::Plan& plan) const {
  std::map<JobId, model::Reason> reasons;
  for (const auto& wait : plan.waits) reasons[wait.job] = wait.reason;
  Status status;
  cluster_.view().pending.for_each([&](std::uint32_t, const model::JobPtr& job) {
    const auto told = reasons.find(job->id);
    const bool starts = std::ranges::find(plan.starts, job->id, &sched::Start::job) != plan.starts.end();
    const model::Reason reason = told == reasons.end() ? job->reason : told->second;
    if (reason == model::Reason::None && !starts && !plan.more)
      status = fail(ErrorCode::Internal, name_of(*job) + " waits without a reason");
  });
  return status;
}

// ---- looking

Status Scenario::show(const Line& line) {
  if (line.words.empty()) {
    cluster_.view().jobs.for_each([&](std::uint32_t, const model::JobPtr& job) { say(describe(*job)); });
    return {};
  }
  for (const auto& word : line.words) {
    SPUR_ASSIGN(const auto records, records_of(word));
    for (const model::Job* job : records) say(describe(*job));
  }
  return {};
}

std::string Scenario::describe(const model::Job& job) const {
  std::string text = fmt::format("{} {}", name_of(job), model::long_name(job.state, job.flags));
  if (job.reason != model::Reason::None) text += fmt::format(" reason={}", model::reason_name(job.reason));
  if (!job.last_nodes.empty()) text += " on " + job.last_nodes;
  if (model::is_final(job.state)) text += fmt::format(" exit={}:{}", job.exit.code, job.exit.signal);
  if (job.restarts > 0) text += fmt::format(" restarts={}", job.restarts);
  return text;
}

Status Scenario::show_nodes(const Line&) {
  cluster_.view().nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
    say(fmt::format("{} {} cpus={}/{}", node->name, model::state_text(*node, false), node->cpus_allocated,
                    node->hardware.cpus));
  });
  return {};
}

Status Scenario::allocation(const Line& line) {
  const auto ranges = [](const auto& numbers) {
    IndexSet set;
    for (const auto n : numbers) set.insert(n);
    return set.to_string();
  };
  for (const auto& word : line.words) {
    SPUR_ASSIGN(const auto records, records_of(word));
    for (const model::Job* job : records) {
      if (!job->allocation) {
        say(name_of(*job) + " has none");
        continue;
      }
      for (const auto& grant : job->allocation->nodes) {
        std::string text =
            fmt::format("{} {} tasks={} cpus={}", name_of(*job),
                        (*cluster_.view().nodes.find(grant.node.value))->name, grant.tasks, ranges(grant.cpus));
        if (grant.memory_mib) text += fmt::format(" mem={}", grant.memory_mib);
        if (!grant.task_ids.empty()) text += fmt::format(" numbers={}", ranges(grant.task_ids));
        for (const auto& devices : grant.devices)
          text += fmt::format(" {}{}{}={}{}{}", devices.gres, devices.type.empty() ? "" : ":", devices.type,
                              ranges(devices.indices), devices.shares.empty() ? "" : " of each ",
                              fmt::join(devices.shares, ","));
        say(text);
      }
    }
  }
  return {};
}

std::string Scenario::show_time(Time time) const {
  return show_span(time - zero_);
}

// ---- names

Result<JobId> Scenario::id_of(const std::string& name) const {
  if (const auto at = ids_.find(name); at != ids_.end()) return at->second;
  return fail(ErrorCode::InvalidArgument, "no job is called " + name);
}

Result<state::JobTarget> Scenario::target_of(const std::string& word) const {
  const auto underscore = word.find('_');
  SPUR_ASSIGN(const JobId id, id_of(word.substr(0, underscore)));
  if (underscore == std::string::npos) return state::JobTarget{id, {}};
  SPUR_ASSIGN(const text::ArraySpec tasks, text::parse_array_spec(word.substr(underscore + 1)));
  return state::JobTarget{id, tasks.tasks};
}

Result<std::vector<const model::Job*>> Scenario::records_of(const std::string& word) const {
  SPUR_ASSIGN(const state::JobTarget target, target_of(word));
  const model::View& view = cluster_.view();
  std::vector<const model::Job*> found;
  const auto wanted = [&](const model::Job& job) {
    if (!target.tasks) return true;
    return job.array_task ? target.tasks->contains(*job.array_task)
                          : job.is_array_rest() && !job.array_pending->intersect(*target.tasks).empty();
  };
  if (const auto* tasks = view.arrays.find(target.id.value))
    tasks->for_each([&](std::uint32_t, JobId id) {
      if (const model::Job* job = model::find_job(view, id); job && wanted(*job)) found.push_back(job);
    });
  const model::Job* own = model::find_job(view, target.id);
  if (own && wanted(*own) && std::ranges::find(found, own) == found.end()) found.push_back(own);
  if (found.empty()) return fail(ErrorCode::InvalidArgument, "no record of " + word);
  return found;
}

std::string Scenario::name_of(const model::Job& job) const {
  const auto at = names_.find(job.array_job ? job.array_job : job.id);
  const std::string name = at == names_.end() ? fmt::format("job{}", job.id.value) : at->second;
  if (!job.array_job) return name;
  const std::string shown = model::display_id(job);
  return name + shown.substr(shown.find('_'));
}

}  // namespace spur::scenario
