// SPDX-License-Identifier: Apache-2.0
#include "sim/checker.h"

#include <algorithm>
#include <utility>

#include "sim/sim_journal.h"
#include "wire/command_codec.h"

namespace spur::sim {

void Checker::violate(std::string what) {
  trace_.line("VIOLATION {}", what);
  if (violation_.empty()) violation_ = std::move(what);
}

void Checker::on_started(const std::string& node, const model::ControllerLaunch& launch) {
  const auto& mine = launch.parts.at(0);
  trace_.line("start {}.{} on {} cpus={}", launch.run.job.value, launch.run.epoch.value, node, mine.cpus.size());
  if (mine.node != node)
    violate(fmt::format("once: job {} was launched on {} but meant for {}", launch.run.job.value, node, mine.node));
  if (++starts_[{node, launch.run}] > 1)
    violate(
        fmt::format("once: job {} epoch {} started twice on {}", launch.run.job.value, launch.run.epoch.value, node));
  const bool shares = shares_.contains(launch.run.job) || shares_.contains(launch.array_job);
  for (const auto& other : running_[node]) {
    if (shares || shares_.contains(other.run.job) || shares_.contains(other.array)) continue;
    for (const auto cpu : mine.cpus)
      if (std::find(other.cpus.begin(), other.cpus.end(), cpu) != other.cpus.end())
        return violate(fmt::format("capacity: cpu {} of {} runs job {} and job {}", cpu, node, other.run.job.value,
                                   launch.run.job.value));
  }
  if (launch.this_part == 0) {
    batch_host_[launch.run] = node;
    for (const auto& [where, runs] : running_)
      for (const auto& other : runs)
        if (other.run.job == launch.run.job && other.run.epoch != launch.run.epoch && !other.given_up)
          violate(fmt::format("once: job {} runs as epoch {} on {} and as epoch {} on {}", launch.run.job.value,
                              other.run.epoch.value, where, launch.run.epoch.value, node));
  }
  running_[node].push_back({launch.run, mine.cpus, launch.array_job, false});
}

void Checker::on_stopped(const std::string& node, model::JobRun run, model::ExitStatus exit) {
  trace_.line("stop {}.{} on {} exit={}:{}", run.job.value, run.epoch.value, node, exit.code, exit.signal);
  std::erase_if(running_[node], [&](const Running& r) { return r.run == run; });
  if (batch_host_[run] == node) exits_[run] = exit;
}

void Checker::on_acked(const std::string& token, JobId job) {
  const auto [it, fresh] = acked_.emplace(token, job);
  if (!fresh && it->second != job)
    violate(fmt::format("token: {} gave job {} and job {}", token, it->second.value, job.value));
}

void Checker::on_leader_started(Duration now, std::uint64_t inherited) {
  former_leader_ = std::exchange(
      leader_, {.heard = {}, .since = now, .decided_since = now, .last_append = now, .decided_until = now});
  inherited_ = inherited;
}

void Checker::check_acked(const model::View& view) {
  for (const auto& [token, job] : acked_)
    if (!view.jobs.contains(job.value)) return violate(fmt::format("acked: job {} ({}) is gone", job.value, token));
}

// The longest that the node had been silent at any moment at which what is applied now may have been decided. What
// was heard while the decision was on its way to the disk comes too late to change it.
Duration Checker::Leader::longest_silence(const std::string& node) const {
  Duration longest{0}, from = since;
  const auto until = [&](Duration next) {
    const Duration end = std::min(next, decided_until);
    if (end >= decided_since) longest = std::max(longest, end - from);
    from = next;
  };
  if (const auto it = heard.find(node); it != heard.end()) std::ranges::for_each(it->second, until);
  until(Duration::max());
  return longest;
}

void Checker::check_lost_nodes(const state::Cluster& cluster) {
  // A loss that a leader made durable and did not live to apply shows first in its successor's state.
  const Leader& leader = cluster.index() <= inherited_ ? former_leader_ : leader_;
  const model::View& view = cluster.view();
  view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
    const bool lost = node->registered && node->down;
    if (lost && !down_.contains(node->name)) {
      trace_.line("node {} is down", node->name);
      if (const Duration silent = leader.longest_silence(node->name); silent < view.config->node_timeout)
        violate(fmt::format("lease: {} was set down after a silence of {} us", node->name, silent.count()));
      down_.insert(node->name);
      for (auto& run : running_[node->name]) run.given_up = true;
    } else if (!lost) {
      down_.erase(node->name);
    }
  });
}

void Checker::check_preempted(const model::View& view) {
  if (view.config->preempt.by == model::PreemptBy::Nothing) return;
  view.active.for_each([&](std::uint32_t, const model::JobPtr& job) {
    if (job->state == model::JobState::Suspended) shares_.insert(job->id);
    if (!job->preempted_for || !preempted_.insert({job->id, job->epoch}).second) return;
    const model::Job* other = model::find_job(view, job->preempted_for);
    trace_.line("job {} has to go for job {}", job->id.value, job->preempted_for.value);
    // The same batch may have held it, or ended it.
    const bool waits = other && other->state == model::JobState::Pending && is_set(other->accrue) &&
                       !(other->flags & model::kCompleting);
    if (!other || (waits && !other->claim))
      violate(fmt::format("preempted: job {} goes for job {}, which has no claim", job->id.value,
                          job->preempted_for.value));
  });
}

void Checker::check_together(const model::View& view) {
  view.active.for_each([&](std::uint32_t, const model::JobPtr& job) {
    if (!job->het_job || !model::is_active(job->state) || (job->flags & model::kCompleting)) return;
    for (std::uint32_t i = 0; i < job->het_size; ++i) {
      const model::Job* other = model::find_job(view, JobId{job->het_job.value + i});
      if (!other || other->state == model::JobState::Pending || other->started != job->started)
        violate(fmt::format("together: job {} runs, and component {} does not or began at another time",
                            model::display_id(*job), i));
    }
  });
}

void Checker::on_published(const state::Cluster& cluster) {
  check_lost_nodes(cluster);
  check_preempted(cluster.view());
  check_together(cluster.view());
  if (++published_ % 32 != 0) return;  // the rest costs time in proportion to the cluster
  check_acked(cluster.view());
  if (auto ok = cluster.check_invariants(); !ok) violate("capacity: " + ok.error().message);
}

void Checker::on_crash(const state::Cluster& cluster, const Disk& disk) {
  auto replayed = std::make_unique<state::Cluster>();
  if (disk.snapshot_index > 0) {
    auto image = wire::decode_image(disk.snapshot);
    if (!image) return violate("replay: snapshot: " + image.error().message);
    auto loaded = state::Cluster::from_image(std::move(*image));
    if (!loaded) return violate("replay: snapshot: " + loaded.error().message);
    replayed = std::move(*loaded);
  }
  if (cluster.index() < disk.snapshot_index) return;
  for (const auto& entry : disk.entries) {
    if (replayed->index() == cluster.index()) break;
    auto batch = wire::decode_batch(entry);
    if (!batch) return violate("replay: " + batch.error().message);
    replayed->apply(replayed->index() + 1, *batch, nullptr);
  }
  if (replayed->index() != cluster.index())
    return violate(
        fmt::format("acked: the state served index {}, the disk has {}", cluster.index(), replayed->index()));
  if (replayed->state_hash() != cluster.state_hash())
    violate(fmt::format("replay: index {} replays to another state", cluster.index()));
}

void Checker::at_end(const state::Cluster& cluster) {
  check_acked(cluster.view());
  if (auto ok = cluster.check_invariants(); !ok) violate("capacity: " + ok.error().message);
  for (const auto& [node, runs] : running_)
    for (const auto& run : runs)
      violate(
          fmt::format("progress: job {} epoch {} still runs on {}", run.run.job.value, run.run.epoch.value, node));
  cluster.view().jobs.for_each([&](std::uint32_t id, const model::JobPtr& job) {
    if (!model::is_final(job->state) || (job->flags & model::kCompleting)) {
      violate(fmt::format("progress: job {} is {} ({}) at the end", id, model::long_name(job->state, job->flags),
                          model::reason_name(job->reason)));
      return;
    }
    // A job that failed for another reason (a node could not launch its part) has no exit of its own to compare.
    const bool by_itself = job->state == model::JobState::Completed || job->reason == model::Reason::NonZeroExitCode;
    const auto exit = exits_.find({job->id, job->epoch});
    if (by_itself && job->spec->kind == model::JobKind::Batch && !job->is_het_follower() && exit != exits_.end() &&
        job->exit != exit->second)
      violate(fmt::format("exit: job {} exited {}:{} and is said to have exited {}:{}", id, exit->second.code,
                          exit->second.signal, job->exit.code, job->exit.signal));
  });
}

}  // namespace spur::sim
