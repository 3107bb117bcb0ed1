// SPDX-License-Identifier: Apache-2.0
#include "model/power.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/decimal.h"
#include "text/hostlist.h"
#include "text/words.h"

namespace spur::model {
namespace {

// At commas, but not at those between brackets.
std::vector<std::string_view> split_hosts(std::string_view list) {
  std::vector<std::string_view> out;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && list[i] == '[') ++depth;
    if (i < list.size() && list[i] == ']') --depth;
    if (i < list.size() && (list[i] != ',' || depth > 0)) continue;
    if (i > start) out.push_back(list.substr(start, i - start));
    start = i + 1;
  }
  return out;
}

}  // namespace

bool saves_power(const ClusterConfig& config) {
  const PowerConfig& power = config.power;
  if (power.suspend_program.empty() || power.resume_program.empty()) return false;
  return power.suspend_time_seconds != kNeverSuspend ||
         std::ranges::any_of(config.partitions, [](const PartitionConfig& partition) {
           return partition.suspend_time_seconds.value_or(kNeverSuspend) != kNeverSuspend;
         });
}

PowerTimes power_times(const View& view, const Node& node) {
  std::optional<std::uint32_t> idle, down, up;
  const auto longer = [](std::optional<std::uint32_t>& most, const std::optional<std::uint32_t>& said) {
    if (said) most = std::max(most.value_or(0), *said);
  };
  for (const Partition& partition : *view.partitions) {
    const PartitionConfig& config = partition.config;
    if (!config.suspend_time_seconds && !config.suspend_timeout_seconds && !config.resume_timeout_seconds) continue;
    if (!std::ranges::binary_search(partition.nodes, node.index)) continue;
    longer(idle, config.suspend_time_seconds);
    longer(down, config.suspend_timeout_seconds);
    longer(up, config.resume_timeout_seconds);
  }
  PowerTimes out{.idle = {},
                 .down = down ? seconds(*down) : view.config->power.suspend_timeout,
                 .up = up ? seconds(*up) : view.config->resume_timeout};
  const std::uint32_t after = idle.value_or(view.config->power.suspend_time_seconds);
  if (after != kNeverSuspend) out.idle = seconds(after);
  return out;
}

bool is_due(const View& view, const Node& node, NodeDue what, Time now) {
  const auto since = [&] { return now - node.ordered_at; };
  switch (what) {
    case NodeDue::RebootOverdue:
      return (node.flags & kNodeRebootIssued) && since() >= view.config->resume_timeout;
    case NodeDue::PowerDown: {
      if (!saves_power(*view.config) || !node.jobs.empty() || node.is_away()) return false;
      if (node.flags & (kNodeRebootRequested | kNodeRebootIssued)) return false;
      if (node.flags & kNodePowerDown) return true;
      const auto idle = power_times(view, node).idle;
      return node.registered && idle && now - node.last_busy >= *idle;
    }
    case NodeDue::PoweredDown:
      return (node.flags & kNodePoweringDown) && since() >= power_times(view, node).down;
    case NodeDue::PowerUp:
      return (node.flags & kNodePoweredDown) && !(node.flags & kNodePoweringDown) && saves_power(*view.config) &&
             ((node.flags & kNodePowerUp) || !node.jobs.empty());
    case NodeDue::PowerUpOverdue:
      return (node.flags & kNodePoweringUp) && since() >= power_times(view, node).up;
  }
  return false;
}

Result<std::vector<SparedNodes>> parse_spared_nodes(std::string_view text) {
  std::vector<SparedNodes> out;
  for (std::string_view part : split_hosts(text)) {
    SparedNodes spared;
    if (const std::size_t colon = part.rfind(':'); colon != std::string_view::npos) {
      spared.count = text::parse_decimal32(part.substr(colon + 1));
      if (!spared.count)
        return fail(ErrorCode::ConfigInvalid, fmt::format("\"{}\" is no number of nodes", part.substr(colon + 1)));
      part = part.substr(0, colon);
    }
    SPUR_ASSIGN(spared.names, text::expand_hostlist(std::string(part)));
    out.push_back(std::move(spared));
  }
  return out;
}

std::optional<std::uint32_t> spared_state(std::string_view word) {
  struct Row {
    std::string_view word;
    std::uint32_t flag;  // 0: no node is ever in it
  };
  static constexpr Row kRows[] = {{"CLOUD", kNodeCloud},
                                  {"DRAIN", kNodeDrain},
                                  {"DYNAMIC_FUTURE", kNodeDynamicFuture},
                                  {"DYNAMIC_NORM", kNodeDynamicNorm},
                                  {"FAIL", kNodeFail},
                                  {"INVALID_REG", kNodeInvalidRegistration},
                                  {"MAINTENANCE", kNodeMaintenance},
                                  {"NOT_RESPONDING", kNodeNoResponse},
                                  {"PERFCTRS", 0},
                                  {"PLANNED", 0},
                                  {"RESERVED", kNodeReserved},
                                  {"DOWN", 0}};
  for (const Row& row : kRows)
    if (text::equal_ignoring_case(row.word, word)) return row.flag;
  return std::nullopt;
}

bool is_spared_by_state(const Node& node, const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    if (text::equal_ignoring_case(word, "DOWN")) return node.down;
    return (node.flags & spared_state(word).value_or(0)) != 0;
  });
}

}  // namespace spur::model
