// SPDX-License-Identifier: Apache-2.0
#include "agent/step_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <numeric>
#include <utility>

#include "model/distribution.h"
#include "wire/spec_codec.h"

namespace spur::agent {

Result<std::vector<std::uint32_t>> lay_out_tasks(const model::Distribution& distribution, std::uint32_t tasks,
                                                 const std::vector<std::uint32_t>& cpus, std::uint32_t cpus_per_task,
                                                 bool overcommit) {
  const auto nodes = static_cast<std::uint32_t>(cpus.size());
  std::vector<std::uint32_t> room;
  for (const auto c : cpus) room.push_back(std::max(1u, c / std::max(1u, cpus_per_task)));
  const std::uint32_t capacity = std::accumulate(room.begin(), room.end(), 0u);
  if (tasks < nodes) return fail(ErrorCode::InvalidNodeCount, "More nodes requested than tasks");
  if (tasks > capacity && !overcommit) return fail(ErrorCode::StepTooLarge, "More processors requested than permitted");
  return model::deal_tasks(distribution, tasks, room);
}

bool StepSession::Part::has(std::uint32_t rank) const {
  if (!ranks.empty()) return std::ranges::binary_search(ranks, rank);
  return rank >= first_rank && rank - first_rank < tasks;
}

StepSession::StepSession(StepContext& context, Events events) : context_(context), events_(std::move(events)) {}

StepSession::~StepSession() { *alive_ = false; }

void StepSession::finish(Status status) {
  if (std::exchange(finished_, true)) return;
  events_.finished(std::move(status));
}

void StepSession::input(v1::StepInput input, std::function<void()> taken) {
  if (finished_) return;
  if (!started_) {
    started_ = true;
    if (!input.has_start()) return finish(fail(ErrorCode::InvalidArgument, "a step begins with its start"));
    if (auto ok = start(std::move(*input.mutable_start())); !ok) return finish(std::move(ok));
    return taken();
  }
  if (input.has_start()) return finish(fail(ErrorCode::InvalidArgument, "a step has one start"));
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

Result<const model::ControllerLaunch*> StepSession::admit(const v1::StepStart& start) const {
  SPUR_ASSIGN(const auto ticket, context_.verify(start.ticket()));
  if (ticket.kind != io::CredentialKind::StepTicket)
    return fail(ErrorCode::Unauthenticated, "this is not a ticket for a step");
  const model::ControllerLaunch* launch = context_.agent.held(ticket.job);
  if (!launch) return fail(ErrorCode::InvalidJobId, fmt::format("job {} is not on node {}", ticket.job.value, context_.node));
  if (launch->run.epoch != ticket.epoch) return fail(ErrorCode::StaleEpoch, "the ticket is for another run of the job");
  if (launch->spec->uid != ticket.uid) return fail(ErrorCode::PermissionDenied, "the ticket is for another user");
  if (start.argv_size() == 0) return fail(ErrorCode::InvalidArgument, "No command given to execute.");
  return launch;
}

Status StepSession::lay_out(const v1::StepStart& start, const model::ControllerLaunch& launch) {
  const auto find = [&](const std::string& name) {
    return std::find_if(launch.parts.begin(), launch.parts.end(), [&](const auto& p) { return p.node == name; });
  };
  std::vector<std::uint32_t> cpus;
  const auto add = [&](std::size_t i) {
    auto part = std::make_unique<Part>();
    part->node = launch.parts[i].node;
    part->address = launch.addresses[i];
    cpus.push_back(static_cast<std::uint32_t>(launch.parts[i].cpus.size()));
    parts_.push_back(std::move(part));
  };
  if (start.nodes_size() == 0) {
    for (std::size_t i = 0; i < launch.parts.size(); ++i) add(i);
  } else {
    for (const auto& name : start.nodes()) {
      const auto it = find(name);
      if (it == launch.parts.end()) return fail(ErrorCode::InvalidNode, fmt::format("node {} is not part of the job", name));
      add(static_cast<std::size_t>(it - launch.parts.begin()));
    }
  }
  model::Distribution distribution;
  SPUR_TRY(wire::from_proto(start.distribution(), &distribution));
  const std::uint32_t per_task = start.cpus_per_task() ? start.cpus_per_task() : std::max(1u, launch.spec->cpus_per_task);
  std::vector<std::uint32_t> layout(start.tasks_per_node().begin(), start.tasks_per_node().end());
  if (layout.empty()) {
    SPUR_ASSIGN(layout, lay_out_tasks(distribution,
                                      std::max<std::uint32_t>(start.ntasks(), static_cast<std::uint32_t>(parts_.size())), cpus,
                                      per_task, launch.spec->overcommit));
  }
  if (layout.size() != parts_.size()) return fail(ErrorCode::InvalidArgument, "tasks_per_node does not match the nodes");
  if (start.task_nodes_size() > 0 && !launch.spec->overcommit)
    for (std::size_t i = 0; i < layout.size(); ++i)
      if (layout[i] > std::max(1u, cpus[i] / per_task))
        return fail(ErrorCode::StepTooLarge, "More processors requested than permitted");
  return number(start, distribution, layout);
}

// Gives out the ranks. A node that no task is left for (tasks were packed) is not part of the step.
Status StepSession::number(const v1::StepStart& start, const model::Distribution& distribution,
                           const std::vector<std::uint32_t>& layout) {
  std::vector<std::vector<std::uint32_t>> ranks = model::task_numbers(distribution, layout);
  if (start.task_nodes_size() > 0) {
    const std::vector<std::uint32_t> of_task(start.task_nodes().begin(), start.task_nodes().end());
    if (std::ranges::any_of(of_task, [&](std::uint32_t node) { return node >= layout.size(); }))
      return fail(ErrorCode::InvalidArgument, "a task is on none of the step's nodes");
    ranks = model::task_numbers(of_task, layout.size());
    for (std::size_t i = 0; i < layout.size(); ++i)
      if (ranks[i].size() != layout[i]) return fail(ErrorCode::InvalidArgument, "tasks_per_node does not match the tasks");
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

Status StepSession::start(v1::StepStart start) {
  SPUR_ASSIGN(const auto* launch, admit(start));
  kill_on_bad_exit_ = start.kill_on_bad_exit();
  if (start.forwarded()) {
    auto part = std::make_unique<Part>();
    part->node = context_.node;
    parts_.push_back(std::move(part));
    for (int i = 0; i < start.nodes_size(); ++i)
      if (start.nodes(i) == context_.node && i < start.tasks_per_node_size()) parts_[0]->tasks = start.tasks_per_node(i);
    parts_[0]->first_rank = start.first_rank();
    parts_[0]->ranks.assign(start.ranks().begin(), start.ranks().end());
    if (parts_[0]->tasks == 0) return fail(ErrorCode::InvalidArgument, "the step has no task on node " + context_.node);
  } else {
    if (launch->this_part != 0)
      return fail(ErrorCode::InvalidNode, fmt::format("steps of job {} are started by the first of its nodes, {}",
                                                      launch->run.job.value, launch->whole.nodes));
    SPUR_TRY(lay_out(start, *launch));
    start.set_step(context_.next_step[launch->run.job]++);
    start.set_ntasks(parts_.back()->first_rank + parts_.back()->tasks);
    start.clear_nodes();
    start.clear_tasks_per_node();
    start.clear_addresses();
    start.clear_task_nodes();
    for (const auto& part : parts_) {
      start.add_nodes(part->node);
      start.add_tasks_per_node(part->tasks);
      start.add_addresses(part->address);
    }
  }
  open_parts(start, *launch);
  return {};
}

void StepSession::open_parts(const v1::StepStart& start, const model::ControllerLaunch& launch) {
  for (auto& part : parts_) {
    Part* p = part.get();
    io::StepChannel::Events events{
        .on_output =
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
  if (!output.ParseFromString(bytes)) return on_closed(part, fail(ErrorCode::Corrupt, "garbled step output"));
  if (output.has_done()) return part_over(part);
  const bool bad = output.has_task_exit() && (output.task_exit().code() != 0 || output.task_exit().signal() != 0);
  events_.output(std::move(output));
  if (bad && kill_on_bad_exit_ && !std::exchange(killed_, true)) {
    v1::StepInput kill;
    kill.mutable_signal()->set_signal(SIGKILL);
    send_all(kill, {});
  }
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
  if (!std::all_of(parts_.begin(), parts_.end(), [](const auto& p) { return p->over; })) return;
  v1::StepOutput output;
  output.mutable_done();
  events_.output(std::move(output));
  finish({});
}

}  // namespace spur::agent
