// SPDX-License-Identifier: Apache-2.0
// Directives about jobs.
#include <fmt/format.h>

#include <algorithm>

#include "options.h"
#include "scenario.h"
#include "sched/plan.h"

namespace spur::scenario {
namespace {

Result<std::string> job_name(const Line& line) {
  if (line.words.empty()) return fail(ErrorCode::InvalidArgument, line.directive + " JOB");
  return line.words[0];
}

bool has_word(const Line& line, std::string_view word) {
  return std::ranges::find(line.words, word) != line.words.end();
}

}  // namespace

Status Scenario::submit(const Line& line) {
  SPUR_ASSIGN(const std::string name, job_name(line));
  auto spec = std::make_shared<model::JobSpec>();
  spec->name = name;
  spec->uid = Uid(1000);
  // A job nobody has submitted: an id far away.
  const JobContext context{zero_, [this](const std::string& other) -> Result<JobId> {
                             return other == "nosuch" ? JobId(99'999) : id_of(other);
                           }};
  SPUR_TRY(apply_job_options(line, context, *spec));
  if (const Status checked = sched::check_submit(cluster_.view(), *spec); !checked) {
    say(fmt::format("refused {}: {} ({})", name, spur::name_of(checked.error().code), checked.error().message));
    return {};
  }
  const auto outcome = apply(state::SubmitJob{spec, ""});
  if (!outcome.status) return {};
  ids_[name] = outcome.job;
  names_[outcome.job] = name;
  return {};
}

// Submitted and started at once, whoever else waits.
Status Scenario::run(const Line& line) {
  SPUR_TRY(submit(line));
  SPUR_ASSIGN(const JobId id, id_of(line.words[0]));
  SPUR_ASSIGN(const sched::Plan made, make_plan());
  bool started = false;
  for (const auto& start : made.starts) {
    if (start.job != id) continue;
    started = true;
    SPUR_TRY(apply(state::StartJob{start.job, start.array_task, start.allocation, start.limit}).status);
  }
  if (!started) return fail(ErrorCode::InvalidArgument, line.words[0] + " does not start");
  return {};
}

Status Scenario::will_run(const Line& line) {
  model::JobSpec spec;
  spec.uid = Uid(1000);
  Line named = line;
  named.words.insert(named.words.begin(), "forecast");
  const JobContext context{zero_, [this](const std::string& other) { return id_of(other); }};
  SPUR_TRY(apply_job_options(named, context, spec));
  const auto forecast = sched::will_run(cluster_.view(), spec, now_);
  if (!forecast) {
    say(fmt::format("never: {} ({})", spur::name_of(forecast.error().code), forecast.error().message));
    return {};
  }
  say(fmt::format("would start at {} on {} with {} cpus in {}", show_time(forecast->start),
                  model::node_list(cluster_.view(), forecast->nodes), forecast->cpus, forecast->partition));
  return {};
}

// "done JOB [exit=N] [signal=N] [node=NAME] [oom] [failed_launch]": all nodes report, or one.
Status Scenario::done(const Line& line) {
  SPUR_TRY(move_to(line));
  SPUR_ASSIGN(const std::string word, job_name(line));
  SPUR_ASSIGN(const auto records, records_of(word));
  std::vector<state::NodeJobDone> reports;
  for (const model::Job* job : records) {
    for (const NodeIndex index : job->nodes_left) {
      state::NodeJobDone report;
      report.job = job->id;
      report.epoch = job->epoch;
      report.node = (*cluster_.view().nodes.find(index.value))->name;
      report.is_batch_host = report.node == job->batch_host;
      report.out_of_memory = has_word(line, "oom");
      report.launch_failed = has_word(line, "failed_launch");
      const std::string* only = line.option("node");
      if (only && *only != report.node) continue;
      const std::string *code = line.option("exit"), *signal = line.option("signal");
      if (code) {
        SPUR_ASSIGN(const std::uint64_t n, parse_number(*code));
        report.exit.code = static_cast<std::uint16_t>(n);
      }
      if (signal) {
        SPUR_ASSIGN(const std::uint64_t n, parse_number(*signal));
        report.exit.signal = static_cast<std::uint16_t>(n);
      }
      reports.push_back(std::move(report));
    }
  }
  if (reports.empty()) return fail(ErrorCode::InvalidArgument, word + " is on no such node");
  for (auto& report : reports) apply(std::move(report));
  return {};
}

Status Scenario::on_job(const Line& line, const std::function<state::Command(state::JobTarget)>& make) {
  SPUR_TRY(move_to(line));
  SPUR_ASSIGN(const std::string word, job_name(line));
  SPUR_ASSIGN(state::JobTarget target, target_of(word));
  apply(make(std::move(target)));
  return {};
}

Status Scenario::cancel(const Line& line) {
  return on_job(line, [](state::JobTarget target) {
    state::CancelJob command;
    command.target = std::move(target);
    command.by_user = true;
    command.by = Uid(1000);
    return command;
  });
}
Status Scenario::timeout(const Line& line) {
  return on_job(line, [](state::JobTarget target) {
    state::CancelJob command;
    command.target = std::move(target);
    command.final_state = model::JobState::Timeout;
    command.reason = model::Reason::TimeLimit;
    return command;
  });
}
Status Scenario::hold(const Line& line) {
  const auto who = has_word(line, "admin") ? model::Hold::Admin : model::Hold::User;
  return on_job(line, [who](state::JobTarget target) { return state::HoldJob{std::move(target), who}; });
}
Status Scenario::release(const Line& line) {
  return on_job(line, [](state::JobTarget target) { return state::ReleaseJob{std::move(target)}; });
}
Status Scenario::requeue(const Line& line) {
  const auto how = has_word(line, "hold") ? model::AfterCompleting::RequeueHold : model::AfterCompleting::Requeue;
  return on_job(line, [how](state::JobTarget target) { return state::RequeueJob{std::move(target), how}; });
}
Status Scenario::suspend(const Line& line) {
  return on_job(line, [](state::JobTarget target) { return state::SuspendJob{std::move(target)}; });
}
Status Scenario::resume(const Line& line) {
  return on_job(line, [](state::JobTarget target) { return state::ResumeJob{std::move(target)}; });
}

// "update JOB options": priority, time and max_running beside the specification, the rest in it.
Status Scenario::update(const Line& line) {
  SPUR_ASSIGN(const std::string word, job_name(line));
  SPUR_ASSIGN(const auto records, records_of(word));
  state::UpdateJob command;
  SPUR_ASSIGN(command.target, target_of(word));
  Line rest = line;
  rest.options.clear();
  for (const auto& [key, value] : line.options) {
    if (key != "priority" && key != "max_running" && key != "time") {
      rest.options.emplace_back(key, value);
      continue;
    }
    if (key == "time") {
      SPUR_ASSIGN(const Duration span, parse_span(value));
      command.time_limit = TimeLimit::of_minutes(static_cast<std::uint32_t>(span / minutes(1)));
      continue;
    }
    SPUR_ASSIGN(const std::uint64_t n, parse_number(value));
    (key == "priority" ? command.priority : command.array_max_running) = static_cast<std::uint32_t>(n);
  }
  if (!rest.options.empty() || rest.words.size() > 1) {
    auto spec = std::make_shared<model::JobSpec>(*records[0]->spec);
    command.dependencies_changed = rest.option("depends") != nullptr;
    if (command.dependencies_changed) spec->dependencies.clear();
    if (rest.option("partition")) spec->partitions.clear();
    const JobContext context{zero_, [this](const std::string& other) { return id_of(other); }};
    SPUR_TRY(apply_job_options(rest, context, *spec));
    command.spec = std::move(spec);
  }
  apply(std::move(command));
  return {};
}

Status Scenario::purge(const Line& line) {
  SPUR_ASSIGN(const std::string word, job_name(line));
  SPUR_ASSIGN(const auto records, records_of(word));
  state::PurgeJobs command;
  for (const model::Job* job : records) command.jobs.push_back(job->id);
  apply(std::move(command));
  return {};
}

}  // namespace spur::scenario
