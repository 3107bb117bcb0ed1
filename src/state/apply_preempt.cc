// SPDX-License-Identifier: Apache-2.0
// PreemptJobs and PreemptionDue: running jobs make room for a pending one.
//
// The whole proposal stands or falls with its allocation: it is refused unless the allocation can be taken once the
// victims are gone. From then on the beneficiary has a claim on it, which the scheduler keeps for it. A victim that
// is cancelled or requeued gets TERM at once where it has a grace time, and is ended when that is over; without one,
// at once. A suspended victim gives its CPUs back at once and keeps the rest.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "state/apply.h"
#include "state/node_books.h"

namespace spur::state {

using model::Job;
using model::JobState;
using model::PreemptHow;

namespace {

bool runs(const Job& job) {
  return model::is_active(job.state) && !(job.flags & model::kCompleting);
}

// The node as it is when that job has gone the way that it has to; one that is suspended is not among its jobs.
void without(const model::View& view, model::Node& node, const Job& job, PreemptHow how) {
  const auto& grants = job.allocation->nodes;
  const auto grant = std::ranges::lower_bound(grants, node.index, {}, &model::NodeGrant::node);
  if (grant == grants.end() || grant->node != node.index || !Applier::holds(job, node.index)) return;
  const bool has_cpus = !is_set(job.suspended_at);
  const CpuBits kept = Applier::cpus_of_others(view, node, job);
  if (how != PreemptHow::Suspend)
    give_back(node, *grant, job.id, has_cpus, job.flags & model::kCompleting, kept);
  else if (has_cpus)
    give_back_cpus(node, *grant, kept);
  if (how == PreemptHow::Suspend) std::erase(node.jobs, job.id);  // it shares no cores with the next one
}

}  // namespace

// The victims that are still there, as they are to go.
Result<std::vector<PreemptJobs::Victim>> Applier::check_victims(const PreemptJobs& command) const {
  std::vector<PreemptJobs::Victim> victims;
  for (PreemptJobs::Victim victim : command.victims) {
    if (victim.how != PreemptHow::Cancel && victim.how != PreemptHow::Requeue && victim.how != PreemptHow::Suspend)
      return fail(ErrorCode::InvalidArgument, "a preemption must say how");
    const Job* job = model::find_job(view, victim.job);
    if (!job || job->epoch != victim.epoch || !runs(*job)) continue;
    if (job->het_job) return fail(ErrorCode::NotWholeHetJob, std::string(slurm_message(ErrorCode::NotWholeHetJob)));
    // One that makes room for another job already, or is asked for twice here, cannot make room again.
    if (is_set(job->preempt_at) && job->preempt_how != PreemptHow::Suspend)
      return fail(ErrorCode::NodesBusy, fmt::format("job {} is being preempted", job->id.value));
    if (std::ranges::find(victims, victim.job, &PreemptJobs::Victim::job) != victims.end())
      return fail(ErrorCode::InvalidArgument, fmt::format("job {} is named twice", job->id.value));
    if (victim.how == PreemptHow::Requeue && !may_requeue(*job)) victim.how = PreemptHow::Cancel;
    victims.push_back(victim);
  }
  return victims;
}

Status Applier::check_claim(const Job& job, const model::Allocation& allocation,
                            const std::vector<PreemptJobs::Victim>& victims) const {
  const Sharing sharing = sharing_of(job, allocation.partition);
  const bool memory_counts = config().memory_as == model::MemoryAs::Consumable;
  for (std::size_t i = 0; i < allocation.nodes.size(); ++i) {
    const model::NodeGrant& grant = allocation.nodes[i];
    if (i > 0 && grant.node <= allocation.nodes[i - 1].node)
      return fail(ErrorCode::InvalidArgument, "an allocation's nodes must be in ascending order");
    const model::NodePtr* found = view.nodes.find(grant.node.value);
    if (!found) return fail(ErrorCode::InvalidNode, fmt::format("there is no node number {}", grant.node.value));
    if (!(*found)->usable())
      return fail(ErrorCode::NodesBusy, fmt::format("node {} is not available", (*found)->name));
    model::Node node = **found;
    for (const PreemptJobs::Victim& victim : victims)
      without(view, node, *model::find_job(view, victim.job), victim.how);
    SPUR_TRY(can_take(node, grant, memory_counts));
    for (const PreemptJobs::Victim& victim : victims)  // those who are suspended stay
      if (victim.how == PreemptHow::Suspend && std::ranges::binary_search((*found)->jobs, victim.job))
        node.jobs.insert(std::ranges::lower_bound(node.jobs, victim.job), victim.job);
    SPUR_TRY(can_join(node, job, sharing));
  }
  return {};
}

// send_user_signal: its own in place of SIGTERM, to whom it is meant for.
SignalJob preemption_signal(const model::ClusterConfig& config, const Job& job) {
  const bool own = config.preempt.send_user_signal && job.spec->signal.signal != 0;
  return {job.id, job.epoch, own ? job.spec->signal.signal : SIGTERM, own};
}

void Applier::go(Job job, PreemptHow how) {
  if (how == PreemptHow::Suspend) return suspend(std::move(job));
  if (how == PreemptHow::Requeue) {
    job.reason = model::Reason::None;
    job.cancelled = false;
    end_run_to_requeue(job, model::AfterCompleting::Requeue);
  } else {
    end_run(job, JobState::Preempted, model::Reason::Preempted);
  }
  close(std::move(job));
}

Outcome Applier::apply(const PreemptJobs& command) {
  const Job* found = model::find_job(view, command.beneficiary);
  if (!found)
    return refused(ErrorCode::InvalidJobId, fmt::format("Invalid job id specified: {}", command.beneficiary.value));
  if (!is_waiting(*found) || !is_set(found->accrue) || found->eligible > now)
    return refused(ErrorCode::JobNotPending, fmt::format("job {} may not start", found->id.value));
  if (!command.allocation && command.victims.empty()) {
    Job job = *found;
    forget_claim(job);
    put(std::move(job), true);
    return {};
  }
  if (found->het_job)
    return refused(ErrorCode::NotWholeHetJob, std::string(slurm_message(ErrorCode::NotWholeHetJob)));
  if (!command.allocation || command.allocation->nodes.empty())
    return refused(ErrorCode::InvalidArgument, "a claim without nodes");
  auto victims = check_victims(command);
  if (!victims) return refused(std::move(victims).error());
  if (auto ok = check_claim(*found, *command.allocation, *victims); !ok) return refused(std::move(ok).error());

  Outcome outcome;
  Job beneficiary = *found;
  beneficiary.claim = command.allocation;
  beneficiary.claimed_from = now;
  for (const PreemptJobs::Victim& victim : *victims) {
    Job job = *model::find_job(view, victim.job);
    const Duration grace = victim.how == PreemptHow::Suspend ? Duration{0} : Duration(victim.grace);
    job.preempt_at = now + grace;
    job.preempt_how = victim.how;
    job.preempted_for = command.beneficiary;
    beneficiary.claimed_from = std::max(beneficiary.claimed_from, job.preempt_at);
    outcome.jobs.push_back(job.id);
    if (grace == Duration{0}) {
      go(std::move(job), victim.how);
    } else {
      emit(SignalJob{job.id, job.epoch, SIGCONT});
      emit(preemption_signal(config(), job));
      put(std::move(job));
    }
  }
  put(std::move(beneficiary));
  return outcome;
}

Outcome Applier::apply(const PreemptionDue& command) {
  const Job* found = model::find_job(view, command.job);
  if (!found) return refused(ErrorCode::InvalidJobId, fmt::format("Invalid job id specified: {}", command.job.value));
  if (found->epoch != command.epoch)
    return refused(ErrorCode::StaleEpoch, fmt::format("job {} is in another run", command.job.value));
  if (!runs(*found) || !is_set(found->preempt_at) || found->preempt_how == PreemptHow::Suspend) return {};
  // The site may have said meanwhile that it must not be requeued.
  const bool requeue = found->preempt_how == PreemptHow::Requeue && may_requeue(*found);
  go(*found, requeue ? PreemptHow::Requeue : PreemptHow::Cancel);
  return {.status = {}, .job = {}, .repeated = false, .jobs = {command.job}};
}

}  // namespace spur::state
