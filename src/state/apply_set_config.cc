// SPDX-License-Identifier: Apache-2.0
// SetConfig: nodes and partitions are resolved anew, all or nothing.
//
// Nodes keep their order, so that an allocation's first node stays the first; new ones come behind, in the order of
// the configuration. A node that is no longer configured goes away, except while jobs are on it: then it stays,
// drained with the reason "removed from the configuration" and in no partition, until a later SetConfig finds it
// free. Indices stay dense; where they shift, the records that name them are rewritten. Finished jobs that ran on a
// node that is gone keep its name (last_nodes), not the allocation. Jobs in a partition that is gone stay, and wait
// or run on. Reservations lose the nodes that are gone. The outcome's notes say all that. Without any configured
// node, nodes are whatever registers (apply_register_node.cc). Nodes that were made at run time, and FUTURE ones that have
// come, stay (dynamic_nodes.h).
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "model/dynamic_nodes.h"
#include "model/relative_qos.h"
#include "state/apply.h"
#include "state/dynamic_nodes.h"
#include "state/node_books.h"
#include "state/node_config.h"

namespace spur::state {

using model::Job;
using model::Node;

namespace {

struct Plan {
  std::vector<Node> nodes;
  std::vector<std::optional<NodeIndex>> moved;  // by old index
  NodeNames names;
  std::vector<NodeIndex> all;  // without those that only wait to become free
  std::vector<model::Partition> partitions;
};

void mark_removed(Node& node, Time now) {
  node.flags |= model::kNodeDrain;
  node.reason = kRemoved;
  node.reason_by = kRootUid;
  node.reason_at = now;
}

void unmark_removed(Node& node) {
  if (node.reason != kRemoved) return;
  node.flags &= ~model::kNodeDrain;
  node.reason.clear();
  node.reason_at = {};
}

Result<Plan> make_plan(const model::View& view, const model::ClusterConfig& config,
                       const std::vector<std::string>& gone, Time now) {
  SPUR_TRY(check_config(config));
  const bool anybody = model::takes_anybody(config);
  std::map<std::string_view, const model::NodeConfig*> declared;
  for (const model::NodeConfig& row : config.nodes) declared.emplace(row.name, &row);
  Plan plan;
  const auto add = [&](Node node, bool in_service) {
    node.index = NodeIndex{static_cast<std::uint32_t>(plan.nodes.size())};
    plan.names.emplace(node.name, node.index);
    if (in_service) plan.all.push_back(node.index);
    plan.nodes.push_back(std::move(node));
    return plan.nodes.back().index;
  };
  view.nodes.for_each([&](std::uint32_t, const model::NodePtr& old) {
    Node node = *old;
    const auto at = declared.find(node.name);
    const bool drops = std::ranges::find(gone, node.name) != gone.end();
    if (at != declared.end() && !model::is_future(*at->second)) {
      unmark_removed(node);
      const bool cloud = declared_state(*at->second) == DeclaredState::Cloud;
      if (cloud && !node.registered && !node.is_away())
        node.flags = (node.flags & ~model::kNodeNoResponse) | model::kNodePoweredDown;
      node.flags = cloud ? node.flags | model::kNodeCloud : node.flags & ~model::kNodeCloud;
      configure(node, *at->second);
      plan.moved.push_back(add(std::move(node), true));
    } else if (anybody && at == declared.end() && !drops) {
      unmark_removed(node);
      set_hardware(node, nullptr);
      plan.moved.push_back(add(std::move(node), true));
    } else if (!node.jobs.empty()) {
      mark_removed(node, now);
      plan.moved.push_back(add(std::move(node), false));
    } else {
      plan.moved.push_back(std::nullopt);
    }
  });
  for (const model::NodeConfig& row : config.nodes)
    if (!model::is_future(row) && !plan.names.contains(row.name)) add(fresh_node(row, now), true);
  SPUR_ASSIGN(plan.partitions, resolve_partitions(config, plan.names, plan.all, anybody));
  return plan;
}

// The allocation with the new indices. A node that is gone is one that the job had left already.
std::shared_ptr<const model::Allocation> renumber(const model::Allocation& old, const Plan& plan) {
  auto out = std::make_shared<model::Allocation>(old);
  std::erase_if(out->nodes, [&](const model::NodeGrant& grant) {
    return grant.node.value >= plan.moved.size() || !plan.moved[grant.node.value];
  });
  for (model::NodeGrant& grant : out->nodes) grant.node = *plan.moved[grant.node.value];
  return out;
}

// What becomes of jobs whose node or partition is no longer configured.
std::vector<std::string> notes_on(const model::View& view, const Plan& plan) {
  std::vector<std::string> notes;
  for (const Node& node : plan.nodes) {
    if (node.reason != kRemoved) continue;
    notes.push_back(fmt::format("node {} is no longer configured: it is drained and goes when its {} jobs have ended",
                                node.name, node.jobs.size()));
  }
  for (const model::Partition& old : *view.partitions) {
    const std::string& name = old.config.name;
    if (std::ranges::find(plan.partitions, name, [](const auto& p) { return p.config.name; }) !=
        plan.partitions.end())
      continue;
    std::size_t waiting = 0, running = 0;
    view.pending.for_each([&](std::uint32_t, const model::JobPtr& job) {
      const auto& asked = job->spec->partitions;
      waiting += std::ranges::find(asked, name) != asked.end() || (asked.empty() && old.config.is_default);
    });
    view.active.for_each([&](std::uint32_t, const model::JobPtr& job) {
      running += job->allocation && job->allocation->partition == name;
    });
    if (waiting + running > 0)
      notes.push_back(fmt::format(
          "partition {} is no longer configured: {} jobs of it run on, {} wait until they are given another one",
          name, running, waiting));
  }
  return notes;
}

}  // namespace

// Claims name nodes and CPUs as they were; the scheduler looks again.
void Applier::drop_claims() {
  std::vector<model::JobPtr> claimed;
  view.pending.for_each([&](std::uint32_t, const model::JobPtr& job) {
    if (job->claim) claimed.push_back(job);
  });
  for (const model::JobPtr& old : claimed) {
    Job job = *old;
    forget_claim(job);
    put(std::move(job), true);
  }
}

Outcome Applier::apply(const SetConfig& command) {
  model::ClusterConfig fresh = command.config;
  keep_dynamic_nodes(fresh, config());
  return take_config(std::move(fresh));
}

Outcome Applier::take_config(model::ClusterConfig fresh, const std::vector<std::string>& gone) {
  auto made = make_plan(view, fresh, gone, now);
  if (!made) return refused(std::move(made).error());
  Plan& plan = *made;

  Outcome outcome;
  outcome.notes = notes_on(view, plan);
  const bool counts = !view.accounts->empty();
  if (counts) fade_usage(false);
  bool shifted = false;
  for (std::uint32_t i = 0; i < plan.moved.size(); ++i) shifted |= plan.moved[i] != NodeIndex{i};
  view.nodes.clear();
  for (Node& node : plan.nodes) put_node(std::move(node));
  view.node_by_name = std::make_shared<const NodeNames>(std::move(plan.names));
  view.partitions = std::make_shared<const std::vector<model::Partition>>(std::move(plan.partitions));
  const bool accounted = config().is_accounted;
  view.config = std::make_shared<const model::ClusterConfig>(std::move(fresh));
  cluster.index_configured_nodes();
  cluster.changes_.config = true;
  if (view.next_job_id < config().first_job_id || view.next_job_id > config().max_job_id)
    view.next_job_id = config().first_job_id;
  const auto columns = std::exchange(view.tres, std::make_shared<const model::TresTable>(config()));
  view.qos_in_force = model::qos_with_amounts(view);
  others_may_age = true;
  // Once all records are as they will be: what they hold may be called otherwise now, and count elsewhere.
  const auto recounted = [&] {
    if (!counts) return;
    recount_all(*columns);
    reckon_shares();
  };
  drop_claims();
  refit_reservations(shifted ? &plan.moved : nullptr, outcome.notes);
  accounted ? note_cluster() : note_everything();
  if (!shifted) {
    recounted();
    return outcome;
  }

  std::vector<model::JobPtr> jobs;
  view.jobs.for_each([&](std::uint32_t, const model::JobPtr& job) {
    if (job->allocation) jobs.push_back(job);
  });
  for (const model::JobPtr& old : jobs) {
    Job job = *old;
    job.allocation = renumber(*old->allocation, plan);
    if (is_over(job) && job.allocation->nodes.size() != old->allocation->nodes.size()) job.allocation = nullptr;
    for (NodeIndex& left : job.nodes_left) left = *plan.moved[left.value];
    put(std::move(job), true);
  }
  recounted();
  return outcome;
}

}  // namespace spur::state
