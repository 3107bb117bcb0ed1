// SPDX-License-Identifier: Apache-2.0
#include "sched/test_cluster.h"

#include <algorithm>
#include <utility>

#include "model/core_sharing.h"

namespace spur::sched {
namespace {

// Keeps what is known where nothing changed.
template <class T>
void share(std::shared_ptr<const T>& known, const T& now) {
  if (!known || *known != now) known = std::make_shared<T>(now);
}
template <class T>
std::shared_ptr<const T> share(CowMap<std::shared_ptr<const T>>& map, std::uint32_t key, const T& now) {
  const auto* known = map.find(key);
  if (known && **known == now) return *known;
  map.set(key, std::make_shared<T>(now));
  return *map.find(key);
}

}  // namespace

TestCluster::TestCluster() = default;
TestCluster::TestCluster(const TestCluster&) = default;
TestCluster& TestCluster::operator=(const TestCluster&) = default;
TestCluster::~TestCluster() = default;

model::Node& TestCluster::add_node(const std::string& name, std::uint32_t cpus, std::uint64_t memory_mib) {
  auto node = std::make_shared<model::Node>();
  node->index = NodeIndex(static_cast<std::uint32_t>(nodes_.size()));
  node->name = name;
  node->hardware.cpus = node->hardware.sockets = cpus;
  node->hardware.memory_mib = memory_mib;
  node->registered = true;
  node->cpus_in_use.resize((cpus + 63) / 64);
  nodes_.push_back(std::move(node));
  return *nodes_.back();
}

void TestCluster::add_nodes(std::uint32_t count, std::uint32_t cpus, std::uint64_t memory_mib) {
  for (std::uint32_t i = 1; i <= count; ++i) add_node("n" + std::to_string(i), cpus, memory_mib);
}

model::PartitionConfig& TestCluster::add_partition(const std::string& name, std::vector<std::uint32_t> nodes) {
  model::Partition partition;
  partition.config.name = name;
  partition.config.is_default = partitions_->empty();
  if (nodes.empty())
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) nodes.push_back(n);
  for (const auto n : nodes) partition.nodes.push_back(NodeIndex(n));
  partitions_->push_back(std::move(partition));
  return partitions_->back().config;
}

model::Job& TestCluster::submit(model::JobSpec spec, Time when) {
  auto job = std::make_shared<model::Job>();
  job->id = JobId(next_id_++);
  job->time_limit = spec.time_limit;
  job->priority_by_hand = spec.priority.has_value();
  job->priority = spec.priority.value_or(1);
  job->submitted = when;
  job->eligible = job->accrue = std::max(when, spec.begin);
  if (spec.array) {
    job->array_job = job->id;
    job->array_pending = std::make_shared<IndexSet>(spec.array->tasks);
    job->array_max_running = spec.array->max_running;
  }
  job->spec = std::make_shared<model::JobSpec>(std::move(spec));
  jobs_[job->id] = job;
  return *job;
}

model::Job& TestCluster::submit_het(const std::vector<model::JobSpec>& specs, Time when) {
  const JobId first(next_id_);
  for (std::uint32_t i = 0; i < specs.size(); ++i) {
    model::Job& job = submit(specs[i], when);
    job.het_job = first;
    job.het_offset = i;
    job.het_size = static_cast<std::uint32_t>(specs.size());
  }
  return *jobs_.at(first);
}

model::View TestCluster::view() const {
  share(view_.config, *config);
  share(view_.partitions, *partitions_);
  std::map<std::string, NodeIndex, std::less<>> names;
  for (const auto& node : nodes_) {
    share(view_.nodes, node->index.value, *node);
    names.emplace(node->name, node->index);
  }
  share(view_.node_by_name, names);
  view_.reservations = reservations;
  for (const auto& [id, job] : jobs_) {
    const auto record = share(view_.jobs, id.value, *job);
    const bool completing = job->flags & model::kCompleting;
    const auto list = [&](CowMap<model::JobPtr>& jobs, bool belongs) {
      if (!belongs)
        jobs.erase(id.value);
      else if (const auto* known = jobs.find(id.value); !known || *known != record)
        jobs.set(id.value, record);
    };
    list(view_.pending, job->state == model::JobState::Pending && !completing);
    list(view_.active, model::is_active(job->state) || completing);
  }
  return view_;
}

TestCluster TestCluster::clone() const {
  TestCluster copy = *this;
  for (auto& node : copy.nodes_) node = std::make_shared<model::Node>(*node);
  for (auto& [id, job] : copy.jobs_) job = std::make_shared<model::Job>(*job);
  copy.partitions_ = std::make_shared<std::vector<model::Partition>>(*partitions_);
  return copy;
}

void TestCluster::start(const Start& start, Time now) {
  model::Job* job = jobs_.at(start.job).get();
  ASSERT_EQ(job->state, model::JobState::Pending);
  if (job->is_array_rest()) {
    ASSERT_TRUE(start.array_task && job->array_pending->contains(*start.array_task));
    job = &split(*job, *start.array_task);
  }
  job->state = model::JobState::Running;
  job->reason = model::Reason::None;
  job->started = now;
  if (start.limit.is_set()) job->time_limit = start.limit;
  job->allocation = start.allocation;
  for (const auto& partition : *partitions_)
    if (partition.config.name == start.allocation->partition &&
        model::jobs_per_core(partition.config, *job->spec) > 1)
      job->flags |= model::kSharesCores;
  ASSERT_FALSE(start.allocation->nodes.empty());
  for (const auto& grant : start.allocation->nodes) {
    take(*job, grant);
    job->nodes_left.push_back(grant.node);
  }
}

void TestCluster::carry_out(const Plan& plan, Time now) {
  for (const auto& one : plan.starts) start(one, now);
  for (const auto& wait : plan.waits) jobs_.at(wait.job)->reason = wait.reason;
}

void TestCluster::begin_completing(JobId id) {
  auto& job = *jobs_.at(id);
  job.state = model::JobState::Completed;
  job.flags |= model::kCompleting;
}

void TestCluster::finish(JobId id) {
  auto& job = *jobs_.at(id);
  for (const auto& grant : job.allocation->nodes) give_back(job, grant);
  job.nodes_left.clear();
  job.flags &= ~model::kCompleting;
  job.state = model::JobState::Completed;
}

void TestCluster::suspend(JobId id, Time now) {
  auto& job = *jobs_.at(id);
  for (const auto& grant : job.allocation->nodes) mark_cpus(job, grant, false);
  job.state = model::JobState::Suspended;
  job.suspended_at = now;
}

model::Job& TestCluster::split(model::Job& rest, std::uint32_t task) {
  auto tasks = std::make_shared<IndexSet>(*rest.array_pending);
  tasks->erase(task);
  if (tasks->empty()) {
    rest.array_pending = nullptr;
    rest.array_task = task;
    return rest;
  }
  auto job = std::make_shared<model::Job>(rest);
  rest.array_pending = std::move(tasks);
  job->id = JobId(next_id_++);
  job->array_task = task;
  job->array_pending = nullptr;
  jobs_[job->id] = job;
  return *job;
}

void TestCluster::flip(std::vector<std::uint64_t>& bits, std::size_t i, bool to) {
  if (bits.size() <= i / 64) bits.resize(i / 64 + 1);
  ASSERT_NE(static_cast<bool>(bits[i / 64] >> (i % 64) & 1), to) << "taken twice or given back twice: " << i;
  bits[i / 64] ^= std::uint64_t{1} << (i % 64);
}

// How many others have the CPU; they must all share it with the job, and may be one less than the partition allows.
std::uint32_t TestCluster::others_on(const model::Job& job, NodeIndex at, model::CpuNumber cpu) const {
  std::uint32_t count = 0;
  for (const JobId id : nodes_[at.value]->jobs) {
    const auto& other = *jobs_.at(id);
    if (id == job.id || is_set(other.suspended_at) || !model::shares_with(other, *job.allocation)) continue;
    for (const auto& grant : other.allocation->nodes)
      count += grant.node == at && std::ranges::find(grant.cpus, cpu) != grant.cpus.end();
  }
  return count;
}

void TestCluster::mark_cpus(const model::Job& job, const model::NodeGrant& grant, bool in_use) {
  auto& node = *nodes_[grant.node.value];
  model::for_each_cpu_held(grant, [&](model::CpuNumber cpu) {
    ASSERT_LT(cpu, node.hardware.cpus);
    if (job.flags & model::kSharesCores)
      if (const auto others = others_on(job, grant.node, cpu); others > 0) {
        shared_cpus += in_use;
        for (const auto& partition : *partitions_) {
          if (!in_use || partition.config.name != job.allocation->partition) continue;
          ASSERT_LT(others, model::jobs_per_core(partition.config, *job.spec));
        }
        return;
      }
    flip(node.cpus_in_use, cpu, in_use);
    in_use ? ++node.cpus_allocated : --node.cpus_allocated;
  });
}

void TestCluster::mark_devices(const model::NodeGrant& grant, bool in_use) {
  auto& node = *nodes_[grant.node.value];
  for (const auto& devices : grant.devices) {
    auto at = std::ranges::find(node.devices_in_use, devices.gres, &model::Node::DevicesInUse::gres);
    if (at == node.devices_in_use.end()) at = node.devices_in_use.insert(at, {devices.gres, {}});
    for (std::size_t i = 0; i < devices.indices.size(); ++i) {
      const auto index = devices.indices[i];
      if (devices.shares.empty()) {
        flip(at->bits, index, in_use);
        continue;
      }
      if (at->shares.size() <= index) at->shares.resize(index + 1);
      ASSERT_GT(devices.shares[i], 0u);
      ASSERT_TRUE(in_use || at->shares[index] >= devices.shares[i]);
      in_use ? at->shares[index] += devices.shares[i] : at->shares[index] -= devices.shares[i];
    }
  }
}

void TestCluster::check_shares(const model::Node& node) {
  const auto books = [&](const char* name) {
    const auto at = std::ranges::find(node.devices_in_use, name, &model::Node::DevicesInUse::gres);
    return at == node.devices_in_use.end() ? model::Node::DevicesInUse{} : *at;
  };
  std::uint64_t gpus = 0, shards = 0;
  for (const auto& gres : node.hardware.gres) (gres.name == "gpu" ? gpus : shards) += gres.count;
  const auto shard = books("shard"), gpu = books("gpu");
  for (std::size_t d = 0; d < shard.shares.size(); ++d) {
    ASSERT_LE(shard.shares[d], std::max<std::uint64_t>(1, (shards + gpus - 1) / gpus));
    ASSERT_TRUE(shard.shares[d] == 0 || d / 64 >= gpu.bits.size() || !(gpu.bits[d / 64] >> (d % 64) & 1));
  }
}

void TestCluster::take(const model::Job& job, const model::NodeGrant& grant) {
  auto& node = *nodes_[grant.node.value];
  ASSERT_TRUE(node.usable());
  ASSERT_FALSE(grant.cpus.empty());
  mark_cpus(job, grant, true);
  mark_devices(grant, true);
  check_shares(node);
  node.memory_allocated_mib += grant.memory_mib;
  ASSERT_LE(node.memory_allocated_mib, node.hardware.memory_mib);
  node.jobs.insert(std::ranges::lower_bound(node.jobs, job.id), job.id);
}

void TestCluster::give_back(const model::Job& job, const model::NodeGrant& grant) {
  auto& node = *nodes_[grant.node.value];
  if (!is_set(job.suspended_at)) mark_cpus(job, grant, false);
  mark_devices(grant, false);
  node.memory_allocated_mib -= grant.memory_mib;
  std::erase(node.jobs, job.id);
}

model::JobSpec wants_nodes(std::uint32_t nodes, std::uint32_t limit_minutes) {
  model::JobSpec spec;
  spec.min_nodes = nodes;
  spec.max_nodes = nodes;
  spec.nodes_given = true;
  spec.exclusive = model::Exclusive::Node;
  spec.time_limit = TimeLimit::of_minutes(limit_minutes);
  return spec;
}

model::JobSpec wants_tasks(std::uint32_t tasks, std::uint32_t limit_minutes) {
  model::JobSpec spec;
  spec.tasks = tasks;
  spec.time_limit = TimeLimit::of_minutes(limit_minutes);
  return spec;
}

}  // namespace spur::sched
