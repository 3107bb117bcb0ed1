// SPDX-License-Identifier: Apache-2.0
#include "replay/metrics.h"

#include <algorithm>

namespace spur::replay {
namespace {

constexpr double kSlowdownThreshold = 10;  // seconds

double in_seconds(Duration span) {
  return std::chrono::duration<double>(span).count();
}

// Waits and slowdowns of a group, gathered, then summed up.
struct Sample {
  std::vector<double> waits, slowdowns;
  double processor_seconds = 0;

  void add(const ReplayJob& job, const JobOutcome& outcome) {
    const double wait = in_seconds(outcome.start - job.submit), run = in_seconds(outcome.end - outcome.start);
    waits.push_back(wait);
    slowdowns.push_back(std::max(1.0, (wait + run) / std::max(kSlowdownThreshold, run)));
    processor_seconds += run * job.processors;
  }

  WaitFigures figures() && {
    WaitFigures figures;
    figures.jobs = waits.size();
    figures.processor_hours = processor_seconds / 3600;
    if (waits.empty()) return figures;
    const auto mean = [](const std::vector<double>& of) {
      double sum = 0;
      for (const double value : of) sum += value;
      return sum / static_cast<double>(of.size());
    };
    const auto at = [](std::vector<double>& of, std::size_t hundredths) {
      const std::size_t n = std::min(of.size() - 1, of.size() * hundredths / 100);
      std::ranges::nth_element(of, of.begin() + static_cast<std::ptrdiff_t>(n));
      return of[n];
    };
    figures.wait_mean = mean(waits);
    figures.slowdown_mean = mean(slowdowns);
    figures.wait_max = std::ranges::max(waits);
    figures.wait_median = at(waits, 50);
    figures.wait_p95 = at(waits, 95);
    figures.slowdown_p95 = at(slowdowns, 95);
    return figures;
  }
};

// The width that closes the widest tenth.
std::uint32_t widest_tenth(const Workload& workload) {
  std::vector<std::uint32_t> widths;
  widths.reserve(workload.jobs.size());
  for (const ReplayJob& job : workload.jobs) widths.push_back(job.processors);
  if (widths.empty()) return 0;
  const auto nth = widths.begin() + static_cast<std::ptrdiff_t>((widths.size() + 9) / 10 - 1);
  std::ranges::nth_element(widths, nth, std::greater<>());
  return *nth;
}

void measure_load(const Workload& workload, const Outcome& outcome, Metrics& metrics) {
  const std::vector<Load> curve = load_curve(workload, outcome);
  if (curve.size() < 2) return;
  const double span = in_seconds(curve.back().from - curve.front().from);
  double busy = 0;
  for (std::size_t i = 0; i + 1 < curve.size(); ++i) {
    busy += curve[i].processors * in_seconds(curve[i + 1].from - curve[i].from);
    metrics.free_max = std::max(metrics.free_max, workload.machine.processors - curve[i].processors);
  }
  metrics.makespan_seconds = span;
  if (span <= 0) return;
  metrics.utilisation = busy / span / workload.machine.processors;
  metrics.free_mean = workload.machine.processors - busy / span;
}

}  // namespace

std::vector<Load> load_curve(const Workload& workload, const Outcome& outcome) {
  struct Change {
    Time when;
    std::int64_t processors = 0, waiting = 0;
  };
  std::vector<Change> changes;
  changes.reserve(workload.jobs.size() * 3);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const ReplayJob& job = workload.jobs[i];
    const JobOutcome& got = outcome.jobs[i];
    if (job.submit <= outcome.ended) changes.push_back({job.submit, 0, 1});
    if (!is_set(got.start)) continue;
    changes.push_back({got.start, job.processors, -1});
    if (got.end <= outcome.ended) changes.push_back({got.end, -std::int64_t{job.processors}, 0});
  }
  std::ranges::sort(changes, {}, &Change::when);
  std::vector<Load> curve;
  std::int64_t processors = 0, waiting = 0;
  for (const Change& change : changes) {
    processors += change.processors;
    waiting += change.waiting;
    if (curve.empty() || curve.back().from != change.when) curve.push_back({change.when, 0, 0});
    curve.back().processors = static_cast<std::uint32_t>(processors);
    curve.back().waiting = static_cast<std::uint32_t>(waiting);
  }
  if (!curve.empty() && curve.back().from < outcome.ended)
    curve.push_back({outcome.ended, curve.back().processors, curve.back().waiting});
  return curve;
}

Metrics measure(const Workload& workload, const Outcome& outcome) {
  Metrics metrics;
  Sample all;
  std::map<std::int32_t, Sample> users, partitions;
  metrics.widest_from = widest_tenth(workload);
  double widest_sum = 0;
  std::size_t widest = 0;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const ReplayJob& job = workload.jobs[i];
    const JobOutcome& got = outcome.jobs[i];
    if (!is_set(got.start)) {
      ++metrics.not_started;
      continue;
    }
    all.add(job, got);
    users[job.user].add(job, got);
    partitions[job.partition].add(job, got);
    if (job.processors >= metrics.widest_from) {
      const double wait = in_seconds(got.start - job.submit);
      metrics.widest_wait_max = std::max(metrics.widest_wait_max, wait);
      widest_sum += wait;
      ++widest;
    }
  }
  if (widest > 0) metrics.widest_wait_mean = widest_sum / static_cast<double>(widest);
  metrics.all = std::move(all).figures();
  for (auto& [user, sample] : users) metrics.by_user[user] = std::move(sample).figures();
  for (auto& [partition, sample] : partitions) metrics.by_partition[partition] = std::move(sample).figures();
  measure_load(workload, outcome, metrics);
  return metrics;
}

}  // namespace spur::replay
