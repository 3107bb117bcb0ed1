// SPDX-License-Identifier: Apache-2.0
#include "cli/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "text/decimal.h"
#include "text/hostlist.h"

namespace spur::cli {
namespace {

bool on_any(const wire::StepInfo& step, const std::vector<std::string>& nodes) {
  const auto own = text::expand_hostlist(step.nodes);
  return nodes.empty() || (own && std::ranges::any_of(*own, [&](const std::string& node) {
                             return std::ranges::find(nodes, node) != nodes.end();
                           }));
}

}  // namespace

std::optional<StepTarget> parse_step_target(std::string_view text) {
  const auto dot = text.find('.');
  const auto job = text::parse_decimal32(text.substr(0, dot));
  if (!job) return std::nullopt;
  StepTarget out{JobId{*job}, std::nullopt};
  if (dot == std::string_view::npos) return out;
  out.step = text::parse_decimal32(text.substr(dot + 1));
  return out.step ? std::optional(out) : std::nullopt;
}

std::optional<StepPick> parse_step_pick(std::string_view text) {
  StepPick out;
  if (const auto dot = text.find('.'); dot != std::string_view::npos) {
    out.step = text::parse_decimal32(text.substr(dot + 1));
    if (!out.step) return std::nullopt;
    text = text.substr(0, dot);
  }
  const auto mark = text.find_first_of("_+");
  const auto job = text::parse_decimal32(text.substr(0, mark));
  if (!job) return std::nullopt;
  out.job = JobId(*job);
  if (mark == std::string_view::npos) return out;
  const auto number = text::parse_decimal32(text.substr(mark + 1));
  if (!number) return std::nullopt;
  (text[mark] == '_' ? out.array_task : out.het_offset) = number;
  return out;
}

std::string RunningStep::id() const {
  if (job && job->array_task) return fmt::format("{}_{}.{}", job->array_job.value, *job->array_task, info.step);
  if (job && job->het_job) return fmt::format("{}+{}.{}", job->het_job.value, job->het_offset, info.step);
  return fmt::format("{}.{}", info.job.value, info.step);
}

bool StepPick::is(const RunningStep& running) const {
  if (step && *step != running.info.step) return false;
  const model::Job* known = running.job.get();
  if (array_task) return known && known->array_job == job && known->array_task == array_task;
  if (het_offset) return known && known->het_job == job && known->het_offset == *het_offset;
  // The first id of an array or of a heterogeneous job stands for all of it.
  return running.info.job == job ||
         (known && ((known->array_task && known->array_job == job) || known->het_job == job));
}

Result<std::vector<RunningStep>> running_steps(Controller& controller, wire::JobFilter filter) {
  filter.states = {{model::JobState::Running, 0}, {model::JobState::Suspended, 0}};
  filter.names.clear();  // of jobs; steps have names of their own
  SPUR_ASSIGN(const auto jobs, controller.jobs(filter));
  SPUR_ASSIGN(const auto cluster, controller.cluster());
  std::map<std::string, std::string> address_of;
  for (const auto& node : cluster.nodes) address_of[node->name] = node->address;
  std::set<std::string> agents;
  std::map<JobId, model::JobPtr> wanted;
  for (const auto& job : jobs.jobs) {
    if (!job->allocation || job->allocation->nodes.empty()) continue;
    wanted.emplace(job->id, job);
    const auto index = job->allocation->nodes.front().node.value;
    if (index < jobs.node_names.size()) agents.insert(address_of[jobs.node_names[index]]);
  }
  std::vector<RunningStep> out;
  for (const std::string& agent : agents) {
    auto steps = agent.empty() ? Result<std::vector<wire::StepInfo>>() : controller.steps(agent);
    if (!steps) continue;
    for (auto& step : *steps)
      if (const auto job = wanted.find(step.job); job != wanted.end() && on_any(step, filter.nodes))
        out.push_back({std::move(step), job->second});
  }
  std::ranges::sort(out, {}, [](const RunningStep& s) { return std::pair(s.info.job.value, s.info.step); });
  return out;
}

bool among(const RunningStep& step, const std::vector<StepPick>& picks) {
  return picks.empty() || std::ranges::any_of(picks, [&](const StepPick& pick) { return pick.is(step); });
}

}  // namespace spur::cli
