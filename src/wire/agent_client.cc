// SPDX-License-Identifier: Apache-2.0
#include "wire/agent_client.h"

#include <poll.h>

#include <algorithm>
#include <chrono>

#include "spur/v1/agent.pb.h"
#include "wire/error_map.h"
#include "wire/id_codec.h"
#include "wire/lean_channel.h"
#include "wire/lean_stream.h"
#include "wire/spec_codec.h"
#include "wire/step_progress.h"

namespace spur::wire {
namespace {

constexpr std::uint16_t kAgentPort = 6818;
constexpr std::size_t kInputAhead = 2u << 20;  // accepted before the socket has taken it
constexpr std::size_t kInputKept = 8u << 20;   // accepted before the tasks' nodes have it
// An agent that is gone, for an upgrade say.
constexpr Duration kFirstTry = milliseconds(50), kSlowestTry = seconds(1), kStepPatience = minutes(10),
                   kFirstPatience = seconds(15);
constexpr Duration kTellAfter = seconds(5), kRenewAfter = seconds(1), kRenewEvery = seconds(3);
// Connecting may take as long as the timeout; a step may be silent for hours, its agent may not.
constexpr LeanStream::KeepAlive kKeepAlive{.interval = std::chrono::seconds(30), .timeout = std::chrono::seconds(20)};

Duration monotonic() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

void add_wishes(const StepRequest& request, v1::StepStart& start) {
  start.set_node_count(request.node_count);
  start.set_required_nodes(request.required_nodes);
  start.set_max_tasks_per_node(request.max_tasks_per_node);
  start.set_exact(request.exact);
  start.set_overcommit(request.overcommit);
  start.set_memory_mib_per_cpu(request.memory_mib_per_cpu);
  start.set_no_gres(request.no_gres);
  start.set_cpus_per_gpu(request.cpus_per_gpu);
  start.set_cpu_bind(request.cpu_bind);
  start.set_gpu_bind(request.gpu_bind);
  start.set_mem_bind(request.mem_bind);
  for (const auto& program : request.programs) {
    v1::StepProgram& out = *start.add_programs();
    to_proto(program.ranks, out.mutable_ranks());
    for (const auto& text : program.arguments) out.add_argv(text);
  }
  start.set_task_prolog(request.task_prolog);
  start.set_task_epilog(request.task_epilog);
  start.set_warn_signal(request.warn_signal);
  start.set_warn_seconds(request.warn_seconds);
  start.set_open_append(request.open_append);
  start.set_distributed(request.distributed);
  start.set_preserve_environment(request.preserve_environment);
  start.set_mpi(request.mpi);
  if (request.container.wanted()) to_proto(request.container, start.mutable_container());
  start.set_host(request.host);
  start.set_pid(request.pid);
  start.set_key(request.key);
  if (request.watch) {
    start.set_watch(true);
    start.set_step(*request.watch);
  }
}

v1::StepInput start_message(const StepRequest& request) {
  v1::StepInput input;
  auto& start = *input.mutable_start();
  start.set_ticket(request.ticket);
  start.set_name(request.name);
  for (const auto& text : request.arguments) start.add_argv(text);
  for (const auto& text : request.environment) start.add_env(text);
  start.set_cwd(request.directory);
  for (const auto& text : request.nodes) start.add_nodes(text);
  for (const auto& text : request.addresses) start.add_addresses(text);
  for (const auto tasks : request.tasks_per_node) start.add_tasks_per_node(tasks);
  to_proto(request.distribution, start.mutable_distribution());
  for (const auto node : request.task_nodes) start.add_task_nodes(node);
  start.set_ntasks(request.tasks);
  start.set_cpus_per_task(request.cpus_per_task);
  start.set_label(request.label);
  start.set_overlap(request.overlap);
  start.set_exclusive(request.exclusive);
  start.set_kill_on_bad_exit(request.kill_on_bad_exit);
  start.set_no_kill(request.no_kill);
  start.set_unbuffered(request.unbuffered);
  start.set_pty(request.pty);
  start.set_pty_rows(request.pty_rows);
  start.set_pty_columns(request.pty_columns);
  start.set_umask(static_cast<std::int32_t>(request.umask));
  for (const auto& limit : request.rlimits) to_proto(limit, start.add_rlimits());
  if (request.time_limit.is_set()) start.set_time_limit(request.time_limit.raw());
  for (const auto& gres : request.gres) to_proto(gres, start.add_gres());
  start.set_memory_mib_per_node(request.memory_mib_per_node);
  start.set_std_in(request.std_in);
  start.set_std_out(request.std_out);
  start.set_std_err(request.std_err);
  add_wishes(request, start);
  if (request.het) {
    v1::HetStep& het = *start.mutable_het();
    het.set_job(request.het->job.value);
    het.set_first_rank(request.het->first_rank);
    het.set_first_node(request.het->first_node);
    het.set_ntasks(request.het->tasks);
    for (const auto& node : request.het->nodes) het.add_nodes(node);
    for (const auto tasks : request.het->tasks_per_node) het.add_tasks_per_node(tasks);
  }
  return input;
}

}  // namespace

struct AgentClient::Link {
  Link(v1::StepInput first, StepEvents wanted) : start(std::move(first)), events(std::move(wanted)) {}

  bool resumable() const { return !start.start().key().empty(); }
  Status dial(const std::string& address);
  void on_message(std::string_view bytes);
  void hand_out(const v1::StepOutput& message);
  void on_exit(const v1::StepTaskExit& exit);
  void on_layout(const v1::StepGranted& granted);
  void on_end(const CallEnd& how);
  void send_acks();
  void try_again();
  void send(v1::StepInput input, std::optional<std::uint32_t> rank = {});

  v1::StepInput start;
  StepEvents events;
  std::function<Result<StepRequest::Whereabouts>()> renew;
  std::string address;
  std::unique_ptr<LeanStream> stream;  // null: gone, and to be opened again
  StepProgress progress;
  std::optional<CallEnd> end;
  bool done = false, damaged = false, input_ended = false;
  // While the agent is gone.
  Duration lost_at{0}, next_try{0}, next_renewal{0}, pause{0};
  bool told_of_loss = false, broke = false, heard = false;
  Duration patience() const { return heard ? kStepPatience : kFirstPatience; }
};

Status AgentClient::Link::dial(const std::string& where) {
  SPUR_ASSIGN(const auto peer, parse_peer_address(where, kAgentPort));
  LeanStream::Events stream_events{
      [this](std::string_view bytes) { on_message(bytes); },
      [this](const CallEnd& how) { on_end(how); },
  };
  SPUR_ASSIGN(stream, LeanStream::open(peer, "/spur.v1.NodeAgent/RunStep", CallOptions{}, std::move(stream_events),
                                       kKeepAlive));
  address = where;
  stream->send(start.SerializeAsString());
  return {};
}

void AgentClient::Link::on_message(std::string_view bytes) {
  v1::StepOutput message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    damaged = true;
    return;
  }
  if (resumable()) {
    if (std::exchange(told_of_loss, false) && events.contact) events.contact(false);
    lost_at = Duration{0};
    heard = true;
    if (!progress.take(message, bytes.size())) return;
    hand_out(message);
    send_acks();
    done = progress.done();
    return;
  }
  hand_out(message);
}

void AgentClient::Link::hand_out(const v1::StepOutput& message) {
  switch (message.kind_case()) {
    case v1::StepOutput::kStarted:
      if (events.started)
        events.started(message.started().node(), message.started().step(),
                       {message.started().pids().begin(), message.started().pids().end()});
      break;
    case v1::StepOutput::kData:
      if (events.output && !message.data().data().empty())
        events.output(message.data().rank(), message.data().data(), message.data().is_stderr());
      break;
    case v1::StepOutput::kTaskExit:
      on_exit(message.task_exit());
      break;
    case v1::StepOutput::kError:
      if (message.error().of_binding() && events.not_bound)
        events.not_bound(message.error().node(), message.error().step(), message.error().text());
      else if (events.failed)
        events.failed(message.error().node(),
                      {parse_error_number(std::to_string(message.error().code())).value_or(ErrorCode::Internal),
                       message.error().text()});
      break;
    case v1::StepOutput::kDone:
      if (!resumable()) done = true;
      break;
    case v1::StepOutput::kWaiting:
      if (events.waiting)
        events.waiting(parse_error_number(std::to_string(message.waiting().code())).value_or(ErrorCode::NodesBusy));
      break;
    case v1::StepOutput::kNotice:
      if (events.notice) events.notice(message.notice().text());
      break;
    case v1::StepOutput::kFence:  // between nodes
    case v1::StepOutput::kAbort:  // the task itself says why
    case v1::StepOutput::kGranted:
      on_layout(message.granted());
      break;
    case v1::StepOutput::kTaken:
    case v1::StepOutput::KIND_NOT_SET:
      break;  // a newer agent's news that the step does not depend on
  }
}

void AgentClient::Link::on_layout(const v1::StepGranted& granted) {
  if (!events.layout || granted.layout_size() == 0) return;
  std::vector<StepEvents::Part> parts;
  for (const auto& part : granted.layout()) {
    parts.push_back({part.node(), {}});
    if (!from_proto(part.ranks(), &parts.back().ranks)) return;
  }
  events.layout(parts);
}

void AgentClient::Link::on_exit(const v1::StepTaskExit& exit) {
  if (events.exited)
    events.exited({exit.rank(), exit.node(), exit.code(), exit.signal(), exit.core_dumped(), exit.out_of_memory()});
}

// What the agent itself said is final; that a connection broke is not.
void AgentClient::Link::on_end(const CallEnd& how) {
  const bool broken = how.grpc_status != kGrpcOk && (!how.code || *how.code == ErrorCode::Unreachable);
  const Duration now = monotonic();
  if (!resumable() || done || damaged || !broken) {
    end = how;
    return;
  }
  if (lost_at == Duration{0}) {
    lost_at = next_renewal = now;
    next_renewal += kRenewAfter;
    pause = kFirstTry;
  }
  if (now - lost_at > patience()) {
    end = how;
    return;
  }
  broke = true;  // the stream is in use at this moment
  next_try = now + pause;
  pause = std::min(pause * 2, kSlowestTry);
}

void AgentClient::Link::send_acks() {
  for (v1::StepAck& ack : progress.acknowledge()) {
    v1::StepInput input;
    *input.mutable_ack() = std::move(ack);
    stream->send(input.SerializeAsString());
  }
}

void AgentClient::Link::try_again() {
  const Duration now = monotonic();
  if (now - lost_at > kTellAfter && !std::exchange(told_of_loss, true) && events.contact) events.contact(true);
  std::string where = address;
  if (renew && now >= next_renewal) {
    if (auto fresh = renew()) {
      where = fresh->address;
      start.mutable_start()->set_ticket(std::move(fresh->ticket));
    }
    next_renewal = monotonic() + kRenewEvery;
  }
  *start.mutable_start()->mutable_resume() = progress.resume();
  progress.forget_acknowledged();
  if (auto dialled = dial(where); !dialled) {
    stream.reset();
    next_try = monotonic() + pause;
    pause = std::min(pause * 2, kSlowestTry);
    if (monotonic() - lost_at > patience())
      end = CallEnd{kGrpcUnavailable, dialled.error().message, dialled.error().code, false, {}};
    return;
  }
  for (const auto& input : progress.kept()) stream->send(input.bytes);
  send_acks();
}

void AgentClient::Link::send(v1::StepInput input, std::optional<std::uint32_t> rank) {
  if (!resumable()) return stream->send(input.SerializeAsString());
  const std::string_view bytes = progress.number(std::move(input), rank);
  if (stream) stream->send(bytes);
}

AgentClient::AgentClient(std::unique_ptr<Link> link) : link_(std::move(link)) {}
AgentClient::~AgentClient() = default;

Result<std::unique_ptr<AgentClient>> AgentClient::run_step(const std::string& address, const StepRequest& request,
                                                           StepEvents events) {
  auto link = std::make_unique<Link>(start_message(request), std::move(events));
  link->renew = request.renew;
  SPUR_TRY(link->dial(address));
  return std::unique_ptr<AgentClient>(new AgentClient(std::move(link)));
}

bool AgentClient::turn(int input, Duration longest) {
  if (ended()) return false;
  if (std::exchange(link_->broke, false)) link_->stream.reset();
  const Duration now = monotonic();
  if (!link_->stream) {
    const Duration wait = std::clamp(std::min(longest, link_->next_try - now), Duration{0}, Duration{hours(1)});
    if (wait > Duration{0} &&
        ::poll(nullptr, 0, static_cast<int>(std::chrono::ceil<milliseconds>(wait).count())) != 0)
      return false;
    if (monotonic() >= link_->next_try) link_->try_again();
    return false;
  }
  LeanStream& stream = *link_->stream;
  stream.on_timer(now);
  if (ended() || link_->broke) return false;
  const Duration wait = std::clamp(std::min(longest, stream.next_timer() - now), Duration{0}, Duration{hours(1)});
  pollfd watched[2] = {{stream.fd(), static_cast<short>(POLLIN | (stream.wants_write() ? POLLOUT : 0)), 0},
                       {input, POLLIN, 0}};
  // A negative descriptor is not watched.
  if (::poll(watched, 2, static_cast<int>(std::chrono::ceil<milliseconds>(wait).count())) <= 0) return false;
  if (watched[0].revents & POLLOUT) stream.on_writable();
  if (watched[0].revents & (POLLIN | POLLHUP | POLLERR)) stream.on_readable();
  return watched[1].revents != 0;
}

bool AgentClient::ended() const {
  return link_->end.has_value();
}

Status AgentClient::result() const {
  if (link_->damaged) return fail(ErrorCode::Corrupt, "The agent sent a message that cannot be read");
  if (!link_->end) return fail(ErrorCode::Busy, "The step has not ended");
  if (link_->done && link_->resumable()) return {};  // whatever became of the connection then
  SPUR_TRY(link_->end->status());
  if (!link_->done) return fail(ErrorCode::Unreachable, "The agent ended the step's stream before the step's end");
  return {};
}

void AgentClient::send_input(std::string_view data, std::optional<std::uint32_t> rank) {
  if (link_->input_ended || data.empty()) return;
  v1::StepInput input;
  input.mutable_stdin_data()->set_data(std::string(data));
  if (rank) input.mutable_stdin_data()->set_task(*rank);
  link_->send(std::move(input), rank);
}

void AgentClient::end_input() {
  if (std::exchange(link_->input_ended, true)) return;
  v1::StepInput input;
  input.mutable_stdin_data()->set_eof(true);
  link_->send(std::move(input));
}

bool AgentClient::input_is_full() const {
  return !link_->stream || link_->stream->queued_bytes() >= kInputAhead || link_->progress.kept_bytes() >= kInputKept;
}

void AgentClient::send_signal(int signal) {
  v1::StepInput input;
  input.mutable_signal()->set_signal(signal);
  link_->send(std::move(input));
}

void AgentClient::resize(std::uint32_t rows, std::uint32_t columns) {
  v1::StepInput input;
  input.mutable_window()->set_rows(rows);
  input.mutable_window()->set_columns(columns);
  link_->send(std::move(input));
}

Result<std::vector<StepInfo>> list_steps(const std::string& address, Duration timeout) {
  LeanChannel channel({address}, kAgentPort);
  CallOptions options;
  options.timeout = timeout;
  SPUR_ASSIGN(const auto bytes, channel.call("/spur.v1.NodeAgent/ListSteps", "", options));
  v1::ListStepsReply reply;
  if (!reply.ParseFromString(bytes)) return fail(ErrorCode::Corrupt, "The agent's answer cannot be read");
  std::vector<StepInfo> out;
  for (const auto& step : reply.steps()) {
    StepInfo& info = out.emplace_back();
    info.job = JobId{step.job()};
    info.step = step.step();
    info.name = step.name();
    info.uid = Uid{step.uid()};
    info.partition = step.partition();
    info.nodes = step.nodes();
    info.host = step.host();
    info.node_count = step.node_count();
    info.cpus = step.cpus();
    info.tasks = step.tasks();
    info.pid = step.pid();
    info.memory_mib = step.memory_mib();
    info.started = from_micros(step.started_us());
    if (step.has_time_limit()) info.time_limit = TimeLimit::from_raw(step.time_limit());
    SPUR_TRY(from_proto(step.distribution(), &info.distribution));
  }
  std::ranges::sort(out, {}, [](const StepInfo& info) { return std::pair(info.job.value, info.step); });
  return out;
}

static Status ask_of_step(const std::string& address, const v1::SignalStepRequest& request, Duration timeout) {
  LeanChannel channel({address}, kAgentPort);
  CallOptions options;
  options.timeout = timeout;
  const auto answer = channel.call("/spur.v1.NodeAgent/SignalStep", request.SerializeAsString(), options);
  return answer ? Status() : Status(std::unexpected(answer.error()));
}

Status signal_step(const std::string& address, const std::string& ticket, std::uint32_t step, int signal,
                   Duration timeout) {
  v1::SignalStepRequest request;
  request.set_ticket(ticket);
  request.set_step(step);
  request.set_signal(signal);
  return ask_of_step(address, request, timeout);
}

Status limit_step(const std::string& address, const std::string& ticket, std::uint32_t step, TimeLimit limit,
                  Duration timeout) {
  v1::SignalStepRequest request;
  request.set_ticket(ticket);
  request.set_step(step);
  request.set_time_limit(limit.raw());
  return ask_of_step(address, request, timeout);
}

Result<AgentPing> ping_agent(const std::string& address, Duration timeout) {
  LeanChannel channel({address}, kAgentPort);
  CallOptions options;
  options.timeout = timeout;
  SPUR_ASSIGN(const auto bytes, channel.call("/spur.v1.NodeAgent/Ping", "", options));
  v1::AgentPingReply reply;
  if (!reply.ParseFromString(bytes)) return fail(ErrorCode::Corrupt, "The agent's answer cannot be read");
  return AgentPing{reply.node(), reply.version(), from_micros(reply.started_us())};
}

}  // namespace spur::wire
