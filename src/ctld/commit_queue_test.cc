// SPDX-License-Identifier: Apache-2.0
#include "ctld/commit_queue.h"

#include <gtest/gtest.h>

#include "ctld/test_doors.h"
#include "state/test_world.h"
#include "wire/command_codec.h"

namespace spur::ctld {
namespace {

class CommitQueueTest : public testing::Test {
 protected:
  CommitQueueTest() {
    push(state::SetConfig{}, "config");
    queue_.pump();
    journal_.complete_all();
    story_.clear();
  }
  void push(state::Command command, const std::string& name) {
    queue_.push(std::move(command), [this, name](const state::Outcome& outcome) {
      story_.push_back((outcome.status ? "reply " : "refuse ") + name);
    });
  }
  static state::SubmitJob submit(std::size_t script_bytes = 0) {
    model::JobSpec spec = state::spec();
    if (script_bytes) spec.script = std::make_shared<const std::string>(script_bytes, 'x');
    return {std::make_shared<const model::JobSpec>(std::move(spec)), {}};
  }
  std::size_t commands_in(const std::string& entry) const { return wire::decode_batch(entry)->commands.size(); }

  TestClock clock_;
  TestJournal journal_;
  std::unique_ptr<state::Cluster> cluster_ = std::make_unique<state::Cluster>();
  std::vector<std::string> story_;
  CommitQueue queue_{clock_,
                     journal_,
                     cluster_,
                     {.post = [](std::function<void()> f) { f(); },
                      .publish = [this] { story_.push_back("publish " + std::to_string(cluster_->index())); },
                      .applied = [this](const auto&) { story_.push_back("effects"); },
                      .fatal = [this](const Error& error) { story_.push_back("fatal " + error.message); },
                      .log = [this](const std::string& line) { log_.push_back(line); }}};
  std::vector<std::string> log_;
};

using Story = std::vector<std::string>;

TEST_F(CommitQueueTest, DurableThenAppliedThenPublishedThenAnswered) {
  push(submit(), "a");
  EXPECT_TRUE(journal_.open.empty()) << "only pump() writes";
  queue_.pump();
  ASSERT_EQ(journal_.open.size(), 1u);
  EXPECT_EQ(journal_.open[0].index, 2u);
  EXPECT_TRUE(story_.empty()) << "nothing before it is durable";
  EXPECT_EQ(cluster_->index(), 1u);
  EXPECT_EQ(cluster_->view().jobs.size(), 0u);
  EXPECT_FALSE(queue_.idle());
  journal_.complete();
  EXPECT_EQ(story_, (Story{"publish 2", "reply a", "effects"}));
  EXPECT_EQ(cluster_->view().jobs.size(), 1u);
  EXPECT_TRUE(queue_.idle());
}

TEST_F(CommitQueueTest, WhatComesMeanwhileSharesTheNextWrite) {
  push(submit(), "a");
  queue_.pump();
  push(submit(), "b");
  push(state::NodeLost{"nowhere"}, "c");
  push(submit(), "d");
  queue_.pump();
  EXPECT_EQ(journal_.open.size(), 1u) << "one batch at a time";
  EXPECT_EQ(queue_.waiting(), 3u);
  journal_.complete();
  ASSERT_EQ(journal_.open.size(), 1u);
  EXPECT_EQ(commands_in(journal_.open[0].entry), 3u);
  story_.clear();
  journal_.complete();
  EXPECT_EQ(story_, (Story{"publish 3", "reply b", "refuse c", "reply d", "effects"})) << "each its own outcome";
}

TEST_F(CommitQueueTest, EventsAtHandShareOneWrite) {
  queue_.gather();
  push(submit(), "a");
  queue_.pump();
  push(submit(), "b");
  queue_.pump();
  EXPECT_TRUE(journal_.open.empty()) << "there may be more";
  queue_.gathered();
  ASSERT_EQ(journal_.open.size(), 1u);
  EXPECT_EQ(commands_in(journal_.open[0].entry), 2u);
  journal_.complete();
  EXPECT_EQ(story_, (Story{"publish 2", "reply a", "reply b", "effects"}));
}

TEST_F(CommitQueueTest, ReplayGivesTheSameState) {
  for (int i = 0; i < 5; ++i) {
    push(submit(), "");
    push(state::NodeLost{"nowhere"}, "");  // a refused command changes nothing on replay either
    queue_.pump();
    journal_.complete_all();
    clock_.pass(seconds(1));
  }
  state::Cluster replayed;
  for (const auto& entry : journal_.durable)
    replayed.apply(replayed.index() + 1, *wire::decode_batch(entry), nullptr);
  EXPECT_EQ(replayed.state_hash(), cluster_->state_hash());
}

TEST_F(CommitQueueTest, TimeNeverGoesBack) {
  push(submit(), "a");
  queue_.pump();
  journal_.complete();
  const Time before = cluster_->view().as_of;
  clock_.wall -= std::chrono::hours(2);
  push(submit(), "b");
  queue_.pump();
  EXPECT_EQ(wire::decode_batch(journal_.open[0].entry)->at, before);
  clock_.wall += std::chrono::hours(3);
  journal_.complete();
  push(submit(), "c");
  queue_.pump();
  EXPECT_EQ(wire::decode_batch(journal_.open[0].entry)->at, before + std::chrono::hours(1));
}

TEST_F(CommitQueueTest, BatchesAreBounded) {
  for (int i = 0; i < 2001; ++i) push(submit(), "");
  queue_.pump();
  EXPECT_EQ(commands_in(journal_.open[0].entry), 2000u);
  journal_.complete();
  EXPECT_EQ(commands_in(journal_.open[0].entry), 1u);
  journal_.complete();
  struct Row {
    std::size_t mib, commands;
  };
  for (const Row& row : {Row{3, 2}, Row{4, 2}, Row{5, 1}, Row{20, 1}}) {  // one that is too large goes alone
    for (int i = 0; i < 4; ++i) push(submit(row.mib << 20), "");
    queue_.pump();
    EXPECT_EQ(commands_in(journal_.open[0].entry), row.commands) << row.mib;
    journal_.complete_all();
  }
  EXPECT_EQ(cluster_->view().jobs.size(), 2001u + 16u);
}

TEST_F(CommitQueueTest, AFailedJournalAnswersNobody) {
  push(submit(), "a");
  queue_.pump();
  push(submit(), "b");
  journal_.complete(fail(ErrorCode::Internal, "no sync"));
  EXPECT_EQ(story_, (Story{"fatal no sync"}));
  queue_.pump();
  EXPECT_TRUE(journal_.open.empty()) << "nothing more is written";
  EXPECT_EQ(cluster_->view().jobs.size(), 0u);
}

TEST_F(CommitQueueTest, AFullDiskRefusesRequestsAndKeepsFacts) {
  const auto request = [&](const std::string& name) {
    queue_.push(
        submit(),
        [this, name](const state::Outcome& outcome) {
          story_.push_back((outcome.status ? "reply " : "refuse ") + name);
        },
        CommitQueue::IfFull::Refuse);
  };
  request("a");
  push(submit(), "fact");
  queue_.pump();
  request("b");
  journal_.complete(fail(ErrorCode::OutOfSpace, "disk full"));
  EXPECT_EQ(story_, (Story{"refuse a", "refuse b"}));
  EXPECT_EQ(log_.size(), 1u);
  queue_.pump();
  EXPECT_TRUE(journal_.open.empty()) << "not at once again";
  clock_.mono = queue_.next_try();
  request("c");
  queue_.pump();
  EXPECT_EQ(commands_in(journal_.open[0].entry), 1u) << "a request does not keep out what would fit without it";
  journal_.complete(fail(ErrorCode::OutOfSpace, "disk full"));
  EXPECT_EQ(story_, (Story{"refuse a", "refuse b", "refuse c"}));
  clock_.mono = queue_.next_try();
  queue_.pump();
  journal_.complete();
  EXPECT_EQ(story_, (Story{"refuse a", "refuse b", "refuse c", "publish 2", "reply fact", "effects"}));
  EXPECT_EQ(log_.size(), 2u) << "said once when it began, once when it was over";
  EXPECT_EQ(queue_.next_try(), Duration::max());
  EXPECT_EQ(cluster_->view().jobs.size(), 1u);
}

}  // namespace
}  // namespace spur::ctld
