// SPDX-License-Identifier: Apache-2.0
#include "acct/catalog_rows.h"

#include <fmt/format.h>

#include <map>

#include "spur/v1/accounts.pb.h"
#include "wire/account_records_codec.h"
#include "wire/accounts_codec.h"

namespace spur::acct {

using model::RecordKind;

namespace {

constexpr std::string_view kKinds[] = {"cluster",     "account", "user", "association", "qos",
                                       "coordinator", "wckey",   "tres", "resource"};
constexpr std::string_view kCounters = "counters";

// Slurm's numbers of the requests that make such changes; 0: it has none.
struct Actions {
  std::uint32_t add, modify, remove;
};
constexpr Actions kActions[] = {
    {1405, 1430, 1438},  // cluster
    {1402, 1428, 1435},  // account
    {1406, 1431, 1439},  // user
    {1404, 1429, 1437},  // association
    {1447, 1451, 1450},  // qos
    {1403, 1403, 1436},  // coordinator
    {1452, 1490, 1455},  // wckey
    {1485, 1485, 1485},  // tres
    {1477, 1480, 1479},  // resource
};

template <class Message, class Record>
std::string bytes_of(const Record& record) {
  Message message;
  wire::to_proto(record, &message);
  return message.SerializeAsString();
}

template <class Message, class Record>
Status parse_into(const std::string& body, std::vector<Record>* list) {
  Message message;
  if (!message.ParseFromString(body))
    return fail(ErrorCode::Corrupt, "a record of the accounting database is damaged");
  return wire::from_proto(message, &list->emplace_back());
}

// Calls f(kind, message type, list) for every kind of record.
template <class Records, class F>
void each_kind(Records& records, F&& f) {
  f.template operator()<v1::ClusterRecord>(RecordKind::Cluster, records.clusters);
  f.template operator()<v1::AccountRecord>(RecordKind::Account, records.accounts);
  f.template operator()<v1::UserRecord>(RecordKind::User, records.users);
  f.template operator()<v1::AssociationRecord>(RecordKind::Association, records.associations);
  f.template operator()<v1::Qos>(RecordKind::Qos, records.qos);
  f.template operator()<v1::CoordinatorRecord>(RecordKind::Coordinator, records.coordinators);
  f.template operator()<v1::WckeyRecord>(RecordKind::Wckey, records.wckeys);
  f.template operator()<v1::TresRecord>(RecordKind::Tres, records.tres);
  f.template operator()<v1::ResourceRecord>(RecordKind::Resource, records.resources);
}

CatalogRow counters_row(const Catalog::Counters& counters, std::uint64_t revision) {
  v1::CatalogCounters message;
  message.set_next_association(counters.next_association);
  message.set_next_qos(counters.next_qos);
  message.set_next_wckey(counters.next_wckey);
  message.set_next_resource(counters.next_resource);
  message.set_next_tres(counters.next_tres);
  message.set_revision(revision);
  return {std::string(kCounters), "all", message.SerializeAsString()};
}

// ---- what a transaction says of a record

struct Told {
  std::string cluster, target, info;
};
Told tell(const model::ClusterRecord& r) {
  return {r.name, r.name, fmt::format("control_host='{}', control_port={}", r.control_host, r.control_port)};
}
Told tell(const model::AccountRecord& r) {
  return {{}, r.name, fmt::format("description='{}', organization='{}'", r.description, r.organization)};
}
Told tell(const model::UserRecord& r) {
  return {{}, r.name, fmt::format("admin_level={}", static_cast<int>(r.admin) + 1)};
}
void add_limit(std::string& text, const char* name, const std::optional<std::uint32_t>& value) {
  if (value) text += fmt::format(", {}={}", name, *value);
}
void add_limit(std::string& text, const char* name, const model::TresCounts& list) {
  if (list.empty()) return;
  text += fmt::format(", {}='", name);
  for (std::size_t i = 0; i < list.size(); ++i)
    text += fmt::format("{}{}={}", i ? "," : "", list[i].tres, list[i].count);
  text += "'";
}
void add_list(std::string& text, const char* name, const std::vector<std::string>& list) {
  if (list.empty()) return;
  text += fmt::format(", {}='", name);
  for (std::size_t i = 0; i < list.size(); ++i) text += (i ? "," : "") + list[i];
  text += "'";
}
void add_group(std::string& text, const model::GroupLimits& group) {
  add_limit(text, "grp_jobs", group.jobs);
  add_limit(text, "grp_jobs_accrue", group.jobs_accrue);
  add_limit(text, "grp_submit_jobs", group.submit);
  add_limit(text, "grp_wall", group.wall_minutes);
  add_limit(text, "grp_tres", group.tres);
  add_limit(text, "grp_tres_mins", group.tres_minutes);
  add_limit(text, "grp_tres_run_mins", group.tres_run_minutes);
}
Told tell(const model::AssociationRecord& r) {
  std::string info = fmt::format("acct='{}'", r.row.account);
  if (r.row.is_user()) {
    info += fmt::format(", user='{}', `partition`='{}', is_def={}", r.row.user, r.row.partition,
                        r.row.is_default ? 1 : 0);
  } else {
    info += fmt::format(", parent_acct='{}', user=''", r.parent);
  }
  info += fmt::format(", shares={}", r.row.shares);
  add_limit(info, "priority", r.row.priority);
  add_group(info, r.row.group);
  add_limit(info, "max_jobs", r.row.max_jobs);
  add_limit(info, "max_jobs_accrue", r.row.max_jobs_accrue);
  add_limit(info, "max_submit_jobs", r.row.max_submit);
  add_limit(info, "max_wall_pj", r.row.max_wall_minutes);
  add_limit(info, "min_prio_thresh", r.row.min_priority);
  add_limit(info, "max_tres_pj", r.row.max_tres_per_job);
  add_limit(info, "max_tres_pn", r.row.max_tres_per_node);
  add_limit(info, "max_tres_mins_pj", r.row.max_tres_minutes_per_job);
  add_limit(info, "max_tres_run_mins", r.row.max_tres_run_minutes);
  add_list(info, "qos", r.row.qos);
  add_list(info, "qos_added", r.qos_added);
  add_list(info, "qos_removed", r.qos_removed);
  if (!r.row.default_qos.empty()) info += fmt::format(", def_qos='{}'", r.row.default_qos);
  return {r.cluster, fmt::format("id_assoc={}", r.row.id), std::move(info)};
}
Told tell(const model::Qos& r) {
  std::string info = fmt::format("description='{}', flags={}, grace_time={}, priority={}", r.description, r.flags,
                                 r.grace.count(), r.priority);
  add_list(info, "preempt", r.preempts);
  add_group(info, r.group);
  add_limit(info, "max_jobs_per_user", r.max_jobs_per_user);
  add_limit(info, "max_submit_jobs_per_user", r.max_submit_per_user);
  add_limit(info, "max_jobs_pa", r.max_jobs_per_account);
  add_limit(info, "max_submit_jobs_pa", r.max_submit_per_account);
  add_limit(info, "max_wall_duration_per_job", r.max_wall_minutes);
  add_limit(info, "max_tres_pj", r.max_tres_per_job);
  add_limit(info, "max_tres_pn", r.max_tres_per_node);
  add_limit(info, "max_tres_pu", r.max_tres_per_user);
  add_limit(info, "max_tres_pa", r.max_tres_per_account);
  add_limit(info, "min_tres_pj", r.min_tres_per_job);
  return {{}, r.name, std::move(info)};
}
Told tell(const model::CoordinatorRecord& r) {
  return {{}, r.user, r.account};
}
Told tell(const model::WckeyRecord& r) {
  return {r.cluster, fmt::format("id_wckey={}", r.id),
          fmt::format("user='{}', wckey_name='{}', is_def={}", r.user, r.name, r.is_default ? 1 : 0)};
}
Told tell(const model::TresRecord& r) {
  return {{}, fmt::format("id={}", r.id), fmt::format("type='{}', name='{}'", r.type, r.name)};
}
Told tell(const model::ResourceRecord& r) {
  return {
      {}, fmt::format("{}@{}", r.name, r.server), fmt::format("count={}, description='{}'", r.count, r.description)};
}

}  // namespace

std::string_view name_of(RecordKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

std::vector<CatalogRow> record_rows(const model::AccountRecords& records) {
  std::vector<CatalogRow> rows;
  each_kind(records, [&]<class Message>(RecordKind kind, const auto& list) {
    for (const auto& record : list)
      rows.push_back({std::string(name_of(kind)), model::key_of(record), bytes_of<Message>(record)});
  });
  return rows;
}

std::vector<CatalogRow> rows_of(const model::AccountRecords& records, const Catalog::Counters& counters) {
  std::vector<CatalogRow> rows = record_rows(records);
  rows.insert(rows.begin(), counters_row(counters, records.revision));
  return rows;
}

Status load_row(const CatalogRow& row, model::AccountRecords* records, Catalog::Counters* counters) {
  if (row.kind == kCounters) {
    v1::CatalogCounters message;
    if (!message.ParseFromString(row.body))
      return fail(ErrorCode::Corrupt, "the counters of the accounting database are damaged");
    *counters = {message.next_association(), message.next_qos(), message.next_wckey(), message.next_resource(),
                 message.next_tres()};
    records->revision = message.revision();
    return {};
  }
  Status status = fail(ErrorCode::VersionMismatch,
                       fmt::format("the accounting database has records of a kind that is not known: {}", row.kind));
  each_kind(*records, [&]<class Message>(RecordKind kind, auto& list) {
    if (row.kind == name_of(kind)) status = parse_into<Message>(row.body, &list);
  });
  return status;
}

void tell_difference(const model::AccountRecords& before, std::string_view actor, Time now, Catalog::Step* step) {
  const auto note = [&](std::uint32_t action, Told told) {
    step->transactions.push_back(
        {0, now, action, std::string(actor), std::move(told.cluster), std::move(told.target), std::move(told.info)});
  };
  const auto compare = [&]<class Message>(RecordKind kind, const auto& olds, const auto& news) {
    const Actions actions = kActions[static_cast<std::size_t>(kind)];
    std::map<std::string, const std::remove_cvref_t<decltype(olds.front())>*> old_by_key, new_by_key;
    for (const auto& record : olds) old_by_key.emplace(model::key_of(record), &record);
    for (const auto& record : news) {
      const std::string key = model::key_of(record);
      new_by_key.emplace(key, &record);
      const auto old = old_by_key.find(key);
      if (old != old_by_key.end() && *old->second == record) continue;
      step->put.push_back({std::string(name_of(kind)), key, bytes_of<Message>(record)});
      note(old == old_by_key.end() ? actions.add : actions.modify, tell(record));
    }
    for (const auto& record : olds) {
      const std::string key = model::key_of(record);
      if (new_by_key.contains(key)) continue;
      step->erase.emplace_back(name_of(kind), key);
      note(actions.remove, tell(record));
    }
  };
  const model::AccountRecords& after = step->next.records();
  compare.template operator()<v1::ClusterRecord>(RecordKind::Cluster, before.clusters, after.clusters);
  compare.template operator()<v1::AccountRecord>(RecordKind::Account, before.accounts, after.accounts);
  compare.template operator()<v1::UserRecord>(RecordKind::User, before.users, after.users);
  compare.template operator()<v1::AssociationRecord>(RecordKind::Association, before.associations,
                                                     after.associations);
  compare.template operator()<v1::Qos>(RecordKind::Qos, before.qos, after.qos);
  compare.template operator()<v1::CoordinatorRecord>(RecordKind::Coordinator, before.coordinators,
                                                     after.coordinators);
  compare.template operator()<v1::WckeyRecord>(RecordKind::Wckey, before.wckeys, after.wckeys);
  compare.template operator()<v1::TresRecord>(RecordKind::Tres, before.tres, after.tres);
  compare.template operator()<v1::ResourceRecord>(RecordKind::Resource, before.resources, after.resources);
  if (step->put.empty() && step->erase.empty()) return;
  step->put.push_back(counters_row(step->next.counters(), after.revision));
}

}  // namespace spur::acct
