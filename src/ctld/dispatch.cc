// SPDX-License-Identifier: Apache-2.0
#include "ctld/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "ctld/hook_environment.h"

namespace spur::ctld {
namespace {

constexpr Duration kRepeat = std::chrono::seconds(5);
// Leases and repeats are looked at this often: a walk over what is unconfirmed, not a timer each.
constexpr Duration kTick = std::chrono::milliseconds(250);
// A tick that comes later than this: the process was stopped, or its host slept.
constexpr Duration kStoodStill = std::chrono::seconds(2);

seconds heartbeat_interval(seconds lease) {
  return lease == seconds(0) ? seconds(30) : std::clamp(lease / 4, seconds(1), seconds(30));
}

// The command is not in the journal: no space, or another controller leads.
bool not_committed(const state::Outcome& outcome) {
  return !outcome.status &&
         (outcome.status.error().code == ErrorCode::OutOfSpace || outcome.status.error().code == ErrorCode::NotLeader);
}

}  // namespace

Dispatcher::Dispatcher(io::Clock& clock, io::AgentPort& agents, Hooks hooks)
    : clock_(clock), agents_(agents), hooks_(std::move(hooks)) {}

void Dispatcher::resume_all(const std::vector<state::Effect>& effects) {
  const Duration now = clock_.monotonic();
  hooks_.view().nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
    if (!node->registered) return;
    Link& link = links_[node->name];
    link.leased = !node->down;
    link.heard = now;
  });
  if (hooks_.programs && hooks_.programs->has(io::ControllerHooks::Kind::Epilog))
    hooks_.view().active.for_each(
        [&](std::uint32_t, const model::JobPtr& job) { before_epilog_[{job->id, job->epoch}] = job; });
  for (const auto& effect : effects) carry_out(effect);
}

void Dispatcher::reset() {
  for (const auto& [node, link] : links_)
    if (link.connected) agents_.hang_up(node);
  links_.clear();
  work_.clear();
  launches_.forget();
  in_prolog_.clear();
  after_prolog_.clear();
  before_epilog_.clear();
  if (hooks_.loads) hooks_.loads->forget_all();
}

bool Dispatcher::awaits_prolog(const model::Job& job) const {
  return hooks_.programs && hooks_.programs->has(io::ControllerHooks::Kind::Prolog) && model::is_active(job.state) &&
         !after_prolog_.contains({job.id, job.epoch});
}

bool Dispatcher::hold_for_prolog(const model::Job& job) {
  if (!hooks_.programs) return false;
  using Kind = io::ControllerHooks::Kind;
  const model::JobRun run{job.id, job.epoch};
  if (hooks_.programs->has(Kind::Epilog)) before_epilog_[run] = *hooks_.view().active.find(job.id.value);
  if (!hooks_.programs->has(Kind::Prolog) || after_prolog_.contains(run)) return false;
  if (in_prolog_.insert(run).second)
    hooks_.programs->run(Kind::Prolog, hook_environment(hooks_.view(), job, false),
                         [this, run](const Status& status) { on_prolog(run, status); });
  return true;
}

void Dispatcher::on_prolog(model::JobRun run, const Status& status) {
  if (in_prolog_.erase(run) == 0) return;  // another controller leads now, and sees to it
  const auto* job = hooks_.view().active.find(run.job.value);
  if (!job || (*job)->epoch != run.epoch) return;  // over meanwhile
  if (status) {
    after_prolog_.insert(run);
    carry_out(state::LaunchJob{run.job, run.epoch});
    if (hooks_.prolog_done) hooks_.prolog_done(run.job);
    return;
  }
  hooks_.log(fmt::format("error: job {}: {}", run.job.value, status.error().message));
  // As in Slurm: back to the queue if it can go there, else it is over.
  const state::JobTarget target{.id = run.job, .tasks = {}, .het_offset = {}};
  hooks_.propose(state::RequeueJob{target, model::AfterCompleting::Requeue},
                 [this, target](const state::Outcome& outcome) {
                   if (outcome.status) return;
                   hooks_.propose(state::CancelJob{.target = target,
                                                   .final_state = model::JobState::Cancelled,
                                                   .reason = model::Reason::None,
                                                   .by_user = false,
                                                   .by = {},
                                                   .exit = {}},
                                  {});
                 });
}

void Dispatcher::review_epilog(JobId id) {
  if (!hooks_.programs) return;
  const auto* active = hooks_.view().active.find(id.value);
  const auto over = [&](const model::JobRun& run) {
    return run.job == id && (!active || (*active)->epoch != run.epoch);
  };
  const model::JobRun first{id, Epoch{}};
  for (auto it = after_prolog_.lower_bound(first); it != after_prolog_.end() && it->job == id;)
    it = over(*it) ? after_prolog_.erase(it) : std::next(it);
  for (auto it = before_epilog_.lower_bound(first); it != before_epilog_.end() && it->first.job == id;) {
    if (!over(it->first)) {
      it->second = *active;
      ++it;
      continue;
    }
    // How it ended, unless it is already waiting for the next run.
    const auto* now = model::find_job(hooks_.view(), id);
    const model::Job& job = now && now->epoch == it->first.epoch ? *now : *it->second;
    hooks_.programs->run(io::ControllerHooks::Kind::Epilog, hook_environment(hooks_.view(), job, true),
                         [this, id](const Status& status) {
                           if (!status)
                             hooks_.log(fmt::format("error: job {}: {}", id.value, status.error().message));
                         });
    it = before_epilog_.erase(it);
  }
}

void Dispatcher::for_each_node(const model::Job& job, const std::function<void(const std::string&)>& f) const {
  for (const NodeIndex index : job.nodes_left)
    if (const auto* node = hooks_.view().nodes.find(index.value)) f((*node)->name);
}

void Dispatcher::carry_out(const state::Effect& effect) {
  const auto with_job = [&](JobId id, Epoch epoch, auto&& change) {
    const auto* job = hooks_.view().active.find(id.value);
    if (!job || (*job)->epoch != epoch) return;  // already over: a later effect of the same batch ended it
    for_each_node(**job, [&](const std::string& node) {
      Work& work = work_[{node, {id, epoch}}];
      change(**job, work);
      send_work(node, {id, epoch}, work);
    });
  };
  if (const auto* changed = std::get_if<state::JobChanged>(&effect)) return review_epilog(changed->job);
  if (const auto* reboot = std::get_if<state::RebootNode>(&effect)) {
    if (const auto* node = hooks_.view().nodes.find(reboot->node.value)) tell_reboot(**node, links_[(*node)->name]);
    return;
  }
  if (const auto* program = std::get_if<state::RunPowerProgram>(&effect)) {
    if (hooks_.run_power_program) hooks_.run_power_program(*program);
    return;
  }
  if (const auto* lost = std::get_if<state::TellNodesLost>(&effect)) {
    const auto* job = hooks_.view().active.find(lost->job.value);
    if (!job || (*job)->epoch != lost->epoch) return;
    // A node that answers has the job's processes still: it is taken in again when they are gone.
    for (const std::string& node : (*job)->lost_nodes)
      if (links_[node].welcomed) {
        links_[node].welcomed = false;
        ask_for_hello(node, {{lost->job, lost->epoch}});
      }
    return tell_nodes_lost(**job);
  }
  if (const auto* launch = std::get_if<state::LaunchJob>(&effect)) {
    const auto* job = hooks_.view().active.find(launch->job.value);
    if (job && (*job)->epoch == launch->epoch && hold_for_prolog(**job)) return;
    with_job(launch->job, launch->epoch, [](const model::Job&, Work& work) { work.launch = true; });
  } else if (const auto* end = std::get_if<state::EndJob>(&effect)) {
    with_job(end->job, end->epoch, [&](const model::Job& job, Work& work) {
      work.end = true;
      work.launch = false;  // whoever has not started it yet need not
      work.kill |= end->kill;
      // How long ago TERM was due is in the state, so the sequence survives a change of leader.
      const Duration since = std::max(Duration{0}, clock_.now() - job.kill_began);
      work.kill_at =
          clock_.monotonic() + hooks_.view().config->kill_wait - (is_set(job.kill_began) ? since : Duration{0});
    });
  } else if (const auto* suspend = std::get_if<state::SuspendOnNodes>(&effect)) {
    with_job(suspend->job, suspend->epoch, [&](const model::Job&, Work& work) {
      work.suspend = !suspend->resume;
      work.resume = suspend->resume;
    });
  } else if (const auto* notice = std::get_if<state::SignalJob>(&effect)) {
    const auto* job = hooks_.view().active.find(notice->job.value);
    if (job && (*job)->epoch == notice->epoch) {
      const bool batch_only = notice->own && (*job)->spec->signal.batch_only;
      signal(**job, notice->signal, batch_only, notice->own && !batch_only);
    }
  }
}

void Dispatcher::on_config() {
  launches_.forget();
  const seconds heartbeat = heartbeat_interval(hooks_.view().config->node_timeout);
  const bool other_lease = std::exchange(heartbeat_, heartbeat) != heartbeat;
  for (auto& [name, link] : links_) {
    // An agent goes on at the old pace until it has heard of the new one, so the new lease starts now.
    if (other_lease) link.heard = clock_.monotonic();
    const auto* node = model::find_node(hooks_.view(), name);
    // A node that was taken out and is back is a new one: its agent, still connected, has to register it.
    if (link.connected && (other_lease || (node && !node->registered))) agents_.hang_up(name);
  }
}

void Dispatcher::send_work(const std::string& node, const model::JobRun& run, Work& work) {
  work.repeat_at = clock_.monotonic() + kRepeat;
  // Only to a node that is taken in: the commit that took it in shows that the node has not been given up. A launch that
  // comes too late would start beside its successor.
  if (!links_[node].welcomed) return;
  const model::Job* job = job_on_node(run, node);
  // A job whose nodes are being switched on goes to all of them when the last one is there.
  if (!job || (job->flags & model::kConfiguring)) return;
  // The news of that commit may itself be late: by now another controller may lead, and have given up the node. Who leads
  // beats several times in that time.
  if (work.launch && !hooks_.surely_leads()) {
    work.repeat_at = clock_.monotonic();  // at the next tick
  } else if (work.launch) {
    const auto* found = model::find_node(hooks_.view(), node);
    const auto& grants = job->allocation->nodes;
    const auto at = std::ranges::lower_bound(grants, found->index, {}, &model::NodeGrant::node);
    SPUR_CHECK(at != grants.end() && at->node == found->index);
    auto launch = launches_.make(hooks_.view(), *job, static_cast<std::uint32_t>(at - grants.begin()));
    launch.heard = links_[node].sequence;
    agents_.send(node, std::move(launch));
  }
  if (work.suspend || work.resume) {
    agents_.send(node, model::ControllerSuspend{run, work.resume});
    // Freezing twice is harmless and a frozen job says nothing, so there is nothing to wait for.
    work.suspend = work.resume = false;
  }
  if (work.end) agents_.send(node, model::ControllerEnd{run, work.kill, job->state});
}

void Dispatcher::signal(const model::Job& job, int signal, bool batch_only, bool steps_only) {
  for_each_node(job, [&](const std::string& node) {
    agents_.send(node, model::ControllerSignal{{job.id, job.epoch}, signal, batch_only, steps_only});
  });
}

void Dispatcher::on_connected(const std::string& node) {
  links_[node].connected = true;
  links_[node].welcomed = false;
}

void Dispatcher::on_disconnected(const std::string& node) {
  links_[node].connected = links_[node].welcomed = false;
}

void Dispatcher::on_message(const std::string& node, const model::AgentMessage& message) {
  Link& link = links_[node];
  link.heard = clock_.monotonic();
  link.loss_proposed = false;
  std::visit([&](const auto& m) { on(node, m); }, message);
}

void Dispatcher::on(const std::string& node, const model::AgentHello& hello) {
  links_[node].connected = true;
  links_[node].sequence = hello.sequence;
  if (hooks_.loads) hooks_.loads->note(node, {hello.load_hundredths, hello.free_memory_mib});
  state::RegisterNode command{.name = node,
                              .address = hello.address,
                              .hostname = hello.hostname,
                              .version = hello.version,
                              .os = hello.os,
                              .arch = hello.arch,
                              .public_key = hello.public_key,
                              .found = hello.found,
                              .boot_time = hello.boot_time,
                              .agent_started = hello.started,
                              .holding = hello.holding,
                              .extra = hello.extra,
                              .instance_id = hello.instance_id,
                              .instance_type = hello.instance_type};
  hooks_.propose_repeated(std::move(command), [this, node, holding = hello.holding](const state::Outcome& outcome) {
    if (not_committed(outcome)) return;
    if (outcome.status) return welcome(node, holding);
    if (outcome.status.error().code == ErrorCode::StaleEpoch) {
      // Runs that are over but still there: a node that was cut off and given up. It gets its place back only when
      // they are gone, or their CPUs and devices would be given out twice. The agent says hello again then. Only what
      // is committed is believed here: to a controller that led once and does not know it, the runs of its
      // successor are unknown.
      ask_for_hello(node, unknown_of(node, holding));
    } else {
      // The agent asks every few seconds; the log need not.
      const std::string& why = outcome.status.error().message;
      if (std::exchange(links_[node].refusal, why) != why)
        hooks_.log(fmt::format("error: node {} was refused: {}", node, why));
    }
  });
}

std::vector<model::JobRun> Dispatcher::unknown_of(const std::string& node,
                                                  const std::vector<model::JobRun>& holding) const {
  std::vector<model::JobRun> out;
  for (const auto& run : holding)
    if (!job_on_node(run, node)) out.push_back(run);
  return out;
}

model::ControllerWelcome Dispatcher::welcome_message() const {
  const seconds lease = hooks_.view().config->node_timeout;
  return {.cluster_name = hooks_.view().config->cluster_name,
          .lease = lease,
          .heartbeat = heartbeat_interval(lease),
          .controller_public_key = controller_public_key,
          .unknown = {},
          .hello_again = false};
}

void Dispatcher::ask_for_hello(const std::string& node, std::vector<model::JobRun> unknown) {
  auto message = welcome_message();
  message.unknown = std::move(unknown);
  message.hello_again = true;
  agents_.send(node, std::move(message));
}

void Dispatcher::welcome(const std::string& node, const std::vector<model::JobRun>& holding) {
  Link& link = links_[node];
  link.told_silent = false;
  link.welcomed = link.connected;
  link.refusal.clear();
  agents_.send(node, welcome_message());
  // Whatever the node does not know about itself yet goes out at once; what it holds is launched already.
  for (auto it = work_.lower_bound({node, {}}); it != work_.end() && it->first.first == node; ++it) {
    auto& [key, work] = *it;
    if (std::find(holding.begin(), holding.end(), key.second) != holding.end()) work.launch = false;
    send_work(node, key.second, work);
  }
  // A run that the state gives to this node and nobody is working on: the node lost its note, or an earlier leader
  // had its acknowledgement. Launching again is safe, as the node refuses what it already ran.
  const auto* found = model::find_node(hooks_.view(), node);
  if (!found) return;
  tell_reboot(*found, link);
  for (const JobId id : found->jobs) {
    const auto* job = hooks_.view().active.find(id.value);
    if (!job) continue;
    if (!(*job)->lost_nodes.empty() && (*job)->allocation->nodes.front().node == found->index) tell_nodes_lost(**job);
    const model::JobRun run{id, (*job)->epoch};
    const bool held = std::find(holding.begin(), holding.end(), run) != holding.end();
    if (held || !job_on_node(run, node) || in_prolog_.contains(run)) continue;
    Work& work = work_[{node, run}];
    if (work.pending()) continue;  // sent above; one that is being ended need not be launched for that
    work.launch = true;
    send_work(node, run, work);
  }
}

// A node that was silent for long is not simply there again: what it runs may have been given up meanwhile. It
// registers anew, and the state decides.
void Dispatcher::on(const std::string& node, const model::AgentHeartbeat& heartbeat) {
  links_[node].sequence = heartbeat.sequence;
  if (hooks_.loads) hooks_.loads->note(node, {heartbeat.load_hundredths, heartbeat.free_memory_mib});
  if (!links_[node].welcomed) ask_for_hello(node, {});
  const auto* found = model::find_node(hooks_.view(), node);
  if (heartbeat.problem.empty() || !found || (found->flags & model::kNodeDrain)) return;
  // The agent repeats it: a node that was resumed and is still broken goes out again.
  hooks_.propose_repeated(state::UpdateNode{.nodes = {node},
                                            .action = state::UpdateNode::Action::Drain,
                                            .reason = heartbeat.problem,
                                            .comment = {},
                                            .extra = {},
                                            .features = {},
                                            .weight = {},
                                            .by = kRootUid},
                          [this, node, why = heartbeat.problem](const state::Outcome& outcome) {
                            if (outcome.status) hooks_.log(fmt::format("error: draining node {}: {}", node, why));
                          });
}

void Dispatcher::on(const std::string& node, const model::AgentLaunched& launched) {
  const auto it = work_.find({node, launched.run});
  if (it != work_.end()) {
    it->second.launch = false;
    if (!it->second.pending()) work_.erase(it);
  }
}

void Dispatcher::on(const std::string& node, const model::AgentJobDone& done) {
  // Known already (the acknowledgement was lost), or of an older epoch: the state refuses it, and the agent may forget
  // it. But it is asked: to a controller that led once and does not know it, the runs of its successor are unknown.
  const bool known = job_on_node(done.run, node);
  state::NodeJobDone command{.job = done.run.job,
                             .epoch = done.run.epoch,
                             .node = node,
                             .exit = done.exit,
                             .is_batch_host = done.is_batch_host,
                             .out_of_memory = done.out_of_memory,
                             .launch_failed = done.launch_failed,
                             .error = done.error,
                             .prolog_failed = done.prolog_failed,
                             .node_blameless = done.node_blameless,
                             .drain = done.drain,
                             .usage = done.usage,
                             .batch_usage = done.batch_usage,
                             .steps = done.steps};
  hooks_.propose_repeated(std::move(command), [this, node, known, run = done.run, why = done.error](const auto& outcome) {
    if (not_committed(outcome)) return;
    if (known && !why.empty())
      hooks_.log(fmt::format("error: node {} could not run job {}: {}", node, run.job.value, why));
    work_.erase({node, run});
    agents_.send(node, model::ControllerDoneAck{run});
  });
}

// Only a note for accounting: of a run that is not known any more there is nothing to note.
void Dispatcher::on(const std::string& node, const model::AgentStepsEnded& ended) {
  hooks_.propose_repeated(state::StepsEnded{ended.run.job, ended.run.epoch, ended.steps},
                          [this, node, run = ended.run, count = ended.first + ended.steps.size()](const auto& outcome) {
                            if (!not_committed(outcome)) agents_.send(node, model::ControllerStepsAck{run, count});
                          });
}

// A reboot that was issued is in the journal: what could be wrong is only that another controller has called it off since.
void Dispatcher::tell_reboot(const model::Node& node, Link& link) {
  if (!(node.flags & model::kNodeRebootIssued) || !link.welcomed || !hooks_.surely_leads()) return;
  link.reboot_told = clock_.monotonic();
  agents_.send(node.name, model::ControllerReboot{node.ordered_at});
}

void Dispatcher::tell_nodes_lost(const model::Job& job) {
  const auto* first = hooks_.view().nodes.find(job.allocation->nodes.front().node.value);
  if (first && links_[(*first)->name].welcomed)
    agents_.send((*first)->name, model::ControllerNodesLost{{job.id, job.epoch}, job.lost_nodes});
}

// Until they have booted, or their time is up, nodes are told to, as long as they answer.
void Dispatcher::repeat_reboots(Duration now) {
  for (auto& [name, link] : links_) {
    const auto* node = model::find_node(hooks_.view(), name);
    if (!node || !(node->flags & model::kNodeRebootIssued)) continue;
    if (link.reboot_told < Duration{0} || now - link.reboot_told >= kRepeat) tell_reboot(*node, link);
  }
}

void Dispatcher::check_leases(Duration now) {
  const Duration lease = hooks_.view().config->node_timeout;
  if (lease == Duration{0}) return;  // the site wants silent nodes to stay up
  for (auto& [name, link] : links_) {
    const auto* node = model::find_node(hooks_.view(), name);
    if (!node || !node->registered || node->down || node->is_away()) {
      link.leased = false;
      continue;
    }
    // An administrator's resume starts a lease, too: the silence before it was known to him.
    if (!std::exchange(link.leased, true)) link.heard = now, link.loss_proposed = false;
    const Duration silent = now - link.heard;
    if (silent >= lease && !link.loss_proposed) {
      link.loss_proposed = true;
      link.welcomed = false;
      // Without space for it, it is looked at again: by then the node may have answered.
      hooks_.propose_repeated(state::NodeLost{name}, [this, node = name, silent](const state::Outcome& outcome) {
        if (not_committed(outcome)) {
          links_[node].loss_proposed = false;
          return;
        }
        // Again: it may have said hello and been welcomed while this was on its way to the journal.
        links_[node].welcomed = false;
        hooks_.log(fmt::format("error: node {} has not answered for {} s, setting it DOWN", node,
                               std::chrono::duration_cast<seconds>(silent).count()));
      });
    } else if (silent >= lease / 2 && !link.told_silent) {
      link.told_silent = true;
      link.welcomed = false;
      hooks_.propose_repeated(state::NodeResponding{name, false}, [this, node = name](const state::Outcome& outcome) {
        if (not_committed(outcome))
          links_[node].told_silent = false;
        else
          links_[node].welcomed = false;
      });
    }
  }
}

void Dispatcher::on_timer() {
  const Duration now = clock_.monotonic();
  if (now < tick_at_) return;
  // What was not heard while nobody listened says nothing about the nodes.
  if (const Duration late = now - tick_at_; late > kStoodStill)
    for (auto& [name, link] : links_) link.heard = std::min(now, link.heard + late);
  tick_at_ = now + kTick;
  check_leases(now);
  repeat_reboots(now);
  for (auto it = work_.begin(); it != work_.end();) {
    auto& [key, work] = *it;
    const bool over = !job_on_node(key.second, key.first);
    if (over || !work.pending()) {
      it = work_.erase(it);
      continue;
    }
    if (work.end && !work.kill && now >= work.kill_at) {
      work.kill = true;
      send_work(key.first, key.second, work);
    } else if (now >= work.repeat_at) {
      send_work(key.first, key.second, work);
    }
    ++it;
  }
}

Duration Dispatcher::next_timer() const {
  return work_.empty() && links_.empty() ? Duration::max() : tick_at_;
}

}  // namespace spur::ctld
