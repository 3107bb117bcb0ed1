// SPDX-License-Identifier: Apache-2.0
#include "state/test_world.h"

namespace spur::state {
namespace {

using model::JobState;
using model::Reason;

TEST(Start, TakesWhatItIsGiven) {
  World w(2, 4, 2);
  const auto id = w.submit(spec());
  auto allocation = World::on({0, 1}, {1, 3});
  allocation->nodes[1].devices.push_back({"gpu", "", {1}});
  EXPECT_EQ(w.start(id, allocation), id);
  EXPECT_EQ(w.count<LaunchJob>(), 1);
  EXPECT_EQ(w.count<JobChanged>(), 1);
  const model::Job& job = w.job(id);
  EXPECT_EQ(job.state, JobState::Running);
  EXPECT_EQ(job.started, w.now);
  EXPECT_EQ(job.last_nodes, "n[1-2]");
  EXPECT_EQ(job.batch_host, "n1");
  EXPECT_EQ(job.cpus_allocated, 4u);
  EXPECT_EQ(job.nodes_left, (std::vector<NodeIndex>{NodeIndex{0}, NodeIndex{1}}));
  EXPECT_EQ(w.node("n1").cpus_in_use[0], 0b1010u);
  EXPECT_EQ(w.node("n1").cpus_allocated, 2u);
  EXPECT_EQ(w.node("n1").memory_allocated_mib, 10u);
  EXPECT_EQ(w.node("n2").devices_in_use[0].bits[0], 0b10u);
  EXPECT_EQ(w.node("n2").last_busy, w.now);
  EXPECT_EQ(w.node("n2").jobs, (std::vector<JobId>{JobId{id}}));
  EXPECT_FALSE(w.view().pending.contains(id));
  EXPECT_TRUE(w.view().active.contains(id));
}

TEST(Start, ALimitThatIsLeftOpen) {
  World w(2);
  model::JobSpec wish = spec();
  wish.time_limit = TimeLimit::of_minutes(60);
  const auto fixed = w.submit(wish);
  wish.time_min = TimeLimit::of_minutes(20);
  const auto open = w.submit(wish);
  const auto start = [](std::uint32_t id, std::uint32_t limit) {
    return StartJob{JobId{id}, {}, World::on(0), TimeLimit::of_minutes(limit)};
  };
  EXPECT_EQ(w.refusal(start(fixed, 30)), ErrorCode::InvalidTimeLimit);
  EXPECT_EQ(w.refusal(start(open, 19)), ErrorCode::InvalidTimeLimit);
  EXPECT_EQ(w.refusal(start(open, 61)), ErrorCode::InvalidTimeLimit);
  w.must(start(open, 30));
  EXPECT_EQ(w.job(open).time_limit, TimeLimit::of_minutes(30));
  w.must(RequeueJob{{JobId{open}, {}}, model::AfterCompleting::Requeue});
  w.done(open, "n1");
  EXPECT_EQ(w.job(open).time_limit, TimeLimit::of_minutes(60));
}

TEST(Start, RefusesWhatIsTakenOrNotThere) {
  World w(3, 4, 2);
  const auto first = w.submit(spec()), second = w.submit(spec());
  auto allocation = World::on(0, {0, 1});
  allocation->nodes[0].devices.push_back({"gpu", "", {0}});
  w.start(first, allocation);
  w.must(UpdateNode{{"n2"}, UpdateNode::Action::Drain, "x", {}, {}, {}, {}, {}});

  struct Row {
    const char* what;
    std::function<void(model::Allocation&)> change;
    ErrorCode code;
  };
  const Row rows[] = {
      {"CPU taken", [](auto& a) { a.nodes[0].cpus = {1, 2}; }, ErrorCode::NodesBusy},
      {"CPU out of range", [](auto& a) { a.nodes[0].cpus = {4}; }, ErrorCode::NodesBusy},
      {"no CPU", [](auto& a) { a.nodes[0].cpus = {}; }, ErrorCode::InvalidArgument},
      {"CPU twice", [](auto& a) { a.nodes[0].cpus = {2, 2}; }, ErrorCode::InvalidArgument},
      {"device taken", [](auto& a) { a.nodes[0].devices = {{"gpu", "", {0}}}; }, ErrorCode::NodesBusy},
      {"device out of range", [](auto& a) { a.nodes[0].devices = {{"gpu", "", {2}}}; }, ErrorCode::NodesBusy},
      {"unknown device", [](auto& a) { a.nodes[0].devices = {{"tpu", "", {0}}}; }, ErrorCode::NodesBusy},
      {"device twice", [](auto& a) { a.nodes[0].devices = {{"gpu", "a", {1}}, {"gpu", "b", {1}}}; },
       ErrorCode::InvalidArgument},
      {"drained node", [](auto& a) { a.nodes[0].node = NodeIndex{1}; }, ErrorCode::NodesBusy},
      {"unknown node", [](auto& a) { a.nodes[0].node = NodeIndex{9}; }, ErrorCode::InvalidNode},
      {"node twice", [](auto& a) { a.nodes.push_back(a.nodes[0]); }, ErrorCode::InvalidArgument},
      {"no node", [](auto& a) { a.nodes.clear(); }, ErrorCode::InvalidArgument},
  };
  for (const Row& row : rows) {
    auto proposal = World::on(0, {2});
    row.change(*proposal);
    EXPECT_EQ(w.refusal(StartJob{JobId{second}, {}, proposal}), row.code) << row.what;
  }
  EXPECT_EQ(w.refusal(StartJob{JobId{second}, {}, nullptr}), ErrorCode::InvalidArgument);
  EXPECT_EQ(w.refusal(StartJob{JobId{99}, {}, World::on(2)}), ErrorCode::InvalidJobId);
  EXPECT_EQ(w.refusal(StartJob{JobId{first}, {}, World::on(2)}), ErrorCode::JobNotPending);
  EXPECT_EQ(w.refusal(StartJob{JobId{second}, 1, World::on(2)}), ErrorCode::InvalidArray);
  w.start(second, World::on(0, {2, 3}));
}

TEST(Start, RefusesWhatMayNotStartYet) {
  World w(1);
  auto held = spec(), later = spec(), waits = spec();
  held.hold = true;
  later.begin = w.now + seconds(100);
  const auto h = w.submit(held), l = w.submit(later);
  waits.dependencies.push_back({model::Dependency::Kind::AfterAny, JobId{h}, {}, false, 0});
  const auto d = w.submit(waits);
  EXPECT_EQ(w.refusal(StartJob{JobId{h}, {}, World::on(0)}), ErrorCode::JobNotPending);
  EXPECT_EQ(w.refusal(StartJob{JobId{l}, {}, World::on(0)}), ErrorCode::JobNotPending);
  EXPECT_EQ(w.refusal(StartJob{JobId{d}, {}, World::on(0)}), ErrorCode::InvalidDependency);
  w.now += seconds(100);
  w.start(l, World::on(0));
}

TEST(Start, MemoryCountsWhereItIsConsumable) {
  for (const bool counts : {false, true}) {
    model::ClusterConfig config;
    config.memory_as = counts ? model::MemoryAs::Consumable : model::MemoryAs::NotConsumable;
    World w(1, 4, 0, config);
    auto large = World::on(0, {0});
    large->nodes[0].memory_mib = 600;
    w.start(w.submit(spec()), large);
    auto second = World::on(0, {1});
    second->nodes[0].memory_mib = 600;
    const auto id = w.submit(spec());
    EXPECT_EQ(w.run(StartJob{JobId{id}, {}, second}).status.has_value(), !counts);
  }
}

// Two licenses of "lic" and one of "rare".
model::ClusterConfig licensed() {
  model::ClusterConfig config;
  config.licenses = {{"lic", 2}, {"rare", 1}};
  return config;
}
model::JobSpec wants(std::vector<model::LicenseRequest> licenses) {
  auto out = spec();
  out.licenses = std::move(licenses);
  return out;
}

TEST(Start, LicensesAreCountedFromStartToCleanEnd) {
  World w(2, 8, 0, licensed());
  const auto first = w.submit(wants({{"lic", 1}})), second = w.submit(wants({{"lic", 1}, {"rare", 1}})),
             third = w.submit(wants({{"lic", 1}}));
  w.start(first, World::on(0, {0}));
  w.start(second, World::on({0, 1}, {1}));
  EXPECT_EQ(w.refusal(StartJob{JobId{third}, {}, World::on(0, {2})}), ErrorCode::ResourceLimit);
  w.must(SuspendJob{target(first)});  // keeps what it has
  EXPECT_EQ(w.refusal(StartJob{JobId{third}, {}, World::on(0, {2})}), ErrorCode::ResourceLimit);
  w.must(ResumeJob{target(first)});
  w.done(second, "n1");  // the other node still has its part: completing
  EXPECT_EQ(w.refusal(StartJob{JobId{third}, {}, World::on(0, {2})}), ErrorCode::ResourceLimit);
  w.done(second, "n2");
  w.start(third, World::on(0, {2}));
  EXPECT_EQ(w.refusal(StartJob{JobId{w.submit(wants({{"lic", 1}}))}, {}, World::on(1)}), ErrorCode::ResourceLimit);
}

TEST(Start, LicensesComeBackHoweverTheRunEnds) {
  World w(1, 8, 0, licensed());
  const auto id = w.submit(wants({{"rare", 1}}));
  const auto other = [&] { return StartJob{JobId{w.submit(wants({{"rare", 1}}))}, {}, World::on(0, {1})}; };
  w.start(id, World::on(0));
  EXPECT_EQ(w.refusal(other()), ErrorCode::ResourceLimit);
  w.must(RequeueJob{.target = target(id)});
  w.done(id, "n1");
  EXPECT_EQ(w.job(id).state, model::JobState::Pending);
  w.start(id, World::on(0));  // its own earlier run holds nothing any more
  w.must(cancel(target(id)));
  w.done(id, "n1");
  const auto lost = other();
  w.must(lost);
  w.must(NodeLost{"n1"});
  w.must(World::registration("n1", 8));
  w.must(other());
}

TEST(Start, LicensesOfOneNameAddUp) {
  World w(1, 8, 0, licensed());
  EXPECT_EQ(w.refusal(StartJob{JobId{w.submit(wants({{"lic", 1}, {"lic", 2}}))}, {}, World::on(0)}),
            ErrorCode::ResourceLimit);
  EXPECT_EQ(w.refusal(StartJob{JobId{w.submit(wants({{"none", 1}}))}, {}, World::on(0)}), ErrorCode::InvalidLicense);
  w.start(w.submit(wants({{"lic", 1}, {"lic", 1}})), World::on(0));
}

TEST(Start, FewerLicensesThanAreInUse) {
  World w(1, 8, 0, licensed());
  const auto both = w.submit(wants({{"lic", 2}})), one = w.submit(wants({{"lic", 1}}));
  w.start(both, World::on(0, {0}));
  auto config = *w.view().config;
  config.licenses[0].count = 1;
  w.must(SetConfig{config});  // who has them keeps them
  EXPECT_EQ(w.refusal(StartJob{JobId{one}, {}, World::on(0, {1})}), ErrorCode::ResourceLimit);
  w.done(both, "n1");
  w.start(one, World::on(0, {1}));
}

TEST(Start, ArrayTasksTakeLicensesOneByOne) {
  World w(1, 8, 0, licensed());
  auto array = array_spec(1, 3);
  array.licenses = {{"lic", 1}};
  const auto id = w.submit(array);
  const auto task = w.start(id, World::on(0, {0}), 1);
  w.start(id, World::on(0, {1}), 2);
  EXPECT_EQ(w.refusal(StartJob{JobId{id}, 3, World::on(0, {2})}), ErrorCode::ResourceLimit);
  w.done(task, "n1");
  w.start(id, World::on(0, {2}), 3);
}

TEST(Start, LicensesSurviveASnapshot) {
  World w(1, 8, 0, licensed());
  w.start(w.submit(wants({{"rare", 1}})), World::on(0, {0}));
  const auto waiting = w.submit(wants({{"rare", 1}}));
  auto again = Cluster::from_image(w.cluster.image());
  ASSERT_TRUE(again) << again.error().message;
  Batch batch{w.now + seconds(1), {StartJob{JobId{waiting}, {}, World::on(0, {1})}}};
  const auto outcomes = (*again)->apply((*again)->index() + 1, batch, nullptr);
  EXPECT_FALSE(outcomes.at(0).status);
}

TEST(Start, ExclusiveNodes) {
  using model::Exclusive;
  struct Row {
    Exclusive first, second;
    bool same_user, together;
  };
  const Row rows[] = {
      {Exclusive::No, Exclusive::No, false, true},    {Exclusive::Node, Exclusive::No, true, false},
      {Exclusive::No, Exclusive::Node, true, false},  {Exclusive::User, Exclusive::No, true, true},
      {Exclusive::User, Exclusive::No, false, false}, {Exclusive::No, Exclusive::User, false, false},
      {Exclusive::No, Exclusive::User, true, true},   {Exclusive::User, Exclusive::User, true, true},
  };
  for (const Row& row : rows) {
    World w(1);
    auto a = spec(), b = spec();
    a.exclusive = row.first;
    b.exclusive = row.second;
    if (!row.same_user) b.uid = Uid{2};
    const auto i = w.submit(a), j = w.submit(b);
    w.start(i, World::on(0, {0}));
    EXPECT_EQ(w.run(StartJob{JobId{j}, {}, World::on(0, {1})}).status.has_value(), row.together);
    w.done(i, "n1");
    EXPECT_FALSE(w.node("n1").exclusive);
  }
}

TEST(Start, ExclusivePartition) {
  World w(1);
  auto config = *w.view().config;
  config.partitions[0].oversubscribe = model::OverSubscribe::Exclusive;
  w.must(SetConfig{config});
  w.start(w.submit(spec()), World::on(0));
  EXPECT_TRUE(w.node("n1").exclusive);
  EXPECT_EQ(w.refusal(StartJob{JobId{w.submit(spec())}, {}, World::on(0, {1})}), ErrorCode::NodesBusy);
}

TEST(Start, TasksLeaveTheRestOneByOne) {
  World w(1);
  const auto array = w.submit(array_spec(1, 3));
  const auto second = w.start(array, World::on(0, {0}), 2);
  EXPECT_NE(second, array);
  EXPECT_EQ(w.job(second).array_task, 2u);
  EXPECT_EQ(model::display_id(w.job(array)), "1_[1,3]");
  EXPECT_EQ(model::find_array_task(w.view(), JobId{array}, 2), &w.job(second));
  EXPECT_EQ(w.refusal(StartJob{JobId{array}, 2, World::on(0, {1})}), ErrorCode::InvalidArray);
  EXPECT_EQ(w.refusal(StartJob{JobId{array}, {}, World::on(0, {1})}), ErrorCode::InvalidArray);
  const auto first = w.start(array, World::on(0, {1}), 1);
  EXPECT_NE(first, array);
  EXPECT_EQ(w.start(array, World::on(0, {2}), 3), array);  // the last one takes the array's own record
  EXPECT_EQ(w.job(array).array_task, 3u);
  EXPECT_FALSE(w.job(array).is_array_rest());
  EXPECT_EQ(model::find_array_task(w.view(), JobId{array}, 3), &w.job(array));
  EXPECT_EQ(w.view().jobs.size(), 3u);
}

TEST(Start, TaskLimit) {
  World w(1);
  const auto array = w.submit(array_spec(1, 9, 2));
  const auto first = w.start(array, World::on(0, {0}), 1);
  w.start(array, World::on(0, {1}), 2);
  EXPECT_EQ(w.refusal(StartJob{JobId{array}, 3, World::on(0, {2})}), ErrorCode::ResourceLimit);
  w.done(first, "n1");
  w.start(array, World::on(0, {2}), 3);
}

}  // namespace
}  // namespace spur::state
