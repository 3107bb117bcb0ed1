// SPDX-License-Identifier: Apache-2.0
#include "sched/reservation_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sched/features.h"
#include "text/hostlist.h"
#include "text/words.h"

namespace spur::sched {

using model::Node;
using model::Reservation;
using model::ReservedNode;

namespace {

constexpr std::uint64_t kFreeOfOthers = model::kResvMaint | model::kResvOverlap;

// What a reservation could take of a node.
struct Candidate {
  const Node* node = nullptr;
  bool whole = true;                 // nobody else has reserved a part of it
  bool busy = false;                 // a job may run into the reservation
  std::vector<std::uint16_t> cores;  // those that nobody has reserved, ascending
  std::map<std::string, std::set<std::uint32_t>> devices_gone;
};

std::uint32_t core_count(const Node& node) {
  return std::max(1u, node.hardware.sockets * node.hardware.cores_per_socket);
}

// Nodes on which a job may still run when the reservation begins.
std::vector<bool> busy_nodes(const model::View& view, const Reservation& reservation, Time now) {
  std::vector<bool> busy(view.nodes.size());
  const Time start = std::max(now, model::occurrence_after(reservation, now).start);
  view.active.for_each([&](std::uint32_t, const model::JobPtr& job) {
    if (!job->allocation || job->allocation->reservation == reservation.name) return;
    if (job->flags & model::kCompleting) return;  // it will be gone in a moment
    const Time end = model::limit_end(*job);
    if (is_set(end) && end <= start) return;
    for (const NodeIndex at : job->nodes_left)
      if (at.value < busy.size()) busy[at.value] = true;
  });
  return busy;
}

class Chooser {
 public:
  Chooser(const model::View& view, Reservation& reservation, Time now)
      : view_(view), r_(reservation), busy_(busy_nodes(view, reservation, now)) {
    if (r_.has(kFreeOfOthers)) return;
    for (const Reservation& other : *view.reservations) {
      if (other.name == r_.name || !model::meet(r_, other, now)) continue;
      for (const ReservedNode& row : other.nodes) taken_[row.node].push_back(&row);
    }
  }

  Candidate candidate(NodeIndex at) const {
    Candidate out;
    out.node = view_.nodes.find(at.value)->get();
    out.busy = busy_[at.value];
    std::vector<bool> gone(core_count(*out.node));
    if (const auto taken = taken_.find(at); taken != taken_.end()) {
      out.whole = false;
      for (const ReservedNode* row : taken->second) {
        for (std::size_t core = 0; core < gone.size(); ++core)
          if (row->whole()) gone[core] = true;
        for (const std::uint16_t core : row->cores)
          if (core < gone.size()) gone[core] = true;
        for (const model::DeviceGrant& grant : row->devices)
          out.devices_gone[grant.gres].insert(grant.indices.begin(), grant.indices.end());
        if (row->whole())
          for (const model::NodeGres& gres : out.node->hardware.gres)
            for (std::uint32_t i = 0; i < gres.count; ++i) out.devices_gone[gres.name].insert(i);
      }
    }
    for (std::uint16_t core = 0; core < gone.size(); ++core)
      if (!gone[core]) out.cores.push_back(core);
    return out;
  }

  // Those that may be taken, best first.
  std::vector<Candidate> pool(const model::Partition& partition, const FeatureRequest& features,
                              const std::set<NodeIndex>& without) const {
    std::vector<Candidate> out;
    for (const NodeIndex at : partition.nodes) {
      const Node& node = **view_.nodes.find(at.value);
      if (without.contains(at) || !node.usable() || !has_features(node, features)) continue;
      Candidate one = candidate(at);
      if (!one.busy || r_.has(model::kResvIgnoreJobs)) out.push_back(std::move(one));
    }
    std::ranges::stable_sort(out, [](const Candidate& a, const Candidate& b) {
      const bool a_idle = a.node->jobs.empty(), b_idle = b.node->jobs.empty();
      if (a_idle != b_idle) return a_idle;
      return a.node->weight < b.node->weight;
    });
    return out;
  }

  static ReservedNode take_cores(const Candidate& from, std::size_t count) {
    ReservedNode row{.node = from.node->index};
    row.cores.assign(from.cores.begin(), from.cores.begin() + static_cast<std::ptrdiff_t>(count));
    if (from.whole && count == core_count(*from.node)) row.cores.clear();  // all of them: the node
    return row;
  }

 private:
  const model::View& view_;
  Reservation& r_;
  std::vector<bool> busy_;
  std::map<NodeIndex, std::vector<const ReservedNode*>> taken_;
};

std::uint64_t sum(const std::vector<std::uint32_t>& numbers) {
  std::uint64_t out = 0;
  for (const std::uint32_t n : numbers) out += n;
  return out;
}

std::unexpected<Error> too_few(const Reservation& r) {
  if (!r.features.empty())
    return fail(ErrorCode::NodeConfigUnavailable,
                fmt::format("too few nodes with feature {} are free at that time", r.features));
  return fail(ErrorCode::NodesBusy, "too few nodes are free at that time");
}

// ---- by name

Result<std::vector<NodeIndex>> named_nodes(const model::View& view, const std::string& names, Reservation& r) {
  std::vector<NodeIndex> out;
  if (text::equal_ignoring_case(names, "ALL")) {
    if (r.has(model::kResvPartNodes)) {
      const model::Partition* partition = model::find_partition(view, r.partition);
      if (!partition) return fail(ErrorCode::InvalidPartition, "PART_NODES needs the name of a partition");
      return partition->nodes;
    }
    r.flags |= model::kResvAllNodes;
    view.nodes.for_each([&](std::uint32_t at, const model::NodePtr&) { out.push_back(NodeIndex{at}); });
    return out;
  }
  SPUR_ASSIGN(const auto hosts, text::expand_hostlist(names));
  for (const std::string& host : hosts) {
    const Node* node = model::find_node(view, host);
    if (!node) return fail(ErrorCode::InvalidNode, fmt::format("there is no node {}", host));
    out.push_back(node->index);
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  if (out.empty()) return fail(ErrorCode::InvalidNode, "no node is named");
  return out;
}

// How many cores of each of `nodes`; empty: all.
Result<std::vector<std::size_t>> core_shares(const Reservation& r, std::size_t nodes) {
  std::vector<std::size_t> out;
  if (r.core_counts.empty()) return out;
  if (r.core_counts.size() == nodes) {
    out.assign(r.core_counts.begin(), r.core_counts.end());
  } else if (r.core_counts.size() == 1) {
    for (std::size_t i = 0; i < nodes; ++i)
      out.push_back(r.core_counts[0] / nodes + (i < r.core_counts[0] % nodes ? 1 : 0));
  } else {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("{} core counts were given for {} nodes", r.core_counts.size(), nodes));
  }
  return out;
}

Status choose_named(const model::View& view, const std::string& names, Time now, Reservation& r) {
  if (r.has(model::kResvReplace | model::kResvReplaceDown))
    return fail(ErrorCode::InvalidNode, "nodes that are named are not replaced");
  SPUR_ASSIGN(const auto nodes, named_nodes(view, names, r));
  r.flags |= model::kResvSpecNodes;
  if (const auto* partition = model::default_partition(view); partition && r.partition.empty() && !r.core_counts.empty())
    r.partition = partition->config.name;  // as Slurm
  SPUR_ASSIGN(const auto shares, core_shares(r, nodes.size()));
  const Chooser chooser(view, r, now);
  std::vector<ReservedNode> rows;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Candidate one = chooser.candidate(nodes[i]);
    if (one.busy && !r.has(model::kResvIgnoreJobs))
      return fail(ErrorCode::NodesBusy, fmt::format("a job may still run on node {} then", one.node->name));
    if (shares.empty() && !one.whole)
      return fail(ErrorCode::ReservationOverlap, fmt::format("node {} is reserved at that time", one.node->name));
    if (shares.empty()) {
      rows.push_back({.node = nodes[i]});
    } else if (one.cores.size() < shares[i]) {
      return too_few(r);
    } else if (shares[i] > 0) {
      rows.push_back(Chooser::take_cores(one, shares[i]));
    }
  }
  r.nodes = std::move(rows);
  return {};
}

// ---- by count

struct Counts {
  std::uint64_t nodes = 0, cores = 0, cpus = 0;
  std::vector<std::pair<std::string, std::uint64_t>> devices{};  // "gpu" or "gpu:a100"
};

Result<Counts> counts_of(Reservation& r) {
  Counts counts{.nodes = sum(r.node_counts), .cores = sum(r.core_counts)};
  for (const model::TresCount& row : r.tres) {
    const std::string_view name = row.tres;
    if (name == "cpu") {
      counts.cpus += row.count;
    } else if (name == "node") {
      counts.nodes += row.count;
    } else if (name.starts_with("gres/")) {
      counts.devices.emplace_back(name.substr(5), row.count);
    } else if (name.starts_with("license/")) {
      r.licenses.push_back({std::string(name.substr(8)), static_cast<std::uint32_t>(row.count)});
    } else {
      return fail(ErrorCode::InvalidTres, fmt::format("{} cannot be reserved", row.tres));
    }
  }
  return counts;
}

// Device numbers of `gres` on a node run through its rows in order, as in grants.
void take_devices(const Candidate& from, const std::string& wanted, std::uint64_t& left, ReservedNode& row) {
  const auto colon = wanted.find(':');
  const std::string kind = wanted.substr(0, colon);
  const std::string type = colon == std::string::npos ? std::string() : wanted.substr(colon + 1);
  const auto gone = from.devices_gone.find(kind);
  std::uint32_t index = 0;
  for (const model::NodeGres& gres : from.node->hardware.gres) {
    if (gres.name != kind) continue;
    model::DeviceGrant grant{.gres = kind, .type = gres.type, .indices = {}};
    for (std::uint64_t i = 0; i < gres.count; ++i, ++index) {
      const bool free = gone == from.devices_gone.end() || !gone->second.contains(index);
      if (left == 0 || !free || (!type.empty() && gres.type != type)) continue;
      grant.indices.push_back(index);
      --left;
    }
    if (!grant.indices.empty()) row.devices.push_back(std::move(grant));
  }
}

Status take_counts(const std::vector<Candidate>& pool, Counts counts, Reservation& r) {
  std::vector<ReservedNode> rows;
  std::uint64_t nodes_left = counts.nodes, cores_left = counts.cores, cpus_left = counts.cpus;
  const bool only_nodes = counts.cores == 0 && counts.cpus == 0 && counts.devices.empty();
  // With a number of nodes, each of them takes its share of what is left.
  const auto share = [&](std::uint64_t left, std::uint64_t most) {
    const std::uint64_t even =
        counts.nodes > 0 ? (left + nodes_left - 1) / std::max<std::uint64_t>(1, nodes_left) : left;
    return std::min(even, most);
  };
  for (const Candidate& one : pool) {
    if (counts.nodes > 0 && nodes_left == 0) break;
    if (only_nodes) {
      if (!one.whole) continue;
      rows.push_back({.node = one.node->index});
      --nodes_left;
      continue;
    }
    const std::uint64_t threads = std::max(1u, one.node->hardware.threads_per_core);
    const std::uint64_t wanted = share(cores_left + (cpus_left + threads - 1) / threads, one.cores.size());
    ReservedNode row{.node = one.node->index};
    if (wanted > 0) row = Chooser::take_cores(one, wanted);
    const bool whole = wanted > 0 && row.whole();
    for (auto& [name, left] : counts.devices) {
      std::uint64_t part = share(left, left);
      const std::uint64_t asked = part;
      if (!whole) take_devices(one, name, part, row);
      left -= asked - part;
    }
    if (!whole && row.whole()) continue;
    const std::uint64_t of_cores = std::min(cores_left, wanted);
    cores_left -= of_cores;
    cpus_left -= std::min(cpus_left, (wanted - of_cores) * threads);
    if (nodes_left > 0) --nodes_left;
    rows.push_back(std::move(row));
    const bool devices_left = std::ranges::any_of(counts.devices, [](const auto& d) { return d.second > 0; });
    if (counts.nodes == 0 && cores_left == 0 && cpus_left == 0 && !devices_left) break;
  }
  const bool devices_left = std::ranges::any_of(counts.devices, [](const auto& d) { return d.second > 0; });
  if (nodes_left > 0 || cores_left > 0 || cpus_left > 0 || devices_left) return too_few(r);
  std::ranges::sort(rows, {}, &ReservedNode::node);
  r.nodes = std::move(rows);
  return {};
}

Status choose_by_count(const model::View& view, const Counts& counts, const std::set<NodeIndex>& without, Time now,
                       Reservation& r) {
  const model::Partition* partition =
      r.partition.empty() ? model::default_partition(view) : model::find_partition(view, r.partition);
  if (!partition && r.partition.empty())
    return fail(ErrorCode::DefaultPartitionMissing, "no partition given and the cluster has no default one");
  if (!partition) return fail(ErrorCode::InvalidPartition, fmt::format("there is no partition {}", r.partition));
  r.partition = partition->config.name;
  SPUR_ASSIGN(const FeatureRequest features, parse_features(r.features));
  for (const FeatureTerm& term : features.terms) {
    if (term.op != FeatureTerm::Op::Name) continue;
    const std::string& feature = term.name;
    bool known = false;
    view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
      return !(known = std::ranges::find(node->features, feature) != node->features.end());
    });
    if (!known) return fail(ErrorCode::InvalidFeature, fmt::format("no node has feature {}", feature));
  }
  return take_counts(Chooser(view, r, now).pool(*partition, features, without), counts, r);
}

}  // namespace

Status choose_reserved_nodes(const model::View& view, const NodeWish& wish, Time now, Reservation& reservation) {
  Reservation draft = reservation;
  SPUR_ASSIGN(const Counts counts, counts_of(draft));
  draft.nodes.clear();
  draft.flags &= ~std::uint64_t{model::kResvSpecNodes | model::kResvAllNodes};
  if (!draft.partition.empty() && !model::find_partition(view, draft.partition))
    return fail(ErrorCode::InvalidPartition, fmt::format("there is no partition {}", draft.partition));
  // Licenses, or burst buffers, alone: whatever number of nodes is named with them does not count.
  const bool any = draft.has(model::kResvAnyNodes);
  if (any && !wish.names && draft.licenses.empty() && draft.burst_buffer.empty())
    return fail(ErrorCode::InvalidReservation, "ANY_NODES needs licenses or burst buffers");
  const bool counted = counts.nodes > 0 || counts.cores > 0 || counts.cpus > 0 || !counts.devices.empty();
  if (wish.names) {
    SPUR_TRY(choose_named(view, *wish.names, now, draft));
  } else if (counted && !any) {
    SPUR_TRY(choose_by_count(view, counts, {}, now, draft));
  } else if (!any) {
    return fail(ErrorCode::InvalidNode, "neither nodes nor a number of them was given");
  }
  reservation = std::move(draft);
  return {};
}

Status resize_reservation(const model::View& view, Time now, Reservation& reservation) {
  const std::uint64_t wanted = sum(reservation.node_counts), has = reservation.nodes.size();
  if (wanted == 0) return fail(ErrorCode::InvalidNodeCount, "a reservation of no nodes");
  auto& nodes = reservation.nodes;
  if (wanted > has) {
    std::set<NodeIndex> without;
    for (const ReservedNode& row : nodes) without.insert(row.node);
    Reservation others = reservation;
    others.core_counts.clear();
    others.tres.clear();
    SPUR_TRY(choose_by_count(view, {.nodes = wanted - has}, without, now, others));
    nodes.insert(nodes.end(), others.nodes.begin(), others.nodes.end());
    std::ranges::sort(nodes, {}, &ReservedNode::node);
    reservation.partition = others.partition;
    return {};
  }
  // Those go first on which nothing runs.
  std::ranges::stable_sort(nodes, [&view](const ReservedNode& a, const ReservedNode& b) {
    const auto runs = [&view](const ReservedNode& row) { return !(*view.nodes.find(row.node.value))->jobs.empty(); };
    return runs(a) < runs(b);
  });
  nodes.erase(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(has - wanted));
  std::ranges::sort(nodes, {}, &ReservedNode::node);
  return {};
}

std::optional<Reservation> with_replacements(const model::View& view, const Reservation& reservation, Time now) {
  if (reservation.has(model::kResvSpecNodes | model::kResvStaticAlloc | model::kResvAnyNodes)) return std::nullopt;
  Reservation kept = reservation;
  std::set<NodeIndex> without;
  std::erase_if(kept.nodes, [&](const ReservedNode& row) {
    const Node& node = **view.nodes.find(row.node.value);
    without.insert(row.node);
    const bool in_use = reservation.has(model::kResvReplace) && node.jobs.size() > node.jobs_completing;
    return row.whole() && (!node.usable() || in_use);
  });
  const std::size_t missing = reservation.nodes.size() - kept.nodes.size();
  if (missing == 0) return std::nullopt;
  // As many as can be had, one after the other.
  for (std::size_t count = missing; count > 0; --count) {
    Reservation others = reservation;
    others.core_counts.clear();
    others.tres.clear();
    if (!choose_by_count(view, {.nodes = count}, without, now, others)) continue;
    std::size_t put_back = missing - count;
    for (const ReservedNode& row : reservation.nodes) {
      const bool dropped = std::ranges::find(kept.nodes, row.node, &ReservedNode::node) == kept.nodes.end();
      if (dropped && put_back > 0) kept.nodes.push_back(row), --put_back;
    }
    kept.nodes.insert(kept.nodes.end(), others.nodes.begin(), others.nodes.end());
    std::ranges::sort(kept.nodes, {}, &ReservedNode::node);
    return kept;
  }
  return std::nullopt;
}

}  // namespace spur::sched
