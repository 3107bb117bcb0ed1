// SPDX-License-Identifier: Apache-2.0
#include "sched/world.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "model/core_sharing.h"
#include "model/counting.h"
#include "sched/request.h"

namespace spur::sched {
namespace {

// Numbers are ascending and come in long runs, so whole words are changed at a time.
template <class Number>
void flip(std::vector<std::uint64_t>& bits, const std::vector<Number>& numbers, bool to) {
  if (!numbers.empty() && bits.size() <= numbers.back() / 64u) bits.resize(numbers.back() / 64u + 1);
  for (std::size_t i = 0; i < numbers.size();) {
    const std::size_t word = numbers[i] / 64u;
    std::uint64_t mask = 0;
    if (numbers[i] % 64u == 0 && i + 63 < numbers.size() && numbers[i + 63] == numbers[i] + 63u) {
      mask = ~mask;
      i += 64;
    }
    for (; i < numbers.size() && numbers[i] / 64u == word; ++i) mask |= std::uint64_t{1} << (numbers[i] % 64u);
    SPUR_CHECK((bits[word] & mask) == (to ? 0 : mask));
    bits[word] ^= mask;
  }
}

void flip_devices(model::Node& node, const model::NodeGrant& grant, bool to) {
  for (const model::DeviceGrant& devices : grant.devices) {
    auto at = std::ranges::find(node.devices_in_use, devices.gres, &model::Node::DevicesInUse::gres);
    if (at == node.devices_in_use.end()) at = node.devices_in_use.insert(at, {devices.gres, {}});
    if (devices.shares.empty()) {
      flip(at->bits, devices.indices, to);
      continue;
    }
    for (std::size_t i = 0; i < devices.indices.size(); ++i) {
      const std::uint32_t index = devices.indices[i], share = devices.shares[i];
      if (at->shares.size() <= index) at->shares.resize(index + 1);
      SPUR_CHECK(to || at->shares[index] >= share);
      at->shares[index] += to ? share : 0 - share;
    }
  }
}

template <class Number>
bool any_in_use(const std::vector<std::uint64_t>& bits, const std::vector<Number>& numbers) {
  return std::ranges::any_of(numbers,
                             [&](Number n) { return n / 64u < bits.size() && (bits[n / 64u] >> (n % 64u) & 1); });
}

template <class Number>
bool ascending(const std::vector<Number>& numbers) {
  return std::ranges::adjacent_find(numbers, std::greater_equal<>()) == numbers.end();
}

// Without the CPUs that others have as well.
model::NodeGrant of_its_own(const model::View& view, const model::Node& node, const model::Job& job,
                            const model::NodeGrant& grant) {
  model::NodeGrant own = grant;
  if (!(job.flags & model::kSharesCores) || !job.allocation) return own;
  const auto others = model::sharers_by_cpu(view, node, *job.allocation, job.id);
  std::erase_if(own.cpus, [&](model::CpuNumber cpu) { return cpu < others.size() && others[cpu] > 0; });
  return own;
}

// Whether a record from elsewhere can be true here.
bool can_take(const model::Node& node, const model::Job& job, const model::NodeGrant& has, const model::View& view) {
  constexpr std::uint32_t kMostDevices = 1u << 20;
  if (!ascending(has.cpus) || (!has.cpus.empty() && has.cpus.back() >= node.hardware.cpus)) return false;
  const model::NodeGrant grant = of_its_own(view, node, job, has);
  if (any_in_use(node.cpus_in_use, grant.cpus) || any_in_use(node.cpus_in_use, grant.kept_cpus)) return false;
  return std::ranges::all_of(grant.devices, [&](const model::DeviceGrant& devices) {
    if (!ascending(devices.indices) || (!devices.indices.empty() && devices.indices.back() >= kMostDevices))
      return false;
    if (!devices.shares.empty()) return devices.shares.size() == devices.indices.size();
    const auto at = std::ranges::find(node.devices_in_use, devices.gres, &model::Node::DevicesInUse::gres);
    return at == node.devices_in_use.end() || !any_in_use(at->bits, devices.indices);
  });
}

void book(model::Node& node, const model::NodeGrant& grant, bool cpus, bool to) {
  if (cpus) {
    flip(node.cpus_in_use, grant.cpus, to);
    flip(node.cpus_in_use, grant.kept_cpus, to);
    const std::uint32_t count = model::cpus_held(grant);
    node.cpus_allocated += to ? count : 0 - count;
  }
  flip_devices(node, grant, to);
  node.memory_allocated_mib += to ? grant.memory_mib : 0 - grant.memory_mib;
}

}  // namespace

void take(const model::View& view, model::Node& node, const model::Job& job, const model::NodeGrant& grant) {
  if (job.flags & model::kSharesCores)
    book(node, of_its_own(view, node, job, grant), true, true);
  else
    book(node, grant, true, true);
  node.jobs.insert(std::ranges::lower_bound(node.jobs, job.id), job.id);
}

void give_back(const model::View& view, model::Node& node, const model::Job& job, const model::NodeGrant& grant) {
  const bool cpus = !is_set(job.suspended_at);
  if (job.flags & model::kSharesCores)
    book(node, of_its_own(view, node, job, grant), cpus, false);
  else
    book(node, grant, cpus, false);
  if (node.cpus_allocated == 0) node.exclusive = false;
  std::erase(node.jobs, job.id);
  if ((job.flags & model::kCompleting) && node.jobs_completing > 0) --node.jobs_completing;
}

void World::submit(JobId id, const std::shared_ptr<const model::JobSpec>& spec, Time when) {
  auto job = std::make_shared<model::Job>();
  job->id = id;
  job->spec = spec;
  job->time_limit = spec->time_limit;
  job->submitted = job->eligible = job->accrue = when;
  view_.jobs.set(id.value, job);
  view_.pending.set(id.value, std::move(job));
  ++view_.version;
}

Status World::adopt(const model::JobPtr& job) {
  const bool completing = job->flags & model::kCompleting;
  if (job->state == model::JobState::Pending && !completing) {
    view_.jobs.set(job->id.value, job);
    view_.pending.set(job->id.value, job);
    return {};
  }
  if (!(model::is_active(job->state) || completing) || !job->allocation) return {};
  auto copy = std::make_shared<model::Job>(*job);
  const auto is_left = [&](NodeIndex node) {
    return !completing || std::ranges::find(job->nodes_left, node) != job->nodes_left.end();
  };
  copy->nodes_left.clear();
  for (const model::NodeGrant& grant : job->allocation->nodes) {
    const model::NodePtr* node = view_.nodes.find(grant.node.value);
    if (node == nullptr || !is_left(grant.node)) continue;
    model::NodeGrant has = grant;
    if (is_set(job->suspended_at)) has.cpus = has.kept_cpus = {};  // lent to others
    if (!can_take(**node, *job, has, view_))
      return fail(ErrorCode::Corrupt, fmt::format("job {} has what another job has, or what node {} does not have",
                                                  job->id.value, (*node)->name));
    move(*job, has, false);
    copy->nodes_left.push_back(grant.node);
  }
  std::ranges::sort(copy->nodes_left);
  view_.jobs.set(job->id.value, copy);
  view_.active.set(job->id.value, std::move(copy));
  return {};
}

void World::replace_pending(model::JobPtr job) {
  const std::uint32_t id = job->id.value;
  view_.jobs.set(id, job);
  view_.pending.set(id, std::move(job));
  ++view_.version;
}

JobId World::start(const Start& start, Time now) {
  const model::JobPtr* found = view_.pending.find(start.job.value);
  SPUR_CHECK(found != nullptr && start.allocation != nullptr && !start.allocation->nodes.empty());
  const model::JobPtr before = *found;
  auto job = std::make_shared<model::Job>(*before);
  if (before->is_array_rest()) {
    SPUR_CHECK(start.array_task && before->array_pending->contains(*start.array_task));
    auto tasks = std::make_shared<IndexSet>(*before->array_pending);
    tasks->erase(*start.array_task);
    job->array_pending = nullptr;
    job->array_task = start.array_task;
    if (!tasks->empty()) {
      while (view_.jobs.contains(view_.next_job_id)) ++view_.next_job_id;
      job->id = JobId(view_.next_job_id++);
      auto rest = std::make_shared<model::Job>(*before);
      rest->array_pending = std::move(tasks);
      view_.jobs.set(start.job.value, rest);
      view_.pending.set(start.job.value, std::move(rest));
    }
    list_task(*job);
  }
  if (job->id == start.job) view_.pending.erase(start.job.value);
  job->state = model::JobState::Running;
  job->reason = model::Reason::None;
  job->started = now;
  if (start.limit.is_set()) {
    job->time_limit = start.limit;
  } else if (!job->time_limit.is_set()) {
    if (const auto* partition = model::find_partition(view_, start.allocation->partition))
      job->time_limit = limit_in(partition->config, job->time_limit);
  }
  job->claim = nullptr;
  job->claimed_from = {};
  job->allocation = start.allocation;
  if (const auto* partition = model::find_partition(view_, start.allocation->partition))
    if (model::jobs_per_core(partition->config, *job->spec) > 1) job->flags |= model::kSharesCores;
  job->nodes_left.reserve(start.allocation->nodes.size());
  for (const model::NodeGrant& grant : start.allocation->nodes) {
    move(*job, grant, false);
    job->nodes_left.push_back(grant.node);
  }
  job->counted_from = now;
  const JobId id = job->id;
  if (job->association != 0) {
    model::recount(view_, before.get(), id == start.job ? nullptr : view_.jobs.find(start.job.value)->get(), now);
    model::recount(view_, nullptr, job.get(), now);
  }
  view_.jobs.set(id.value, job);
  view_.active.set(id.value, std::move(job));
  ++view_.version;
  return id;
}

// The inner map is moved out while it changes, so that it is written in place where nobody else holds it.
void World::list_task(const model::Job& job) {
  CowMap<JobId> tasks;
  if (const CowMap<JobId>* found = view_.arrays.find(job.array_job.value)) {
    tasks = *found;
    view_.arrays.set(job.array_job.value, {});
  }
  tasks.set(*job.array_task, job.id);
  view_.arrays.set(job.array_job.value, std::move(tasks));
}

model::JobPtr World::leave_nodes(JobId id) {
  const model::JobPtr* found = view_.active.find(id.value);
  SPUR_CHECK(found != nullptr);
  model::JobPtr job = *found;
  for (const model::NodeGrant& grant : job->allocation->nodes)
    if (std::ranges::binary_search(job->nodes_left, grant.node)) move(*job, grant, true);
  view_.active.erase(id.value);
  ++view_.version;
  return job;
}

void World::finish(JobId id) {
  const model::JobPtr job = leave_nodes(id);
  model::recount(view_, job.get(), nullptr, std::max(view_.as_of, job->counted_from));
  view_.jobs.erase(id.value);
}

void World::complete(JobId id, model::JobState end, model::Reason reason, Time now) {
  auto job = std::make_shared<model::Job>(view_.pending.contains(id.value) ? **view_.pending.find(id.value)
                                                                           : *leave_nodes(id));
  model::recount(view_, job.get(), nullptr, now);
  view_.pending.erase(id.value);
  job->nodes_left.clear();
  job->flags &= ~std::uint32_t{model::kCompleting};
  job->state = end;
  job->reason = reason;
  job->ended = now;
  view_.jobs.set(id.value, std::move(job));
  ++view_.version;
}

void World::set_reservations(std::vector<model::Reservation> list) {
  view_.reservations = std::make_shared<const std::vector<model::Reservation>>(std::move(list));
  ++view_.version;
}

void World::withdraw(JobId id) {
  view_.pending.erase(id.value);
  view_.jobs.erase(id.value);
  ++view_.version;
}

std::shared_ptr<model::Node> World::copy_of(const model::NodePtr& node) {
  const std::size_t n = node->index.value;
  if (before_.size() <= n) {
    before_.resize(view_.nodes.size());
    present_.resize(view_.nodes.size());
  }
  std::shared_ptr<model::Node> copy = std::move(before_[n]);
  if (copy && copy.use_count() == 1)
    *copy = *node;
  else
    copy = std::make_shared<model::Node>(*node);
  before_[n] = std::move(present_[n]);
  present_[n] = copy;
  return copy;
}

void World::move(const model::Job& job, const model::NodeGrant& grant, bool back) {
  const model::NodePtr* found = view_.nodes.find(grant.node.value);
  SPUR_CHECK(found != nullptr);
  auto node = copy_of(*found);
  back ? give_back(view_, *node, job, grant) : take(view_, *node, job, grant);
  view_.nodes.set(grant.node.value, std::move(node));
}

void World::note(const std::vector<Wait>& waits) {
  for (const Wait& wait : waits) {
    const model::JobPtr* found = view_.pending.find(wait.job.value);
    if (found == nullptr || (*found)->reason == wait.reason) continue;
    auto job = std::make_shared<model::Job>(**found);
    job->reason = wait.reason;
    view_.jobs.set(wait.job.value, job);
    view_.pending.set(wait.job.value, std::move(job));
  }
}

}  // namespace spur::sched
