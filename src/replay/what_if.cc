// SPDX-License-Identifier: Apache-2.0
#include "replay/what_if.h"

#include <fmt/core.h>

#include <algorithm>
#include <queue>

#include "replay/dependencies.h"
#include "replay/planner.h"
#include "replay/world.h"
#include "sched/request.h"

namespace spur::replay {
namespace {

std::vector<model::NodePtr> without_jobs(const std::vector<model::NodePtr>& nodes) {
  std::vector<model::NodePtr> idle;
  idle.reserve(nodes.size());
  for (const model::NodePtr& node : nodes) {
    auto copy = std::make_shared<model::Node>(*node);
    copy->cpus_allocated = 0;
    copy->memory_allocated_mib = 0;
    copy->jobs_completing = 0;
    copy->jobs.clear();
    copy->devices_in_use.clear();
    copy->cpus_in_use.assign((copy->hardware.cpus + 63) / 64, 0);
    idle.push_back(std::move(copy));
  }
  return idle;
}

class LookAhead {
 public:
  LookAhead(model::View view, const WhatIfOptions& options)
      : options_(options), world_(std::move(view)), planner_(options.params), dependencies_(world_.view()) {}

  WhatIf run() {
    std::uint32_t highest = 0;
    world_.view().jobs.for_each([&](std::uint32_t id, const model::JobPtr&) { highest = id; });
    world_.set_next_id(highest + 1);
    world_.view().active.for_each([&](std::uint32_t, const model::JobPtr& job) {
      // A job that is past its end, or only completes, is gone soon.
      Time end = job->flags & model::kCompleting ? options_.now : model::limit_end(*job);
      if (is_set(end)) end = std::max(end, options_.now + seconds(1));
      result_.running.push_back({job, end});
      if (is_set(end)) ends_.push({end, job->id.value});
    });
    review(options_.now);
    for (Time now = options_.now;; now = next_moment()) {
      result_.ended = now;
      finish(now);
      schedule(now);
      if (ends_.empty() && !is_set(wake_at_)) break;
      if (is_set(options_.until) && next_moment() > options_.until) break;
      if (result_.cut_off) break;
    }
    world_.view().pending.for_each([&](std::uint32_t, const model::JobPtr& job) { result_.waiting.push_back(job); });
    return std::move(result_);
  }

 private:
  using End = std::pair<Time, std::uint32_t>;

  Time next_moment() const {
    if (ends_.empty()) return wake_at_;
    return is_set(wake_at_) ? std::min(wake_at_, ends_.top().first) : ends_.top().first;
  }

  void finish(Time now) {
    bool any = false;
    for (; !ends_.empty() && ends_.top().first <= now; ends_.pop()) {
      const model::JobPtr job = *world_.view().active.find(ends_.top().second);
      world_.finish(job->id);
      dependencies_.remove(*job);
      any = true;
    }
    if (any) review(now);
  }

  void review(Time now) {
    if (!dependencies_.any()) return;
    for (model::JobPtr& job : dependencies_.review(world_.view(), now)) world_.replace_pending(std::move(job));
  }

  void schedule(Time now) {
    wake_at_ = {};
    for (bool more = true; more && !result_.cut_off;) {
      const sched::Plan plan = planner_.plan(world_.view(), now);
      wake_at_ = plan.wake_at;
      more = plan.more && !plan.starts.empty();
      for (const sched::Start& start : plan.starts) {
        begin(start, now);
        result_.cut_off = result_.starts.size() >= options_.most_starts;
        if (result_.cut_off) break;
      }
      world_.note(plan.waits);
      if (plan.starts.empty()) break;
      // Jobs that waited for a start (after:) may follow at once.
      if (dependencies_.any()) {
        review(now);
        more = true;
      }
      if (options_.progress) options_.progress(progress());
    }
  }

  void begin(const sched::Start& start, Time now) {
    const JobId id = world_.start(start, now);
    const model::JobPtr job = *world_.view().active.find(id.value);
    dependencies_.add(*job);
    Time end;
    const model::Partition* partition = model::find_partition(world_.view(), job->allocation->partition);
    const TimeLimit limit = partition ? sched::limit_in(partition->config, job->time_limit) : job->time_limit;
    if (limit.is_finite()) end = now + std::max<Duration>(limit.duration(), seconds(1));
    if (is_set(end)) ends_.push({end, id.value});
    result_.starts.push_back({job, end});
  }

  double progress() const {
    const double left = static_cast<double>(world_.view().pending.size());
    const double done = static_cast<double>(result_.starts.size());
    return done / (done + left);
  }

  const WhatIfOptions& options_;
  World world_;
  Planner planner_;
  Dependencies dependencies_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  Time wake_at_;
  WhatIf result_;
};

}  // namespace

Result<model::View> view_of(const std::vector<model::NodePtr>& nodes, const std::vector<model::Partition>& partitions,
                            const model::ClusterConfig& config, const std::vector<model::JobPtr>& jobs) {
  model::View view;
  view.config = std::make_shared<model::ClusterConfig>(config);
  view.partitions = std::make_shared<std::vector<model::Partition>>(partitions);
  auto names = std::make_shared<std::map<std::string, NodeIndex, std::less<>>>();
  for (const model::NodePtr& node : without_jobs(nodes)) {
    if (node->index.value >= nodes.size()) return fail(ErrorCode::Corrupt, "nodes are not numbered from 0");
    names->emplace(node->name, node->index);
    view.nodes.set(node->index.value, node);
  }
  view.node_by_name = std::move(names);
  World world(std::move(view));
  for (const model::JobPtr& job : jobs) SPUR_TRY(world.adopt(job));
  return world.view();
}

void add_nodes(model::View& view, NodeIndex like, std::uint32_t count) {
  const model::NodePtr model = *view.nodes.find(like.value);
  auto names = std::make_shared<std::map<std::string, NodeIndex, std::less<>>>(*view.node_by_name);
  auto partitions = std::make_shared<std::vector<model::Partition>>(*view.partitions);
  auto next = static_cast<std::uint32_t>(view.nodes.size());
  for (std::uint32_t number = 1; count > 0; ++number) {
    const std::string name = fmt::format("added{}", number);
    if (names->contains(name)) continue;
    auto node = std::make_shared<model::Node>(*without_jobs({model}).front());
    const NodeIndex index(next++);
    node->index = index;
    node->name = name;
    node->registered = true;
    node->down = false;
    node->flags = 0;
    node->reason.clear();
    names->emplace(name, index);
    for (model::Partition& partition : *partitions)
      if (std::ranges::binary_search(partition.nodes, like)) partition.nodes.push_back(index);
    view.nodes.set(index.value, std::move(node));
    --count;
  }
  view.node_by_name = std::move(names);
  view.partitions = std::move(partitions);
}

void drain_node(model::View& view, NodeIndex index) {
  auto node = std::make_shared<model::Node>(**view.nodes.find(index.value));
  node->flags |= model::kNodeDrain;
  view.nodes.set(index.value, std::move(node));
}

WhatIf look_ahead(model::View view, const WhatIfOptions& options) {
  return LookAhead(std::move(view), options).run();
}

}  // namespace spur::replay
