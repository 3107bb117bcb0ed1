// SPDX-License-Identifier: Apache-2.0
// check_invariants(): recomputes everything that is kept twice and compares. O(all jobs and nodes): for tests, the
// simulator, and once for every snapshot that is loaded.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "model/core_sharing.h"
#include "state/accounts.h"
#include "state/cluster.h"
#include "state/reservations.h"

namespace spur::state {

using model::Job;
using model::JobPtr;
using model::JobState;
using model::Node;

namespace {

template <class... Ts>
std::unexpected<Error> broken(fmt::format_string<Ts...> format, Ts&&... args) {
  return fail(ErrorCode::Corrupt, fmt::format(format, std::forward<Ts>(args)...));
}

bool has_nodes(const Job& job) {
  return model::is_active(job.state) || (job.flags & model::kCompleting);
}

// ---- a job by itself

Status check_run(const Job& job) {
  const bool completing = job.flags & model::kCompleting;
  if (has_nodes(job)) {
    if (!job.allocation || job.nodes_left.empty()) return broken("job {} is active without nodes", job.id.value);
    for (const NodeIndex at : job.nodes_left)
      if (std::none_of(job.allocation->nodes.begin(), job.allocation->nodes.end(),
                       [at](const auto& g) { return g.node == at; }))
        return broken("job {} is on node {}, which it was not given", job.id.value, at.value);
    if (!is_set(job.started)) return broken("job {} is active and never started", job.id.value);
  } else if (!job.nodes_left.empty()) {
    return broken("job {} is over or pending and still has nodes", job.id.value);
  }
  if (completing && !is_set(job.ended)) return broken("job {} is completing and has not ended", job.id.value);
  if (completing && !model::is_final(job.state) && job.after_completing == model::AfterCompleting::Stay)
    return broken("job {} is completing towards nothing", job.id.value);
  if (is_over(job) && !is_set(job.ended)) return broken("job {} is over and has no end", job.id.value);
  if (model::is_active(job.state) && is_set(job.suspended_at) != (job.state == JobState::Suspended))
    return broken("job {} is suspended in one place and not in another", job.id.value);
  if (is_set(job.preempt_at) != (job.preempt_how != model::PreemptHow::Unset) ||
      is_set(job.preempt_at) != static_cast<bool>(job.preempted_for))
    return broken("job {} is being preempted in one place and not in another", job.id.value);
  // A job of scrontab has many runs; each begins with no restart.
  if (job.flags & model::kCronJob ? job.epoch.value < job.restarts + 1 : job.epoch.value != job.restarts + 1)
    return broken("job {} has epoch {} after {} restarts", job.id.value, job.epoch.value, job.restarts);
  return {};
}

Status check_wait(const model::View& view, const Job& job) {
  if ((job.hold != model::Hold::None) != (job.priority == 0))
    return broken("job {} is held and has priority {}, or the other way round", job.id.value, job.priority);
  if (!is_waiting(job)) return job.claim ? broken("job {} has a claim and does not wait", job.id.value) : Status{};
  if (job.claim.get() != nullptr && (!is_set(job.accrue) || !is_set(job.claimed_from)))
    return broken("job {} has a claim and may not start", job.id.value);
  if (job.allocation) return broken("the pending job {} has an allocation", job.id.value);
  const bool blocked = job.hold != model::Hold::None || job.dependency_never || !job.dependencies_left.empty();
  if (blocked == is_set(job.accrue))
    return broken("job {} is eligible or blocked, but not as its times say", job.id.value);
  if (!blocked && !is_set(job.eligible)) return broken("job {} may start and has no eligible time", job.id.value);
  if (blocked && job.reason == model::Reason::None) return broken("job {} waits without a reason", job.id.value);
  if (job.dependency_never) return {};
  for (const model::Dependency& term : job.dependencies_left)
    if (term.job && !view.jobs.contains(term.job.value) && !view.arrays.contains(term.job.value))
      return broken("job {} waits for job {}, which does not exist", job.id.value, term.job.value);
  return {};
}

Status check_array(const model::View& view, const Job& job, std::size_t* listed) {
  if (!job.array_job) {
    if (job.array_task || job.array_pending) return broken("job {} has a task but no array", job.id.value);
    return {};
  }
  if (job.is_array_rest() == job.array_task.has_value())
    return broken("job {} is neither a task nor a rest", job.id.value);
  std::optional<std::uint32_t> task = job.array_task;
  if (job.is_array_rest()) {
    if (job.array_pending->empty()) return broken("the rest of array {} is empty", job.id.value);
    if (job.id == job.array_job) return {};
    if (!is_over(job)) return broken("array {} has a second rest, job {}", job.array_job.value, job.id.value);
    task = job.array_pending->lowest();
  }
  ++*listed;
  const CowMap<JobId>* tasks = view.arrays.find(job.array_job.value);
  const JobId* id = tasks ? tasks->find(*task) : nullptr;
  if (!id || *id != job.id)
    return broken("job {} is not listed as a task of array {}", job.id.value, job.array_job.value);
  const Job* rest = model::find_job(view, job.array_job);
  if (rest && rest->is_array_rest() && rest->array_pending->contains(*task))
    return broken("task {} of array {} is pending and has a record too", *task, job.array_job.value);
  return {};
}

// All components are there as long as one is, and wait or run together; one that runs may be over before the others.
Status check_component(const model::View& view, const Job& job) {
  if (!job.het_job) return {};
  if (job.array_job || job.het_offset >= job.het_size || job.id.value != job.het_job.value + job.het_offset)
    return broken("job {} is no component of job {}", job.id.value, job.het_job.value);
  const Job* leader = model::find_job(view, job.het_job);
  const Job* next =
      model::find_job(view, JobId{job.het_job.value + (job.het_offset + 1) % std::max(1u, job.het_size)});
  if (!leader || !next || leader->het_job != job.het_job || next->het_job != job.het_job)
    return broken("heterogeneous job {} has lost a component", job.het_job.value);
  const auto runs = [](const Job& one) { return model::is_active(one.state) && !(one.flags & model::kCompleting); };
  if ((leader->state == JobState::Pending) != (job.state == JobState::Pending))
    return broken("component {} of job {} does not wait with the others", job.het_offset, job.het_job.value);
  if (runs(job) && !runs(*leader))
    return broken("component {} of job {} runs on by itself", job.het_offset, job.het_job.value);
  return {};
}

// ---- all jobs against the maps

Status check_jobs(const model::View& view) {
  Status status;
  std::size_t pending = 0, active = 0, listed = 0;
  view.jobs.for_each([&](std::uint32_t key, const JobPtr& job) {
    const auto same = [&](const JobPtr* other, bool wanted) { return wanted ? other && *other == job : !other; };
    const bool waits = is_waiting(*job), runs = has_nodes(*job);
    pending += waits, active += runs;
    if (job->id.value != key) {
      status = broken("job {} is kept under {}", job->id.value, key);
    } else if (!same(view.pending.find(key), waits) || !same(view.active.find(key), runs)) {
      status = broken("job {} is missing in a map, or in one too many", key);
    }
    if (status) status = check_run(*job);
    if (status) status = check_wait(view, *job);
    if (status) status = check_array(view, *job, &listed);
    if (status) status = check_component(view, *job);
    return status.has_value();
  });
  SPUR_TRY(status);
  if (pending != view.pending.size() || active != view.active.size())
    return broken("a map lists a job that is not there");
  view.arrays.for_each([&](std::uint32_t, const CowMap<JobId>& tasks) { listed -= tasks.size(); });
  if (listed != 0) return broken("an array lists a task that is not there");
  return {};
}

// ---- nodes against the allocations

struct Sum {
  std::vector<bool> cpus;
  std::vector<const Job*> sharers;  // by CPU: one of those that share it; null: nobody does
  std::map<std::string, std::vector<bool>> devices;
  std::map<std::string, std::vector<std::uint32_t>> shares;
  std::uint64_t memory_mib = 0;
  std::uint32_t cpu_count = 0, completing = 0, holders = 0;
  bool alone = false;
  std::vector<JobId> jobs;
};

Status add_bit(std::vector<bool>& bits, std::size_t at, const Job& job) {
  if (at >= bits.size()) bits.resize(at + 1);
  if (bits[at]) return broken("job {} has a CPU or device that another job has too", job.id.value);
  bits[at] = true;
  return {};
}

// A CPU of several jobs counts once; all of them share, with each other.
Status add_cpu(Sum& sum, model::CpuNumber cpu, const Job& job) {
  if (sum.sharers.size() <= cpu) sum.sharers.resize(cpu + std::size_t{1});
  const bool shared = sum.sharers[cpu] && (job.flags & model::kSharesCores);
  if (shared && model::shares_with(*sum.sharers[cpu], *job.allocation)) return {};
  ++sum.cpu_count;
  if (job.flags & model::kSharesCores) sum.sharers[cpu] = &job;
  return add_bit(sum.cpus, cpu, job);
}

Status add_job(std::vector<Sum>& sums, const Job& job) {
  for (const model::NodeGrant& grant : job.allocation->nodes) {
    if (std::find(job.nodes_left.begin(), job.nodes_left.end(), grant.node) == job.nodes_left.end()) continue;
    if (grant.node.value >= sums.size()) return broken("job {} is on a node that does not exist", job.id.value);
    Sum& sum = sums[grant.node.value];
    sum.jobs.push_back(job.id);
    sum.memory_mib += grant.memory_mib;
    if (job.flags & model::kCompleting) ++sum.completing;
    if (!is_set(job.suspended_at)) {
      ++sum.holders;
      sum.alone |= job.spec->exclusive == model::Exclusive::Node;
      for (const model::CpuNumber cpu : grant.cpus) SPUR_TRY(add_cpu(sum, cpu, job));
      for (const model::CpuNumber cpu : grant.kept_cpus) SPUR_TRY(add_cpu(sum, cpu, job));
    }
    for (const model::DeviceGrant& devices : grant.devices) {
      for (std::size_t i = 0; i < devices.indices.size(); ++i) {
        const std::uint32_t index = devices.indices[i];
        if (devices.shares.empty()) {
          SPUR_TRY(add_bit(sum.devices[devices.gres], index, job));
          continue;
        }
        auto& shares = sum.shares[devices.gres];
        if (shares.size() <= index) shares.resize(index + 1);
        shares[index] += devices.shares[i];
      }
    }
  }
  return {};
}

bool same_bits(const std::vector<bool>& wanted, const std::vector<std::uint64_t>& bits) {
  const std::size_t size = std::max(wanted.size(), bits.size() * 64);
  for (std::size_t i = 0; i < size; ++i) {
    const bool kept = i / 64 < bits.size() && (bits[i / 64] >> (i % 64) & 1);
    if (kept != (i < wanted.size() && wanted[i])) return false;
  }
  return true;
}

Status check_books(const Node& node, Sum& sum) {
  if (sum.jobs != node.jobs) return broken("node {} lists other jobs than those that are on it", node.name);
  if (sum.cpu_count != node.cpus_allocated || !same_bits(sum.cpus, node.cpus_in_use))
    return broken("the CPUs of node {} are not what its jobs have", node.name);
  if (sum.memory_mib != node.memory_allocated_mib)
    return broken("the memory of node {} is not what its jobs have", node.name);
  if (sum.completing != node.jobs_completing) return broken("node {} miscounts its completing jobs", node.name);
  if (sum.alone && !node.exclusive) return broken("node {} forgot that a job has it alone", node.name);
  if (node.exclusive && sum.holders != 1) return broken("node {} is held alone by {} jobs", node.name, sum.holders);
  for (const auto& books : node.devices_in_use) {
    if (!same_bits(sum.devices[books.gres], books.bits))
      return broken("{} of node {} is not what its jobs have", books.gres, node.name);
    sum.devices.erase(books.gres);
    if (sum.shares[books.gres] != books.shares)
      return broken("node {}: the shares of {} in use are not those of its jobs", node.name, books.gres);
    const auto whole = std::find_if(node.devices_in_use.begin(), node.devices_in_use.end(),
                                    [](const auto& other) { return other.gres == "gpu"; });
    for (std::size_t d = 0; d < books.shares.size() && whole != node.devices_in_use.end(); ++d)
      if (books.shares[d] > 0 && d / 64 < whole->bits.size() && (whole->bits[d / 64] >> (d % 64) & 1))
        return broken("node {}: GPU {} is given out whole and in shares", node.name, d);
  }
  for (const auto& [gres, bits] : sum.devices)
    if (std::find(bits.begin(), bits.end(), true) != bits.end())
      return broken("node {} forgot its {}", node.name, gres);
  return {};
}

// ---- nodes that are switched off: jobs wait for them, and nothing of a job that ends is there

Status check_away(const model::View& view, const Job& job) {
  const bool waits = std::ranges::any_of(
      job.nodes_left, [&](NodeIndex at) { return (*view.nodes.find(at.value))->is_away(); });
  if (waits != ((job.flags & model::kConfiguring) != 0))
    return broken("job {} waits for its nodes in one place and not in another", job.id.value);
  return {};
}

Status check_power(const Node& node) {
  const std::uint32_t away = node.flags & model::kNodeAway;
  if (node.flags & model::kNodeFuture) return broken("node {} is FUTURE and has a record", node.name);
  if (away & (away - 1)) return broken("node {} is switched off and on at once", node.name);
  if (is_set(node.ordered_at) &&
      !(node.flags & (model::kNodeRebootIssued | model::kNodePoweringDown | model::kNodePoweringUp)))
    return broken("node {} was told something and nobody knows what", node.name);
  return {};
}

Status check_nodes(const model::View& view) {
  std::vector<Sum> sums(view.nodes.size());
  Status status;
  view.active.for_each([&](std::uint32_t, const JobPtr& job) { return (status = add_job(sums, *job)).has_value(); });
  SPUR_TRY(status);
  view.active.for_each([&](std::uint32_t, const JobPtr& job) { return (status = check_away(view, *job)).has_value(); });
  SPUR_TRY(status);
  if (view.node_by_name->size() != view.nodes.size()) return broken("a node has no name, or a name no node");
  view.nodes.for_each([&](std::uint32_t key, const model::NodePtr& node) {
    if (node->index.value != key || key >= sums.size() || model::find_node(view, node->name) != node.get()) {
      status = broken("node {} is not where it should be", node->name);
    } else {
      status = check_books(*node, sums[key]);
      if (status) status = check_power(*node);
    }
    return status.has_value();
  });
  SPUR_TRY(status);
  for (const model::Partition& partition : *view.partitions)
    for (const NodeIndex at : partition.nodes)
      if (!view.nodes.contains(at.value))
        return broken("partition {} has a node that does not exist", partition.config.name);
  return {};
}

// ---- reservations against the nodes

Status check_reservations(const model::View& view) {
  std::set<std::string_view> names;
  for (const model::Reservation& r : *view.reservations) {
    if (!names.insert(r.name).second) return broken("there are two reservations {}", r.name);
    if (r.end <= r.start) return broken("reservation {} ends before it starts", r.name);
    if (r.active && r.start > view.as_of) return broken("reservation {} has begun before its time", r.name);
    for (std::size_t i = 0; i < r.nodes.size(); ++i)
      if (!view.nodes.contains(r.nodes[i].node.value) || (i > 0 && r.nodes[i - 1].node >= r.nodes[i].node))
        return broken("reservation {} has a node that does not exist, or one twice", r.name);
  }
  const auto reserved = reserved_nodes(view, false), maintained = reserved_nodes(view, true);
  Status status;
  view.nodes.for_each([&](std::uint32_t at, const model::NodePtr& node) {
    if (((node->flags & model::kNodeReserved) != 0) != reserved[at] ||
        ((node->flags & model::kNodeMaintenance) != 0) != maintained[at])
      status = broken("node {} does not know how it is reserved", node->name);
    return status.has_value();
  });
  return status;
}

template <class List, class Less>
bool in_order(const List& list, Less less) {
  return std::adjacent_find(list.begin(), list.end(), [&](const auto& a, const auto& b) { return !less(a, b); }) ==
         list.end();
}

}  // namespace

Status Cluster::check_invariants() const {
  SPUR_TRY(check_jobs(view_));
  SPUR_TRY(check_nodes(view_));
  SPUR_TRY(tokens_.check(view_));
  SPUR_TRY(check_reservations(view_));
  if (!in_order(*view_.qos, [](const auto& a, const auto& b) { return a.name < b.name; }) ||
      !in_order(*view_.shares, model::before))
    return broken("the lists of QOS and shares are not in order");
  SPUR_TRY(check_tallies(view_));
  for (const auto& [user, table] : crontabs_)
    for (const model::CronEntry& entry : table.entries) {
      const Job* job = model::find_job(view_, entry.job);
      if (!job || !(job->flags & model::kCronJob) || is_over(*job) || job->spec->uid != user || table.user != user)
        return broken("an entry of the table of user {} has no job", user.value);
    }
  for (const auto& [id, trigger] : triggers_)
    if (trigger.id != id || trigger.program.empty()) return broken("trigger {} is none", id);
  JobIndex fresh;
  if (index_.watches_names()) fresh.watch_names({});
  view_.jobs.for_each([&](std::uint32_t, const JobPtr& job) { fresh.replace(nullptr, job.get()); });
  if (!(fresh == index_)) return broken("the index of jobs is not what the records say");
  return {};
}

}  // namespace spur::state
