// SPDX-License-Identifier: Apache-2.0
// Ten thousand random commands per seed: the invariants hold after each, states only move as drawn, a refused command
// changes nothing, a replay of the same batches and a continuation from an image give the same digest.
#include "model/core_sharing.h"
#include "state/random_commands.h"

#include <algorithm>
#include <map>

namespace spur::state {

using model::Dependency;
using model::JobState;
using Kind = Dependency::Kind;

JobId RandomCommands::some_job(const CowMap<model::JobPtr>& jobs) {
  if (jobs.empty() || chance(2)) return JobId{1 + below(400)};
  std::size_t skip = below(static_cast<std::uint32_t>(jobs.size()));
  JobId id;
  jobs.for_each([&](std::uint32_t key, const model::JobPtr&) {
    id = JobId{key};
    return skip-- > 0;
  });
  return id;
}

JobTarget RandomCommands::some_target(const model::View& view) {
  const JobId id = some_job(view.jobs);
  const model::Job* job = model::find_job(view, id);
  if (job && job->het_job && chance(50))
    return chance(50) ? JobTarget{job->het_job, {}} : JobTarget{job->het_job, {}, below(job->het_size + 1)};
  if (!job || !job->array_job || chance(40)) return {id, {}};
  const std::uint32_t first = below(8);
  return {job->array_job, tasks_of(0, first, first + below(4)).tasks};
}

Dependency RandomCommands::some_dependency(const model::View& view) {
  Dependency term;
  term.kind = static_cast<Kind>(below(8));
  if (term.kind == Kind::Expand && !chance(5)) term.kind = Kind::AfterOk;
  if (term.kind == Kind::Singleton) return term;
  term.job = some_job(view.jobs);
  if (const model::Job* job = model::find_job(view, term.job); job && job->array_job && chance(60)) {
    term.job = job->array_job;
    if (chance(50)) term.array_task = below(8);
  }
  if (term.kind == Kind::After && chance(30)) term.delay_minutes = below(3);
  return term;
}

model::JobSpec RandomCommands::some_spec(const model::View& view) {
  model::JobSpec out = spec("name" + std::to_string(below(3)));
  out.uid = Uid{1000 + below(2)};
  out.account = chance(30) ? "" : chance(50) ? "a" : "b";
  if (chance(70)) out.qos = "q" + std::to_string(below(3));
  out.script = std::make_shared<const std::string>("#!/bin/sh\n# " + std::to_string(below(3)));
  if (chance(25)) {
    out.array.emplace();
    out.array->tasks.insert_range(below(3), 3 + below(5));
    if (chance(5)) out.array->tasks.insert_range(10, 5000);
    if (chance(30)) out.array->max_running = 1 + below(3);
  }
  if (chance(30)) {
    for (std::uint32_t n = 1 + below(3); n > 0; --n) out.dependencies.push_back(some_dependency(view));
    out.dependencies_any = chance(20);
    if (chance(30)) out.kill_on_invalid_dependency = chance(50);
  }
  out.hold = chance(5);
  if (chance(5)) out.begin = view.as_of + seconds(below(100));
  if (chance(10)) out.requeue = chance(50);
  if (chance(30)) out.no_kill = true;
  if (chance(10)) out.exclusive = static_cast<model::Exclusive>(below(4));
  out.oversubscribe = out.name != "name0";
  if (chance(5)) out.kind = model::JobKind::Interactive;
  if (chance(5)) out.priority = below(3);
  if (chance(5)) out.reservation = chance(50) ? "r1" : "r0,r2";
  return out;
}

Command RandomCommands::some_submit(const model::View& view) {
  SubmitJob command{std::make_shared<const model::JobSpec>(some_spec(view)),
                    chance(30) ? "t" + std::to_string(below(30)) : std::string()};
  if (!chance(20)) return command;
  auto first = std::make_shared<model::JobSpec>(*command.spec);
  if (!chance(5)) first->array.reset();
  command.spec = first;
  for (std::uint32_t n = 1 + below(3); n > 0; --n) {
    auto other = std::make_shared<model::JobSpec>(some_spec(view));
    other->array.reset();
    if (!chance(5)) other->uid = first->uid;
    command.more.push_back(std::move(other));
  }
  return command;
}

// All of a heterogeneous job, mostly on different nodes.
Command RandomCommands::some_het_start(const model::View& view, const model::Job& leader) {
  StartJob command{leader.id, {}, nullptr};
  for (std::uint32_t i = 0; i < leader.het_size; ++i) {
    auto allocation = std::make_shared<model::Allocation>();
    allocation->partition = "main";
    const std::uint32_t at =
        (i + (chance(90) ? 0 : below(3))) % std::max<std::uint32_t>(1, static_cast<std::uint32_t>(view.nodes.size()));
    if (const auto* node = view.nodes.find(at)) {
      model::NodeGrant grant{NodeIndex{at}, {}, below(100), 1, {}};
      for (std::uint16_t cpu = 0; cpu < 4; ++cpu)
        if ((*node)->cpus_in_use.empty() || !((*node)->cpus_in_use[0] >> cpu & 1)) grant.cpus.push_back(cpu);
      if (!grant.cpus.empty()) grant.cpus.resize(1);
      allocation->nodes.push_back(grant);
    }
    if (i == 0)
      command.allocation = allocation;
    else
      command.others.push_back({JobId{leader.id.value + i}, allocation, {}});
  }
  if (chance(5)) command.others.pop_back();
  return command;
}

Command RandomCommands::some_start(const model::View& view) {
  JobId id = some_job(view.pending);
  for (int tries = 0; tries < 8; ++tries) {
    const model::Job* job = model::find_job(view, id);
    if (job && job->hold == model::Hold::None && job->dependencies_left.empty() && !job->dependency_never) break;
    id = some_job(view.pending);
  }
  if (const model::Job* job = model::find_job(view, id); job && job->het_job && !chance(5))
    if (const model::Job* leader = model::find_job(view, job->het_job)) return some_het_start(view, *leader);
  StartJob command{id, {}, nullptr};
  if (const model::Job* job = model::find_job(view, id); job && job->is_array_rest()) {
    command.array_task = job->array_pending->lowest();
    for (std::uint32_t n = below(3); n > 0 && command.array_task; --n)
      if (auto next = job->array_pending->next_after(*command.array_task)) command.array_task = next;
  }
  auto allocation = std::make_shared<model::Allocation>();
  allocation->partition = chance(80) ? "main" : "own";
  const model::Job* job = model::find_job(view, id);
  if (chance(10))
    allocation->reservation = "r" + std::to_string(below(3));
  else if (job && !job->spec->reservation.empty())
    allocation->reservation = job->spec->reservation.substr(0, 2);  // the first it names
  const std::uint32_t wanted = 1 + below(3);
  const model::Partition* partition = model::find_partition(view, allocation->partition);
  const bool shares = partition && job && model::jobs_per_core(partition->config, *job->spec) > 1;
  view.nodes.for_each([&](std::uint32_t at, const model::NodePtr& node) {
    if (allocation->nodes.size() == wanted || chance(50)) return;
    model::NodeGrant grant{NodeIndex{at}, {}, below(300), 1, {}};
    for (std::uint16_t cpu = 0; cpu < 4; ++cpu) {
      const bool used = !node->cpus_in_use.empty() && (node->cpus_in_use[0] >> cpu & 1);
      if ((!used || chance(shares ? 60 : 2)) && chance(50)) grant.cpus.push_back(cpu);
    }
    if (chance(20)) grant.devices.push_back({"gpu", "", {below(2)}});
    if (!grant.cpus.empty() || chance(5)) allocation->nodes.push_back(grant);
  });
  if (!chance(1)) command.allocation = allocation;
  return command;
}

Command RandomCommands::some_done(const model::View& view) {
  NodeJobDone report;
  report.job = some_job(view.active);
  report.node = some_node();
  report.epoch = Epoch{1};
  if (const model::Job* job = model::find_job(view, report.job)) {
    report.epoch = chance(95) ? job->epoch : Epoch{job->epoch.value - 1};
    if (!job->nodes_left.empty() && chance(90)) {
      const NodeIndex at = job->nodes_left[below(static_cast<std::uint32_t>(job->nodes_left.size()))];
      report.node = (*view.nodes.find(at.value))->name;
    }
  }
  if (chance(40)) report.exit.code = static_cast<std::uint16_t>(below(3));
  if (chance(10)) report.exit.signal = 9;
  report.out_of_memory = chance(5);
  report.launch_failed = chance(10);
  return report;
}

Command RandomCommands::some_cancel(const model::View& view) {
  CancelJob command = cancel(some_target(view));
  if (chance(30)) command.final_state = static_cast<JobState>(below(12));
  command.by_user = chance(50);
  if (command.target.tasks && chance(10)) command.target.tasks->insert_range(20, 20 + 400 * below(10));
  if (chance(10)) command.exit = model::ExitStatus{.code = 3, .signal = 0};
  return command;
}

Command RandomCommands::some_update(const model::View& view) {
  UpdateJob command;
  command.target = some_target(view);
  const model::Job* job = model::find_job(view, command.target.id);
  if (job && chance(60)) {
    model::JobSpec changed = *job->spec;
    if (chance(30)) changed.comment = "c" + std::to_string(below(5));
    if (chance(30)) changed.name = "name" + std::to_string(below(3));
    if (chance(20)) changed.begin = view.as_of + seconds(below(60));
    if (chance(40)) {
      changed.dependencies = {some_dependency(view)};
      command.dependencies_changed = true;
    }
    command.spec = std::make_shared<const model::JobSpec>(changed);
  }
  if (chance(20)) command.priority = below(4);
  if (chance(20)) command.time_limit = TimeLimit::of_minutes(below(100));
  if (chance(10)) command.array_max_running = below(4);
  return command;
}

model::ClusterConfig RandomCommands::config() {
  model::ClusterConfig out;
  out.max_job_id = 400;  // ids wrap around often
  out.max_batch_requeue = 2;
  out.memory_as = chance(50) ? model::MemoryAs::Consumable : model::MemoryAs::NotConsumable;
  out.kill_invalid_dependency = chance(20);
  out.return_to_service = below(3);
  const bool named = chance(85);
  for (int i = 0; named && i < 6; ++i) {
    if (i > 1 && chance(30)) continue;
    model::NodeConfig node;
    node.name = "n" + std::to_string(i);
    node.cpus = 4;
    node.gres.push_back({"gpu", "", 2, ""});
    if (chance(3)) node.state = "DRAIN";
    if (i > 1 && chance(20)) node.state = "FUTURE";
    out.nodes.push_back(node);
  }
  if (chance(90)) out.max_node_count = 8;
  model::PartitionConfig main;
  main.name = "main", main.is_default = true, main.nodes = "ALL";
  out.partitions.push_back(main);
  model::PartitionConfig own;
  own.name = "own", own.nodes = "n[0-1]", own.exclusive_user = chance(50);
  if (chance(50)) own.node_features = {"a"};
  if (chance(50)) own.qos = "q0";
  if (chance(30)) own.billing_weights = {{"cpu", 1500}, {"mem", 250, 1024}, {"gres/gpu", 4000}};
  if (chance(50)) out.gres_types = {"gpu"};
  if (chance(30)) out.accounting.tres = {"gres/gpu", "license/l"};
  out.accounting.limits = chance(50);
  out.is_accounted = chance(70);
  if (chance(20)) out.priority.flags = {"NO_FAIR_TREE"};
  if (chance(80)) out.reboot_program = "/sbin/reboot";
  if (chance(80)) {
    out.power.suspend_program = "/sbin/off";
    out.power.resume_program = "/sbin/on";
    out.power.suspend_time_seconds = below(200);
    out.power.suspend_timeout = out.resume_timeout = seconds(below(20));
    own.power_down_on_idle = chance(20);
  }
  if (chance(20)) own.oversubscribe = model::OverSubscribe::Exclusive;
  if (out.kill_invalid_dependency || own.exclusive_user) {
    out.partitions.front().oversubscribe = own.qos.empty() ? model::OverSubscribe::Yes : model::OverSubscribe::Force;
    out.partitions.front().oversubscribe_count = 1 + out.return_to_service;
  }
  out.partitions.push_back(own);
  return out;
}

// Half of those there are called as nodes of the configuration may be.
Command RandomCommands::some_dynamic_node(const model::View& view) {
  if (chance(30)) {
    ClaimFutureNode command{.hostname = "h" + std::to_string(below(2)), .feature = chance(10) ? "a" : "", .found = {}};
    command.found.cpus = chance(80) ? 4 : 2;
    return command;
  }
  if (chance(35)) {
    DeleteNodes command{{some_node()}};
    for (const model::NodeConfig& row : view.config->nodes)
      if (row.created && chance(60)) command.nodes = {row.name};
    return command;
  }
  CreateNodes command;
  command.by_agent = chance(30);
  for (std::uint32_t i = 0; i <= below(2); ++i) {
    model::NodeConfig node;
    node.name = some_node();
    node.cpus = 4;
    if (chance(30)) node.features = {"a"};
    if (chance(40)) node.state = chance(70) ? "FUTURE" : "CLOUD";
    command.nodes.push_back(std::move(node));
  }
  return command;
}

Command RandomCommands::some_node_command(const model::View& view) {
  const std::uint32_t dice = below(100);
  if (dice < 5) return NodeLost{some_node()};
  if (dice < 12) return NodeResponding{some_node(), chance(70)};
  if (dice < 15) return SetConfig{config()};
  if (dice < 17) return NodesDue{static_cast<model::NodeDue>(below(5)), {some_node()}};
  if (dice < 25) return NodesDue{chance(50) ? model::NodeDue::PowerDown : model::NodeDue::PowerUp, {some_node()}};
  if (dice < 55) {
    RegisterNode command = World::registration(some_node(), chance(95) ? 4 : 2);
    command.boot_time = from_unix_seconds(below(1000));
    return command;
  }
  UpdateNode command;
  command.nodes = {some_node()};
  command.action = chance(75) ? UpdateNode::Action::Resume : static_cast<UpdateNode::Action>(below(13));
  command.asap = chance(50);
  command.after_reboot = static_cast<model::AfterReboot>(below(3));
  if (chance(50)) command.reason = "why";
  if (chance(10)) command.features = "a,b";
  if (chance(10)) command.active_features = chance(70) ? "a" : "";
  (void)view;
  return command;
}

Command RandomCommands::some_purge(const model::View& view) {
  PurgeJobs command;
  view.jobs.for_each([&](std::uint32_t id, const model::JobPtr& job) {
    if (is_over(*job) ? chance(60) : chance(5)) command.jobs.push_back(JobId{id});
  });
  return command;
}

Command RandomCommands::some_kill(const model::View& view) {
  const JobId id = some_job(view.active);
  const model::Job* job = model::find_job(view, id);
  return MarkKillSent{id, job && chance(80) ? job->epoch : Epoch{1}};
}

// Mostly of one job, whose nodes the other one gets.
Command RandomCommands::some_preemption(const model::View& view) {
  const JobId id = some_job(view.active);
  const model::Job* job = model::find_job(view, id);
  if (!job || chance(30)) return PreemptionDue{id, job ? job->epoch : Epoch{1}};
  PreemptJobs command{some_job(view.pending), nullptr, {}};
  auto allocation = std::make_shared<model::Allocation>(job->allocation ? *job->allocation : model::Allocation{});
  if (allocation->nodes.size() > 1 && chance(50)) allocation->nodes.pop_back();
  command.allocation = std::move(allocation);
  const auto how = static_cast<model::PreemptHow>(2 + below(chance(5) ? 4 : 3));
  command.victims.push_back({id, chance(95) ? job->epoch : Epoch{1}, how, seconds(below(2) * 30)});
  if (chance(20)) command.victims.push_back({some_job(view.active), Epoch{1}, how, seconds(0)});
  return command;
}

Command RandomCommands::some_steps(const model::View& view) {
  model::StepEnd step;
  step.step = below(5);
  step.exit.code = static_cast<std::uint16_t>(below(3));
  const JobId id = some_job(view.active);
  const model::Job* job = model::find_job(view, id);
  return StepsEnded{id, job && chance(90) ? job->epoch : Epoch{1}, {step}};
}

// A tree of two accounts and two users, parts of which come and go; sometimes one that is none.
Command RandomCommands::some_accounts(const model::View& view) {
  if (chance(15)) return OutboxAcked{below(3)};
  if (chance(30)) return DecayUsage{chance(5)};
  if (chance(25)) {
    const auto& rows = view.accounts->associations();  // mostly one that there is, or the luck of the dice may miss them all
    if (!rows.empty() && chance(70)) return ResetUsage{rows[below(static_cast<std::uint32_t>(rows.size()))]->id};
    return chance(80) ? ResetUsage{below(8)} : ResetUsage{0, "normal"};
  }
  model::AccountsUpdate update;
  update.revision = view.accounts->revision() + 1;
  update.all = view.accounts->empty() || chance(30);
  const auto row = [&](std::uint32_t id, std::uint32_t parent, const char* account, std::uint32_t user) {
    model::Association out;
    out.id = id, out.parent = parent, out.account = account, out.shares = below(4);
    if (user != 0) {
      out.user = "u" + std::to_string(user);
      out.uid = user;
      if (chance(20)) out.partition = "own";
      if (chance(20)) out.max_jobs = 1 + below(9);
      if (chance(20)) out.max_wall_minutes = 1 + below(60);
    }
    if (chance(10)) out.group.submit = 20 + below(50);
    if (chance(20)) out.group.tres = {{"cpu", 4 + below(20)}, {"gres/gpu", below(6)}};
    if (chance(10)) out.group.tres_minutes = {{"cpu", 100 + below(1000)}};
    if (update.all || chance(40)) update.associations.push_back(std::move(out));
  };
  row(1, 0, "root", 0);
  row(2, 1, "a", 0);
  row(3, chance(80) ? 1 : 2, "b", 0);
  if (chance(3)) row(2, 3, "a", 0);  // with b below a: a circle
  for (std::uint32_t i = 0; i < 4; ++i) row(4 + i, 2 + i / 2, i / 2 ? "b" : "a", 1000 + i % 2);
  if (!update.all && chance(20)) update.associations_gone.push_back(4 + below(4));
  for (std::uint32_t i = 0; i < 3; ++i) {
    if (!chance(60)) continue;
    update.qos.push_back(qos("q" + std::to_string(i), below(9)));
    update.qos.back().id = i + 1;
    update.qos.back().usage_factor_thousandths = 500 * below(4);
    if (chance(20)) update.qos.back().max_jobs_per_user = 1 + below(5);
    if (chance(20)) update.qos.back().group.jobs = 1 + below(9);
  }
  if (!update.all && chance(10)) update.qos_gone.push_back("q" + std::to_string(below(3)));
  return SetAccounts{std::move(update)};
}

Command RandomCommands::some_reservation(const model::View& view) {
  if (chance(15)) return some_accounts(view);
  const std::string name = "r" + std::to_string(below(3));
  if (chance(30)) return ReservationsDue{};
  if (chance(20)) return DeleteReservation{name};
  if (chance(10)) return SetQos{{qos("q" + std::to_string(below(3)), below(9))}};
  if (chance(10)) return SetFairShares{{{"acct", Uid{1000 + below(3)}, "", below(model::kFullShare), 0}}, chance(50)};
  model::Reservation r;
  r.name = name;
  r.start = view.as_of + seconds(below(400)) - seconds(50);
  r.end = r.start + seconds(below(300));
  for (const auto flag : {model::kResvMaint, model::kResvDaily, model::kResvHourly, model::kResvFlex,
                          model::kResvOverlap, model::kResvPurgeComp, model::kResvNoHoldJobs, model::kResvAllNodes})
    if (chance(20)) r.flags |= flag;
  r.purge_after = seconds(below(100));
  r.users.names = {"me"};
  r.user_ids = {Uid{1000}};
  const auto last = static_cast<std::uint32_t>(view.nodes.size());
  for (std::uint32_t node = 0; node < last; ++node) {
    if (chance(60)) continue;
    r.nodes.push_back({.node = NodeIndex{node}});
    if (chance(30)) r.nodes.back().cores = {static_cast<std::uint16_t>(below(3))};
  }
  if (chance(45)) return UpdateReservation{r};
  return CreateReservation{r};
}

// A job of a table that waits for its next time gets one; else tables come and go.
Command RandomCommands::some_crontab(const model::View& view) {
  JobId waits;
  view.pending.for_each([&](std::uint32_t id, const model::JobPtr& job) {
    if (job->flags & model::kCronWaits) waits = JobId{id};
  });
  if (waits && chance(80)) return ScheduleCron{waits, view.as_of + seconds(below(60))};
  if (chance(10)) return ScheduleCron{some_job(view.jobs), view.as_of};
  const Uid user{1000 + below(2)};
  if (chance(15)) return RemoveCrontab{user};
  SetCrontab command{{user, "#SCRON\n@daily a\n@hourly b", {{"@daily", 1, 2, {}}, {"@hourly", 3, 3, {}}}}, {}};
  for (std::size_t i = 0; i < command.crontab.entries.size(); ++i) {
    model::JobSpec one = some_spec(view);
    if (!chance(5)) one.uid = user;
    if (!chance(5)) one.array.reset();
    if (!chance(5)) one.dependencies.clear();
    one.kind = model::JobKind::Batch;
    one.begin = view.as_of + seconds(below(60));
    command.specs.push_back(std::make_shared<const model::JobSpec>(std::move(one)));
  }
  return command;
}

Command RandomCommands::some_trigger(const model::View& view) {
  const auto some_id = [&](std::uint32_t likely) { return chance(80) ? likely : 1 + below(triggers_ + 1); };
  if (triggers_ == 0 || chance(30)) {
    model::Trigger trigger;
    trigger.user = Uid{1000 + below(2)};
    trigger.source = chance(40) ? model::TriggerSource::Job : model::TriggerSource::Node;
    trigger.events = chance(50) ? model::kTriggerFini : model::kTriggerDown;
    if (trigger.source == model::TriggerSource::Job) trigger.job = some_job(view.jobs);
    trigger.permanent = chance(30);
    if (!chance(5)) trigger.program = "/bin/true";
    if (!trigger.program.empty() && (!trigger.job || model::find_job(view, trigger.job))) ++triggers_;
    return SetTrigger{std::move(trigger)};
  }
  if (chance(20))
    return ClearTriggers{.id = chance(30) ? some_id(triggers_) : 0, .job = {}, .user = Uid{1000 + below(2)},
                         .by = Uid{1000}, .by_admin = chance(80)};
  if (chance(40)) return TriggersRan{{some_id(seen_trigger_)}};
  seen_trigger_ = some_id(triggers_);
  return TriggerSeen{seen_trigger_, view.as_of + seconds(below(20)), "n1"};
}

Command RandomCommands::next(const model::View& view) {
  if (chance(2)) return chance(40) ? some_trigger(view) : some_crontab(view);
  const std::uint32_t dice = below(1000);
  const bool full = view.pending.size() > 40;
  if (dice < 220 && !full) return some_submit(view);
  if (dice < 505) return some_start(view);
  if (dice < 530) return some_preemption(view);
  if (dice < 670) return some_done(view);
  if (dice < (full ? 760u : 720u)) return some_cancel(view);
  if (dice < 770) return HoldJob{some_target(view), static_cast<model::Hold>(below(3))};
  if (dice < 800) return ReleaseJob{some_target(view)};
  if (dice < 830) return RequeueJob{some_target(view), static_cast<model::AfterCompleting>(below(4))};
  if (dice < 855) return SuspendJob{chance(80) ? JobTarget{some_job(view.active), {}} : some_target(view)};
  if (dice < 880) return ResumeJob{chance(80) ? JobTarget{some_job(view.active), {}} : some_target(view)};
  if (dice < 920) return some_update(view);
  if (dice < 927) return some_kill(view);
  if (dice < 930) return some_steps(view);
  if (dice < 935) return SetReasons{{{some_job(view.pending), model::Reason::Resources, {}}}};
  if (dice < 948) return some_dynamic_node(view);
  if (dice < 968) return some_node_command(view);
  if (dice < 988) return some_reservation(view);
  return some_purge(view);
}

namespace {

struct Seen {
  JobState state;
  Epoch epoch;
  std::shared_ptr<const model::Job> record;
};

// Every move of a record since the last look is one that the drawing allows, and a final state is only left upwards.
void expect_moves_as_drawn(Cluster& cluster, std::map<JobId, Seen>& seen) {
  for (const JobId id : cluster.take_changes().jobs) {
    const model::JobPtr* job = cluster.view().jobs.find(id.value);
    const auto before = seen.find(id);
    if (job && before != seen.end() && before->second.record->submitted <= (*job)->submitted) {
      const Seen& old = before->second;
      // A purged job's id may come back as another job within one command only by a purge, which is a command alone.
      ASSERT_TRUE(old.state == (*job)->state || model::may_follow(old.state, (*job)->state))
          << "job " << id.value << ": " << model::base_name(old.state) << " to " << model::base_name((*job)->state);
      ASSERT_GE((*job)->epoch.value, old.epoch.value);
      if (is_over(*old.record) && old.state != (*job)->state) {
        ASSERT_GT((*job)->epoch.value, old.epoch.value);
      }
    }
    if (job) {
      seen.insert_or_assign(id, Seen{(*job)->state, (*job)->epoch, *job});
    } else {
      seen.erase(id);
    }
  }
}

class RandomRun : public testing::TestWithParam<int> {};

TEST_P(RandomRun, HoldsInvariantsAndReplays) {
  constexpr int kCommands = 15'000;
  RandomCommands random(static_cast<std::uint64_t>(GetParam()));
  Cluster cluster;
  std::vector<Batch> batches;
  std::map<JobId, Seen> seen;
  std::map<std::size_t, int> applied;  // by command type: all of them must have worked at times
  const int cut = static_cast<int>(random.below(kCommands));
  std::unique_ptr<Cluster> continued;
  Time now = kStart;
  for (int i = 0; i < kCommands; ++i) {
    Batch batch{now += milliseconds(random.below(3000)), {}};
    batch.commands.push_back(i == 0 ? Command(SetConfig{random.config()}) : random.next(cluster.view()));
    std::vector<Effect> effects;
    const auto outcome = cluster.apply(static_cast<std::uint64_t>(i) + 1, batch, &effects);
    const Status sound = cluster.check_invariants();
    ASSERT_TRUE(sound) << "command " << i << " of type " << batch.commands[0].index() << ": "
                       << sound.error().message;
    if (outcome[0].status) {
      ++applied[batch.commands[0].index()];
    } else {
      ASSERT_TRUE(effects.empty()) << "a refused command had effects";
      ASSERT_TRUE(cluster.take_changes().jobs.empty()) << "a refused command changed jobs";
    }
    expect_moves_as_drawn(cluster, seen);
    if (HasFatalFailure()) FAIL() << "command " << i << " of type " << batch.commands[0].index();
    if (i > cut) continued->apply(static_cast<std::uint64_t>(i) + 1, batch, nullptr);
    if (i == cut) {
      auto copy = Cluster::from_image(cluster.image());
      ASSERT_TRUE(copy) << copy.error().message;
      continued = *std::move(copy);
      ASSERT_EQ(continued->state_hash(), cluster.state_hash());
    }
    batches.push_back(std::move(batch));
  }
  for (std::size_t type = 0; type < std::variant_size_v<Command>; ++type)
    EXPECT_GT(applied[type], 0) << "no command of type " << type << " was applied";
  EXPECT_EQ(continued->state_hash(), cluster.state_hash());
  Cluster replayed;
  for (std::size_t i = 0; i < batches.size(); ++i) replayed.apply(i + 1, batches[i], nullptr);
  EXPECT_EQ(replayed.state_hash(), cluster.state_hash());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRun, testing::Range(1, 51));

}  // namespace
}  // namespace spur::state
