// SPDX-License-Identifier: Apache-2.0
// For tests at random: what jobs ask for. Each kind of wish is rare enough that jobs still start.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "model/cluster_config.h"
#include "model/job_spec.h"
#include "sched/test_dice.h"

namespace spur::sched {

// What a seed may use; every flavour leaves some things out so that instances stay dense in what they have.
struct Flavour {
  bool threads, memory, gpus, links, shards, sockets, topology, features, weights, partitions, limits, exclusive,
      arrays, licenses, failures, multi_node, reservations, users, het, accounts, sharing = false;
};

// How jobs of the partition share cores, if they do.
inline void share(Dice& dice, model::PartitionConfig& partition) {
  using enum model::OverSubscribe;
  const model::OverSubscribe how[] = {Force, Force, Yes, No};
  partition.oversubscribe = how[dice.below(4)];
  partition.oversubscribe_count = dice.between(1, 4);
}

class RandomSpecs {
 public:
  // `nodes`: how many there are, n0 and on.
  RandomSpecs(Dice& dice, const Flavour& flavour, std::uint32_t nodes)
      : dice_(dice), flavour_(flavour), nodes_(nodes) {}

  model::JobSpec next(Time now) {
    model::JobSpec spec;
    if (!dice_.one_in(4)) spec.time_limit = TimeLimit::of_minutes(dice_.between(1, 5) * dice_.between(1, 10));
    if (dice_.one_in(10)) spec.time_limit = TimeLimit::unlimited();
    if (flavour_.partitions && dice_.one_in(2)) {
      spec.partitions = {"p" + std::to_string(dice_.below(2))};
      if (dice_.one_in(2)) spec.partitions.push_back(spec.partitions[0] == "p0" ? "p1" : "p0");
      if (dice_.one_in(20)) spec.partitions = {"gone"};
    }
    if (flavour_.multi_node && dice_.one_in(2)) {
      spec.min_nodes = dice_.between(1, 3);
      if (dice_.one_in(2)) spec.max_nodes = spec.min_nodes + dice_.below(3);
    }
    if (dice_.one_in(2)) spec.tasks = dice_.between(1, 8);
    if (dice_.one_in(5)) spec.tasks_per_node = dice_.between(1, 3);
    if (dice_.one_in(3)) spec.cpus_per_task = dice_.between(1, 4);
    if (dice_.one_in(8)) spec.min_cpus_per_node = dice_.between(1, 4);
    spec.overcommit = dice_.one_in(12);
    if (dice_.one_in(flavour_.sockets || flavour_.threads ? 3 : 20)) {
      if (dice_.one_in(3)) spec.tasks_per_core = dice_.between(1, 2);
      if (dice_.one_in(3)) spec.tasks_per_socket = dice_.between(1, 3);
      if (dice_.one_in(4)) spec.threads_per_core = dice_.between(1, 2);
      if (dice_.one_in(5)) spec.hint = model::Hint::NoMultithread;
      if (dice_.one_in(6)) spec.sockets_per_node = 2;
      if (dice_.one_in(6)) spec.cores_per_socket = 3;
    }
    if (flavour_.sharing && dice_.one_in(2)) spec.oversubscribe = true;
    if (flavour_.exclusive && dice_.one_in(4)) spec.exclusive = model::Exclusive::Node;
    if (flavour_.exclusive && dice_.one_in(6)) {
      spec.core_spec = dice_.below(5);
      spec.core_spec_is_threads = dice_.one_in(3);
    }
    if (dice_.one_in(3))
      spec.memory_per_node_mib = dice_.below(6) * 100;
    else if (dice_.one_in(4))
      spec.memory_per_cpu_mib = dice_.between(1, 3) * 40;
    if (dice_.one_in(10)) spec.tmp_disk_mib = 150;
    if (flavour_.gpus && dice_.one_in(2)) add_gres(spec);
    if (flavour_.features && dice_.one_in(2)) {
      const char* const wishes[] = {"red",           "red&big",        "red|fast",   "big|fast|red",
                                    "fast",          "nosuch",         "!red",       "(red&big)|fast",
                                    "[red|big]",     "[red|big]&fast", "red*2",      "red*1&big",
                                    "[red*1&big*1]", "red|big&!fast",  "!(red|big)", "big*1&fast*1"};
      spec.features = wishes[dice_.below(16)];
      if (dice_.one_in(3)) spec.prefer = wishes[dice_.below(8)];
    }
    spec.contiguous = flavour_.multi_node && dice_.one_in(10);
    spec.spread_nodes = flavour_.multi_node && dice_.one_in(12);
    spec.fewest_nodes = flavour_.multi_node && dice_.one_in(12);
    if (flavour_.topology && dice_.one_in(4)) {
      spec.switches = dice_.between(1, 2);
      if (dice_.one_in(2)) spec.switch_wait_seconds = 60 * dice_.below(10);
    }
    if (dice_.one_in(6)) spec.time_min = TimeLimit::of_minutes(dice_.between(1, 20));
    if (flavour_.topology && dice_.one_in(8)) spec.segment = dice_.between(1, 2);
    if (dice_.one_in(10)) spec.required_nodes = "n" + std::to_string(dice_.below(nodes_));
    if (dice_.one_in(12)) spec.required_nodes = "n[0-1]";
    if (dice_.one_in(4)) add_distribution(spec);
    if (dice_.one_in(10)) spec.excluded_nodes = "n" + std::to_string(dice_.below(nodes_));
    if (flavour_.licenses && dice_.one_in(2))
      spec.licenses = {{dice_.one_in(2) ? "lic" : "tool", dice_.between(1, 2)}};
    if (dice_.one_in(12)) spec.begin = now + minutes(dice_.between(0, 20));
    if (dice_.one_in(15)) spec.deadline = now + minutes(dice_.between(5, 60));
    if (flavour_.users) {
      spec.uid = Uid(dice_.between(1, 3));
      if (dice_.one_in(6)) spec.exclusive = model::Exclusive::User;
    }
    if (flavour_.reservations) {
      spec.uid = Uid(dice_.between(1, 2));
      if (dice_.one_in(2)) spec.reservation = fmt::format("r{}", dice_.below(4));
      if (!spec.reservation.empty() && dice_.one_in(3)) spec.reservation += fmt::format(",r{}", dice_.below(4));
    }
    if (flavour_.accounts) {
      spec.uid = Uid(dice_.between(1, 3));
      spec.account = dice_.one_in(2) ? "a" : "b";
      if (!dice_.one_in(4)) spec.qos = fmt::format("q{}", dice_.below(3));
    }
    if (dice_.one_in(8)) spec.priority = dice_.between(1, 200'000);
    if (dice_.one_in(8)) spec.nice = static_cast<std::int32_t>(dice_.below(200)) - 100;
    if (flavour_.arrays && dice_.one_in(3)) {
      spec.array.emplace();
      spec.array->tasks.insert_range(dice_.below(3), 3 + dice_.below(12));
      if (dice_.one_in(2)) spec.array->max_running = dice_.between(1, 4);
    }
    return spec;
  }

 private:
  void add_distribution(model::JobSpec& spec) {
    using Nodes = model::Distribution::Nodes;
    using Within = model::Distribution::Within;
    const Nodes ways[] = {Nodes::Unset, Nodes::Block, Nodes::Cyclic, Nodes::Plane};
    const Within within[] = {Within::Unset, Within::Block, Within::Cyclic, Within::FullCyclic};
    spec.distribution.nodes = ways[dice_.below(4)];
    spec.distribution.sockets = within[dice_.below(4)];
    spec.distribution.plane_size = dice_.between(1, 3);
    if (!dice_.one_in(5)) return;
    spec.gres_flags &= ~static_cast<std::uint32_t>(model::kGresEnforceBinding);
    spec.distribution.nodes = Nodes::Arbitrary;
    const auto names = dice_.between(1, 4);
    spec.required_nodes.clear();
    for (std::uint32_t i = 0; i < names; ++i)
      spec.required_nodes += fmt::format("{}n{}", i ? "," : "", dice_.below(std::min(3u, nodes_)));
  }

  void add_gres(model::JobSpec& spec) {
    using Per = model::GresRequest::Per;
    const Per pers[] = {Per::Node, Per::Job, Per::Task};
    const Per per = pers[dice_.below(3)];
    const char* const types[] = {"", "", "a", "b", "c"};
    if (dice_.one_in(8)) spec.gres_flags = model::kGresEnforceBinding;
    if (dice_.one_in(16)) {
      spec.gres.push_back({"gpu", types[dice_.below(5)], dice_.between(1, 2), Per::Socket});
      spec.sockets_per_node = dice_.between(1, 2);
      if (dice_.one_in(3)) spec.cpus_per_gpu = dice_.between(1, 2);
      return;
    }
    if (flavour_.shards && dice_.one_in(2)) {
      spec.gres.push_back({"shard", types[dice_.below(5)], dice_.between(1, 4), per});
      if (dice_.one_in(4)) spec.gres_flags |= model::kGresOneTaskPerSharing;
      return;
    }
    spec.gres.push_back({"gpu", types[dice_.below(5)], dice_.between(1, per == Per::Job ? 6 : 3), per});
    if (dice_.one_in(4)) spec.cpus_per_gpu = dice_.between(1, 3);
    if (dice_.one_in(5)) {
      spec.memory_per_node_mib.reset();
      spec.memory_per_cpu_mib.reset();
      spec.memory_per_gpu_mib = dice_.between(1, 3) * 50;
    }
    if (per != Per::Task && dice_.one_in(5)) spec.tasks_per_gpu = dice_.between(1, 2);
    if (spec.tasks_per_gpu && dice_.one_in(2)) {
      if (dice_.one_in(2)) spec.gres.clear();
      spec.tasks = dice_.between(1, 3) * spec.tasks_per_gpu;
      return;
    }
    if (dice_.one_in(6)) spec.gres.push_back({"gpu", spec.gres[0].type, dice_.between(1, 4), pers[dice_.below(3)]});
    if (dice_.one_in(4)) spec.gres.push_back({"nic", "", 1, pers[dice_.below(3)]});
    if (!spec.gres[0].type.empty() && dice_.one_in(4))
      spec.gres.push_back({"gpu", spec.gres[0].type == "a" ? "c" : "a", 1, Per::Node});
  }

  Dice& dice_;
  const Flavour& flavour_;
  const std::uint32_t nodes_;
};

}  // namespace spur::sched
