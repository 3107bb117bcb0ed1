// SPDX-License-Identifier: Apache-2.0
// Steps with a key: they outlive what breaks between srun, the agent that manages them and the nodes.
#include <csignal>
#include <utility>

#include "agent/step_session.h"
#include "agent/test_steps.h"

namespace spur::agent {
namespace {

class KeyedStepTest : public StepSessionTest {
 protected:
  static v1::StepStart keyed(std::uint32_t tasks) {
    v1::StepStart start = start_of(tasks);
    start.set_key("key");
    return start;
  }
  static v1::StepOutput of_part(v1::StepOutput output, std::uint32_t part, std::uint64_t seq) {
    output.set_part(part);
    output.set_seq(seq);
    return output;
  }
  void acknowledge(std::uint32_t part, std::uint64_t seq) {
    v1::StepInput input;
    input.mutable_ack()->set_part(part);
    input.mutable_ack()->set_seq(seq);
    session_->input(input, [] {});
  }
  void run_later() {
    for (const auto& f : std::exchange(later_, {})) f();
  }
  // The stream of srun breaks and comes back; the channels to the parts stay.
  void reconnect(const v1::StepStart& start) {
    session_.reset();
    const auto ends = port_.ends;
    open();
    port_.ends = ends;
    begin(start);
  }
};

TEST_F(KeyedStepTest, ItLivesUntilSrunHasHeardOfEveryEnd) {
  begin(keyed(6));
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_EQ(heard_[0].granted().parts(), 2u);
  const auto ends = port_.ends;
  ends[0]->say(of_part(done(), 0, 9));
  ends[1]->say(of_part(done(), 1, 4));
  EXPECT_EQ(heard_.size(), 3u) << "each part's end is told";
  EXPECT_FALSE(finished_);
  open();
  begin(start_of(6));
  EXPECT_EQ(port_.ends.size(), 2u) << "its place is free all the same";
}

TEST_F(KeyedStepTest, AcknowledgementsGoToTheirPartAndTheLastOneEndsIt) {
  begin(keyed(6));
  port_.ends[0]->say(of_part(done(), 0, 9));
  port_.ends[1]->say(of_part(done(), 1, 4));
  acknowledge(1, 3);
  ASSERT_EQ(port_.ends[1]->got.size(), 2u);
  EXPECT_EQ(port_.ends[1]->got[1].ack().seq(), 3u);
  EXPECT_EQ(port_.ends[0]->got.size(), 1u);
  acknowledge(0, 9);
  EXPECT_FALSE(finished_);
  acknowledge(1, 4);
  ASSERT_TRUE(finished_ && *finished_);
  run_later();
  EXPECT_EQ(context_.steps.size(), 1u) << "until the parts have heard, too";
  for (const auto& end : port_.ends) end->events.on_closed({});
  run_later();
  EXPECT_TRUE(context_.steps.empty());
}

TEST_F(KeyedStepTest, SrunThatWasCutOffGoesOnWhereItWas) {
  auto start = keyed(6);
  begin(start);
  start.mutable_resume()->set_granted(true);
  start.mutable_resume()->add_parts()->set_seq(5);
  start.mutable_resume()->add_parts()->set_seq(2);
  reconnect(start);
  EXPECT_EQ(heard_.at(0).granted().parts(), 2u);
  ASSERT_EQ(port_.ends.size(), 2u) << "the same channels";
  EXPECT_EQ(port_.ends[0]->got.back().attach().after(), 5u);
  EXPECT_EQ(port_.ends[1]->got.back().attach().after(), 2u);
  EXPECT_FALSE(port_.ends[0]->paused);
  run_later();  // the time that the first front had to come back
  EXPECT_FALSE(port_.ends[0]->got.back().has_release());
  port_.ends[0]->say(of_part(exit_of(1, 3), 0, 6));
  EXPECT_EQ(heard_.back().task_exit().code(), 3u);
}

TEST_F(KeyedStepTest, SrunThatIsGoneForGoodEndsItOnce) {
  auto start = keyed(6);
  begin(start);
  const auto ends = port_.ends;
  session_.reset();
  EXPECT_TRUE(ends[0]->paused && ends[0]->open);
  run_later();
  for (const auto& end : ends) EXPECT_TRUE(end->got.back().has_release());
  for (const auto& end : ends) end->say(of_part(done(), end == ends[0] ? 0 : 1, 3));
  for (const auto& end : ends) end->events.on_closed({});
  run_later();
  EXPECT_TRUE(context_.steps.empty());
  open();
  begin(start);  // too late, and it had not heard that the step existed
  ASSERT_TRUE(finished_ && !*finished_);
  EXPECT_TRUE(port_.ends.empty()) << "it must not run twice";
}

TEST_F(KeyedStepTest, APartThatCannotBeReachedIsCalledAgain) {
  begin(keyed(6));
  acknowledge(1, 7);
  port_.ends[1]->events.on_closed(fail(ErrorCode::Unreachable, "gone"));
  run_later();
  ASSERT_EQ(port_.ends.size(), 3u);
  EXPECT_EQ(port_.ends[2]->where, "n2:2");
  EXPECT_EQ(port_.ends[2]->got.at(0).attach().after(), 7u);
  EXPECT_EQ(port_.ends[2]->got.at(0).attach().key(), "key");
  port_.ends[2]->events.on_closed(fail(ErrorCode::NotFound, "the step does not run"));
  ASSERT_EQ(heard_.size(), 3u);
  EXPECT_EQ(heard_[1].error().node(), "n2");
  EXPECT_TRUE(heard_[2].has_done());
  EXPECT_EQ(heard_[2].seq(), 0u);
}

TEST_F(KeyedStepTest, ADaemonThatDiesIsNotCalledAgain) {
  begin(keyed(6));
  port_.ends[0]->events.on_closed({});
  run_later();
  EXPECT_EQ(port_.ends.size(), 2u);
  ASSERT_EQ(heard_.size(), 3u);
  EXPECT_EQ(heard_[1].error().node(), "n1");
  EXPECT_TRUE(heard_[2].has_done());
}

TEST_F(KeyedStepTest, TheNextManagerTakesItUp) {
  auto start = keyed(6);
  begin(start);
  session_.reset();
  context_.steps.clear();  // as a killed agent: nobody is told
  port_.ends.clear();
  StepContext next(agent_, clock_, port_, notes_, "n1");
  next.verify = context_.verify;
  next.call_after = context_.call_after;
  later_.clear();
  recover_steps(next);
  ASSERT_EQ(port_.ends.size(), 2u);
  EXPECT_EQ(port_.ends[0]->where, "again step 0 key");
  EXPECT_EQ(port_.ends[1]->where, "n2:2");
  EXPECT_TRUE(port_.ends[1]->got.at(0).has_attach());
  ASSERT_NE(next.find(JobId{7}, 0), nullptr);
  EXPECT_EQ(next.find(JobId{7}, 0)->info().tasks(), 6u);

  // Another one waits for its place, and gets the next number.
  std::vector<v1::StepOutput> other;
  StepSession second(next, {.output = [&](v1::StepOutput output) { other.push_back(std::move(output)); },
                            .finished = [](const Status&) {}});
  v1::StepInput input;
  *input.mutable_start() = start_of(6);
  second.input(input, [] {});
  ASSERT_EQ(other.size(), 1u);
  EXPECT_TRUE(other[0].has_waiting());

  StepSession again(next, {.output = [this](v1::StepOutput output) { heard_.push_back(std::move(output)); },
                           .finished = [this](Status status) { finished_ = std::move(status); }});
  heard_.clear();
  start.mutable_resume()->set_granted(true);
  *input.mutable_start() = start;
  again.input(input, [] {});
  EXPECT_EQ(heard_.at(0).granted().step(), 0u);
  port_.ends[0]->say(of_part(done(), 0, 1));
  port_.ends[1]->say(of_part(done(), 1, 1));
  for (const std::uint32_t part : {0u, 1u}) {
    v1::StepInput ack;
    ack.mutable_ack()->set_part(part);
    ack.mutable_ack()->set_seq(1);
    again.input(ack, [] {});
  }
  EXPECT_TRUE(finished_ && *finished_);
  ASSERT_EQ(port_.ends.size(), 4u) << "the one that waited";
  EXPECT_EQ(port_.ends[2]->got.at(0).start().step(), 1u);
}

TEST_F(KeyedStepTest, APartWhoseAgentDiedBeforeItStartedIsStarted) {
  begin(keyed(6));
  port_.ends[1]->events.on_closed(fail(ErrorCode::Unreachable, "gone"));
  run_later();
  port_.ends[2]->events.on_closed(fail(ErrorCode::NotFound, "no such step"));
  ASSERT_EQ(port_.ends.size(), 4u);
  EXPECT_EQ(port_.ends[3]->where, "n2:2");
  EXPECT_EQ(port_.ends[3]->got.at(0).start().first_rank(), 3u);
  EXPECT_EQ(heard_.size(), 1u) << "srun need not know";
  // One that has spoken was started, and is not a second time.
  port_.ends[3]->say(of_part(exit_of(4, 0), 1, 1));
  port_.ends[3]->events.on_closed(fail(ErrorCode::NotFound, "no such step"));
  EXPECT_EQ(port_.ends.size(), 4u);
  EXPECT_TRUE(heard_.back().has_done());
}

TEST_F(KeyedStepTest, TheNextManagerStartsWhatItsPredecessorDidNot) {
  auto start = keyed(6);
  begin(start);
  session_.reset();
  context_.steps.clear();
  port_.ends.clear();
  StepContext next(agent_, clock_, port_, notes_, "n1");
  next.verify = context_.verify;
  next.call_after = context_.call_after;
  later_.clear();
  recover_steps(next);
  port_.ends.at(0)->events.on_closed(fail(ErrorCode::NotFound, "no such step"));
  EXPECT_EQ(port_.ends.size(), 2u) << "what to start only srun knows";
  StepSession again(next, {.output = [this](v1::StepOutput output) { heard_.push_back(std::move(output)); },
                           .finished = [this](Status status) { finished_ = std::move(status); }});
  start.mutable_resume();
  v1::StepInput input;
  *input.mutable_start() = start;
  again.input(input, [] {});
  ASSERT_EQ(port_.ends.size(), 3u);
  EXPECT_EQ(port_.ends[2]->where, "local step 0");
  const auto& sent = port_.ends[2]->got.at(0).start();
  EXPECT_EQ(sent.argv(0), "true");
  EXPECT_EQ(sent.nodes_size(), 2);
  EXPECT_EQ(sent.tasks_per_node(0), 3u);
  EXPECT_FALSE(sent.has_resume());
  port_.ends.at(1)->events.on_closed(fail(ErrorCode::NotFound, "no such step"));
  ASSERT_EQ(port_.ends.size(), 4u) << "also what turns out later not to be there";
  EXPECT_EQ(port_.ends[3]->where, "n2:2");
}

TEST_F(KeyedStepTest, WhatWasNeverStartedKeepsNoPlaceWhenSrunIsGone) {
  begin(keyed(6));
  session_.reset();
  context_.steps.clear();
  port_.ends.clear();
  StepContext next(agent_, clock_, port_, notes_, "n1");
  next.verify = context_.verify;
  next.call_after = context_.call_after;
  later_.clear();
  recover_steps(next);
  for (const auto& end : port_.ends) end->events.on_closed(fail(ErrorCode::NotFound, "no such step"));
  run_later();
  run_later();
  EXPECT_TRUE(next.steps.empty());
}

TEST_F(KeyedStepTest, AStepThatIsOverIsNotTakenUp) {
  auto start = keyed(6);
  begin(start);
  for (std::uint32_t part = 0; part < 2; ++part) port_.ends[part]->say(of_part(done(), part, 1));
  acknowledge(0, 1);
  acknowledge(1, 1);
  session_.reset();
  context_.steps.clear();
  port_.ends.clear();
  StepContext next(agent_, clock_, port_, notes_, "n1");
  next.call_after = context_.call_after;
  recover_steps(next);
  EXPECT_TRUE(port_.ends.empty() && next.steps.empty());
}

TEST_F(KeyedStepTest, ANodeThatIsLostEndsTheStepOrOnlyItsPart) {
  ticket_.expires = Time{} + seconds(600);
  const auto kept = [&] { return context_.tickets.give(agent_, JobId{7}, Uid{1000}, Time{}).has_value(); };
  for (const bool no_kill : {false, true}) {
    context_.steps.clear();
    context_.lost.clear();
    open();
    auto start = keyed(6);
    start.set_key(no_kill ? "a" : "b");
    start.set_no_kill(no_kill);
    begin(start);
    ASSERT_EQ(port_.ends.size(), 2u);
    EXPECT_TRUE(kept());
    const auto ends = port_.ends;
    heard_.clear();
    context_.nodes_lost({JobId{7}, Epoch{1}}, {"n2"});
    ASSERT_EQ(heard_.size(), 2u);
    EXPECT_EQ(heard_[0].error().text(), "Node failure on n2");
    EXPECT_TRUE(heard_[1].has_done());
    EXPECT_FALSE(ends[1]->open);
    EXPECT_EQ(ends[0]->got.back().has_signal(), !no_kill);
    run_later();
    EXPECT_EQ(port_.ends.size(), 2u) << "nobody calls there again";
    ends[0]->say(of_part(done(), 0, 1));
    acknowledge(0, 1);
    EXPECT_TRUE(finished_ && *finished_);
    run_later();

    // What comes next does without it.
    open();
    auto next = start_of(4);
    begin(next);
    ASSERT_EQ(port_.ends.size(), 1u);
    EXPECT_FALSE(kept()) << "it would be given out with all nodes";
    open();
    next.add_nodes("n2");
    begin(next);
    ASSERT_TRUE(finished_ && !*finished_);
    EXPECT_EQ(finished_->error().code, ErrorCode::InvalidNode);
  }
}

}  // namespace
}  // namespace spur::agent
