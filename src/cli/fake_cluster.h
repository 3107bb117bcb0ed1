// SPDX-License-Identifier: Apache-2.0
// For tests: a cluster frozen at 2026-11-15 18:25:48 UTC. Four nodes, three partitions, and one job of each kind that
// looks different in a table.
#pragma once

#include "cli/fake_controller.h"

namespace spur::cli {

inline const Time kTestNow = from_unix_seconds(1794767148);  // 2026-11-15T18:25:48Z

inline model::NodePtr fake_node(std::uint32_t index, const char* name) {
  auto node = std::make_shared<model::Node>();
  node->index = NodeIndex(index);
  node->name = name;
  node->address = "127.0.0.1:" + std::to_string(6818 + index);
  node->hostname = "vm";
  node->hardware.cpus = node->hardware.sockets = 4;
  node->hardware.memory_mib = 1000;
  node->registered = true;
  node->arch = "x86_64";
  node->os = "Linux 6.1.0";
  node->version = "25.05.0";
  node->boot_time = node->agent_started = node->last_busy = kTestNow - hours(2);
  return node;
}

inline model::Partition fake_partition(const char* name, std::vector<std::uint32_t> nodes) {
  model::Partition partition;
  partition.config.name = name;
  for (const std::uint32_t node : nodes) partition.nodes.emplace_back(node);
  return partition;
}

struct FakeJob {
  std::shared_ptr<model::Job> job = std::make_shared<model::Job>();
  std::shared_ptr<model::JobSpec> spec = std::make_shared<model::JobSpec>();

  FakeJob(std::uint32_t id, const char* name) {
    job->id = JobId(id);
    job->priority = 4294901759u - id;
    job->time_limit = TimeLimit::unlimited();
    job->submitted = job->eligible = job->accrue = job->last_eval = kTestNow - minutes(10);
    spec->name = name;
    spec->partitions = {"debug"};
    spec->work_dir = "/work";
    spec->submit_host = "login";
    spec->session_id = 4432;
  }
  FakeJob& running(seconds since, std::vector<std::pair<std::uint32_t, std::vector<model::CpuNumber>>> nodes) {
    auto allocation = std::make_shared<model::Allocation>();
    allocation->partition = "debug";
    for (auto& [node, cpus] : nodes) {
      job->cpus_allocated += static_cast<std::uint32_t>(cpus.size());
      allocation->nodes.push_back({NodeIndex(node), cpus, 0, static_cast<std::uint32_t>(cpus.size()), {}});
    }
    job->allocation = allocation;
    job->state = model::JobState::Running;
    job->started = kTestNow - since;
    job->batch_host = "n" + std::to_string(nodes.front().first + 1);
    return *this;
  }
  FakeJob& held() {
    job->hold = model::Hold::User;
    job->priority = 0;
    job->reason = model::Reason::JobHeldUser;
    job->eligible = job->accrue = Time{};
    return *this;
  }
  model::JobPtr done() {
    job->spec = spec;
    return job;
  }
};

inline std::vector<model::JobPtr> fake_jobs() {
  std::vector<model::JobPtr> jobs;
  FakeJob runner(1, "runner");
  runner.running(seconds(285), {{0, {0, 1}}});
  runner.spec->tasks = 2;
  runner.spec->comment = "hi there";
  jobs.push_back(runner.done());

  FakeJob dependent(2, "wrap");
  dependent.spec->min_nodes = 2;
  dependent.spec->max_nodes = 2;
  dependent.spec->exclusive = model::Exclusive::Node;
  dependent.spec->dependencies =
      dependent.job->dependencies_left = {{model::Dependency::Kind::AfterAny, JobId(1), {}, false, 0}};
  dependent.job->reason = model::Reason::Dependency;
  dependent.job->eligible = dependent.job->accrue = Time{};
  jobs.push_back(dependent.done());

  FakeJob array(3, "wrap");
  array.held();
  IndexSet tasks;
  tasks.insert_range(1, 5);
  array.job->array_job = JobId(3);
  array.job->array_pending = std::make_shared<const IndexSet>(tasks);
  array.job->array_max_running = 2;
  array.job->time_limit = array.spec->time_limit = TimeLimit::of_minutes(10);
  jobs.push_back(array.done());

  FakeJob later(4, "later");
  later.held();
  later.spec->begin = later.job->eligible = kTestNow + hours(1);
  later.spec->tasks = 3;
  later.spec->memory_per_cpu_mib = 100;
  later.spec->required_nodes = "n1";
  later.spec->excluded_nodes = "n2";
  later.spec->uid = Uid(65534);
  later.spec->gid = Gid(65534);
  jobs.push_back(later.done());

  FakeJob limited(5, "limited");
  limited.running(seconds(4), {{0, {2}}, {1, {0, 1, 2, 3}}});
  limited.job->time_limit = limited.spec->time_limit = TimeLimit::of_minutes(5);
  limited.spec->gres = {{"gpu", "", 1, model::GresRequest::Per::Node}};
  limited.spec->account = "physics";
  limited.spec->qos = "normal";
  jobs.push_back(limited.done());

  FakeJob failed(6, "wrap");
  failed.running(seconds(60), {{0, {0}}});
  failed.job->state = model::JobState::Failed;
  failed.job->ended = kTestNow - seconds(50);
  failed.job->reason = model::Reason::NonZeroExitCode;
  failed.job->exit = {3, 0};
  failed.job->last_nodes = "n1";
  jobs.push_back(failed.done());

  FakeJob hostile(7, "\033[31mred");
  hostile.spec->uid = Uid(65534);
  hostile.spec->gid = Gid(65534);
  hostile.spec->partitions = {"short"};
  hostile.job->reason = model::Reason::Resources;
  jobs.push_back(hostile.done());

  FakeJob task(9, "sweep");
  task.running(seconds(90000), {{2, {0}}});
  task.job->array_job = JobId(8);
  task.job->array_task = 3;
  jobs.push_back(task.done());
  return jobs;
}

inline wire::ReservationRow fake_reservation(const char* name, Duration from, Duration length, const char* nodes) {
  wire::ReservationRow row;
  row.reservation.name = name;
  row.reservation.start = kTestNow + from;
  row.reservation.end = kTestNow + from + length;
  row.nodes = nodes;
  return row;
}

inline void fill_reservations(wire::ReservationTable& table) {
  table.as_of = kTestNow;
  auto busy = fake_reservation("busy", -hours(1), hours(2), "n3");
  busy.node_count = 1, busy.core_count = busy.cpu_count = 4;
  busy.reservation.flags = model::kResvSpecNodes;
  busy.reservation.users.names = {"root", "nobody"};
  auto part = fake_reservation("part", hours(1), hours(24 * 365), "n[1-2]");
  part.node_count = 2, part.core_count = part.cpu_count = 3;
  part.partial = {{"n1", "0-1"}, {"n2", "3"}};
  part.reservation.flags = model::kResvWeekly | model::kResvFlex | model::kResvReplaceDown | model::kResvPurgeComp;
  part.reservation.accounts = {{"a1", "a2"}, true};
  part.reservation.partition = "debug";
  part.reservation.features = "fast";
  part.reservation.max_start_delay = minutes(10);
  auto license = fake_reservation("with_a_long_name", hours(2), minutes(10), "");
  license.reservation.flags = model::kResvAnyNodes;
  license.reservation.groups.names = {"root"};
  license.reservation.licenses = {{"lic", 3}};
  table.rows = {busy, part, license};
}

// What sprio of Slurm 22.05 was seen to print for these jobs, plus what it did not have: age, share and QOS.
inline void fill_priorities(wire::PriorityTable& table) {
  table.cluster_name = "test";
  table.age_weight = 10'000;
  table.job_size_weight = 2000;
  table.partition_weight = 500;
  table.tres = {{"cpu", 1'000'000}, {"mem", 3'000'000}};
  const auto add = [&](std::uint32_t id, const char* partition, std::uint32_t priority, std::int64_t size,
                       std::int64_t part, std::vector<std::int64_t> tres) -> wire::PriorityRow& {
    wire::PriorityRow row;
    row.job = JobId(id);
    row.partition = partition;
    row.priority = priority;
    row.job_size = size;
    row.partition_factor = part;
    row.tres = std::move(tres);
    table.rows.push_back(std::move(row));
    return table.rows.back();
  };
  add(2, "debug", 3875, 468'750'000, 1'000'000'000, {187'500'000, 750'000'000});
  add(3, "debug", 4375, 593'750'000, 1'000'000'000, {437'500'000, 750'000'000});
  add(3, "low", 6812, 593'750'000, 500'000'000, {875'000'000, 1'500'000'000});
  add(6, "debug", 1, 156'250'000, 1'000'000'000, {62'500'000, 250'000'000}).nice = 100'000;
  add(8, "debug", 77, 0, 0, {});
  add(10, "debug", 950, 156'250'000, 1'000'000'000, {62'500'000, 25'000'000}).user = Uid(65534);
}

// Of phys, below the root, alice has a job in the QOS high.
inline void fill_accounts(wire::AccountBookTable& book) {
  book.shares.cluster = "test";
  book.shares.tres = {"cpu", "mem", "billing"};
  const auto add = [&](std::uint32_t id, std::uint32_t parent, const char* account, const char* user) {
    wire::ShareRow& row = book.shares.rows.emplace_back();
    row.association.id = id;
    row.association.parent = parent;
    row.association.account = account;
    row.association.user = user;
    book.holdings.push_back({.tres = {0, 0, 0}, .used_seconds = {0, 0, 0}, .run_seconds = {0, 0, 0}});
    return book.shares.rows.size() - 1;
  };
  add(1, 0, "root", "");
  const std::size_t phys = add(3, 1, "phys", ""), alice = add(5, 3, "phys", "alice"), bob = add(6, 3, "phys", "bob");
  book.shares.rows[phys].association.group.jobs = 20;
  book.shares.rows[phys].association.group.tres = {{"cpu", 100}};
  book.shares.rows[phys].norm_shares = 1;
  model::Association& hers = book.shares.rows[alice].association;
  hers.uid = 1000;
  hers.shares = 3;
  hers.is_default = true;
  hers.max_jobs = 5;
  hers.max_wall_minutes = 60;
  hers.max_tres_per_job = {{"cpu", 4}, {"mem", 2000}};
  hers.comment = "of the lab";
  book.shares.rows[alice].norm_shares = 0.75;
  book.shares.rows[alice].factor = 0.5;
  book.shares.rows[alice].raw_usage = 120;
  book.shares.rows[bob].association.uid = 1001;
  book.shares.rows[bob].association.partition = "debug";
  const wire::Holding held{.running = 1,
                           .submitted = 2,
                           .accruing = 1,
                           .tres = {2, 100, 2},
                           .used_seconds = {120, 6000, 120},
                           .run_seconds = {600, 30000, 600},
                           .wall_seconds = 90,
                           .billed = 120};
  for (const std::size_t at : {std::size_t{0}, phys, alice}) book.holdings[at] = held;
  book.users = {{.name = "alice",
                 .uid = 1000,
                 .default_account = "phys",
                 .default_wckey = {},
                 .coordinates = {},
                 .wckeys = {}},
                {.name = "bob",
                 .uid = 1001,
                 .admin = model::AdminLevel::Operator,
                 .default_account = "phys",
                 .default_wckey = "w",
                 .coordinates = {},
                 .wckeys = {}}};
  wire::QosHolding& high = book.qos.emplace_back();
  high.qos.name = "high";
  high.qos.id = 2;
  high.qos.priority = 50;
  high.qos.preempt_mode = model::PreemptHow::Requeue;
  high.qos.max_jobs_per_user = 3;
  high.qos.max_tres_per_user = {{"cpu", 6}};
  high.holding = held;
  high.accounts = {{"phys", held}};
  high.users = {{Uid{0}, held}};
  wire::QosHolding& normal = book.qos.emplace_back();
  normal.qos.name = "normal";
  normal.qos.id = 1;
  normal.holding = book.holdings[bob];
}

inline void fill(FakeController& controller) {
  wire::ClusterTable& cluster = controller.cluster_table;
  cluster.as_of = kTestNow;
  cluster.cluster_name = "test";
  for (std::uint32_t i = 0; i < 4; ++i) cluster.nodes.push_back(fake_node(i, ("n" + std::to_string(i + 1)).c_str()));
  auto first = std::make_shared<model::Node>(*cluster.nodes[0]);
  first->cpus_allocated = 3;
  first->jobs = {JobId(1), JobId(5)};
  cluster.nodes[0] = first;
  auto second = std::make_shared<model::Node>(*cluster.nodes[1]);
  second->cpus_allocated = 4;
  second->jobs = {JobId(5)};
  second->hardware.gres = {{"gpu", "mi300x", 8, ""}};
  second->devices_in_use = {{"gpu", {3}}};
  second->features = second->active_features = {"fast", "ib"};
  cluster.nodes[1] = second;
  auto fourth = std::make_shared<model::Node>(*cluster.nodes[3]);
  fourth->flags = model::kNodeDrain;
  fourth->reason = "bad disk";
  fourth->reason_at = kTestNow;
  fourth->hardware.memory_mib = 2000;
  cluster.nodes[3] = fourth;
  cluster.partitions = {fake_partition("debug", {0, 1, 2, 3}), fake_partition("short", {0, 1}),
                        fake_partition("secret", {2})};
  cluster.partitions[0].config.is_default = true;
  cluster.partitions[1].config.max_time = TimeLimit::of_minutes(30);
  cluster.partitions[1].config.max_nodes = 2;
  cluster.partitions[2].config.hidden = true;
  controller.future_table = cluster;
  auto future = std::make_shared<model::Node>();
  future->index = NodeIndex(4);
  future->name = future->hostname = "f1";
  future->hardware.cpus = 8;
  future->flags = model::kNodeFuture;
  controller.future_table->nodes.push_back(std::move(future));
  controller.future_table->partitions[0].nodes.emplace_back(4);

  fill_reservations(controller.reservation_table);
  fill_priorities(controller.priority_table);
  fill_accounts(controller.book);

  wire::JobTable& table = controller.job_table;
  table.as_of = kTestNow;
  table.cluster_name = "test";
  table.node_names = {"n1", "n2", "n3", "n4"};
  table.jobs = fake_jobs();
  controller.cluster_config.cluster_name = "test";
  controller.cluster_config.licenses = {{"lic", 4}, {"matlab", 2}};
  controller.cluster_config.topology.switches = {{"s1", "n[1-2]", ""}, {"s2", "n[3-4]", ""}, {"top", "", "s[1-2]"}};
  controller.cluster_config.shown = {{"ClusterName", "test"}, {"MinJobAge", "300 sec"}, {"TaskProlog", ""}};
  controller.forecast = {JobId(6), kTestNow + seconds(30), 1, "n1", "debug"};
  using Blocker = wire::JobExplanation::Blocker;
  wire::JobExplanation& told = controller.explanations[JobId(3)];
  told.job = JobId(3);
  told.reason = model::Reason::Resources;
  told.as_of = kTestNow;
  told.start = kTestNow + hours(2);
  told.blockers = {{Blocker::Kind::RunningJob, {JobId(1)}, "", "", kTestNow + hours(2)},
                   {Blocker::Kind::Queue, {JobId(2), JobId(4)}, "", "", {}},
                   {Blocker::Kind::Node, {}, "n4", "", {}}};
  using Certainty = wire::JobExplanation::Certainty;
  told.certainty = Certainty::ByLimits;
  told.changes = {{"-t", "4:00:00", "3:40:00", kTestNow, Certainty::Promised},
                  {"-C", "big", "", kTestNow + minutes(30), Certainty::ByLimits},
                  {"-c", "2", "1", kTestNow + minutes(40), Certainty::Promised},
                  {"-N", "2", "1", kTestNow + minutes(50), Certainty::Expected}};
  wire::JobEventTable& past = controller.events[JobId(1)];
  past.since = kTestNow - hours(24);
  past.events = {{JobId(1), "1", 17, kTestNow - minutes(10), Uid(0), "user", "submitted", "name wrap, partition debug"},
                 {JobId(1), "1", 18, kTestNow - minutes(9), {}, "scheduler", "started", "on n1"},
                 {JobId(1), "1", 21, kTestNow - milliseconds(40'500), Uid(0), "controller", "suspended", ""}};
  controller.refuse_job = {{7, ErrorCode::PermissionDenied}, {6, ErrorCode::JobAlreadyDone}};
}

}  // namespace spur::cli
