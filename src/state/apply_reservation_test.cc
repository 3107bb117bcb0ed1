// SPDX-License-Identifier: Apache-2.0
// The life of a reservation, as in the drawing in model/reservation.h.
#include <gtest/gtest.h>

#include "state/reservations.h"
#include "state/test_world.h"

namespace spur::state {
namespace {

using model::Reservation;

Reservation reservation(const World& world, std::string name, seconds from, seconds length,
                        std::vector<std::uint32_t> nodes, std::uint64_t flags = 0) {
  Reservation r;
  r.name = std::move(name);
  r.start = world.now + from;
  r.end = r.start + length;
  r.flags = flags;
  r.users.names = {"me"};
  r.user_ids = {Uid{1000}};
  for (const std::uint32_t node : nodes) r.nodes.push_back({.node = NodeIndex{node}});
  return r;
}

const Reservation* find(const World& world, const char* name) {
  return model::find_reservation(world.view(), name);
}

// Lets time pass to `at`, the leader's timer included.
void wait_until(World& world, Time at) {
  for (Time due = reservations_due(world.view()); is_set(due) && due <= at; due = reservations_due(world.view())) {
    world.now = std::max(world.now, due - seconds(1));
    world.must(ReservationsDue{});
  }
  world.now = std::max(world.now, at);
}

std::uint32_t submit_in(World& world, const char* reservations) {
  model::JobSpec out = spec("in");
  out.reservation = reservations;
  return world.submit(out);
}
void start_in(World& world, std::uint32_t id, const char* name, std::uint32_t node) {
  auto allocation = World::on(node);
  allocation->reservation = name;
  world.start(id, allocation);
}

TEST(ApplyReservation, BeginsMarksItsNodesAndGoes) {
  World world(3);
  world.must(CreateReservation{reservation(world, "r1", seconds(100), seconds(100), {0, 2})});
  EXPECT_EQ(world.node("n1").flags & model::kNodeReserved, 0u);
  EXPECT_EQ(reservations_due(world.view()), find(world, "r1")->start);

  wait_until(world, find(world, "r1")->start);
  EXPECT_TRUE(find(world, "r1")->active);
  EXPECT_EQ(state_text(world.node("n1"), true), "resv");
  EXPECT_EQ(state_text(world.node("n2"), true), "idle");
  EXPECT_EQ(state_text_full(world.node("n3")), "IDLE+RESERVED");

  wait_until(world, find(world, "r1")->end);
  EXPECT_EQ(find(world, "r1"), nullptr);
  EXPECT_EQ(state_text(world.node("n1"), true), "idle");
  EXPECT_FALSE(is_set(reservations_due(world.view())));
}

TEST(ApplyReservation, OneThatStartsNowBeginsAtOnce) {
  World world(2);
  world.must(CreateReservation{reservation(world, "m", seconds(0), seconds(100), {0}, model::kResvMaint)});
  EXPECT_EQ(state_text(world.node("n1"), true), "maint");
  EXPECT_EQ(state_text_full(world.node("n1")), "IDLE+MAINTENANCE+RESERVED");
  UpdateNode drain;
  drain.nodes = {"n1"};
  drain.action = UpdateNode::Action::Drain;
  world.must(drain);
  EXPECT_EQ(state_text(world.node("n1"), false), "drained$");
  EXPECT_EQ(state_text_full(world.node("n1")), "IDLE+DRAIN+MAINTENANCE+RESERVED");
  world.must(DeleteReservation{"m"});
  EXPECT_EQ(state_text(world.node("n1"), true), "drain");
}

TEST(ApplyReservation, WhatIsRefused) {
  World world(3);
  world.must(CreateReservation{reservation(world, "r1", seconds(10), seconds(100), {0, 1})});
  const auto refusal = [&](auto change, std::string name = "r2") {
    Reservation r = reservation(world, std::move(name), seconds(10), seconds(100), {2});
    change(r);
    return world.refusal(CreateReservation{r});
  };
  EXPECT_EQ(refusal([](auto&) {}, "r1"), ErrorCode::ReservationNameTaken);
  EXPECT_EQ(refusal([](auto&) {}, "a,b"), ErrorCode::InvalidReservation);
  EXPECT_EQ(refusal([](auto& r) { r.end = r.start; }), ErrorCode::InvalidTime);
  EXPECT_EQ(refusal([](auto& r) { r.start -= hours(2), r.end -= hours(2); }), ErrorCode::InvalidTime);
  EXPECT_EQ(refusal([](auto& r) { r.users.names.clear(); }), ErrorCode::ReservationEmpty);
  EXPECT_EQ(refusal([](auto& r) { r.groups.names = {"g"}; }), ErrorCode::ReservationUserGroup);
  EXPECT_EQ(refusal([](auto& r) { r.nodes.clear(); }), ErrorCode::InvalidNode);
  EXPECT_EQ(refusal([](auto& r) { r.nodes[0].node = NodeIndex{9}; }), ErrorCode::InvalidNode);
  EXPECT_EQ(refusal([](auto& r) { r.nodes[0].cores = {4}; }), ErrorCode::InvalidNode);
  EXPECT_EQ(refusal([](auto& r) { r.licenses = {{"x", 1}}; }), ErrorCode::InvalidLicense);
  EXPECT_EQ(refusal([](auto& r) { r.nodes[0].node = NodeIndex{1}; }), ErrorCode::ReservationOverlap);
  EXPECT_EQ(world.refusal(DeleteReservation{"r2"}), ErrorCode::InvalidReservation);
  EXPECT_EQ(world.refusal(UpdateReservation{reservation(world, "r2", seconds(1), seconds(1), {2})}),
            ErrorCode::InvalidReservation);
  world.must(CreateReservation{reservation(world, "o", seconds(10), seconds(9), {1}, model::kResvOverlap)});
}

TEST(ApplyReservation, NamesAreMadeUp) {
  World world(3);
  EXPECT_EQ(world.must(CreateReservation{reservation(world, "", seconds(9), seconds(9), {0})}).name, "me_1");
  EXPECT_EQ(world.must(CreateReservation{reservation(world, "", seconds(9), seconds(9), {1})}).name, "me_2");
  Reservation r = reservation(world, "", seconds(9), seconds(9), {2});
  r.accounts.names = {"a1", "a2"};
  EXPECT_EQ(world.must(CreateReservation{r}).name, "a1_1");
}

TEST(ApplyReservation, ChangesAndAStartThatIsOver) {
  World world(3);
  world.must(CreateReservation{reservation(world, "r", seconds(0), seconds(100), {0})});
  Reservation r = *find(world, "r");
  r.nodes = {{.node = NodeIndex{1}}};
  r.end += seconds(50);
  world.must(UpdateReservation{r});
  EXPECT_EQ(state_text(world.node("n1"), true), "idle");
  EXPECT_EQ(state_text(world.node("n2"), true), "resv");
  r.start += seconds(5);
  EXPECT_EQ(world.refusal(UpdateReservation{r}), ErrorCode::ReservationStarted);
}

TEST(ApplyReservation, RecursOnItsNextDate) {
  World world(2);
  world.must(CreateReservation{reservation(world, "r", seconds(10), seconds(100), {0}, model::kResvDaily)});
  const Time first = find(world, "r")->start;
  wait_until(world, first + seconds(150));
  ASSERT_NE(find(world, "r"), nullptr);
  EXPECT_FALSE(find(world, "r")->active);
  EXPECT_EQ(find(world, "r")->start, first + hours(24));
  EXPECT_EQ(state_text(world.node("n1"), true), "idle");
  wait_until(world, first + hours(24));
  EXPECT_TRUE(find(world, "r")->active);
  // A leader that slept for ten days finds the right date.
  world.now = first + hours(240) + seconds(150);
  world.must(ReservationsDue{});
  EXPECT_EQ(find(world, "r")->start, first + hours(264));
}

TEST(ApplyReservation, ItsEndEndsItsJobsAfterTheOverrun) {
  model::ClusterConfig config;
  config.reservation_overrun = seconds(60);
  World world(2, 4, 0, config);
  world.must(CreateReservation{reservation(world, "r", seconds(0), seconds(100), {0})});
  const std::uint32_t runs = submit_in(world, "r"), waits = submit_in(world, "r"), two = submit_in(world, "r,s"),
                      free = submit_in(world, "");
  start_in(world, runs, "r", 0);
  world.start(free, World::on(1));
  EXPECT_EQ(world.refusal(DeleteReservation{"r"}), ErrorCode::ReservationBusy);
  const Time end = find(world, "r")->end;

  wait_until(world, end + seconds(30));
  EXPECT_EQ(world.job(runs).state, model::JobState::Running);
  wait_until(world, end + seconds(70));
  EXPECT_EQ(world.job(runs).state, model::JobState::Timeout);
  EXPECT_EQ(world.job(runs).reason, model::Reason::TimeLimit);
  EXPECT_EQ(world.job(free).state, model::JobState::Running);
  EXPECT_EQ(find(world, "r"), nullptr);

  const model::Job& held = world.job(waits);
  EXPECT_EQ(held.reason, model::Reason::ReservationDeleted);
  EXPECT_EQ(held.priority, 0u);
  EXPECT_TRUE(held.flags & model::kResvDelHold);
  EXPECT_EQ(held.spec->reservation, "");
  EXPECT_EQ(world.job(two).spec->reservation, "s");
  EXPECT_EQ(world.job(two).hold, model::Hold::None);
  world.must(ReleaseJob{target(waits)});
  EXPECT_FALSE(world.job(waits).flags & model::kResvDelHold);
  EXPECT_GT(world.job(waits).priority, 0u);
  EXPECT_EQ(world.job(waits).reason, model::Reason::None);
}

TEST(ApplyReservation, JobsThatNeedNotBeHeldGoOn) {
  World world(2);
  world.must(CreateReservation{reservation(world, "r", seconds(0), seconds(100), {0}, model::kResvNoHoldJobs)});
  const std::uint32_t waits = submit_in(world, "r");
  world.must(DeleteReservation{"r"});
  EXPECT_EQ(world.job(waits).hold, model::Hold::None);
  EXPECT_EQ(world.job(waits).spec->reservation, "");
}

TEST(ApplyReservation, FlexibleOnesLeaveTheirJobsAlone) {
  World world(2);
  world.must(CreateReservation{reservation(world, "r", seconds(50), seconds(50), {0}, model::kResvFlex)});
  const std::uint32_t runs = submit_in(world, "r");
  start_in(world, runs, "r", 0);
  wait_until(world, world.now + seconds(200));
  EXPECT_EQ(find(world, "r"), nullptr);
  EXPECT_EQ(world.job(runs).state, model::JobState::Running);
}

TEST(ApplyReservation, GoesWhenItIsIdleForLong) {
  World world(2);
  Reservation r = reservation(world, "r", seconds(0), hours(10), {0}, model::kResvPurgeComp);
  r.purge_after = seconds(300);
  world.must(CreateReservation{r});
  const Time begun = find(world, "r")->idle_since;
  EXPECT_EQ(reservations_due(world.view()), begun + seconds(300));
  const std::uint32_t job = submit_in(world, "r");
  wait_until(world, begun + seconds(500));
  ASSERT_NE(find(world, "r"), nullptr);  // somebody waited for it
  start_in(world, job, "r", 0);
  wait_until(world, world.now + seconds(500));
  ASSERT_NE(find(world, "r"), nullptr);
  world.done(job, "n1");
  EXPECT_EQ(find(world, "r")->idle_since, world.now);
  wait_until(world, world.now + seconds(299));
  EXPECT_NE(find(world, "r"), nullptr);
  wait_until(world, world.now + seconds(2));
  EXPECT_EQ(find(world, "r"), nullptr);
}

TEST(ApplyReservation, AStartNeedsTheReservationItCountsOn) {
  World world(2);
  world.must(CreateReservation{reservation(world, "r", seconds(50), seconds(50), {0})});
  const std::uint32_t job = submit_in(world, "r");
  auto allocation = World::on(0u);
  allocation->reservation = "s";
  EXPECT_EQ(world.refusal(StartJob{JobId{job}, {}, allocation}), ErrorCode::InvalidReservation);
  allocation->reservation = "r";
  EXPECT_EQ(world.refusal(StartJob{JobId{job}, {}, allocation}), ErrorCode::ReservationNotUsable);
  EXPECT_EQ(world.refusal(StartJob{JobId{job}, {}, World::on(1u)}), ErrorCode::ReservationNotUsable);  // nor outside
  model::JobSpec other = spec("other");
  other.uid = Uid{5};
  const std::uint32_t stranger = world.submit(other);
  wait_until(world, find(world, "r")->start);
  EXPECT_EQ(world.refusal(StartJob{JobId{stranger}, {}, allocation}), ErrorCode::ReservationDenied);
  world.start(job, allocation);
}

TEST(ApplyReservation, AStartInOneThatOverlapsOthers) {
  World world(2);
  world.must(CreateReservation{reservation(world, "r", seconds(0), hours(1), {0})});
  world.must(CreateReservation{reservation(world, "s", seconds(0), hours(1), {0}, model::kResvOverlap)});
  const std::uint32_t in_r = submit_in(world, "r"), in_s = submit_in(world, "s");
  auto allocation = World::on(0u);
  allocation->reservation = "r";
  EXPECT_EQ(world.refusal(StartJob{JobId{in_r}, {}, allocation}), ErrorCode::NodesBusy);  // s has it, too
  EXPECT_EQ(world.refusal(StartJob{JobId{in_s}, {}, allocation}), ErrorCode::ReservationNotUsable);
  auto inside = World::on(0u);
  inside->reservation = "s";
  world.start(in_s, inside);
  // Maintenance looks at nobody, and an overlapping one keeps off it.
  world.must(CreateReservation{reservation(world, "m", seconds(0), hours(1), {1}, model::kResvMaint)});
  world.must(CreateReservation{reservation(world, "t", seconds(0), hours(1), {1}, model::kResvOverlap)});
  auto there = World::on(1u);
  there->reservation = "t";
  EXPECT_EQ(world.refusal(StartJob{JobId{submit_in(world, "t")}, {}, there}), ErrorCode::NodesBusy);
  auto maintenance = World::on(1u);
  maintenance->reservation = "m";
  world.start(submit_in(world, "m"), maintenance);
}

TEST(ApplyReservation, AStartFromAnOlderPlanDoesNotReachIntoIt) {
  World world(2);
  world.must(CreateReservation{reservation(world, "r", hours(1), hours(1), {0})});
  model::JobSpec wish = spec("long");
  wish.time_limit = TimeLimit::of_minutes(90);
  const std::uint32_t too_long = world.submit(wish);
  EXPECT_EQ(world.refusal(StartJob{JobId{too_long}, {}, World::on(0u)}), ErrorCode::NodesBusy);
  world.start(too_long, World::on(1u));
  wish.time_limit = TimeLimit::of_minutes(50);
  world.start(world.submit(wish), World::on(0u));
}

TEST(ApplyReservation, NodesThatLeaveTheConfigurationAreSaidToBeGone) {
  World world(4);
  const std::uint32_t runs = world.submit(spec("runs"));
  world.start(runs, World::on(2));
  world.must(CreateReservation{reservation(world, "r", seconds(0), hours(1), {1, 3})});
  Reservation all = reservation(world, "all", seconds(0), hours(1), {0, 1, 2, 3}, model::kResvAllNodes);
  all.flags |= model::kResvOverlap;
  world.must(CreateReservation{all});
  model::ClusterConfig config = *world.view().config;
  config.nodes.erase(config.nodes.begin() + 1, config.nodes.begin() + 3);  // n2, n3
  const auto notes = world.must(SetConfig{config}).notes;
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes[0], "node n3 is no longer configured: it is drained and goes when its 1 jobs have ended");
  EXPECT_EQ(notes[1], "reservation r loses 1 of its 2 nodes");
  EXPECT_EQ(notes[2], "reservation all loses 1 of its 4 nodes");
  ASSERT_EQ(find(world, "r")->nodes.size(), 1u);
  EXPECT_EQ(find(world, "r")->nodes[0].node, world.node("n4").index);
  EXPECT_EQ(state_text(world.node("n4"), true), "resv");
  EXPECT_EQ(find(world, "all")->nodes.size(), 3u);
}

TEST(ApplyReservation, JobsOfAPartitionThatIsGoneAreSaidToStay) {
  World world(2);
  model::ClusterConfig config = *world.view().config;
  config.partitions.push_back(partition_config([](auto& p) { p.name = "old", p.nodes = "n1"; }));
  world.must(SetConfig{config});
  model::JobSpec wish = spec("wish");
  wish.partitions = {"old"};
  const std::uint32_t runs = world.submit(wish);
  world.submit(wish);
  auto allocation = World::on(0u);
  allocation->partition = "old";
  world.start(runs, allocation);
  config.partitions.pop_back();
  const auto notes = world.must(SetConfig{config}).notes;
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0],
            "partition old is no longer configured: 1 jobs of it run on, 1 wait until they are given another one");
}

TEST(ApplyQosAndShares, KeepTheLastWord) {
  World world(1);
  world.must(SetQos{{qos("high", 10), qos("a", 1)}});
  EXPECT_EQ(model::find_qos(world.view(), "high")->priority, 10u);
  EXPECT_EQ(world.refusal(SetQos{{qos("x"), qos("x")}}), ErrorCode::InvalidQos);
  world.must(SetQos{{qos("b")}});
  EXPECT_EQ(model::find_qos(world.view(), "high"), nullptr);

  world.must(SetFairShares{{{"a", Uid{1}, "", 5, 0}, {"a", Uid{2}, "", 6, 0}, {"a", Uid{1}, "p", 7, 0}}, true});
  EXPECT_EQ(model::find_share(world.view(), "a", Uid{1}, "q")->factor, 5u);
  EXPECT_EQ(model::find_share(world.view(), "a", Uid{1}, "p")->factor, 7u);
  EXPECT_EQ(model::find_share(world.view(), "b", Uid{1}, "p"), nullptr);
  world.must(SetFairShares{{{"a", Uid{2}, "", 8, 0}, {"a", Uid{2}, "", 9, 0}}, false});
  EXPECT_EQ(model::find_share(world.view(), "a", Uid{2}, "")->factor, 9u);
  EXPECT_EQ(world.view().shares->size(), 3u);
  world.must(SetFairShares{{}, true});
  EXPECT_TRUE(world.view().shares->empty());
}

}  // namespace
}  // namespace spur::state
