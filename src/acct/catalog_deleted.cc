// SPDX-License-Identifier: Apache-2.0
#include "acct/catalog_deleted.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "acct/catalog_rows.h"

namespace spur::acct {
namespace {

using model::RecordKind;

constexpr auto kYoung = hours(24);

template <class Record>
std::unordered_set<std::string> keys_of(const std::vector<Record>& list) {
  std::unordered_set<std::string> keys;  // look-up only
  for (const Record& record : list) keys.insert(model::key_of(record));
  return keys;
}

template <class Record>
std::vector<Record> missing(const std::vector<Record>& before, const std::vector<Record>& after) {
  const auto kept = keys_of(after);
  std::vector<Record> out;
  for (const Record& record : before)
    if (!kept.contains(model::key_of(record))) out.push_back(record);
  return out;
}

model::AssociationRecord without_limits(const model::AssociationRecord& record) {
  model::AssociationRecord bare;
  bare.cluster = record.cluster;
  bare.parent = record.parent;
  bare.order = record.order;
  bare.row.id = record.row.id;
  bare.row.account = record.row.account;
  bare.row.user = record.row.user;
  bare.row.partition = record.row.partition;
  return bare;
}

model::Qos without_limits(const model::Qos& qos) {
  model::Qos bare;
  bare.name = qos.name;
  bare.id = qos.id;
  bare.description = qos.description;
  return bare;
}

class Removal {
 public:
  Removal(const std::function<Time(const RowKey&)>& created, Time now, const HadJobs& had_jobs)
      : created_(created), now_(now), had_jobs_(had_jobs) {}

  template <class Record>
  Time created(RecordKind kind, const Record& record) const {
    return created_({std::string(name_of(kind)), model::key_of(record)});
  }
  template <class Record>
  bool is_young(RecordKind kind, const Record& record) const {
    return created(kind, record) > now_ - kYoung;
  }
  // Only the young ones are asked about: the others are kept anyway.
  template <class Record, class Question>
  bool any_used(RecordKind kind, const std::vector<Record>& gone, Question question) const {
    return had_jobs_ && std::ranges::any_of(gone, [&](const Record& record) {
             return is_young(kind, record) && had_jobs_(question(record), created(kind, record));
           });
  }
  template <class Record>
  void keep(RecordKind kind, const std::vector<Record>& gone, bool used, std::vector<Record>* to,
            std::set<RowKey>* keys) const {
    for (const Record& record : gone) {
      if (!used && is_young(kind, record)) continue;
      to->push_back(record);
      keys->emplace(name_of(kind), model::key_of(record));
    }
  }

 private:
  const std::function<Time(const RowKey&)>& created_;
  const Time now_;
  const HadJobs& had_jobs_;
};

// Whose associations or wckeys are somebody else's now: they are here under another name, and nobody has gone.
std::set<std::string> renamed_users(const model::AccountRecords& before, const model::AccountRecords& after) {
  std::unordered_map<std::uint32_t, const std::string*> associations, wckeys;  // look-up only
  for (const auto& r : after.associations) associations.emplace(r.row.id, &r.row.user);
  for (const auto& r : after.wckeys) wckeys.emplace(r.id, &r.user);
  std::set<std::string> out;
  const auto look = [&](const auto& now, std::uint32_t id, const std::string& user) {
    const auto found = now.find(id);
    if (found != now.end() && *found->second != user) out.insert(user);
  };
  for (const auto& r : before.associations) look(associations, r.row.id, r.row.user);
  for (const auto& r : before.wckeys) look(wckeys, r.id, r.user);
  return out;
}

// What tells records apart that have numbers. No name has control characters.
std::string name_of(const model::AssociationRecord& r) {
  return fmt::format("{}\n{}\n{}\n{}", r.cluster, r.row.account, r.row.user, r.row.partition);
}
std::string name_of(const model::WckeyRecord& r) {
  return fmt::format("{}\n{}\n{}", r.cluster, r.user, r.name);
}
std::string name_of(const model::ResourceRecord& r) {
  return fmt::format("{}\n{}", r.name, r.server);
}

std::uint32_t number_in(const std::unordered_map<std::string, std::uint32_t>& numbers, const std::string& name) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? 0 : found->second;
}

}  // namespace

KeptRecords keep_removed(const model::AccountRecords& before, const model::AccountRecords& after,
                         const std::function<Time(const RowKey&)>& created, Time now, const HadJobs& had_jobs) {
  KeptRecords out;
  const Removal removal(created, now, had_jobs);
  const auto associations = missing(before.associations, after.associations);
  // An account's own row stands for all jobs of the account, also of users who left it before.
  const bool used = removal.any_used(RecordKind::Association, associations, [](const auto& r) {
    InUse question;
    question.cluster = r.cluster;
    question.account = r.row.account;
    question.user = r.row.user;
    if (!r.row.partition.empty()) question.partition = r.row.partition;
    return question;
  });
  removal.keep(RecordKind::Association, associations, used, &out.records.associations, &out.keys);
  for (auto& r : out.records.associations) r = without_limits(r);
  removal.keep(RecordKind::Cluster, missing(before.clusters, after.clusters), used, &out.records.clusters, &out.keys);
  removal.keep(RecordKind::Account, missing(before.accounts, after.accounts), used, &out.records.accounts, &out.keys);
  auto users = missing(before.users, after.users);
  const auto renamed = renamed_users(before, after);
  std::erase_if(users, [&](const auto& r) { return renamed.contains(r.name); });
  removal.keep(RecordKind::User, users, used, &out.records.users, &out.keys);

  const auto qos = missing(before.qos, after.qos);
  const bool qos_used = removal.any_used(RecordKind::Qos, qos, [](const auto& r) {
    InUse question;
    question.qos = r.name;
    return question;
  });
  removal.keep(RecordKind::Qos, qos, qos_used, &out.records.qos, &out.keys);
  for (auto& r : out.records.qos) r = without_limits(r);
  const auto wckeys = missing(before.wckeys, after.wckeys);
  const bool wckeys_used = removal.any_used(RecordKind::Wckey, wckeys, [](const auto& r) {
    InUse question;
    question.cluster = r.cluster;
    question.user = r.user;
    question.wckey = r.name;
    return question;
  });
  removal.keep(RecordKind::Wckey, wckeys, wckeys_used, &out.records.wckeys, &out.keys);
  removal.keep(RecordKind::Resource, missing(before.resources, after.resources), false, &out.records.resources,
               &out.keys);
  return out;
}

void drop_revived(const model::AccountRecords& live, model::AccountRecords* deleted) {
  const auto drop = [](const auto& there, auto* gone) {
    if (gone->empty()) return;
    const auto keys = keys_of(there);
    std::erase_if(*gone, [&](const auto& record) { return keys.contains(model::key_of(record)); });
  };
  drop(live.clusters, &deleted->clusters);
  drop(live.accounts, &deleted->accounts);
  drop(live.users, &deleted->users);
  drop(live.associations, &deleted->associations);
  drop(live.qos, &deleted->qos);
  drop(live.wckeys, &deleted->wckeys);
  drop(live.resources, &deleted->resources);
}

DeletedNumbers::DeletedNumbers(const model::AccountRecords& deleted) {
  for (const auto& r : deleted.associations) associations_.emplace(name_of(r), r.row.id);
  for (const auto& r : deleted.wckeys) wckeys_.emplace(name_of(r), r.id);
  for (const auto& r : deleted.resources) resources_.emplace(name_of(r), r.id);
}
std::uint32_t DeletedNumbers::of(const model::AssociationRecord& record) const {
  return number_in(associations_, name_of(record));
}
std::uint32_t DeletedNumbers::of(const model::WckeyRecord& record) const {
  return number_in(wckeys_, name_of(record));
}
std::uint32_t DeletedNumbers::of(const model::ResourceRecord& record) const {
  return number_in(resources_, name_of(record));
}

}  // namespace spur::acct
