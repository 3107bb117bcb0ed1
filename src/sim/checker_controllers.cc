// SPDX-License-Identifier: Apache-2.0
// What controllers do and say, against the truth.
#include <algorithm>
#include <utility>

#include "sim/checker.h"
#include "sim/sim_journal.h"
#include "wire/command_codec.h"

namespace spur::sim {

void Checker::on_lead(std::size_t controller, Duration now) {
  leaders_[controller] = {
      .heard = {}, .slept = {}, .since = now, .decided_since = now, .last_append = now, .decided_until = now};
}

void Checker::on_heard(std::size_t controller, const std::string& node, Duration now) {
  leaders_[controller].heard[node].push_back(now);
}

void Checker::on_slept(std::size_t controller, Duration from, Duration to) {
  // A short while counts, and so does what is left of the tick in which it fell asleep.
  constexpr Duration kShort = milliseconds(2500), kTick = milliseconds(250);
  if (to - from > kShort) leaders_[controller].slept.emplace_back(from + kTick, to);
}

void Checker::on_append(std::size_t controller, Duration now) {
  Leader& leader = leaders_[controller];
  leader.decided_since = std::exchange(leader.last_append, std::exchange(leader.decided_until, now));
}

void Checker::on_published(std::size_t controller, const state::Cluster& cluster, bool leads) {
  const std::uint64_t index = cluster.index();
  if (index > truth_.index())
    return violate(fmt::format("acked: c{} serves index {}, durable is {}", controller, index, truth_.index()));
  if (leads) known_ = std::max(known_, index);
  if (index == 0 || index % kHashEvery != 0 || std::exchange(spools_[controller].compared, index) == index) return;
  if (hashes_[index / kHashEvery - 1] != cluster.state_hash())
    violate(fmt::format("replica: c{} has another state at index {}", controller, index));
}

void Checker::on_looked(std::size_t controller, std::uint64_t known, const state::Cluster& shown) {
  if (shown.index() < known)
    violate(fmt::format("fresh: c{} shows index {}, {} was known when it was asked", controller, shown.index(), known));
}

std::uint64_t Checker::digest(const state::OutboxRecord& record) {
  std::uint64_t out = 0xcbf29ce484222325u;
  const auto mix = [&](std::uint64_t value) { out = (out ^ value) * 0x100000001b3u; };
  mix(record.number);
  mix(static_cast<std::uint64_t>(record.at.time_since_epoch().count()));
  mix(record.what.index());
  if (const auto* note = std::get_if<state::JobNote>(&record.what)) {
    mix(note->job->id.value);
    mix(note->job->epoch.value);
    mix(static_cast<std::uint64_t>(note->job->state));
    mix(note->requeued);
  } else if (const auto* node = std::get_if<state::NodeNote>(&record.what)) {
    mix(node->node->name.size());
    mix(node->node->down);
  }
  return out;
}

void Checker::on_account(std::size_t controller, const std::vector<state::OutboxRecord>& records) {
  Spool& spool = spools_[controller];
  for (const auto& record : records) {
    if (record.number == 0 || record.number > records_.size() || records_[record.number - 1] != digest(record))
      return violate(fmt::format("outbox: record {} of c{} is not the one that the log makes", record.number, controller));
    // What is there already is passed over: a replay makes it again.
    if (spool.last != 0 && record.number > spool.last + 1)
      return violate(fmt::format("outbox: c{} has record {} after {}", controller, record.number, spool.last));
    spool.last = std::max(spool.last, record.number);
  }
}

void Checker::on_plan(const model::View& view, const sched::Plan& plan) {
  std::set<JobId> told;
  for (const auto& wait : plan.waits) {
    if (!told.insert(wait.job).second)
      return violate(fmt::format("reason: job {} is told twice why it waits", wait.job.value));
    if (wait.reason == model::Reason::None)
      return violate(fmt::format("reason: job {} waits for no reason", wait.job.value));
  }
  if (!plan.full || plan.more) return;
  for (const auto& start : plan.starts) told.insert(start.job);
  view.pending.for_each([&](std::uint32_t id, const model::JobPtr& job) {
    if (job->reason == model::Reason::None && !told.contains(JobId{id}))
      violate(fmt::format("reason: job {} was passed over without one", id));
  });
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

bool Checker::anything_runs() const {
  return std::ranges::any_of(running_, [](const auto& node) { return !node.second.empty(); });
}

void Checker::at_end(std::size_t controller, const state::Cluster& cluster) {
  if (cluster.index() != truth_.index() || cluster.state_hash() != truth_.state_hash())
    violate(fmt::format("replica: c{} ends with another state than the log", controller));
  check_acked(cluster.view());
  if (auto ok = cluster.check_invariants(); !ok) violate("capacity: " + ok.error().message);
  for (const auto& [node, runs] : running_)
    for (const auto& run : runs)
      violate(
          fmt::format("progress: job {} epoch {} still runs on {}", run.run.job.value, run.run.epoch.value, node));
  check_ends(cluster.view());
}

void Checker::check_ends(const model::View& view) {
  view.jobs.for_each([&](std::uint32_t id, const model::JobPtr& job) {
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
