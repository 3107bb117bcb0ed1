// SPDX-License-Identifier: Apache-2.0
#include "sched/gres_wishes.h"

#include <fmt/format.h>

#include <algorithm>

namespace spur::sched {
namespace {

using model::GresRequest;
using Per = model::GresRequest::Per;

std::string shown(const GresRequest& wish) {
  return wish.type.empty() ? wish.name : wish.name + ":" + wish.type;
}

std::unexpected<Error> bad(std::string message) {
  return fail(ErrorCode::InvalidGres, std::move(message));
}

class Resolver {
 public:
  Resolver(const model::View& view, const Columns& columns, const model::JobSpec& spec, Request& request)
      : view_(view), columns_(columns), spec_(spec), request_(request) {
    for (const auto& wish : spec.gres)
      if (wish.count > 0) wishes_.push_back(wish);
  }

  Status run() {
    SPUR_TRY(check_each());
    SPUR_TRY(settle_tasks_per_gpu());
    SPUR_TRY(settle_two_ways());
    for (const auto& wish : wishes_) SPUR_TRY(add(wish));
    if (request_.gres_per_job.size() > kMaxJobGres)
      return bad(fmt::format("more than {} kinds of gres per job are not supported", kMaxJobGres));
    SPUR_TRY(settle_cpus_per_gpu());
    SPUR_TRY(settle_memory_per_gpu());
    request_.one_task_per_device = (spec_.gres_flags & model::kGresOneTaskPerSharing) != 0;
    request_.bind_to_gres = (spec_.gres_flags & model::kGresEnforceBinding) != 0;
    request_.shares_of_several = view_.config->shares_of_several;
    request_.spread_shares = view_.config->spread_shares;
    return {};
  }

 private:
  Status check_each() const {
    bool gpus = false, shares = false;
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      const auto& wish = wishes_[i];
      if (wish.count > kMaxDevices) return bad(fmt::format("gres {}: {} is too many", shown(wish), wish.count));
      gpus |= wish.name == "gpu";
      shares |= is_share_of_gpu(wish.name);
      for (std::size_t k = 0; k < i; ++k) {
        const auto& other = wishes_[k];
        if (other.name != wish.name || other.per != wish.per) continue;
        if (other.type == wish.type || other.type.empty() || wish.type.empty())
          return bad(fmt::format("gres {} is asked for twice", shown(wish)));
      }
    }
    if (gpus && shares) return bad("whole GPUs and shares of GPUs in one job");
    return {};
  }

  GresRequest* find(const std::string& name, Per per) {
    const auto at =
        std::ranges::find_if(wishes_, [&](const GresRequest& wish) { return wish.name == name && wish.per == per; });
    return at == wishes_.end() ? nullptr : &*at;
  }
  std::size_t count(const std::string& name) const {
    return static_cast<std::size_t>(std::ranges::count(wishes_, name, &GresRequest::name));
  }
  void drop(const std::string& name, Per per) {
    std::erase_if(wishes_, [&](const GresRequest& wish) { return wish.name == name && wish.per == per; });
  }

  Status set_tasks(std::uint64_t tasks, const char* why) {
    if (tasks == 0 || tasks > kNoLimit - 1) return bad(fmt::format("{}: {} tasks", why, tasks));
    if (spec_.tasks && *spec_.tasks != tasks)
      return bad(fmt::format("{} make {} tasks, {} are asked for", why, tasks, *spec_.tasks));
    request_.tasks_fixed = true;
    request_.tasks = static_cast<std::uint32_t>(tasks);
    request_.tasks_per_node = spec_.tasks_per_node;
    return {};
  }
  // At most so many on a node; without a number of tasks exactly so many.
  Status set_tasks_per_node(std::uint64_t tasks) {
    if (spec_.tasks_per_node > 0 && spec_.tasks_per_node != tasks && !spec_.tasks)
      return bad(fmt::format("gres per node make {} tasks per node, {} are asked for", tasks, spec_.tasks_per_node));
    const auto each = static_cast<std::uint32_t>(std::min<std::uint64_t>(tasks, kNoLimit - 1));
    request_.tasks_per_node = spec_.tasks_per_node > 0 ? std::min(spec_.tasks_per_node, each) : each;
    if (!request_.tasks_fixed) request_.tasks = request_.tasks_per_node;
    return {};
  }

  // Tasks go in lots, one for each GPU.
  Status settle_tasks_per_gpu() {
    const std::uint32_t each = spec_.tasks_per_gpu;
    if (each == 0) return {};
    const std::size_t ways = count("gpu");
    if (find("gpu", Per::Task) || find("gpu", Per::Socket) || ways > 1)
      return bad("--ntasks-per-gpu goes with one kind of GPUs, per job or per node");
    if (const GresRequest* per_node = find("gpu", Per::Node)) return set_tasks_per_node(per_node->count * each);
    GresRequest gpu{"gpu", "", 1, Per::Task};
    if (const GresRequest* per_job = find("gpu", Per::Job)) {
      SPUR_TRY(set_tasks(per_job->count * each, "tasks per GPU"));
      gpu.type = per_job->type;
      drop("gpu", Per::Job);
    } else if (!spec_.tasks) {
      return bad("--ntasks-per-gpu needs a number of GPUs or of tasks");
    }
    if (request_.tasks % each != 0)
      return bad(fmt::format("{} tasks are no multiple of {} per GPU", request_.tasks, each));
    wishes_.push_back(std::move(gpu));
    if (each == 1) return {};
    request_.lot = each;
    request_.tasks /= each;
    if (request_.tasks_per_node > 0) request_.tasks_per_node = std::max(1u, request_.tasks_per_node / each);
    request_.cpus_per_task *= each;
    return {};
  }

  // GPUs in all and per node tell the number of nodes; in all and per task, of tasks; per node and per task, of tasks
  // on each node.
  Status settle_two_ways() {
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      const std::string name = wishes_[i].name;
      GresRequest *job = find(name, Per::Job), *node = find(name, Per::Node), *task = find(name, Per::Task);
      const int ways = (job != nullptr) + (node != nullptr) + (task != nullptr);
      if (ways < 2) continue;
      if (static_cast<int>(count(name)) != ways || (job && node && job->type != node->type) ||
          (job && task && job->type != task->type) || (node && task && node->type != task->type)) {
        if (differ_in_type(name)) continue;
        return bad(fmt::format("gres {} asked for in several ways and types is not supported", name));
      }
      if (job && node) {
        if (job->count % node->count != 0)
          return bad(
              fmt::format("{} of gres {} are no multiple of {} per node", job->count, shown(*job), node->count));
        const auto nodes =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(job->count / node->count, kNoLimit - 1));
        if (nodes < request_.min_nodes || nodes > request_.max_nodes)
          return bad(
              fmt::format("{} of gres {} at {} per node make {} nodes", job->count, shown(*job), node->count, nodes));
        request_.min_nodes = request_.max_nodes = nodes;
        request_.spread = false;
      } else if (job && task) {
        if (job->count % task->count != 0)
          return bad(
              fmt::format("{} of gres {} are no multiple of {} per task", job->count, shown(*job), task->count));
        SPUR_TRY(set_tasks(job->count / task->count, "gres per job and task"));
      }
      if (node && task) {
        if (node->count % task->count != 0)
          return bad(fmt::format("{} of gres {} per node are no multiple of {} per task", node->count, shown(*node),
                                 task->count));
        SPUR_TRY(set_tasks_per_node(node->count / task->count));
        drop(name, Per::Task);
      }
      drop(name, Per::Job);
      i = 0;
    }
    return {};
  }
  // "a" per node and "b" per task have nothing to do with each other.
  bool differ_in_type(const std::string& name) const {
    for (std::size_t a = 0; a < wishes_.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (wishes_[a].name == name && wishes_[b].name == name &&
            (wishes_[a].type.empty() || wishes_[b].type.empty() || wishes_[a].type == wishes_[b].type))
          return false;
    return true;
  }

  Status add(const GresRequest& wish) {
    GresNeed need;
    need.count = static_cast<Amount>(wish.count);
    need.is_gpu = wish.name == "gpu";
    need.gres = columns_.gres_ids(wish.name, wish.type);
    if (is_share_of_gpu(wish.name) && is_shared_somewhere(wish.name)) {
      need.shares_of = wish.name;
      need.gres = columns_.gres_ids("gpu", wish.type);
    }
    if (need.gres.empty()) {
      // Slurm knows names, and which types there are only the nodes know.
      const bool known = !wish.type.empty() && !columns_.gres_ids(need.is_gpu ? "gpu" : wish.name, "").empty();
      return fail(known ? ErrorCode::NodeConfigUnavailable : ErrorCode::InvalidGres,
                  fmt::format("no node has gres {}", shown(wish)));
    }
    switch (wish.per) {
      case Per::Node:
        request_.gres_per_node.push_back(std::move(need));
        return {};
      case Per::Task:
        request_.gres_per_task.push_back(std::move(need));
        return {};
      case Per::Job:
        request_.gres_per_job.push_back(std::move(need));
        return {};
      case Per::Socket:  // of that many sockets of each node
        if (spec_.sockets_per_node == 0) return bad(fmt::format("gres {} per socket of how many?", shown(wish)));
        need.per_socket = need.count;
        need.count *= spec_.sockets_per_node;
        request_.gres_per_node.push_back(std::move(need));
        return {};
    }
    return bad(fmt::format("gres {}", shown(wish)));
  }
  bool is_shared_somewhere(const std::string& name) const {
    bool found = false;
    view_.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
      for (const auto& gres : node->hardware.gres) found |= gres.name == name;
      return !found;
    });
    return found;
  }

  // The only need for GPUs, if there is one: what CPUs and memory per GPU are reckoned by.
  Result<const GresNeed*> only_gpus() const {
    const GresNeed* only = nullptr;
    std::size_t found = 0;
    for (const auto* needs : {&request_.gres_per_node, &request_.gres_per_task, &request_.gres_per_job})
      for (const auto& need : *needs)
        if (need.is_gpu) only = &need, ++found;
    if (found > 1) return bad("CPUs or memory per GPU with several kinds of GPUs are not supported");
    return only;
  }
  static bool is_in(const std::vector<GresNeed>& needs, const GresNeed* need) {
    return std::ranges::any_of(needs, [&](const GresNeed& one) { return &one == need; });
  }

  Status settle_cpus_per_gpu() {
    const auto& partition = (*view_.partitions)[request_.partition].config;
    Amount each = spec_.cpus_per_gpu;
    if (each == 0 && !spec_.cpus_per_task_given)
      each = partition.default_cpus_per_gpu.value_or(view_.config->default_cpus_per_gpu.value_or(0));
    if (each == 0) return {};
    SPUR_ASSIGN(const GresNeed* gpus, only_gpus());
    if (!gpus) return {};
    if (is_in(request_.gres_per_node, gpus))
      request_.min_cpus = std::max(request_.min_cpus, gpus->count * each);
    else if (is_in(request_.gres_per_task, gpus))
      request_.cpus_per_task = std::max(request_.cpus_per_task, gpus->count * each);
    else
      request_.cpus_per_gpu = each;
    return {};
  }

  Status settle_memory_per_gpu() {
    if (request_.memory != MemoryNeed::PerGpu) return {};
    SPUR_ASSIGN(const GresNeed* gpus, only_gpus());
    if (!gpus) {
      request_.memory = MemoryNeed::None;
    } else if (is_in(request_.gres_per_node, gpus)) {
      request_.memory = MemoryNeed::PerNode;
      request_.memory_mib *= gpus->count;
    } else if (is_in(request_.gres_per_task, gpus)) {
      request_.memory = MemoryNeed::PerTask;
      request_.memory_mib *= gpus->count;
    }
    return {};
  }

  const model::View& view_;
  const Columns& columns_;
  const model::JobSpec& spec_;
  Request& request_;
  std::vector<GresRequest> wishes_;
};

}  // namespace

Status add_gres(const model::View& view, const Columns& columns, const model::JobSpec& spec, Request& request) {
  if (spec.gres.empty() && spec.tasks_per_gpu == 0 && request.memory != MemoryNeed::PerGpu) return {};
  return Resolver(view, columns, spec, request).run();
}

}  // namespace spur::sched
