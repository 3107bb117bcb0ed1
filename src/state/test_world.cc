// SPDX-License-Identifier: Apache-2.0
#include "state/test_world.h"

#include <utility>

namespace spur::state {

World::World() = default;
World::~World() = default;

World::World(int nodes, std::uint32_t cpus, std::uint32_t gpus, model::ClusterConfig config) {
  for (int i = 1; i <= nodes; ++i) {
    model::NodeConfig node;
    node.name = "n" + std::to_string(i);
    node.cpus = cpus;
    node.memory_mib = 1000;
    if (gpus) node.gres.push_back({"gpu", "", gpus, ""});
    config.nodes.push_back(node);
  }
  model::PartitionConfig partition;
  partition.name = "main";
  partition.is_default = true;
  partition.nodes = "ALL";
  config.partitions.push_back(partition);
  must(SetConfig{config});
  for (int i = 1; i <= nodes; ++i) must(registration("n" + std::to_string(i), cpus));
}

RegisterNode World::registration(const std::string& name, std::uint32_t cpus, std::uint64_t memory_mib) {
  RegisterNode command;
  command.name = name;
  command.address = name + ":6818";
  command.found.cpus = cpus;
  command.found.memory_mib = memory_mib;
  return command;
}

Outcome World::run(Command command) {
  now += seconds(1);
  effects.clear();
  Batch batch{now, {}};
  batch.commands.push_back(std::move(command));
  auto outcomes = cluster.apply(cluster.index() + 1, batch, &effects);
  const Status sound = cluster.check_invariants();
  EXPECT_TRUE(sound) << sound.error().message;
  return std::move(outcomes.at(0));
}

Outcome World::must(Command command) {
  Outcome outcome = run(std::move(command));
  EXPECT_TRUE(outcome.status) << outcome.status.error().message;
  return outcome;
}

ErrorCode World::refusal(Command command) {
  const auto before = cluster.image();
  const Outcome outcome = run(std::move(command));
  EXPECT_FALSE(outcome.status);
  const auto after = cluster.image();
  EXPECT_EQ(before.jobs, after.jobs);
  EXPECT_EQ(before.nodes, after.nodes);
  EXPECT_EQ(before.tokens, after.tokens);
  EXPECT_EQ(before.next_job_id, after.next_job_id);
  EXPECT_TRUE(effects.empty());
  return outcome.status ? ErrorCode::Internal : outcome.status.error().code;
}

const model::Job& World::job(std::uint32_t id) const {
  const model::Job* found = model::find_job(view(), JobId{id});
  if (!found) ADD_FAILURE() << "no job " << id;
  static const model::Job none{};
  return found ? *found : none;
}

std::uint32_t World::submit(model::JobSpec spec) {
  return must(SubmitJob{std::make_shared<const model::JobSpec>(std::move(spec)), {}}).job.value;
}

std::shared_ptr<model::Allocation> World::on(std::uint32_t node, std::vector<model::CpuNumber> cpus) {
  return on(std::vector<std::uint32_t>{node}, std::move(cpus));
}

std::shared_ptr<model::Allocation> World::on(std::vector<std::uint32_t> nodes, std::vector<model::CpuNumber> cpus) {
  auto allocation = std::make_shared<model::Allocation>();
  allocation->partition = "main";
  for (const std::uint32_t n : nodes) allocation->nodes.push_back({NodeIndex{n}, cpus, 10, 1, {}});
  return allocation;
}

std::uint32_t World::start(std::uint32_t id, std::shared_ptr<const model::Allocation> allocation,
                           std::optional<std::uint32_t> task) {
  return must(StartJob{JobId{id}, task, std::move(allocation)}).job.value;
}

NodeJobDone World::done_report(std::uint32_t id, const std::string& node, std::uint16_t code) const {
  NodeJobDone report;
  report.job = JobId{id};
  report.epoch = job(id).epoch;
  report.node = node;
  report.exit.code = code;
  report.is_batch_host = node == job(id).batch_host;
  return report;
}

model::JobSpec spec(std::string name) {
  model::JobSpec out;
  out.name = std::move(name);
  out.uid = Uid{1000};
  return out;
}

model::JobSpec array_spec(std::uint32_t first, std::uint32_t last, std::uint32_t max_running) {
  model::JobSpec out = spec("array");
  out.array.emplace();
  out.array->tasks.insert_range(first, last);
  out.array->max_running = max_running;
  return out;
}

model::Qos qos(std::string name, std::uint32_t priority) {
  model::Qos out;
  out.name = std::move(name);
  out.priority = priority;
  return out;
}

JobTarget target(std::uint32_t id) {
  return {JobId{id}, {}};
}

JobTarget tasks_of(std::uint32_t id, std::uint32_t first, std::uint32_t last) {
  IndexSet tasks;
  tasks.insert_range(first, last);
  return {JobId{id}, tasks};
}

CancelJob cancel(JobTarget what) {
  CancelJob command;
  command.target = std::move(what);
  command.by_user = true;
  command.by = Uid{1000};
  return command;
}

}  // namespace spur::state
