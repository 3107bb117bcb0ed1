// SPDX-License-Identifier: Apache-2.0
#include "ctld/reservation_request.h"

#include <gtest/gtest.h>

#include "state/test_world.h"

namespace spur::ctld {
namespace {

using model::EditKind;
using model::NamesEdit;
using model::ReservationChange;

class ReservationRequest : public testing::Test {
 protected:
  ReservationRequest() : world(4) {
    lookup.user = [](const std::string& name) -> Result<Uid> {
      if (name == "me") return Uid{1000};
      if (name == "you") return Uid{1001};
      return fail(ErrorCode::InvalidUser, "there is no user " + name);
    };
    lookup.members = [](const std::string& name) -> Result<std::vector<Uid>> {
      if (name == "team") return std::vector<Uid>{Uid{1001}, Uid{1002}};
      return fail(ErrorCode::InvalidUser, "there is no group " + name);
    };
  }
  ReservationChange wish() {
    ReservationChange change;
    change.name = "r";
    change.start = world.now + seconds(100);
    change.duration = minutes(10);
    change.node_counts = {2};
    change.users = NamesEdit{EditKind::Set, {"me"}};
    return change;
  }
  Result<model::Reservation> make(const ReservationChange& change) {
    SPUR_ASSIGN(const KnownIds ids, look_up(world.view(), change, lookup));
    return make_reservation(world.view(), change, ids, world.now);
  }
  Result<model::Reservation> edit(const ReservationChange& change) {
    SPUR_ASSIGN(const KnownIds ids, look_up(world.view(), change, lookup));
    return change_reservation(world.view(), change, ids, world.now);
  }
  template <class F>
  ErrorCode refusal(F&& alter) {
    ReservationChange change = wish();
    alter(change);
    const auto made = make(change);
    EXPECT_FALSE(made);
    return made ? ErrorCode::Internal : made.error().code;
  }

  state::World world;
  NameLookup lookup;
};

TEST_F(ReservationRequest, MakesAReservation) {
  const auto made = make(wish());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->end - made->start, minutes(10));
  EXPECT_EQ(made->nodes.size(), 2u);
  EXPECT_EQ(made->partition, "main");
  EXPECT_EQ(made->user_ids, std::vector<Uid>{Uid{1000}});

  ReservationChange group = wish();
  group.users.reset();
  group.groups = NamesEdit{EditKind::Set, {"-team"}};
  const auto denied = make(group);
  ASSERT_TRUE(denied) << denied.error().message;
  EXPECT_TRUE(denied->groups.denied);
  EXPECT_EQ(denied->groups.names, std::vector<std::string>{"team"});
  EXPECT_FALSE(model::lets_in(*denied, Uid{1002}, "", ""));
  EXPECT_TRUE(model::lets_in(*denied, Uid{1000}, "", ""));

  ReservationChange floating = wish();
  floating.flags_on = model::kResvTimeFloat;
  EXPECT_EQ(make(floating)->float_ahead, seconds(100));
}

TEST_F(ReservationRequest, WhatIsRefused) {
  EXPECT_EQ(refusal([](auto& c) { c.users = NamesEdit{EditKind::Set, {"nosuch"}}; }), ErrorCode::InvalidUser);
  EXPECT_EQ(refusal([](auto& c) { c.users = NamesEdit{EditKind::Set, {"me", "-you"}}; }), ErrorCode::InvalidUser);
  EXPECT_EQ(refusal([](auto& c) { c.groups = NamesEdit{EditKind::Set, {"nosuch"}}; }), ErrorCode::InvalidUser);
  EXPECT_EQ(refusal([](auto& c) { c.start -= hours(1), c.duration = hours(2); }), ErrorCode::InvalidTime);
  EXPECT_EQ(refusal([](auto& c) { c.duration = seconds(0); }), ErrorCode::InvalidTime);
  EXPECT_EQ(refusal([](auto& c) { c.start = Time::max() - hours(1); }), ErrorCode::InvalidTime);
  EXPECT_EQ(refusal([](auto& c) { c.duration = seconds(1LL << 60); }), ErrorCode::InvalidTime);
  EXPECT_EQ(refusal([](auto& c) { c.duration.reset(); }), ErrorCode::InvalidTime);
  EXPECT_EQ(refusal([](auto& c) { c.node_counts = {9}; }), ErrorCode::NodesBusy);
  EXPECT_EQ(refusal([](auto& c) { c.nodes = "n9"; }), ErrorCode::InvalidNode);
  EXPECT_EQ(refusal([](auto& c) { c.partition = "nosuch"; }), ErrorCode::InvalidPartition);
  EXPECT_EQ(refusal([](auto& c) { c.features = "nosuch"; }), ErrorCode::InvalidFeature);
}

TEST_F(ReservationRequest, AnEndThatWasNamedStays) {
  ReservationChange named = wish();
  named.duration.reset();
  named.end = named.start + minutes(10);
  world.must(state::CreateReservation{*make(named)});
  ReservationChange later;
  later.name = "r";
  later.start = named.start + minutes(4);
  EXPECT_EQ(edit(later)->end, named.end);
  later.start = named.end;
  EXPECT_EQ(edit(later).error().code, ErrorCode::InvalidTime);
  later.duration = minutes(3);  // from now on its length counts
  world.must(state::UpdateReservation{*edit(later)});
  later.duration.reset();
  later.start = named.start;
  EXPECT_EQ(edit(later)->end, named.start + minutes(3));
}

TEST_F(ReservationRequest, SkipsToTheNextDate) {
  ReservationChange daily = wish();
  daily.start = world.now;
  daily.flags_on = model::kResvDaily;
  world.must(state::CreateReservation{*make(daily)});
  ASSERT_TRUE(model::find_reservation(world.view(), "r")->active);
  ReservationChange skip;
  skip.name = "r";
  skip.flags_on = model::kResvSkip;
  const auto skipped = edit(skip);
  ASSERT_TRUE(skipped) << skipped.error().message;
  EXPECT_EQ(skipped->start, daily.start + hours(24));
  EXPECT_FALSE(skipped->has(model::kResvSkip));
  world.must(state::UpdateReservation{*skipped});
  EXPECT_FALSE(model::find_reservation(world.view(), "r")->active);
  EXPECT_EQ(edit(skip)->start, daily.start + hours(48));

  ReservationChange once = wish();
  once.name = "once";
  world.must(state::CreateReservation{*make(once)});
  skip.name = "once";
  EXPECT_EQ(edit(skip).error().code, ErrorCode::ReservationNoSkip);
}

TEST_F(ReservationRequest, Changes) {
  world.must(state::CreateReservation{*make(wish())});
  ReservationChange change;
  change.name = "r";
  change.users = NamesEdit{EditKind::Add, {"you"}};
  change.duration = minutes(5);
  change.duration_how = EditKind::Add;
  change.flags_on = model::kResvDaily;
  auto changed = edit(change);
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->end - changed->start, minutes(15));
  EXPECT_EQ(changed->user_ids, (std::vector<Uid>{Uid{1000}, Uid{1001}}));
  EXPECT_EQ(changed->nodes.size(), 2u);
  EXPECT_TRUE(changed->has(model::kResvDaily));
  world.must(state::UpdateReservation{*changed});

  change = {};
  change.name = "r";
  change.users = NamesEdit{EditKind::Remove, {"me"}};
  change.flags_off = model::kResvDaily;
  change.nodes = "n4";
  changed = edit(change);
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->users.names, std::vector<std::string>{"you"});
  EXPECT_FALSE(changed->has(model::kResvDaily));
  ASSERT_EQ(changed->nodes.size(), 1u);
  EXPECT_EQ(changed->nodes[0].node, NodeIndex{3});
  EXPECT_TRUE(changed->has(model::kResvSpecNodes));

  const auto refused = [&](auto alter) {
    ReservationChange wrong;
    wrong.name = "r";
    alter(wrong);
    const auto result = edit(wrong);
    return result ? ErrorCode::Internal : result.error().code;
  };
  EXPECT_EQ(refused([](auto& c) { c.name = "nosuch"; }), ErrorCode::InvalidReservation);
  EXPECT_EQ(refused([](auto& c) { c.core_counts = {1}; }), ErrorCode::CoreReservationUpdate);
  EXPECT_EQ(refused([](auto& c) { c.features = "f"; }), ErrorCode::NotSupported);
  EXPECT_EQ(refused([](auto& c) { c.start = Time{} + hours(24 * 365 * 400); }), ErrorCode::InvalidTime);
  EXPECT_EQ(refused([](auto& c) { c.users = NamesEdit{EditKind::Remove, {"nosuch"}}; }), ErrorCode::InvalidUser);
}

}  // namespace
}  // namespace spur::ctld
