// SPDX-License-Identifier: Apache-2.0
#include "wire/command_codec.h"
#include "wire/accounts_codec.h"

#include <google/protobuf/arena.h>

#include <algorithm>

#include "base/check.h"
#include "spur/v1/journal.pb.h"
#include "wire/config_codec.h"
#include "wire/crontab_codec.h"
#include "wire/envelope.h"
#include "wire/fields.h"
#include "wire/id_codec.h"
#include "wire/job_codec.h"
#include "wire/node_codec.h"
#include "wire/reservation_codec.h"
#include "wire/spec_codec.h"
#include "wire/trigger_codec.h"

namespace spur::wire {

static void to_proto(const state::SetReasons::Row& m, v1::SetReasons::Row* p) {
  SPUR_TO(ID, job) SPUR_TO(ENUM, reason) SPUR_TO(TIME, expected_start)
}
static Status from_proto(const v1::SetReasons::Row& p, state::SetReasons::Row* m) {
  SPUR_FROM(ID, job) SPUR_FROM(ENUM, reason) SPUR_FROM(TIME, expected_start) return {};
}

static void to_proto(const state::PreemptJobs::Victim& m, v1::PreemptJobs::Victim* p) {
  SPUR_TO(ID, job) SPUR_TO(ID, epoch) SPUR_TO(ENUM, how) SPUR_TO(SECONDS, grace)
}
static Status from_proto(const v1::PreemptJobs::Victim& p, state::PreemptJobs::Victim* m) {
  SPUR_FROM(ID, job) SPUR_FROM(ID, epoch) SPUR_FROM(ENUM, how) SPUR_FROM(SECONDS, grace) return {};
}

namespace {

// Raise when a field or command is added that apply depends on; old versions stay readable (src/wire/testdata).
constexpr std::uint32_t kBatchFormat = 11;
constexpr std::string_view kBatchKind = "SPRB";

// Commands that hold a specification need the batch's list of texts; the others ignore it.
struct Texts {
  BlobWriter* writer = nullptr;
  const BlobList* list = nullptr;
};

void put(const state::SetConfig& m, v1::Command* c, Texts) {
  to_proto(m.config, c->mutable_set_config()->mutable_config());
}
Status take(const v1::SetConfig& p, state::SetConfig* m, Texts) {
  return from_proto(p.config(), &m->config);
}

Status take_spec(const v1::JobSpec& p, Texts texts, std::shared_ptr<const model::JobSpec>* to) {
  auto spec = std::make_shared<model::JobSpec>();
  SPUR_TRY(from_proto(p, spec.get(), texts.list));
  *to = std::move(spec);
  return {};
}

void put(const state::SubmitJob& m, v1::Command* c, Texts texts) {
  auto* p = c->mutable_submit_job();
  SPUR_CHECK(m.spec);
  to_proto(*m.spec, p->mutable_spec(), texts.writer);
  p->set_token(m.token);
  for (const auto& spec : m.more) to_proto(*spec, p->add_more(), texts.writer);
}
Status take(const v1::SubmitJob& p, state::SubmitJob* m, Texts texts) {
  if (!p.has_spec()) return fail(ErrorCode::Corrupt, "A journaled submit has no job specification");
  m->token = p.token();
  for (const auto& spec : p.more()) SPUR_TRY(take_spec(spec, texts, &m->more.emplace_back()));
  return take_spec(p.spec(), texts, &m->spec);
}

// A start, or a component of one.
template <class Start, class Proto>
void put_start(const Start& m, Proto* p) {
  SPUR_CHECK(m.allocation);
  p->set_job(m.job.value);
  to_proto(*m.allocation, p->mutable_allocation());
  if (m.limit.is_set()) p->set_limit(m.limit.raw());
}
template <class Start, class Proto>
Status take_start(const Proto& p, Start* m) {
  if (!p.has_allocation()) return fail(ErrorCode::Corrupt, "A journaled start has no allocation");
  m->job = JobId(p.job());
  auto allocation = std::make_shared<model::Allocation>();
  SPUR_TRY(from_proto(p.allocation(), allocation.get()));
  m->allocation = std::move(allocation);
  if (p.has_limit()) m->limit = TimeLimit::from_raw(p.limit());
  return {};
}

void put(const state::StartJob& m, v1::Command* c, Texts) {
  auto* p = c->mutable_start_job();
  put_start(m, p);
  SPUR_TO(OPT, array_task)
  for (const auto& other : m.others) put_start(other, p->add_others());
}
Status take(const v1::StartJob& p, state::StartJob* m, Texts) {
  SPUR_TRY(take_start(p, m));
  SPUR_FROM(OPT, array_task)
  for (const auto& other : p.others()) SPUR_TRY(take_start(other, &m->others.emplace_back()));
  return {};
}

void put(const state::SetReasons& m, v1::Command* c, Texts) {
  auto* p = c->mutable_set_reasons();
  SPUR_TO(MSGS, rows)
}
Status take(const v1::SetReasons& p, state::SetReasons* m, Texts) {
  SPUR_FROM(MSGS, rows)
  return {};
}

void put(const state::PreemptJobs& m, v1::Command* c, Texts) {
  auto* p = c->mutable_preempt_jobs();
  SPUR_TO(ID, beneficiary) SPUR_TO(MSGS, victims) if (m.allocation) to_proto(*m.allocation, p->mutable_allocation());
}
Status take(const v1::PreemptJobs& p, state::PreemptJobs* m, Texts) {
  SPUR_FROM(ID, beneficiary) SPUR_FROM(MSGS, victims) if (!p.has_allocation()) return {};  // apply refuses it
  auto allocation = std::make_shared<model::Allocation>();
  SPUR_TRY(from_proto(p.allocation(), allocation.get()));
  m->allocation = std::move(allocation);
  return {};
}

#define SPUR_CANCEL_FIELDS(F) F(MSG, target) F(ENUM, final_state) F(ENUM, reason) F(PLAIN, by_user) F(ID, by)
void put(const state::CancelJob& m, v1::Command* c, Texts) {
  auto* p = c->mutable_cancel_job();
  SPUR_CANCEL_FIELDS(SPUR_TO)
  if (m.exit) to_proto(*m.exit, p->mutable_exit());
}
Status take(const v1::CancelJob& p, state::CancelJob* m, Texts) {
  SPUR_CANCEL_FIELDS(SPUR_FROM)
  if (p.has_exit()) SPUR_TRY(from_proto(p.exit(), &m->exit.emplace()));
  return {};
}

void put(const state::UpdateJob& m, v1::Command* c, Texts texts) {
  auto* p = c->mutable_update_job();
  to_proto(m.target, p->mutable_target());
  if (m.spec) to_proto(*m.spec, p->mutable_spec(), texts.writer);
  if (m.time_limit) p->set_time_limit(m.time_limit->raw());
  SPUR_TO(OPT, priority) SPUR_TO(OPT, array_max_running) SPUR_TO(PLAIN, dependencies_changed)
}
Status take(const v1::UpdateJob& p, state::UpdateJob* m, Texts texts) {
  SPUR_TRY(from_proto(p.target(), &m->target));
  if (p.has_spec()) SPUR_TRY(take_spec(p.spec(), texts, &m->spec));
  if (p.has_time_limit()) m->time_limit = TimeLimit::from_raw(p.time_limit());
  SPUR_FROM(OPT, priority) SPUR_FROM(OPT, array_max_running) SPUR_FROM(PLAIN, dependencies_changed) return {};
}

void put(const state::UpdateNode& m, v1::Command* c, Texts) {
  to_proto(m, c->mutable_update_node());
}
Status take(const v1::NodeUpdate& p, state::UpdateNode* m, Texts) {
  return from_proto(p, m);
}

void put(const state::SetCrontab& m, v1::Command* c, Texts texts) {
  auto* p = c->mutable_set_crontab();
  to_proto(m.crontab, p->mutable_crontab());
  for (const auto& spec : m.specs) to_proto(*spec, p->add_specs(), texts.writer);
}
Status take(const v1::SetCrontab& p, state::SetCrontab* m, Texts texts) {
  SPUR_TRY(from_proto(p.crontab(), &m->crontab));
  for (const auto& spec : p.specs()) SPUR_TRY(take_spec(spec, texts, &m->specs.emplace_back()));
  return {};
}

void put(const state::ClearTriggers& m, v1::Command* c, Texts) {
  auto* p = c->mutable_clear_triggers();
  SPUR_TO(PLAIN, id) SPUR_TO(ID, job) SPUR_TO(ID, by) SPUR_TO(PLAIN, by_admin)
  if (m.user) p->set_user(m.user->value);
}
Status take(const v1::ClearTriggers& p, state::ClearTriggers* m, Texts) {
  SPUR_FROM(PLAIN, id) SPUR_FROM(ID, job) SPUR_FROM(ID, by) SPUR_FROM(PLAIN, by_admin)
  if (p.has_user()) m->user = Uid(p.user());
  return {};
}

// The others are plain lists of fields.
#define SPUR_PLAIN_COMMAND(Name, slot, FIELDS)                                              \
  void put([[maybe_unused]] const state::Name& m, v1::Command* c, Texts) {                  \
    [[maybe_unused]] auto* p = c->mutable_##slot();                                         \
    FIELDS(SPUR_TO)                                                                         \
  }                                                                                         \
  Status take([[maybe_unused]] const v1::Name& p, [[maybe_unused]] state::Name* m, Texts) { \
    FIELDS(SPUR_FROM) return {};                                                            \
  }

// clang-format off
#define SPUR_NODE_JOB_DONE_FIELDS(F) \
  F(ID, job) F(ID, epoch) F(PLAIN, node) F(MSG, exit) F(PLAIN, is_batch_host) F(PLAIN, out_of_memory) \
  F(PLAIN, launch_failed) F(PLAIN, error) F(PLAIN, prolog_failed) F(PLAIN, node_blameless) F(PLAIN, drain) F(MSG, usage) \
  F(MSG, batch_usage) F(MSGS, steps)
// clang-format on
#define SPUR_TARGET_FIELDS(F) F(MSG, target)
#define SPUR_HOLD_FIELDS(F) F(MSG, target) F(ENUM, hold)
#define SPUR_REQUEUE_FIELDS(F) F(MSG, target) F(ENUM, how)
#define SPUR_MARK_KILL_FIELDS(F) F(ID, job) F(ID, epoch)
// clang-format off
#define SPUR_REGISTER_FIELDS(F) \
  F(PLAIN, name) F(PLAIN, address) F(PLAIN, hostname) F(PLAIN, version) F(PLAIN, os) F(PLAIN, arch) \
  F(PLAIN, public_key) F(MSG, found) F(TIME, boot_time) F(TIME, agent_started) \
  F(MSGS, holding) F(PLAIN, extra) F(PLAIN, instance_id) F(PLAIN, instance_type)
// clang-format on
#define SPUR_CREATE_NODES_FIELDS(F) F(MSGS, nodes) F(PLAIN, by_agent)
#define SPUR_DELETE_NODES_FIELDS(F) F(TEXTS, nodes)
#define SPUR_CLAIM_NODE_FIELDS(F) F(PLAIN, hostname) F(PLAIN, feature) F(MSG, found)
#define SPUR_NODES_DUE_FIELDS(F) F(TEXTS, nodes) F(ENUM, what)
#define SPUR_NODE_LOST_FIELDS(F) F(PLAIN, node)
#define SPUR_RESPONDING_FIELDS(F) F(PLAIN, node) F(PLAIN, responding)
#define SPUR_PURGE_FIELDS(F) F(IDS, jobs)
#define SPUR_RESERVATION_COMMAND_FIELDS(F) F(MSG, reservation)
#define SPUR_NAME_FIELDS(F) F(PLAIN, name)
#define SPUR_NO_FIELDS(F)
#define SPUR_SET_QOS_FIELDS(F) F(MSGS, qos)
#define SPUR_SET_SHARES_FIELDS(F) F(MSGS, shares) F(PLAIN, all)
#define SPUR_SET_ACCOUNTS_FIELDS(F) F(MSG, update)
#define SPUR_DECAY_USAGE_FIELDS(F) F(PLAIN, reset)
#define SPUR_RESET_USAGE_FIELDS(F) F(PLAIN, association) F(PLAIN, qos)

#define SPUR_STEPS_ENDED_FIELDS(F) F(ID, job) F(ID, epoch) F(MSGS, steps)
#define SPUR_OUTBOX_ACKED_FIELDS(F) F(PLAIN, number)
#define SPUR_REMOVE_CRONTAB_FIELDS(F) F(ID, user)
#define SPUR_SCHEDULE_CRON_FIELDS(F) F(ID, job) F(TIME, begin)
#define SPUR_SET_TRIGGER_FIELDS(F) F(MSG, trigger)
#define SPUR_TRIGGER_SEEN_FIELDS(F) F(PLAIN, id) F(TIME, due) F(PLAIN, argument)
#define SPUR_TRIGGERS_RAN_FIELDS(F) F(NUMBERS, ids)

SPUR_PLAIN_COMMAND(NodeJobDone, node_job_done, SPUR_NODE_JOB_DONE_FIELDS)
SPUR_PLAIN_COMMAND(HoldJob, hold_job, SPUR_HOLD_FIELDS)
SPUR_PLAIN_COMMAND(ReleaseJob, release_job, SPUR_TARGET_FIELDS)
SPUR_PLAIN_COMMAND(RequeueJob, requeue_job, SPUR_REQUEUE_FIELDS)
SPUR_PLAIN_COMMAND(SuspendJob, suspend_job, SPUR_TARGET_FIELDS)
SPUR_PLAIN_COMMAND(ResumeJob, resume_job, SPUR_TARGET_FIELDS)
SPUR_PLAIN_COMMAND(MarkKillSent, mark_kill_sent, SPUR_MARK_KILL_FIELDS)
SPUR_PLAIN_COMMAND(RegisterNode, register_node, SPUR_REGISTER_FIELDS)
SPUR_PLAIN_COMMAND(NodeLost, node_lost, SPUR_NODE_LOST_FIELDS)
SPUR_PLAIN_COMMAND(NodeResponding, node_responding, SPUR_RESPONDING_FIELDS)
SPUR_PLAIN_COMMAND(PurgeJobs, purge_jobs, SPUR_PURGE_FIELDS)
SPUR_PLAIN_COMMAND(CreateReservation, create_reservation, SPUR_RESERVATION_COMMAND_FIELDS)
SPUR_PLAIN_COMMAND(UpdateReservation, update_reservation, SPUR_RESERVATION_COMMAND_FIELDS)
SPUR_PLAIN_COMMAND(DeleteReservation, delete_reservation, SPUR_NAME_FIELDS)
SPUR_PLAIN_COMMAND(ReservationsDue, reservations_due, SPUR_NO_FIELDS)
SPUR_PLAIN_COMMAND(SetQos, set_qos, SPUR_SET_QOS_FIELDS)
SPUR_PLAIN_COMMAND(SetFairShares, set_fair_shares, SPUR_SET_SHARES_FIELDS)
SPUR_PLAIN_COMMAND(SetAccounts, set_accounts, SPUR_SET_ACCOUNTS_FIELDS)
SPUR_PLAIN_COMMAND(DecayUsage, decay_usage, SPUR_DECAY_USAGE_FIELDS)
SPUR_PLAIN_COMMAND(ResetUsage, reset_usage, SPUR_RESET_USAGE_FIELDS)
SPUR_PLAIN_COMMAND(PreemptionDue, preemption_due, SPUR_MARK_KILL_FIELDS)
SPUR_PLAIN_COMMAND(StepsEnded, steps_ended, SPUR_STEPS_ENDED_FIELDS)
SPUR_PLAIN_COMMAND(OutboxAcked, outbox_acked, SPUR_OUTBOX_ACKED_FIELDS)
SPUR_PLAIN_COMMAND(RemoveCrontab, remove_crontab, SPUR_REMOVE_CRONTAB_FIELDS)
SPUR_PLAIN_COMMAND(ScheduleCron, schedule_cron, SPUR_SCHEDULE_CRON_FIELDS)
SPUR_PLAIN_COMMAND(SetTrigger, set_trigger, SPUR_SET_TRIGGER_FIELDS)
SPUR_PLAIN_COMMAND(TriggerSeen, trigger_seen, SPUR_TRIGGER_SEEN_FIELDS)
SPUR_PLAIN_COMMAND(TriggersRan, triggers_ran, SPUR_TRIGGERS_RAN_FIELDS)
static_assert(static_cast<int>(last_of(model::NodeDue{})) == static_cast<int>(v1::NodesDue::What_MAX));
SPUR_PLAIN_COMMAND(NodesDue, nodes_due, SPUR_NODES_DUE_FIELDS)
SPUR_PLAIN_COMMAND(CreateNodes, create_nodes, SPUR_CREATE_NODES_FIELDS)
SPUR_PLAIN_COMMAND(DeleteNodes, delete_nodes, SPUR_DELETE_NODES_FIELDS)
SPUR_PLAIN_COMMAND(ClaimFutureNode, claim_future_node, SPUR_CLAIM_NODE_FIELDS)

Status take_command(const v1::Command& p, state::Command* m, Texts texts) {
#define SPUR_CASE(Kind, slot, Name) \
  case v1::Command::Kind:           \
    return take(p.slot(), &m->emplace<state::Name>(), texts);
  switch (p.kind_case()) {
    SPUR_CASE(kSetConfig, set_config, SetConfig)
    SPUR_CASE(kSubmitJob, submit_job, SubmitJob)
    SPUR_CASE(kStartJob, start_job, StartJob)
    SPUR_CASE(kSetReasons, set_reasons, SetReasons)
    SPUR_CASE(kCancelJob, cancel_job, CancelJob)
    SPUR_CASE(kNodeJobDone, node_job_done, NodeJobDone)
    SPUR_CASE(kHoldJob, hold_job, HoldJob)
    SPUR_CASE(kReleaseJob, release_job, ReleaseJob)
    SPUR_CASE(kRequeueJob, requeue_job, RequeueJob)
    SPUR_CASE(kSuspendJob, suspend_job, SuspendJob)
    SPUR_CASE(kResumeJob, resume_job, ResumeJob)
    SPUR_CASE(kUpdateJob, update_job, UpdateJob)
    SPUR_CASE(kMarkKillSent, mark_kill_sent, MarkKillSent)
    SPUR_CASE(kRegisterNode, register_node, RegisterNode)
    SPUR_CASE(kNodeLost, node_lost, NodeLost)
    SPUR_CASE(kNodeResponding, node_responding, NodeResponding)
    SPUR_CASE(kUpdateNode, update_node, UpdateNode)
    SPUR_CASE(kPurgeJobs, purge_jobs, PurgeJobs)
    SPUR_CASE(kCreateReservation, create_reservation, CreateReservation)
    SPUR_CASE(kUpdateReservation, update_reservation, UpdateReservation)
    SPUR_CASE(kDeleteReservation, delete_reservation, DeleteReservation)
    SPUR_CASE(kReservationsDue, reservations_due, ReservationsDue)
    SPUR_CASE(kSetQos, set_qos, SetQos)
    SPUR_CASE(kSetFairShares, set_fair_shares, SetFairShares)
    SPUR_CASE(kSetAccounts, set_accounts, SetAccounts)
    SPUR_CASE(kDecayUsage, decay_usage, DecayUsage)
    SPUR_CASE(kResetUsage, reset_usage, ResetUsage)
    SPUR_CASE(kPreemptJobs, preempt_jobs, PreemptJobs)
    SPUR_CASE(kPreemptionDue, preemption_due, PreemptionDue)
    SPUR_CASE(kStepsEnded, steps_ended, StepsEnded)
    SPUR_CASE(kOutboxAcked, outbox_acked, OutboxAcked)
    SPUR_CASE(kSetCrontab, set_crontab, SetCrontab)
    SPUR_CASE(kRemoveCrontab, remove_crontab, RemoveCrontab)
    SPUR_CASE(kScheduleCron, schedule_cron, ScheduleCron)
    SPUR_CASE(kSetTrigger, set_trigger, SetTrigger)
    SPUR_CASE(kClearTriggers, clear_triggers, ClearTriggers)
    SPUR_CASE(kTriggerSeen, trigger_seen, TriggerSeen)
    SPUR_CASE(kTriggersRan, triggers_ran, TriggersRan)
    SPUR_CASE(kNodesDue, nodes_due, NodesDue)
    SPUR_CASE(kCreateNodes, create_nodes, CreateNodes)
    SPUR_CASE(kDeleteNodes, delete_nodes, DeleteNodes)
    SPUR_CASE(kClaimFutureNode, claim_future_node, ClaimFutureNode)
    case v1::Command::KIND_NOT_SET:
      break;
  }
#undef SPUR_CASE
  return fail(ErrorCode::Corrupt, "A journal entry holds a command of an unknown kind");
}

}  // namespace

std::string encode_batch(const state::Batch& batch) {
  google::protobuf::Arena arena;
  auto* proto = google::protobuf::Arena::CreateMessage<v1::Batch>(&arena);
  BlobWriter blobs([proto](const std::string& text) { proto->add_blobs(text); });
  proto->set_at_us(to_micros(batch.at));
  proto->mutable_commands()->Reserve(static_cast<int>(batch.commands.size()));
  for (const auto& command : batch.commands)
    std::visit([&](const auto& c) { put(c, proto->add_commands(), Texts{.writer = &blobs}); }, command);
  for (std::size_t i = 0; i < std::min(batch.by.size(), batch.commands.size()); ++i)
    if (batch.by[i]) proto->mutable_commands(static_cast<int>(i))->set_by(batch.by[i]->value);
  if (is_set(batch.shown_before)) proto->set_shown_before_us(to_micros(batch.shown_before));
  std::string bytes(kEnvelopeBytes, '\0');
  SPUR_CHECK(proto->AppendToString(&bytes));
  seal_in_place(kBatchKind, kBatchFormat, &bytes);
  return bytes;
}

Result<state::Batch> decode_batch(std::string_view bytes) {
  SPUR_ASSIGN(const auto content, unseal(kBatchKind, kBatchFormat, bytes));
  google::protobuf::Arena arena;
  auto* proto = google::protobuf::Arena::CreateMessage<v1::Batch>(&arena);
  if (content.size() > std::numeric_limits<int>::max() ||
      !proto->ParseFromArray(content.data(), static_cast<int>(content.size())))
    return fail(ErrorCode::Corrupt, "A journal entry cannot be read");
  BlobList blobs;
  blobs.reserve(static_cast<std::size_t>(proto->blobs_size()));
  for (auto& text : *proto->mutable_blobs()) blobs.push_back(std::make_shared<const std::string>(std::move(text)));
  state::Batch batch;
  batch.at = from_micros(proto->at_us());
  batch.commands.reserve(static_cast<std::size_t>(proto->commands_size()));
  batch.shown_before = from_micros(proto->shown_before_us());
  for (const auto& command : proto->commands()) {
    SPUR_TRY(take_command(command, &batch.commands.emplace_back(), Texts{.list = &blobs}));
    if (!command.has_by()) continue;
    batch.by.resize(batch.commands.size());
    batch.by.back() = Uid(command.by());
  }
  return batch;
}

}  // namespace spur::wire
