// SPDX-License-Identifier: Apache-2.0
// Steps whose stream broke, with this agent or with one before it: their daemons call back, wait to be taken up
// again, and are ended where nobody can want them any more.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "os/process.h"
#include "os/step_launcher.h"
#include "spur/v1/agent.pb.h"
#include "wire/grpc_framing.h"

namespace spur::os {
namespace {

constexpr Duration kCallPatience = seconds(5);  // for a daemon to call; it tries once a second at least

}  // namespace

StepLauncher::StepEntry StepLauncher::find_step(model::JobRun run, const std::string& name) {
  const auto [first, last] = steps_.equal_range(run);
  const auto it = std::find_if(first, last, [&](const auto& entry) { return entry.second.name == name; });
  return it == last ? steps_.end() : it;
}

void StepLauncher::on_step_call(StepCalls::Call call) {
  v1::StepHello hello;
  if (!hello.ParseFromString(call.hello)) return;
  const model::JobRun run{JobId{hello.job()}, Epoch{hello.epoch()}};
  const auto known = runs_.find(run);
  if (known == runs_.end() || known->second.phase == Phase::Ended || known->second.phase == Phase::Epilog) {
    // Over, as far as this node is concerned. It hears that from its orders and need not be watched.
    (void)send_order(call.orders.get(), {.kind = StepOrder::Kind::Kill});
    return;
  }
  auto entry = find_step(run, std::to_string(hello.step()));
  if (entry == steps_.end()) {
    auto pidfd = std::make_shared<const UniqueFd>(open_pidfd(call.pid));
    if (!*pidfd) return;  // gone again
    entry = steps_.emplace(run, Step{.name = std::to_string(hello.step()), .pidfd = pidfd, .orders = {}});
    if (!loop_.watch_process(pidfd, [this, entry] { on_step_gone(entry); })) {
      steps_.erase(entry);
      return;
    }
    // Its processes are ours to end when their cgroup cannot tell.
    known->second.may_have_strays = true;
  }
  entry->second.orders = std::move(call.orders);
  entry->second.stream = std::move(call.stream);
  entry->second.key = hello.key();
  if (known->second.phase == Phase::Clearing)
    (void)send_order(entry->second.orders.get(), {.kind = StepOrder::Kind::Kill});
  hand_over(entry);
}

void StepLauncher::hand_over(StepEntry step) {
  const auto wanted = std::ranges::find_if(
      wanted_, [&](const Wanted& w) { return w.run == step->first && w.step == step->second.name; });
  if (wanted == wanted_.end() || !step->second.stream) return;
  if (wanted->key != step->second.key)
    return refuse_wanted(wanted, {ErrorCode::PermissionDenied, "the step is not yours"});
  loop_.cancel(wanted->timer);
  const StepReady ready = std::move(wanted->ready);
  wanted_.erase(wanted);
  ready(std::move(step->second.stream));
}

void StepLauncher::refuse_wanted(std::list<Wanted>::iterator wanted, const Error& error) {
  loop_.cancel(wanted->timer);
  const StepReady ready = std::move(wanted->ready);
  wanted_.erase(wanted);
  ready(std::unexpected(error));
}

void StepLauncher::resume_step(model::JobRun run, std::uint32_t step, const std::string& key, StepReady ready) {
  const auto wanted = wanted_.insert(
      wanted_.end(),
      Wanted{.run = run, .step = std::to_string(step), .key = key, .ready = std::move(ready), .timer = {}});
  const auto entry = find_step(run, wanted->step);
  // One that this agent does not know has some time to call, from when it could.
  const Duration patience = entry != steps_.end() ? kCallPatience : opened_at_ + kCallPatience - EventLoop::now();
  wanted->timer = loop_.call_after(std::max(patience, Duration{0}), [this, wanted] {
    refuse_wanted(wanted, {ErrorCode::NotFound, "the step does not run on this node any more"});
  });
  if (entry != steps_.end()) hand_over(entry);
}

void StepLauncher::on_step_gone(StepEntry step) {
  const model::JobRun run = step->first;
  const std::string name = step->second.name;
  const auto told = decode_sample(hear_step(step->second.orders.get()));
  if (const auto known = runs_.find(run); told && known != runs_.end())
    for (const auto& task : told->tasks) known->second.steps_usage.add(task.usage);
  steps_.erase(step);
  if (!told) clear_step(run, name);  // it was killed, and left its tasks
  for (auto it = wanted_.begin(); it != wanted_.end();) {
    const auto next = std::next(it);
    if (it->run == run && it->step == name)
      refuse_wanted(it, {ErrorCode::NotFound, "the step does not run on this node any more"});
    it = next;
  }
}

void StepLauncher::clear_step(model::JobRun run, const std::string& name) {
  const auto known = runs_.find(run);
  if (known == runs_.end()) return;
  if (!known->second.header.cgroup.empty()) {
    const auto group = Cgroup::open(fmt::format("{}/step_{}", known->second.header.cgroup, name));
    if (!group) return;
    if (group->populated()) {
      (void)group->kill();
      loop_.call_after(milliseconds(20), [this, alive = alive_, run, name] {
        if (*alive) clear_step(run, name);
      });
      return;
    }
    group->remove();
    return;
  }
  known->second.may_have_strays = true;
  const std::string mark = fmt::format("SLURM_STEP_ID={}", name);
  for (const pid_t pid : processes_of(0, run_token(token_, run)))
    if (has_environment_entry(pid, mark)) ::kill(pid, SIGKILL);
}

}  // namespace spur::os
