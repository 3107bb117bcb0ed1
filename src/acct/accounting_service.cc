// SPDX-License-Identifier: Apache-2.0
#include "acct/accounting_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "acct/job_edit.h"
#include "acct/usage_report.h"
#include "text/private_data.h"
#include "wire/accounting_query.h"
#include "wire/error_map.h"

namespace spur::acct {
namespace {

constexpr std::size_t kRowsPerMessage = 500;

Error denied() {
  return {ErrorCode::PermissionDenied, "Access/permission denied"};
}

// Rows that matched, sent in messages of some hundred, each with its steps.
class RowSender {
 public:
  RowSender(io::AccountingStore& store, const v1::AcctJobQuery& query, const model::Caller& caller,
            std::string cluster, grpc::ServerWriter<v1::AcctJobRows>* writer)
      : store_(store), query_(query), caller_(caller), cluster_(std::move(cluster)), writer_(writer) {}

  // Without duplicates only the last run of a job counts: rows come by id and time.
  bool take(const io::AcctJobRow& row, v1::AcctJob job) {
    if (!keys_.empty() && !query_.duplicates() && keys_.back().job == row.job) {
      keys_.pop_back();
      message_.mutable_rows()->RemoveLast();
    } else if (keys_.size() >= kRowsPerMessage && !flush()) {
      return false;
    }
    auto* out = message_.add_rows();
    out->set_cluster(cluster_);
    hide(job);
    *out->mutable_job() = std::move(job);
    io::AcctJobRow key = row;
    key.record.clear();
    keys_.push_back(std::move(key));
    return true;
  }

  bool flush() {
    if (keys_.empty()) return true;
    if (query_.with_steps()) status_ = add_steps();
    if (!status_ || !writer_->Write(message_)) return false;
    message_.Clear();
    keys_.clear();
    return true;
  }
  const Status& status() const { return status_; }

 private:
  // Scripts and environments are their owner's; and only for those who ask.
  void hide(v1::AcctJob& job) const {
    const bool own = caller_.is_admin() || caller_.uid.value == job.uid();
    if (!query_.with_script() || !own) job.clear_script();
    if (!query_.with_environment() || !own) job.clear_environment();
  }

  Status add_steps() {
    int at = 0;
    return store_.steps(cluster_, keys_, [&](const io::AcctStepRow& step) {
      const auto same = [&](const io::AcctJobRow& key) {
        return key.job == step.job && key.submitted == step.submitted && key.epoch == step.epoch;
      };
      while (at < message_.rows_size() && !same(keys_[static_cast<std::size_t>(at)])) ++at;
      if (at == message_.rows_size()) return false;
      (void)message_.mutable_rows(at)->add_steps()->ParseFromString(step.record);
      return true;
    });
  }

  io::AccountingStore& store_;
  const v1::AcctJobQuery& query_;
  const model::Caller& caller_;
  const std::string cluster_;
  grpc::ServerWriter<v1::AcctJobRows>* writer_;
  v1::AcctJobRows message_;
  std::vector<io::AcctJobRow> keys_;  // beside the message's rows
  Status status_;
};

}  // namespace

Result<model::Caller> admit(const Identify& identify, const grpc::ServerContext& context, std::string_view method) {
  const auto& metadata = context.client_metadata();
  const auto it = metadata.find(std::string(wire::kCredentialMetadata));
  const std::string_view credential =
      it == metadata.end() ? std::string_view{} : std::string_view(it->second.data(), it->second.size());
  SPUR_ASSIGN(auto caller, identify.user(credential));
  SPUR_TRY(authorize(method, caller));
  return caller;
}

grpc::Status rpc_status(grpc::ServerContext* context, const Error& error) {
  context->AddTrailingMetadata(std::string(wire::kErrorMetadata), std::to_string(static_cast<unsigned>(error.code)));
  return {static_cast<grpc::StatusCode>(wire::grpc_status_of(error.code)), error.message};
}

grpc::Status AccountingService::Ping(grpc::ServerContext* context, const v1::AcctPingRequest*,
                                     v1::AcctPingReply* reply) {
  reply->set_version(doors_.version);
  reply->set_database(doors_.store.kind());
  reply->set_schema(static_cast<std::uint32_t>(doors_.store.schema()));
  const auto clusters = doors_.store.clusters();
  if (!clusters) return rpc_status(context, clusters.error());
  if (doors_.settings && admit(doors_.identify, *context, "GetAccounts"))
    for (const auto& [name, value] : doors_.settings()) {
      auto* setting = reply->add_settings();
      setting->set_name(name);
      setting->set_value(value);
    }
  const std::lock_guard lock(mutex_);
  for (const auto& cluster : *clusters) {
    auto* row = reply->add_clusters();
    row->set_name(cluster.name);
    row->set_control_host(cluster.control_host);
    row->set_control_port(cluster.control_port);
    row->set_have(cluster.have);
    const auto link = connected_.find(cluster.name);
    row->set_connected(link != connected_.end());
    if (link != connected_.end()) row->set_waiting(link->second.newest - std::min(link->second.newest, cluster.have));
    row->set_heard_us(to_micros(cluster.heard));
  }
  return grpc::Status::OK;
}

Result<std::vector<std::string>> AccountingService::clusters_of(
    const google::protobuf::RepeatedPtrField<std::string>& asked) {
  std::vector<std::string> out(asked.begin(), asked.end());
  if (!out.empty()) return out;
  SPUR_ASSIGN(const auto known, doors_.store.clusters());
  for (const auto& cluster : known) out.push_back(cluster.name);
  return out;
}

// Without a beginning it is all of the past; jobs that are named are looked up by their numbers.
Status AccountingService::check_span(const model::Caller& caller, Time from, Time until) const {
  if (doors_.max_query == Duration{0} || caller.is_admin()) return {};
  const Time end = is_set(until) ? until : doors_.clock.now();
  if (is_set(from) && end - from <= doors_.max_query) return {};
  if (doors_.is_operator && doors_.is_operator(caller)) return {};
  return fail(ErrorCode::ResourceLimit, "Too wide of a date range in query");
}

grpc::Status AccountingService::QueryJobs(grpc::ServerContext* context, const v1::AcctJobQuery* query,
                                          grpc::ServerWriter<v1::AcctJobRows>* writer) {
  const auto caller = admit(doors_.identify, *context, "QueryJobs");
  if (!caller) return rpc_status(context, caller.error());
  const CallStatistics::Timer timer(doors_.statistics, "QueryJobs", caller->uid);
  const auto wanted = wire::AccountingQuery::make(*query);
  if (!wanted) return rpc_status(context, wanted.error());
  if (const auto wish = wanted->wish(""); wish.jobs.empty())
    if (const auto ok = check_span(*caller, wish.from, wish.until); !ok) return rpc_status(context, ok.error());
  const auto clusters = clusters_of(query->clusters());
  if (!clusters) return rpc_status(context, clusters.error());
  const Viewer sight = viewer(*caller);
  for (const auto& cluster : *clusters) {
    RowSender sender(doors_.store, *query, *caller, cluster, writer);
    bool torn = false;
    const Status status = doors_.store.jobs(wanted->wish(cluster), [&](const io::AcctJobRow& row) {
      v1::AcctJob job;
      if (!job.ParseFromString(row.record)) return torn = true, false;
      if (!wanted->matches(job) || !sight.sees_job(cluster, job.uid(), job.account())) return true;
      return sender.take(row, std::move(job));
    });
    if (torn) return rpc_status(context, {ErrorCode::Corrupt, "a job's record in the database cannot be read"});
    if (!status) return rpc_status(context, status.error());
    sender.flush();
    if (!sender.status()) return rpc_status(context, sender.status().error());
  }
  return grpc::Status::OK;
}

grpc::Status AccountingService::QueryEvents(grpc::ServerContext* context, const v1::AcctEventQuery* query,
                                            grpc::ServerWriter<v1::AcctEventRows>* writer) {
  const auto caller = admit(doors_.identify, *context, "QueryEvents");
  if (!caller) return rpc_status(context, caller.error());
  const CallStatistics::Timer timer(doors_.statistics, "QueryEvents", caller->uid);
  if (viewer(*caller).lacks(text::kPrivateEvents)) return rpc_status(context, denied());
  const auto clusters = clusters_of(query->clusters());
  if (!clusters) return rpc_status(context, clusters.error());
  v1::AcctEventRows message;
  for (const auto& cluster : *clusters) {
    const auto each = [&](const io::AcctEventRow& event) {
      if (event.node.empty() && !query->with_cluster_events()) return true;
      const auto& nodes = query->nodes();
      if (!nodes.empty() && std::find(nodes.begin(), nodes.end(), event.node) == nodes.end()) return true;
      auto* row = message.add_rows();
      row->set_cluster(cluster);
      row->set_node(event.node);
      row->set_started_us(to_micros(event.started));
      row->set_ended_us(to_micros(event.ended));
      if (event.node.empty()) {
        v1::AcctClusterTres tres;
        if (tres.ParseFromString(event.record)) *row->mutable_tres() = tres.tres();
      } else if (v1::AcctNodeEvent node; node.ParseFromString(event.record)) {
        row->set_state(node.state());
        row->set_reason(node.reason());
        row->set_uid(node.uid());
        *row->mutable_tres() = node.tres();
      }
      if (message.rows_size() < static_cast<int>(kRowsPerMessage)) return true;
      const bool sent = writer->Write(message);
      message.Clear();
      return sent;
    };
    const Status status =
        doors_.store.events(cluster, from_micros(query->from_us()), from_micros(query->until_us()), each);
    if (!status) return rpc_status(context, status.error());
  }
  if (message.rows_size() > 0) writer->Write(message);
  return grpc::Status::OK;
}

grpc::Status AccountingService::QueryUsage(grpc::ServerContext* context, const v1::AcctUsageQuery* query,
                                           v1::AcctUsageReply* reply) {
  const auto caller = admit(doors_.identify, *context, "QueryUsage");
  if (!caller) return rpc_status(context, caller.error());
  const CallStatistics::Timer timer(doors_.statistics, "QueryUsage", caller->uid);
  if (const auto ok = check_span(*caller, from_micros(query->from_us()), from_micros(query->until_us())); !ok)
    return rpc_status(context, ok.error());
  const auto clusters = clusters_of(query->clusters());
  if (!clusters) return rpc_status(context, clusters.error());
  for (const auto& cluster : *clusters) {
    const Status status = add_usage(doors_.store, cluster, from_micros(query->from_us()),
                                    from_micros(query->until_us()), doors_.clock.now(), reply);
    if (!status) return rpc_status(context, status.error());
  }
  if (const Viewer sight = viewer(*caller); sight.lacks(text::kPrivateUsage)) {
    auto& rows = *reply->mutable_rows();
    rows.erase(std::remove_if(rows.begin(), rows.end(),
                              [&](const v1::AcctUsageRow& row) {
                                return !sight.sees_usage(row.cluster(), row.uid(), row.account());
                              }),
               rows.end());
  }
  reply->set_from_us(query->from_us());
  reply->set_until_us(query->until_us());
  return grpc::Status::OK;
}

grpc::Status AccountingService::QueryReservations(grpc::ServerContext* context, const v1::AcctReservationQuery* query,
                                                  grpc::ServerWriter<v1::AcctReservationRows>* writer) {
  const auto caller = admit(doors_.identify, *context, "QueryReservations");
  if (!caller) return rpc_status(context, caller.error());
  const CallStatistics::Timer timer(doors_.statistics, "QueryReservations", caller->uid);
  if (viewer(*caller).lacks(text::kPrivateReservations)) return rpc_status(context, denied());
  const auto clusters = clusters_of(query->clusters());
  if (!clusters) return rpc_status(context, clusters.error());
  v1::AcctReservationRows message;
  for (const auto& cluster : *clusters) {
    const Status status = doors_.store.reservations(
        cluster, from_micros(query->from_us()), from_micros(query->until_us()), [&](const auto& reservation) {
          const auto& names = query->names();
          if (!names.empty() && std::find(names.begin(), names.end(), reservation.name) == names.end()) return true;
          auto* row = message.add_rows();
          row->set_cluster(cluster);
          row->set_started_us(to_micros(reservation.started));
          row->set_ended_us(to_micros(reservation.ended));
          return row->mutable_reservation()->ParseFromString(reservation.record);
        });
    if (!status) return rpc_status(context, status.error());
  }
  if (message.rows_size() > 0) writer->Write(message);
  return grpc::Status::OK;
}

grpc::Status AccountingService::EditJobs(grpc::ServerContext* context, const v1::AcctJobEdit* edit,
                                         v1::AcctJobEditReply* reply) {
  const auto caller = admit(doors_.identify, *context, "EditJobs");
  if (!caller) return rpc_status(context, caller.error());
  const CallStatistics::Timer timer(doors_.statistics, "EditJobs", caller->uid);
  const auto changed = edit_jobs(doors_.store, *edit);
  if (!changed) return rpc_status(context, changed.error());
  reply->set_changed(*changed);
  if (*changed > 0)
    doors_.log(fmt::format("uid {} changed {} jobs of cluster {}", caller->uid.value, *changed, edit->cluster()));
  return grpc::Status::OK;
}

grpc::Status AccountingService::Archive(grpc::ServerContext* context, const v1::AcctArchiveRequest* request,
                                        v1::AcctArchiveReply* reply) {
  const auto caller = admit(doors_.identify, *context, "Archive");
  if (!caller) return rpc_status(context, caller.error());
  const CallStatistics::Timer timer(doors_.statistics, "Archive", caller->uid);
  if (!doors_.archive) return rpc_status(context, Error{ErrorCode::NotSupported, "this spurdbd has no archives"});
  auto done = doors_.archive(*request);
  if (!done) return rpc_status(context, done.error());
  *reply = *std::move(done);
  return grpc::Status::OK;
}

grpc::Status AccountingService::GetStatistics(grpc::ServerContext* context, const v1::AcctStatisticsRequest* request,
                                              v1::AcctStatisticsReply* reply) {
  const auto caller = admit(doors_.identify, *context, "GetStatistics");
  if (!caller) return rpc_status(context, caller.error());
  if (!doors_.statistics) return rpc_status(context, Error{ErrorCode::NotSupported, "this spurdbd counts nothing"});
  if (request->reset()) doors_.statistics->reset(doors_.clock.now());
  const CallStatistics::Timer timer(doors_.statistics, "GetStatistics", caller->uid);
  const auto counts = doors_.statistics->counts();
  reply->set_as_of_us(to_micros(doors_.clock.now()));
  reply->set_since_us(to_micros(counts.since));
  for (const auto& [method, calls] : counts.by_method) {
    auto* row = reply->add_by_method();
    row->set_method(method);
    row->set_count(calls.count);
    row->set_total_us(calls.total_us);
  }
  for (const auto& [uid, calls] : counts.by_user) {
    auto* row = reply->add_by_user();
    row->set_uid(uid);
    row->set_count(calls.count);
    row->set_total_us(calls.total_us);
  }
  return grpc::Status::OK;
}

grpc::Status AccountingService::Reconfigure(grpc::ServerContext* context, const v1::AcctReconfigureRequest*,
                                            v1::AcctReconfigureReply*) {
  const auto caller = admit(doors_.identify, *context, "Reconfigure");
  if (!caller) return rpc_status(context, caller.error());
  const CallStatistics::Timer timer(doors_.statistics, "Reconfigure", caller->uid);
  if (!doors_.reconfigure)
    return rpc_status(context, Error{ErrorCode::NotSupported, "this spurdbd has no configuration to read"});
  if (const auto done = doors_.reconfigure(); !done) return rpc_status(context, done.error());
  return grpc::Status::OK;
}

grpc::Status AccountingService::Shutdown(grpc::ServerContext* context, const v1::AcctShutdownRequest*,
                                         v1::AcctShutdownReply*) {
  const auto caller = admit(doors_.identify, *context, "Shutdown");
  if (!caller) return rpc_status(context, caller.error());
  if (!doors_.shutdown)
    return rpc_status(context, Error{ErrorCode::NotSupported, "this spurdbd is ended by signals"});
  doors_.log(fmt::format("uid {} ends this spurdbd", caller->uid.value));
  doors_.shutdown();
  return grpc::Status::OK;
}

}  // namespace spur::acct
