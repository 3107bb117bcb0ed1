// SPDX-License-Identifier: Apache-2.0
#include "cli/steps.h"

#include <algorithm>
#include <map>
#include <set>

#include "text/decimal.h"

namespace spur::cli {

std::optional<StepTarget> parse_step_target(std::string_view text) {
  const auto dot = text.find('.');
  const auto job = text::parse_decimal32(text.substr(0, dot));
  if (!job) return std::nullopt;
  StepTarget out{JobId{*job}, std::nullopt};
  if (dot == std::string_view::npos) return out;
  out.step = text::parse_decimal32(text.substr(dot + 1));
  return out.step ? std::optional(out) : std::nullopt;
}

Result<std::vector<wire::StepInfo>> running_steps(Controller& controller, wire::JobFilter filter) {
  filter.states = {{model::JobState::Running, 0}, {model::JobState::Suspended, 0}};
  SPUR_ASSIGN(const auto jobs, controller.jobs(filter));
  SPUR_ASSIGN(const auto cluster, controller.cluster());
  std::map<std::string, std::string> address_of;
  for (const auto& node : cluster.nodes) address_of[node->name] = node->address;
  std::set<std::string> agents;
  std::set<JobId> wanted;
  for (const auto& job : jobs.jobs) {
    if (!job->allocation || job->allocation->nodes.empty()) continue;
    wanted.insert(job->id);
    const auto index = job->allocation->nodes.front().node.value;
    if (index < jobs.node_names.size()) agents.insert(address_of[jobs.node_names[index]]);
  }
  std::vector<wire::StepInfo> out;
  for (const std::string& agent : agents) {
    auto steps = agent.empty() ? Result<std::vector<wire::StepInfo>>() : controller.steps(agent);
    if (!steps) continue;
    for (auto& step : *steps)
      if (wanted.contains(step.job)) out.push_back(std::move(step));
  }
  std::ranges::sort(out, {}, [](const wire::StepInfo& s) { return std::pair(s.job.value, s.step); });
  return out;
}

bool among(const wire::StepInfo& step, const std::vector<StepTarget>& targets) {
  return targets.empty() || std::ranges::any_of(targets, [&](const StepTarget& target) {
           return target.job == step.job && (!target.step || *target.step == step.step);
         });
}

}  // namespace spur::cli
