// SPDX-License-Identifier: Apache-2.0
// Preemption: whether everybody for whom others go starts, how much work is lost against the least possible, and what
// a cycle costs.
//
//   spur-bench-preempt states N   lives of random clusters until N states were seen; exit 1 if one of them is wrong
//   spur-bench-preempt seed N     one life, told on stderr
//   spur-bench-preempt cost       time of a full cycle with preemption at 1,000 and 10,000 nodes
//
// Prints "name value" lines, which bench/run reads.
#include "preempt_states.h"

#include <cstring>
#include <ctime>

using namespace spur;
using namespace spur::bench;

namespace {

int states(std::uint64_t wanted, std::uint64_t only) {
  Counts counts;
  for (std::uint64_t seed = only ? only : 1; counts.states < wanted; ++seed) {
    RandomPreemption life(seed, counts);
    life.tells = only != 0;
    life.live();
    if (only) break;
  }
  std::printf("states %llu\n", static_cast<unsigned long long>(counts.states));
  std::printf("preemptions %llu\n", static_cast<unsigned long long>(counts.preemptions));
  std::printf("victims %llu\n", static_cast<unsigned long long>(counts.victims));
  std::printf("resumes %llu\n", static_cast<unsigned long long>(counts.resumes));
  std::printf("in_vain %llu\n", static_cast<unsigned long long>(counts.in_vain));
  std::printf("refused %llu\n", static_cast<unsigned long long>(counts.refused));
  std::printf("differ %llu\n", static_cast<unsigned long long>(counts.differ));
  std::printf("judged %llu\n", static_cast<unsigned long long>(counts.judged));
  std::printf("over_1.2 %llu\n", static_cast<unsigned long long>(counts.over));
  std::printf("loss_mean %.4f\n", counts.judged ? counts.sum / static_cast<double>(counts.judged) : 1.0);
  std::printf("loss_worst %.4f\n", counts.worst);
  const bool wrong = counts.in_vain + counts.refused + counts.differ + counts.over > 0 || counts.preemptions == 0;
  return wrong ? 1 : 0;
}

// Nodes of 64 CPUs full of low jobs of 1 to 64 CPUs; jobs of higher tier of several shapes wait.
void cost_at(std::uint32_t nodes) {
  Dice dice(1);
  Living world;
  model::ClusterConfig config;
  config.preempt.by = model::PreemptBy::PartitionTier;
  config.preempt.how = model::PreemptHow::Requeue;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    model::NodeConfig node;
    node.name = "n" + std::to_string(i + 1);
    node.cpus = 64;
    node.memory_mib = 1000;
    config.nodes.push_back(node);
  }
  for (std::uint32_t tier = 1; tier <= 2; ++tier) {
    model::PartitionConfig partition;
    partition.name = "p" + std::to_string(tier);
    partition.is_default = tier == 1;
    partition.nodes = "ALL";
    partition.priority_tier = tier;
    config.partitions.push_back(partition);
  }
  world.must(state::SetConfig{config});
  for (const auto& node : config.nodes) {
    state::RegisterNode hello;
    hello.name = hello.hostname = node.name;
    hello.address = node.name + ":1";
    hello.found.cpus = hello.found.sockets = 64;
    hello.found.memory_mib = 1000;
    world.must(hello);
  }
  const auto submit = [&](std::uint32_t tier, std::uint32_t count, std::uint32_t tasks) {
    auto spec = std::make_shared<model::JobSpec>();
    spec->uid = Uid{1000};
    spec->tasks = tasks;
    spec->requeue = true;
    spec->time_limit = TimeLimit::of_minutes(600);
    spec->partitions = {"p" + std::to_string(tier)};
    if (count > 0) {
      spec->min_nodes = count;
      spec->max_nodes = count;
      spec->nodes_given = true;
    }
    return world.run(state::SubmitJob{std::move(spec), {}}).job;
  };
  for (std::uint32_t n = 0; n < nodes; ++n) {
    world.now += milliseconds(dice.below(2000));
    for (std::uint16_t used = 0; used < 64;) {
      const auto cpus = static_cast<std::uint16_t>(std::min<std::uint32_t>(64u - used, 1u << dice.below(7)));
      const JobId id = submit(1, 0, cpus);
      auto allocation = std::make_shared<model::Allocation>();
      allocation->partition = "p1";
      model::NodeGrant grant{NodeIndex{n}, {}, 0, cpus, {}};
      for (std::uint16_t cpu = used; cpu < used + cpus; ++cpu) grant.cpus.push_back(cpu);
      allocation->nodes.push_back(grant);
      world.must(state::StartJob{id, {}, std::move(allocation)});
      used = static_cast<std::uint16_t>(used + cpus);
    }
  }
  world.now += minutes(10);
  for (int i = 0; i < 3000; ++i) submit(1, 0, 1 + dice.below(64));
  sched::Engine engine({.as_configured = true});
  engine.see(world.view());
  const auto timed = [&] {
    const std::clock_t begin = std::clock();  // time of the processor, whoever else wants it
    auto plan = engine.plan(world.now);
    const double ms = 1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    return std::pair(ms, std::move(plan));
  };
  (void)timed();
  const double before = timed().first;
  for (const auto& [count, tasks] : {std::pair{1u, 1u}, {1u, 32u}, {1u, 64u}, {8u, 512u}, {32u, 2048u}, {64u, 64u}})
    for (int i = 0; i < 4; ++i) submit(2, count, tasks);
  engine.see(world.view());
  (void)timed();
  const auto [after, plan] = timed();
  std::size_t victims = 0;
  for (const auto& preemption : plan.preemptions) victims += preemption.victims.size();
  std::printf("cycle_ms_without_%u %.2f\n", nodes, before);
  std::printf("cycle_ms_%u %.2f\n", nodes, after);
  std::printf("preemptions_%u %zu\n", nodes, plan.preemptions.size());
  std::printf("victims_%u %zu\n", nodes, victims);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "states") == 0) return states(std::strtoull(argv[2], nullptr, 10), 0);
  if (argc == 3 && std::strcmp(argv[1], "seed") == 0) return states(1, std::strtoull(argv[2], nullptr, 10));
  if (argc == 2 && std::strcmp(argv[1], "cost") == 0) {
    cost_at(1'000);
    cost_at(10'000);
    return 0;
  }
  std::fprintf(stderr, "usage: %s states N | seed N | cost\n", argv[0]);
  return 2;
}
