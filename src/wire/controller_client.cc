// SPDX-License-Identifier: Apache-2.0
#include "wire/controller_client.h"

#include <fmt/format.h>
#include <google/protobuf/arena.h>

#include <algorithm>
#include <utility>

#include "spur/v1/controller.pb.h"
#include "wire/accounts_codec.h"
#include "wire/config_codec.h"
#include "wire/crontab_codec.h"
#include "wire/controller_channel.h"
#include "wire/error_map.h"
#include "wire/fields.h"
#include "wire/id_codec.h"
#include "wire/job_codec.h"
#include "wire/job_list_codec.h"
#include "wire/node_codec.h"
#include "wire/reservation_codec.h"
#include "wire/spec_codec.h"
#include "wire/trigger_codec.h"

namespace spur::wire {

ControllerClient::ControllerClient(ClientOptions options) : channel_(std::make_unique<Channel>(std::move(options))) {}
ControllerClient::~ControllerClient() = default;

std::size_t ControllerClient::controller_count() const {
  return channel_->options.controllers.size();
}

Result<JobId> ControllerClient::submit(const model::JobSpec& spec, const std::string& token) {
  return submit(std::vector{spec}, token);
}

Result<JobId> ControllerClient::submit(const std::vector<model::JobSpec>& components, const std::string& token) {
  v1::SubmitJobRequest request;
  to_proto(components.front(), request.mutable_spec());
  for (std::size_t i = 1; i < components.size(); ++i) to_proto(components[i], request.add_more());
  request.set_token(token);
  v1::SubmitJobReply reply;
  SPUR_TRY(channel_->ask("SubmitJob", request, &reply));
  if (reply.job() == 0) return fail(ErrorCode::Internal, "The controller gave no job id");
  return JobId(reply.job());
}

Result<Forecast> ControllerClient::will_run(const std::vector<model::JobSpec>& components) {
  v1::WillRunRequest request;
  to_proto(components.front(), request.mutable_spec());
  for (std::size_t i = 1; i < components.size(); ++i) to_proto(components[i], request.add_more());
  v1::WillRunReply reply;
  SPUR_TRY(channel_->ask("WillRun", request, &reply));
  return Forecast{JobId(reply.job()), from_micros(reply.start_us()), reply.cpus(), reply.nodes(), reply.partition()};
}

static bool take_certainty(v1::ExplainJobReply::Certainty from, JobExplanation::Certainty* to) {
  if (from < 0 || from > v1::ExplainJobReply::CERTAINTY_PROMISED) return false;
  *to = static_cast<JobExplanation::Certainty>(from);
  return true;
}

Result<JobExplanation> ControllerClient::explain(JobId job, std::optional<std::uint32_t> array_task) {
  v1::ExplainJobRequest request;
  request.set_job(job.value);
  if (array_task) request.set_array_task(*array_task);
  v1::ExplainJobReply reply;
  SPUR_TRY(channel_->ask("ExplainJob", request, &reply));
  JobExplanation out;
  out.job = JobId(reply.job());
  if (!take_enum(reply.reason(), &out.reason)) return bad_field("reason");
  out.start = from_micros(reply.start_us());
  if (!take_certainty(reply.certainty(), &out.certainty)) return bad_field("certainty");
  out.as_of = from_micros(reply.as_of_us());
  out.starts_now = reply.starts_now();
  out.impossible = reply.impossible();
  for (const auto& from : reply.blockers()) {
    auto& to = out.blockers.emplace_back();
    if (from.kind() < 0 || from.kind() > v1::ExplainJobReply::Blocker::KIND_RESERVATION) return bad_field("kind");
    to.kind = static_cast<JobExplanation::Blocker::Kind>(from.kind());
    for (const auto id : from.jobs()) to.jobs.emplace_back(id);
    to.node = from.node();
    to.partition = from.partition();
    to.ends = from_micros(from.ends_us());
  }
  for (const auto& from : reply.changes()) {
    auto& to = out.changes.emplace_back();
    to = {from.option(), from.now(), from.instead(), from_micros(from.start_us()), {}};
    if (!take_certainty(from.certainty(), &to.certainty)) return bad_field("certainty");
  }
  return out;
}

Status ControllerClient::list_jobs(const JobFilter& filter, JobTable* table, const OnJobs& on_chunk) {
  v1::ListJobsRequest request;
  to_proto(filter, &request);
  request.set_at_us(to_micros(then_));
  JobListDecoder decoder(filter.fields);
  return channel_->stream("ListJobs", request, channel_->options.timeout, [&](std::string_view bytes) -> Status {
    SPUR_TRY(decoder.take_chunk(bytes, table));
    return on_chunk ? on_chunk(*table) : Status{};
  });
}

Result<JobTable> ControllerClient::jobs(const JobFilter& filter) {
  JobTable table;
  SPUR_TRY(list_jobs(filter, &table, nullptr));
  return table;
}

Status ControllerClient::jobs_in_pieces(const JobFilter& filter, const OnJobs& on_jobs) {
  JobTable piece;
  return list_jobs(filter, &piece, [&](const JobTable&) -> Status {
    SPUR_TRY(on_jobs(piece));
    piece.jobs.clear();
    piece.expected_starts.clear();
    piece.preemptable.clear();
    piece.planned_nodes.clear();
    return {};
  });
}

Result<JobEventTable> ControllerClient::job_events(const state::JobTarget& target) {
  v1::JobEventsRequest request;
  to_proto(target, request.mutable_target());
  v1::JobEventsReply reply;
  SPUR_TRY(channel_->ask("JobEvents", request, &reply));
  JobEventTable table{.events = {}, .more = reply.more(), .since = from_micros(reply.since_us())};
  for (const auto& event : reply.events()) {
    JobEvent& out = table.events.emplace_back();
    out = {.job = JobId(event.job()),
           .shown = event.shown(),
           .entry = event.entry(),
           .at = from_micros(event.at_us()),
           .by = {},
           .source = event.source(),
           .what = event.what(),
           .details = event.details()};
    if (event.has_by()) out.by = Uid(event.by());
  }
  return table;
}

Result<ClusterTable> ControllerClient::cluster() {
  google::protobuf::Arena arena;
  auto* reply = google::protobuf::Arena::CreateMessage<v1::GetClusterReply>(&arena);
  v1::GetClusterRequest request;
  request.set_at_us(to_micros(then_));
  request.set_future(future_);
  SPUR_TRY(channel_->ask("GetCluster", request, reply));
  ClusterTable table;
  table.as_of = from_micros(reply->as_of_us());
  table.cluster_name = reply->cluster_name();
  table.nodes_denied = reply->nodes_denied();
  table.partitions_denied = reply->partitions_denied();
  table.nodes.reserve(static_cast<std::size_t>(reply->nodes_size()));
  for (const auto& proto : reply->nodes()) {
    auto node = std::make_shared<model::Node>();
    SPUR_TRY(from_proto(proto, node.get()));
    table.nodes.push_back(std::move(node));
  }
  for (const auto& proto : reply->partitions()) SPUR_TRY(from_proto(proto, &table.partitions.emplace_back()));
  if (reply->load_hundredths_size() == reply->nodes_size() && reply->free_memory_mib_size() == reply->nodes_size())
    for (int i = 0; i < reply->nodes_size(); ++i)
      table.loads.push_back({reply->load_hundredths(i), reply->free_memory_mib(i)});
  return table;
}

Result<model::ClusterConfig> ControllerClient::config() {
  v1::GetConfigReply reply;
  SPUR_TRY(channel_->ask("GetConfig", v1::GetConfigRequest{}, &reply));
  model::ClusterConfig config;
  SPUR_TRY(from_proto(reply.config(), &config));
  return config;
}

namespace {

ControllerStatistics::Cycles cycles(const v1::GetStatisticsReply::Cycles& p) {
  return {.count = p.count(),
          .last_us = p.last_us(),
          .max_us = p.max_us(),
          .sum_us = p.sum_us(),
          .depth_last = p.depth_last(),
          .depth_sum = p.depth_sum(),
          .tried_last = p.tried_last(),
          .tried_sum = p.tried_sum(),
          .queue_last = p.queue_last(),
          .queue_sum = p.queue_sum(),
          .starts = p.starts(),
          .starts_ever = p.starts_ever(),
          .het_starts_ever = p.het_starts_ever(),
          .starts_last = p.starts_last(),
          .last_at = from_micros(p.last_at_us())};
}

}  // namespace

Result<ControllerStatistics> ControllerClient::statistics(bool reset) {
  v1::GetStatisticsRequest request;
  request.set_reset(reset);
  v1::GetStatisticsReply reply;
  SPUR_TRY(channel_->ask("GetStatistics", request, &reply));
  ControllerStatistics out{.as_of = from_micros(reply.as_of_us()),
                           .since = from_micros(reply.since_us()),
                           .submitted = reply.submitted(),
                           .started = reply.started(),
                           .completed = reply.completed(),
                           .cancelled = reply.cancelled(),
                           .failed = reply.failed(),
                           .pending = reply.pending(),
                           .running = reply.running(),
                           .quick = cycles(reply.quick()),
                           .full = cycles(reply.full()),
                           .by_method = {},
                           .by_user = {},
                           .cluster_name = reply.cluster_name(),
                           .clock_us = reply.clock_us(),
                           .accounting_backlog = reply.accounting_backlog()};
  for (const auto& row : reply.by_method())
    out.by_method.push_back({row.method(), Uid{row.uid()}, row.count(), row.total_us()});
  for (const auto& row : reply.by_user()) out.by_user.push_back({{}, Uid{row.uid()}, row.count(), row.total_us()});
  return out;
}

// Anybody may ask this, so it works without a credential, and shows a controller that runs where the auth socket does
// not.
Result<PingReply> ControllerClient::ping(std::size_t controller_number) {
  if (controller_number >= controller_count())
    return fail(ErrorCode::InvalidArgument, fmt::format("There is no controller number {}", controller_number));
  CallOptions call;
  call.timeout = std::min(channel_->options.timeout, kPingTimeout);
  SPUR_ASSIGN(const auto bytes, channel_->lean.call_peer(controller_number, path_of("Ping"), "", call));
  v1::PingReply reply;
  SPUR_TRY(Channel::parse(bytes, &reply));
  return PingReply{reply.host(), reply.version(), reply.cluster_name(), reply.is_leader(),
                   from_micros(reply.started_us()), reply.entry(), Duration(reply.silence_us())};
}

// Anybody may ask this, too.
Result<ControllerMembers> ControllerClient::controllers() {
  v1::ListControllersReply reply;
  SPUR_TRY(channel_->ask("ListControllers", v1::ListControllersRequest{}, &reply));
  ControllerMembers out{reply.cluster_name(), reply.cluster_id(), {}};
  for (const auto& member : reply.members())
    out.members.push_back({member.name(), member.address(), member.peer(), member.started(), member.learner()});
  return out;
}

Status ControllerClient::add_controller(const std::string& name, const std::string& address) {
  v1::AddControllerRequest request;
  request.set_name(name);
  request.set_address(address);
  return channel_->order("AddController", request);
}

Status ControllerClient::remove_controller(const std::string& name) {
  v1::RemoveControllerRequest request;
  request.set_name(name);
  return channel_->order("RemoveController", request);
}

Status ControllerClient::cancel(const state::JobTarget& target, int signal, bool batch_only, bool full,
                                bool cron) {
  v1::CancelJobRequest request;
  to_proto(target, request.mutable_target());
  request.set_signal(signal);
  request.set_batch_only(batch_only);
  request.set_full(full);
  request.set_cron(cron);
  return channel_->order("CancelJob", request);
}

Result<std::vector<Status>> ControllerClient::cancel_all(const std::vector<state::JobTarget>& targets, int signal,
                                                         bool batch_only, bool full, bool cron) {
  v1::CancelJobsRequest request;
  for (const state::JobTarget& target : targets) to_proto(target, request.add_targets());
  request.set_signal(signal);
  request.set_batch_only(batch_only);
  request.set_full(full);
  request.set_cron(cron);
  v1::CancelJobsReply reply;
  SPUR_TRY(channel_->ask("CancelJobs", request, &reply));
  std::vector<Status> out(targets.size());
  for (const auto& refusal : reply.refusals()) {
    const auto code = parse_error_number(std::to_string(refusal.code()));
    if (refusal.target() < out.size())
      out[refusal.target()] = fail(code.value_or(ErrorCode::Internal), refusal.message());
  }
  return out;
}

Status ControllerClient::hold(const state::JobTarget& target, model::Hold hold) {
  v1::HoldJobRequest request;
  to_proto(target, request.mutable_target());
  request.set_hold(static_cast<v1::Hold>(hold));
  return channel_->order("HoldJob", request);
}

Status ControllerClient::release(const state::JobTarget& target) {
  v1::ReleaseJobRequest request;
  to_proto(target, request.mutable_target());
  return channel_->order("ReleaseJob", request);
}

Status ControllerClient::requeue(const state::JobTarget& target, model::AfterCompleting how) {
  v1::RequeueJobRequest request;
  to_proto(target, request.mutable_target());
  request.set_how(static_cast<v1::AfterCompleting>(how));
  return channel_->order("RequeueJob", request);
}

Status ControllerClient::suspend(const state::JobTarget& target, bool resume) {
  v1::SuspendJobRequest request;
  to_proto(target, request.mutable_target());
  request.set_resume(resume);
  return channel_->order("SuspendJob", request);
}

Status ControllerClient::update_job(const state::JobTarget& target, const model::JobSpec& spec,
                                    const std::vector<std::string>& changed) {
  model::JobSpec probe;  // a name that the controller would refuse is found here
  SPUR_TRY(merge_spec(spec, changed, &probe));
  v1::UpdateJobRequest request;
  to_proto(target, request.mutable_target());
  to_proto(spec, request.mutable_spec());
  for (const auto& name : changed) request.add_changed(name);
  return channel_->order("UpdateJob", request);
}

Status ControllerClient::create_nodes(const std::vector<model::NodeConfig>& nodes) {
  v1::CreateNodesRequest request;
  for (const auto& node : nodes) to_proto(node, request.add_nodes());
  return channel_->order("CreateNodes", request);
}

Status ControllerClient::delete_nodes(const std::vector<std::string>& nodes) {
  v1::DeleteNodesRequest request;
  for (const auto& node : nodes) request.add_nodes(node);
  return channel_->order("DeleteNodes", request);
}

Status ControllerClient::update_node(const state::UpdateNode& update) {
  v1::UpdateNodeRequest request;
  to_proto(update, request.mutable_update());
  return channel_->order("UpdateNode", request);
}

Result<ReservationTable> ControllerClient::reservations() {
  v1::GetReservationsRequest request;
  request.set_at_us(to_micros(then_));
  v1::GetReservationsReply reply;
  SPUR_TRY(channel_->ask("GetReservations", request, &reply));
  ReservationTable table;
  table.as_of = from_micros(reply.as_of_us());
  for (const auto& proto : reply.reservations()) {
    ReservationRow& row = table.rows.emplace_back();
    SPUR_TRY(from_proto(proto.reservation(), &row.reservation));
    row.nodes = proto.nodes();
    row.node_count = proto.node_count();
    row.core_count = proto.core_count();
    row.cpu_count = proto.cpu_count();
    for (int i = 0; i < std::min(proto.partial_nodes_size(), proto.partial_cores_size()); ++i)
      row.partial.emplace_back(proto.partial_nodes(i), proto.partial_cores(i));
  }
  return table;
}

Result<std::string> ControllerClient::create_reservation(const model::ReservationChange& change) {
  v1::CreateReservationRequest request;
  to_proto(change, request.mutable_change());
  v1::CreateReservationReply reply;
  SPUR_TRY(channel_->ask("CreateReservation", request, &reply));
  return reply.name();
}

Status ControllerClient::update_reservation(const model::ReservationChange& change) {
  v1::UpdateReservationRequest request;
  to_proto(change, request.mutable_change());
  return channel_->order("UpdateReservation", request);
}

Status ControllerClient::delete_reservation(const std::string& name) {
  v1::DeleteReservationRequest request;
  request.set_name(name);
  return channel_->order("DeleteReservation", request);
}

Result<std::string> ControllerClient::token(const std::string& user, seconds lifespan) {
  v1::GetTokenRequest request;
  request.set_user(user);
  request.set_lifespan_seconds(lifespan.count());
  v1::GetTokenReply reply;
  SPUR_TRY(channel_->ask("GetToken", request, &reply));
  return reply.token();
}

Status ControllerClient::notify_job(JobId job, const std::string& text) {
  v1::NotifyJobRequest request;
  request.set_job(job.value);
  request.set_text(text);
  v1::Done done;
  return channel_->ask("NotifyJob", request, &done);
}

Result<PriorityTable> ControllerClient::priorities() {
  v1::GetPrioritiesReply reply;
  SPUR_TRY(channel_->ask("GetPriorities", v1::GetPrioritiesRequest{}, &reply));
  PriorityTable table{.cluster_name = reply.cluster_name(),
                      .multifactor = reply.multifactor(),
                      .age_weight = reply.age_weight(),
                      .assoc_weight = reply.assoc_weight(),
                      .fairshare_weight = reply.fairshare_weight(),
                      .job_size_weight = reply.job_size_weight(),
                      .partition_weight = reply.partition_weight(),
                      .qos_weight = reply.qos_weight(),
                      .tres = {},
                      .rows = {}};
  for (const auto& weight : reply.tres_weights()) table.tres.push_back({weight.tres(), weight.thousandths()});
  table.rows.reserve(static_cast<std::size_t>(reply.rows_size()));
  for (const auto& row : reply.rows()) {
    if (row.tres_size() != 0 && row.tres_size() != reply.tres_weights_size())
      return fail(ErrorCode::Corrupt, "The controller's list of priorities does not fit together");
    table.rows.push_back({.job = JobId{row.job()},
                          .user = Uid{row.user()},
                          .partition = row.partition(),
                          .account = row.account(),
                          .qos = row.qos(),
                          .priority = row.priority(),
                          .nice = row.nice(),
                          .site = row.site(),
                          .age = row.age(),
                          .assoc = row.assoc(),
                          .fairshare = row.fairshare(),
                          .job_size = row.job_size(),
                          .partition_factor = row.partition_factor(),
                          .qos_factor = row.qos_factor(),
                          .tres = {row.tres().begin(), row.tres().end()}});
  }
  return table;
}

Status ControllerClient::edit_partition(PartitionEdit how, const model::PartitionConfig& partition,
                                        const std::vector<std::string>& changed) {
  v1::UpdatePartitionRequest request;
  to_proto(partition, request.mutable_partition());
  for (const auto& name : changed) request.add_changed(name);
  request.set_create(how == PartitionEdit::Create);
  request.set_remove(how == PartitionEdit::Remove);
  return channel_->order("UpdatePartition", request);
}

Status ControllerClient::reconfigure() {
  return channel_->order("Reconfigure", v1::ReconfigureRequest{});
}

Status ControllerClient::shutdown(bool agents) {
  v1::ShutdownRequest request;
  request.set_agents(agents);
  return channel_->order("Shutdown", request);
}

Status ControllerClient::abort() {
  v1::ShutdownRequest request;
  request.set_core(true);
  return channel_->order("Shutdown", request);
}

Status ControllerClient::takeover(const std::string& successor) {
  v1::TakeoverRequest request;
  request.set_successor(successor);
  return channel_->order("Takeover", request);
}

Status ControllerClient::set_debug(const std::string& level, const std::string& nodes) {
  v1::SetDebugRequest request;
  request.set_level(level);
  request.set_nodes(nodes);
  return channel_->order("SetDebug", request);
}

Status ControllerClient::set_debug_flags(const std::string& on, const std::string& off, const std::string& nodes) {
  v1::SetDebugRequest request;
  request.set_flags_on(on);
  request.set_flags_off(off);
  request.set_nodes(nodes);
  return channel_->order("SetDebug", request);
}

Status ControllerClient::log_scheduling(bool on) {
  v1::SetDebugRequest request;
  request.set_scheduler_log(on);
  return channel_->order("SetDebug", request);
}

Status ControllerClient::reset_usage(const std::vector<std::uint32_t>& associations, const std::vector<std::string>& qos) {
  v1::ResetUsageRequest request;
  for (const std::uint32_t id : associations) request.add_associations(id);
  for (const std::string& name : qos) request.add_qos(name);
  return channel_->order("ResetUsage", request);
}

Status ControllerClient::top_jobs(const std::vector<JobId>& jobs) {
  v1::TopJobsRequest request;
  for (const JobId job : jobs) request.add_jobs(job.value);
  return channel_->order("TopJobs", request);
}

Result<CrontabOutcome> ControllerClient::set_crontab(const model::Crontab& crontab,
                                                     const std::vector<model::JobSpec>& specs) {
  v1::SetCrontabRequest request;
  to_proto(crontab, request.mutable_crontab());
  for (const model::JobSpec& spec : specs) to_proto(spec, request.add_specs());
  v1::SetCrontabReply reply;
  SPUR_TRY(channel_->ask("SetCrontab", request, &reply));
  CrontabOutcome outcome{{}, reply.error(), reply.first_line(), reply.last_line()};
  for (const auto job : reply.jobs()) outcome.jobs.emplace_back(job);
  return outcome;
}

Result<std::optional<model::Crontab>> ControllerClient::crontab(Uid user) {
  v1::GetCrontabRequest request;
  request.set_user(user.value);
  v1::GetCrontabReply reply;
  SPUR_TRY(channel_->ask("GetCrontab", request, &reply));
  if (!reply.has_crontab()) return std::nullopt;
  model::Crontab crontab;
  SPUR_TRY(from_proto(reply.crontab(), &crontab));
  return crontab;
}

Status ControllerClient::remove_crontab(Uid user) {
  v1::RemoveCrontabRequest request;
  request.set_user(user.value);
  return channel_->order("RemoveCrontab", request);
}

Result<std::vector<model::CronEntry>> ControllerClient::cron_jobs() {
  v1::CronJobsReply reply;
  SPUR_TRY(channel_->ask("CronJobs", v1::CronJobsRequest{}, &reply));
  std::vector<model::CronEntry> entries;
  for (const auto& entry : reply.entries()) SPUR_TRY(from_proto(entry, &entries.emplace_back()));
  return entries;
}

Status ControllerClient::set_trigger(const model::Trigger& trigger) {
  v1::SetTriggerRequest request;
  to_proto(trigger, request.mutable_trigger());
  return channel_->order("SetTrigger", request);
}

Status ControllerClient::clear_triggers(const TriggerFilter& which) {
  v1::ClearTriggersRequest request;
  request.set_id(which.id);
  request.set_job(which.job.value);
  if (which.user) request.set_user(which.user->value);
  return channel_->order("ClearTriggers", request);
}

Result<std::vector<model::Trigger>> ControllerClient::triggers() {
  v1::GetTriggersReply reply;
  SPUR_TRY(channel_->ask("GetTriggers", v1::GetTriggersRequest{}, &reply));
  std::vector<model::Trigger> triggers;
  for (const auto& trigger : reply.triggers()) SPUR_TRY(from_proto(trigger, &triggers.emplace_back()));
  return triggers;
}

Status ControllerClient::complete_allocation(JobId job, model::ExitStatus exit) {
  v1::CompleteAllocationRequest request;
  request.set_job(job.value);
  to_proto(exit, request.mutable_exit());
  return channel_->order("CompleteAllocation", request);
}

namespace {

constexpr Duration kLocalTicketTimeout = seconds(5);

Result<ControllerClient::StepTicket> ticket_of(const v1::StepTicketReply& reply) {
  ControllerClient::StepTicket ticket;
  ticket.ticket = reply.ticket();
  ticket.nodes.assign(reply.nodes().begin(), reply.nodes().end());
  ticket.addresses.assign(reply.addresses().begin(), reply.addresses().end());
  ticket.tasks_per_node.assign(reply.tasks_per_node().begin(), reply.tasks_per_node().end());
  if (ticket.nodes.empty() || ticket.addresses.size() != ticket.nodes.size() ||
      ticket.tasks_per_node.size() != ticket.nodes.size())
    return fail(ErrorCode::Corrupt, "The controller's step ticket does not fit together");
  return ticket;
}

// An error of any kind: the controller knows better.
Result<ControllerClient::StepTicket> local_ticket(const std::string& socket, const v1::StepTicketRequest& request) {
  LocalChannel channel(socket, true);
  v1::StepTicketReply reply;
  const auto outcome = channel.call("StepTicket", request.SerializeAsString(), kLocalTicketTimeout,
                                    [&](std::string_view bytes) -> Status {
                                      if (reply.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
                                        return {};
                                      return fail(ErrorCode::Corrupt, "garbled ticket");
                                    });
  SPUR_TRY(outcome.status);
  return ticket_of(reply);
}

}  // namespace

Result<ControllerClient::StepTicket> ControllerClient::step_ticket(JobId job) {
  v1::StepTicketRequest request;
  request.set_job(job.value);
  if (!channel_->options.ticket_socket.empty())
    if (auto ticket = local_ticket(channel_->options.ticket_socket, request)) return ticket;
  v1::StepTicketReply reply;
  SPUR_TRY(channel_->ask("StepTicket", request, &reply));
  return ticket_of(reply);
}

}  // namespace spur::wire
