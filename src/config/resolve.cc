// SPDX-License-Identifier: Apache-2.0
#include "config/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "config/topology.h"
#include "model/preemption.h"
#include "text/decimal.h"
#include "text/hostlist.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::config {

namespace {

using text::equal_ignoring_case;


bool has_all(std::string_view list) {
  return equal_ignoring_case(text::trim(list), "ALL");
}

// ---- controllers

// "name" or "name(address)".
ControllerHost parse_controller(std::string_view text) {
  text = text::trim(text);
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return {std::string(text), std::string(text)};
  return {std::string(text.substr(0, open)), std::string(text.substr(open + 1, text.size() - open - 2))};
}

std::vector<ControllerHost> controllers_of(const Draft& draft) {
  std::vector<ControllerHost> out;
  for (const std::string& host : draft.controller_hosts) out.push_back(parse_controller(host));
  if (!out.empty() || draft.control_machine.empty()) return out;
  out.push_back(parse_controller(draft.control_machine));
  if (!draft.control_address.empty()) out.back().address = draft.control_address;
  for (std::size_t i = 0; i < draft.backup_controllers.size(); ++i) {
    out.push_back(parse_controller(draft.backup_controllers[i]));
    if (i < draft.backup_addresses.size()) out.back().address = draft.backup_addresses[i];
  }
  return out;
}

// ---- nodes

class NodeExpander {
 public:
  explicit NodeExpander(Draft& draft) : draft_(draft) {}

  // All blocks together have a limit, and it is known before anything is expanded.
  Status check_count() const {
    std::size_t left = text::kMaxHosts;
    for (const NodeBlock& block : draft_.nodes) {
      const auto count = text::count_hosts(block.names, left);
      if (!count) return draft_.refuse(block.at, count.error().message);
      left -= *count;
    }
    return {};
  }

  Status block(const NodeBlock& block) {
    auto names = text::expand_hostlist(block.names);
    if (!names) return draft_.refuse(block.at, names.error().message);
    if (names->empty()) return draft_.refuse(block.at, "a node without a name");
    SPUR_ASSIGN(const auto hostnames, side(block, block.hostnames, "NodeHostname", names->size()));
    SPUR_ASSIGN(const auto addresses, side(block, block.addresses, "NodeAddr", names->size()));
    SPUR_ASSIGN(const auto ports, side(block, block.ports, "Port", names->size()));
    model::NodeConfig common = block.node;
    if (draft_.dialect == Dialect::Slurm) SPUR_TRY(hardware_like_slurm(block, common));
    for (const std::string& name : *names)
      if (!text::is_node_name(name))
        return draft_.refuse(block.at, fmt::format("\"{}\" is no node name", text::shown(name, 60)));
    for (std::size_t i = 0; i < names->size(); ++i) {
      model::NodeConfig node = common;
      node.name = std::move((*names)[i]);
      node.hostname = hostnames.empty() ? node.name : hostnames[std::min(i, hostnames.size() - 1)];
      node.address = addresses.empty() ? node.hostname : addresses[std::min(i, addresses.size() - 1)];
      if (!ports.empty()) {
        const std::string& text = ports[std::min(i, ports.size() - 1)];
        const auto port = text::parse_decimal(text, 65535);
        if (!port)
          return draft_.refuse(block.at, fmt::format("Port \"{}\" is not a port number", text::shown(text, 40)));
        node.port = static_cast<std::uint16_t>(*port);
      }
      if (!seen_.insert(node.name).second)
        return draft_.refuse(block.at, fmt::format("node {} is declared twice", node.name));
      draft_.cluster.nodes.push_back(std::move(node));
    }
    return {};
  }

 private:
  // A list that goes along with the names: nothing, one for all, or one for each.
  Result<std::vector<std::string>> side(const NodeBlock& block, std::string_view list, std::string_view key,
                                        std::size_t names) {
    if (list.empty()) return std::vector<std::string>();
    auto out = text::expand_hostlist(list);
    if (!out) return draft_.refuse(block.at, fmt::format("{}: {}", key, out.error().message));
    if (out->size() != 1 && out->size() != names)
      return draft_.refuse(
          block.at, fmt::format("{} count must equal that of NodeName: {} for {} nodes", key, out->size(), names));
    return out;
  }

  // Slurm takes what is not declared as 1, and makes CPUs and the topology agree.
  Status hardware_like_slurm(const NodeBlock& block, model::NodeConfig& node) {
    const std::uint32_t boards = node.boards.value_or(1);
    if (block.sockets_per_board && node.sockets)
      return draft_.refuse(block.at, "Sockets and SocketsPerBoard exclude each other");
    if (block.sockets_per_board) node.sockets = *block.sockets_per_board * boards;
    const std::uint64_t cores = node.cores_per_socket.value_or(1), threads = node.threads_per_core.value_or(1);
    if (!node.sockets) {
      const std::uint64_t per_socket = cores * threads;
      node.sockets = node.cpus ? static_cast<std::uint32_t>(std::max<std::uint64_t>(1, *node.cpus / per_socket)) : 1;
    }
    const std::uint64_t sockets = *node.sockets, all = sockets * cores * threads;
    if (all > 0xffffu) return draft_.refuse(block.at, fmt::format("{} CPUs are too many for a node", all));
    const bool fits = node.cpus && (*node.cpus == sockets || *node.cpus == sockets * cores || *node.cpus == all);
    if (node.cpus && !fits)
      draft_.warn(block.at, fmt::format("NodeNames={} CPUs={} match no Sockets, Sockets*CoresPerSocket or "
                                        "Sockets*CoresPerSocket*ThreadsPerCore. Resetting CPUs.",
                                        text::shown(block.names, 60), *node.cpus));
    if (!fits) node.cpus = static_cast<std::uint32_t>(all);
    node.boards = boards;
    node.cores_per_socket = static_cast<std::uint32_t>(cores);
    node.threads_per_core = static_cast<std::uint32_t>(threads);
    if (!node.memory_mib) node.memory_mib = 1;
    return {};
  }

  Draft& draft_;
  std::unordered_set<std::string> seen_;
};

using NodesByName = std::unordered_map<std::string_view, model::NodeConfig*>;

Status put_down(Draft& draft, const NodesByName& nodes) {
  for (const DownNodesBlock& block : draft.down_nodes) {
    const auto names = text::expand_hostlist(block.nodes);
    if (!names) return draft.refuse(block.at, names.error().message);
    for (const std::string& name : *names) {
      const auto found = nodes.find(name);
      if (found == nodes.end())
        return draft.refuse(block.at, fmt::format("DownNodes names an unknown node: {}", text::shown(name, 60)));
      found->second->state = block.state == "UNKNOWN" ? "" : block.state;
      found->second->reason = block.reason;
    }
  }
  return {};
}

// Adds one line of devices to the GRES that `node` declares. False if it declares none of that name and type. A line
// that says where its devices are, or what they are, becomes a row of its own: the next of the node's devices.
Result<bool> add_devices(const Draft& draft, const DeviceBlock& block, model::NodeConfig& node) {
  // Shares of a GPU that say which: every GPU may have another number of them.
  const bool shares = (block.name == "shard" || block.name == "mps") && block.count && !block.file.empty();
  const bool own_row = !block.cores.empty() || !block.links.empty() || !block.flags.empty() || shares;
  for (std::size_t i = 0; i < node.gres.size(); ++i) {
    model::NodeGres& gres = node.gres[i];
    const bool type_fits = block.type.empty() || gres.type.empty() || block.type == gres.type;
    const bool taken =
        !gres.cores.empty() || !gres.links.empty() || !gres.flags.empty() || (shares && !gres.file.empty());
    if (gres.name != block.name || !type_fits || taken) continue;
    if (!own_row) {
      if (!block.file.empty()) gres.file += (gres.file.empty() ? "" : ",") + block.file;
      return true;
    }
    const auto files = text::count_hosts(block.file);
    const std::uint64_t count = block.count.value_or(block.file.empty() ? gres.count : files.value_or(0));
    if (count > gres.count)
      return draft.refuse(block.at, fmt::format("{} devices of GRES {} are named, node {} declares only {}", count,
                                                text::shown(block.name, 40), node.name, gres.count));
    model::NodeGres piece{.name = gres.name,
                          .type = gres.type.empty() ? block.type : gres.type,
                          .count = count,
                          .file = block.file,
                          .cores = block.cores,
                          .links = block.links,
                          .nic = {},
                          .flags = block.flags};
    gres.count -= count;
    if (gres.count == 0) {
      gres = std::move(piece);
    } else {
      node.gres.insert(node.gres.begin() + static_cast<std::ptrdiff_t>(i), std::move(piece));
    }
    return true;
  }
  return false;
}

Status add_all_devices(Draft& draft, const NodesByName& nodes) {
  for (const DeviceBlock& block : draft.devices) {
    const auto files = text::count_hosts(block.file);
    if (!files) return draft.refuse(block.at, files.error().message);
    if (block.count && !block.file.empty() && *block.count < *files)
      return draft.refuse(block.at, fmt::format("Count={} is less than the {} files of File=", *block.count, *files));
    if (block.nodes.empty()) {
      for (model::NodeConfig& node : draft.cluster.nodes) SPUR_TRY(add_devices(draft, block, node));
      continue;
    }
    const auto names = text::expand_hostlist(block.nodes);
    if (!names) return draft.refuse(block.at, names.error().message);
    for (const std::string& name : *names) {
      const auto found = nodes.find(name);
      if (found == nodes.end()) return draft.refuse(block.at, fmt::format("unknown node {}", text::shown(name, 60)));
      SPUR_ASSIGN(const bool added, add_devices(draft, block, *found->second));
      if (!added)
        draft.warn(block.at, fmt::format("node {} declares no GRES {}{}{}: the line has no effect", name,
                                         text::shown(block.name, 40), block.type.empty() ? "" : ":",
                                         text::shown(block.type, 40)));
    }
  }
  return {};
}

// Fewer device files than a node declares would hand out devices that are not there.
void check_device_counts(Draft& draft) {
  std::unordered_set<std::string> said;
  for (const model::NodeConfig& node : draft.cluster.nodes)
    for (const model::NodeGres& gres : node.gres) {
      if (gres.name == "shard" || gres.name == "mps") continue;  // several share a file
      const auto files = gres.file.empty() ? Result<std::size_t>(gres.count) : text::count_hosts(gres.file);
      if (files && *files < gres.count && said.insert(gres.name).second)
        draft.warn({}, fmt::format("node {} declares {} of GRES {}, but only {} device files are named", node.name,
                                   gres.count, gres.name, *files));
    }
}

void check_gres_types(Draft& draft) {
  auto& types = draft.cluster.gres_types;
  const bool fill = draft.dialect == Dialect::Spur && types.empty();
  std::unordered_set<std::string> said;
  for (const model::NodeConfig& node : draft.cluster.nodes)
    for (const model::NodeGres& gres : node.gres) {
      if (std::ranges::find(types, gres.name) != types.end()) continue;
      if (fill)
        types.push_back(gres.name);
      else if (said.insert(gres.name).second)
        draft.warn({}, fmt::format("node {} declares GRES {}, which GresTypes does not name", node.name, gres.name));
    }
}

// ---- partitions

class PartitionResolver {
 public:
  PartitionResolver(Draft& draft, const NodesByName& nodes) : draft_(draft), nodes_(nodes) {}

  Status block(PartitionBlock& block) {
    model::PartitionConfig& partition = block.partition;
    SPUR_TRY(name(block));
    for (const model::PartitionConfig& other : draft_.cluster.partitions)
      if (other.name == partition.name)
        return draft_.refuse(block.at, fmt::format("duplicate entry for partition {}", other.name));
    SPUR_TRY(default_flag(block));
    SPUR_TRY(limits(block));
    SPUR_TRY(nodes(block));
    draft_.cluster.partitions.push_back(std::move(partition));
    return {};
  }

 private:
  Status name(const PartitionBlock& block) const {
    const std::string& text = block.partition.name;
    if (text.empty()) return draft_.refuse(block.at, "a partition without a name");
    if (text.find_first_of(",[] \t=:*") != std::string::npos || text::printable(text) != text)
      return draft_.refuse(block.at, fmt::format("\"{}\" is no partition name", text::shown(text, 40)));
    return {};
  }

  Status default_flag(const PartitionBlock& block) {
    if (!block.partition.is_default) return {};
    for (model::PartitionConfig& other : draft_.cluster.partitions) {
      if (!other.is_default) continue;
      if (draft_.dialect == Dialect::Spur)
        return draft_.refuse(block.at,
                             fmt::format("two default partitions: {} and {}", other.name, block.partition.name));
      draft_.warn(block.at,
                  fmt::format("changing default partition from {} to {}", other.name, block.partition.name));
      other.is_default = false;
    }
    return {};
  }

  Status limits(PartitionBlock& block) {
    model::PartitionConfig& partition = block.partition;
    if (!partition.default_time.is_set()) {
      partition.default_time = draft_.default_time;
      if (over(partition.default_time, partition.max_time)) partition.default_time = partition.max_time;
    }
    if (over(partition.default_time, partition.max_time)) {
      if (draft_.dialect == Dialect::Spur)
        return draft_.refuse(block.at,
                             fmt::format("partition {}: default_time is longer than max_time", partition.name));
      draft_.warn(block.at,
                  fmt::format("partition {}: DefaultTime is longer than MaxTime, using MaxTime", partition.name));
      partition.default_time = {};  // as Slurm does
    }
    if (partition.max_nodes && partition.min_nodes > *partition.max_nodes)
      return draft_.refuse(block.at, fmt::format("partition {}: more nodes at least than at most", partition.name));
    if (draft_.whole_nodes && partition.oversubscribe == model::OverSubscribe::No)
      partition.oversubscribe = model::OverSubscribe::Exclusive;
    return {};
  }

  static bool over(TimeLimit time, TimeLimit max) {
    if (!time.is_set() || !max.is_finite()) return false;
    return time.is_unlimited() || time.minutes_value() > max.minutes_value();
  }

  // Replaces names of node sets by their nodes and checks that the rest are nodes.
  Status nodes(PartitionBlock& block) {
    std::string& list = block.partition.nodes;
    if (has_all(list)) {
      list = "ALL";
      return {};
    }
    auto names = text::expand_hostlist(list);
    if (!names) return draft_.refuse(block.at, names.error().message);
    std::vector<std::string> all;
    bool used_set = false, all_nodes = false;
    block.partition.node_features.clear();
    for (std::string& name : *names) {
      const auto set = std::ranges::find(draft_.node_sets, name, &NodeSetBlock::name);
      if (set != draft_.node_sets.end()) {
        used_set = true;
        if (!set->feature.empty()) block.partition.node_features.push_back(set->feature);
        if (has_all(set->nodes)) all_nodes = true;
        SPUR_TRY(add_set(*set, all));
      } else if (draft_.cluster.accept_unknown_nodes || nodes_.contains(name)) {
        all.push_back(std::move(name));
      } else {
        return draft_.refuse(block.at, fmt::format("partition {} names an unknown node: {}", block.partition.name,
                                                   text::shown(name, 60)));
      }
    }
    // Also those that come later.
    if (all_nodes) {
      list = "ALL";
      return {};
    }
    if (used_set) {
      text::sort_unique_hosts(all);
      list = text::compress_hostlist(all);
    }
    return {};
  }

  Status add_set(const NodeSetBlock& set, std::vector<std::string>& out) const {
    if (!set.feature.empty())
      for (const model::NodeConfig& node : draft_.cluster.nodes)
        if (std::ranges::find(node.features, set.feature) != node.features.end()) out.push_back(node.name);
    if (has_all(set.nodes)) {
      for (const model::NodeConfig& node : draft_.cluster.nodes) out.push_back(node.name);
      return {};
    }
    auto names = text::expand_hostlist(set.nodes);
    if (!names) return draft_.refuse(set.at, names.error().message);
    for (std::string& name : *names) {
      if (!nodes_.contains(name) && !draft_.cluster.accept_unknown_nodes)
        return draft_.refuse(set.at, fmt::format("node set {} names an unknown node: {}", text::shown(set.name, 60),
                                                 text::shown(name, 60)));
      out.push_back(std::move(name));
    }
    return {};
  }

  Draft& draft_;
  const NodesByName& nodes_;
};

// Nodes in no partition: nothing ever runs there.
void warn_of_stray_nodes(Draft& draft) {
  if (draft.cluster.partitions.empty()) return;  // there is a word for that
  std::unordered_set<std::string> used;
  for (const model::PartitionConfig& partition : draft.cluster.partitions) {
    if (partition.nodes == "ALL") return;
    if (auto names = text::expand_hostlist(partition.nodes)) used.insert(names->begin(), names->end());
  }
  for (const NodeBlock& block : draft.nodes) {
    const auto names = text::expand_hostlist(block.names);
    if (!names) continue;
    std::vector<std::string> stray;
    for (const std::string& name : *names)
      if (!used.contains(name)) stray.push_back(name);
    if (!stray.empty())
      draft.warn(block.at, fmt::format("{} in no partition: no job can run there",
                                       text::shown(text::compress_hostlist(stray), 80)));
  }
}

}  // namespace

// What is not said of confinement, devices and samples: see config/node_side.h.
static void resolve_node_side(Draft& draft) {
  CgroupConfig& cgroup = draft.daemon.cgroup;
  const bool ours = draft.dialect == Dialect::Spur;
  const bool on = ours || draft.task_cgroup;
  for (auto* setting : {&cgroup.cores, &cgroup.ram, &cgroup.devices}) *setting = on && setting->value_or(ours);
  cgroup.swap = on && cgroup.swap.value_or(false);
  if (ours && draft.daemon.detect.empty()) draft.daemon.detect = {{.nodes = {}, .how = Detect::All}};
  if (!draft.gather_usage) draft.daemon.sample_every = seconds(0);
  // With spur.conf the most that slurm.conf can say.
  StepConfig& steps = draft.daemon.steps;
  if (!steps.max_tasks_per_node) steps.max_tasks_per_node = ours ? 65'533 : 512;
  if (!steps.max_count) steps.max_count = ours ? 0xfffffff0 : 40'000;
}

Status resolve_daemon(Draft& draft, std::string_view host) {
  DaemonConfig& daemon = draft.daemon;
  if (auto controllers = controllers_of(draft); !controllers.empty()) daemon.controllers = std::move(controllers);
  for (const ControllerHost& controller : daemon.controllers)
    if (controller.host.empty() || controller.address.empty() ||
        controller.host.find_first_of(" \t,/()") != std::string::npos)
      return draft.refuse({},
                          fmt::format("\"{}\" is no name of a controller's host", text::shown(controller.host, 60)));
  resolve_node_side(draft);
  if (draft.dialect == Dialect::Spur || draft.listen_given) return {};

  std::string listen = "[::]";
  if (draft.listen_on_controller_address) {
    const ControllerHost* mine = &daemon.controllers[0];
    for (const ControllerHost& controller : daemon.controllers)
      if (controller.host == host || controller.host == host.substr(0, host.find('.'))) mine = &controller;
    listen = mine->address;
  }
  daemon.controller_listen.clear();
  const std::uint32_t last = std::max(draft.last_controller_port, daemon.controller_port);
  for (std::uint32_t port = daemon.controller_port; port <= last; ++port)
    daemon.controller_listen.push_back(join_host_port(listen, static_cast<std::uint16_t>(port)));
  return {};
}

// As Slurm has it: who preempts must say how, and nobody says how without preemption.
Status resolve_preemption(Draft& draft) {
  model::PreemptConfig& preempt = draft.cluster.preempt;
  const bool how = preempt.how != model::PreemptHow::Off;
  if (draft.dialect == Dialect::Slurm && preempt.how == model::PreemptHow::Suspend && !preempt.gang)
    return draft.refuse({}, "PreemptMode=SUSPEND requires GANG too");
  if ((preempt.by == model::PreemptBy::Nothing) == how || (preempt.within && preempt.by != model::PreemptBy::Qos))
    return draft.refuse({}, "PreemptType and PreemptMode values incompatible");
  if (preempt.gang && preempt.how != model::PreemptHow::Suspend)
    draft.warn({}, "PreemptMode=GANG: jobs do not take turns on the same CPUs");
  return {};
}

Status resolve_nodes(Draft& draft) {
  NodeExpander expander(draft);
  SPUR_TRY(expander.check_count());
  for (const NodeBlock& block : draft.nodes) SPUR_TRY(expander.block(block));
  return {};
}

Status resolve_cluster(Draft& draft) {
  model::ClusterConfig& cluster = draft.cluster;
  if (draft.dialect == Dialect::Slurm) cluster.cluster_name = text::lower(cluster.cluster_name);
  if (cluster.cluster_name.empty() || cluster.cluster_name.find_first_of(" \t/,\n") != std::string::npos)
    return draft.refuse({}, fmt::format("\"{}\" is no name for a cluster", text::shown(cluster.cluster_name, 60)));
  if (cluster.first_job_id > cluster.max_job_id)
    return draft.refuse(
        {}, fmt::format("the first job id ({}) is above the last ({})", cluster.first_job_id, cluster.max_job_id));

  SPUR_TRY(resolve_preemption(draft));
  SPUR_TRY(resolve_nodes(draft));
  cluster.accept_unknown_nodes = cluster.nodes.empty() && cluster.max_node_count == 0;
  if (cluster.max_node_count > 0 && cluster.nodes.size() > cluster.max_node_count)
    draft.warn({}, fmt::format("MaxNodeCount is {}, and {} nodes are declared: there will be no others",
                               cluster.max_node_count, cluster.nodes.size()));
  NodesByName nodes;
  nodes.reserve(cluster.nodes.size());
  for (model::NodeConfig& node : cluster.nodes) nodes.emplace(node.name, &node);
  SPUR_TRY(put_down(draft, nodes));
  SPUR_TRY(add_all_devices(draft, nodes));
  check_device_counts(draft);
  check_gres_types(draft);

  SPUR_TRY(check_partition_topologies(draft));
  PartitionResolver partitions(draft, nodes);
  for (PartitionBlock& block : draft.partitions) SPUR_TRY(partitions.block(block));
  if (cluster.partitions.empty() && draft.dialect == Dialect::Spur) {
    PartitionBlock all;
    all.partition.name = "default";
    all.partition.is_default = true;
    all.partition.nodes = "ALL";
    SPUR_TRY(partitions.block(all));
  }
  // Slurm: CR_Core_Memory where no word says what is handed out.
  if (draft.dialect == Dialect::Slurm && !draft.select_words_given && !draft.whole_nodes)
    cluster.memory_as = model::MemoryAs::Consumable;
  if (draft.whole_nodes)
    draft.warn({}, "SelectType=select/linear: every partition is treated as OverSubscribe=EXCLUSIVE");
  // Slurm: with PriorityType every weight that is not given is 0.
  if (draft.dialect == Dialect::Slurm && draft.multifactor_given && !draft.age_weight_given) cluster.age_weight = 0;
  // What a partition does not say it shows as the cluster's.
  for (model::PartitionConfig& partition : cluster.partitions)
    if (partition.preempt_mode.empty() && cluster.preempt.by != model::PreemptBy::Nothing)
      partition.preempt_mode = model::preempt_mode_text(cluster.preempt);
  SPUR_TRY(resolve_topology(draft));
  warn_of_stray_nodes(draft);
  const bool has_default = std::ranges::any_of(cluster.partitions, &model::PartitionConfig::is_default);
  if (!has_default) draft.warn({}, "no partition is the default: every job must name one");
  return {};
}

}  // namespace spur::config
