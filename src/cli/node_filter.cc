// SPDX-License-Identifier: Apache-2.0
#include "cli/node_filter.h"

#include <algorithm>

#include "text/words.h"

namespace spur::cli {
namespace {

using model::Node;
using model::NodeState;

template <NodeState State>
bool is_base(const Node& node) {
  return model::base_state(node) == State;
}
template <std::uint32_t Flag>
bool has_flag(const Node& node) {
  return (node.flags & Flag) != 0;
}
bool working(const Node& node) {
  return is_base<NodeState::Allocated>(node) || is_base<NodeState::Mixed>(node) || node.jobs_completing > 0;
}
bool never(const Node&) {
  return false;
}

struct Word {
  std::string_view name;
  bool (*test)(const Node& node);
};
// Words for states that no node of Spur can be in yet are known, and match none.
constexpr Word kWords[] = {
    {"unknown", is_base<NodeState::Unknown>},
    {"down", is_base<NodeState::Down>},
    {"idle", is_base<NodeState::Idle>},
    {"allocated", is_base<NodeState::Allocated>},
    {"mixed", is_base<NodeState::Mixed>},
    {"future", is_base<NodeState::Future>},
    {"drain", has_flag<model::kNodeDrain>},
    {"drained", [](const Node& node) { return has_flag<model::kNodeDrain>(node) && !working(node); }},
    {"draining", [](const Node& node) { return has_flag<model::kNodeDrain>(node) && working(node); }},
    {"drng", [](const Node& node) { return has_flag<model::kNodeDrain>(node) && working(node); }},
    {"no_respond", has_flag<model::kNodeNoResponse>},
    {"fail", has_flag<model::kNodeFail>},
    {"failing", [](const Node& node) { return has_flag<model::kNodeFail>(node) && working(node); }},
    {"maint", has_flag<model::kNodeMaintenance>},
    {"completing", [](const Node& node) { return node.jobs_completing > 0; }},
    {"inval", has_flag<model::kNodeInvalidRegistration>},
    {"blocked", never},
    {"cloud", has_flag<model::kNodeCloud>},
    {"dynamic_future", has_flag<model::kNodeDynamicFuture>},
    {"dynamic_norm", has_flag<model::kNodeDynamicNorm>},
    {"perfctrs", never},
    {"planned", never},
    {"powered_down", has_flag<model::kNodePoweredDown>},
    {"powering_down", has_flag<model::kNodePoweringDown>},
    {"power_down", has_flag<model::kNodePowerDown>},
    {"powering_up", has_flag<model::kNodePoweringUp>},
    {"power_up", has_flag<model::kNodePowerUp>},
    {"reboot", has_flag<model::kNodeRebootRequested>},
    {"reboot^", has_flag<model::kNodeRebootIssued>},
    {"reserved", has_flag<model::kNodeReserved>},
    {"resv", has_flag<model::kNodeReserved>},
    {"unk", is_base<NodeState::Unknown>},
};

}  // namespace

std::expected<NodeStateFilter, std::string> NodeStateFilter::parse(std::string_view text) {
  NodeStateFilter filter;
  for (const std::string_view alternative : text::split(text, ',')) {
    std::vector<Test> all;
    for (const std::string_view word : text::split(alternative, '&')) {
      if (text::equal_ignoring_case(word, "all")) continue;
      // An exact word before the first one it is a beginning of: "drain" is no "drained".
      auto found = std::ranges::find_if(
          kWords, [&](const Word& known) { return text::equal_ignoring_case(known.name, word); });
      if (found == std::end(kWords) && !word.empty())
        found = std::ranges::find_if(
            kWords, [&](const Word& known) { return text::starts_with_ignoring_case(known.name, word); });
      if (found == std::end(kWords)) return std::unexpected(std::string(word));
      all.push_back(found->test);
    }
    filter.any_of_all_.push_back(std::move(all));
  }
  return filter;
}

bool NodeStateFilter::matches(const Node& node) const {
  return std::ranges::any_of(any_of_all_, [&](const std::vector<Test>& all) {
    return std::ranges::all_of(all, [&](Test test) { return test(node); });
  });
}

std::string_view NodeStateFilter::valid_words() {
  return "unknown,down,idle,allocated,?,mixed,future,drain,drained,draining,no_respond,reserved,perfctrs,cloud,"
         "completing,"
         "powering_down,powered_down,power_down,powering_up,fail,maint,reboot,reboot^,unknown";
}

}  // namespace spur::cli
