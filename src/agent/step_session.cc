// SPDX-License-Identifier: Apache-2.0
#include "agent/step_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/admission.h"

namespace spur::agent {
namespace {

constexpr Duration kFirstLook = milliseconds(1), kSlowestLook = milliseconds(200), kLaunchPatience = seconds(20);

}  // namespace

StepSession::StepSession(StepContext& context, Events events) : context_(context), events_(std::move(events)) {
  front_.output = [this](v1::StepOutput output) { events_.output(std::move(output)); };
  front_.finished = [this](Status status) {
    managed_ = nullptr;
    finish(std::move(status));
  };
  if (events_.data) front_.data = [this](std::string bytes) { events_.data(std::move(bytes)); };
}

StepSession::~StepSession() {
  *alive_ = false;
  leave();
}

void StepSession::leave() {
  ManagedStep* step = std::exchange(managed_, nullptr);
  if (!step) return;
  if (watching_)
    step->unwatch(&front_);
  else
    step->detach(&front_);
}

void StepSession::finish(Status status) {
  if (std::exchange(finished_, true)) return;
  leave();
  events_.finished(std::move(status));
}

void StepSession::input(v1::StepInput input, std::function<void()> taken) {
  if (finished_) return;
  if (!started_) {
    started_ = true;
    if (input.has_attach()) {
      attach_here(input.attach());
      return taken();
    }
    if (!input.has_start()) return finish(fail(ErrorCode::InvalidArgument, "a step begins with its start"));
    if (auto ok = start(std::move(*input.mutable_start()), {}); !ok) return finish(std::move(ok));
    return taken();
  }
  if (input.has_start()) return finish(fail(ErrorCode::InvalidArgument, "a step has one start"));
  if (looking_) return void(early_.emplace_back(std::move(input), std::move(taken)));
  if (managed_) return managed_->input(std::move(input), std::move(taken));
  if (channel_) return channel_->send(input.SerializeAsString(), std::move(taken));
}

bool StepSession::pass_bytes(std::string& bytes, const std::function<void()>& taken) {
  if (finished_ || looking_) return false;
  if (managed_) return managed_->pass_bytes(bytes, taken);
  if (!channel_) return false;
  channel_->send(std::move(bytes), taken);
  return true;
}

void StepSession::pause(bool paused) {
  if (managed_) return managed_->pause(&front_, paused);
  if (channel_) channel_->pause(paused);
}

Result<const model::ControllerLaunch*> StepSession::admit(const v1::StepStart& start) {
  SPUR_ASSIGN(const auto admitted, agent::admit(context_.agent, context_.node, context_.verify, start.ticket()));
  if (start.argv_size() == 0 && start.programs_size() == 0 && !start.watch())
    return fail(ErrorCode::InvalidArgument, "No command given to execute.");
  // What is kept is given out with all nodes of the launch.
  if (!context_.lost.contains(admitted.launch->run)) context_.tickets.keep(start.ticket(), admitted.ticket);
  return admitted.launch;
}

// The controller tells the nodes of a job at the same time and srun knows at once: a step may come before its job
// does.
void StepSession::look_again(v1::StepStart start, Duration waited) {
  looking_ = true;
  const Duration pause = std::clamp(waited / 2, kFirstLook, kSlowestLook);
  context_.call_after(pause, [this, alive = alive_, start = std::move(start), waited = waited + pause]() mutable {
    if (!*alive || finished_) return;
    looking_ = false;
    if (auto ok = this->start(std::move(start), waited); !ok) return finish(std::move(ok));
    if (looking_) return;
    for (auto& [message, taken] : std::exchange(early_, {})) input(std::move(message), std::move(taken));
  });
}

Status StepSession::start(v1::StepStart start, Duration waited) {
  // One that was sent before finds its step, whatever became of the connection that it was sent on. The key proves
  // who asks: a new agent may not have heard yet who signs tickets.
  if (ManagedStep* known = start.has_resume() ? context_.find(start.key()) : nullptr) {
    managed_ = known;
    known->attach(&front_, start);
    return {};
  }
  auto admitted = admit(start);
  if (!admitted && admitted.error().code == ErrorCode::JobPending && waited < kLaunchPatience) {
    look_again(std::move(start), waited);
    return {};
  }
  if (!admitted) return std::unexpected(std::move(admitted.error()));
  const auto* launch = *admitted;
  if (start.forwarded()) return start_here(start, *launch);
  if (launch->this_part != 0)
    return fail(ErrorCode::InvalidNode, fmt::format("steps of job {} are started by the first of its nodes, {}",
                                                    launch->run.job.value, launch->whole.nodes));
  return start.watch() ? watch(start.step(), *launch) : manage(std::move(start), *launch);
}

Status StepSession::watch(std::uint32_t step, const model::ControllerLaunch& launch) {
  ManagedStep* running = context_.find(launch.run.job, step);
  if (!running)
    return fail(ErrorCode::InvalidJobId, fmt::format("step {}.{} does not run", launch.run.job.value, step));
  managed_ = running;
  watching_ = true;
  running->watch(&front_);
  return {};
}

Status StepSession::manage(v1::StepStart start, const model::ControllerLaunch& launch) {
  if (start.resume().granted() || context_.given_up.contains({launch.run, start.key()}))
    return fail(ErrorCode::JobAlreadyDone, "Job/step already completing or completed");
  auto step = std::make_unique<ManagedStep>(context_, launch.run, start.key());
  managed_ = step.get();
  context_.steps.emplace(managed_, std::move(step));
  auto entered = managed_->enter(std::move(start), launch, &front_);
  if (!entered && managed_) {
    context_.remove(std::exchange(managed_, nullptr));
    return entered;
  }
  return {};
}

// ---- for another node

io::StepChannel::Events StepSession::events_of_channel() {
  return {.on_output =
              [this, alive = alive_](std::string bytes) {
                if (!*alive || finished_) return;
                if (events_.data) return events_.data(std::move(bytes));
                v1::StepOutput output;
                if (!output.ParseFromString(bytes)) return finish(fail(ErrorCode::Corrupt, "garbled step output"));
                events_.output(std::move(output));
              },
          .on_closed =
              [this, alive = alive_](Status status) {
                if (*alive) finish(std::move(status));
              }};
}

Status StepSession::start_here(const v1::StepStart& start, const model::ControllerLaunch& launch) {
  const auto here = std::ranges::find(start.nodes(), context_.node);
  const auto position = static_cast<int>(here - start.nodes().begin());
  if (position >= start.tasks_per_node_size() || start.tasks_per_node(position) == 0)
    return fail(ErrorCode::InvalidArgument, "the step has no task on node " + context_.node);
  channel_ = context_.port.open_local(launch, start.step(), events_of_channel());
  v1::StepInput first;
  *first.mutable_start() = start;
  channel_->send(first.SerializeAsString(), {});
  return {};
}

// The key is checked where it is known: by the step's daemon, and before that by what it has told of itself.
void StepSession::attach_here(const v1::StepAttach& attach) {
  const model::JobRun run{JobId{attach.job()}, Epoch{attach.epoch()}};
  channel_ = context_.port.resume_local(run, attach.step(), attach.key(), events_of_channel());
  v1::StepInput first;
  *first.mutable_attach() = attach;
  channel_->send(first.SerializeAsString(), {});
}

}  // namespace spur::agent
