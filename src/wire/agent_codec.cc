// SPDX-License-Identifier: Apache-2.0
#include "wire/agent_codec.h"

#include "spur/v1/agent.pb.h"
#include "wire/fields.h"
#include "wire/id_codec.h"
#include "wire/job_codec.h"
#include "wire/node_codec.h"
#include "wire/spec_codec.h"

namespace spur::wire {

// clang-format off
#define SPUR_HELLO_FIELDS(F) \
  F(PLAIN, node) F(PLAIN, address) F(PLAIN, hostname) F(PLAIN, version) F(PLAIN, os) F(PLAIN, arch) \
  F(PLAIN, public_key) F(MSG, found) F(TIME, boot_time) F(TIME, started) F(MSGS, holding) F(PLAIN, sequence) \
  F(PLAIN, extra) F(PLAIN, instance_id) F(PLAIN, instance_type) F(PLAIN, load_hundredths) F(PLAIN, free_memory_mib)
// clang-format on
static void to_proto(const model::AgentHello& m, v1::AgentHello* p) {
  SPUR_HELLO_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::AgentHello& p, model::AgentHello* m) {
  SPUR_HELLO_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_HEARTBEAT_FIELDS(F) \
  F(PLAIN, sequence) F(PLAIN, load_hundredths) F(PLAIN, free_memory_mib) F(PLAIN, problem)
static void to_proto(const model::AgentHeartbeat& m, v1::AgentHeartbeat* p) {
  SPUR_HEARTBEAT_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::AgentHeartbeat& p, model::AgentHeartbeat* m) {
  SPUR_HEARTBEAT_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_LAUNCHED_FIELDS(F) F(MSG, run)
static void to_proto(const model::AgentLaunched& m, v1::AgentLaunched* p) {
  SPUR_LAUNCHED_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::AgentLaunched& p, model::AgentLaunched* m) {
  SPUR_LAUNCHED_FIELDS(SPUR_FROM)
  return {};
}

// clang-format off
#define SPUR_JOB_DONE_FIELDS(F) \
  F(MSG, run) F(MSG, exit) F(PLAIN, is_batch_host) F(PLAIN, out_of_memory) F(PLAIN, launch_failed) F(PLAIN, error) \
  F(PLAIN, prolog_failed) F(PLAIN, node_blameless) F(PLAIN, drain) F(MSG, usage) \
  F(MSG, batch_usage) F(MSGS, steps)
// clang-format on
static void to_proto(const model::AgentJobDone& m, v1::AgentJobDone* p) {
  SPUR_JOB_DONE_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::AgentJobDone& p, model::AgentJobDone* m) {
  SPUR_JOB_DONE_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_STEPS_ENDED_FIELDS(F) F(MSG, run) F(PLAIN, first) F(MSGS, steps)
static void to_proto(const model::AgentStepsEnded& m, v1::AgentStepsEnded* p) {
  SPUR_STEPS_ENDED_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::AgentStepsEnded& p, model::AgentStepsEnded* m) {
  SPUR_STEPS_ENDED_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_WELCOME_FIELDS(F) \
  F(PLAIN, cluster_name) F(PLAIN, controller_public_key) F(MSGS, unknown) F(PLAIN, hello_again)
static void to_proto(const model::ControllerWelcome& m, v1::ControllerWelcome* p) {
  SPUR_WELCOME_FIELDS(SPUR_TO)
  p->set_lease_seconds(m.lease.count());
  p->set_heartbeat_seconds(m.heartbeat.count());
}
static Status from_proto(const v1::ControllerWelcome& p, model::ControllerWelcome* m) {
  SPUR_WELCOME_FIELDS(SPUR_FROM)
  m->lease = seconds(p.lease_seconds());
  m->heartbeat = seconds(p.heartbeat_seconds());
  return {};
}

// clang-format off
#define SPUR_LAUNCH_PART_FIELDS(F) \
  F(PLAIN, node) F(RUNS, cpus) F(PLAIN, memory_mib) F(PLAIN, tasks) F(MSGS, devices) \
  F(PLAIN, sockets) F(PLAIN, cores_per_socket) F(PLAIN, threads_per_core) \
  F(PLAIN, topology_address) F(PLAIN, topology_pattern)
// clang-format on
static void to_proto(const model::LaunchPart& m, v1::LaunchPart* p) {
  SPUR_LAUNCH_PART_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::LaunchPart& p, model::LaunchPart* m) {
  SPUR_LAUNCH_PART_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_WHOLE_JOB_FIELDS(F) F(PLAIN, nodes) F(PLAIN, node_count) F(PLAIN, cpus_per_node)
static void to_proto(const model::WholeJob& m, v1::WholeJob* p) {
  SPUR_WHOLE_JOB_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::WholeJob& p, model::WholeJob* m) {
  SPUR_WHOLE_JOB_FIELDS(SPUR_FROM)
  return {};
}

// clang-format off
#define SPUR_HET_COMPONENT_FIELDS(F) \
  F(ID, job) F(PLAIN, name) F(PLAIN, partition) F(PLAIN, nodes) F(PLAIN, node_count) F(PLAIN, cpus_per_node) \
  F(PLAIN, tasks_per_node) F(OPT, tasks) F(OPT, cpus_per_task) F(OPT, memory_per_node_mib) F(OPT, memory_per_cpu_mib)
// clang-format on
static void to_proto(const model::HetComponent& m, v1::HetComponent* p) {
  SPUR_HET_COMPONENT_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::HetComponent& p, model::HetComponent* m) {
  SPUR_HET_COMPONENT_FIELDS(SPUR_FROM)
  return {};
}

// clang-format off
#define SPUR_LAUNCH_FIELDS(F) \
  F(MSG, run) F(ID, array_job) F(OPT, array_task) F(PLAIN, array_count) F(PLAIN, array_min) F(PLAIN, array_max) \
  F(PLAIN, array_step) F(PLAIN, partition) F(PLAIN, cluster_name) F(PLAIN, restarts) F(LIMIT, time_limit) \
  F(TIME, started) F(MSGS, parts) F(TEXTS, addresses) F(PLAIN, this_part) F(MSG, whole) \
  F(MSGS, het) F(PLAIN, het_offset) F(PLAIN, heard)
// clang-format on
void to_proto(const model::ControllerLaunch& m, v1::ControllerLaunch* p) {
  SPUR_LAUNCH_FIELDS(SPUR_TO)
  p->set_kill_wait_seconds(m.kill_wait.count());
  if (m.spec) to_proto(*m.spec, p->mutable_spec());
}
Status from_proto(const v1::ControllerLaunch& p, model::ControllerLaunch* m) {
  SPUR_LAUNCH_FIELDS(SPUR_FROM)
  m->kill_wait = seconds(p.kill_wait_seconds());
  if (!p.has_spec()) return fail(ErrorCode::Corrupt, "A launch has no job specification");
  if (p.parts_size() == 0 || p.parts_size() != p.addresses_size())
    return fail(ErrorCode::Corrupt, "A launch does not say what the node is to give the job");
  auto spec = std::make_shared<model::JobSpec>();
  SPUR_TRY(from_proto(p.spec(), spec.get()));
  m->spec = std::move(spec);
  return {};
}

#define SPUR_END_FIELDS(F) F(MSG, run) F(PLAIN, kill) F(ENUM, why)
static void to_proto(const model::ControllerEnd& m, v1::ControllerEnd* p) {
  SPUR_END_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::ControllerEnd& p, model::ControllerEnd* m) {
  SPUR_END_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_SIGNAL_FIELDS(F) F(MSG, run) F(PLAIN, signal) F(PLAIN, batch_only) F(PLAIN, steps_only)
static void to_proto(const model::ControllerSignal& m, v1::ControllerSignal* p) {
  SPUR_SIGNAL_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::ControllerSignal& p, model::ControllerSignal* m) {
  SPUR_SIGNAL_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_SUSPEND_FIELDS(F) F(MSG, run) F(PLAIN, resume)
static void to_proto(const model::ControllerSuspend& m, v1::ControllerSuspend* p) {
  SPUR_SUSPEND_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::ControllerSuspend& p, model::ControllerSuspend* m) {
  SPUR_SUSPEND_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_DONE_ACK_FIELDS(F) F(MSG, run)
static void to_proto(const model::ControllerDoneAck& m, v1::ControllerDoneAck* p) {
  SPUR_DONE_ACK_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::ControllerDoneAck& p, model::ControllerDoneAck* m) {
  SPUR_DONE_ACK_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_STEPS_ACK_FIELDS(F) F(MSG, run) F(PLAIN, count)
static void to_proto(const model::ControllerStepsAck& m, v1::ControllerStepsAck* p) {
  SPUR_STEPS_ACK_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::ControllerStepsAck& p, model::ControllerStepsAck* m) {
  SPUR_STEPS_ACK_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_NOTIFY_FIELDS(F) F(MSG, run) F(PLAIN, text)
static void to_proto(const model::ControllerNotify& m, v1::ControllerNotify* p) {
  SPUR_NOTIFY_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::ControllerNotify& p, model::ControllerNotify* m) {
  SPUR_NOTIFY_FIELDS(SPUR_FROM)
  return {};
}
#define SPUR_REBOOT_FIELDS(F) F(TIME, at)
static void to_proto(const model::ControllerReboot& m, v1::ControllerReboot* p) {
  SPUR_REBOOT_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::ControllerReboot& p, model::ControllerReboot* m) {
  SPUR_REBOOT_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_NODES_LOST_FIELDS(F) F(MSG, run) F(TEXTS, nodes)
static void to_proto(const model::ControllerNodesLost& m, v1::ControllerNodesLost* p) {
  SPUR_NODES_LOST_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::ControllerNodesLost& p, model::ControllerNodesLost* m) {
  SPUR_NODES_LOST_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_DEBUG_FIELDS(F) F(PLAIN, level) F(PLAIN, flags_on) F(PLAIN, flags_off)
static void to_proto(const model::ControllerDebug& m, v1::ControllerDebug* p) {
  SPUR_DEBUG_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::ControllerDebug& p, model::ControllerDebug* m) {
  SPUR_DEBUG_FIELDS(SPUR_FROM)
  return {};
}

// Nothing but its kind.
static void to_proto(const model::ControllerShutdown&, v1::ControllerShutdown*) {}

namespace {

// Which alternative of the oneof carries which struct.
auto* slot(v1::AgentMessage* p, const model::AgentHello&) {
  return p->mutable_hello();
}
auto* slot(v1::AgentMessage* p, const model::AgentHeartbeat&) {
  return p->mutable_heartbeat();
}
auto* slot(v1::AgentMessage* p, const model::AgentLaunched&) {
  return p->mutable_launched();
}
auto* slot(v1::AgentMessage* p, const model::AgentJobDone&) {
  return p->mutable_job_done();
}
auto* slot(v1::AgentMessage* p, const model::AgentStepsEnded&) {
  return p->mutable_steps_ended();
}
auto* slot(v1::ControllerMessage* p, const model::ControllerStepsAck&) {
  return p->mutable_steps_ack();
}
auto* slot(v1::ControllerMessage* p, const model::ControllerWelcome&) {
  return p->mutable_welcome();
}
auto* slot(v1::ControllerMessage* p, const model::ControllerLaunch&) {
  return p->mutable_launch();
}
auto* slot(v1::ControllerMessage* p, const model::ControllerEnd&) {
  return p->mutable_end();
}
auto* slot(v1::ControllerMessage* p, const model::ControllerSignal&) {
  return p->mutable_signal();
}
auto* slot(v1::ControllerMessage* p, const model::ControllerSuspend&) {
  return p->mutable_suspend();
}
auto* slot(v1::ControllerMessage* p, const model::ControllerDoneAck&) {
  return p->mutable_done_ack();
}
auto* slot(v1::ControllerMessage* p, const model::ControllerShutdown&) {
  return p->mutable_shutdown();
}
auto* slot(v1::ControllerMessage* p, const model::ControllerNotify&) {
  return p->mutable_notify();
}
auto* slot(v1::ControllerMessage* p, const model::ControllerReboot&) {
  return p->mutable_reboot();
}
auto* slot(v1::ControllerMessage* p, const model::ControllerNodesLost&) {
  return p->mutable_nodes_lost();
}
auto* slot(v1::ControllerMessage* p, const model::ControllerDebug&) {
  return p->mutable_debug();
}

template <class Proto, class Message>
Result<Message> decode(std::string_view bytes, const char* what) {
  Proto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail(ErrorCode::Corrupt, std::string("A message from ") + what + " cannot be read");
  Message message;
  SPUR_TRY(from_proto(proto, &message));
  return message;
}

}  // namespace

void to_proto(const model::AgentMessage& from, v1::AgentMessage* to) {
  std::visit([to](const auto& m) { to_proto(m, slot(to, m)); }, from);
}

Status from_proto(const v1::AgentMessage& p, model::AgentMessage* m) {
  switch (p.kind_case()) {
    case v1::AgentMessage::kHello:
      return from_proto(p.hello(), &m->emplace<model::AgentHello>());
    case v1::AgentMessage::kHeartbeat:
      return from_proto(p.heartbeat(), &m->emplace<model::AgentHeartbeat>());
    case v1::AgentMessage::kLaunched:
      return from_proto(p.launched(), &m->emplace<model::AgentLaunched>());
    case v1::AgentMessage::kJobDone:
      return from_proto(p.job_done(), &m->emplace<model::AgentJobDone>());
    case v1::AgentMessage::kStepsEnded:
      return from_proto(p.steps_ended(), &m->emplace<model::AgentStepsEnded>());
    case v1::AgentMessage::KIND_NOT_SET:
      break;
  }
  return fail(ErrorCode::VersionMismatch, "A message from an agent is of a kind that this version does not know");
}

void to_proto(const model::ControllerMessage& from, v1::ControllerMessage* to) {
  std::visit([to](const auto& m) { to_proto(m, slot(to, m)); }, from);
}

Status from_proto(const v1::ControllerMessage& p, model::ControllerMessage* m) {
  switch (p.kind_case()) {
    case v1::ControllerMessage::kWelcome:
      return from_proto(p.welcome(), &m->emplace<model::ControllerWelcome>());
    case v1::ControllerMessage::kLaunch:
      return from_proto(p.launch(), &m->emplace<model::ControllerLaunch>());
    case v1::ControllerMessage::kEnd:
      return from_proto(p.end(), &m->emplace<model::ControllerEnd>());
    case v1::ControllerMessage::kSignal:
      return from_proto(p.signal(), &m->emplace<model::ControllerSignal>());
    case v1::ControllerMessage::kSuspend:
      return from_proto(p.suspend(), &m->emplace<model::ControllerSuspend>());
    case v1::ControllerMessage::kDoneAck:
      return from_proto(p.done_ack(), &m->emplace<model::ControllerDoneAck>());
    case v1::ControllerMessage::kStepsAck:
      return from_proto(p.steps_ack(), &m->emplace<model::ControllerStepsAck>());
    case v1::ControllerMessage::kShutdown:
      m->emplace<model::ControllerShutdown>();
      return {};
    case v1::ControllerMessage::kNotify:
      return from_proto(p.notify(), &m->emplace<model::ControllerNotify>());
    case v1::ControllerMessage::kReboot:
      return from_proto(p.reboot(), &m->emplace<model::ControllerReboot>());
    case v1::ControllerMessage::kNodesLost:
      return from_proto(p.nodes_lost(), &m->emplace<model::ControllerNodesLost>());
    case v1::ControllerMessage::kDebug:
      return from_proto(p.debug(), &m->emplace<model::ControllerDebug>());
    case v1::ControllerMessage::KIND_NOT_SET:
      break;
  }
  return fail(ErrorCode::VersionMismatch,
              "A message from the controller is of a kind that this version does not know");
}

std::string encode_agent_message(const model::AgentMessage& message) {
  v1::AgentMessage proto;
  to_proto(message, &proto);
  return proto.SerializeAsString();
}
Result<model::AgentMessage> decode_agent_message(std::string_view bytes) {
  return decode<v1::AgentMessage, model::AgentMessage>(bytes, "an agent");
}
std::string encode_controller_message(const model::ControllerMessage& message) {
  v1::ControllerMessage proto;
  to_proto(message, &proto);
  return proto.SerializeAsString();
}
Result<model::ControllerMessage> decode_controller_message(std::string_view bytes) {
  return decode<v1::ControllerMessage, model::ControllerMessage>(bytes, "the controller");
}

}  // namespace spur::wire
