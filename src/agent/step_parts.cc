// SPDX-License-Identifier: Apache-2.0
// What passes between a managed step's srun and its parts, and what becomes of parts that cannot be reached.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "agent/managed_step.h"
#include "wire/id_codec.h"
#include "wire/job_codec.h"

namespace spur::agent {
namespace {

constexpr Duration kFirstCall = milliseconds(50), kSlowestCall = seconds(1);
constexpr int kMaxStarts = 3;
constexpr Duration kRecoveryGrace = seconds(20);  // srun looks for us once a second

// By its first byte, which names the field: most of what passes through here is data that nobody here looks at.
bool holds_data(std::string_view output) {
  constexpr char kTag = static_cast<char>(v1::StepOutput::kDataFieldNumber << 3 | 2);
  return !output.empty() && output.front() == kTag;
}

void set_grant(const StepShare& share, v1::StepGrant& grant) {
  wire::runs_to_proto(share.cpus, grant.mutable_cpus());
  grant.set_memory_mib(share.memory_mib);
  for (const auto& devices : share.devices) wire::to_proto(devices, grant.add_devices());
}

}  // namespace

bool ManagedStep::Part::has(std::uint32_t rank) const {
  if (!ranks.empty()) return std::ranges::binary_search(ranks, rank);
  return rank >= first_rank && rank - first_rank < tasks;
}

// ---- channels

io::StepChannel::Events ManagedStep::events_of(Part& part) {
  Part* p = &part;
  return {.on_output =
              [this, p, alive = alive_](std::string bytes) {
                if (*alive) on_output(*p, std::move(bytes));
              },
          .on_closed =
              [this, p, alive = alive_](Status status) {
                if (*alive) on_closed(*p, std::move(status));
              }};
}

void ManagedStep::start_part(Part& part) {
  const model::ControllerLaunch* launch = context_.agent.held(run_.job);
  if (!launch) return lose(part, {ErrorCode::JobAlreadyDone, "Job/step already completing or completed"});
  part.missing = false;
  ++part.starts;
  v1::StepInput first;
  *first.mutable_start() = *start_;
  first.mutable_start()->set_first_rank(part.first_rank);
  first.mutable_start()->clear_ranks();
  for (const std::uint32_t rank : part.ranks) first.mutable_start()->add_ranks(rank);
  set_grant(part.share, *first.mutable_start()->mutable_grant());
  const bool here = part.node == context_.node;
  first.mutable_start()->set_forwarded(!here);
  part.channel = here ? context_.port.open_local(*launch, start_->step(), events_of(part))
                      : context_.port.open_remote(part.address, events_of(part));
  if (!part.over) part.channel->send(first.SerializeAsString(), {});
}

void ManagedStep::send_attach(Part& part) {
  v1::StepInput input;
  auto* attach = input.mutable_attach();
  attach->set_job(run_.job.value);
  attach->set_epoch(run_.epoch.value);
  attach->set_step(info_.step());
  attach->set_key(key_);
  attach->set_after(part.heard);
  part.channel->send(input.SerializeAsString(), {});
}

void ManagedStep::resume_part(Part& part) {
  if (part.gone || job_over_) return;
  part.channel = part.node == context_.node ? context_.port.resume_local(run_, info_.step(), key_, events_of(part))
                                            : context_.port.open_remote(part.address, events_of(part));
  send_attach(part);
  if (given_up_) {
    v1::StepInput release;
    release.mutable_release();
    part.channel->send(release.SerializeAsString(), {});
  } else if (part.settled) {
    v1::StepAck ack;
    ack.set_part(static_cast<std::uint32_t>(part.index));
    ack.set_seq(part.heard);
    on_ack(ack);
  }
  pause_parts();
}

// A step daemon that goes with no word was killed; a connection that breaks tells nothing of what is behind it.
void ManagedStep::on_closed(Part& part, Status status) {
  if (part.gone) return;
  const bool broken = !key_.empty() && part.node != context_.node && !status &&
                      (status.error().code == ErrorCode::Unreachable || status.error().code == ErrorCode::TimedOut ||
                       status.error().code == ErrorCode::Internal);
  if (broken && !job_over_) {
    part.pause = std::clamp(part.pause * 2, kFirstCall, kSlowestCall);
    context_.call_after(part.pause, [this, alive = alive_, p = &part] {
      if (*alive) resume_part(*p);
    });
    return;
  }
  // Its agent died before it came to that: nothing has run, or it would have called.
  const bool never = !key_.empty() && !status && status.error().code == ErrorCode::NotFound && !part.spoke &&
                     part.heard == 0 && part.starts < kMaxStarts && !given_up_ && !job_over_;
  if (never) {
    part.missing = true;
    if (start_) start_part(part);
    return;
  }
  part.gone = true;
  if (!part.over)
    lose(part, status ? Error{ErrorCode::Internal, "the step ended without a word"} : std::move(status.error()));
  leave_if_gone();
}

// ---- from the parts

void ManagedStep::on_output(Part& part, std::string bytes) {
  if (finished_ || part.gone) return;
  part.pause = Duration{0};
  part.spoke = true;
  if (holds_data(bytes) && (!front_ || front_->data) && watchers_.empty()) {
    if (front_) front_->data(std::move(bytes));
    return;
  }
  v1::StepOutput output;
  if (!output.ParseFromString(bytes)) return on_closed(part, fail(ErrorCode::Corrupt, "garbled step output"));
  if (output.has_done()) return on_done(part, std::move(output));
  if (output.has_fence())
    return pass(fences_.at(part.index, output.fence().number(), std::move(*output.mutable_fence()->mutable_data())));
  if (output.has_task_exit()) {
    const auto& exit = output.task_exit();
    if (exit.code() >= end_.exit.code && (exit.code() || exit.signal()))
      end_.exit = {static_cast<std::uint16_t>(exit.code()), static_cast<std::uint16_t>(exit.signal())};
    if (exit.out_of_memory()) end_.state = model::JobState::OutOfMemory;
  }
  const bool bad = output.has_task_exit() && (output.task_exit().code() != 0 || output.task_exit().signal() != 0);
  const bool output_aborts = output.has_abort();
  const bool started = output.has_started();
  if (output.has_data() || output.has_task_exit() || output.has_error()) tell_watchers(output);
  tell(std::move(output));
  if (output_aborts) kill_all();
  else if (bad && kill_on_bad_exit_) end_for_bad_exit();
  if (started && std::ranges::all_of(parts_, [](const auto& p) { return p->spoke; })) start_.reset();
}

void ManagedStep::on_done(Part& part, v1::StepOutput output) {
  part.done_seq = output.seq();
  if (model::Usage usage; output.done().has_usage() && wire::from_proto(output.done().usage(), &usage))
    end_.usage.add(usage);
  if (!key_.empty()) tell(std::move(output));
  part_over(part);
}

void ManagedStep::lose(Part& part, Error error) {
  part.lost = true;
  part.error = std::move(error);
  tell_lost(part);
  part_over(part);
}

void ManagedStep::tell_lost(const Part& part) {
  v1::StepOutput output;
  output.set_part(static_cast<std::uint32_t>(part.index));
  auto* error = output.mutable_error();
  error->set_code(static_cast<std::uint32_t>(part.error->code));
  error->set_text(part.error->message);
  if (part.error->code != ErrorCode::InvalidNodeState) error->set_node(part.node);  // the text says it as Slurm does
  tell(output);
  if (key_.empty()) return;
  output.mutable_done();
  tell(std::move(output));
}

void ManagedStep::part_over(Part& part) {
  if (!std::exchange(part.over, true)) pass(fences_.over(part.index));
  if (stage_ == Stage::Running && std::ranges::all_of(parts_, [](const auto& p) { return p->over; })) {
    stage_ = Stage::Over;
    place_.reset();
    tell_accounting();
    if (key_.empty()) {
      v1::StepOutput output;
      output.mutable_done();
      tell(std::move(output));
      return finish({});
    }
  }
  settle();
}

// srun need not be told anything more.
void ManagedStep::settle() {
  for (auto& part : parts_) part->settled |= part->lost && front_ != nullptr;
  if (stage_ != Stage::Over || key_.empty()) return;
  if (!std::ranges::all_of(parts_, [](const auto& part) { return part->settled; })) return;
  note_over(true);
  finish({});
}

void ManagedStep::pass(const std::optional<StepFences::Pass>& fence) {
  if (!fence) return;
  v1::StepInput input;
  input.mutable_fence()->set_number(fence->number);
  input.mutable_fence()->set_data(fence->data);
  if (!fence->only) return send_all(input, {});
  Part& part = *parts_[*fence->only];
  if (part.channel && !part.over) part.channel->send(input.SerializeAsString(), {});
}

// As Slurm ends it: SIGTERM, and SIGKILL after KillWait. The signal beside `end` says that srun needs no telling.
void ManagedStep::end_for_bad_exit() {
  if (std::exchange(killed_, true)) return;
  v1::StepInput end;
  end.mutable_signal()->set_signal(SIGTERM);
  end.mutable_signal()->set_end(true);
  send_all(end, {});
}

void ManagedStep::kill_all() {
  if (std::exchange(killed_, true)) return;
  v1::StepInput kill;
  kill.mutable_signal()->set_signal(SIGKILL);
  send_all(kill, {});
}

// ---- to the parts

void ManagedStep::input(v1::StepInput input, Taken taken) {
  if (finished_) return;
  if (stage_ != Stage::Waiting) return pass_on(std::move(input), std::move(taken));
  // Until the step starts its input waits with it, `taken` untold: so it is one message and what was under way.
  early_.emplace_back(std::move(input), std::move(taken));
}

// Only where it all goes to one place: who else gets what must be read.
bool ManagedStep::pass_bytes(std::string& bytes, const Taken& taken) {
  if (finished_ || stage_ != Stage::Running || parts_.size() != 1 || parts_[0]->over || !parts_[0]->channel)
    return false;
  parts_[0]->channel->send(std::move(bytes), taken);
  return true;
}

void ManagedStep::pass_on(v1::StepInput input, Taken taken) {
  if (input.has_ack()) {
    on_ack(input.ack());
    return taken();
  }
  if (input.has_stdin_data() && input.stdin_data().has_task()) {
    for (auto& part : parts_) {
      const std::uint32_t task = input.stdin_data().task();
      if (part->over || !part->channel || !part->has(task)) continue;
      return part->channel->send(input.SerializeAsString(), std::move(taken));
    }
    return taken();
  }
  send_all(input, std::move(taken));
}

void ManagedStep::on_ack(const v1::StepAck& ack) {
  if (ack.part() >= parts_.size()) return;
  Part& part = *parts_[ack.part()];
  part.heard = std::max(part.heard, ack.seq());
  if (part.channel && !part.gone) {
    v1::StepInput input;
    *input.mutable_ack() = ack;
    part.channel->send(input.SerializeAsString(), {});
  }
  if (part.done_seq == 0 || part.heard < part.done_seq) return;
  part.settled = true;
  part_over(part);
}

void ManagedStep::send_all(const v1::StepInput& input, Taken taken) {
  const std::string bytes = input.SerializeAsString();
  auto left = std::make_shared<std::size_t>(1);
  auto done = [left, taken = std::move(taken)] {
    if (--*left == 0 && taken) taken();
  };
  for (auto& part : parts_) {
    const bool wants = input.has_release() ? !part->gone : !part->over;
    if (!wants || !part->channel) continue;
    ++*left;
    part->channel->send(bytes, done);
  }
  done();
}

void ManagedStep::pause(const StepFront* front, bool paused) {
  if (paused)
    slow_.insert(front);
  else
    slow_.erase(front);
  pause_parts();
}

void ManagedStep::pause_parts() {
  const bool paused = !slow_.empty() || (!front_ && !given_up_ && !finished_);
  for (auto& part : parts_)
    if (part->channel && !part->gone) part->channel->pause(paused);
}

void ManagedStep::tell_watchers(const v1::StepOutput& output) {
  for (StepFront* watcher : watchers_) watcher->output(output);
}

void ManagedStep::signal(int signal) {
  cancelled_ |= signal == 0 || signal == SIGKILL || signal == SIGTERM;
  v1::StepInput input;
  input.mutable_signal()->set_signal(signal);
  input.mutable_signal()->set_end(signal == 0);
  send_all(input, {});
}

Status ManagedStep::set_time_limit(TimeLimit limit) {
  v1::StepInput input;
  input.mutable_signal()->set_time_limit(limit.raw());
  send_all(input, {});
  info_.set_time_limit(limit.raw());
  return note();
}

// ---- notes

Status ManagedStep::note() {
  if (key_.empty()) return {};
  v1::StepNote note;
  note.set_step(info_.step());
  note.set_key(key_);
  *note.mutable_info() = info_;
  note.set_overlap(overlap_);
  note.set_kill_on_bad_exit(kill_on_bad_exit_);
  note.set_no_kill(no_kill_);
  for (const auto& part : parts_) {
    auto* out = note.add_parts();
    out->set_node(part->node);
    out->set_address(part->address);
    out->set_tasks(part->tasks);
    out->set_first_rank(part->first_rank);
    for (const auto rank : part->ranks) out->add_ranks(rank);
    out->set_position(static_cast<std::uint32_t>(part->share.node));
    set_grant(part->share, *out->mutable_grant());
  }
  return context_.notes.add(run_, note.SerializeAsString());
}

model::StepEnd end_of(const v1::StepInfo& info) {
  model::StepEnd out;
  out.step = info.step();
  out.name = info.name();
  out.started = from_micros(info.started_us());
  out.nodes = info.nodes();
  out.node_count = info.node_count();
  out.tasks = info.tasks();
  out.cpus = info.cpus();
  out.memory_mib = info.memory_mib();
  return out;
}

// Noted before it is told: an agent that dies now must not forget it.
void ManagedStep::tell_accounting() {
  model::StepEnd end = end_of(info_);
  end.exit = end_.exit;
  end.usage = end_.usage;
  end.ended = context_.clock.now();
  const bool lost = std::ranges::any_of(parts_, [](const auto& part) { return part->lost; });
  if (end_.state == model::JobState::OutOfMemory)
    end.state = end_.state;
  else if (cancelled_ || job_over_ || lost)
    end.state = model::JobState::Cancelled;
  else if (end.exit != model::ExitStatus{})
    end.state = model::JobState::Failed;
  v1::StepNote note;
  note.set_step(info_.step());
  wire::to_proto(end, note.mutable_ended());
  (void)context_.notes.add(run_, note.SerializeAsString());
  if (context_.step_ended) context_.step_ended(run_, std::move(end));
}

void ManagedStep::note_over(bool heard) {
  if (key_.empty() || std::exchange(noted_over_, true)) return;
  v1::StepNote note;
  note.set_step(info_.step());
  note.set_over(true);
  note.set_heard(heard);
  (void)context_.notes.add(run_, note.SerializeAsString());
}

Status ManagedStep::restore(const v1::StepNote& note, const model::ControllerLaunch& launch) {
  info_ = note.info();
  kill_on_bad_exit_ = note.kill_on_bad_exit();
  no_kill_ = note.no_kill();
  overlap_ = note.overlap();
  std::vector<StepShare> shares;
  for (const auto& from : note.parts()) {
    auto part = std::make_unique<Part>();
    part->index = parts_.size();
    part->node = from.node();
    part->address = from.address();
    part->tasks = from.tasks();
    part->first_rank = from.first_rank();
    part->ranks.assign(from.ranks().begin(), from.ranks().end());
    part->share.node = from.position();
    part->share.tasks = from.tasks();
    SPUR_TRY(wire::runs_from_proto(from.grant().cpus(), &part->share.cpus));
    part->share.memory_mib = from.grant().memory_mib();
    for (const auto& device : from.grant().devices())
      SPUR_TRY(wire::from_proto(device, &part->share.devices.emplace_back()));
    if (part->share.node >= launch.parts.size())
      return fail(ErrorCode::Corrupt, "a step on a node that is not the job's");
    shares.push_back(part->share);
    parts_.push_back(std::move(part));
  }
  fences_ = StepFences(parts_.size());
  stage_ = Stage::Running;
  place_ =
      context_.book.restore(launch, info_.step(), note.overlap() ? std::nullopt : std::optional(std::move(shares)));
  for (auto& part : parts_) resume_part(*part);
  context_.call_after(kRecoveryGrace, [this, alive = alive_, fronts = fronts_] {
    if (*alive && fronts == fronts_) give_up();
  });
  return {};
}

}  // namespace spur::agent
