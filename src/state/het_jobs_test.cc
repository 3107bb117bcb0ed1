// SPDX-License-Identifier: Apache-2.0
// Heterogeneous jobs: made, started, ended, cancelled and requeued together.
#include "state/test_world.h"

namespace spur::state {
namespace {

using model::JobState;
using model::Reason;

std::shared_ptr<const model::JobSpec> component(std::string name, std::optional<bool> requeue = {}) {
  model::JobSpec out = spec(std::move(name));
  out.requeue = requeue;
  return std::make_shared<const model::JobSpec>(std::move(out));
}

// Three components, with ids in a row.
std::uint32_t submit(World& world, const std::string& token = {}, std::optional<bool> requeue = {}) {
  return world.must(SubmitJob{component("a", requeue), token, {component("b", requeue), component("c", requeue)}})
      .job.value;
}
StartJob whole(std::uint32_t first) {
  return {
      JobId{first}, {}, World::on(0), {}, {{JobId{first + 1}, World::on({1, 2})}, {JobId{first + 2}, World::on(3)}}};
}
std::string states(const World& world, std::uint32_t first) {
  std::string out;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const model::Job& job = world.job(first + i);
    out += (i ? " " : "") + std::string(model::base_name(job.state)) + (job.flags & model::kCompleting ? "+" : "");
  }
  return out;
}

TEST(HetJobs, OneSubmitMakesAllComponents) {
  World world(4);
  world.submit(spec("before"));
  const std::uint32_t first = submit(world, "token");
  EXPECT_EQ(first, 2u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(world.job(first + i).het_job, JobId{first});
    EXPECT_EQ(world.job(first + i).het_offset, i);
    EXPECT_EQ(model::het_id_set(world.job(first + i)), "2-4");
  }
  EXPECT_EQ(model::display_id(world.job(3)), "2+1");
  // The same token makes nothing new.
  const Outcome again = world.must(SubmitJob{component("a"), "token", {component("b"), component("c")}});
  EXPECT_TRUE(again.repeated);
  EXPECT_EQ(again.job.value, first);
  EXPECT_EQ(world.view().jobs.size(), 4u);
}

TEST(HetJobs, AllOrNoneAreMade) {
  model::ClusterConfig config;
  config.max_job_count = 4;
  World world(1, 4, 0, config);
  world.submit(spec("one"));
  world.submit(spec("two"));
  EXPECT_EQ(world.refusal(SubmitJob{component("a"), {}, {component("b"), component("c")}}), ErrorCode::TooManyJobs);
  const auto array = std::make_shared<const model::JobSpec>(array_spec(1, 3));
  EXPECT_EQ(world.refusal(SubmitJob{component("a"), {}, {array}}), ErrorCode::InvalidArray);
  auto other = std::make_shared<model::JobSpec>(spec("other"));
  other->uid = Uid{4711};
  EXPECT_EQ(world.refusal(SubmitJob{component("a"), {}, {other}}), ErrorCode::InvalidUser);
}

TEST(HetJobs, IdsFollowEachOtherAroundTheEnd) {
  model::ClusterConfig config;
  config.first_job_id = 1;
  config.max_job_id = 6;
  World world(1, 4, 0, config);
  for (int i = 0; i < 4; ++i) world.submit(spec("x"));
  world.must(cancel({JobId{2}, {}}));
  world.must(PurgeJobs{{JobId{2}}});
  // 5 and 6 are free, and 2 alone: no three in a row.
  EXPECT_EQ(world.refusal(SubmitJob{component("a"), {}, {component("b"), component("c")}}), ErrorCode::TooManyJobs);
  EXPECT_EQ(world.must(SubmitJob{component("a"), {}, {component("b")}}).job.value, 5u);
}

TEST(HetJobs, StartsWholeOrNotAtAll) {
  World world(4);
  const std::uint32_t first = submit(world);
  EXPECT_EQ(world.refusal(StartJob{JobId{first}, {}, World::on(0)}), ErrorCode::NotWholeHetJob);
  EXPECT_EQ(world.refusal(StartJob{JobId{first + 1}, {}, World::on(0)}), ErrorCode::NotWholeHetJob);
  StartJob shared = whole(first);
  shared.others[1].allocation = World::on(0, {1});
  EXPECT_EQ(world.refusal(shared), ErrorCode::InvalidArgument) << "two components on one node";
  world.must(UpdateNode{{"n4"}, UpdateNode::Action::Drain, "x", {}, {}, {}, {}, {}});
  EXPECT_EQ(world.refusal(whole(first)), ErrorCode::NodesBusy) << "the last component's node is gone";
  world.must(UpdateNode{{"n4"}, UpdateNode::Action::Resume, {}, {}, {}, {}, {}, {}});
  world.must(HoldJob{{JobId{first}, {}, 1}, model::Hold::User});
  EXPECT_EQ(world.refusal(whole(first)), ErrorCode::JobNotPending) << "one component is held";
  world.must(ReleaseJob{{JobId{first}, {}}});
  world.must(whole(first));
  EXPECT_EQ(states(world, first), "RUNNING RUNNING RUNNING");
  EXPECT_EQ(world.count<LaunchJob>(), 3);
}

TEST(HetJobs, LicensesAreCountedTogether) {
  model::ClusterConfig config;
  config.licenses = {{"lic", 1}};
  World world(2, 4, 0, config);
  auto licensed = std::make_shared<model::JobSpec>(spec("a"));
  licensed->licenses = {{"lic", 1}};
  const std::uint32_t first = world.must(SubmitJob{licensed, {}, {licensed}}).job.value;
  EXPECT_EQ(world.refusal(StartJob{JobId{first}, {}, World::on(0), {}, {{JobId{first + 1}, World::on(1)}}}),
            ErrorCode::ResourceLimit);
}

TEST(HetJobs, TheLeadersEndIsTheEndOfAll) {
  World world(4);
  const std::uint32_t first = submit(world);
  world.must(whole(first));
  world.done(first, "n1", 3);
  EXPECT_EQ(states(world, first), "FAILED FAILED+ FAILED+");
  EXPECT_EQ(world.job(first + 1).exit.code, 3);
  EXPECT_EQ(world.job(first + 1).reason, Reason::NonZeroExitCode);
  EXPECT_EQ(world.count<EndJob>(), 2);
  world.done(first + 1, "n2");
  world.done(first + 1, "n3");
  world.done(first + 2, "n4");
  EXPECT_EQ(states(world, first), "FAILED FAILED FAILED");
  EXPECT_EQ(world.job(first + 2).exit.code, 3);
}

TEST(HetJobs, CancelledWhole) {
  World world(4);
  const std::uint32_t first = submit(world);
  CancelJob of_one = cancel({JobId{first}, {}, 1});
  of_one.by_user = true;
  EXPECT_EQ(world.refusal(of_one), ErrorCode::NotWholeHetJob);
  of_one.target = {JobId{first + 1}, {}};
  EXPECT_EQ(world.refusal(of_one), ErrorCode::NotWholeHetJob);
  of_one.target = {JobId{first}, {}, 3};
  EXPECT_EQ(world.refusal(of_one), ErrorCode::InvalidJobId);
  world.must(cancel({JobId{first}, {}}));
  EXPECT_EQ(states(world, first), "CANCELLED CANCELLED CANCELLED");

  const std::uint32_t second = submit(world);
  world.must(whole(second));
  of_one.target = {JobId{second}, {}, 1};
  world.must(of_one);
  EXPECT_EQ(states(world, second), "RUNNING CANCELLED+ RUNNING") << "one that runs may go alone";
  world.must(cancel({JobId{second}, {}}));
  EXPECT_EQ(states(world, second), "CANCELLED+ CANCELLED+ CANCELLED+");
}

TEST(HetJobs, ADeadlineOfOneIsTheEndOfAllThatWait) {
  World world(4);
  const std::uint32_t first = submit(world);
  CancelJob late = cancel({JobId{first + 2}, {}});
  late.final_state = JobState::Deadline;
  late.by_user = false;
  world.must(late);
  EXPECT_EQ(states(world, first), "DEADLINE DEADLINE DEADLINE");
}

TEST(HetJobs, RequeuedWhole) {
  World world(4);
  const std::uint32_t first = submit(world);
  world.must(whole(first));
  world.must(cancel({JobId{first}, {}, 2}));
  world.done(first + 2, "n4");
  EXPECT_EQ(world.refusal(RequeueJob{{JobId{first + 1}, {}}}), ErrorCode::NotHetJobLeader);
  world.must(RequeueJob{{JobId{first}, {}}});
  EXPECT_EQ(states(world, first), "PENDING+ PENDING+ PENDING");
  world.done(first, "n1");
  world.done(first + 1, "n2");
  EXPECT_EQ(world.refusal(whole(first)), ErrorCode::JobNotPending) << "a node of the last run is not clean";
  world.done(first + 1, "n3");
  EXPECT_EQ(states(world, first), "PENDING PENDING PENDING");
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(world.job(first + i).epoch, Epoch{2});
  world.must(whole(first));
}

TEST(HetJobs, ANodeFailureOfOneIsOneOfAll) {
  World world(4);
  const std::uint32_t first = submit(world, {}, true);
  world.must(whole(first));
  world.must(NodeLost{"n3"});
  EXPECT_EQ(states(world, first), "PENDING+ PENDING+ PENDING+");
  const std::uint32_t second = submit(world, {}, false);
  world.must(World::registration("n3", 4));
  for (const auto& [id, node] : {std::pair(first, "n1"), {first + 1, "n2"}, {first + 2, "n4"}}) world.done(id, node);
  world.must(whole(second));
  world.must(NodeLost{"n4"});
  EXPECT_EQ(states(world, second), "NODE_FAIL+ NODE_FAIL+ NODE_FAIL");
}

TEST(HetJobs, TimeLimitsAreEachOnesOwn) {
  World world(4);
  const std::uint32_t first = submit(world);
  world.must(whole(first));
  CancelJob late = cancel({JobId{first + 1}, {}});
  late.by_user = false;
  late.final_state = JobState::Timeout;
  world.must(late);
  EXPECT_EQ(states(world, first), "RUNNING TIMEOUT+ RUNNING");
  late.target = {JobId{first}, {}};
  world.must(late);
  EXPECT_EQ(states(world, first), "TIMEOUT+ TIMEOUT+ TIMEOUT+");
}

TEST(HetJobs, HeldAndReleasedWholeOrInPart) {
  World world(4);
  const std::uint32_t first = submit(world);
  world.must(HoldJob{{JobId{first}, {}}, model::Hold::User});
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(world.job(first + i).reason, Reason::JobHeldUser);
  world.must(ReleaseJob{{JobId{first + 1}, {}}});
  EXPECT_EQ(world.job(first).hold, model::Hold::User);
  EXPECT_EQ(world.job(first + 1).hold, model::Hold::None);
  world.must(ReleaseJob{{JobId{first}, {}}});
  EXPECT_EQ(world.job(first + 2).hold, model::Hold::None);
}

TEST(HetJobs, SuspendedOnlyWhole) {
  World world(4);
  const std::uint32_t first = submit(world);
  world.must(whole(first));
  EXPECT_EQ(world.refusal(SuspendJob{{JobId{first + 1}, {}}}), ErrorCode::NotWholeHetJob);
  EXPECT_EQ(world.refusal(SuspendJob{{JobId{first}, {}, 0}}), ErrorCode::NotWholeHetJob);
  world.must(SuspendJob{{JobId{first}, {}}});
  EXPECT_EQ(states(world, first), "SUSPENDED SUSPENDED SUSPENDED");
  world.must(ResumeJob{{JobId{first}, {}}});
  EXPECT_EQ(states(world, first), "RUNNING RUNNING RUNNING");
}

TEST(HetJobs, ForgottenWhole) {
  World world(4);
  const std::uint32_t first = submit(world);
  world.must(whole(first));
  world.must(cancel({JobId{first}, {}, 1}));
  world.done(first + 1, "n2");
  world.done(first + 1, "n3");
  world.must(PurgeJobs{{JobId{first + 1}}});
  EXPECT_TRUE(world.has(first + 1)) << "the others may be requeued with it";
  world.done(first, "n1");
  world.done(first + 2, "n4");
  world.must(PurgeJobs{{JobId{first + 1}}});
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_FALSE(world.has(first + i));
}

TEST(HetJobs, ADependencyThatCanNeverBeMetEndsAll) {
  World world(4);
  const std::uint32_t one = world.submit(spec("one"));
  auto waits = std::make_shared<model::JobSpec>(spec("waits"));
  waits->dependencies = {{.kind = model::Dependency::Kind::AfterOk, .job = JobId{one}, .array_task = {}}};
  waits->kill_on_invalid_dependency = true;
  const std::uint32_t first = world.must(SubmitJob{component("a"), {}, {waits, component("c")}}).job.value;
  world.must(cancel({JobId{one}, {}}));
  EXPECT_EQ(states(world, first), "CANCELLED CANCELLED CANCELLED");
  // ... and at once where it is known at submit.
  const std::uint32_t second = world.must(SubmitJob{waits, {}, {component("b"), component("c")}}).job.value;
  EXPECT_EQ(states(world, second), "CANCELLED CANCELLED CANCELLED");
}

TEST(HetJobs, ComponentsAreNoObstacleToEachOther) {
  World world(4);
  auto single = std::make_shared<model::JobSpec>(spec("same"));
  single->dependencies = {{.kind = model::Dependency::Kind::Singleton, .job = {}, .array_task = {}}};
  const std::uint32_t first = world.must(SubmitJob{single, {}, {single, single}}).job.value;
  const std::uint32_t second = world.must(SubmitJob{single, {}, {single, single}}).job.value;
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_TRUE(world.job(first + i).dependencies_left.empty()) << i;
  EXPECT_FALSE(world.job(second).dependencies_left.empty());
  world.must(whole(first));
  EXPECT_FALSE(world.job(second).dependencies_left.empty());
  world.done(first, "n1");
  world.done(first + 1, "n2");
  world.done(first + 1, "n3");
  world.done(first + 2, "n4");
  EXPECT_TRUE(world.job(second).dependencies_left.empty());
}

}  // namespace
}  // namespace spur::state
