// SPDX-License-Identifier: Apache-2.0
// `scontrol show topology [TOPOLOGY] [NAME | unit=NAME | node=LIST]`: switches from the leaves upwards, or blocks, of the
// cluster's topology or of the one that is named. A name may be a switch, a block, or nodes: then those that connect all
// of them are shown. `scontrol show topoconf`: all of them, as a topology.yaml.
#include <algorithm>
#include <map>
#include <set>

#include "cli/scontrol.h"
#include "model/topology.h"
#include "text/hostlist.h"
#include "text/printable.h"
#include "text/words.h"

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

namespace {

// Which units are meant: all, the one of that name, or those that have all of these nodes.
struct Wanted {
  const model::TopologyConfig* topology = nullptr;
  std::string unit, nodes;
};

Wanted parse_wanted(const model::ClusterConfig& config, const Words& words_given) {
  Wanted wanted{&config.topology, {}, {}};
  for (const std::string& word : words_given) {
    const KeyValue pair = split_pair(word);
    if (pair.has_value && text::equal_ignoring_case(pair.key, "node"))
      wanted.nodes = pair.value;
    else if (pair.has_value && (text::equal_ignoring_case(pair.key, "unit") || text::equal_ignoring_case(pair.key, "switch") ||
                                text::equal_ignoring_case(pair.key, "block")))
      wanted.unit = pair.value;
    else if (const auto* named = model::find_topology(config, word); named && !word.empty())
      wanted.topology = named;
    else
      wanted.unit = wanted.nodes = word;
  }
  return wanted;
}

}  // namespace

void scontrol_show_topology(Scontrol& run, const Words& words_given) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto config = controller->config();
  if (!config) return run.fail("slurm_load_topo error: {}", words(config.error()));
  const Wanted wanted = parse_wanted(*config, words_given);
  const std::vector<Unit> units = units_of(*wanted.topology);
  if (units.empty()) return run.context.error("No topology information available");
  const bool is_unit =
      !wanted.unit.empty() && std::ranges::any_of(units, [&](const Unit& unit) { return unit.name == wanted.unit; });
  const std::set<std::string> nodes = names_of(wanted.nodes);
  const bool all = wanted.unit.empty() && wanted.nodes.empty();
  bool any = false;
  for (const Unit& unit : units) {
    const bool fits = is_unit ? unit.name == wanted.unit : !nodes.empty() && std::ranges::includes(unit.nodes, nodes);
    if (!all && !fits) continue;
    run.context.out.print("{}\n", unit.line);
    any = true;
  }
  if (!any)
    run.context.error("Topology information contains no switch or node named {}",
                      wanted.unit.empty() ? wanted.nodes : wanted.unit);
}

namespace {

void print_topology(Output& out, const model::TopologyConfig& topology, bool is_default) {
  using enum model::TopologyKind;
  out.print("- topology: {}\n  cluster_default: {}\n", text::printable(model::topology_name(topology)), is_default);
  if (topology.kind == Tree) {
    out.print("  tree:\n    switches:\n");
    for (const model::SwitchConfig& one : topology.switches) {
      out.print("    - switch: {}\n", text::printable(one.name));
      if (!one.switches.empty()) out.print("      children: {}\n", text::printable(one.switches));
      if (!one.nodes.empty()) out.print("      nodes: {}\n", text::printable(one.nodes));
    }
  } else {
    out.print("  tree: {{}}\n");
  }
  if (topology.kind == Block) {
    out.print("  block:\n");
    if (!topology.block_sizes.empty()) out.print("    block_sizes:\n");
    for (const std::uint32_t size : topology.block_sizes) out.print("    - {}\n", size);
    out.print("    blocks:\n");
    for (const model::SwitchConfig& one : topology.blocks)
      out.print("    - block: {}\n      nodes: {}\n", text::printable(one.name), text::printable(one.nodes));
  } else {
    out.print("  block: {{}}\n");
  }
  out.print("  flat: {}\n", topology.kind == Flat);
}

}  // namespace

void scontrol_show_topoconf(Scontrol& run) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto config = controller->config();
  if (!config) return run.fail("slurm_load_topo error: {}", words(config.error()));
  run.context.out.print("%YAML 1.1\n---\n");
  print_topology(run.context.out, config->topology, true);
  for (const model::TopologyConfig& topology : config->other_topologies)
    print_topology(run.context.out, topology, false);
  run.context.out.print("...\n");
}

}  // namespace spur::cli
