// SPDX-License-Identifier: Apache-2.0
#include "sched/eligibility.h"

#include <gtest/gtest.h>

#include <functional>

#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

using model::Reason;

TEST(Eligibility, TheJobItself) {
  const struct {
    const char* what;
    std::function<void(model::Job&)> edit;
    Reason reason;
  } rows[] = {
      {"free", [](auto&) {}, Reason::None},
      {"held by its user", [](auto& j) { j.hold = model::Hold::User; }, Reason::JobHeldUser},
      {"held by an admin", [](auto& j) { j.hold = model::Hold::Admin; }, Reason::JobHeldAdmin},
      {"held, with more to say", [](auto& j) { j.hold = model::Hold::Admin, j.reason = Reason::JobHoldMaxRequeue; },
       Reason::JobHoldMaxRequeue},
      {"held before it waited", [](auto& j) { j.hold = model::Hold::User, j.dependencies_left = {{}}; },
       Reason::JobHeldUser},
      {"an old reason", [](auto& j) { j.reason = Reason::JobHeldUser; }, Reason::None},
      {"waits for a job", [](auto& j) { j.dependencies_left = {{}}; }, Reason::Dependency},
      {"in vain", [](auto& j) { j.dependencies_left = {{}}, j.dependency_never = true; },
       Reason::DependencyNeverSatisfied},
      {"later", [](auto& j) { j.eligible = at_minute(11); }, Reason::BeginTime},
      {"now", [](auto& j) { j.eligible = at_minute(10); }, Reason::None},
  };
  for (const auto& row : rows) {
    TestCluster cluster;
    auto& job = cluster.submit({});
    row.edit(job);
    EXPECT_EQ(own_reason(job, at_minute(10)), row.reason) << row.what;
  }
}

TEST(Eligibility, PartitionAndNodes) {
  using model::JobSpec;
  using model::PartitionConfig;
  const struct {
    const char* what;
    std::function<void(JobSpec&)> spec;
    std::function<void(PartitionConfig&)> partition;
    std::function<void(TestCluster&)> cluster;
    Reason reason;
  } rows[] = {
      {"fine", [](auto&) {}, [](auto&) {}, [](auto&) {}, Reason::None},
      {"down", [](auto&) {}, [](auto& p) { p.state = model::PartitionState::Down; }, [](auto&) {},
       Reason::PartitionDown},
      {"inactive", [](auto&) {}, [](auto& p) { p.state = model::PartitionState::Inactive; }, [](auto&) {},
       Reason::PartitionInactive},
      {"drain lets pending jobs run", [](auto&) {}, [](auto& p) { p.state = model::PartitionState::Drain; },
       [](auto&) {}, Reason::None},
      {"too many nodes for it", [](auto& s) { s.min_nodes = 3; }, [](auto& p) { p.max_nodes = 2; }, [](auto&) {},
       Reason::PartitionNodeLimit},
      {"too few", [](auto& s) { s.max_nodes = 1; }, [](auto& p) { p.min_nodes = 2; }, [](auto&) {},
       Reason::PartitionNodeLimit},
      {"too long", [](auto& s) { s.time_limit = TimeLimit::of_minutes(11); },
       [](auto& p) { p.max_time = TimeLimit::of_minutes(10); }, [](auto&) {}, Reason::PartitionTimeLimit},
      {"long enough", [](auto& s) { s.time_limit = TimeLimit::of_minutes(10); },
       [](auto& p) { p.max_time = TimeLimit::of_minutes(10); }, [](auto&) {}, Reason::None},
      {"unlimited", [](auto& s) { s.time_limit = TimeLimit::unlimited(); },
       [](auto& p) { p.max_time = TimeLimit::of_minutes(10); }, [](auto&) {}, Reason::PartitionTimeLimit},
      {"more nodes than there are", [](auto& s) { s.min_nodes = 5; }, [](auto&) {}, [](auto&) {},
       Reason::PartitionConfig},
      {"more CPUs", [](auto& s) { s.cpus_per_task = 5; }, [](auto&) {}, [](auto&) {}, Reason::PartitionConfig},
      {"more tasks", [](auto& s) { s.tasks = 17; }, [](auto&) {}, [](auto&) {}, Reason::PartitionConfig},
      {"all tasks", [](auto& s) { s.tasks = 16; }, [](auto&) {}, [](auto&) {}, Reason::None},
      {"too much memory", [](auto& s) { s.memory_per_node_mib = 1001; }, [](auto&) {}, [](auto&) {},
       Reason::BadConstraints},
      {"a feature of one node", [](auto& s) { s.features = "red"; }, [](auto&) {}, [](auto&) {}, Reason::None},
      {"on two", [](auto& s) { s.features = "red", s.min_nodes = 2; }, [](auto&) {}, [](auto&) {},
       Reason::BadConstraints},
      {"excluded", [](auto& s) { s.excluded_nodes = "n[1-4]"; }, [](auto&) {}, [](auto&) {}, Reason::BadConstraints},
      {"required and there", [](auto& s) { s.required_nodes = "n2"; }, [](auto&) {}, [](auto&) {}, Reason::None},
      {"required and drained", [](auto& s) { s.required_nodes = "n2"; }, [](auto&) {},
       [](auto& c) { c.node(1).flags = model::kNodeDrain; }, Reason::ReqNodeNotAvail},
      {"too few up", [](auto& s) { s.min_nodes = 4; }, [](auto&) {}, [](auto& c) { c.node(1).down = true; },
       Reason::ReqNodeNotAvail},
      {"enough up", [](auto& s) { s.min_nodes = 3; }, [](auto&) {}, [](auto& c) { c.node(1).down = true; },
       Reason::None},
  };
  for (const auto& row : rows) {
    TestCluster cluster;
    cluster.add_nodes(4, 4);
    cluster.node(2).active_features = {"red"};
    auto& partition = cluster.add_partition("p");
    model::JobSpec spec;
    row.spec(spec);
    row.partition(partition);
    row.cluster(cluster);
    const model::View view = cluster.view();
    const Capacity capacity(view);
    const auto request = make_request(view, capacity.columns(), spec, 0, spec.time_limit);
    ASSERT_TRUE(request) << row.what;
    Reason reason = limit_reason(partition, *request);
    if (reason == Reason::None) reason = find_candidates((*view.partitions)[0], *request, capacity).reason;
    EXPECT_EQ(reason, row.reason) << row.what;
  }
}

}  // namespace
}  // namespace spur::sched
