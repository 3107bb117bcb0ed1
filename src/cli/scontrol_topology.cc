// SPDX-License-Identifier: Apache-2.0
// `scontrol show topology [NAME]`: switches from the leaves upwards, or blocks. A name may be a switch, a block, or
// nodes: then those that connect all of them are shown.
#include <algorithm>
#include <map>
#include <set>

#include "cli/scontrol.h"
#include "text/hostlist.h"
#include "text/printable.h"

namespace spur::cli {
namespace {

struct Unit {
  std::string line;
  std::string name;
  std::uint32_t level = 0;
  std::set<std::string> nodes;
};

std::set<std::string> names_of(const std::string& list) {
  const auto names = text::expand_hostlist(list);
  return names ? std::set<std::string>(names->begin(), names->end()) : std::set<std::string>();
}

std::string ranged(const std::set<std::string>& names) {
  std::vector<std::string> list(names.begin(), names.end());
  text::sort_hosts(list);
  return text::compress_hostlist(list);
}

// Configurations are checked when they are read: no switch is above itself.
const Unit& measure(const std::string& name, const std::map<std::string, const model::SwitchConfig*>& switches,
                    std::map<std::string, Unit>& done) {
  if (const auto known = done.find(name); known != done.end()) return known->second;
  Unit unit{{}, name, 0, {}};
  const auto found = switches.find(name);
  if (found != switches.end()) {
    unit.nodes = names_of(found->second->nodes);
    for (const std::string& below : names_of(found->second->switches)) {
      const Unit& child = measure(below, switches, done);
      unit.level = std::max(unit.level, child.level + 1);
      unit.nodes.insert(child.nodes.begin(), child.nodes.end());
    }
    unit.line = fmt::format("SwitchName={} Level={} LinkSpeed=1 Nodes={}", text::printable(name), unit.level,
                            ranged(unit.nodes));
    if (!found->second->switches.empty())
      unit.line += fmt::format(" Switches={}", ranged(names_of(found->second->switches)));
  }
  return done.emplace(name, std::move(unit)).first->second;
}

std::vector<Unit> units_of(const model::TopologyConfig& topology) {
  std::vector<Unit> units;
  for (const model::SwitchConfig& block : topology.blocks) {
    Unit unit{{}, block.name, 0, names_of(block.nodes)};
    unit.line = fmt::format("BlockName={} BlockIndex={} Nodes={} BlockSize={}", text::printable(block.name),
                            units.size(), ranged(unit.nodes), unit.nodes.size());
    units.push_back(std::move(unit));
  }
  std::map<std::string, const model::SwitchConfig*> switches;
  for (const model::SwitchConfig& one : topology.switches) switches[one.name] = &one;
  std::map<std::string, Unit> done;
  for (const model::SwitchConfig& one : topology.switches) units.push_back(measure(one.name, switches, done));
  std::ranges::stable_sort(units, {}, &Unit::level);
  return units;
}

}  // namespace

void scontrol_show_topology(Scontrol& run, const std::string& name) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto config = controller->config();
  if (!config) return run.fail("slurm_load_topo error: {}", words(config.error()));
  const std::vector<Unit> units = units_of(config->topology);
  if (units.empty()) return run.context.error("No topology information available");
  const bool is_unit = std::ranges::any_of(units, [&](const Unit& unit) { return unit.name == name; });
  const std::set<std::string> wanted = names_of(name);
  bool any = false;
  for (const Unit& unit : units) {
    const bool fits = is_unit ? unit.name == name : std::ranges::includes(unit.nodes, wanted);
    if (!name.empty() && (wanted.empty() || !fits)) continue;
    run.context.out.print("{}\n", unit.line);
    any = true;
  }
  if (!any) run.context.error("Topology information contains no switch or node named {}", name);
}

}  // namespace spur::cli
