// SPDX-License-Identifier: Apache-2.0
// The life of a step: its start, its front, its end. What passes through its parts is in step_parts.cc.
#include "agent/managed_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "model/distribution.h"
#include "text/hostlist.h"
#include "wire/id_codec.h"
#include "wire/job_codec.h"
#include "wire/spec_codec.h"

namespace spur::agent {
namespace {

constexpr std::uint32_t kMaxTasks = 1u << 24;
constexpr Duration kFrontGrace = seconds(3);  // a connection broke: srun is back at once or not at all

}  // namespace

Result<StepAsk> ask_of(const v1::StepStart& start, const model::ControllerLaunch& launch,
                       const std::set<std::string>& lost) {
  StepAsk ask;
  if (start.nodes_size() == 0)
    for (std::size_t i = 0; i < launch.parts.size(); ++i)
      if (!lost.contains(launch.parts[i].node)) ask.nodes.push_back(i);
  for (const auto& name : start.nodes()) {
    const auto it = std::ranges::find(launch.parts, name, &model::LaunchPart::node);
    if (it == launch.parts.end() || lost.contains(it->node))
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
  if (!ask.distribution.pack) ask.distribution.pack = launch.spec->distribution.pack;
  return ask;
}

ManagedStep::ManagedStep(StepContext& context, model::JobRun run, std::string key)
    : context_(context), run_(run), key_(std::move(key)) {}

ManagedStep::~ManagedStep() {
  *alive_ = false;
  for (StepFront* watcher : std::exchange(watchers_, {}))
    watcher->finished(fail(ErrorCode::JobAlreadyDone, "Job/step already completing or completed"));
  parts_.clear();  // its tasks end before others get their place
}

// ---- start

Status ManagedStep::enter(v1::StepStart start, const model::ControllerLaunch& launch, StepFront* front) {
  front_ = front;
  ++fronts_;
  kill_on_bad_exit_ = start.kill_on_bad_exit();
  no_kill_ = start.no_kill();
  overlap_ = start.overlap();
  const auto lost = context_.lost.find(run_);
  SPUR_ASSIGN(auto ask, lost == context_.lost.end() ? ask_of(start, launch) : ask_of(start, launch, lost->second));
  StepBook::Events events{.granted = [this, start](StepBegin granted) { begin(start, std::move(granted)); },
                          .waits = [this] { tell_waiting(); },
                          .gone = [this](Error error) { finish(std::unexpected(std::move(error))); }};
  auto place = context_.book.enter(launch, std::move(ask), std::move(events));
  if (!place) return std::unexpected(std::move(place.error()));
  if (stage_ != Stage::Over) place_ = std::move(*place);
  return {};
}

void ManagedStep::begin(v1::StepStart start, StepBegin granted) {
  const model::ControllerLaunch* launch = context_.agent.held(run_.job);
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
  for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i]->index = i;
  info_.set_step(granted.step);
  complete(start);
  fences_ = StepFences(parts_.size());
  describe(start, *launch);
  // Before anything runs: whoever comes after us must know of it.
  if (auto noted = note(); !noted) return finish(std::move(noted));
  stage_ = Stage::Running;
  if (context_.step_began) context_.step_began(info_);
  tell_granted();
  start_ = std::make_unique<v1::StepStart>(std::move(start));
  for (auto& part : parts_) start_part(*part);
  for (auto& [input, taken] : std::exchange(early_, {})) pass_on(std::move(input), std::move(taken));
  nodes_lost();  // while it waited
}

// What the parts must know of the whole.
void ManagedStep::complete(v1::StepStart& start) const {
  start.set_step(info_.step());
  start.set_ntasks(parts_.back()->first_rank + parts_.back()->tasks);
  start.clear_nodes();
  start.clear_tasks_per_node();
  start.clear_addresses();
  start.clear_task_nodes();
  start.clear_resume();
  if (!start.mpi().empty()) start.set_process_mapping(mapping());
  for (const auto& part : parts_) {
    start.add_nodes(part->node);
    start.add_tasks_per_node(part->tasks);
    start.add_addresses(part->address);
  }
}

// Gives out the ranks. A node that no task is left for (tasks were packed) is not part of the step.
Status ManagedStep::number(const v1::StepStart& start, const model::Distribution& distribution) {
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

std::string ManagedStep::mapping() const {
  std::vector<std::vector<std::uint32_t>> ranks;
  for (const auto& part : parts_) {
    ranks.push_back(part->ranks);
    for (std::uint32_t i = 0; part->ranks.empty() && i < part->tasks; ++i)
      ranks.back().push_back(part->first_rank + i);
  }
  return model::process_mapping(ranks);
}

void ManagedStep::describe(const v1::StepStart& start, const model::ControllerLaunch& launch) {
  info_.set_job(launch.run.job.value);
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
}

// ---- the front

void ManagedStep::tell(v1::StepOutput output) {
  if (front_ && !finished_) front_->output(std::move(output));
}

void ManagedStep::tell_waiting() {
  v1::StepOutput output;
  output.mutable_waiting()->set_code(static_cast<std::uint32_t>(ErrorCode::NodesBusy));
  tell(std::move(output));
}

void ManagedStep::notify(const std::string& text) {
  v1::StepOutput output;
  output.mutable_notice()->set_text(text);
  tell(std::move(output));
}

void ManagedStep::tell_granted() {
  if (key_.empty()) return;
  v1::StepOutput output;
  output.mutable_granted()->set_step(info_.step());
  output.mutable_granted()->set_parts(static_cast<std::uint32_t>(parts_.size()));
  tell(std::move(output));
}

void ManagedStep::attach(StepFront* front, const v1::StepStart& start) {
  const v1::StepResume& resume = start.resume();
  if (front_) {
    StepFront* old = std::exchange(front_, nullptr);
    old->finished(fail(ErrorCode::Busy, "the step has been taken up by another connection"));
  }
  front_ = front;
  ++fronts_;
  if (stage_ == Stage::Waiting) return tell_waiting();
  tell_granted();
  if (!start_ && !std::ranges::all_of(parts_, [](const auto& part) { return part->spoke || part->over; }))
    complete(*(start_ = std::make_unique<v1::StepStart>(start)));
  for (auto& part : parts_) {
    const int i = static_cast<int>(part->index);
    const bool known = i < resume.parts_size();
    if (known) part->heard = std::max(part->heard, resume.parts(i).seq());
    if (known && resume.parts(i).done()) {
      v1::StepAck ack;
      ack.set_part(static_cast<std::uint32_t>(i));
      ack.set_seq(resume.parts(i).seq());
      part->done_seq = ack.seq();
      part->settled = true;
      on_ack(ack);
    } else if (part->lost) {
      tell_lost(*part);
    } else if (part->missing) {
      start_part(*part);
    } else if (part->channel) {
      send_attach(*part);
    }
  }
  pause_parts();
  settle();
}

void ManagedStep::watch(StepFront* front) {
  v1::StepOutput output;
  auto* granted = output.mutable_granted();
  granted->set_step(info_.step());
  granted->set_parts(static_cast<std::uint32_t>(parts_.size()));
  for (const auto& part : parts_) {
    auto* out = granted->add_layout();
    out->set_node(part->node);
    std::vector<std::uint32_t> ranks = part->ranks;
    for (std::uint32_t i = 0; part->ranks.empty() && i < part->tasks; ++i) ranks.push_back(part->first_rank + i);
    wire::runs_to_proto(ranks, out->mutable_ranks());
  }
  watchers_.push_back(front);
  front->output(std::move(output));
}

void ManagedStep::unwatch(const StepFront* front) {
  std::erase(watchers_, front);
  slow_.erase(front);
  pause_parts();
}

// Its srun is gone, or cannot reach us.
void ManagedStep::detach(const StepFront* front) {
  slow_.erase(front);
  if (front_ != front) return;
  front_ = nullptr;
  if (key_.empty() || stage_ == Stage::Waiting || finished_) {
    if (stage_ == Stage::Waiting) stage_ = Stage::Over;
    finished_ = true;
    if (key_.empty()) parts_.clear();
    place_.reset();
    return leave_if_gone();
  }
  pause_parts();
  context_.call_after(kFrontGrace, [this, alive = alive_, fronts = fronts_] {
    if (*alive && fronts == fronts_) give_up();
  });
}

// Nobody will come for it any more.
void ManagedStep::give_up() {
  if (std::exchange(given_up_, true) || job_over_) return;
  context_.given_up.insert({run_, key_});
  v1::StepInput release;
  release.mutable_release();
  pause_parts();
  send_all(release, {});
  for (auto& part : parts_) {
    if (!part->missing) continue;
    part->gone = true;
    lose(*part, {ErrorCode::NotFound, "the step was not started"});
  }
  leave_if_gone();
}

void ManagedStep::finish(Status status) {
  if (std::exchange(finished_, true)) return;
  stage_ = Stage::Over;
  place_.reset();
  if (StepFront* front = std::exchange(front_, nullptr)) front->finished(status);
  for (StepFront* watcher : std::exchange(watchers_, {})) watcher->finished(status);
  leave_if_gone();
}

void ManagedStep::run_over() {
  job_over_ = true;
  if (stage_ == Stage::Waiting) return;  // the book tells it
  for (auto& part : parts_) {
    part->channel.reset();
    if (!part->over) lose(*part, {ErrorCode::JobAlreadyDone, "Job/step already completing or completed"});
    part->gone = true;
  }
  leave_if_gone();
}

// As in Slurm: without --no-kill the step ends on its other nodes, too. The job goes on in any case.
void ManagedStep::nodes_lost() {
  const auto lost = context_.lost.find(run_);
  if (stage_ != Stage::Running || lost == context_.lost.end()) return;
  bool any = false;
  for (auto& part : parts_) {
    if (part->over || !lost->second.contains(part->node)) continue;
    any = true;
    part->channel.reset();
    part->gone = true;
    lose(*part, {ErrorCode::InvalidNodeState, "Node failure on " + part->node});
  }
  if (any && !no_kill_) kill_all();
  leave_if_gone();
}

void ManagedStep::leave_if_gone() {
  if (stage_ != Stage::Over || !(finished_ || given_up_)) return;
  const auto gone = [](const auto& part) { return part->gone; };
  if (!key_.empty() && !std::ranges::all_of(parts_, gone)) return;
  if (given_up_) note_over(false);
  context_.remove(this);
}

}  // namespace spur::agent
