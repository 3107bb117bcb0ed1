// SPDX-License-Identifier: Apache-2.0
// A controller over doors that the test works by hand, with its history: whatever was seen at a moment is what comes
// back for that moment, through crashes, full disks and gaps; and every event of a job is told with who caused it.
#include "ctld/history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <random>

#include "ctld/test_doors.h"
#include "ctld/test_history.h"
#include "sched/engine.h"
#include "spur/v1/types.pb.h"
#include "state/test_world.h"
#include "wire/job_codec.h"

namespace spur::ctld {
namespace {

model::Caller history_caller(model::Role role, std::uint32_t uid) {
  model::Caller caller;
  caller.role = role;
  caller.uid = Uid{uid};
  return caller;
}
const model::Caller kHistoryAdmin = history_caller(model::Role::Admin, 0), kHistoryUser = history_caller(model::Role::User, 1000);

class HistoryTest : public testing::Test {
 protected:
  HistoryTest() { start(); }
  ~HistoryTest() override { stop(); }

  void stop() {
    if (history_) history_->stop();
    controller_.reset();
    history_.reset();
  }
  void start() {
    history_ = std::make_unique<History>(
        History::Doors{.store = store_,
                       .clock = clock_,
                       .log = [this](const std::string& line) { said_ += line + "\n"; },
                       .image_bytes = image_bytes_});
    controller_ = std::make_unique<Controller>(Controller::Doors{
        .clock = clock_,
        .journal = journal_,
        .agents = agents_,
        .post = [](std::function<void()> f) { f(); },
        .in_background = [](std::function<void()> f) { f(); },
        .publish = [](const std::shared_ptr<const Picture>&) {},
        .request_plan = [this](std::shared_ptr<const Picture> picture, Time now,
                               PlanKind kind) { plan_ = {std::move(picture), now, kind}; },
        .fatal = [](const Error& error) { FAIL() << error.message; },
        .log = [](const std::string&) {},
        .history = history_.get()});
    model::ClusterConfig config;
    for (const char* name : {"n1", "n2"})
      config.nodes.push_back(state::node_config([&](auto& c) { c.name = name, c.cpus = 4, c.memory_mib = 1000; }));
    config.partitions.push_back(
        state::partition_config([](auto& c) { c.name = "main", c.is_default = true, c.nodes = "ALL"; }));
    ASSERT_TRUE(controller_->start(config, [](const Status& status) { ASSERT_TRUE(status); }));
    journal_.complete_all();
    for (const char* name : {"n1", "n2"}) hello(name);
    settle();
  }
  void hello(const std::string& name) {
    model::AgentHello message;
    message.node = name;
    message.found.cpus = 4;
    message.found.memory_mib = 1000;
    controller_->on_agent_connected(name);
    controller_->on_agent_message(name, message);
  }
  void done(const std::string& node, model::JobRun run, model::ExitStatus exit) {
    model::AgentJobDone message;
    message.run = run;
    message.exit = exit;
    message.is_batch_host = true;
    controller_->on_agent_message(node, message);
  }
  // What is durable of the journal is there, `lost` entries at the end of the history are not.
  void crash(std::size_t lost) {
    flush();
    stop();
    journal_.open.clear();
    journal_.recovery = {};
    journal_.recovery.entries = journal_.durable;
    store_.lose(lost);
    agents_.sent.clear();
    plan_ = {};
    engine_ = std::make_unique<sched::Engine>();
    clock_.pass(seconds(5));
    start();
  }
  void settle() {
    for (int i = 0; i < 20 && (!journal_.open.empty() || plan_.picture); ++i) step();
  }
  void step() {
    journal_.complete_all();
    if (auto [picture, now, kind] = std::exchange(plan_, {}); picture) {
      engine_->see(picture->view);
      controller_->plan_done(kind == PlanKind::Full ? engine_->plan(now) : engine_->respond(now));
    }
    clock_.pass(milliseconds(200));
    controller_->on_timer();
  }
  JobId submit(std::uint32_t minutes = 60, std::optional<model::ArrayRequest> array = {}) {
    model::JobSpec spec = state::spec();
    spec.uid = kHistoryUser.uid;
    spec.name = "it";
    spec.script = std::make_shared<const std::string>("#!/bin/sh\n");
    spec.work_dir = "/tmp";
    spec.time_limit = TimeLimit::of_minutes(minutes);
    spec.array = std::move(array);
    JobId out;
    controller_->submit(kHistoryUser, std::make_shared<const model::JobSpec>(std::move(spec)), "",
                        [&](Result<SubmitReply> reply) {
                          if (reply) out = reply->job;
                        });
    journal_.complete_all();
    clock_.pass(milliseconds(10));
    return out;
  }
  void flush() {
    std::promise<void> done;
    history_->when_recorded([&] { done.set_value(); });
    done.get_future().wait();
  }
  Result<std::shared_ptr<const Picture>> at(Time then) {
    std::promise<Result<std::shared_ptr<const Picture>>> done;
    history_->at(then, [&](auto picture) { done.set_value(std::move(picture)); });
    return done.get_future().get();
  }
  History::JobEvents events(state::JobTarget target) {
    std::promise<Result<History::JobEvents>> done;
    history_->job_events(std::move(target), [&](auto found) { done.set_value(std::move(found)); });
    return done.get_future().get().value();
  }
  std::string story(JobId job) {
    std::string out;
    for (const auto& event : events({job, {}}).events)
      out += fmt::format("{}: {} ({})\n", event.by ? std::to_string(event.by->value) : event.source, event.what,
                         event.details);
    return out;
  }
  const model::View& view() const { return controller_->cluster().view(); }
  Time now() const { return clock_.wall; }

  static std::string bytes_of(const model::Job& job) {
    v1::Job message;
    wire::to_proto(job, &message);
    return message.SerializeAsString();
  }
  static std::string difference(const model::View& a, const model::View& b) {
    std::string out;
    CowMap<model::JobPtr>::diff(a.jobs, b.jobs, [&](std::uint32_t id, const model::JobPtr* x, const model::JobPtr* y) {
      if (!x || !y || bytes_of(**x) != bytes_of(**y)) out += fmt::format("job {} ", id);
    });
    CowMap<model::NodePtr>::diff(a.nodes, b.nodes,
                                 [&](std::uint32_t id, const model::NodePtr* x, const model::NodePtr* y) {
                                   if (!x || !y || **x != **y) out += fmt::format("node {} ", id);
                                 });
    if (a.version != b.version) out += fmt::format("entry {} instead of {}", a.version, b.version);
    if (a.as_of != b.as_of || a.next_job_id != b.next_job_id || *a.config != *b.config ||
        *a.reservations != *b.reservations || *a.partitions != *b.partitions)
      out += " the rest";
    return out;
  }

  TestClock clock_;
  TestJournal journal_;
  TestAgents agents_;
  TestHistory store_;
  struct Question {
    std::shared_ptr<const Picture> picture;
    Time now;
    PlanKind kind = PlanKind::Full;
  };
  Question plan_;
  std::unique_ptr<sched::Engine> engine_ = std::make_unique<sched::Engine>();
  std::string said_;
  std::uint64_t image_bytes_ = 64u << 20;
  std::unique_ptr<History> history_;
  std::unique_ptr<Controller> controller_;
};

TEST_F(HistoryTest, AMomentComesBackAsItWas) {
  const Time begun = now();
  clock_.pass(seconds(1));
  const Time before = now();
  clock_.pass(seconds(1));
  const JobId job = submit();
  settle();
  const Time running = now();
  clock_.pass(seconds(1));
  controller_->cancel(kHistoryUser, {job, {}}, 0, false, false, [](const Status&) {});
  settle();
  EXPECT_EQ((*at(before))->view.jobs.size(), 0u);
  ASSERT_TRUE(at(running));
  EXPECT_EQ((*(*at(running))->view.jobs.find(job.value))->state, model::JobState::Running);
  EXPECT_EQ(at(begun - seconds(3600)).error().code, ErrorCode::NotFound);
  EXPECT_NE(at(begun - seconds(3600)).error().message.find("no history before"), std::string::npos);
  EXPECT_EQ(at(now() + hours(1)).error().code, ErrorCode::InvalidTime);
}

// A batch has its stamp before it is durable, and nobody sees it before that.
TEST_F(HistoryTest, WhatWasNotShownYetIsNotShown) {
  settle();
  controller_->submit(kHistoryUser, std::make_shared<const model::JobSpec>(state::spec()), "", [](const auto&) {});
  ASSERT_EQ(journal_.open.size(), 1u);
  clock_.pass(milliseconds(50));
  const Time in_flight = now();
  const auto seen = view();
  clock_.pass(milliseconds(50));
  journal_.complete_all();
  clock_.pass(milliseconds(50));
  const Time shown = now();
  const auto seen_then = view();
  settle();
  EXPECT_EQ(difference((*at(in_flight))->view, seen), "");
  EXPECT_EQ(difference((*at(shown))->view, seen_then), "");
  // Another controller, or this one after a crash, knows it from the journal.
  submit();
  settle();
  crash(1000);
  EXPECT_EQ(difference((*at(in_flight))->view, seen), "");
  EXPECT_EQ(difference((*at(shown))->view, seen_then), "");
}

TEST_F(HistoryTest, AFullDiskLeavesAGapThatIsSaid) {
  const JobId job = submit();
  settle();
  const Time good = now();
  clock_.pass(seconds(1));
  submit();
  settle();
  flush();
  store_.full = true;
  clock_.pass(seconds(1));
  submit();
  flush();
  EXPECT_NE(said_.find("no history is kept for now: no space"), std::string::npos);
  clock_.pass(seconds(1));
  const Time bad = now();
  EXPECT_EQ(at(bad).error().code, ErrorCode::NotFound);
  EXPECT_TRUE(at(good));
  store_.full = false;
  clock_.pass(seconds(40));
  submit();  // brings a new image
  settle();
  flush();
  clock_.pass(seconds(1));
  submit();
  settle();
  EXPECT_EQ(difference((*at(now()))->view, view()), "");
  const auto gap = at(bad);
  ASSERT_FALSE(gap);
  EXPECT_NE(gap.error().message.find("no history between"), std::string::npos) << gap.error().message;
  EXPECT_EQ((*(*at(good))->view.jobs.find(job.value))->state, model::JobState::Running);
}

// The journal's snapshot is of a peer: entries in between were never seen here.
TEST_F(HistoryTest, AMemberThatWasAwaySaysSo) {
  submit();
  settle();
  const Time good = now();
  clock_.pass(seconds(1));
  submit();
  settle();
  flush();
  const auto last = store_.held()->last;
  clock_.pass(seconds(10));
  history_->stop();
  History later({.store = store_, .clock = clock_, .log = [](const std::string&) {}});
  later.begin({last + 100, now(), "not looked at"}, std::nullopt);
  Past past(store_);
  EXPECT_TRUE(past.at(good));
  const auto between = past.at(now() - seconds(1));
  ASSERT_FALSE(between);
  EXPECT_NE(between.error().message.find("no history between"), std::string::npos) << between.error().message;
}

TEST_F(HistoryTest, AnotherJournalsHistoryIsNotMixedIn) {
  for (int i = 0; i < 5; ++i) submit();
  settle();
  flush();
  // The same length, other content.
  journal_.durable.resize(journal_.durable.size() - 2);
  crash(0);
  EXPECT_NE(said_.find("another journal"), std::string::npos);
  submit();
  settle();
  EXPECT_EQ(difference((*at(now()))->view, view()), "");
}

TEST_F(HistoryTest, TheJournalWaitsForTheHistory) {
  submit();
  settle();
  const int before = store_.syncs;
  flush();
  EXPECT_EQ(store_.syncs, before + 1);
  const std::lock_guard lock(store_.mutex);
  EXPECT_EQ(store_.entries.rbegin()->first, controller_->cluster().index());
}

TEST_F(HistoryTest, WhoDidWhat) {
  const JobId job = submit();
  settle();
  const auto* record = model::find_job(view(), job);
  ASSERT_TRUE(record && record->allocation);
  const std::string node = (*view().nodes.find(record->allocation->nodes[0].node.value))->name;
  const auto ignore = [](const Status&) {};
  controller_->suspend(kHistoryAdmin, {job, {}}, false, ignore);
  settle();
  controller_->suspend(kHistoryAdmin, {job, {}}, true, ignore);
  settle();
  state::UpdateJob update{.target = {job, {}}, .spec = nullptr, .time_limit = TimeLimit::of_minutes(30), .priority = {},
                          .array_max_running = {}};
  controller_->update_job(kHistoryUser, update, ignore);
  settle();
  controller_->requeue(kHistoryUser, {job, {}}, model::AfterCompleting::RequeueHold, ignore);
  settle();
  done(node, {job, Epoch{1}}, {0, 15});
  settle();
  controller_->release(kHistoryUser, {job, {}}, ignore);
  settle();
  controller_->cancel(kHistoryUser, {job, {}}, 0, false, false, ignore);
  settle();
  const std::string told = story(job);
  const std::string expected[] = {"1000: submitted (name it, ",
                                  "scheduler: started (on " + node + ")\n",
                                  "0: suspended (RUNNING -> SUSPENDED)\n",
                                  "0: resumed (SUSPENDED -> RUNNING)\n",
                                  "1000: updated (TimeLimit 60 -> 30)\n",
                                  "1000: requeued (and held",
                                  "node " + node + ": ended on a node (exit status 0:15",
                                  "1000: released (",
                                  "1000: cancelled ("};
  std::size_t from = 0;
  for (const std::string& line : expected) {
    const std::size_t found = told.find(line, from);
    EXPECT_NE(found, std::string::npos) << line << "not in order in\n" << told;
    if (found != std::string::npos) from = found;
  }
  EXPECT_TRUE(events({JobId{999}, {}}).records.empty());
}

TEST_F(HistoryTest, TasksOfArraysAreFound) {
  model::ArrayRequest array;
  array.tasks.insert_range(1, 3);
  const JobId job = submit(60, array);
  settle();
  IndexSet second;
  second.insert(2);
  const auto found = events({job, second});
  ASSERT_FALSE(found.events.empty());
  EXPECT_EQ(found.events.front().what, "submitted");
  EXPECT_TRUE(std::ranges::any_of(found.records, [](const auto& r) { return r.part == 2u; }));
  EXPECT_FALSE(std::ranges::any_of(found.records, [](const auto& r) { return r.part == 3u && r.job != r.group; }));
  EXPECT_GE(events({job, {}}).records.size(), 3u);
}

// ---- at random

struct Seen {
  Time at;
  model::View view;
};

class RandomPast : public HistoryTest, public testing::WithParamInterface<int> {
 protected:
  void act(std::mt19937_64& random) {
    const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    const auto ignore = [](const Status&) {};
    const state::JobTarget some{JobId{1 + below(view().next_job_id)}, {}};
    switch (below(14)) {
      case 0:
      case 1:
      case 2:
        submit(1 + below(3));
        break;
      case 3: {
        model::ArrayRequest array;
        array.tasks.insert_range(0, below(6));
        submit(1, array);
        break;
      }
      case 4:
        return controller_->cancel(kHistoryUser, some, 0, false, false, ignore);
      case 5:
        return controller_->hold(kHistoryUser, some, model::Hold::User, ignore);
      case 6:
        return controller_->release(kHistoryUser, some, ignore);
      case 7:
        return controller_->requeue(kHistoryAdmin, some, model::AfterCompleting::Requeue, ignore);
      case 8:
        return controller_->suspend(kHistoryAdmin, some, below(2) == 0, ignore);
      case 9: {
        state::UpdateNode update;
        update.nodes = {below(2) ? "n1" : "n2"};
        update.action = below(2) ? state::UpdateNode::Action::Drain : state::UpdateNode::Action::Resume;
        update.reason = "test";
        return controller_->update_node(kHistoryAdmin, update, ignore);
      }
      default: {  // whatever runs, ends on one of its nodes
        std::vector<std::pair<std::string, model::JobRun>> runs;
        view().active.for_each([&](std::uint32_t, const model::JobPtr& job) {
          for (const NodeIndex node : job->nodes_left)
            runs.emplace_back((*view().nodes.find(node.value))->name, model::JobRun{job->id, job->epoch});
        });
        if (runs.empty()) return;
        const auto& [node, run] = runs[below(runs.size())];
        return done(node, run, {static_cast<std::uint16_t>(below(2)), 0});
      }
    }
  }
};

TEST_P(RandomPast, EveryMomentComesBack) {
  std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()));
  image_bytes_ = 1 + random() % 60'000;
  stop();
  store_.clear().value();
  journal_.durable.clear();
  journal_.recovery = {};
  start();
  std::vector<Seen> seen;
  for (int i = 0; i < 400; ++i) {
    act(random);
    clock_.pass(Duration(1 + random() % 5000));
    if (random() % 3 == 0) seen.push_back({now(), view()});  // perhaps with a batch on its way
    clock_.pass(Duration(1 + random() % 5000));
    if (random() % 4 != 0) step();
    if (random() % 3 == 0) seen.push_back({now(), view()});
    clock_.pass(Duration(1 + random() % 100'000));
    if (random() % 120 == 0) {
      // When the last entry was shown, only what is lost could tell.
      const model::View last = view();
      std::erase_if(seen, [&](const Seen& s) { return s.view.version + 1 == last.version && s.at >= last.as_of; });
      crash(random() % 20);
    }
  }
  std::ranges::shuffle(seen, random);
  for (const Seen& moment : seen) {
    const auto past = at(moment.at);
    ASSERT_TRUE(past) << past.error().message;
    ASSERT_EQ(difference((*past)->view, moment.view), "") << to_micros(moment.at);
  }
}

int seeds() {
  const char* given = std::getenv("SPUR_SEEDS");
  return given ? std::atoi(given) : 12;
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomPast, testing::Range(1, 1 + seeds()));

}  // namespace
}  // namespace spur::ctld
