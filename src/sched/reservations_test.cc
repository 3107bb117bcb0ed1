// SPDX-License-Identifier: Apache-2.0
#include "sched/reservations.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

using model::Reservation;

class ReservationRules : public testing::Test {
 protected:
  ReservationRules() {
    cluster.add_nodes(4, 8);
    cluster.add_partition("p");
  }
  Reservation& add(std::string name, int from, int to, std::vector<std::uint32_t> nodes, std::uint64_t flags = 0) {
    Reservation r;
    r.name = std::move(name);
    r.start = at_minute(from);
    r.end = at_minute(to);
    r.flags = flags;
    r.users.names = {"me"};
    r.user_ids = {Uid{1000}};
    for (const std::uint32_t node : nodes) r.nodes.push_back({.node = NodeIndex{node}});
    list.push_back(std::move(r));
    return list.back();
  }
  const Reservations& rules(int now = 0, int horizon = 10'000) {
    view = cluster.view();
    view.reservations = std::make_shared<const std::vector<Reservation>>(list.begin(), list.end());
    made.emplace(view, at_minute(now), at_minute(horizon));
    return *made;
  }
  const Reservation* entry(const char* name) { return model::find_reservation(view, name); }
  static model::JobSpec mine(std::string reservation = "") {
    model::JobSpec spec;
    spec.uid = Uid{1000};
    spec.reservation = std::move(reservation);
    return spec;
  }
  static ClosedSpan span(int from, int to, std::vector<std::uint16_t> cores = {}) {
    return {at_minute(from), at_minute(to), std::move(cores), {}};
  }

  TestCluster cluster;
  std::deque<Reservation> list;  // in order of names
  model::View view;
  std::optional<Reservations> made;
};

using Spans = std::vector<ClosedSpan>;

TEST_F(ReservationRules, OthersFindItsNodesClosed) {
  add("r", 10, 20, {1, 2});
  const Reservations& all = rules(15);
  EXPECT_EQ(all.closed(NodeIndex{1}, nullptr), (Spans{span(15, 20)}));
  EXPECT_EQ(all.closed(NodeIndex{0}, nullptr), Spans{});
  EXPECT_EQ(all.closed(NodeIndex{1}, entry("r")), Spans{});
  EXPECT_EQ(all.nodes(), (std::vector<NodeIndex>{NodeIndex{1}, NodeIndex{2}}));
  EXPECT_TRUE(Reservations::confined(entry("r")));
  EXPECT_NE(Reservations::reserved_part(entry("r"), NodeIndex{2}), nullptr);
  EXPECT_EQ(Reservations::reserved_part(entry("r"), NodeIndex{3}), nullptr);
}

TEST_F(ReservationRules, RecurringOnesCloseEachTime) {
  add("r", 10, 20, {1}, model::kResvHourly);
  const Reservations& all = rules(15, 140);
  EXPECT_EQ(all.closed(NodeIndex{1}, nullptr), (Spans{span(15, 20), span(70, 80), span(130, 140)}));
  EXPECT_EQ(all.windows(entry("r")),
            (std::vector<StartWindow>{
                {at_minute(15), at_minute(20)}, {at_minute(70), at_minute(80)}, {at_minute(130), at_minute(140)}}));
}

TEST_F(ReservationRules, FlexLetsAJobStartBeforeAndElsewhere) {
  add("r", 10, 20, {1}, model::kResvFlex);
  const Reservations& all = rules(5);
  EXPECT_FALSE(Reservations::confined(entry("r")));
  EXPECT_EQ(all.windows(entry("r")), (std::vector<StartWindow>{{at_minute(5), at_minute(20)}}));
}

TEST_F(ReservationRules, PartsOfNodes) {
  add("r", 10, 20, {}).nodes = {{.node = NodeIndex{1}, .cores = {2, 3}}};
  add("s", 15, 30, {}).nodes = {{.node = NodeIndex{1}, .cores = {0}}};
  const Reservations& all = rules();
  EXPECT_EQ(all.closed(NodeIndex{1}, nullptr), (Spans{span(10, 20, {2, 3}), span(15, 30, {0})}));
  EXPECT_EQ(all.closed(NodeIndex{1}, entry("r")), (Spans{span(15, 30, {0})}));
}

TEST_F(ReservationRules, MaintenanceAndOverlap) {
  add("m", 10, 20, {1}, model::kResvMaint);
  add("o", 10, 20, {1}, model::kResvOverlap);
  add("r", 10, 20, {1});
  const Reservations& all = rules();
  EXPECT_EQ(all.closed(NodeIndex{1}, entry("m")), Spans{});
  EXPECT_EQ(all.closed(NodeIndex{1}, entry("o")), (Spans{span(10, 20)}));  // only the maintenance
  EXPECT_EQ(all.closed(NodeIndex{1}, entry("r")).size(), 2u);
  EXPECT_EQ(all.closed(NodeIndex{1}, nullptr).size(), 3u);
}

TEST_F(ReservationRules, AFloatingOneIsAlwaysAhead) {
  add("f", 60, 70, {1}, model::kResvTimeFloat).float_ahead = hours(1);
  const Reservations& all = rules(100);
  EXPECT_EQ(all.closed(NodeIndex{1}, nullptr), (Spans{span(160, 170)}));
  EXPECT_TRUE(all.windows(entry("f")).empty());
}

TEST_F(ReservationRules, WhichOnesAJobMayUse) {
  add("late", 50, 60, {1});
  add("magnet", 10, 20, {2}, model::kResvMagnetic);
  add("not_mine", 10, 20, {3}).user_ids = {Uid{5}};
  add("soon", 5, 60, {3});
  const Reservations& all = rules();
  const auto names = [&](const model::JobSpec& spec) {
    std::string out;
    for (const Reservation* r : all.entries(spec).list) out += (r ? r->name : "-") + " ";
    return out;
  };
  EXPECT_EQ(names(mine()), "magnet - ");
  EXPECT_EQ(names(mine("late")), "late ");
  EXPECT_EQ(names(mine("late,soon")), "soon late ");
  EXPECT_EQ(names(mine("not_mine")), "");
  EXPECT_EQ(all.entries(mine("not_mine")).reason, model::Reason::Reservation);
  model::JobSpec stranger;
  stranger.uid = Uid{7};
  EXPECT_EQ(names(stranger), "- ");

  EXPECT_TRUE(check_reservation_access(view, mine("late,soon")));
  EXPECT_EQ(check_reservation_access(view, mine("late,nosuch")).error().code, ErrorCode::InvalidReservation);
  EXPECT_EQ(check_reservation_access(view, mine("not_mine")).error().code, ErrorCode::ReservationDenied);
}

TEST_F(ReservationRules, RoomInOneThatHasBegun) {
  add("open", 0, 60, {1, 2}).active = true;
  add("late", 50, 60, {1});
  rules(5);
  std::vector<const model::Partition*> partitions;
  for (const model::Partition& p : *view.partitions) partitions.push_back(&p);
  const auto answer = [&](const char* name, auto alter) {
    model::JobSpec spec = mine(name);
    alter(spec);
    const Status room = check_reservation_room(view, spec, partitions);
    return room ? std::string() : room.error().message;
  };
  const std::string inside = view.nodes.find(1)->get()->name, outside = view.nodes.find(0)->get()->name;
  EXPECT_EQ(answer("open", [](auto& s) { s.min_nodes = 2; }), "");
  EXPECT_EQ(answer("open", [](auto& s) { s.min_nodes = 3; }), "reservation open has only 2 such nodes");
  EXPECT_EQ(answer("open", [&](auto& s) { s.required_nodes = inside; }), "");
  EXPECT_EQ(answer("open", [&](auto& s) { s.required_nodes = outside; }), "Problem using reservation");
  EXPECT_EQ(answer("open", [&](auto& s) { s.excluded_nodes = inside, s.min_nodes = 2; }), "reservation open has only 1 such nodes");
  EXPECT_EQ(answer("late", [](auto& s) { s.min_nodes = 3; }), "") << "who knows what it has then";
  EXPECT_EQ(answer("late,open", [](auto& s) { s.min_nodes = 3; }), "");
}

TEST_F(ReservationRules, Licenses) {
  add("a", 10, 20, {}, model::kResvAnyNodes).licenses = {{"matlab", 3}};
  add("b", 15, 30, {1}).licenses = {{"matlab", 1}};
  const Reservations& all = rules(12);
  EXPECT_EQ(all.closed_licenses(nullptr), (std::vector<ClosedLicenses>{{at_minute(12), at_minute(20), "matlab", 3},
                                                                       {at_minute(15), at_minute(30), "matlab", 1}}));
  EXPECT_EQ(all.closed_licenses(entry("a")),
            (std::vector<ClosedLicenses>{{at_minute(15), at_minute(30), "matlab", 1}}));
  EXPECT_FALSE(Reservations::confined(entry("a")));
}

}  // namespace
}  // namespace spur::sched
