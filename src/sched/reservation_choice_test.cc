// SPDX-License-Identifier: Apache-2.0
#include "sched/reservation_choice.h"

#include <gtest/gtest.h>

#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

using model::Reservation;

// Four nodes with two sockets of two cores, n1 and n2 also in "low".
class ReservationChoice : public testing::Test {
 protected:
  ReservationChoice() {
    for (std::uint32_t i = 0; i < 4; ++i) {
      auto& node = cluster.add_node("n" + std::to_string(i + 1), 4);
      node.hardware.sockets = node.hardware.cores_per_socket = 2;
      node.features = node.active_features = {"f" + std::to_string(i + 1), "all"};
    }
    cluster.add_partition("debug");
    cluster.add_partition("low", {0, 1});
  }
  Reservation draft(int from = 10, int to = 20, std::uint64_t with = 0) {
    Reservation r;
    r.name = "new";
    r.start = at_minute(from);
    r.end = at_minute(to);
    r.flags = with;
    return r;
  }
  model::View view() {
    model::View out = cluster.view();
    out.reservations = std::make_shared<const std::vector<Reservation>>(list);
    return out;
  }
  void keep(std::string name, Reservation r, std::vector<std::uint32_t> nodes = {}) {
    r.name = std::move(name);
    for (const std::uint32_t node : nodes) r.nodes.push_back({.node = NodeIndex{node}});
    list.push_back(std::move(r));
  }
  // "n1 n3[0-1]" or the name of the error.
  std::string choice(Reservation r, std::optional<std::string> names = {}) {
    const model::View now = view();
    if (auto ok = choose_reserved_nodes(now, {names}, at_minute(0), r); !ok)
      return std::string(name_of(ok.error().code));
    flags = r.flags;
    partition = r.partition;
    return text_of(r);
  }
  std::string text_of(const Reservation& r) {
    std::string out;
    for (const auto& row : r.nodes) {
      if (!out.empty()) out += ' ';
      out += cluster.node(row.node.value).name;
      for (const auto core : row.cores) out += "." + std::to_string(core);
      for (const auto& grant : row.devices)
        for (const auto index : grant.indices) out += ":" + grant.gres + std::to_string(index);
    }
    return out;
  }
  void run_on(std::uint32_t node, std::uint32_t limit_minutes) {
    auto allocation = std::make_shared<model::Allocation>();
    allocation->nodes.push_back({NodeIndex{node}, {0}, 1, 1, {}});
    const JobId id = cluster.submit(wants_tasks(1, limit_minutes)).id;
    cluster.start({id, {}, allocation}, at_minute(0));
  }

  TestCluster cluster;
  std::vector<Reservation> list;
  std::uint64_t flags = 0;
  std::string partition;
};

TEST_F(ReservationChoice, ByName) {
  EXPECT_EQ(choice(draft(), "n3,n1"), "n1 n3");
  EXPECT_EQ(flags, model::kResvSpecNodes);
  EXPECT_EQ(choice(draft(), "n9"), "InvalidNode");
  EXPECT_EQ(choice(draft(), "n[1-"), "InvalidArgument");
  EXPECT_EQ(choice(draft(), "ALL"), "n1 n2 n3 n4");
  EXPECT_EQ(flags, model::kResvSpecNodes | model::kResvAllNodes);
  Reservation part = draft(10, 20, model::kResvPartNodes);
  EXPECT_EQ(choice(part, "all"), "InvalidPartition");
  part.partition = "low";
  EXPECT_EQ(choice(part, "all"), "n1 n2");
  EXPECT_EQ(choice(draft(10, 20, model::kResvReplace), "n1"), "InvalidNode");
  Reservation cores = draft();
  cores.core_counts = {2};
  EXPECT_EQ(choice(cores, "n4"), "n4.0.1");
  EXPECT_EQ(choice(cores, "n[1-2]"), "n1.0 n2.0");
  cores.core_counts = {1, 4};
  EXPECT_EQ(choice(cores, "n[1-2]"), "n1.0 n2");  // all cores: the node
  cores.core_counts = {1, 5};
  EXPECT_EQ(choice(cores, "n[1-2]"), "NodesBusy");
  EXPECT_EQ(choice(cores, "n[1-3]"), "InvalidArgument");
}

TEST_F(ReservationChoice, AnyNodesAreForLicenses) {
  Reservation r = draft(10, 20, model::kResvAnyNodes);
  EXPECT_EQ(choice(r), "InvalidReservation");
  EXPECT_EQ(choice(r, "n2"), "n2");
  r.licenses = {{"matlab", 1}};
  r.node_counts = {2};
  EXPECT_EQ(choice(r), "") << "the number does not count";
}

TEST_F(ReservationChoice, AnotherNumber) {
  Reservation r = draft();
  r.node_counts = {3};
  ASSERT_TRUE(choose_reserved_nodes(view(), {}, at_minute(0), r));
  const auto resized = [&](std::vector<std::uint32_t> counts) {
    r.node_counts = std::move(counts);
    const Status done = resize_reservation(view(), at_minute(0), r);
    return done ? text_of(r) : std::string(name_of(done.error().code));
  };
  run_on(0, 5);
  EXPECT_EQ(resized({2}), "n1 n3") << "an idle one goes first";
  EXPECT_EQ(resized({3}), "n1 n2 n3");
  EXPECT_EQ(resized({5}), "NodesBusy");
  EXPECT_EQ(resized({0}), "InvalidNodeCount");
  keep("other", draft(12, 15), {3});
  EXPECT_EQ(resized({4}), "NodesBusy") << "somebody else has it then";
}

TEST_F(ReservationChoice, ByCount) {
  Reservation r = draft();
  EXPECT_EQ(choice(r), "InvalidNode");
  r.node_counts = {2};
  EXPECT_EQ(choice(r), "n1 n2");
  EXPECT_EQ(partition, "debug");
  r.node_counts = {2, 1};
  EXPECT_EQ(choice(r), "n1 n2 n3");
  r.node_counts = {5};
  EXPECT_EQ(choice(r), "NodesBusy");
  r.node_counts = {1};
  r.features = "f2";
  EXPECT_EQ(choice(r), "n2");
  r.features = "nosuch";
  EXPECT_EQ(choice(r), "InvalidFeature");
  r.features = "f3";
  r.partition = "low";
  EXPECT_EQ(choice(r), "NodeConfigUnavailable");
  r.partition = "nosuch";
  EXPECT_EQ(choice(r), "InvalidPartition");
}

TEST_F(ReservationChoice, CoresAndTres) {
  Reservation r = draft();
  r.core_counts = {6};
  EXPECT_EQ(choice(r), "n1 n2.0.1");
  r.core_counts = {3};
  r.node_counts = {1};
  EXPECT_EQ(choice(r), "n1.0.1.2");
  r.core_counts = {4};
  r.node_counts = {2};
  EXPECT_EQ(choice(r), "n1.0.1 n2.0.1");
  r.core_counts = {100};
  r.node_counts.clear();
  EXPECT_EQ(choice(r), "NodesBusy");
  r.core_counts.clear();
  r.tres = {{"cpu", 5}};
  EXPECT_EQ(choice(r), "n1 n2.0");
  r.tres = {{"node", 2}};
  EXPECT_EQ(choice(r), "n1 n2");
  r.tres = {{"foo", 2}};
  EXPECT_EQ(choice(r), "InvalidTres");
  for (const std::uint32_t n : {1u, 2u}) cluster.node(n).hardware.gres = {{"gpu", "a", 2, ""}, {"gpu", "b", 2, ""}};
  r.tres = {{"gres/gpu", 5}};
  EXPECT_EQ(choice(r), "n2:gpu0:gpu1:gpu2:gpu3 n3:gpu0");
  r.tres = {{"gres/gpu:b", 3}};
  EXPECT_EQ(choice(r), "n2:gpu2:gpu3 n3:gpu2");
  r.tres = {{"gres/gpu:c", 1}};
  EXPECT_EQ(choice(r), "NodesBusy");
  r.tres = {{"license/matlab", 3}};
  r.flags = model::kResvAnyNodes;
  EXPECT_EQ(choice(r), "");
}

TEST_F(ReservationChoice, StaysClearOfOthers) {
  keep("a", draft(15, 30), {0});
  Reservation some = draft(15, 30);
  some.nodes = {{.node = NodeIndex{1}, .cores = {0, 1}}};
  keep("b", some);
  Reservation r = draft();
  r.node_counts = {2};
  EXPECT_EQ(choice(r), "n3 n4");
  r.node_counts = {3};
  EXPECT_EQ(choice(r), "NodesBusy");
  r.flags = model::kResvOverlap;
  EXPECT_EQ(choice(r), "n1 n2 n3");
  EXPECT_EQ(choice(draft(), "n1"), "ReservationOverlap");
  EXPECT_EQ(choice(draft(), "n2"), "ReservationOverlap");
  EXPECT_EQ(choice(draft(30, 40), "n1"), "n1");
  EXPECT_EQ(choice(draft(10, 20, model::kResvMaint), "n1"), "n1");
  Reservation cores = draft();
  cores.core_counts = {2};
  EXPECT_EQ(choice(cores, "n2"), "n2.2.3");
  EXPECT_EQ(choice(cores, "n1"), "NodesBusy");
}

TEST_F(ReservationChoice, StaysClearOfJobsAndPrefersIdleNodes) {
  run_on(0, 5);    // over before it begins
  run_on(1, 500);  // not
  cluster.node(2).weight = 9;
  Reservation r = draft();
  r.node_counts = {2};
  EXPECT_EQ(choice(r), "n3 n4");
  r.node_counts = {3};
  EXPECT_EQ(choice(r), "n1 n3 n4");
  r.node_counts = {4};
  EXPECT_EQ(choice(r), "NodesBusy");
  EXPECT_EQ(choice(draft(), "n2"), "NodesBusy");
  r.flags = model::kResvIgnoreJobs;
  EXPECT_EQ(choice(r), "n1 n2 n3 n4");
  EXPECT_EQ(choice(draft(10, 20, model::kResvIgnoreJobs), "n2"), "n2");
  r.node_counts = {1};
  EXPECT_EQ(choice(r), "n4");  // idle, and cheaper than n3
}

TEST_F(ReservationChoice, ReplacesNodes) {
  Reservation r = draft();
  r.partition = "debug";
  r.node_counts = {2};
  r.nodes = {{.node = NodeIndex{0}}, {.node = NodeIndex{1}}};
  const auto after = [&](const Reservation& old) {
    const auto out = with_replacements(view(), old, at_minute(0));
    return out ? text_of(*out) : "-";
  };
  EXPECT_EQ(after(r), "-");
  cluster.node(1).down = true;
  EXPECT_EQ(after(r), "n1 n3");
  r.flags = model::kResvStaticAlloc;
  EXPECT_EQ(after(r), "-");
  r.flags = 0;
  run_on(0, 500);
  EXPECT_EQ(after(r), "n1 n3");
  r.flags = model::kResvReplace;
  EXPECT_EQ(after(r), "n3 n4");
  cluster.node(3).down = true;
  EXPECT_EQ(after(r), "n1 n3");  // as many as there are
  cluster.node(2).down = true;
  EXPECT_EQ(after(r), "-");
}

}  // namespace
}  // namespace spur::sched
