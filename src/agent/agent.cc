// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"

#include <algorithm>
#include <utility>

namespace spur::agent {
namespace {

constexpr Duration kRepeat = std::chrono::seconds(5);
constexpr std::size_t kRememberOver = 20'000;
constexpr std::size_t kRememberSaid = 64;
// So many ended steps are not kept until the end of the run.
constexpr std::size_t kStepsAtOnce = 500;

}  // namespace

Agent::Agent(AgentIdentity identity, io::Clock& clock, io::Launcher& launcher, io::ControllerPort& controller)
    : identity_(std::move(identity)), clock_(clock), launcher_(launcher), controller_(controller) {}

Status Agent::start() {
  started_ = clock_.now();
  launcher_.on_ended = [this](io::Launcher::Ended ended) { on_ended(ended); };
  SPUR_ASSIGN(auto known, launcher_.recover());
  for (auto& k : known) {
    Run& run = runs_[k.run];
    run.is_batch_host = k.is_batch_host;
    run.launch = k.launch;
    if (!k.running) on_ended(k.ended);
  }
  return {};
}

void Agent::on_connected() {
  connected_ = true;
  welcomed_ = false;  // what comes now comes over a new connection
  cleaning_.clear();
  say_hello();
}

void Agent::on_disconnected() {
  connected_ = welcomed_ = false;
}

void Agent::say_hello() {
  next_hello_ = clock_.monotonic() + kRepeat;
  model::AgentHello hello{.node = identity_.node,
                          .address = identity_.address,
                          .hostname = identity_.hostname,
                          .version = identity_.version,
                          .os = identity_.os,
                          .arch = identity_.arch,
                          .public_key = identity_.public_key,
                          .found = identity_.found,
                          .boot_time = identity_.boot_time,
                          .started = started_,
                          .holding = {},
                          .sequence = next_sequence(),
                          .extra = identity_.extra,
                          .instance_id = identity_.instance_id,
                          .instance_type = identity_.instance_type};
  for (const auto& [run, state] : runs_) hello.holding.push_back(run);
  if (measure) {
    model::AgentHeartbeat now;
    measure(now);
    hello.load_hundredths = now.load_hundredths;
    hello.free_memory_mib = now.free_memory_mib;
  }
  controller_.send(std::move(hello));
}

std::uint64_t Agent::next_sequence() {
  said_.emplace_back(++sequence_, clock_.monotonic());
  if (said_.size() > kRememberSaid) said_.pop_front();
  return sequence_;
}

// The controller may have given this node up, and started the job elsewhere, since it sent this: the message was long on its
// way, or this process stood still with the message in its socket. A lease begins when something of ours is heard, which
// is after it was said. What still holds is sent again.
bool Agent::is_fresh(const model::ControllerLaunch& launch) const {
  if (!welcomed_) return false;
  if (lease_ == Duration{0}) return true;
  const auto said = std::ranges::lower_bound(said_, launch.heard, {}, &std::pair<std::uint64_t, Duration>::first);
  return said != said_.end() && said->first == launch.heard && clock_.monotonic() - said->second < lease_ * 3 / 4;
}

void Agent::on_message(const model::ControllerMessage& message) {
  std::visit([&](const auto& m) { on(m); }, message);
}

void Agent::on(const model::ControllerWelcome& welcome) {
  welcomed_ = true;
  controller_public_key_ = welcome.controller_public_key;
  cluster_name_ = welcome.cluster_name;
  heartbeat_every_ = welcome.heartbeat;
  lease_ = welcome.lease;
  // Due at once if the hello was said long ago.
  next_heartbeat_ = (said_.empty() ? clock_.monotonic() : said_.back().second) + heartbeat_every_;
  cleaning_.clear();
  for (const auto& run : welcome.unknown) {
    const auto it = runs_.find(run);
    if (it == runs_.end()) continue;
    if (it->second.running) {
      cleaning_.insert(run);
      launcher_.end(run, true, model::JobState::Cancelled);
    } else {
      forget(run);
    }
  }
  if (welcome.hello_again) {
    // Not taken in yet: first what is over must be gone.
    welcomed_ = false;
    if (cleaning_.empty()) say_hello();
    return;
  }
  for (auto& [run, state] : runs_)
    if (!state.running) report(run, state);
}

bool Agent::is_over(const model::JobRun& run) const {
  const auto it = over_.find(run.job);
  return it != over_.end() && run.epoch <= it->second;
}

void Agent::on(const model::ControllerLaunch& launch) {
  const model::JobRun run = launch.run;
  if (const auto it = runs_.find(run); it != runs_.end()) {
    // A repeat: say again what is so.
    if (it->second.running)
      controller_.send(model::AgentLaunched{run});
    else
      report(run, it->second);
    return;
  }
  if (!is_fresh(launch)) return;
  if (is_over(run)) return;  // late: it ran here, ended, and the controller has that on record
  const auto newer = runs_.lower_bound({run.job, Epoch{run.epoch.value + 1}});
  if (newer != runs_.end() && newer->first.job == run.job) return;  // an older epoch is never started
  // An older run of the same job that is still here has lost its right to be.
  for (auto it = runs_.lower_bound({run.job, Epoch{}}); it != runs_.end() && it->first < run; ++it)
    if (it->second.running) launcher_.end(it->first, true, model::JobState::Cancelled);
  Run& state = runs_[run];
  state.is_batch_host = launch.this_part == 0;
  state.launch = std::make_shared<const model::ControllerLaunch>(launch);
  if (auto started = launcher_.launch(launch); !started) {
    // Over before it began, and kept as such until the controller has it on record: a repeat of the launch must not
    // start what was already given up.
    return on_ended(
        {.run = run, .exit = {}, .out_of_memory = false, .launch_failed = true, .error = started.error().message});
  }
  if (state.running) controller_.send(model::AgentLaunched{run});
}

void Agent::on(const model::ControllerEnd& end) {
  const auto it = runs_.find(end.run);
  if (it == runs_.end()) {
    // It never came here, or is over: either way there is nothing to end, and the controller still waits to hear so
    // (an earlier answer was lost). From now on its launch must not start it any more.
    if (!is_over(end.run)) remember_over(end.run);
    model::AgentJobDone done;
    done.run = end.run;
    done.exit = {.code = 0, .signal = 15};
    done.is_batch_host = true;
    controller_.send(std::move(done));
    return;
  }
  if (it->second.running) {
    if (on_run_ends) on_run_ends(end.run, false);
    launcher_.end(end.run, end.kill, end.why);
  } else {
    report(end.run, it->second);
  }
}

void Agent::on(const model::ControllerSignal& signal) {
  if (runs_.contains(signal.run)) launcher_.signal(signal.run, signal.signal, signal.batch_only, signal.steps_only);
}

void Agent::on(const model::ControllerSuspend& suspend) {
  if (runs_.contains(suspend.run)) launcher_.suspend(suspend.run, suspend.resume);
}

void Agent::on(const model::ControllerDoneAck& ack) {
  const auto it = runs_.find(ack.run);
  if (it != runs_.end() && !it->second.running) forget(ack.run);
}

void Agent::on(const model::ControllerStepsAck& ack) {
  const auto it = runs_.find(ack.run);
  if (it == runs_.end() || !it->second.running || ack.count <= it->second.steps_told) return;
  auto& state = it->second;
  const std::size_t known = std::min<std::size_t>(ack.count - state.steps_told, state.steps.size());
  state.steps.erase(state.steps.begin(), state.steps.begin() + static_cast<std::ptrdiff_t>(known));
  state.steps_told += known;
  state.next_steps = Duration{0};
  if (state.steps.size() >= kStepsAtOnce) tell_steps(ack.run, state);
}

void Agent::step_ended(const model::JobRun& run, model::StepEnd end) {
  const auto it = runs_.find(run);
  if (it == runs_.end()) return;
  auto& state = it->second;
  if (!state.running) {
    state.done.steps.push_back(std::move(end));
    return;
  }
  state.steps.push_back(std::move(end));
  if (welcomed_ && state.steps.size() >= kStepsAtOnce && state.next_steps <= clock_.monotonic())
    tell_steps(run, state);
}

void Agent::tell_steps(const model::JobRun& run, Run& state) {
  state.next_steps = clock_.monotonic() + kRepeat;
  const auto count = static_cast<std::ptrdiff_t>(std::min(state.steps.size(), kStepsAtOnce));
  controller_.send(model::AgentStepsEnded{run, state.steps_told, {state.steps.begin(), state.steps.begin() + count}});
}

// A batch script has an output to write to; who holds an interactive run hears it from us.
void Agent::on(const model::ControllerNotify& notify) {
  const auto it = runs_.find(notify.run);
  if (it == runs_.end() || !it->second.running) return;
  const bool batch = !it->second.launch || it->second.launch->spec->kind == model::JobKind::Batch;
  if (batch)
    launcher_.notify(notify.run, notify.text);
  else if (on_notice)
    on_notice(notify.run, notify.text);
}

void Agent::on(const model::ControllerReboot& reboot) {
  if (on_reboot) on_reboot(reboot.at);
}

void Agent::on(const model::ControllerNodesLost& lost) {
  if (on_nodes_lost && runs_.contains(lost.run)) on_nodes_lost(lost.run, lost.nodes);
}

void Agent::on(const model::ControllerDebug& debug) {
  if (on_debug) on_debug(debug);
}

void Agent::on(const model::ControllerShutdown&) {
  if (on_shutdown) on_shutdown();
}

void Agent::forget(const model::JobRun& run) {
  launcher_.forget(run);
  if (on_forgotten) on_forgotten(run);
  runs_.erase(run);
  remember_over(run);
}

void Agent::remember_over(const model::JobRun& run) {
  const auto [it, fresh] = over_.emplace(run.job, run.epoch);
  it->second = std::max(it->second, run.epoch);
  if (fresh) over_order_.push_back(run.job);
  while (over_order_.size() > kRememberOver) {
    over_.erase(over_order_.front());
    over_order_.pop_front();
  }
}

void Agent::on_ended(const io::Launcher::Ended& ended) {
  Run& state = runs_[ended.run];
  if (!state.running) return;
  if (on_run_ends) on_run_ends(ended.run, true);  // ends its steps
  state.running = false;
  state.done = {.run = ended.run,
                .exit = ended.exit,
                .is_batch_host = state.is_batch_host,
                .out_of_memory = ended.out_of_memory,
                .launch_failed = ended.launch_failed,
                .error = ended.error,
                .prolog_failed = ended.prolog_failed,
                .node_blameless = ended.node_blameless,
                .drain = ended.drain,
                .usage = ended.usage,
                .batch_usage = ended.batch_usage,
                .steps = std::move(state.steps)};
  if (cleaning_.erase(ended.run)) {
    forget(ended.run);
    if (cleaning_.empty() && connected_) say_hello();
    return;
  }
  if (welcomed_) report(ended.run, state);
}

void Agent::report(const model::JobRun&, Run& state) {
  state.next_report = clock_.monotonic() + kRepeat;
  controller_.send(state.done);
}

const model::ControllerLaunch* Agent::held(JobId job) const {
  const model::ControllerLaunch* newest = nullptr;
  for (auto it = runs_.lower_bound({job, Epoch{}}); it != runs_.end() && it->first.job == job; ++it)
    if (it->second.running) newest = it->second.launch.get();
  return newest;
}

bool Agent::may_still_come(const model::JobRun& run) const {
  if (is_over(run)) return false;
  const auto it = runs_.lower_bound(run);
  return it == runs_.end() || it->first.job != run.job;
}

bool Agent::has_job_of(Uid uid) const {
  return std::ranges::any_of(runs_, [&](const auto& entry) {
    return entry.second.running && entry.second.launch && entry.second.launch->spec->uid == uid;
  });
}

std::vector<const model::ControllerLaunch*> Agent::held_runs() const {
  std::vector<const model::ControllerLaunch*> out;
  for (const auto& [run, state] : runs_)
    if (state.running && state.launch) out.push_back(state.launch.get());
  return out;
}

std::vector<const model::ControllerLaunch*> Agent::ended_runs() const {
  std::vector<const model::ControllerLaunch*> out;
  for (const auto& [run, state] : runs_)
    if (!state.running && state.launch) out.push_back(state.launch.get());
  return out;
}

std::uint32_t Agent::cpus_held() const {
  std::size_t out = 0;
  for (const auto& [run, state] : runs_)
    if (state.running && state.launch) out += state.launch->parts.front().cpus.size();
  return static_cast<std::uint32_t>(out);
}

void Agent::on_timer() {
  if (!connected_) return;
  const Duration now = clock_.monotonic();
  if (!welcomed_) {
    if (now >= next_hello_) say_hello();
    return;
  }
  if (now >= next_heartbeat_) {
    next_heartbeat_ = now + heartbeat_every_;
    model::AgentHeartbeat beat{.sequence = next_sequence()};
    if (measure) measure(beat);
    controller_.send(beat);
  }
  for (auto& [run, state] : runs_)
    if (!state.running && now >= state.next_report)
      report(run, state);
    else if (state.steps.size() >= kStepsAtOnce && now >= state.next_steps)
      tell_steps(run, state);
}

Duration Agent::next_timer() const {
  if (!connected_) return Duration::max();
  if (!welcomed_) return next_hello_;
  Duration next = next_heartbeat_;
  for (const auto& [run, state] : runs_)
    if (!state.running) next = std::min(next, state.next_report);
  return next;
}

}  // namespace spur::agent
