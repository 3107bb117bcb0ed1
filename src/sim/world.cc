// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/faults.h"
#include "sim/workload.h"

namespace spur::sim {
namespace {

constexpr Duration kWorldEnd = std::chrono::hours(12);

}  // namespace

World::World(const Story& story, std::FILE* trace)
    : story_(story),
      random_(story.seed),
      trace_(events_, trace),
      checker_(trace_, story.controllers),
      config_(make_config()) {
  hosts_.resize(story_.controllers);
  controllers_cut_.assign(story_.controllers, std::vector<int>(story_.controllers, 0));
  if (story_.controllers > 1) {
    etcd_ = std::make_unique<SimEtcd>(events_, random_.fork(), hosts_.size(), 2 * Duration(story_.failover_us));
    begin_etcd();
    etcd_->set_trouble({.lost_answers = static_cast<unsigned>(story_.lost_answers),
                        .late = static_cast<unsigned>(story_.late_requests)});
    etcd_->on_commit = [this](std::size_t member, const auto& transaction) { on_commit(member, transaction); };
    for (Host& host : hosts_) host.skew = Duration(random_.between(0, 4'000'000)) - seconds(2);
  }
  for (std::size_t i = 0; i < story_.nodes; ++i) {
    Node& node = nodes_.emplace_back();
    node.machine = std::make_unique<Machine>(node_name(i), events_, random_.fork(), checker_);
    node.ways.resize(hosts_.size());
    model::NodeConfig declared;
    declared.name = node_name(i);
    declared.cpus = kCpusPerNode;
    config_.nodes.push_back(declared);
  }
}

World::~World() {
  for (auto& node : nodes_) node.agent.reset();
  for (Host& host : hosts_) host.process.reset();
}

model::ClusterConfig World::make_config() {
  model::ClusterConfig config;
  config.cluster_name = "sim";
  model::PartitionConfig part;
  part.name = "all";
  part.is_default = true;
  part.nodes = "ALL";
  if (story_.shares) {
    part.oversubscribe = model::OverSubscribe::Force;
    part.oversubscribe_count = static_cast<std::uint32_t>(story_.shares);
  }
  config.partitions.push_back(part);
  if (story_.preempts) {
    part.name = "urgent";
    part.is_default = false;
    part.priority_tier = 10;
    config.partitions.push_back(part);
    config.partitions.front().grace_time_seconds = static_cast<std::uint32_t>(random_.between(0, 20));
    config.preempt.by = model::PreemptBy::PartitionTier;
    config.preempt.how = static_cast<model::PreemptHow>(random_.between(2, 4));  // Cancel, Requeue, Suspend
  }
  config.node_timeout = seconds(random_.between(5, 60));
  config.kill_wait = seconds(random_.between(1, 10));
  config.min_job_age = std::chrono::hours(1000);  // acknowledged jobs stay to be looked for
  config.config_overrides = true;
  config.return_to_service = 1;
  config.is_accounted = true;
  config.scheduler_tick = seconds(random_.between(1, 10));
  return config;
}

// The files of all controllers are edited; the one that leads reads its own.
void World::edit_config(std::int64_t what) {
  if (what % 3 == 0) config_.node_timeout = seconds(5 + what / 3 % 56);
  if (what % 3 == 1) config_.kill_wait = seconds(1 + what / 3 % 10);
  if (what % 3 == 2) {
    if (config_.partitions.back().name == "extra") {
      config_.partitions.pop_back();
    } else {
      auto& part = config_.partitions.emplace_back(config_.partitions.front());
      part.name = "extra";
      part.is_default = false;
    }
  }
  const auto asked = leader();
  if (!asked) return;
  trace_.line("c{} is told to read its configuration again", *asked);
  call(*asked, [this](ctld::Controller& controller) {
    model::Caller admin;
    admin.role = model::Role::Admin;
    admin.uid = kRootUid;
    controller.reconfigure(admin, config_, [](const Status&) {});
  });
}

// ---- clients

std::optional<std::size_t> World::leader() const {
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    if (leads(i) && !hosts_[i].process->process.paused() && hosts_[i].clients_cut == 0) return i;
  return {};
}

void World::call(std::size_t c, Call what) {
  if (hosts_[c].clients_cut > 0 || !hosts_[c].process) return;
  hosts_[c].process->process.after(Duration(random_.between(50, 3'000)), [this, c, what = std::move(what)] {
    if (up(c)) what(*hosts_[c].process->logic);
  });
}

void World::look(std::size_t c) {
  call(c, [this, c](ctld::Controller&) {
    auto& process = *hosts_[c].process;
    const std::uint64_t known = checker_.known();
    process.journal->catch_up([this, c, known, &process](const Status& status) {
      if (!status) return;
      // Behind the entries that the journal has handed over by now.
      process.process.after(Duration{1}, [this, c, known, &process] {
        const auto standing = process.shared->standing();
        const bool says_old = !standing.leads && standing.silence >= Duration(story_.failover_us);
        if (!says_old) checker_.on_looked(c, known, process.logic->cluster());
      });
    });
  });
}

void World::answer(std::size_t c, std::function<void()> action) {
  if (hosts_[c].clients_cut == 0) events_.after(Duration(random_.between(50, 3'000)), std::move(action));
}

// ---- the run

bool World::step() {
  Duration best = events_.empty() ? Duration::max() : events_.next_time();
  ctld::Controller* controller = nullptr;
  agent::Agent* agent = nullptr;
  for (Host& host : hosts_) {
    if (!host.process || !host.process->ready || host.process->process.paused()) continue;
    const Duration at = std::max(events_.now(), host.process->clock.world(host.process->logic->next_timer()));
    if (at < best) best = at, controller = host.process->logic.get();
  }
  for (Node& node : nodes_) {
    if (!node.agent || node.agent->process.paused()) continue;
    const Duration at = std::max(events_.now(), node.agent->clock.world(node.agent->logic->next_timer()));
    if (at < best) best = at, agent = node.agent->logic.get(), controller = nullptr;
  }
  if (best == Duration::max()) return false;
  if (!agent && !controller) return events_.step();
  events_.advance(best);
  agent ? agent->on_timer() : controller->on_timer();
  return true;
}

bool World::settled() const {
  const auto first = leader();
  if (!first || !hosts_[*first].process->logic->idle()) return false;
  const auto& cluster = hosts_[*first].process->logic->cluster();
  if (!cluster.view().pending.empty() || !cluster.view().active.empty() || checker_.anything_runs()) return false;
  return std::ranges::all_of(hosts_, [&](const Host& host) {
    return host.process && host.process->ready && host.process->logic->cluster().index() == checker_.truth().index();
  });
}

Outcome World::run() {
  for (std::size_t i = 0; i < hosts_.size(); ++i) start_controller(i);
  for (std::size_t i = 0; i < nodes_.size(); ++i) start_agent(i);
  Workload workload(*this, random_.fork(), static_cast<std::uint32_t>(story_.steps));
  Faults faults(*this);
  workload.begin();
  faults.begin();
  std::uint64_t steps = 0;
  while (!workload.finished() && checker_.violation().empty() && events_.now() < kWorldEnd && step()) ++steps;
  faults_ = false;
  faults.stop();
  settle();
  workload.wind_down();
  while (checker_.violation().empty() && events_.now() < kWorldEnd && !settled() && step()) ++steps;
  if (checker_.violation().empty()) {
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      if (up(i)) checker_.at_end(i, hosts_[i].process->logic->cluster());
    if (!settled() || !workload.finished()) checker_.violate("progress: the cluster does not come to rest");
  }
  return {.violation = checker_.violation(),
          .trace_digest = trace_.digest(),
          .events = steps,
          .crashes = crashes_,
          .leaders = leaders_,
          .jobs = static_cast<std::uint32_t>(checker_.truth().view().jobs.size())};
}

void World::settle() {
  trace_.line("faults end");
  if (etcd_) {
    etcd_->set_trouble({});
    etcd_->set_full(false);
  }
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    hosts_[i].clients_cut = 0;
    hosts_[i].disk.full = false;
    for (std::size_t j = 0; j < i; ++j)
      while (controllers_cut_[i][j] > 0) cut_controllers(i, j, false);
    if (etcd_) {
      etcd_->set_slow(i, Duration{0});
      etcd_->set_up(i, true);
    }
    // The state's time never goes back: who is behind it is set right, or everybody would wait for it to pass.
    const Duration behind = checker_.truth().view().as_of - (kWorldBegin + events_.now() + hosts_[i].skew);
    if (behind > Duration{0}) jump_clock(i, behind);
    resume_controller(i);
    start_controller(i);
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    pause_agent(i, false);
    start_agent(i);
    for (std::size_t c = 0; c < hosts_.size(); ++c) {
      const Way way = nodes_[i].ways[c];
      nodes_[i].ways[c] = {1, 1};
      cut_way(i, c, true, true, false);
      if (way.to_node + way.from_node > 0) trace_.line("the way between {} and c{} is free", node_name(i), c);
    }
  }
}

}  // namespace spur::sim
