// SPDX-License-Identifier: Apache-2.0
// Commands that watch jobs: what they write about what they are told.
#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/fake_cluster.h"
#include "cli/top_screen.h"
#include "cli/watched_jobs.h"

namespace spur::cli {
namespace {

model::JobPtr job(std::uint32_t id, model::JobState state, std::uint16_t code = 0) {
  FakeJob made(id, "j");
  made.job->state = state;
  made.job->exit.code = code;
  made.job->spec = made.spec;
  return made.job;
}

wire::JobChanges changes(std::vector<model::JobPtr> jobs, std::vector<JobId> gone = {}, bool resync = false) {
  wire::JobChanges out{.resync = resync, .current = true, .table = {}, .gone = std::move(gone)};
  out.table.jobs = std::move(jobs);
  out.table.as_of = kTestNow;
  return out;
}

struct WatchAnswer {
  int status = 0;
  std::string out, err;
};

WatchAnswer run(const char* program, std::vector<std::string> arguments, std::vector<model::JobPtr> first,
           std::vector<wire::JobChanges> told) {
  auto controller = std::make_unique<FakeController>();
  controller->job_table.jobs = std::move(first);
  controller->job_table.as_of = kTestNow;
  controller->to_tell = std::move(told);
  Output out(-1), err(-1);
  Context context(out, err);
  context.program = program;
  context.arguments = std::move(arguments);
  static const char* const kNothing[] = {nullptr};
  context.environment = kNothing;
  context.now = [] { return kTestNow; };
  context.connect = [&]() -> Result<std::unique_ptr<Controller>> { return std::move(controller); };
  WatchAnswer answer;
  answer.status = std::string_view(program) == "squeue" ? cmd_squeue(context) : cmd_wait(context);
  answer.out = out.text();
  answer.err = err.text();
  return answer;
}

using enum model::JobState;

TEST(SpurWait, TheHighestExitStatus) {
  const auto answer = run("spur wait", {"1", "2"}, {job(1, Running), job(2, Pending)},
                          {changes({job(1, Completed)}), changes({job(2, Running)}), changes({job(2, Failed, 7)})});
  EXPECT_EQ(answer.status, 7) << answer.err;
  EXPECT_EQ(answer.out, "1 COMPLETED 0:0\n2 FAILED 7:0\n");
}

TEST(SpurWait, AnyIsTheFirstThatEnds) {
  const auto answer = run("spur wait", {"--any", "-q", "1,2"}, {job(1, Running), job(2, Running)},
                          {changes({job(2, Failed, 3)}), changes({job(1, Failed, 9)})});
  EXPECT_EQ(answer.status, 3);
  EXPECT_EQ(answer.out, "");
}

TEST(SpurWait, WhatIsOverIsOver) {
  EXPECT_EQ(run("spur wait", {"1"}, {job(1, Completed)}, {}).status, 0);
  EXPECT_EQ(run("spur wait", {"1"}, {job(1, Cancelled)}, {}).status, 1);
}

TEST(SpurWait, CompletingIsNotOver) {
  auto completing = std::make_shared<model::Job>(*job(1, Completed));
  completing->flags = model::kCompleting;
  const auto answer = run("spur wait", {"--timeout=5", "1"}, {completing}, {});
  EXPECT_EQ(answer.status, 124);
  EXPECT_EQ(answer.err, "spur wait: error: not ended within 0:05\n");
}

TEST(SpurWait, AnArrayEndsWithItsLastTask) {
  const auto task = [](std::uint32_t id, std::uint32_t index, model::JobState state, std::uint16_t code = 0) {
    auto made = std::make_shared<model::Job>(*job(id, state, code));
    made->array_job = JobId(5);
    made->array_task = index;
    return made;
  };
  const auto answer = run("spur wait", {"5"}, {task(5, 1, Running), task(6, 2, Running)},
                          {changes({task(6, 2, Failed, 4)}), changes({task(5, 1, Completed)})});
  EXPECT_EQ(answer.status, 4);
  EXPECT_EQ(answer.out, "5 FAILED 4:0\n");
  const auto one = run("spur wait", {"5_2"}, {task(5, 1, Running), task(6, 2, Running)}, {changes({task(6, 2, Completed)})});
  EXPECT_EQ(one.status, 0);
  EXPECT_EQ(one.out, "5_2 COMPLETED 0:0\n");
}

TEST(SpurWait, UnknownJobs) {
  const auto answer = run("spur wait", {"9", "1"}, {job(1, Completed)}, {});
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.err, "spur wait: error: 9: Invalid job id specified\n");
  EXPECT_EQ(run("spur wait", {"x"}, {}, {}).err, "spur wait: error: Invalid job id: x\n");
  EXPECT_EQ(run("spur wait", {"--timeout=later", "1"}, {}, {}).status, 1);
  EXPECT_EQ(run("spur wait", {}, {}, {}).status, 1);
}

TEST(SpurWait, WhatVanishesIsNotASuccess) {
  const auto answer = run("spur wait", {"1"}, {job(1, Running)}, {changes({}, {}, true)});
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.err, "spur wait: error: job 1 is not known any more: how it ended was not seen\n");
}

TEST(SqueueWatch, ALineForEachChange) {
  const auto answer = run("squeue", {"--watch", "-o", "%i %T"}, {job(1, Running), job(2, Pending), job(3, Completed)},
                          {changes({job(2, Pending)}), changes({job(2, Running), job(4, Pending)}),
                           changes({job(1, Completed)}), changes({}, {JobId(1), JobId(4)})});
  EXPECT_EQ(answer.out,
            "2026-11-15T18:25:48|listed|2 PENDING\n"
            "2026-11-15T18:25:48|listed|1 RUNNING\n"
            "2026-11-15T18:25:48|changed|4 PENDING\n"
            "2026-11-15T18:25:48|changed|2 RUNNING\n"
            "2026-11-15T18:25:48|changed|1 COMPLETED\n"
            "2026-11-15T18:25:48|gone|4\n");
}

TEST(SqueueWatch, AfterAResyncOnlyWhatIsDifferent) {
  const auto answer = run("squeue", {"--watch", "-h", "-o", "%i %T"}, {job(1, Running), job(2, Running)},
                          {changes({job(2, Running), job(3, Running)}, {}, true)});
  EXPECT_EQ(answer.out,
            "2026-11-15T18:25:48|listed|1 RUNNING\n"
            "2026-11-15T18:25:48|listed|2 RUNNING\n"
            "2026-11-15T18:25:48|gone|1\n"
            "2026-11-15T18:25:48|changed|3 RUNNING\n");
}

TEST(SqueueWatch, NotWithWhatIsNoList) {
  for (const char* other : {"--json", "-i5", "-s"}) {
    const auto answer = run("squeue", {"--watch", other}, {}, {});
    EXPECT_EQ(answer.status, 1) << other;
    EXPECT_EQ(answer.err, "squeue: error: --watch cannot be used with --iterate, --steps, --json or --yaml\n");
  }
}

TEST(WatchedJobs, KeepTheNewestOfEach) {
  WatchedJobs jobs;
  wire::JobChanges first = changes({job(1, Running), job(2, Pending)}, {}, true);
  first.table.expected_starts = {Time{}, kTestNow};
  first.table.node_names = {"n1"};
  jobs.take(first);
  wire::JobChanges second = changes({job(1, Completed)});
  second.table.node_names = {"", "n2"};
  jobs.take(second);
  const wire::JobTable table = jobs.table();
  ASSERT_EQ(table.jobs.size(), 2u);
  EXPECT_EQ(table.jobs[0]->state, Completed);
  EXPECT_EQ(table.expected_starts[1], kTestNow);
  EXPECT_EQ(table.node_names, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(jobs.take(changes({}, {JobId(2)})).gone.size(), 1u);
  EXPECT_EQ(jobs.find(JobId(2)), nullptr);
}

TopState top_of_fake_cluster() {
  FakeController controller;
  fill(controller);
  TopState state;
  state.jobs = controller.job_table;
  state.cluster = controller.cluster_table;
  state.known = true;
  state.now = kTestNow;
  return state;
}

TEST(TopScreen, FitsTheScreen) {
  for (const ScreenSize size : {ScreenSize{24, 80}, ScreenSize{50, 200}, ScreenSize{5, 20}, ScreenSize{1, 1}}) {
    TopState state = top_of_fake_cluster();
    keep_mark(state, top_lines(state).size(), size);
    const std::string screen = top_screen(state, size, {.people = true, .colors = true});
    int rows = 1;
    std::string_view rest = screen;
    for (;;) {
      const std::size_t end = rest.find('\n');
      EXPECT_LE(columns_of(rest.substr(0, end)), size.columns);
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
      ++rows;
    }
    EXPECT_EQ(rows, std::max(size.rows, 3));
  }
}

TEST(TopScreen, SaysWhatThereIs) {
  TopState state = top_of_fake_cluster();
  const std::string screen = top_screen(state, {50, 200}, {.people = true});
  EXPECT_EQ(screen.find('\x1b'), std::string::npos) << "colours were not asked for";
  for (const char* part : {"CPU [", "MEM [", "running, ", "WHERE, OR WHY NOT", "q quit"})
    EXPECT_NE(screen.find(part), std::string::npos) << part << "\n" << screen;
}

TEST(TopScreen, FiltersSortsAndMarks) {
  TopState state = top_of_fake_cluster();
  const std::size_t all = top_lines(state).size();
  ASSERT_GT(all, 3u);
  state.waiting = true;
  const auto waiting = top_lines(state);
  for (const std::size_t at : waiting) EXPECT_EQ(state.jobs.jobs[at]->state, Pending);
  state.waiting.reset();
  state.sort = TopSort::Id;
  auto by_id = top_lines(state);
  EXPECT_TRUE(std::ranges::is_sorted(by_id, {}, [&](std::size_t at) { return state.jobs.jobs[at]->id; }));
  state.backwards = true;
  std::ranges::reverse(by_id);
  EXPECT_EQ(top_lines(state), by_id);
  state.filter = "no such text";
  EXPECT_TRUE(top_lines(state).empty());
  state.filter.clear();
  state.marked = 1000;
  keep_mark(state, all, {10, 80});
  EXPECT_EQ(state.marked, all - 1);
  EXPECT_LE(state.marked - state.first, static_cast<std::size_t>(top_room(state, {10, 80})));
}

TEST(TopScreen, Bars) {
  EXPECT_EQ(bar(0, 10, 4), "[....]");
  EXPECT_EQ(bar(1, 1000, 4), "[#...]");
  EXPECT_EQ(bar(5, 10, 4), "[##..]");
  EXPECT_EQ(bar(20, 10, 4), "[####]");
  EXPECT_EQ(bar(1, 0, 4), "[#...]");
}

}  // namespace
}  // namespace spur::cli
