// SPDX-License-Identifier: Apache-2.0
#include "sim/machine.h"

#include <utility>

namespace spur::sim {

Machine::Machine(std::string name, EventQueue& events, Random random, Witness& witness)
    : name_(std::move(name)), events_(events), random_(random), witness_(witness) {}

Status Machine::launch(const model::ControllerLaunch& launch) {
  if (runs_.contains(launch.run)) return {};  // noted already: starting a known run again is a no-op
  if (random_.chance(20)) return fail(ErrorCode::OutOfSpace, "no space left on device");
  Run& run = runs_[launch.run];
  run.launch = launch;
  run.ignores_term = random_.chance(150);
  witness_.on_started(name_, launch);
  // Only the batch host has a process that ends by itself; other parts, and allocations, end when told.
  if (launch.this_part != 0 || launch.spec->kind != model::JobKind::Batch || !launch.spec->script) return {};
  run.planned = random_.chance(100) ? model::ExitStatus{static_cast<std::uint16_t>(random_.between(1, 255)), 0}
                                    : model::ExitStatus{};
  stop_after(launch.run, Duration(random_.between(1'000, 30'000'000)), run.planned);
  return {};
}

void Machine::stop_after(model::JobRun id, Duration delay, model::ExitStatus exit) {
  const std::uint64_t generation = ++runs_.at(id).generation;
  events_.after(delay, [this, id, generation, exit] {
    const auto it = runs_.find(id);
    if (it == runs_.end() || !it->second.running || it->second.generation != generation) return;
    if (it->second.suspended)  // time stands still for it; look again later
      return stop_after(id, std::chrono::seconds(1), exit);
    stop(id, exit);
  });
}

void Machine::stop(model::JobRun id, model::ExitStatus exit) {
  Run& run = runs_.at(id);
  run.running = false;
  run.exit = exit;
  witness_.on_stopped(name_, id, exit);
  if (on_ended_) on_ended_({.run = id, .exit = exit, .out_of_memory = false, .launch_failed = false, .error = {}});
}

void Machine::end(model::JobRun id, bool kill) {
  const auto it = runs_.find(id);
  if (it == runs_.end() || !it->second.running) return;
  if (kill) {
    it->second.suspended = false;
    stop_after(id, Duration(random_.between(100, 50'000)), {0, 9});
  } else if (!it->second.ignores_term) {
    it->second.suspended = false;
    stop_after(id, Duration(random_.between(100, 2'000'000)), {0, 15});
  }
}

void Machine::suspend(model::JobRun id, bool resume) {
  const auto it = runs_.find(id);
  if (it != runs_.end()) it->second.suspended = !resume;
}

void Machine::reboot() {
  for (auto& [id, run] : runs_) {
    if (!run.running) continue;
    run.running = false;
    run.exit = {0, 9};
    witness_.on_stopped(name_, id, run.exit);
  }
}

Result<std::vector<io::Launcher::Known>> SimLauncher::recover() {
  machine_.attach([this](Ended ended) { process_.in([this, ended = std::move(ended)] { on_ended(ended); })(); });
  std::vector<Known> out;
  for (const auto& [id, run] : machine_.runs()) {
    Known known{.run = id,
                .is_batch_host = run.launch.this_part == 0,
                .running = run.running,
                .ended = {},
                .launch = std::make_shared<const model::ControllerLaunch>(run.launch)};
    known.ended.run = id;
    known.ended.exit = run.exit;
    out.push_back(std::move(known));
  }
  return out;
}

}  // namespace spur::sim
