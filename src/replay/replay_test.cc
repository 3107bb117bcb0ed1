// SPDX-License-Identifier: Apache-2.0
#include "replay/replay.h"

#include <gtest/gtest.h>

#include <random>

#include "replay/metrics.h"
#include "replay/reference.h"

namespace spur::replay {
namespace {

struct Line {
  std::int64_t submit, run, limit;
  std::uint32_t processors;
};

Workload workload(std::uint32_t processors, const std::vector<Line>& lines) {
  SwfTrace trace;
  for (const Line& line : lines) {
    SwfJob job;
    job.id = static_cast<std::int64_t>(trace.jobs.size()) + 1;
    job.submit = line.submit;
    job.run = line.run;
    job.requested = line.limit;
    job.processors = line.processors;
    trace.jobs.push_back(job);
  }
  WorkloadOptions options;
  options.processors = processors;
  return *make_workload(trace, options);
}

std::vector<std::int64_t> starts(const Workload& work, const Outcome& outcome) {
  std::vector<std::int64_t> seconds;
  for (const JobOutcome& job : outcome.jobs)
    seconds.push_back(is_set(job.start) ? (job.start - work.jobs.front().submit) / std::chrono::seconds(1) : -1);
  return seconds;
}

using Starts = std::vector<std::int64_t>;

// Four processors: a narrow job runs, a wide one waits for it, and two narrow ones come behind.
const std::vector<Line> kLines = {{0, 100, 120, 3}, {0, 60, 60, 4}, {0, 300, 300, 1}, {0, 60, 120, 1}};

TEST(Reference, FirstComeFirstServed) {
  const Workload work = workload(4, kLines);
  EXPECT_EQ(starts(work, replay_reference(work, {.backfill = false})), (Starts{0, 100, 160, 160}));
}

TEST(Reference, BackfillThatDelaysNobody) {
  const Workload work = workload(4, kLines);
  // The third would delay the wide one, the fourth ends in time.
  EXPECT_EQ(starts(work, replay_reference(work, {})), (Starts{0, 100, 160, 0}));
}

TEST(Reference, ShortestFirstBehindTheFront) {
  const Workload work = workload(4, {{0, 100, 120, 3}, {0, 60, 60, 4}, {0, 100, 100, 1}, {0, 30, 30, 1}});
  EXPECT_EQ(starts(work, replay_reference(work, {})), (Starts{0, 100, 0, 160}));
  EXPECT_EQ(starts(work, replay_reference(work, {.backfill_order = ReferencePolicy::Order::Shortest})),
            (Starts{0, 100, 160, 0}));
}

TEST(Reference, WhoHasWaitedLongGetsAPromiseToo) {
  // Two wide jobs wait; a long narrow one that comes behind them would delay the second, not the first.
  const std::vector<Line> lines = {{0, 600, 600, 3}, {1, 600, 600, 3}, {2, 600, 600, 4}, {200, 1000, 1000, 1}};
  const Workload work = workload(4, lines);
  EXPECT_EQ(starts(work, replay_reference(work, {})), (Starts{0, 600, 1200, 200}));
  const ReferencePolicy patient{.promises = 4, .patience = seconds(100)};
  EXPECT_EQ(starts(work, replay_reference(work, patient)), (Starts{0, 600, 1200, 200}));
  // It would end at 1300 then, and the second wide one is promised 1200.
  const Workload longer = workload(4, {lines[0], lines[1], lines[2], {200, 1100, 1100, 1}});
  EXPECT_EQ(starts(longer, replay_reference(longer, {})), (Starts{0, 600, 1300, 200}));
  EXPECT_EQ(starts(longer, replay_reference(longer, patient)), (Starts{0, 600, 1200, 1800}));
  // Nobody has waited long enough.
  const ReferencePolicy strict{.promises = 4, .patience = seconds(1000)};
  EXPECT_EQ(starts(longer, replay_reference(longer, strict)), (Starts{0, 600, 1300, 200}));
}

TEST(Replay, OnePromiseIsEasy) {
  const Workload work = workload(4, kLines);
  ReplayOptions options;
  options.params.promises = 1;
  const Outcome outcome = replay(work, options);
  EXPECT_EQ(starts(work, outcome), (Starts{0, 100, 160, 0}));
  EXPECT_EQ(outcome.ended - work.jobs.front().submit, seconds(460));
}

TEST(Replay, EndsWhereToldTo) {
  const Workload work = workload(4, kLines);
  ReplayOptions options;
  options.params.promises = 1;
  options.until = work.jobs.front().submit + seconds(110);
  const Outcome outcome = replay(work, options);
  EXPECT_EQ(starts(work, outcome), (Starts{0, 100, -1, 0}));
  const Metrics metrics = measure(work, outcome);
  EXPECT_EQ(metrics.not_started, 1u);
  // 3 for 100 s, 1 for 60 s, 4 for the last 10 s.
  EXPECT_DOUBLE_EQ(metrics.utilisation, (300.0 + 60 + 40) / (4 * 110));
}

TEST(Replay, APoolTooLargeForOneNodeIsStillOnePool) {
  const Workload work = workload(5'000'000, {{0, 60, 60, 1'500'000}, {0, 60, 60, 3'500'000}, {0, 60, 60, 5'000'000}});
  EXPECT_EQ(work.machine.nodes, 2u);
  EXPECT_EQ(starts(work, replay(work, {})), (Starts{0, 0, 60}));
}

// Every schedule keeps the machine's size and starts nobody before he came.
TEST(Replay, NeverGivesOutMoreThanThereIs) {
  std::mt19937 random(7);
  const auto upto = [&](int n) { return 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 20; ++round) {
    std::vector<Line> lines;
    for (int i = 0; i < 200; ++i) {
      const std::int64_t limit = 60 * upto(60);
      lines.push_back({upto(20'000), upto(static_cast<int>(limit)), limit, static_cast<std::uint32_t>(upto(32))});
    }
    const Workload work = workload(32, lines);
    ReplayOptions options;
    options.params.promises = static_cast<std::uint32_t>(round % 5);
    for (const Outcome& outcome : {replay(work, options), replay_reference(work, {})}) {
      for (std::size_t i = 0; i < work.jobs.size(); ++i) ASSERT_GE(outcome.jobs[i].start, work.jobs[i].submit);
      const auto curve = load_curve(work, outcome);
      for (const Load& load : curve) ASSERT_LE(load.processors, 32u);
      EXPECT_EQ(curve.back().processors, 0u);
      EXPECT_EQ(measure(work, outcome).not_started, 0u);
    }
  }
}

TEST(Metrics, OfAKnownSchedule) {
  const Workload work = workload(4, {{0, 100, 100, 4}, {0, 5, 60, 1}, {40, 60, 60, 2}});
  const Metrics metrics = measure(work, replay_reference(work, {.backfill = false}));
  EXPECT_EQ(metrics.all.jobs, 3u);
  EXPECT_DOUBLE_EQ(metrics.all.wait_mean, (0 + 100 + 60) / 3.0);
  EXPECT_DOUBLE_EQ(metrics.all.wait_median, 60);
  EXPECT_DOUBLE_EQ(metrics.all.wait_max, 100);
  // A run of 5 s counts as one of 10.
  EXPECT_DOUBLE_EQ(metrics.all.slowdown_mean, (1 + 10.5 + 2) / 3.0);
  EXPECT_DOUBLE_EQ(metrics.makespan_seconds, 160);
  EXPECT_DOUBLE_EQ(metrics.utilisation, (400.0 + 5 + 120) / (4 * 160));
  EXPECT_EQ(metrics.widest_from, 4u);
  EXPECT_DOUBLE_EQ(metrics.widest_wait_max, 0);
  EXPECT_EQ(metrics.free_max, 4u - 2);
}

TEST(Workload, LeavesOutWhatCannotRun) {
  SwfTrace trace;
  trace.max_processors = 8;
  trace.jobs = {{1, 0, 0, 4, 60}, {2, 0, 10, 9, 60}, {3, 5, 10, 8, -1}, {4, 2, 100, 8, 60}, {5, 0, 10, -1, 60}};
  const auto work = make_workload(trace, {});
  ASSERT_TRUE(work);
  EXPECT_EQ(work->without_run, 2u);
  EXPECT_EQ(work->too_wide, 1u);
  ASSERT_EQ(work->jobs.size(), 2u);
  EXPECT_EQ(work->jobs[0].trace_id, 4);
  EXPECT_EQ(work->jobs[0].run, seconds(60));  // its limit ends it
  EXPECT_EQ(work->jobs[1].limit, seconds(10));
  WorkloadOptions options;
  options.nodes = 4;
  EXPECT_FALSE(make_workload(trace, options));
  options.cpus_per_node = 2;
  EXPECT_TRUE(make_workload(trace, options));
  trace.max_processors.reset();
  EXPECT_FALSE(make_workload(trace, {}));
}

}  // namespace
}  // namespace spur::replay
