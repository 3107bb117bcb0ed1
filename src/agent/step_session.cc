// SPDX-License-Identifier: Apache-2.0
#include "agent/step_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <numeric>
#include <utility>

#include "model/distribution.h"
#include "text/hostlist.h"
#include "wire/id_codec.h"
#include "wire/job_codec.h"
#include "wire/spec_codec.h"

namespace spur::agent {
namespace {

constexpr std::uint32_t kMaxTasks = 1u << 24;

// By its first byte, which names the field: most of what passes through here is data that nobody here looks at.
bool holds_data(std::string_view output) {
  constexpr char kTag = static_cast<char>(v1::StepOutput::kDataFieldNumber << 3 | 2);
  return !output.empty() && output.front() == kTag;
}

constexpr Duration kFirstLook = milliseconds(1), kSlowestLook = milliseconds(200), kLaunchPatience = seconds(20);

void set_grant(const StepShare& share, v1::StepGrant& grant) {
  wire::runs_to_proto(share.cpus, grant.mutable_cpus());
  grant.set_memory_mib(share.memory_mib);
  for (const auto& devices : share.devices) wire::to_proto(devices, grant.add_devices());
}

}  // namespace

Result<StepAsk> ask_of(const v1::StepStart& start, const model::ControllerLaunch& launch) {
  StepAsk ask;
  if (start.nodes_size() == 0)
    for (std::size_t i = 0; i < launch.parts.size(); ++i) ask.nodes.push_back(i);
  for (const auto& name : start.nodes()) {
    const auto it = std::ranges::find(launch.parts, name, &model::LaunchPart::node);
    if (it == launch.parts.end())
      return fail(ErrorCode::InvalidNode, fmt::format("node {} is not part of the job", name));
    ask.nodes.push_back(static_cast<std::size_t>(it - launch.parts.begin()));
  }
  auto once = ask.nodes;
  std::ranges::sort(once);
  if (std::ranges::adjacent_find(once) != once.end())
    return fail(ErrorCode::InvalidArgument, "a node is named twice");
  ask.node_count = start.node_count() > 0 ? start.node_count() : ask.nodes.size();
  ask.required = start.required_nodes();
  if (ask.node_count > ask.nodes.size() || ask.required > ask.node_count)
    return fail(ErrorCode::InvalidNodeCount, "More nodes requested than there are");
  ask.tasks_per_node.assign(start.tasks_per_node().begin(), start.tasks_per_node().end());
  ask.tasks = start.ntasks();
  if (!ask.tasks_per_node.empty()) {
    if (ask.tasks_per_node.size() != ask.nodes.size() || ask.node_count != ask.nodes.size())
      return fail(ErrorCode::InvalidArgument, "tasks_per_node does not match the nodes");
    const auto sum = std::accumulate(ask.tasks_per_node.begin(), ask.tasks_per_node.end(), std::uint64_t{0});
    if (sum > kMaxTasks) return fail(ErrorCode::TooManyTasks, "too many tasks");
    ask.tasks = static_cast<std::uint32_t>(sum);
  }
  ask.tasks = std::max(ask.tasks, 1u);
  if (ask.tasks > kMaxTasks) return fail(ErrorCode::TooManyTasks, "too many tasks");
  if (ask.tasks < ask.node_count) return fail(ErrorCode::InvalidNodeCount, "More nodes requested than tasks");
  ask.max_tasks_per_node = start.max_tasks_per_node();
  ask.cpus_per_task = std::max(1u, start.cpus_per_task());
  ask.cpus_per_gpu = start.cpus_per_gpu();
  ask.exact = start.exact();
  ask.overlap = start.overlap();
  ask.overcommit = start.overcommit() || launch.spec->overcommit;
  ask.memory_per_node_mib = start.memory_mib_per_node();
  ask.memory_per_cpu_mib = start.memory_mib_per_cpu();
  if (start.gres_size() > 0 || start.no_gres()) ask.gres.emplace();
  for (const auto& message : start.gres()) SPUR_TRY(wire::from_proto(message, &ask.gres->emplace_back()));
  SPUR_TRY(wire::from_proto(start.distribution(), &ask.distribution));
  return ask;
}

bool StepSession::Part::has(std::uint32_t rank) const {
  if (!ranks.empty()) return std::ranges::binary_search(ranks, rank);
  return rank >= first_rank && rank - first_rank < tasks;
}

StepSession::StepSession(StepContext& context, Events events) : context_(context), events_(std::move(events)) {}

StepSession::~StepSession() {
  *alive_ = false;
  context_.running.erase(this);
  parts_.clear();  // its tasks end before others get their place
}

void StepSession::finish(Status status) {
  if (std::exchange(finished_, true)) return;
  place_.reset();
  context_.running.erase(this);
  events_.finished(std::move(status));
}

void StepSession::input(v1::StepInput input, std::function<void()> taken) {
  if (finished_) return;
  if (!started_) {
    started_ = true;
    if (!input.has_start()) return finish(fail(ErrorCode::InvalidArgument, "a step begins with its start"));
    if (auto ok = start(std::move(*input.mutable_start()), {}); !ok) return finish(std::move(ok));
    return taken();
  }
  if (input.has_start()) return finish(fail(ErrorCode::InvalidArgument, "a step has one start"));
  if (!waiting_) return pass_on(std::move(input), std::move(taken));
  // Until the step starts its input waits with it, `taken` untold: so it is one message and what was under way.
  early_.emplace_back(std::move(input), std::move(taken));
}

// Only where it all goes to one place: who else gets what must be read.
bool StepSession::pass_bytes(std::string& bytes, const std::function<void()>& taken) {
  if (finished_ || waiting_ || parts_.size() != 1 || parts_[0]->over || !parts_[0]->channel) return false;
  parts_[0]->channel->send(std::move(bytes), taken);
  return true;
}

void StepSession::pass_on(v1::StepInput input, std::function<void()> taken) {
  if (input.has_stdin_data() && input.stdin_data().has_task()) {
    for (auto& part : parts_) {
      const std::uint32_t task = input.stdin_data().task();
      if (part->over || !part->has(task)) continue;
      return part->channel->send(input.SerializeAsString(), std::move(taken));
    }
    return taken();
  }
  send_all(input, std::move(taken));
}

void StepSession::send_all(const v1::StepInput& input, std::function<void()> taken) {
  const std::string bytes = input.SerializeAsString();
  auto left = std::make_shared<std::size_t>(1);
  auto done = [left, taken = std::move(taken)] {
    if (--*left == 0 && taken) taken();
  };
  for (auto& part : parts_) {
    if (part->over || !part->channel) continue;
    ++*left;
    part->channel->send(bytes, done);
  }
  done();
}

void StepSession::pause(bool paused) {
  for (auto& part : parts_)
    if (part->channel && !part->over) part->channel->pause(paused);
}

Result<const model::ControllerLaunch*> StepSession::admit(const v1::StepStart& start) {
  SPUR_ASSIGN(const auto ticket, context_.verify(start.ticket()));
  if (ticket.kind != io::CredentialKind::StepTicket)
    return fail(ErrorCode::Unauthenticated, "this is not a ticket for a step");
  const model::ControllerLaunch* launch = context_.agent.held(ticket.job);
  if (!launch && context_.agent.may_still_come({ticket.job, ticket.epoch}))
    return fail(ErrorCode::JobPending,
                fmt::format("job {} has not come to node {}", ticket.job.value, context_.node));
  if (!launch)
    return fail(ErrorCode::InvalidJobId, fmt::format("job {} is not on node {}", ticket.job.value, context_.node));
  if (launch->run.epoch != ticket.epoch)
    return fail(ErrorCode::StaleEpoch, "the ticket is for another run of the job");
  if (launch->spec->uid != ticket.uid) return fail(ErrorCode::PermissionDenied, "the ticket is for another user");
  if (start.argv_size() == 0 && start.programs_size() == 0)
    return fail(ErrorCode::InvalidArgument, "No command given to execute.");
  context_.tickets.keep(start.ticket(), ticket);
  job_ = ticket.job;
  return launch;
}

// Gives out the ranks. A node that no task is left for (tasks were packed) is not part of the step.
Status StepSession::number(const v1::StepStart& start, const model::Distribution& distribution) {
  std::vector<std::uint32_t> layout;
  for (const auto& part : parts_) layout.push_back(part->share.tasks);
  std::vector<std::vector<std::uint32_t>> ranks = model::task_numbers(distribution, layout);
  if (start.task_nodes_size() > 0) {
    const std::vector<std::uint32_t> of_task(start.task_nodes().begin(), start.task_nodes().end());
    if (std::ranges::any_of(of_task, [&](std::uint32_t node) { return node >= layout.size(); }))
      return fail(ErrorCode::InvalidArgument, "a task is on none of the step's nodes");
    ranks = model::task_numbers(of_task, layout.size());
    for (std::size_t i = 0; i < layout.size(); ++i)
      if (ranks[i].size() != layout[i])
        return fail(ErrorCode::InvalidArgument, "tasks_per_node does not match the tasks");
  }
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    parts_[i]->tasks = layout[i];
    parts_[i]->first_rank = rank;
    if (!ranks.empty()) parts_[i]->ranks = std::move(ranks[i]);
    rank += layout[i];
  }
  std::erase_if(parts_, [](const auto& part) { return part->tasks == 0; });
  if (parts_.empty()) return fail(ErrorCode::InvalidArgument, "the step has no task");
  return {};
}

// The controller tells the nodes of a job at the same time and srun knows at once: a step may come before its job
// does.
void StepSession::look_again(v1::StepStart start, Duration waited) {
  waiting_ = true;
  const Duration pause = std::clamp(waited / 2, kFirstLook, kSlowestLook);
  context_.call_after(pause, [this, alive = alive_, start = std::move(start), waited = waited + pause]() mutable {
    if (!*alive || finished_) return;
    waiting_ = false;
    if (auto ok = this->start(std::move(start), waited); !ok) return finish(std::move(ok));
    if (waiting_) return;
    for (auto& [input, taken] : std::exchange(early_, {})) pass_on(std::move(input), std::move(taken));
  });
}

Status StepSession::start(v1::StepStart start, Duration waited) {
  auto admitted = admit(start);
  if (!admitted && admitted.error().code == ErrorCode::JobPending && waited < kLaunchPatience) {
    look_again(std::move(start), waited);
    return {};
  }
  if (!admitted) return std::unexpected(std::move(admitted.error()));
  const auto* launch = *admitted;
  kill_on_bad_exit_ = start.kill_on_bad_exit();
  if (start.forwarded()) return start_forwarded(start, *launch);
  if (launch->this_part != 0)
    return fail(ErrorCode::InvalidNode, fmt::format("steps of job {} are started by the first of its nodes, {}",
                                                    launch->run.job.value, launch->whole.nodes));
  return enter(start, *launch);
}

Status StepSession::start_forwarded(const v1::StepStart& start, const model::ControllerLaunch& launch) {
  forwarded_ = true;
  auto part = std::make_unique<Part>();
  part->node = context_.node;
  for (int i = 0; i < start.nodes_size(); ++i)
    if (start.nodes(i) == context_.node && i < start.tasks_per_node_size()) part->tasks = start.tasks_per_node(i);
  part->first_rank = start.first_rank();
  part->ranks.assign(start.ranks().begin(), start.ranks().end());
  if (part->tasks == 0) return fail(ErrorCode::InvalidArgument, "the step has no task on node " + context_.node);
  parts_.push_back(std::move(part));
  open_parts(start, launch);
  return {};
}

Status StepSession::enter(const v1::StepStart& start, const model::ControllerLaunch& launch) {
  SPUR_ASSIGN(auto ask, ask_of(start, launch));
  StepBook::Events events{.granted = [this, start](StepBegin granted) { begin(start, std::move(granted)); },
                          .waits =
                              [this] {
                                waiting_ = true;
                                v1::StepOutput output;
                                output.mutable_waiting()->set_code(static_cast<std::uint32_t>(ErrorCode::NodesBusy));
                                events_.output(std::move(output));
                              },
                          .gone = [this](Error error) { finish(std::unexpected(std::move(error))); }};
  SPUR_ASSIGN(place_, context_.book.enter(launch, std::move(ask), std::move(events)));
  return {};
}

void StepSession::begin(v1::StepStart start, StepBegin granted) {
  const model::ControllerLaunch* launch = context_.agent.held(job_);
  if (!launch) return finish(fail(ErrorCode::JobAlreadyDone, "Job/step already completing or completed"));
  for (StepShare& share : granted.shares) {
    auto part = std::make_unique<Part>();
    part->node = launch->parts[share.node].node;
    part->address = launch->addresses[share.node];
    part->share = std::move(share);
    parts_.push_back(std::move(part));
  }
  model::Distribution distribution;
  auto done = wire::from_proto(start.distribution(), &distribution);
  if (done) done = number(start, distribution);
  if (!done) return finish(std::move(done));
  start.set_step(granted.step);
  start.set_ntasks(parts_.back()->first_rank + parts_.back()->tasks);
  start.clear_nodes();
  start.clear_tasks_per_node();
  start.clear_addresses();
  start.clear_task_nodes();
  if (!start.mpi().empty()) start.set_process_mapping(mapping());
  for (const auto& part : parts_) {
    start.add_nodes(part->node);
    start.add_tasks_per_node(part->tasks);
    start.add_addresses(part->address);
  }
  describe(start, *launch);
  open_parts(start, *launch);
  waiting_ = false;
  for (auto& [input, taken] : std::exchange(early_, {})) pass_on(std::move(input), std::move(taken));
}

std::string StepSession::mapping() const {
  std::vector<std::vector<std::uint32_t>> ranks;
  for (const auto& part : parts_) {
    ranks.push_back(part->ranks);
    for (std::uint32_t i = 0; part->ranks.empty() && i < part->tasks; ++i)
      ranks.back().push_back(part->first_rank + i);
  }
  return model::process_mapping(ranks);
}

void StepSession::describe(const v1::StepStart& start, const model::ControllerLaunch& launch) {
  info_.set_job(launch.run.job.value);
  info_.set_step(start.step());
  info_.set_name(start.name());
  info_.set_uid(launch.spec->uid.value);
  info_.set_partition(launch.partition);
  std::vector<std::string> names;
  std::uint32_t cpus = 0;
  std::uint64_t memory = 0;
  for (const auto& part : parts_) {
    names.push_back(part->node);
    cpus += static_cast<std::uint32_t>(part->share.cpus.size());
    memory += part->share.memory_mib;
  }
  info_.set_nodes(text::compress_hostlist(names));
  info_.set_node_count(static_cast<std::uint32_t>(names.size()));
  info_.set_cpus(cpus);
  info_.set_tasks(start.ntasks());
  info_.set_memory_mib(memory);
  info_.set_started_us(to_micros(context_.clock.now()));
  if (start.has_time_limit()) info_.set_time_limit(start.time_limit());
  info_.set_host(start.host());
  info_.set_pid(start.pid());
  *info_.mutable_distribution() = start.distribution();
  context_.running.insert(this);
}

void StepSession::signal(int signal) {
  v1::StepInput input;
  input.mutable_signal()->set_signal(signal);
  input.mutable_signal()->set_end(signal == 0);
  send_all(input, {});
}

void StepSession::open_parts(const v1::StepStart& start, const model::ControllerLaunch& launch) {
  for (auto& part : parts_) {
    Part* p = part.get();
    io::StepChannel::Events events{.on_output =
                                       [this, p, alive = alive_](std::string bytes) {
                                         if (*alive) on_output(*p, std::move(bytes));
                                       },
                                   .on_closed =
                                       [this, p, alive = alive_](Status status) {
                                         if (*alive) on_closed(*p, std::move(status));
                                       }};
    v1::StepInput first;
    *first.mutable_start() = start;
    first.mutable_start()->set_first_rank(p->first_rank);
    first.mutable_start()->clear_ranks();
    for (const std::uint32_t rank : p->ranks) first.mutable_start()->add_ranks(rank);
    if (!start.forwarded()) set_grant(p->share, *first.mutable_start()->mutable_grant());
    if (p->node == context_.node) {
      p->channel = context_.port.open_local(launch, start.step(), std::move(events));
    } else {
      first.mutable_start()->set_forwarded(true);
      p->channel = context_.port.open_remote(p->address, std::move(events));
    }
    if (!p->over) p->channel->send(first.SerializeAsString(), {});
  }
}

void StepSession::on_output(Part& part, std::string bytes) {
  v1::StepOutput output;
  if (finished_ || part.over) return;
  if (events_.data && holds_data(bytes)) return events_.data(std::move(bytes));
  if (!output.ParseFromString(bytes)) return on_closed(part, fail(ErrorCode::Corrupt, "garbled step output"));
  if (output.has_done()) return part_over(part);
  if (output.has_fence() && !forwarded_) return on_fence(part, std::move(*output.mutable_fence()->mutable_data()));
  const bool bad = output.has_task_exit() && (output.task_exit().code() != 0 || output.task_exit().signal() != 0);
  const bool ends = (bad && kill_on_bad_exit_) || output.has_abort();
  events_.output(std::move(output));
  if (ends && !forwarded_) kill_all();
}

void StepSession::kill_all() {
  if (std::exchange(killed_, true)) return;
  v1::StepInput kill;
  kill.mutable_signal()->set_signal(SIGKILL);
  send_all(kill, {});
}

// The nodes pass it when all have come; a node whose tasks are over keeps nobody waiting.
void StepSession::on_fence(Part& part, std::string data) {
  part.at_fence = std::move(data);
  pass_fence();
}

void StepSession::pass_fence() {
  const auto here = [](const auto& part) { return part->over || part->at_fence; };
  if (!std::ranges::all_of(parts_, here)) return;
  v1::StepInput all;
  std::string& data = *all.mutable_fence()->mutable_data();
  bool any = false;
  for (auto& part : parts_) {
    any |= part->at_fence.has_value();
    if (part->at_fence) data += *std::exchange(part->at_fence, std::nullopt);
  }
  if (any) send_all(all, {});
}

void StepSession::on_closed(Part& part, Status status) {
  if (finished_ || part.over) return;
  v1::StepOutput output;
  auto* error = output.mutable_error();
  error->set_code(static_cast<std::uint32_t>(status ? ErrorCode::Internal : status.error().code));
  error->set_text(status ? std::string("the step ended without a word") : status.error().message);
  error->set_node(part.node);
  events_.output(std::move(output));
  part_over(part);
}

void StepSession::part_over(Part& part) {
  part.over = true;
  part.at_fence.reset();
  pass_fence();
  if (!std::all_of(parts_.begin(), parts_.end(), [](const auto& p) { return p->over; })) return;
  v1::StepOutput output;
  output.mutable_done();
  events_.output(std::move(output));
  finish({});
}

}  // namespace spur::agent
