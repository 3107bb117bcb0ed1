// SPDX-License-Identifier: Apache-2.0
// The controller over doors that the test works by hand. What happens over time and under faults is the simulator's.
#include "ctld/controller.h"

#include <gtest/gtest.h>

#include "ctld/test_doors.h"
#include "sched/engine.h"
#include "state/test_world.h"

namespace spur::ctld {
namespace {

using model::Role;

model::Caller caller_of(Role role, std::uint32_t uid) {
  model::Caller caller;
  caller.role = role;
  caller.uid = Uid{uid};
  return caller;
}
const model::Caller kAdmin = caller_of(Role::Admin, 0), kUser = caller_of(Role::User, 1000),
                    kOther = caller_of(Role::User, 1001);

class ControllerTest : public testing::Test {
 protected:
  ControllerTest() { start(); }
  void start() {
    controller_ = std::make_unique<Controller>(Controller::Doors{
        .clock = clock_,
        .journal = journal_,
        .agents = agents_,
        .post = [](std::function<void()> f) { f(); },
        .in_background = [](std::function<void()> f) { f(); },
        .publish = [this](std::shared_ptr<const Picture> picture) { published_ = std::move(picture); },
        .request_plan = [this](std::shared_ptr<const Picture> picture, Time now,
                               PlanKind kind) { plan_ = {std::move(picture), now, kind}; },
        .fatal = [this](const Error& error) { fatal_ = error.message; },
        .log = [](const std::string&) {},
        .host = "ctl"});
    model::ClusterConfig config;
    config.max_node_count = 4;
    for (const char* name : {"n1", "n2"})
      config.nodes.push_back(state::node_config([&](auto& c) { c.name = name, c.cpus = 4, c.memory_mib = 1000; }));
    config.partitions.push_back(
        state::partition_config([](auto& c) { c.name = "main", c.is_default = true, c.nodes = "ALL"; }));
    bool ready = false;
    ASSERT_TRUE(controller_->start(config, [&](Status status) { ready = status.has_value(); }));
    journal_.complete_all();
    ASSERT_TRUE(ready);
    for (const char* name : {"n1", "n2"}) {
      model::AgentHello hello;
      hello.node = name;
      hello.found.cpus = 4;
      hello.found.memory_mib = 1000;
      controller_->on_agent_connected(name);
      controller_->on_agent_message(name, hello);
    }
    settle();
  }
  // Until nothing is left to write or to plan.
  void settle() {
    for (int i = 0; i < 100 && (!journal_.open.empty() || plan_.picture); ++i) {
      journal_.complete_all();
      if (auto [picture, now, kind] = std::exchange(plan_, {}); picture) {
        engine_.see(picture->view);
        controller_->plan_done(kind == PlanKind::Full ? engine_.plan(now) : engine_.respond(now));
      }
      clock_.pass(seconds(1));
      controller_->on_timer();
    }
  }
  // Submits and commits; what the reply was.
  Result<SubmitReply> submit(const model::Caller& caller, model::JobSpec spec, const std::string& token = {}) {
    Result<SubmitReply> out = fail(ErrorCode::Internal, "no reply");
    controller_->submit(caller, std::make_shared<const model::JobSpec>(std::move(spec)), token,
                        [&](Result<SubmitReply> reply) { out = std::move(reply); });
    journal_.complete_all();
    return out;
  }
  // The code that a request was answered with, after commit; Ok if it was done.
  template <class F>
  std::optional<ErrorCode> refusal(F&& ask) {
    std::optional<Status> out;
    ask([&](Status status) { out = std::move(status); });
    journal_.complete_all();
    if (!out) ADD_FAILURE() << "no reply";
    if (!out || *out) return std::nullopt;
    return out->error().code;
  }
  static model::JobSpec spec_of(std::uint32_t uid) {
    model::JobSpec spec = state::spec();
    spec.uid = Uid{uid};
    spec.script = std::make_shared<const std::string>("#!/bin/sh\n");
    spec.work_dir = "/tmp";
    spec.time_limit = TimeLimit::of_minutes(60);
    return spec;
  }
  const model::Job& job(JobId id) const { return *model::find_job(controller_->cluster().view(), id); }

  TestClock clock_;
  TestJournal journal_;
  TestAgents agents_;
  std::shared_ptr<const Picture> published_;
  struct Question {
    std::shared_ptr<const Picture> picture;
    Time now;
    PlanKind kind = PlanKind::Full;
  };
  Question plan_;
  sched::Engine engine_;
  std::string fatal_;
  std::unique_ptr<Controller> controller_;
};

TEST_F(ControllerTest, WhoHasHisAnswerSeesHisJob) {
  bool seen = false;
  controller_->submit(kUser, std::make_shared<const model::JobSpec>(spec_of(1000)), "t",
                      [&](const Result<SubmitReply>& reply) {
                        ASSERT_TRUE(reply);
                        seen = published_->view.jobs.contains(reply->job.value);
                      });
  EXPECT_FALSE(seen);
  ASSERT_EQ(journal_.open.size(), 1u) << "on its way to the disk, and not before anybody else";
  EXPECT_TRUE(published_->view.jobs.empty());
  journal_.complete();
  EXPECT_TRUE(seen);
}

// The quick test of the burst itself is submit_burst_test.cc.
TEST_F(ControllerTest, ABurstDelaysStartsWhereANodeIsOnThisHost) {
  const auto plans_of_a_burst = [&] {
    std::size_t plans = 0;
    for (std::size_t i = 0; i < 3 * SubmitBurst::kMany; ++i) {
      EXPECT_TRUE(submit(kUser, spec_of(1000)));
      if (std::exchange(plan_, {}).picture) {
        ++plans;
        controller_->plan_done({});
      }
      clock_.pass(milliseconds(2));
      controller_->on_timer();
    }
    return plans;
  };
  EXPECT_GT(plans_of_a_burst(), 2 * SubmitBurst::kMany) << "all nodes are elsewhere";
  settle();

  model::AgentHello hello;
  hello.node = "n2";
  hello.hostname = "ctl";
  hello.found.cpus = 4;
  hello.found.memory_mib = 1000;
  controller_->on_agent_message("n2", hello);
  settle();
  clock_.pass(seconds(10));
  EXPECT_LE(plans_of_a_burst(), SubmitBurst::kMany + 1);
  ASSERT_TRUE(submit(kUser, spec_of(1000)));
  clock_.pass(milliseconds(10));
  controller_->on_timer();
  EXPECT_FALSE(plan_.picture) << "it is not over";
  EXPECT_LE(controller_->next_timer(), clock_.monotonic() + SubmitBurst::kOverAfter);
  clock_.pass(SubmitBurst::kOverAfter);
  controller_->on_timer();
  EXPECT_TRUE(plan_.picture);
}

TEST_F(ControllerTest, WhoeverWaitsForAStartIsNotDelayedByABurst) {
  model::AgentHello hello;
  hello.node = "n2";
  hello.hostname = "ctl";
  hello.found.cpus = 4;
  hello.found.memory_mib = 1000;
  controller_->on_agent_message("n2", hello);
  settle();
  for (std::size_t i = 0; i < 2 * SubmitBurst::kMany; ++i) {
    ASSERT_TRUE(submit(kUser, spec_of(1000)));
    if (std::exchange(plan_, {}).picture) controller_->plan_done({});
    clock_.pass(milliseconds(2));
    controller_->on_timer();
  }
  EXPECT_FALSE(plan_.picture);
  auto interactive = spec_of(1000);
  interactive.kind = model::JobKind::Interactive;
  interactive.script = nullptr;
  ASSERT_TRUE(submit(kUser, interactive));
  clock_.pass(milliseconds(2));
  controller_->on_timer();
  EXPECT_TRUE(plan_.picture);
}

TEST_F(ControllerTest, SubmitRights) {
  struct Row {
    const model::Caller& caller;
    std::function<void(model::JobSpec&)> change;
    std::optional<ErrorCode> refused;
  };
  for (const Row& row : {Row{kUser, [](auto&) {}, {}}, Row{kAdmin, [](auto&) {}, {}},
                         Row{kOther, [](auto&) {}, ErrorCode::InvalidUser},
                         Row{kUser, [](auto& s) { s.nice = -1; }, ErrorCode::InvalidNice},
                         Row{kAdmin, [](auto& s) { s.nice = -1; }, {}},
                         Row{kUser, [](auto& s) { s.priority = 9; }, ErrorCode::PermissionDenied},
                         Row{kAdmin, [](auto& s) { s.priority = 9; }, {}},
                         Row{kUser, [](auto& s) { s.partitions = {"none"}; }, ErrorCode::InvalidPartition}}) {
    model::JobSpec spec = spec_of(1000);
    row.change(spec);
    const auto reply = submit(row.caller, spec);
    EXPECT_EQ(reply ? std::nullopt : std::optional(reply.error().code), row.refused);
  }
}

TEST_F(ControllerTest, OneTokenOneJob) {
  const auto first = submit(kUser, spec_of(1000), "token"), again = submit(kUser, spec_of(1000), "token");
  EXPECT_EQ(again->job, first->job);
  EXPECT_TRUE(again->repeated);
  EXPECT_FALSE(first->repeated);
  EXPECT_NE(submit(kOther, spec_of(1001), "token")->job, first->job) << "another user's token is another token";
}

TEST_F(ControllerTest, NobodyTouchesAnothersJob) {
  const auto id = submit(kUser, spec_of(1000))->job;
  const state::JobTarget target{id, {}};
  using Ask = std::function<void(const model::Caller&, Controller::DoneReply)>;
  auto& c = *controller_;
  const std::pair<const char*, Ask> requests[] = {
      {"signal", [&](auto& who, auto reply) { c.cancel(who, target, 10, false, false, reply); }},
      {"hold", [&](auto& who, auto reply) { c.hold(who, target, model::Hold::User, reply); }},
      {"release", [&](auto& who, auto reply) { c.release(who, target, reply); }},
      {"requeue", [&](auto& who, auto reply) { c.requeue(who, target, model::AfterCompleting::Requeue, reply); }},
      {"suspend", [&](auto& who, auto reply) { c.suspend(who, target, false, reply); }},
      {"update",
       [&](auto& who, auto reply) {
         state::UpdateJob update;
         update.target = target;
         update.time_limit = TimeLimit::of_minutes(1);
         c.update_job(who, update, reply);
       }},
      {"complete", [&](auto& who, auto reply) { c.complete_allocation(who, id, {}, reply); }},
      {"cancel", [&](auto& who, auto reply) { c.cancel(who, target, 0, false, false, reply); }},
  };
  const auto before = controller_->cluster().index();
  for (const auto& [what, ask] : requests) {
    const auto code = refusal([&](auto reply) { ask(kOther, reply); });
    EXPECT_TRUE(code == ErrorCode::PermissionDenied || code == ErrorCode::InvalidUser) << what;
  }
  EXPECT_EQ(controller_->cluster().index(), before) << "nothing of it reached the journal";
  EXPECT_EQ(refusal([&](auto reply) { requests[7].second(kUser, reply); }), std::nullopt);
  EXPECT_EQ(job(id).state, model::JobState::Cancelled);
}

TEST_F(ControllerTest, OnlyAdministratorsChangeTheCluster) {
  state::UpdateNode drain;
  drain.nodes = {"n1"};
  drain.action = state::UpdateNode::Action::Drain;
  drain.reason = "test";
  EXPECT_EQ(refusal([&](auto reply) { controller_->update_node(kUser, drain, reply); }), ErrorCode::InvalidUser);
  EXPECT_EQ(refusal([&](auto reply) { controller_->reconfigure(kUser, {}, reply); }), ErrorCode::PermissionDenied);
  EXPECT_EQ(refusal([&](auto reply) { controller_->update_node(kAdmin, drain, reply); }), std::nullopt);
}

TEST_F(ControllerTest, ALimitIsNotLengthenedThroughTheArray) {
  model::JobSpec spec = spec_of(1000);
  spec.array.emplace();
  spec.array->tasks.insert_range(0, 1);
  spec.array->max_running = 1;  // one runs, the rest waits: the record that is looked at first
  const auto id = submit(kUser, spec)->job;
  settle();
  ASSERT_EQ(job(id).state, model::JobState::Pending);
  state::UpdateJob longer;
  longer.target = {id, {}};
  longer.time_limit = TimeLimit::of_minutes(600);
  EXPECT_EQ(refusal([&](auto reply) { controller_->update_job(kUser, longer, reply); }), ErrorCode::PermissionDenied);
  EXPECT_EQ(refusal([&](auto reply) { controller_->update_job(kAdmin, longer, reply); }), std::nullopt);
}

TEST_F(ControllerTest, WaitersAreAnsweredWhenItIsSo) {
  std::string story;
  controller_->wait_job(JobId{1}, Controller::Until::Final,
                        [&](const auto& reply) { story += reply ? "?" : "none "; });
  const auto id = submit(kUser, spec_of(1000))->job;
  controller_->wait_job(id, Controller::Until::Started, [&](const auto&) { story += "started "; });
  controller_->wait_job(id, Controller::Until::Final, [&](const auto&) { story += "final "; });
  EXPECT_EQ(story, "none ");
  settle();
  ASSERT_EQ(job(id).state, model::JobState::Running);
  EXPECT_EQ(story, "none started ");
  model::AgentJobDone done;
  done.run = {id, job(id).epoch};
  done.is_batch_host = true;
  controller_->on_agent_message(job(id).batch_host, done);
  EXPECT_EQ(story, "none started ") << "not before it is durable";
  settle();
  EXPECT_EQ(story, "none started final ");
  controller_->wait_job(id, Controller::Until::Final, [&](const auto&) { story += "at once"; });
  EXPECT_EQ(story, "none started final at once");
}

TEST_F(ControllerTest, NoticesReachWhoHoldsAJob) {
  model::JobSpec spec = spec_of(1000);
  const auto batch = submit(kUser, spec)->job;
  const auto notify = [&](const model::Caller& who, JobId id, const char* text) {
    return refusal([&](auto reply) { controller_->notify_job(who, id, text, reply); });
  };
  EXPECT_EQ(notify(kUser, JobId{99}, "x"), ErrorCode::InvalidJobId);
  EXPECT_EQ(notify(kUser, batch, "x"), ErrorCode::RequestDisabled) << "it has no output yet";
  settle();
  agents_.sent.clear();
  EXPECT_EQ(notify(kOther, batch, "x"), ErrorCode::PermissionDenied);
  EXPECT_EQ(notify(kAdmin, batch, "to the script"), std::nullopt);
  auto sent = agents_.take<model::ControllerNotify>();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, job(batch).batch_host);
  EXPECT_EQ(sent[0].second.text, "to the script");

  spec.kind = model::JobKind::Interactive;
  const auto held = submit(kUser, spec)->job;
  std::vector<std::string> heard;
  std::uint64_t last = 0;
  const auto attend = [&](Controller::Until until) {
    controller_->attend_job(held, until, last, [&](Result<Controller::Heard> reply) {
      ASSERT_TRUE(reply);
      heard.emplace_back(reply->waiting ? "waiting" : "there");
      for (const auto& notice : reply->notices) heard.push_back(notice.text), last = notice.number;
    });
  };
  attend(Controller::Until::Started);
  EXPECT_EQ(notify(kUser, held, "while it waits"), std::nullopt);
  EXPECT_EQ(heard, (std::vector<std::string>{"waiting", "while it waits"}));
  settle();
  ASSERT_EQ(job(held).state, model::JobState::Running);
  agents_.sent.clear();
  EXPECT_EQ(notify(kUser, held, "to srun"), std::nullopt);
  EXPECT_EQ(agents_.take<model::ControllerNotify>().size(), 1u) << "nobody attends it";
  heard.clear();
  attend(Controller::Until::Final);
  EXPECT_EQ(notify(kUser, held, "one"), std::nullopt);
  EXPECT_EQ(notify(kUser, held, "two"), std::nullopt) << "while nobody asks";
  EXPECT_EQ(agents_.take<model::ControllerNotify>().size(), 0u);
  attend(Controller::Until::Final);
  EXPECT_EQ(heard, (std::vector<std::string>{"waiting", "one", "waiting", "two"}));
  heard.clear();
  attend(Controller::Until::Final);
  const auto cancel = [&](auto reply) { controller_->cancel(kUser, {held, {}}, 0, false, false, reply); };
  EXPECT_EQ(refusal(cancel), std::nullopt);
  model::AgentJobDone done;
  done.run = {held, job(held).epoch};
  done.is_batch_host = true;
  controller_->on_agent_message(job(held).batch_host, done);
  settle();
  EXPECT_EQ(heard, std::vector<std::string>{"there"});
  EXPECT_EQ(notify(kUser, held, "late"), ErrorCode::JobAlreadyDone);
}

TEST_F(ControllerTest, TimeLimitEndsTheJob) {
  model::JobSpec spec = spec_of(1000);
  spec.time_limit = TimeLimit::of_minutes(1);
  const auto id = submit(kUser, spec)->job;
  settle();
  ASSERT_EQ(job(id).state, model::JobState::Running);
  agents_.sent.clear();
  clock_.pass(std::chrono::minutes(2));
  controller_->on_timer();
  journal_.complete_all();
  EXPECT_EQ(job(id).state, model::JobState::Timeout);
  EXPECT_TRUE(job(id).flags & model::kCompleting);
  const auto ends = agents_.take<model::ControllerEnd>();
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].second.why, model::JobState::Timeout);
}

TEST_F(ControllerTest, ARestartKnowsWhatWasAcknowledged) {
  const auto id = submit(kUser, spec_of(1000), "token")->job;
  settle();
  controller_.reset();
  journal_.open.clear();
  journal_.recovery = {.snapshot_index = 0, .snapshot = {}, .entries = journal_.durable, .notice = {}};
  start();
  ASSERT_TRUE(controller_->cluster().view().jobs.contains(id.value));
  EXPECT_EQ(submit(kUser, spec_of(1000), "token")->job, id) << "the token still holds";
}

TEST_F(ControllerTest, NodesThatAreMadeOutliveARestart) {
  const auto row = [](const char* name) {
    return state::node_config([&](auto& c) { c.name = name, c.cpus = 4; });
  };
  const auto there = [&](const char* name) { return model::find_node(controller_->cluster().view(), name) != nullptr; };
  EXPECT_EQ(refusal([&](auto reply) { controller_->create_nodes(kUser, {row("d1")}, reply); }), ErrorCode::InvalidUser);
  EXPECT_EQ(refusal([&](auto reply) { controller_->create_nodes(kAdmin, {row("d1")}, reply); }), std::nullopt);
  std::string joined;
  const auto join = [&](const char* name) {
    joined = "no answer";
    controller_->join_node(row(name), [&](Result<std::string> given) {
      joined = given ? *given : std::string(name_of(given.error().code));
    });
  };
  join("d2");
  EXPECT_EQ(joined, "no answer") << "not before it is durable";
  settle();
  EXPECT_EQ(joined, "d2");
  join("d2");
  EXPECT_EQ(joined, "d2") << "nothing is new: at once";
  join("d3");
  settle();
  EXPECT_EQ(joined, "InvalidNodeCount");
  join("n1");
  settle();
  EXPECT_EQ(joined, "AlreadyExists");
  controller_.reset();
  journal_.open.clear();
  journal_.recovery = {.snapshot_index = 0, .snapshot = {}, .entries = journal_.durable, .notice = {}};
  start();
  EXPECT_TRUE(there("d1") && there("d2") && !there("d3"));
  EXPECT_EQ(refusal([&](auto reply) { controller_->delete_nodes(kUser, {"d1"}, reply); }), ErrorCode::InvalidUser);
  EXPECT_EQ(refusal([&](auto reply) { controller_->delete_nodes(kAdmin, {"d1"}, reply); }), std::nullopt);
  EXPECT_FALSE(there("d1"));
}

TEST_F(ControllerTest, AFailedJournalIsTheEnd) {
  bool answered = false;
  controller_->submit(kUser, std::make_shared<const model::JobSpec>(spec_of(1000)), {},
                      [&](auto&&) { answered = true; });
  journal_.complete(fail(ErrorCode::Internal, "disk full"));
  EXPECT_EQ(fatal_, "disk full");
  EXPECT_FALSE(answered);
}

TEST_F(ControllerTest, ReservationsBeginAndEndByTheClock) {
  model::ReservationChange change;
  change.name = "r";
  change.start = clock_.now() + seconds(50);
  change.duration = seconds(100);
  change.node_counts = {1};
  change.users = model::NamesEdit{model::EditKind::Set, {"me"}};
  const KnownIds ids{{"me", {Uid{1000}}}};
  std::optional<Result<std::string>> name;
  const auto create = [&](const model::Caller& caller) {
    name.reset();
    controller_->create_reservation(caller, change, ids, [&](Result<std::string> reply) { name = std::move(reply); });
    journal_.complete_all();
    return name && *name ? std::optional<ErrorCode>() : name->error().code;
  };
  EXPECT_EQ(create(kUser), ErrorCode::InvalidUser);
  EXPECT_EQ(create(kAdmin), std::nullopt);
  EXPECT_EQ(**name, "r");
  EXPECT_EQ(create(kAdmin), ErrorCode::ReservationNameTaken);

  const auto state_of = [&] {
    return model::state_text(*model::find_node(controller_->cluster().view(), "n1"), true);
  };
  const auto pass = [&](seconds by) {
    clock_.pass(by);
    controller_->on_timer();
    journal_.complete_all();
    settle();
  };
  EXPECT_EQ(state_of(), "idle");
  EXPECT_LE(controller_->next_timer(), clock_.monotonic() + seconds(60));
  pass(seconds(60));
  EXPECT_EQ(state_of(), "resv");
  EXPECT_EQ(published_->view.reservations->size(), 1u);

  // A node that goes down makes way for another.
  state::UpdateNode down;
  down.nodes = {"n1"};
  down.action = state::UpdateNode::Action::Down;
  down.reason = "test";
  EXPECT_EQ(refusal([&](auto reply) { controller_->update_node(kAdmin, down, reply); }), std::nullopt);
  pass(seconds(61));
  ASSERT_EQ(published_->view.reservations->size(), 1u);
  ASSERT_EQ(published_->view.reservations->front().nodes.size(), 1u);
  EXPECT_EQ(published_->view.reservations->front().nodes[0].node, NodeIndex{1});
  pass(seconds(100));
  EXPECT_TRUE(published_->view.reservations->empty());
}

TEST_F(ControllerTest, PartitionsAreMadeChangedAndRemoved) {
  model::PartitionConfig wanted;
  wanted.name = "new";
  wanted.nodes = "n1";
  using Edit = Controller::PartitionEdit;
  const auto edit = [&](const model::Caller& caller, Edit how, std::vector<std::string> changed) {
    return refusal([&](auto reply) { controller_->edit_partition(caller, how, wanted, changed, reply); });
  };
  EXPECT_EQ(edit(kUser, Edit::Create, {"nodes"}), ErrorCode::InvalidUser);
  EXPECT_EQ(edit(kAdmin, Edit::Update, {"nodes"}), ErrorCode::InvalidPartition);
  EXPECT_EQ(edit(kAdmin, Edit::Create, {"nodes"}), std::nullopt);
  EXPECT_EQ(edit(kAdmin, Edit::Create, {"nodes"}), ErrorCode::InvalidPartition);
  wanted.max_time = TimeLimit::of_minutes(5);
  wanted.nodes = "n9";
  EXPECT_EQ(edit(kAdmin, Edit::Update, {"max_time", "bogus"}), ErrorCode::InvalidArgument);
  EXPECT_EQ(edit(kAdmin, Edit::Update, {"nodes"}), ErrorCode::InvalidNode);
  EXPECT_EQ(edit(kAdmin, Edit::Update, {"max_time"}), std::nullopt);
  const model::Partition* made = model::find_partition(controller_->cluster().view(), "new");
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->config.max_time, TimeLimit::of_minutes(5));
  EXPECT_EQ(made->config.nodes, "n1");
  model::JobSpec spec = spec_of(1000);
  spec.partitions = {"new"};
  spec.hold = true;
  const auto job = submit(kUser, spec);
  ASSERT_TRUE(job);
  EXPECT_EQ(edit(kAdmin, Edit::Remove, {}), ErrorCode::PartitionInUse);
  EXPECT_EQ(refusal([&](auto reply) {
              controller_->cancel(kAdmin, {.id = job->job, .tasks = {}}, 0, false, false, reply);
            }),
            std::nullopt);
  EXPECT_EQ(edit(kAdmin, Edit::Remove, {}), std::nullopt);
  EXPECT_EQ(model::find_partition(controller_->cluster().view(), "new"), nullptr);
}

// JobFileAppend: files are continued where the job does not say.
TEST_F(ControllerTest, TheSiteMayHaveOutputContinued) {
  const auto appends = [&](bool site, bool append, bool truncate) {
    model::ClusterConfig config = *controller_->cluster().view().config;
    config.append_output = site;
    EXPECT_EQ(refusal([&](auto reply) { controller_->reconfigure(kAdmin, config, reply); }), std::nullopt);
    model::JobSpec spec = spec_of(1000);
    spec.open_append = append;
    spec.open_truncate = truncate;
    spec.hold = true;
    const auto made = submit(kUser, spec);
    return made && job(made->job).spec->open_append;
  };
  EXPECT_FALSE(appends(false, false, false));
  EXPECT_TRUE(appends(true, false, false));
  EXPECT_TRUE(appends(false, true, false));
  EXPECT_FALSE(appends(true, false, true));
}

// ReconfigFlags: without them the file is all there is.
TEST_F(ControllerTest, WhatScontrolChangedMayOutliveTheFile) {
  using Edit = Controller::PartitionEdit;
  const auto edit = [&](Edit how, const model::PartitionConfig& wanted, std::vector<std::string> changed) {
    EXPECT_EQ(refusal([&](auto reply) { controller_->edit_partition(kAdmin, how, wanted, changed, reply); }),
              std::nullopt);
  };
  const model::ClusterConfig original = *controller_->cluster().view().config;
  ASSERT_FALSE(original.partitions.empty());
  const auto reread = [&](bool info, bool state) {
    model::ClusterConfig file = original;
    file.keep_partition_info = info;
    file.keep_partition_state = state;
    EXPECT_EQ(refusal([&](auto reply) { controller_->reconfigure(kAdmin, file, reply); }), std::nullopt);
  };
  const auto partition = [&](const char* name) { return model::find_partition(controller_->cluster().view(), name); };
  model::PartitionConfig changed = original.partitions.front(), added;
  const std::string name = changed.name;
  changed.state = model::PartitionState::Drain;
  changed.max_time = TimeLimit::of_minutes(7);
  added.name = "added";
  added.nodes = "n1";
  for (const bool info : {true, false}) {
    edit(Edit::Update, changed, {"state", "max_time"});
    if (!partition("added")) edit(Edit::Create, added, {"nodes"});
    reread(info, !info);
    EXPECT_EQ(partition(name.c_str())->config.state, model::PartitionState::Drain);
    EXPECT_EQ(partition(name.c_str())->config.max_time == changed.max_time, info);
    EXPECT_EQ(partition("added") != nullptr, info);
  }
  reread(false, false);
  EXPECT_EQ(partition(name.c_str())->config.state, model::PartitionState::Up);
}

}  // namespace
}  // namespace spur::ctld
