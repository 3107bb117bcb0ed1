// SPDX-License-Identifier: Apache-2.0
// What machines, clients and the journal say. What controllers say is in checker_controllers.cc.
#include "sim/checker.h"

#include <algorithm>
#include <utility>

#include "model/core_sharing.h"
#include "wire/command_codec.h"

namespace spur::sim {
namespace {

constexpr std::uint64_t kWholeEvery = 32;  // the rest costs time in proportion to the cluster

}  // namespace

void Checker::violate(std::string what) {
  trace_.line("VIOLATION {}", what);
  if (violation_.empty()) violation_ = std::move(what);
}

// Cores: by what the journal says of both runs.
bool Checker::may_share(JobId a, JobId b) const {
  const model::Job* one = model::find_job(truth_.view(), a);
  const model::Job* other = model::find_job(truth_.view(), b);
  return one && other && one->allocation && (one->flags & model::kSharesCores) &&
         model::shares_with(*other, *one->allocation);
}

// ---- machines

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
    if (may_share(launch.run.job, other.run.job)) continue;
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

// ---- clients

void Checker::on_acked(const std::string& token, JobId job) {
  const auto [it, fresh] = acked_.emplace(token, job);
  if (!fresh && it->second != job)
    violate(fmt::format("token: {} gave job {} and job {}", token, it->second.value, job.value));
  if (!truth_.view().jobs.contains(job.value))
    violate(fmt::format("acked: job {} ({}) is not durable", job.value, token));
}

void Checker::check_acked(const model::View& view) {
  for (const auto& [token, job] : acked_)
    if (!view.jobs.contains(job.value)) return violate(fmt::format("acked: job {} ({}) is gone", job.value, token));
}

// ---- the journal

void Checker::on_durable(std::size_t author, std::uint64_t index, const std::string& entry, Duration now) {
  if (index != truth_.index() + 1)
    return violate(fmt::format("log: entry {} became durable after entry {}", index, truth_.index()));
  const auto batch = wire::decode_batch(entry);
  if (!batch) return violate("log: " + batch.error().message);
  if (batch->at < as_of_) violate(fmt::format("time: entry {} is older than the one before", index));
  as_of_ = batch->at;
  std::vector<state::OutboxRecord> records;
  truth_.apply(index, *batch, nullptr, &records);
  for (const auto& record : records) {
    if (record.number != records_.size() + 1)
      violate(fmt::format("outbox: record {} comes after record {}", record.number, records_.size()));
    records_.push_back(digest(record));
  }
  if (index % kHashEvery == 0) hashes_.push_back(truth_.state_hash());
  if (const Duration lease = truth_.view().config->node_timeout; leases_.empty() || lease != leases_.back().second)
    leases_.emplace_back(now, lease);
  check_lost_nodes(leaders_[author], now);
  const auto& view = truth_.view();
  check_preempted(view);
  check_together(view);
  check_changes(truth_.take_changes());
  if (index % kWholeEvery != 0) return;
  check_acked(view);
  if (auto ok = truth_.check_invariants(); !ok) violate("capacity: " + ok.error().message);
}

// The longest that the node had been silent at any moment at which what is durable now may have been decided. What
// was heard while the decision was on its way to the disk comes too late to change it.
Duration Checker::Leader::longest_silence(const std::string& node) const {
  Duration longest{0}, from = since;
  const auto until = [&](Duration next) {
    const Duration end = std::min(next, decided_until);
    if (end >= decided_since) longest = std::max(longest, awake(from, end));
    from = next;
  };
  if (const auto it = heard.find(node); it != heard.end()) std::ranges::for_each(it->second, until);
  until(Duration::max());
  return longest;
}

Duration Checker::Leader::awake(Duration from, Duration to) const {
  Duration time = to - from;
  for (const auto& [begin, end] : slept) {
    const Duration first = std::max(begin, from), last = std::min(end, to);
    if (last > first) time -= last - first;
  }
  return time;
}

void Checker::check_lost_nodes(const Leader& leader, Duration now) {
  // The shortest that was in force when this may have been decided.
  const Duration decided = std::min(leader.decided_since, now - seconds(10));
  Duration lease = leases_.back().second;
  for (std::size_t i = 0; i + 1 < leases_.size(); ++i)
    if (leases_[i + 1].first >= decided) lease = std::min(lease, leases_[i].second);
  truth_.view().nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
    const bool lost = node->registered && node->down;
    if (lost && !down_.contains(node->name)) {
      trace_.line("node {} is down", node->name);
      if (const Duration silent = leader.longest_silence(node->name); silent < lease)
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

// A job's life goes one way; only a new epoch begins it again.
void Checker::check_changes(const state::Cluster::Changes& changes) {
  for (const JobId id : changes.jobs) {
    const auto* now = truth_.view().jobs.find(id.value);
    if (!now) continue;
    const model::JobPtr job = *now;
    const model::JobPtr before = std::exchange(last_seen_[id], job);
    if (is_set(job->ended) && job->ended < job->started)
      violate(fmt::format("time: job {} ended before it started", id.value));
    if (!before) continue;
    if (job->epoch < before->epoch) violate(fmt::format("final: job {} went back to an older epoch", id.value));
    if (job->epoch != before->epoch) continue;
    if (is_set(before->started) && is_set(job->started) && job->started != before->started)
      violate(fmt::format("time: job {} epoch {} started twice", id.value, job->epoch.value));
    const bool was_over = model::is_final(before->state) && !(before->flags & model::kCompleting);
    if (was_over && (job->state != before->state || job->ended != before->ended || job->exit != before->exit))
      violate(fmt::format("final: job {} was {} and is {}", id.value, model::long_name(before->state, before->flags),
                          model::long_name(job->state, job->flags)));
  }
}

}  // namespace spur::sim
