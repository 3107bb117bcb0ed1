// SPDX-License-Identifier: Apache-2.0
// What users ask for: each request is checked against the state as applied, becomes one command, and is answered when
// that command was applied.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <utility>

#include "ctld/authorization.h"
#include "ctld/controller.h"
#include "ctld/job_account.h"
#include "state/dynamic_nodes.h"
#include "text/hostlist.h"

namespace spur::ctld {
namespace {

// Records of an array: the pending rest under the array's id and the tasks that have records of their own. Of a
// heterogeneous job: its components.
void collect(const model::View& view, const state::JobTarget& target, std::vector<const model::Job*>& out) {
  const auto add = [&](JobId id) {
    if (const auto* job = model::find_job(view, id)) out.push_back(job);
  };
  const auto* tasks = view.arrays.find(target.id.value);
  if (const auto* job = model::find_job(view, target.id); !target.tasks && job && job->het_job == target.id) {
    for (std::uint32_t i = 0; i < job->het_size; ++i)
      if (!target.het_offset || i == *target.het_offset) add(JobId{target.id.value + i});
    return;
  }
  if (target.het_offset) return;
  if (!target.tasks) {
    add(target.id);
    if (tasks)
      tasks->for_each([&](std::uint32_t, JobId id) {
        if (id != target.id) add(id);
      });
    return;
  }
  const model::Job* rest = model::find_job(view, target.id);
  if (rest && rest->is_array_rest() && !rest->array_pending->intersect(*target.tasks).empty()) out.push_back(rest);
  if (!tasks) return;
  for (const auto& range : target.tasks->ranges()) {
    // A range may be far larger than the array: walk whichever is smaller.
    if (range.last - range.first < tasks->size()) {
      for (std::uint64_t task = range.first; task <= range.last; ++task)
        if (const JobId* id = tasks->find(static_cast<std::uint32_t>(task))) add(*id);
    } else {
      tasks->for_each([&](std::uint32_t task, JobId id) {
        if (task >= range.first && task <= range.last) add(id);
      });
    }
  }
}

// No two components can ask for the same node by name: each has its nodes for itself.
Status check_components(const model::View& view, const std::shared_ptr<const model::JobSpec>& first,
                        const Controller::Specs& more) {
  constexpr std::size_t kMostComponents = 128;  // Slurm's limit
  if (more.size() >= kMostComponents)
    return fail(ErrorCode::InvalidArgument,
                fmt::format("a heterogeneous job has at most {} components", kMostComponents));
  std::set<std::string> named;
  const auto check = [&](const model::JobSpec& spec) -> Status {
    if (spec.array) return fail(ErrorCode::InvalidArray, "Invalid job array specification");
    if (spec.required_nodes.empty()) return {};
    SPUR_ASSIGN(const auto nodes, text::expand_hostlist(spec.required_nodes));
    for (const std::string& node : nodes)
      if (model::find_node(view, node) && !named.insert(node).second)
        return fail(ErrorCode::InvalidNode, std::string(slurm_message(ErrorCode::InvalidNode)));
    return {};
  };
  SPUR_TRY(check(*first));
  for (const auto& spec : more) SPUR_TRY(check(*spec));
  return {};
}

}  // namespace

Result<std::vector<const model::Job*>> Controller::resolve(const model::Caller& caller,
                                                           const state::JobTarget& target) const {
  std::vector<const model::Job*> jobs;
  collect(cluster_->view(), target, jobs);
  if (jobs.empty()) return fail(ErrorCode::InvalidJobId, "Invalid job id specified");
  for (const auto* job : jobs)
    if (!may_touch(caller, *job)) return fail(ErrorCode::PermissionDenied, "Access/permission denied");
  return jobs;
}

template <class C>
void Controller::change_job(const model::Caller& caller, C command, DoneReply reply) {
  if (auto jobs = resolve(caller, command.target); !jobs) return reply(std::unexpected(jobs.error()));
  propose(
      std::move(command), [reply = std::move(reply)](const state::Outcome& outcome) { reply(outcome.status); },
      IfFull::Refuse, caller.uid);
}

// -S means something only where the site lets jobs decide about such cores; then it comes with the whole node.
static std::shared_ptr<const model::JobSpec> with_core_spec(const model::ClusterConfig& config,
                                                            std::shared_ptr<const model::JobSpec> spec) {
  if (!spec->core_spec) return spec;
  auto settled = std::make_shared<model::JobSpec>(*spec);
  if (config.jobs_use_spec_cores) {
    settled->exclusive = model::Exclusive::Node;
    settled->oversubscribe = false;
  } else {
    settled->core_spec.reset();
    settled->core_spec_is_threads = false;
  }
  return settled;
}

// JobFileAppend: where the job does not say.
static std::shared_ptr<const model::JobSpec> with_output_mode(const model::ClusterConfig& config,
                                                              std::shared_ptr<const model::JobSpec> spec) {
  const bool settled = spec->open_append || spec->open_truncate || spec->kind != model::JobKind::Batch;
  if (!config.append_output || settled) return spec;
  auto appends = std::make_shared<model::JobSpec>(*spec);
  appends->open_append = true;
  return appends;
}

// What SelectTypeParameters makes the default of --gres-flags, --ntasks-per-core and -m.
static std::shared_ptr<const model::JobSpec> with_select_defaults(const model::ClusterConfig& config,
                                                                  std::shared_ptr<const model::JobSpec> spec) {
  const auto unless = [&](bool wanted, std::uint32_t flag, std::uint32_t opposite) {
    return wanted && (spec->gres_flags & (flag | opposite)) == 0 ? flag : 0;
  };
  const std::uint32_t more =
      unless(config.bind_to_gres, model::kGresEnforceBinding, model::kGresDisableBinding) |
      unless(config.one_task_per_shared_gres, model::kGresOneTaskPerSharing, model::kGresManyTasksPerSharing);
  const bool one_task = config.one_task_per_core && spec->tasks_per_core == 0;
  using Nodes = model::Distribution::Nodes;
  const bool pack = config.pack_tasks && !spec->distribution.pack &&
                    (spec->distribution.nodes == Nodes::Unset || spec->distribution.nodes == Nodes::Block);
  if (more == 0 && !one_task && !pack) return spec;
  auto settled = std::make_shared<model::JobSpec>(*spec);
  settled->gres_flags |= more;
  if (one_task) settled->tasks_per_core = 1;
  if (pack) settled->distribution.pack = true;
  return settled;
}

// Where everybody shares cores, or has nodes for himself, it is as if the job had asked for it; so says Slurm, too,
// when it shows the job.
static std::shared_ptr<const model::JobSpec> with_sharing(const model::View& view,
                                                          std::shared_ptr<const model::JobSpec> spec) {
  const model::Partition* partition = spec->partitions.empty() ? model::default_partition(view)
                                                               : model::find_partition(view, spec->partitions.front());
  if (partition && partition->config.oversubscribe == model::OverSubscribe::Exclusive &&
      spec->exclusive != model::Exclusive::Node) {
    auto whole = std::make_shared<model::JobSpec>(*spec);
    whole->exclusive = model::Exclusive::Node;
    whole->oversubscribe = false;
    return whole;
  }
  const bool forced = partition && partition->config.oversubscribe == model::OverSubscribe::Force &&
                      partition->config.oversubscribe_count > 1 && spec->exclusive == model::Exclusive::No;
  if (!forced || spec->oversubscribe) return spec;
  auto settled = std::make_shared<model::JobSpec>(*spec);
  settled->oversubscribe = true;
  return settled;
}

void Controller::reset_usage(const model::Caller& caller, const std::vector<std::uint32_t>& associations,
                             const std::vector<std::string>& qos, DoneReply reply) {
  std::vector<state::ResetUsage> commands;
  for (const std::uint32_t id : associations) commands.push_back({id, {}});
  for (const std::string& name : qos) commands.push_back({0, name});
  if (commands.empty()) return reply(fail(ErrorCode::InvalidArgument, "nothing is named"));
  // The last one is answered after all others.
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const bool last = i + 1 == commands.size();
    propose(
        std::move(commands[i]),
        [reply = last ? reply : DoneReply()](const state::Outcome& outcome) {
          if (reply) reply(outcome.status);
        },
        IfFull::Refuse, caller.uid);
  }
}

// Who waits for an array waits for all its tasks, and is shown so: "afterok:5_*".
static std::shared_ptr<const model::JobSpec> with_whole_arrays(const model::View& view,
                                                               std::shared_ptr<const model::JobSpec> spec) {
  const auto means_array = [&view](const model::Dependency& term) {
    if (term.array_task || term.whole_array || term.kind == model::Dependency::Kind::Singleton) return false;
    const model::Job* job = model::find_job(view, term.job);
    return view.arrays.find(term.job.value) != nullptr || (job && job->is_array_rest());
  };
  if (std::ranges::none_of(spec->dependencies, means_array)) return spec;
  auto changed = std::make_shared<model::JobSpec>(*spec);
  for (model::Dependency& term : changed->dependencies) term.whole_array |= means_array(term);
  return changed;
}

void Controller::submit(const model::Caller& caller, std::shared_ptr<const model::JobSpec> spec, std::string token,
                        std::function<void(Result<SubmitReply>)> reply, Specs more) {
  const auto check = [&](const model::JobSpec& one) -> Status {
    // Only an administrator may submit for somebody else; everybody else is who the credential says.
    if (!caller.is_admin() && one.uid != caller.uid) return fail(ErrorCode::InvalidUser, "Invalid user id");
    if (!caller.is_admin() && one.nice < 0) return fail(ErrorCode::InvalidNice, "Invalid --nice value");
    if (!caller.is_admin() && one.priority && *one.priority > 0)
      return fail(ErrorCode::PermissionDenied, "only an administrator may set a priority");
    return submit_check_.check(cluster_->view(), one);
  };
  // Rather no new jobs than jobs without a record. Those that are there go on, and their records are kept.
  if (accounting_backlog() >= doors_.max_backlog)
    return reply(fail(ErrorCode::OutOfSpace,
                      fmt::format("no job is taken while accounting is {} records behind (at most {}): spurdbd must come back",
                                  accounting_backlog(), doors_.max_backlog)));
  const auto settle = [&](std::shared_ptr<const model::JobSpec>& one) -> Status {
    const model::View& view = cluster_->view();
    one = with_output_mode(*view.config, with_core_spec(*view.config, std::move(one)));
    one = with_whole_arrays(view, std::move(one));
    one = with_select_defaults(*view.config, std::move(one));
    SPUR_ASSIGN(one, with_account(view, with_sharing(view, std::move(one))));
    return {};
  };
  if (auto ok = settle(spec); !ok) return reply(std::unexpected(ok.error()));
  for (auto& one : more)
    if (auto ok = settle(one); !ok) return reply(std::unexpected(ok.error()));
  if (auto ok = check(*spec); !ok) return reply(std::unexpected(ok.error()));
  for (const auto& one : more)
    if (auto ok = check(*one); !ok) return reply(std::unexpected(ok.error()));
  if (!more.empty())
    if (auto ok = check_components(cluster_->view(), spec, more); !ok) return reply(std::unexpected(ok.error()));
  note_submit(*spec);
  propose(
      state::SubmitJob{std::move(spec), std::move(token), std::move(more)},
      [reply = std::move(reply)](const state::Outcome& outcome) {
        if (!outcome.status) return reply(std::unexpected(outcome.status.error()));
        reply(SubmitReply{outcome.job, outcome.repeated});
      },
      IfFull::Refuse, caller.uid);
}

void Controller::set_accounts(model::AccountsUpdate update, DoneReply reply) {
  propose(state::SetAccounts{std::move(update)},
          [reply = std::move(reply)](const state::Outcome& outcome) { reply(outcome.status); });
}

void Controller::cancel(const model::Caller& caller, state::JobTarget target, int signal, bool batch_only, bool full,
                        DoneReply reply) {
  auto jobs = resolve(caller, target);
  if (!jobs) return reply(std::unexpected(jobs.error()));
  if (signal == 0 || signal == SIGKILL) {
    state::CancelJob command{.target = std::move(target),
                             .final_state = model::JobState::Cancelled,
                             .reason = model::Reason::None,
                             .by_user = true,
                             .by = caller.uid,
                             .exit = {}};
    return propose(
        std::move(command), [reply = std::move(reply)](const state::Outcome& outcome) { reply(outcome.status); },
        IfFull::Refuse, caller.uid);
  }
  bool any = false;
  for (const auto* job : *jobs) {
    if (!model::is_active(job->state)) continue;
    any = true;
    dispatcher_.signal(*job, signal, batch_only, !batch_only && !full);
  }
  if (any) return reply({});
  const bool pending = (*jobs)[0]->state == model::JobState::Pending;
  reply(pending ? fail(ErrorCode::JobPending, "Job is pending execution")
                : fail(ErrorCode::InvalidJobId, "Invalid job id specified"));
}

void Controller::hold(const model::Caller& caller, state::JobTarget target, model::Hold hold, DoneReply reply) {
  // Slurm: the owner's hold is his own to release; an administrator's `hold` is not, his `uhold` is.
  const model::Hold kind = caller.is_admin() ? hold : model::Hold::User;
  change_job(caller, state::HoldJob{std::move(target), kind}, std::move(reply));
}

void Controller::release(const model::Caller& caller, state::JobTarget target, DoneReply reply) {
  auto jobs = resolve(caller, target);
  if (!jobs) return reply(std::unexpected(jobs.error()));
  for (const auto* job : *jobs)
    if (job->hold == model::Hold::Admin && !caller.is_admin())
      return reply(fail(ErrorCode::PermissionDenied, "Access/permission denied"));
  change_job(caller, state::ReleaseJob{std::move(target)}, std::move(reply));
}

void Controller::requeue(const model::Caller& caller, state::JobTarget target, model::AfterCompleting how,
                         DoneReply reply) {
  change_job(caller, state::RequeueJob{std::move(target), how}, std::move(reply));
}

void Controller::suspend(const model::Caller& caller, state::JobTarget target, bool resume, DoneReply reply) {
  if (resume) return change_job(caller, state::ResumeJob{std::move(target)}, std::move(reply));
  change_job(caller, state::SuspendJob{std::move(target)}, std::move(reply));
}

Status Controller::check_update(const model::Caller& caller, state::UpdateJob& update) {
  auto jobs = resolve(caller, update.target);
  if (!jobs)
    return jobs.error().code == ErrorCode::PermissionDenied ? fail(ErrorCode::InvalidUser, "Invalid user id")
                                                            : std::unexpected(jobs.error());
  for (const auto* record : *jobs) {  // each: the rest of an array may wait while a task runs
    const model::Job& job = *record;
    if ((job.flags & model::kCronJob) && (update.spec || update.time_limit))
      return fail(ErrorCode::InvalidArgument, "Cannot modify scrontab jobs through scontrol");
    if (caller.is_admin()) continue;
    const bool longer =
        update.time_limit && update.time_limit->is_set() && job.time_limit.is_finite() &&
        (update.time_limit->is_unlimited() || update.time_limit->minutes_value() > job.time_limit.minutes_value());
    if (longer && job.state != model::JobState::Pending)
      return fail(ErrorCode::PermissionDenied, "Access/permission denied");
    if (update.priority.value_or(0) > 0 && job.hold != model::Hold::None && job.state == model::JobState::Pending)
      return fail(ErrorCode::JobHeld, "Job is in held state, pending scheduler release");
    if (update.priority && *update.priority > job.priority)
      return fail(ErrorCode::PermissionDenied, "Access/permission denied");
    if (update.spec && update.spec->nice < job.spec->nice)
      return fail(ErrorCode::PermissionDenied, "Access/permission denied");
  }
  if (!update.spec) return {};
  const model::JobSpec& old = *jobs->front()->spec;
  if (update.spec->uid != old.uid || update.spec->gid != old.gid)
    return fail(ErrorCode::InvalidUser, "Invalid user id");
  if (update.spec->account != old.account || update.spec->qos != old.qos || update.spec->partitions != old.partitions) {
    SPUR_ASSIGN(const auto settled, with_account(cluster_->view(), update.spec));
    if (settled->qos.empty() && !update.spec->qos.empty()) {  // no QOS, and none is demanded: it stays what it was
      auto kept = std::make_shared<model::JobSpec>(*update.spec);
      kept->qos = old.qos;
      update.spec = std::move(kept);
    }
  }
  return submit_check_.check(cluster_->view(), *update.spec);
}

void Controller::update_job(const model::Caller& caller, state::UpdateJob update, DoneReply reply) {
  if (auto ok = check_update(caller, update); !ok) return reply(std::move(ok));
  change_job(caller, std::move(update), std::move(reply));
}

void Controller::update_jobs(const model::Caller& caller, std::vector<state::UpdateJob> updates, DoneReply reply) {
  for (state::UpdateJob& update : updates)
    if (auto ok = check_update(caller, update); !ok) return reply(std::move(ok));
  struct Open {
    std::size_t left;
    Status first_error;
    DoneReply reply;
  };
  const auto open = std::make_shared<Open>(updates.size(), Status{}, std::move(reply));
  for (state::UpdateJob& update : updates)
    change_job(caller, std::move(update), [open](Status done) {
      if (!done && open->first_error) open->first_error = std::move(done);
      if (--open->left == 0) open->reply(std::move(open->first_error));
    });
}

void Controller::update_node(const model::Caller& caller, state::UpdateNode update, DoneReply reply) {
  if (!caller.is_admin()) return reply(fail(ErrorCode::InvalidUser, "Invalid user id"));
  update.by = caller.uid;
  propose(
      std::move(update), [reply = std::move(reply)](const state::Outcome& outcome) { reply(outcome.status); },
      IfFull::Refuse, caller.uid);
}

// ---- nodes that come and go at run time (state/dynamic_nodes.h)

void Controller::create_nodes(const model::Caller& caller, std::vector<model::NodeConfig> nodes, DoneReply reply) {
  if (!caller.is_admin()) return reply(fail(ErrorCode::InvalidUser, "Invalid user id"));
  propose(
      state::CreateNodes{std::move(nodes)}, [reply = std::move(reply)](const state::Outcome& outcome) { reply(outcome.status); },
      IfFull::Refuse, caller.uid);
}

void Controller::delete_nodes(const model::Caller& caller, std::vector<std::string> nodes, DoneReply reply) {
  if (!caller.is_admin()) return reply(fail(ErrorCode::InvalidUser, "Invalid user id"));
  // Those that can go do, as in Slurm; the answer names the others.
  std::vector<std::string> kept;
  std::optional<ErrorCode> why;
  std::erase_if(nodes, [&](const std::string& name) {
    const Status ok = state::may_delete(cluster_->view(), name);
    if (ok) return false;
    doors_.log(fmt::format("error: failed to delete node '{}': {}", name, ok.error().message));
    if (!why) why = ok.error().code;
    kept.push_back(name);
    return true;
  });
  Status answer;
  if (why) answer = fail(*why, "failed to delete nodes " + text::compress_hostlist(kept));
  if (nodes.empty() && why) return reply(std::move(answer));
  propose(
      state::DeleteNodes{std::move(nodes)},
      [this, answer, reply = std::move(reply)](const state::Outcome& outcome) {
        for (const std::string& note : outcome.notes) doors_.log("warning: " + note);
        reply(outcome.status ? answer : outcome.status);
      },
      IfFull::Refuse, caller.uid);
}

void Controller::join_node(model::NodeConfig node, JoinReply reply) {
  node.created = true;
  node.presence = model::NodePresence::AsDeclared;
  // An agent that starts again says what is known: that is no new configuration.
  const auto& rows = cluster_->view().config->nodes;
  const auto at = std::ranges::find(rows, node.name, &model::NodeConfig::name);
  if (at != rows.end() && *at == node) return reply(node.name);
  const std::string name = node.name;
  propose(
      state::CreateNodes{.nodes = {std::move(node)}, .by_agent = true},
      [this, name, reply = std::move(reply)](const state::Outcome& outcome) {
        if (outcome.status) return reply(name);
        doors_.log(fmt::format("error: node {} was refused: {}", name, outcome.status.error().message));
        reply(std::unexpected(outcome.status.error()));
      },
      IfFull::Refuse);
}

void Controller::claim_node(state::ClaimFutureNode claim, JoinReply reply) {
  const std::string host = claim.hostname;
  propose(
      std::move(claim),
      [this, host, reply = std::move(reply)](const state::Outcome& outcome) {
        if (outcome.status) {
          doors_.log(fmt::format("{} is node {} from now on", host, outcome.name));
          return reply(outcome.name);
        }
        doors_.log(fmt::format("error: {} was refused: {}", host, outcome.status.error().message));
        reply(std::unexpected(outcome.status.error()));
      },
      IfFull::Refuse);
}

// ReconfigFlags: what scontrol has changed of partitions outlives the file.
static void keep_partitions(const model::ClusterConfig& now, model::ClusterConfig& fresh) {
  if (!fresh.keep_partition_info && !fresh.keep_partition_state) return;
  for (const model::PartitionConfig& old : now.partitions) {
    const auto at = std::ranges::find(fresh.partitions, old.name, &model::PartitionConfig::name);
    if (!fresh.keep_partition_info) {
      if (at != fresh.partitions.end()) at->state = old.state;
      continue;
    }
    if (old.is_default)
      for (model::PartitionConfig& other : fresh.partitions) other.is_default = false;
    if (at == fresh.partitions.end())
      fresh.partitions.push_back(old);
    else
      *at = old;
  }
}

void Controller::reconfigure(const model::Caller& caller, model::ClusterConfig config, DoneReply reply) {
  if (!caller.is_admin()) return reply(fail(ErrorCode::PermissionDenied, "Access/permission denied"));
  own_config_ = config;
  keep_partitions(this->config(), config);
  if (doors_.journal.shared() && !ready_) return reply({});  // for when it leads
  const auto applied = [this, reply = std::move(reply)](Status done) {
    // A signal for no job is for the agents themselves: those that are connected read their files again, too.
    if (done)
      cluster_->view().nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
        doors_.agents.send(node->name, model::ControllerSignal{.run = {}, .signal = SIGHUP});
      });
    reply(std::move(done));
  };
  set_config(std::move(config), applied, caller.uid);
}

void Controller::complete_allocation(const model::Caller& caller, JobId id, model::ExitStatus exit, DoneReply reply) {
  const state::JobTarget target{.id = id, .tasks = {}};
  auto jobs = resolve(caller, target);
  if (!jobs) return reply(std::unexpected(jobs.error()));
  if ((*jobs)[0]->spec->kind != model::JobKind::Interactive)
    return reply(fail(ErrorCode::InvalidArgument, "a batch job ends with its script"));
  const bool ok = exit.code == 0 && exit.signal == 0;
  propose(state::CancelJob{.target = target,
                           .final_state = ok ? model::JobState::Completed : model::JobState::Failed,
                           .reason = ok ? model::Reason::None : model::Reason::NonZeroExitCode,
                           .by_user = false,
                           .by = caller.uid,
                           .exit = exit},
          [reply = std::move(reply)](const state::Outcome& outcome) { reply(outcome.status); }, IfFull::Wait,
          caller.uid);
}

void Controller::wait_job(JobId id, Until until, std::function<void(Result<model::JobPtr>)> reply) {
  if (!cluster_->view().jobs.contains(id.value))
    return reply(fail(ErrorCode::InvalidJobId, "Invalid job id specified"));
  waiters_.emplace(id, Waiter{until, std::move(reply)});
  answer_waiters(id);
}

// A whole array is over when its rest and all its tasks are.
bool Controller::is_over(JobId id) const {
  const auto over = [](const model::Job& job) {
    return model::is_final(job.state) && !(job.flags & model::kCompleting);
  };
  const auto& view = cluster_->view();
  const auto* job = view.jobs.find(id.value);
  if (job && !over(**job)) return false;
  const auto* tasks = view.arrays.find(id.value);
  if (!tasks) return true;
  bool all = true;
  tasks->for_each([&](std::uint32_t, JobId task) {
    const auto* record = view.jobs.find(task.value);
    all = !record || over(**record);
    return all;
  });
  return all;
}

void Controller::answer_waiters(JobId id) {
  auto [it, end] = waiters_.equal_range(id);
  if (it == end) return;
  const auto* job = cluster_->view().jobs.find(id.value);
  const bool over = is_over(id);
  const bool started = job && (*job)->state != model::JobState::Pending && !((*job)->flags & model::kConfiguring) &&
                       !dispatcher_.awaits_prolog(**job);
  std::vector<Waiter> ready;
  while (it != end) {
    if (over || (it->second.until == Until::Started && started) ||
        (it->second.after && !notices_after(id, *it->second.after).empty())) {
      ready.push_back(std::move(it->second));
      it = waiters_.erase(it);
    } else {
      ++it;
    }
  }
  for (auto& waiter : ready) {
    if (job && waiter.after && !over && !(waiter.until == Until::Started && started))
      waiter.on_notices({*job, notices_after(id, *waiter.after), true});
    else if (job)
      waiter.reply(*job);
    else
      waiter.reply(fail(ErrorCode::InvalidJobId, "Invalid job id specified"));
  }
}

}  // namespace spur::ctld
