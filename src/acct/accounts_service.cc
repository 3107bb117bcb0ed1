// SPDX-License-Identifier: Apache-2.0
#include "acct/accounts_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "text/private_data.h"
#include "text/words.h"
#include "wire/account_records_codec.h"
#include "wire/accounts_codec.h"

namespace spur::acct {
namespace {

constexpr int kTransactionsPerMessage = 500;
constexpr std::uint32_t kRpcVersion = 11008;  // what Slurm 25.05 shows

io::AcctEntityChange entity_change(std::vector<CatalogRow> put,
                                   std::vector<std::pair<std::string, std::string>> erase,
                                   std::vector<model::TransactionRecord> transactions) {
  io::AcctEntityChange change;
  for (CatalogRow& row : put) 
    change.put.push_back({std::move(row.kind), std::move(row.key), std::move(row.body), row.created, row.deleted});
  change.erase = std::move(erase);
  for (model::TransactionRecord& t : transactions)
    change.transactions.push_back(
        {0, t.at, t.action, std::move(t.actor), std::move(t.cluster), std::move(t.target), std::move(t.info)});
  return change;
}

// In the order of those that are in force.
model::AccountRecords with_deleted(const Catalog& catalog) {
  model::AccountRecords all = catalog.records();
  model::append(catalog.deleted(), &all);
  std::ranges::sort(all.qos, {}, &model::Qos::id);
  std::ranges::sort(all.wckeys, {}, &model::WckeyRecord::id);
  std::ranges::sort(all.resources, {}, &model::ResourceRecord::id);
  return all;
}

template <class F>
void each_key(const model::AccountRecords& records, F&& f) {
  using model::RecordKind;
  for (const auto& r : records.clusters) f(RecordKind::Cluster, model::key_of(r));
  for (const auto& r : records.accounts) f(RecordKind::Account, model::key_of(r));
  for (const auto& r : records.users) f(RecordKind::User, model::key_of(r));
  for (const auto& r : records.associations) f(RecordKind::Association, model::key_of(r));
  for (const auto& r : records.qos) f(RecordKind::Qos, model::key_of(r));
  for (const auto& r : records.wckeys) f(RecordKind::Wckey, model::key_of(r));
  for (const auto& r : records.resources) f(RecordKind::Resource, model::key_of(r));
}

}  // namespace

Result<std::unique_ptr<AccountsService>> AccountsService::open(Doors doors) {
  SPUR_ASSIGN(const auto entities, doors.store.entities());
  std::vector<CatalogRow> rows;
  for (const auto& entity : entities) 
    rows.push_back({entity.kind, entity.key, entity.body, entity.created, entity.deleted});
  std::unique_ptr<AccountsService> out;
  if (rows.empty()) {
    Catalog fresh = Catalog::fresh();
    SPUR_TRY(doors.store.change(entity_change(fresh.all_rows(), {}, {})));
    out.reset(new AccountsService(std::move(doors), std::move(fresh)));
  } else {
    SPUR_ASSIGN(Catalog loaded, Catalog::load(rows));
    out.reset(new AccountsService(std::move(doors), std::move(loaded)));
  }
  SPUR_TRY(out->follow_site());
  return out;
}

Status AccountsService::follow_site() {
  if (doors_.keeps_case) catalog_.keep_case_of_users();
  if (doors_.no_coordinators) catalog_.disable_coordinators();
  if (doors_.default_qos.empty()) return {};
  const std::string qos = text::lower(doors_.default_qos);
  catalog_.use_for_new_clusters(qos);
  const auto& known = catalog_.records().qos;
  if (std::ranges::find(known, qos, &model::Qos::name) != known.end()) return {};
  model::AccountsChange change;
  change.based_on = catalog_.revision();
  change.put.qos.emplace_back();
  change.put.qos.back().name = qos;
  change.put.qos.back().description = "Added as default";
  SPUR_ASSIGN(auto step, catalog_.plan(change, {"root", true}, doors_.clock.now()));
  return write(std::move(step));
}

AccountsService::~AccountsService() {
  while (!watchers_.empty()) unwatch(watchers_.begin()->first);
}

Status AccountsService::write(Catalog::Step step) {
  SPUR_TRY(
      doors_.store.change(entity_change(std::move(step.put), std::move(step.erase), std::move(step.transactions))));
  catalog_ = std::move(step.next);
  noted_wckeys_.clear();
  changed_.notify_all();
  return {};
}

Status AccountsService::refresh() {
  SPUR_ASSIGN(const auto clusters, doors_.store.clusters());
  const Time now = doors_.clock.now();
  for (const io::AcctCluster& known : clusters) {
    // A cluster that was deleted is one again when its controller is heard of.
    const auto deleted = catalog_.cluster_deleted(known.name);
    if (deleted && known.heard <= *deleted) continue;
    model::ClusterRecord cluster;
    cluster.name = known.name;
    cluster.control_host = known.control_host;
    cluster.control_port = known.control_port;
    cluster.rpc_version = kRpcVersion;
    // What it has is told in an event of the cluster itself, which has not ended.
    SPUR_TRY(doors_.store.events(known.name, now, now + seconds(1), [&](const io::AcctEventRow& row) {
      v1::AcctClusterTres event;
      if (!row.node.empty() || is_set(row.ended) || !event.ParseFromString(row.record)) return true;
      cluster.nodes = event.nodes();
      cluster.tres.clear();
      for (const auto& tres : event.tres()) cluster.tres.push_back({tres.name(), tres.count()});
      return true;
    }));
    // Before its first event: what was known.
    if (cluster.tres.empty())
      for (const auto& before : catalog_.records().clusters)
        if (before.name == cluster.name) cluster.tres = before.tres, cluster.nodes = before.nodes;
    SPUR_ASSIGN(auto step, catalog_.plan_register(cluster, now));
    if (step) SPUR_TRY(write(std::move(*step)));
  }
  return {};
}

Status AccountsService::each_job(
    const InUse& question, Time since,
    const std::function<bool(const std::string& cluster, const io::AcctJobRow&, const v1::AcctJob&)>& each) {
  SPUR_ASSIGN(const auto clusters, doors_.store.clusters());
  for (const io::AcctCluster& cluster : clusters) {
    if (!question.cluster.empty() && cluster.name != question.cluster) continue;
    io::AcctJobWish wish;
    wish.cluster = cluster.name;
    wish.from = since;
    if (!question.account.empty()) wish.accounts = {question.account};
    bool more = true;
    SPUR_TRY(doors_.store.jobs(wish, [&](const io::AcctJobRow& row) {
      v1::AcctJob job;
      if (!job.ParseFromString(row.record)) return true;
      if (!question.user.empty() && job.user() != question.user) return true;
      if (!question.qos.empty() && job.qos() != question.qos) return true;
      if (!question.wckey.empty() && !text::equal_ignoring_case(job.wckey(), question.wckey) &&
          !text::equal_ignoring_case(job.wckey(), "*" + question.wckey))
        return true;
      if (question.partition && !question.partition->empty() && job.partition() != *question.partition) return true;
      return more = each(cluster.name, row, job);
    }));
    if (!more) break;
  }
  return {};
}

std::vector<std::string> AccountsService::active_jobs(const InUse& question) {
  std::vector<std::string> lines;
  const Status asked =
      each_job(question, doors_.clock.now(), [&](const std::string& cluster, const auto& row, const auto& job) {
        if (!is_set(row.ended))
          lines.push_back(fmt::format("JobID = {:<10} C = {:<10} A = {:<10} U = {:<9}", row.job, cluster, row.account,
                                      job.user()));
        return true;
      });
  if (!asked) lines.push_back("The jobs of the clusters cannot be asked for: " + asked.error().message);
  return lines;
}

bool AccountsService::had_jobs(const InUse& question, Time since) {
  bool found = false;
  const Status asked = each_job(question, since, [&](const auto&, const auto&, const auto&) {
    found = true;
    return false;
  });
  return found || !asked;
}

Viewer AccountsService::viewer_now(const model::Caller& caller) const {
  if (doors_.hidden == 0 || caller.is_admin()) return {};
  return viewer_of(catalog_, doors_.hidden, doors_.user_name(caller.uid), caller.uid, false);
}

Viewer AccountsService::viewer(const model::Caller& caller) {
  const std::lock_guard lock(mutex_);
  return viewer_now(caller);
}

bool AccountsService::is_operator(const model::Caller& caller) {
  if (caller.is_admin()) return true;
  const std::lock_guard lock(mutex_);
  return catalog_.admin_level(doors_.user_name(caller.uid)) >= model::AdminLevel::Operator;
}

grpc::Status AccountsService::GetAccounts(grpc::ServerContext* context, const v1::GetAccountsRequest* request,
                                          v1::AccountRecords* reply) {
  const auto caller = admit(doors_.identify, *context, "GetAccounts");
  if (!caller) return rpc_status(context, caller.error());
  const CallStatistics::Timer timer(doors_.statistics, "GetAccounts", caller->uid);
  const std::lock_guard lock(mutex_);
  if (const Status fresh = refresh(); !fresh) return rpc_status(context, fresh.error());
  const Viewer sight = viewer_now(*caller);
  const bool all = request->with_deleted();
  model::AccountRecords seen = visible_records(all ? with_deleted(catalog_) : catalog_.records(), sight);
  seen.may_lack_default = doors_.may_lack_default;
  seen.keeps_case = doors_.keeps_case;
  wire::to_proto(seen, reply);
  if (!all) return grpc::Status::OK;
  std::set<model::RecordKey> deleted;
  each_key(catalog_.deleted(), [&](model::RecordKind kind, std::string key) { deleted.insert({kind, std::move(key)}); });
  each_key(seen, [&](model::RecordKind kind, std::string key) {
    if (!deleted.contains({kind, key})) return;
    auto* row = reply->add_deleted();
    row->set_kind(static_cast<v1::RecordKind>(kind));
    row->set_key(std::move(key));
  });
  return grpc::Status::OK;
}

grpc::Status AccountsService::ChangeAccounts(grpc::ServerContext* context, const v1::AccountsChange* request,
                                             v1::AccountsChangeReply* reply) {
  const auto caller = admit(doors_.identify, *context, "ChangeAccounts");
  if (!caller) return rpc_status(context, caller.error());
  const CallStatistics::Timer timer(doors_.statistics, "ChangeAccounts", caller->uid);
  model::AccountsChange change;
  if (const Status read = wire::from_proto(*request, &change); !read) return rpc_status(context, read.error());
  const Actor actor{doors_.user_name(caller->uid), caller->is_admin()};
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  auto step = catalog_.plan(
      change, actor, doors_.clock.now(), [this](const InUse& q) { return active_jobs(q); }, &lines,
      [this](const InUse& q, Time since) { return had_jobs(q, since); });
  if (!lines.empty()) {
    for (std::string& line : lines) reply->add_active_jobs(std::move(line));
    return grpc::Status::OK;
  }
  if (!step) return rpc_status(context, step.error());
  if (!change.only_check)
    if (const Status written = write(std::move(*step)); !written) return rpc_status(context, written.error());
  reply->set_revision(catalog_.revision());
  return grpc::Status::OK;
}

grpc::Status AccountsService::GetTransactions(grpc::ServerContext* context, const v1::GetTransactionsRequest* request,
                                              grpc::ServerWriter<v1::TransactionRecords>* writer) {
  const auto caller = admit(doors_.identify, *context, "GetTransactions");
  if (!caller) return rpc_status(context, caller.error());
  const CallStatistics::Timer timer(doors_.statistics, "GetTransactions", caller->uid);
  const Time until = request->until_us() != 0 ? from_micros(request->until_us()) : doors_.clock.now() + hours(1);
  v1::TransactionRecords message;
  const Viewer sight = viewer(*caller);
  const Status asked =
      doors_.store.transactions(from_micros(request->from_us()), until, [&](const io::AcctTransaction& t) {
        if (sight.lacks(text::kPrivateUsers | text::kPrivateAccounts) && t.actor != sight.name) return true;
        wire::to_proto(model::TransactionRecord{t.id, t.at, t.action, t.actor, t.cluster, t.target, t.info},
                       message.add_transactions());
        if (message.transactions_size() < kTransactionsPerMessage) return true;
        const bool open = writer->Write(message);
        message.Clear();
        return open;
      });
  if (!asked) return rpc_status(context, asked.error());
  if (message.transactions_size() > 0) writer->Write(message);
  return grpc::Status::OK;
}

std::uint64_t AccountsService::watch(const std::string& cluster, Push push) {
  const std::lock_guard lock(mutex_);
  if (const Status fresh = refresh(); !fresh)
    doors_.log(fmt::format("error: cluster {} cannot be registered: {}", cluster, fresh.error().message));
  auto watcher = std::make_unique<Watcher>();
  watcher->cluster = cluster;
  watcher->push = std::move(push);
  Watcher& made = *watcher;
  const std::uint64_t id = next_watcher_++;
  watchers_.emplace(id, std::move(watcher));
  made.thread = std::thread([this, &made] { feed(made); });
  return id;
}

void AccountsService::unwatch(std::uint64_t id) {
  std::unique_ptr<Watcher> watcher;
  {
    const std::lock_guard lock(mutex_);
    const auto found = watchers_.find(id);
    if (found == watchers_.end()) return;
    watcher = std::move(found->second);
    watchers_.erase(found);
    watcher->stop = true;
    changed_.notify_all();
  }
  watcher->thread.join();
}

void AccountsService::note_wckeys(const std::string& cluster, const std::set<WckeyUse>& used) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::includes(noted_wckeys_[cluster], used)) return;
  auto step = catalog_.plan_wckeys(cluster, used, doors_.clock.now());
  Status done = step ? Status() : std::unexpected(step.error());
  if (step && *step) done = write(std::move(**step));
  // Whoever uses them next makes us try again.
  if (!done) return doors_.log(fmt::format("error: wckeys of cluster {} are not noted: {}", cluster, done.error().message));
  noted_wckeys_[cluster].insert(used.begin(), used.end());
}

void AccountsService::feed(Watcher& watcher) {
  model::AccountsUpdate told;
  std::unique_lock lock(mutex_);
  while (!watcher.stop) {
    if (told.revision == catalog_.revision()) {
      changed_.wait(lock);
      continue;
    }
    model::AccountsUpdate now = catalog_.whole(watcher.cluster);
    const auto update = told.all ? difference(told, now) : std::optional(now);
    told = std::move(now);
    if (!update) continue;
    lock.unlock();
    v1::AccountsUpdate message;
    wire::to_proto(*update, &message);
    watcher.push(message.SerializeAsString());
    lock.lock();
  }
}

}  // namespace spur::acct
