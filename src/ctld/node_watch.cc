// SPDX-License-Identifier: Apache-2.0
#include "ctld/node_watch.h"

#include <algorithm>
#include <map>
#include <set>

#include "model/power.h"

namespace spur::ctld {
namespace {

using model::Node;
using model::NodeDue;

// Who is not switched off for being idle.
class Spared {
 public:
  explicit Spared(const model::View& view) : view_(view), power_(view.config->power) {
    const auto sets = model::parse_spared_nodes(power_.spared_nodes);
    if (!sets) return;  // a configuration that says so is refused
    for (const model::SparedNodes& set : *sets) {
      if (!set.count) {
        always_.insert(set.names.begin(), set.names.end());
        continue;
      }
      std::int64_t here = 0;
      for (const std::string& name : set.names) {
        const Node* node = model::find_node(view, name);
        if (node && counts(*node)) ++here;
        group_of_.emplace(name, can_go_.size());
      }
      can_go_.push_back(here - static_cast<std::int64_t>(*set.count));
    }
  }

  // A node that may go is one less for the others of its group.
  bool lets_go(const Node& node) {
    if (always_.contains(node.name) || model::is_spared_by_state(node, power_.spared_states)) return false;
    for (const std::string& name : power_.spared_partitions) {
      const model::Partition* partition = model::find_partition(view_, name);
      if (partition && std::ranges::binary_search(partition->nodes, node.index)) return false;
    }
    const auto group = group_of_.find(node.name);
    if (group == group_of_.end() || !counts(node)) return true;
    return can_go_[group->second]-- > 0;
  }

 private:
  // SuspendExcNodes keeps so many nodes that jobs could be given to at once.
  static bool counts(const Node& node) { return node.usable() && !node.is_away(); }

  const model::View& view_;
  const model::PowerConfig& power_;
  std::set<std::string> always_;
  std::map<std::string, std::size_t> group_of_;
  std::vector<std::int64_t> can_go_;
};

bool take_turn(std::deque<Duration>& turns, std::uint32_t rate, Duration now) {
  while (!turns.empty() && now - turns.front() >= std::chrono::minutes(1)) turns.pop_front();
  if (rate > 0 && turns.size() >= rate) return false;
  if (rate > 0) turns.push_back(now);
  return true;
}

}  // namespace

std::vector<state::NodesDue> NodeWatch::look(const model::View& view, Time now, Duration monotonic) {
  const model::PowerConfig& power = view.config->power;
  const bool saves = model::saves_power(*view.config);
  std::optional<Spared> spared;
  std::map<NodeDue, state::NodesDue> found;
  const auto add = [&](NodeDue what, const Node& node) {
    found.try_emplace(what, state::NodesDue{what, {}}).first->second.nodes.push_back(node.name);
  };
  view.nodes.for_each([&](std::uint32_t, const model::NodePtr& pointer) {
    const Node& node = *pointer;
    for (const NodeDue what : {NodeDue::RebootOverdue, NodeDue::PoweredDown, NodeDue::PowerUpOverdue})
      if (model::is_due(view, node, what, now)) add(what, node);
    if (!saves) return;
    if (model::is_due(view, node, NodeDue::PowerUp, now)) {
      if (take_turn(on_, power.resume_rate, monotonic)) add(NodeDue::PowerUp, node);
    } else if (model::is_due(view, node, NodeDue::PowerDown, now)) {
      if (!spared) spared.emplace(view);
      // Who was told to is not asked.
      if (!(node.flags & model::kNodePowerDown) && !spared->lets_go(node)) return;
      if (take_turn(off_, power.suspend_rate, monotonic)) add(NodeDue::PowerDown, node);
    }
  });
  std::vector<state::NodesDue> out;
  for (auto& [what, due] : found) out.push_back(std::move(due));
  return out;
}

}  // namespace spur::ctld
