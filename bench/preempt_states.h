// SPDX-License-Identifier: Apache-2.0
// Random clusters in which jobs push each other out, driven through the real state and the real scheduler: what
// bench/preempt.cc counts and checks. A life is one cluster from its first job on; its states are the moments at
// which the scheduler was asked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/core_sharing.h"
#include "model/preemption.h"
#include "sched/engine.h"
#include "sched/naive_test.h"
#include "sched/plan.h"
#include "sched/test_dice.h"
#include "state/cluster.h"

namespace spur::bench {

inline constexpr Time kBegin = from_unix_seconds(1'000'000);

using sched::Dice;

struct Counts {
  std::uint64_t states = 0, preemptions = 0, victims = 0, refused = 0, in_vain = 0, differ = 0, resumes = 0;
  std::uint64_t judged = 0, over = 0;  // against the least possible; more than 1.2 times that
  double worst = 1, sum = 0;
};

// A cluster, driven by commands. The state's own checks run after each.
class Living {
 public:
  state::Cluster cluster;
  Time now = kBegin;

  const model::View& view() const { return cluster.view(); }
  const model::Job& job(JobId id) const { return *model::find_job(view(), id); }
  // This record, and not the array whose id it may have.
  state::JobTarget record(JobId id) const {
    const model::Job& found = job(id);
    if (!found.array_task) return {id, {}};
    IndexSet task;
    task.insert(*found.array_task);
    return {found.array_job, task};
  }

  state::Outcome run(state::Command command) {
    state::Batch batch{now, {}};
    batch.commands.push_back(std::move(command));
    auto outcome = cluster.apply(cluster.index() + 1, batch, nullptr);
    return std::move(outcome[0]);
  }
  void must(state::Command command) {
    if (const auto outcome = run(std::move(command)); !outcome.status)
      std::fprintf(stderr, "refused: %s\n", outcome.status.error().message.c_str()), std::abort();
  }
  void check() const {
    if (const Status sound = cluster.check_invariants(); !sound)
      std::fprintf(stderr, "%s\n", sound.error().message.c_str()), std::abort();
  }
  // All nodes of the job report its end.
  void end(JobId id) {
    const model::Job record = job(id);
    for (const NodeIndex at : record.nodes_left) {
      state::NodeJobDone done;
      done.job = id;
      done.epoch = record.epoch;
      done.node = (*view().nodes.find(at.value))->name;
      must(done);
    }
  }
  std::unique_ptr<Living> copy() const {
    auto other = std::make_unique<Living>();
    auto made = state::Cluster::from_image(cluster.image());
    if (!made) std::fprintf(stderr, "%s\n", made.error().message.c_str()), std::abort();
    other->cluster = std::move(**made);
    other->now = now;
    return other;
  }
};

class RandomPreemption {
 public:
  RandomPreemption(std::uint64_t seed, Counts& counts) : dice_(seed), counts_(counts), seed_(seed) {
    model::ClusterConfig config;
    config.kill_wait = seconds(dice_.one_in(2) ? 30 : 0);
    config.memory_as = dice_.one_in(3) ? model::MemoryAs::Consumable : model::MemoryAs::NotConsumable;
    config.age_weight = dice_.one_in(2) ? 1000 : 0;
    by_qos_ = dice_.one_in(3);
    config.preempt.by = by_qos_ ? model::PreemptBy::Qos : model::PreemptBy::PartitionTier;
    config.preempt.how = some_how();
    config.preempt.within = by_qos_ && dice_.one_in(3);
    config.preempt.exempt = seconds(dice_.one_in(3) ? dice_.below(1200) : 0);
    const std::uint32_t nodes = dice_.between(1, 5);
    const std::uint32_t gpus = dice_.one_in(3) ? dice_.between(1, 4) : 0;
    for (std::uint32_t i = 0; i < nodes; ++i) {
      model::NodeConfig node;
      node.name = "n" + std::to_string(i + 1);
      node.cpus = dice_.between(2, 8);
      node.memory_mib = 1000;
      if (gpus) node.gres.push_back({"gpu", "", gpus, ""});
      config.nodes.push_back(node);
    }
    for (std::uint32_t tier = 1; tier <= 3; ++tier) {
      model::PartitionConfig partition;
      partition.name = "p" + std::to_string(tier);
      partition.is_default = tier == 1;
      partition.nodes = nodes > 2 && dice_.one_in(4) ? "n[1-2]" : "ALL";
      partition.priority_tier = dice_.one_in(5) ? 1 : tier;
      if (dice_.one_in(2)) partition.grace_time_seconds = dice_.between(1, 300);
      if (dice_.one_in(3)) partition.preempt_mode = dice_.one_in(4) ? "OFF" : dice_.one_in(2) ? "CANCEL" : "REQUEUE";
      if (seed % 4 == 3 && tier != seed % 3) {  // jobs that have cores together
        partition.oversubscribe = model::OverSubscribe::Force;
        partition.oversubscribe_count = 2 + tier % 2;
      }
      config.partitions.push_back(partition);
    }
    world_.must(state::SetConfig{config});
    for (const auto& node : config.nodes) {
      state::RegisterNode hello;
      hello.name = hello.hostname = node.name;
      hello.address = node.name + ":1";
      hello.found.cpus = hello.found.sockets = *node.cpus;
      hello.found.memory_mib = 1000;
      hello.found.gres = node.gres;
      world_.must(hello);
    }
    if (by_qos_) set_qos();
    engine_ = sched::Engine({.as_configured = true});
  }

  bool tells = false;  // on stderr, for whoever looks for a mistake

  void live() {
    const std::uint32_t steps = dice_.between(10, 30);
    for (std::uint32_t step = 0; step < steps; ++step) {
      world_.now += seconds(dice_.between(1, 900));
      happenings();
      plan();
      world_.check();
    }
  }

 private:
  struct Promise {
    std::set<JobId> victims;  // still there
  };

  model::PreemptHow some_how() {
    return dice_.one_in(3)   ? model::PreemptHow::Suspend
           : dice_.one_in(2) ? model::PreemptHow::Cancel
                             : model::PreemptHow::Requeue;
  }
  void set_qos() {
    state::SetQos command;
    for (std::uint32_t i = 1; i <= 3; ++i) {
      model::Qos qos;
      qos.name = "q" + std::to_string(i);
      qos.priority = i;
      if (i > 1) qos.preempts.push_back("q1");
      if (i > 2 && dice_.one_in(2)) qos.preempts.push_back("q2");
      if (dice_.one_in(3)) qos.preempt_mode = some_how();
      if (dice_.one_in(3)) qos.grace = seconds(dice_.between(1, 200));
      if (dice_.one_in(4)) qos.exempt = seconds(dice_.below(600));
      command.qos.push_back(qos);
    }
    world_.must(std::move(command));
  }

  void submit() {
    auto spec = std::make_shared<model::JobSpec>();
    spec->uid = Uid{1000 + dice_.below(3)};
    spec->kind = dice_.one_in(5) ? model::JobKind::Interactive : model::JobKind::Batch;
    spec->requeue = !dice_.one_in(4);
    spec->time_limit = dice_.one_in(8) ? TimeLimit::unlimited() : TimeLimit::of_minutes(dice_.between(5, 600));
    spec->partitions = {"p" + std::to_string(dice_.between(1, 3))};
    if (by_qos_) spec->qos = "q" + std::to_string(dice_.between(1, 3));
    const auto nodes = static_cast<std::uint32_t>(world_.view().nodes.size());
    if (dice_.one_in(3)) {
      spec->min_nodes = dice_.between(1, nodes);
      spec->max_nodes = spec->min_nodes;
      spec->nodes_given = true;
      if (dice_.one_in(3)) spec->exclusive = model::Exclusive::Node;
    } else {
      spec->tasks = dice_.between(1, 10);
      if (dice_.one_in(3)) spec->cpus_per_task = dice_.between(1, 3);
    }
    if (dice_.one_in(3)) spec->memory_per_node_mib = dice_.between(10, 600);
    if (!(*world_.view().nodes.find(0))->hardware.gres.empty() && dice_.one_in(3))
      spec->gres.push_back({.name = "gpu", .type = "", .count = dice_.between(1, 3)});
    if (dice_.one_in(8)) {
      spec->array.emplace();
      spec->array->tasks.insert_range(0, dice_.between(1, 4));
      if (dice_.one_in(2)) spec->array->max_running = dice_.between(1, 3);
    }
    (void)world_.run(state::SubmitJob{std::move(spec), {}});
  }

  // Jobs come and end; those that have to go do so in any order.
  void happenings() {
    for (std::uint32_t n = dice_.below(5); n > 0; --n) submit();
    std::vector<model::JobPtr> active;
    world_.view().active.for_each([&](std::uint32_t, const model::JobPtr& job) { active.push_back(job); });
    for (const model::JobPtr& job : active) {
      const bool over = job->state == model::JobState::Running && is_set(model::limit_end(*job)) &&
                        model::limit_end(*job) <= world_.now;
      if (job->flags & model::kCompleting) {
        if (!dice_.one_in(3)) world_.end(job->id);
      } else if (is_set(job->preempt_at) && job->preempt_how != model::PreemptHow::Suspend &&
                 job->preempt_at <= world_.now) {
        world_.must(state::PreemptionDue{job->id, job->epoch});
      } else if (over || (job->state == model::JobState::Running && dice_.one_in(12))) {
        world_.end(job->id);
      }
    }
  }

  void plan() {
    engine_.see(world_.view());
    const bool full = dice_.one_in(2);
    const sched::Params params{.max_starts = 1000, .as_configured = true};
    auto plan = full ? engine_.plan(world_.now) : engine_.respond(world_.now);
    bool aside = false;  // the naive scheduler does not know of jobs that are to run on
    world_.view().active.for_each(
        [&](std::uint32_t, const model::JobPtr& job) { aside |= job->state == model::JobState::Suspended; });
    if (plan.full && !aside) compare(plan, params);
    if (tells)
      std::fprintf(stderr, "at %lld %s\n%s", static_cast<long long>(to_unix_seconds(world_.now) - 1'000'000),
                   plan.full ? "full" : "quick", story(plan).c_str());
    for (const JobId id : plan.given_up) world_.must(state::PreemptJobs{id, nullptr, {}});
    for (const JobId id : plan.given_up) {
      if (!promises_.contains(id)) continue;
      ++counts_.in_vain;
      std::fprintf(stderr, "seed %llu: job %u did not start though all have gone for it\n",
                   static_cast<unsigned long long>(seed_), id.value);
    }
    for (const JobId id : plan.resumes) {
      if (const auto outcome = world_.run(state::ResumeJob{world_.record(id)}); !outcome.status)
        refused(outcome.status.error().message);
      ++counts_.resumes;
    }
    ++counts_.states;
    for (const auto& start : plan.starts) {
      const auto outcome = world_.run(state::StartJob{start.job, start.array_task, start.allocation});
      if (!outcome.status) refused(outcome.status.error().message);
      promises_.erase(start.job);
    }
    for (auto at = promises_.begin(); at != promises_.end();) {
      std::erase_if(at->second.victims, [&](JobId id) { return !leaves(id, at->first); });
      const model::Job* job = model::find_job(world_.view(), at->first);
      if (!job || !job->claim) {
        at = promises_.erase(at);
      } else {
        ++at;
      }
    }
    for (const auto& preemption : plan.preemptions) carry_out(preemption);
    state::SetReasons reasons;
    for (const auto& wait : plan.waits) reasons.rows.push_back({wait.job, wait.reason, wait.expected_start});
    (void)world_.run(std::move(reasons));
  }

  bool leaves(JobId id, JobId beneficiary) const {
    const auto* job = world_.view().active.find(id.value);
    return job && (*job)->preempted_for == beneficiary && (*job)->preempt_how != model::PreemptHow::Suspend;
  }
  void refused(const std::string& why) {
    ++counts_.refused;
    std::fprintf(stderr, "seed %llu: refused: %s\n", static_cast<unsigned long long>(seed_), why.c_str());
  }

  // A fresh engine and the naive scheduler must say the same.
  void compare(const sched::Plan& plan, const sched::Params& params) {
    const sched::Params with = sched::settled(params, *world_.view().config);
    const auto fresh = sched::plan(world_.view(), params, world_.now);
    const auto naive = sched::Naive(world_.view(), with, world_.now).run();
    if (text(plan) == text(naive) && text(plan) == text(fresh) && plan.preemptions.size() == fresh.preemptions.size())
      return;
    if (++counts_.differ < 5)
      std::fprintf(stderr, "seed %llu:\n%s--- naive\n%s--- fresh\n%s", static_cast<unsigned long long>(seed_),
                   text(plan).c_str(), text(naive).c_str(), text(fresh).c_str());
  }
  // What runs and waits, and what is planned.
  std::string story(const sched::Plan& plan) const {
    std::string out;
    const auto place = [](const model::Allocation& allocation) {
      std::string text;
      for (const auto& grant : allocation.nodes) {
        text += " n" + std::to_string(grant.node.value + 1) + "[";
        for (const auto cpu : grant.cpus) text += " " + std::to_string(cpu);
        text += " ]";
      }
      return text;
    };
    world_.view().active.for_each([&](std::uint32_t id, const model::JobPtr& job) {
      out += "  " + std::to_string(id) + " " + std::string(model::long_name(job->state, job->flags)) +
             place(*job->allocation);
      if (is_set(job->preempt_at)) out += " goes for " + std::to_string(job->preempted_for.value);
      out += "\n";
    });
    world_.view().pending.for_each([&](std::uint32_t id, const model::JobPtr& job) {
      if (job->claim) out += "  " + std::to_string(id) + " claims" + place(*job->claim) + "\n";
    });
    for (const JobId id : plan.resumes) out += "  resume " + std::to_string(id.value) + "\n";
    for (const auto& start : plan.starts)
      out += "  start " + std::to_string(start.job.value) + place(*start.allocation) + "\n";
    for (const auto& one : plan.preemptions) {
      out += "  preempt for " + std::to_string(one.beneficiary.value) + place(*one.allocation);
      for (const auto& victim : one.victims)
        out += " " + std::to_string(victim.job.value) + "/" + std::to_string(static_cast<int>(victim.how));
      out += "\n";
    }
    return out;
  }
  static std::string text(const sched::Plan& plan) {
    std::string out;
    for (const auto& start : plan.starts) {
      out += "start " + std::to_string(start.job.value);
      for (const auto& grant : start.allocation->nodes) {
        out += " on " + std::to_string(grant.node.value);
        for (const auto cpu : grant.cpus) out += " " + std::to_string(cpu);
      }
      out += "\n";
    }
    for (const auto& wait : plan.waits)
      out += "wait " + std::to_string(wait.job.value) + " " + std::string(model::reason_name(wait.reason)) + " " +
             std::to_string(to_micros(wait.expected_start)) + "\n";
    return out;
  }

  void carry_out(const sched::Preemption& preemption) {
    judge(preemption);
    state::PreemptJobs command{preemption.beneficiary, preemption.allocation, {}};
    for (const auto& v : preemption.victims) command.victims.push_back({v.job, v.epoch, v.how, v.grace});
    if (const auto outcome = world_.run(std::move(command)); !outcome.status)
      return refused(outcome.status.error().message);
    ++counts_.preemptions;
    counts_.victims += preemption.victims.size();
    Promise& promise = promises_[preemption.beneficiary];
    for (const auto& victim : preemption.victims) promise.victims.insert(victim.job);
  }

  // ---- the least that could be lost, by trying all sets

  static std::int64_t loss(const model::View& view, const model::Job& job, Time now) {
    if (model::preempt_rule(view, job).how == model::PreemptHow::Suspend) return 0;
    return std::chrono::duration_cast<milliseconds>(model::run_time(job, now)).count() * job.cpus_allocated;
  }
  std::vector<model::JobPtr> candidates(const model::Job& who, const model::Partition& partition) const {
    std::vector<model::JobPtr> found;
    const sched::PriorityScale scale(world_.view());
    world_.view().active.for_each([&](std::uint32_t, const model::JobPtr& job) {
      const bool runs = job->state == model::JobState::Running && !is_set(job->preempt_at);
      const bool aside = job->state == model::JobState::Suspended && job->preempt_how == model::PreemptHow::Suspend;
      if ((job->flags & model::kCompleting) || (!runs && !aside)) return;
      if (job->started == world_.now) return;  // by the same plan
      const auto rule = model::preempt_rule(world_.view(), *job);
      if (rule.how == model::PreemptHow::Off || model::run_time(*job, world_.now) < rule.exempt) return;
      const auto may = model::may_preempt(world_.view(), *who.spec, partition, *job);
      if (may == model::MayPreempt::No) return;
      const auto* theirs = model::find_partition(world_.view(), job->allocation->partition);
      if (may == model::MayPreempt::IfOfLowerPriority &&
          scale.priority(*job, *theirs, world_.now) >= scale.priority(who, partition, world_.now))
        return;
      found.push_back(job);
    });
    return found;
  }
  // Whether the job, alone in the queue, starts when those are gone.
  bool starts_without(JobId who, const std::vector<model::JobPtr>& jobs, std::uint32_t set) const {
    auto other = world_.copy();
    std::vector<JobId> pending;
    other->view().pending.for_each([&](std::uint32_t id, const model::JobPtr&) { pending.push_back(JobId{id}); });
    for (const JobId id : pending)
      if (id != who && other->job(id).array_job != who)
        (void)other->run(state::HoldJob{{id, {}}, model::Hold::Admin});
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (!(set >> i & 1)) continue;
      if (model::preempt_rule(world_.view(), *jobs[i]).how == model::PreemptHow::Suspend)
        other->must(state::SuspendJob{other->record(jobs[i]->id)});
      else
        other->end(jobs[i]->id);
    }
    const auto plan = sched::plan(other->view(), {.max_starts = 1000, .as_configured = true}, other->now);
    return std::ranges::any_of(plan.starts, [&](const auto& start) { return start.job == who; });
  }
  void judge(const sched::Preemption& preemption) {
    const model::Job& who = world_.job(preemption.beneficiary);
    const auto* partition = model::find_partition(world_.view(), preemption.allocation->partition);
    const auto jobs = candidates(who, *partition);
    // What is planned for others counts, too, and is left out here: so only for those with nobody before them.
    const bool aside = std::ranges::any_of(jobs, [](const auto& job) { return is_set(job->suspended_at); });
    // Nobody goes so that it finds room beside others: a job that shares cores is preempted for as if it did not.
    const bool shares = model::jobs_per_core(partition->config, *who.spec) > 1;
    if (jobs.size() > 8 || aside || shares || !promises_.empty() || !is_first(who)) return;
    std::vector<std::pair<std::int64_t, std::uint32_t>> sets;
    for (std::uint32_t set = 1; set < 1u << jobs.size(); ++set) {
      std::int64_t lost = 0;
      for (std::size_t i = 0; i < jobs.size(); ++i)
        if (set >> i & 1) lost += loss(world_.view(), *jobs[i], world_.now);
      sets.emplace_back(lost, set);
    }
    std::ranges::sort(sets);
    std::int64_t mine = 0;
    for (const auto& victim : preemption.victims) mine += loss(world_.view(), world_.job(victim.job), world_.now);
    for (const auto& [lost, set] : sets) {
      if (!starts_without(preemption.beneficiary, jobs, set)) continue;
      const double ratio = lost == mine ? 1 : lost == 0 ? 1e9 : static_cast<double>(mine) / static_cast<double>(lost);
      ++counts_.judged;
      if (ratio > 1.2) {
        ++counts_.over;
        std::fprintf(stderr, "seed %llu: job %u costs %lld, %lld would do: set %x of %zu, chosen:",
                     static_cast<unsigned long long>(seed_), who.id.value, static_cast<long long>(mine),
                     static_cast<long long>(lost), set, jobs.size());
        for (const auto& victim : preemption.victims) std::fprintf(stderr, " %u", victim.job.value);
        for (const auto& job : jobs)
          std::fprintf(stderr, " (%u costs %lld)", job->id.value,
                       static_cast<long long>(loss(world_.view(), *job, world_.now)));
        std::fprintf(stderr, "\n");
      }
      counts_.sum += ratio;
      counts_.worst = std::max(counts_.worst, ratio);
      return;
    }
    ++counts_.in_vain;  // not even with all of them gone
    std::fprintf(stderr, "seed %llu: job %u would never start\n", static_cast<unsigned long long>(seed_),
                 who.id.value);
  }
  bool is_first(const model::Job& who) const {
    const sched::PriorityScale scale(world_.view());
    const auto key = [&](const model::Job& job) {
      const auto* partition = model::find_partition(world_.view(), job.spec->partitions[0]);
      return std::tuple(-static_cast<std::int64_t>(partition->config.priority_tier),
                        -static_cast<std::int64_t>(scale.priority(job, *partition, world_.now)),
                        scale.rank(job, *partition).order, job.id);
    };
    bool first = true;
    world_.view().pending.for_each(
        [&](std::uint32_t, const model::JobPtr& job) { first &= job->id == who.id || key(who) < key(*job); });
    return first;
  }

  Dice dice_;
  Counts& counts_;
  std::uint64_t seed_;
  bool by_qos_ = false;
  Living world_;
  sched::Engine engine_;
  std::map<JobId, Promise> promises_;
};

}  // namespace spur::bench
