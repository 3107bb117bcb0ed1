// SPDX-License-Identifier: Apache-2.0
// Steps of a job on n1 and n2, as n1's agent runs them, over channels that the test works by hand. What becomes of them when
// one of those who take part is gone for a while, or for good: step_session_resume_test.cc.
#include "agent/step_session.h"

#include <csignal>

#include "agent/test_steps.h"

namespace spur::agent {
namespace {

TEST_F(StepSessionTest, EveryNodeGetsItsShareAndTheEndsAreMerged) {
  begin(start_of(6));
  ASSERT_EQ(port_.ends.size(), 2u);
  EXPECT_EQ(port_.ends[0]->where, "local step 0");
  EXPECT_EQ(port_.ends[1]->where, "n2:2");
  const auto& here = port_.ends[0]->got.at(0).start();
  const auto& there = port_.ends[1]->got.at(0).start();
  EXPECT_EQ(here.first_rank(), 0u);
  EXPECT_FALSE(here.forwarded());
  EXPECT_EQ(there.first_rank(), 3u);
  EXPECT_TRUE(there.forwarded());
  EXPECT_EQ(there.ntasks(), 6u);
  EXPECT_EQ(there.ranks_size(), 0);
  EXPECT_EQ(there.tasks_per_node(0), 3u);
  EXPECT_EQ(there.tasks_per_node(1), 3u);
  port_.ends[1]->say(exit_of(4, 0));
  port_.ends[1]->say(done());
  EXPECT_FALSE(finished_);
  port_.ends[0]->say(done());
  ASSERT_TRUE(finished_ && *finished_);
  ASSERT_EQ(heard_.size(), 2u);
  EXPECT_TRUE(heard_[1].has_done()) << "one for all, last";
}

// The ranks of each node that a start was sent to: "0,2|1,3"; "a-" for those from a on.
std::string ranks_of(const TestPort& port) {
  std::string out;
  for (const auto& end : port.ends) {
    const auto& start = end->got.at(0).start();
    out += out.empty() ? "" : "|";
    if (start.ranks().empty()) out += std::to_string(start.first_rank()) + "-";
    for (int i = 0; i < start.ranks_size(); ++i) out += (i == 0 ? "" : ",") + std::to_string(start.ranks(i));
  }
  return out;
}

TEST_F(StepSessionTest, RanksAreDealtOut) {
  auto cyclic = start_of(5);
  cyclic.mutable_distribution()->set_nodes(v1::Distribution::NODES_CYCLIC);
  begin(cyclic);
  EXPECT_EQ(ranks_of(port_), "0,2,4|1,3");

  open();
  auto packed = start_of(4);
  packed.mutable_distribution()->set_pack(true);
  begin(packed);
  EXPECT_EQ(ranks_of(port_), "0-|3-");  // but for one, which is left for the other node

  open();
  auto listed = start_of(3);
  for (const char* node : {"n1", "n2"}) listed.add_nodes(node);
  for (const std::uint32_t count : {1u, 2u}) listed.add_tasks_per_node(count);
  for (const std::uint32_t node : {1u, 0u, 1u}) listed.add_task_nodes(node);
  begin(listed);
  EXPECT_EQ(ranks_of(port_), "1|0,2");

  open();
  listed.set_task_nodes(0, 7);
  begin(listed);
  ASSERT_TRUE(finished_ && !*finished_);
  EXPECT_EQ(finished_->error().code, ErrorCode::InvalidArgument);
}

TEST_F(StepSessionTest, TasksAreLaidOutByTheCpus) {
  struct Row {
    std::uint32_t tasks, per_task;
    bool overcommit;
    const char* out;  // tasks of each node
  };
  for (const Row& row :
       {Row{2, 1, false, "1 1"}, Row{5, 1, false, "3 2"}, Row{8, 1, false, "4 4"}, Row{9, 1, false, ""},
        Row{9, 1, true, "5 4"}, Row{4, 2, false, "2 2"}, Row{5, 2, false, ""}, Row{1, 1, false, ""}}) {
    open();
    auto start = start_of(row.tasks);
    start.set_cpus_per_task(row.per_task);
    start.set_overcommit(row.overcommit);
    begin(start);
    std::string out;
    if (!port_.ends.empty())
      for (const auto tasks : port_.ends[0]->got.at(0).start().tasks_per_node())
        out += (out.empty() ? "" : " ") + std::to_string(tasks);
    EXPECT_EQ(out, row.out) << row.tasks << " tasks of " << row.per_task;
  }
}

TEST_F(StepSessionTest, TheSiteBoundsStepsAndTheirTasks) {
  context_.book.most_tasks_per_node = 3;
  context_.book.most_steps = 2;
  const auto refusal = [&](std::uint32_t tasks) {
    open();
    auto start = start_of(tasks);
    start.set_overcommit(true);
    begin(start);
    const auto refused = finished_ && !*finished_ ? std::optional(finished_->error().code) : std::nullopt;
    session_.reset();
    return refused;
  };
  EXPECT_EQ(refusal(7), ErrorCode::TooManyTasks);
  EXPECT_EQ(refusal(6), std::nullopt);
  EXPECT_EQ(refusal(1), ErrorCode::InvalidNodeCount) << "it had no number";
  EXPECT_EQ(refusal(2), std::nullopt);
  EXPECT_EQ(refusal(2), ErrorCode::TooManySteps);
}

TEST_F(StepSessionTest, ANewLimitReachesAllPartsOfAStep) {
  std::vector<std::uint32_t> began;
  context_.step_began = [&](const v1::StepInfo& step) { began.push_back(step.step()); };
  begin(start_of(2));
  EXPECT_EQ(began, std::vector<std::uint32_t>{0});
  ManagedStep* step = context_.find(JobId{7}, 0);
  ASSERT_NE(step, nullptr);
  EXPECT_TRUE(step->set_time_limit(TimeLimit::of_minutes(5)));
  for (const auto& end : port_.ends) EXPECT_EQ(end->got.back().signal().time_limit(), 5u);
  EXPECT_EQ(step->info().time_limit(), 5u);
}

TEST_F(StepSessionTest, AStepWaitsForRoomAndStartsWhenThereIs) {
  begin(start_of(2));
  auto first = std::move(session_);
  open();
  begin(start_of(2));
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_TRUE(heard_[0].has_waiting());
  EXPECT_TRUE(port_.ends.empty());
  v1::StepInput input;
  input.mutable_stdin_data()->set_data("early");
  bool taken = false;
  session_->input(input, [&] { taken = true; });
  EXPECT_FALSE(taken);
  first.reset();
  ASSERT_EQ(port_.ends.size(), 2u);
  EXPECT_TRUE(taken);
  ASSERT_EQ(port_.ends[0]->got.size(), 2u);
  EXPECT_EQ(port_.ends[0]->got[0].start().step(), 1u);
  EXPECT_EQ(port_.ends[0]->got[1].stdin_data().data(), "early");
  EXPECT_EQ(port_.ends[1]->got[0].start().grant().cpus().bounds_size(), 2);
}

TEST_F(StepSessionTest, WhoeverWaitsHearsOfTheEndOfTheJob) {
  begin(start_of(2));
  auto first = std::move(session_);
  open();
  begin(start_of(2));
  context_.book.ends({JobId{7}, Epoch{1}});
  ASSERT_TRUE(finished_ && !*finished_);
  EXPECT_EQ(finished_->error().code, ErrorCode::JobAlreadyDone);
  first.reset();
  EXPECT_TRUE(port_.ends.empty()) << "it must not start any more";
  open();
  begin(start_of(2));
  ASSERT_TRUE(finished_ && !*finished_);
  EXPECT_EQ(finished_->error().code, ErrorCode::JobAlreadyDone);
}

TEST_F(StepSessionTest, ExactStepsRunBesideEachOther) {
  auto start = start_of(1);
  start.add_nodes("n1");
  start.add_nodes("n2");
  start.set_node_count(1);
  start.set_exact(true);
  start.set_cpus_per_task(3);
  std::vector<std::unique_ptr<StepSession>> running;
  std::string where;
  for (int i = 0; i < 3; ++i) {
    open();
    begin(start);
    for (const auto& end : port_.ends) where += end->where + ";";
    running.push_back(std::move(session_));
  }
  EXPECT_EQ(where, "local step 0;n2:2;");
}

TEST_F(StepSessionTest, ANoticeIsForTheFirstStepThatSomebodyLooksAt) {
  context_.notify({JobId{7}, Epoch{1}}, "nobody is there");
  auto start = start_of(2);
  start.set_exact(true);
  begin(start);
  auto first = std::move(session_);
  const auto heard_by_first = heard_.size();
  open();
  begin(start);
  heard_.clear();
  context_.notify({JobId{7}, Epoch{2}}, "of another run");
  context_.notify({JobId{7}, Epoch{1}}, "hello");
  ASSERT_EQ(heard_.size(), 1u) << heard_by_first;  // both sessions write to one list
  EXPECT_EQ(heard_[0].notice().text(), "hello");
  EXPECT_EQ(heard_[0].seq(), 0u);
  first.reset();
  heard_.clear();
  context_.notify({JobId{7}, Epoch{1}}, "again");
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_EQ(heard_[0].notice().text(), "again");
}

TEST_F(StepSessionTest, StepsAreNumbered) {
  for (std::uint32_t i = 0; i < 3; ++i) {
    begin(start_of(2));
    EXPECT_EQ(port_.ends.at(0)->got.at(0).start().step(), i);
    open();
  }
}

TEST_F(StepSessionTest, WithoutTheRightTicketNothingIsOpened) {
  struct Row {
    const char* what;
    std::function<void(io::Verified&, v1::StepStart&)> change;
    ErrorCode code;
  };
  for (const Row& row :
       {Row{"forged", [](auto&, auto& s) { s.set_ticket("x"); }, ErrorCode::Unauthenticated},
        Row{"a user's word", [](auto& t, auto&) { t.kind = io::CredentialKind::User; }, ErrorCode::Unauthenticated},
        Row{"an earlier run", [](auto& t, auto&) { t.epoch = Epoch{}; }, ErrorCode::StaleEpoch},
        Row{"another run", [](auto& t, auto&) { t.epoch = Epoch{2}; }, ErrorCode::StaleEpoch},
        Row{"another user", [](auto& t, auto&) { t.uid = Uid{1001}; }, ErrorCode::PermissionDenied},
        Row{"nothing to run", [](auto&, auto& s) { s.clear_argv(); }, ErrorCode::InvalidArgument},
        Row{"a node of others", [](auto&, auto& s) { s.add_nodes("n9"); }, ErrorCode::InvalidNode},
        Row{"too large", [](auto&, auto& s) { s.set_ntasks(9); }, ErrorCode::StepTooLarge}}) {
    open();
    const auto good = ticket_;
    auto start = start_of(2);
    row.change(ticket_, start);
    begin(start);
    ASSERT_TRUE(finished_) << row.what;
    ASSERT_FALSE(*finished_) << row.what;
    EXPECT_EQ(finished_->error().code, row.code) << row.what;
    EXPECT_TRUE(port_.ends.empty()) << row.what;
    ticket_ = good;
  }
}

TEST_F(StepSessionTest, AStepMayComeBeforeItsJob) {
  ticket_.job = JobId{8};
  begin(start_of(2));
  EXPECT_FALSE(finished_);
  ASSERT_EQ(later_.size(), 1u);
  std::exchange(later_, {})[0]();
  ASSERT_EQ(later_.size(), 1u);
  model::ControllerLaunch launch = *agent_.held(JobId{7});
  launch.run.job = JobId{8};
  agent_.on_message(launch);
  std::exchange(later_, {})[0]();
  EXPECT_EQ(port_.ends.size(), 2u);

  open();
  ticket_.job = JobId{9};
  begin(start_of(2));
  int looks = 0;
  for (; !later_.empty(); ++looks) std::exchange(later_, {})[0]();
  ASSERT_TRUE(finished_ && !*finished_) << "not for ever";
  EXPECT_GT(looks, 10);
}

TEST_F(StepSessionTest, InputGoesWhereItIsMeantFor) {
  begin(start_of(6));
  v1::StepInput input;
  input.mutable_stdin_data()->set_data("all");
  int taken = 0;
  session_->input(input, [&] { ++taken; });
  input.mutable_stdin_data()->set_task(5);
  session_->input(input, [&] { ++taken; });
  input.mutable_stdin_data()->set_task(99);
  session_->input(input, [&] { ++taken; });
  EXPECT_EQ(taken, 3);
  EXPECT_EQ(port_.ends[0]->got.size(), 2u);
  EXPECT_EQ(port_.ends[1]->got.size(), 3u);
  session_->pause(true);
  EXPECT_TRUE(port_.ends[0]->paused && port_.ends[1]->paused);
}

TEST_F(StepSessionTest, KillOnBadExit) {
  auto start = start_of(6);
  start.set_kill_on_bad_exit(true);
  begin(start);
  port_.ends[1]->say(exit_of(4, 0));
  EXPECT_EQ(port_.ends[0]->got.size(), 1u);
  port_.ends[1]->say(exit_of(5, 3));
  port_.ends[1]->say(exit_of(5, 3));
  ASSERT_EQ(port_.ends[0]->got.size(), 2u) << "once";
  EXPECT_EQ(port_.ends[0]->got[1].signal().signal(), SIGTERM);
  EXPECT_TRUE(port_.ends[0]->got[1].signal().end());
}

TEST_F(StepSessionTest, ABrokenChannelIsAnErrorOfThatNode) {
  begin(start_of(6));
  port_.ends[1]->events.on_closed(fail(ErrorCode::Unreachable, "gone"));
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_EQ(heard_[0].error().node(), "n2");
  EXPECT_EQ(heard_[0].error().text(), "gone");
  EXPECT_FALSE(finished_) << "the other node goes on";
  port_.ends[0]->say(done());
  EXPECT_TRUE(finished_ && *finished_);
}

TEST_F(StepSessionTest, TheEndOfTheSessionClosesEverything) {
  begin(start_of(6));
  const auto ends = port_.ends;
  session_.reset();
  for (const auto& end : ends) {
    EXPECT_FALSE(end->open);
    end->say(done());  // late: nobody listens
  }
  EXPECT_TRUE(heard_.empty());
}

TEST_F(StepSessionTest, AStepBeginsWithItsOneStart) {
  v1::StepInput input;
  input.mutable_stdin_data()->set_data("x");
  session_->input(input, [] {});
  ASSERT_TRUE(finished_);
  EXPECT_FALSE(*finished_);
  open();
  begin(start_of(2));
  begin(start_of(2));
  ASSERT_TRUE(finished_);
  EXPECT_FALSE(*finished_);
}

}  // namespace
}  // namespace spur::agent
