// SPDX-License-Identifier: Apache-2.0
#include "sched/request.h"

#include <gtest/gtest.h>

#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

class RequestTest : public testing::Test {
 protected:
  RequestTest() {
    cluster_.add_nodes(3, 4);
    cluster_.node(1).hardware.gres = {{"gpu", "a", 2, ""}, {"gpu", "b", 1, ""}};
    partition_ = &cluster_.add_partition("p");
  }
  Result<Request> make(const model::JobSpec& spec) {
    const model::View view = cluster_.view();
    return make_request(view, Columns(view), spec, 0, spec.time_limit);
  }
  ErrorCode refusal(const model::JobSpec& spec) {
    const auto request = make(spec);
    return request ? ErrorCode::Internal : request.error().code;
  }
  TestCluster cluster_;
  model::PartitionConfig* partition_;
};

TEST_F(RequestTest, Size) {
  model::JobSpec spec;
  auto plain = make(spec);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->min_nodes, 1u);
  EXPECT_EQ(plain->max_nodes, kNoLimit);
  EXPECT_FALSE(plain->tasks_fixed);
  EXPECT_EQ(plain->tasks_per_node, 1u);

  spec.min_nodes = 2;
  spec.max_nodes = 4;
  spec.tasks = 6;
  spec.cpus_per_task = 3;
  auto ranged = make(spec);
  EXPECT_TRUE(ranged->spread);
  EXPECT_TRUE(ranged->tasks_fixed);
  EXPECT_EQ(ranged->max_nodes, 4u);

  partition_->max_nodes = 3;
  partition_->min_nodes = 3;
  ranged = make(spec);
  EXPECT_EQ(ranged->min_nodes, 3u);
  EXPECT_EQ(ranged->max_nodes, 3u);
}

TEST_F(RequestTest, NodesByName) {
  model::JobSpec spec;
  spec.required_nodes = "n[3,1],n3";
  auto request = make(spec);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->required, (std::vector<NodeNumber>{0, 2}));
  EXPECT_EQ(request->min_nodes, 2u);
  spec.required_nodes = "n9";
  EXPECT_EQ(refusal(spec), ErrorCode::InvalidNode);
  spec.required_nodes = "n[";
  EXPECT_EQ(refusal(spec), ErrorCode::InvalidNode);
}

TEST_F(RequestTest, Gres) {
  using Per = model::GresRequest::Per;
  model::JobSpec spec;
  spec.gres = {{"gpu", "", 2, Per::Node}};
  EXPECT_EQ(make(spec)->gres_per_node.at(0).gres.size(), 2u);
  spec.gres = {{"gpu", "b", 2, Per::Job}};
  EXPECT_EQ(make(spec)->gres_per_job.at(0).gres.size(), 1u);
  spec.gres = {{"gpu", "a", 1, Per::Node}, {"gpu", "b", 1, Per::Node}};
  EXPECT_EQ(make(spec)->gres_per_node.size(), 2u);
  spec.gres = {{"gpu", "", 0, Per::Node}};
  EXPECT_TRUE(make(spec)->gres_per_node.empty());

  for (const auto& bad :
       std::vector<std::vector<model::GresRequest>>{{{"disk", "", 1, Per::Node}},
                                                    {{"gpu", "", 1, Per::Socket}},
                                                    {{"gpu", "", 1, Per::Node}, {"gpu", "a", 1, Per::Node}},
                                                    {{"gpu", "a", 2, Per::Node}, {"gpu", "a", 3, Per::Job}},
                                                    {{"gpu", "", kMaxDevices + 1, Per::Node}}}) {
    spec.gres = bad;
    EXPECT_EQ(refusal(spec), ErrorCode::InvalidGres) << bad[0].name << ':' << bad[0].type;
  }
  spec.gres = {{"gpu", "c", 1, Per::Node}};  // the name is known, a type is something that nodes have
  EXPECT_EQ(refusal(spec), ErrorCode::NodeConfigUnavailable);
}

// What GPUs per job, node and task say about each other, and about tasks, CPUs and memory.
TEST_F(RequestTest, GpusInSeveralWays) {
  using Per = model::GresRequest::Per;
  cluster_.config->memory_as = model::MemoryAs::Consumable;
  const auto gpus = [](std::initializer_list<model::GresRequest> wishes) {
    model::JobSpec spec;
    spec.gres = wishes;
    return spec;
  };
  auto request = make(gpus({{"gpu", "", 8, Per::Job}, {"gpu", "", 2, Per::Node}}));
  EXPECT_EQ(request->min_nodes, 4u);
  EXPECT_EQ(request->max_nodes, 4u);
  EXPECT_TRUE(request->gres_per_job.empty());

  request = make(gpus({{"gpu", "a", 6, Per::Job}, {"gpu", "a", 2, Per::Task}}));
  EXPECT_TRUE(request->tasks_fixed);
  EXPECT_EQ(request->tasks, 3u);

  request = make(gpus({{"gpu", "", 4, Per::Node}, {"gpu", "", 2, Per::Task}}));
  EXPECT_EQ(request->tasks_per_node, 2u);
  EXPECT_EQ(request->gres_per_node.at(0).count, 4);
  EXPECT_TRUE(request->gres_per_task.empty());

  auto spec = gpus({{"gpu", "", 4, Per::Job}});
  spec.tasks_per_gpu = 2;
  spec.cpus_per_task = 3;
  request = make(spec);
  EXPECT_EQ(request->lot, 2u);
  EXPECT_EQ(request->tasks, 4u);  // lots
  EXPECT_EQ(request->cpus_per_task, 6);
  EXPECT_EQ(request->gres_per_task.at(0).count, 1);
  spec.tasks = 7;
  EXPECT_EQ(refusal(spec), ErrorCode::InvalidGres);

  spec = gpus({{"gpu", "", 2, Per::Node}});
  spec.cpus_per_gpu = 3;
  spec.memory_per_gpu_mib = 100;
  request = make(spec);
  EXPECT_EQ(request->min_cpus, 6);
  EXPECT_EQ(request->memory, MemoryNeed::PerNode);
  EXPECT_EQ(request->memory_mib, 200);
  spec.gres[0].per = Per::Task;
  request = make(spec);
  EXPECT_EQ(request->cpus_per_task, 6);
  EXPECT_EQ(request->memory, MemoryNeed::PerTask);
  spec.gres[0].per = Per::Job;
  request = make(spec);
  EXPECT_EQ(request->cpus_per_gpu, 3);
  EXPECT_EQ(request->memory, MemoryNeed::PerGpu);
}

TEST_F(RequestTest, Licenses) {
  cluster_.config->licenses = {{"x", 3}, {"y", 1}};
  model::JobSpec spec;
  spec.licenses = {{"x", 1}, {"x", 2}};
  EXPECT_EQ(make(spec)->licenses, (std::vector<std::pair<std::size_t, Amount>>{{0, 3}}));
  spec.licenses = {{"x", 2}, {"x", 2}};
  EXPECT_EQ(refusal(spec), ErrorCode::InvalidLicense);
  spec.licenses = {{"z", 1}};
  EXPECT_EQ(refusal(spec), ErrorCode::InvalidLicense);
}

TEST_F(RequestTest, Memory) {
  const auto wish = [&](const model::JobSpec& spec) { return memory_wish(*cluster_.config, *partition_, spec); };
  model::JobSpec spec;
  EXPECT_EQ(wish(spec).need, MemoryNeed::None);
  cluster_.config->memory_as = model::MemoryAs::Consumable;
  EXPECT_EQ(wish(spec).need, MemoryNeed::WholeNode);
  cluster_.config->default_memory_per_cpu_mib = 10;
  EXPECT_EQ(wish(spec).need, MemoryNeed::PerCpu);
  partition_->default_memory_per_node_mib = 20;
  EXPECT_EQ(wish(spec).mib, 20u);
  spec.memory_per_cpu_mib = 100;
  EXPECT_EQ(wish(spec).mib, 100u);
  // Over MaxMemPerCPU: more CPUs with less each.
  partition_->max_memory_per_cpu_mib = 40;
  EXPECT_EQ(wish(spec).cpu_factor, 3u);
  EXPECT_EQ(wish(spec).mib, 34u);
  EXPECT_EQ(make(spec)->cpus_per_task, 3);
  spec.memory_per_cpu_mib.reset();
  spec.memory_per_node_mib = 0;
  EXPECT_EQ(wish(spec).need, MemoryNeed::WholeNode);
}

TEST_F(RequestTest, TimeLimit) {
  partition_->max_time = TimeLimit::of_minutes(50);
  EXPECT_EQ(limit_in(*partition_, {}), TimeLimit::of_minutes(50));
  partition_->default_time = TimeLimit::of_minutes(20);
  EXPECT_EQ(limit_in(*partition_, {}), TimeLimit::of_minutes(20));
  EXPECT_EQ(limit_in(*partition_, TimeLimit::of_minutes(5)), TimeLimit::of_minutes(5));

  Request request;
  request.limit = TimeLimit::of_minutes(5);
  EXPECT_EQ(request.end_of_run(at_minute(1)), at_minute(6));
  request.limit = TimeLimit::of_minutes(0);
  EXPECT_EQ(request.end_of_run(at_minute(1)), at_minute(2));
  request.limit = TimeLimit::unlimited();
  EXPECT_GT(request.end_of_run(at_minute(1)), kNever);
  EXPECT_GT(request.end_of_run(kNever + seconds(5)), kNever + seconds(5));
}

TEST_F(RequestTest, LimitThatFits) {
  Request request;
  request.limit = TimeLimit::of_minutes(60);
  const Time start = at_minute(0);
  EXPECT_EQ(limit_until(request, start, at_minute(60)), TimeLimit::of_minutes(60));
  EXPECT_EQ(limit_until(request, start, at_minute(59)), TimeLimit());  // it is not to be cut
  request.least_limit = TimeLimit::of_minutes(20);
  EXPECT_EQ(limit_until(request, start, at_minute(90)), TimeLimit::of_minutes(60));
  EXPECT_EQ(limit_until(request, start, at_minute(59)), TimeLimit::of_minutes(59));
  EXPECT_EQ(limit_until(request, start, at_minute(30) + seconds(59)), TimeLimit::of_minutes(30));
  EXPECT_EQ(limit_until(request, start, at_minute(20)), TimeLimit::of_minutes(20));
  EXPECT_EQ(limit_until(request, start, at_minute(20) - seconds(1)), TimeLimit());
  EXPECT_EQ(limit_until(request, start, start), TimeLimit());
  request.limit = TimeLimit::unlimited();
  EXPECT_EQ(limit_until(request, start, at_minute(25)), TimeLimit::of_minutes(25));
}

TEST_F(RequestTest, NodesWithoutOtherUsers) {
  model::JobSpec spec;
  EXPECT_FALSE(make(spec)->user_alone);
  spec.exclusive = model::Exclusive::User;
  EXPECT_TRUE(make(spec)->user_alone);
  EXPECT_FALSE(make(spec)->exclusive);
  spec.exclusive = model::Exclusive::Mcs;
  EXPECT_EQ(refusal(spec), ErrorCode::NotSupported);
  spec = {};
  partition_->exclusive_user = true;
  EXPECT_TRUE(make(spec)->user_alone);
  spec.exclusive = model::Exclusive::Node;  // there is nobody else at all
  EXPECT_FALSE(make(spec)->user_alone);
}

// A limit that may be cut is, by the partition; the least one is never above the limit.
TEST_F(RequestTest, LeastLimits) {
  model::JobSpec spec;
  spec.time_limit = TimeLimit::of_minutes(60);
  spec.time_min = TimeLimit::of_minutes(20);
  EXPECT_EQ(make(spec)->limit, TimeLimit::of_minutes(60));
  EXPECT_EQ(make(spec)->least_limit, TimeLimit::of_minutes(20));
  partition_->max_time = TimeLimit::of_minutes(30);
  EXPECT_EQ(make(spec)->limit, TimeLimit::of_minutes(30));
  partition_->max_time = TimeLimit::of_minutes(10);
  EXPECT_EQ(make(spec)->limit, TimeLimit::of_minutes(60));
  spec.time_limit = TimeLimit::of_minutes(15);
  EXPECT_EQ(make(spec)->least_limit, TimeLimit::of_minutes(15));
}

// Every field that make_request reads must tell two wishes apart, or a class would hold jobs of different kinds.
TEST_F(RequestTest, WishesThatDiffer) {
  const std::vector<std::function<void(model::JobSpec&)>> edits{
      [](auto& s) { s.partitions = {"q"}; },
      [](auto& s) { s.reservation = "r"; },
      [](auto& s) { s.min_nodes = 2; },
      [](auto& s) { s.max_nodes = 1; },
      [](auto& s) { s.tasks = 1; },
      [](auto& s) { s.tasks_per_node = 1; },
      [](auto& s) { s.cpus_per_task = 2; },
      [](auto& s) { s.min_cpus_per_node = 1; },
      [](auto& s) { s.memory_per_node_mib = 0; },
      [](auto& s) { s.memory_per_cpu_mib = 0; },
      [](auto& s) { s.tmp_disk_mib = 1; },
      [](auto& s) { s.gres = {{"gpu", "", 1, model::GresRequest::Per::Node}}; },
      [](auto& s) { s.licenses = {{"x", 1}}; },
      [](auto& s) { s.exclusive = model::Exclusive::Node; },
      [](auto& s) { s.overcommit = true; },
      [](auto& s) { s.contiguous = true; },
      [](auto& s) { s.tasks_per_gpu = 1; },
      [](auto& s) { s.tasks_per_core = 1; },
      [](auto& s) { s.time_min = TimeLimit::of_minutes(1); },
      [](auto& s) { s.distribution.plane_size = 1; },
      [](auto& s) { s.tasks_per_socket = 1; },
      [](auto& s) { s.hint = model::Hint::NoMultithread; },
      [](auto& s) { s.sockets_per_node = 1; },
      [](auto& s) { s.cores_per_socket = 1; },
      [](auto& s) { s.threads_per_core = 1; },
      [](auto& s) { s.cpus_per_gpu = 1; },
      [](auto& s) { s.memory_per_gpu_mib = 1; },
      [](auto& s) { s.cpus_per_task_given = true; },
      [](auto& s) { s.gres_flags = 1; },
      [](auto& s) { s.spread_nodes = true; },
      [](auto& s) { s.fewest_nodes = true; },
      [](auto& s) { s.switches = 1; },
      [](auto& s) { s.switch_wait_seconds = 1; },
      [](auto& s) { s.segment = 1; },
      [](auto& s) { s.prefer = "a"; },
      [](auto& s) { s.features = "a"; },
      [](auto& s) { s.required_nodes = "n1"; },
      [](auto& s) { s.excluded_nodes = "n1"; },
      [](auto& s) { s.deadline = at_minute(1); },
  };
  const model::JobSpec plain;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    model::JobSpec edited;
    edits[i](edited);
    EXPECT_FALSE(same_wish(plain, edited)) << "edit " << i;
  }
  model::JobSpec other;
  other.name = "x";
  other.uid = Uid(7);
  other.nice = 3;
  other.priority = 9;
  other.array.emplace();
  EXPECT_TRUE(same_wish(plain, other));
  EXPECT_EQ(wish_hash(plain), wish_hash(other));
}

}  // namespace
}  // namespace spur::sched
