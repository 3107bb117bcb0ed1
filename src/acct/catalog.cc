// SPDX-License-Identifier: Apache-2.0
#include "acct/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "acct/catalog_check.h"
#include "acct/catalog_deleted.h"
#include "acct/catalog_rows.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::acct {

using model::RecordKey;
using model::RecordKind;

namespace {

constexpr std::size_t kLongestName = 255;

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t length = c < 0x80                ? 1
                               : c >= 0xc2 && c < 0xe0 ? 2
                               : c >= 0xe0 && c < 0xf0 ? 3
                               : c >= 0xf0 && c < 0xf5 ? 4
                                                       : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    i += length;
  }
  return true;
}

// What is put replaces what has its key; what is removed must be there.
template <class Record>
Status merge(RecordKind kind, const std::vector<Record>& puts, const std::vector<RecordKey>& removes,
             std::vector<Record>* list) {
  std::unordered_map<std::string, std::size_t> at;  // look-up only
  for (std::size_t i = 0; i < list->size(); ++i) at.emplace(model::key_of((*list)[i]), i);
  std::set<std::size_t> gone;
  for (const RecordKey& key : removes) {
    if (key.kind != kind) continue;
    const auto found = at.find(key.key);
    if (found == at.end())
      return fail(ErrorCode::NotFound, fmt::format("There is no {} {}", name_of(kind), text::shown(key.key)));
    gone.insert(found->second);
  }
  for (const Record& record : puts) {
    const auto [found, is_new] = at.emplace(model::key_of(record), list->size());
    if (is_new) {
      list->push_back(record);
    } else {
      gone.erase(found->second);
      (*list)[found->second] = record;
    }
  }
  std::size_t index = 0;
  std::erase_if(*list, [&](const Record&) { return gone.contains(index++); });
  return {};
}

Status lower_all(std::vector<std::string>* names, std::string_view what) {
  for (std::string& name : *names) {
    SPUR_ASSIGN(name, checked_name(what, name));
  }
  return {};
}

// Names as they are kept.
Status normalise(model::AccountRecords* put, bool keeps_case_of_users) {
  const auto name = [&](std::string_view what, std::string* text, bool may_be_empty = false) -> Status {
    if (may_be_empty && text->empty()) return {};
    SPUR_ASSIGN(*text, checked_name(what, *text, keeps_case_of_users && what == "user"));
    return {};
  };
  for (auto& r : put->clusters) SPUR_TRY(name("cluster", &r.name));
  for (auto& r : put->accounts) SPUR_TRY(name("account", &r.name));
  for (auto& r : put->users) SPUR_TRY(name("user", &r.name));
  for (auto& r : put->qos) {
    SPUR_TRY(name("qos", &r.name));
    SPUR_TRY(lower_all(&r.preempts, "qos"));
  }
  for (auto& r : put->associations) {
    SPUR_TRY(name("cluster", &r.cluster));
    SPUR_TRY(name("account", &r.row.account));
    SPUR_TRY(name("user", &r.row.user, true));
    SPUR_TRY(name("account", &r.parent, true));
    SPUR_TRY(name("qos", &r.row.default_qos, true));
    for (auto* list : {&r.row.qos, &r.qos_added, &r.qos_removed}) SPUR_TRY(lower_all(list, "qos"));
    if (!r.row.partition.empty()) SPUR_TRY(checked_name("partition", r.row.partition, true));
    r.row.parent = 0;
    r.row.uid.reset();
  }
  for (auto& r : put->coordinators) {
    SPUR_TRY(name("account", &r.account));
    SPUR_TRY(name("user", &r.user));
  }
  for (auto& r : put->wckeys) {
    SPUR_TRY(name("wckey", &r.name, true));
    SPUR_TRY(name("user", &r.user));
    SPUR_TRY(name("cluster", &r.cluster));
  }
  for (auto& r : put->resources) {
    SPUR_TRY(name("resource", &r.name));
    SPUR_TRY(checked_name("server", r.server, true));
    for (auto& share : r.shares) SPUR_TRY(name("cluster", &share.cluster));
  }
  return {};
}

// What was deleted gets its number back.
template <class Record, class Id>
Status number(std::vector<Record>* puts, const std::vector<Record>& known, const DeletedNumbers& deleted,
              std::uint32_t* next, Id id) {
  std::unordered_set<std::uint32_t> ids;  // look-up only
  if (!puts->empty())
    for (const Record& record : known) ids.insert(id(record));
  for (Record& record : *puts) {
    if (id(record) == 0) {
      id(record) = deleted.of(record);
      if (id(record) == 0) id(record) = (*next)++;
    } else if (!ids.contains(id(record))) {
      return fail(ErrorCode::NotFound, fmt::format("There is no record with the number {}", id(record)));
    }
  }
  return {};
}

void number_qos(const std::vector<model::Qos>& known, const std::vector<model::Qos>& deleted, std::uint32_t* next,
                model::Qos* qos) {
  qos->id = 0;
  for (const auto* list : {&known, &deleted})
    if (const auto same = std::ranges::find(*list, qos->name, &model::Qos::name); same != list->end())
      qos->id = same->id;
  if (qos->id == 0) qos->id = (*next)++;
}

// What is new (or has moved) comes first among its siblings; what comes together stays in its order. What was deleted
// comes back to its place.
void order_associations(const std::vector<model::AssociationRecord>& live,
                        const std::vector<model::AssociationRecord>& deleted,
                        std::vector<model::AssociationRecord>* puts) {
  std::map<std::pair<std::string_view, std::string_view>, std::int64_t> first;
  std::unordered_map<std::uint32_t, const model::AssociationRecord*> by_id;  // look-up only
  for (const auto* known : {&live, &deleted})
    for (const auto& r : *known) {
      by_id.emplace(r.row.id, &r);
      std::int64_t& order = first[{r.cluster, r.parent}];
      order = std::min(order, r.order);
    }
  const auto is_settled = [&](const model::AssociationRecord& r) {
    const auto old = by_id.find(r.row.id);
    return old != by_id.end() && old->second->cluster == r.cluster && old->second->parent == r.parent;
  };
  for (std::size_t i = 0; i < puts->size();) {
    model::AssociationRecord& r = (*puts)[i];
    if (is_settled(r)) {
      r.order = by_id.at(r.row.id)->order;
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < puts->size() && (*puts)[end].cluster == r.cluster && (*puts)[end].parent == r.parent &&
           !is_settled((*puts)[end]))
      ++end;
    std::int64_t& order = first[{r.cluster, r.parent}];
    order -= static_cast<std::int64_t>(end - i);
    for (std::int64_t at = order; i < end; ++i) (*puts)[i].order = at++;
  }
}

Status check_active(const model::AccountRecords& before, const model::AccountRecords& after, const ActiveJobs& active,
                    std::vector<std::string>* lines) {
  if (!active) return {};
  std::vector<std::string> found;
  const auto ask = [&](InUse question) {
    for (std::string& line : active(question)) found.push_back(std::move(line));
  };
  std::set<std::uint32_t> kept;
  for (const auto& r : after.associations) kept.insert(r.row.id);
  for (const auto& r : before.associations)
    if (!kept.contains(r.row.id) && r.row.is_user()) ask({r.cluster, r.row.account, r.row.user, {}, r.row.partition});
  for (const auto& r : before.qos)
    if (std::ranges::find(after.qos, r.name, &model::Qos::name) == after.qos.end()) ask({{}, {}, {}, r.name, {}});
  if (found.empty()) return {};
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (lines) *lines = std::move(found);
  return fail(ErrorCode::TransitionNotAllowed, "Job(s) active, cancel job(s) before remove");
}

// What comes back has a lower number than what came in between.
void sort_by_number(model::AccountRecords* all) {
  std::ranges::sort(all->associations, {}, [](const auto& r) { return r.row.id; });
  std::ranges::sort(all->qos, {}, &model::Qos::id);
  std::ranges::sort(all->tres, {}, &model::TresRecord::id);
  std::ranges::sort(all->wckeys, {}, &model::WckeyRecord::id);
  std::ranges::sort(all->resources, {}, &model::ResourceRecord::id);
}

}  // namespace

Result<std::string> checked_name(std::string_view what, std::string_view name, bool keep_case) {
  const auto bad = [&](std::string_view why) {
    return fail(ErrorCode::InvalidArgument, fmt::format("The name of the {} {}: {}", what, why, text::shown(name)));
  };
  if (name.empty()) return fail(ErrorCode::InvalidArgument, fmt::format("A {} needs a name", what));
  if (name.size() > kLongestName) return bad("is longer than 255 bytes");
  if (!is_utf8(name)) return bad("is not UTF-8");
  for (const char c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return bad("has control characters");
  return keep_case ? std::string(name) : text::lower(name);
}

Catalog Catalog::fresh() {
  Catalog made;
  model::AccountRecords& all = made.records_;
  all.revision = 1;
  const std::pair<const char*, const char*> tres[] = {{"cpu", ""},     {"mem", ""},    {"energy", ""}, {"node", ""},
                                                      {"billing", ""}, {"fs", "disk"}, {"vmem", ""},   {"pages", ""}};
  for (const auto& [type, name] : tres)
    all.tres.push_back({static_cast<std::uint32_t>(all.tres.size() + 1), type, name});
  model::Qos normal;
  normal.name = "normal";
  normal.id = made.counters_.next_qos++;
  normal.description = "Normal QOS default";
  all.qos.push_back(normal);
  all.accounts.push_back({std::string(model::kRootAccount), "default root account", "root"});
  all.users.push_back({"root", model::AdminLevel::Administrator});
  for (const CatalogRow& row : made.all_rows()) made.times_[{row.kind, row.key}] = {};
  return made;
}

Result<Catalog> Catalog::load(const std::vector<CatalogRow>& rows) {
  Catalog made;
  for (const CatalogRow& row : rows) {
    SPUR_TRY(load_row(row, is_set(row.deleted) ? &made.deleted_ : &made.records_, &made.counters_));
    made.times_[{row.kind, row.key}] = {row.created, row.deleted};
  }
  made.since_ = made.records_.revision;
  sort_by_number(&made.records_);
  if (const Status sound = check_records(made.records_); !sound)
    return fail(ErrorCode::Corrupt,
                fmt::format("the accounting database contradicts itself: {}", sound.error().message));
  return made;
}

std::vector<CatalogRow> Catalog::all_rows() const {
  std::vector<CatalogRow> rows = rows_of(records_, counters_);
  for (CatalogRow& row : record_rows(deleted_)) rows.push_back(std::move(row));
  for (CatalogRow& row : rows) {
    const auto found = times_.find({row.kind, row.key});
    if (found == times_.end()) continue;
    row.created = found->second.created;
    row.deleted = found->second.deleted;
  }
  return rows;
}

Status Catalog::check_current(const model::AccountsChange& change) const {
  if (change.based_on == records_.revision) return {};
  const auto late = fail(ErrorCode::Busy, "Somebody else has changed the same records meanwhile, try again");
  if (change.based_on < since_ || change.based_on > records_.revision) return late;
  bool current = true;
  const auto look = [&](RecordKind kind, const std::string& key) {
    const auto found = changed_.find({std::string(name_of(kind)), key});
    if (found != changed_.end() && found->second > change.based_on) current = false;
  };
  for (const auto& r : change.put.clusters) look(RecordKind::Cluster, model::key_of(r));
  for (const auto& r : change.put.accounts) look(RecordKind::Account, model::key_of(r));
  for (const auto& r : change.put.users) look(RecordKind::User, model::key_of(r));
  for (const auto& r : change.put.associations) look(RecordKind::Association, model::key_of(r));
  for (const auto& r : change.put.qos) look(RecordKind::Qos, model::key_of(r));
  for (const auto& r : change.put.coordinators) look(RecordKind::Coordinator, model::key_of(r));
  for (const auto& r : change.put.wckeys) look(RecordKind::Wckey, model::key_of(r));
  for (const auto& r : change.put.resources) look(RecordKind::Resource, model::key_of(r));
  for (const auto& r : change.remove) look(r.kind, r.key);
  return current ? Status() : Status(late);
}

void Catalog::note_changes(const Step& step) {
  for (const CatalogRow& row : step.put) changed_[{row.kind, row.key}] = records_.revision;
  for (const auto& key : step.erase) changed_[key] = records_.revision;
}

Result<Catalog::Step> Catalog::plan(const model::AccountsChange& change, const Actor& actor, Time now,
                                    const ActiveJobs& active, std::vector<std::string>* lines,
                                    const HadJobs& had_jobs) const {
  SPUR_TRY(check_current(change));
  if (!change.put.tres.empty())
    return fail(ErrorCode::InvalidArgument, "Resources that are counted come from controllers, not from requests");
  model::AccountRecords put = change.put;
  SPUR_TRY(normalise(&put, keeps_case_));
  Step step{*this, {}, {}, {}};
  Counters& next = step.next.counters_;
  model::AccountRecords& all = step.next.records_;
  const DeletedNumbers numbers(deleted_);
  SPUR_TRY(number(&put.associations, all.associations, numbers, &next.next_association,
                  [](auto& r) -> auto& { return r.row.id; }));
  SPUR_TRY(number(&put.wckeys, all.wckeys, numbers, &next.next_wckey, [](auto& r) -> auto& { return r.id; }));
  SPUR_TRY(
      number(&put.resources, all.resources, numbers, &next.next_resource, [](auto& r) -> auto& { return r.id; }));
  for (model::Qos& qos : put.qos) number_qos(all.qos, deleted_.qos, &next.next_qos, &qos);
  order_associations(all.associations, deleted_.associations, &put.associations);
  SPUR_TRY(merge(RecordKind::Cluster, put.clusters, change.remove, &all.clusters));
  SPUR_TRY(merge(RecordKind::Account, put.accounts, change.remove, &all.accounts));
  SPUR_TRY(merge(RecordKind::User, put.users, change.remove, &all.users));
  SPUR_TRY(merge(RecordKind::Association, put.associations, change.remove, &all.associations));
  SPUR_TRY(merge(RecordKind::Qos, put.qos, change.remove, &all.qos));
  SPUR_TRY(merge(RecordKind::Coordinator, put.coordinators, change.remove, &all.coordinators));
  SPUR_TRY(merge(RecordKind::Wckey, put.wckeys, change.remove, &all.wckeys));
  SPUR_TRY(merge(RecordKind::Resource, put.resources, change.remove, &all.resources));
  for (const auto& cluster : put.clusters) add_root(cluster.name, default_qos_, deleted_, &all, &next);
  give_default_qos(records_, default_qos_, put.clusters, &all);
  SPUR_TRY(check_rights(*this, step.next, actor));
  SPUR_TRY(check_records(all));
  SPUR_TRY(check_active(records_, all, active, lines));
  if (all == records_) return step;  // nothing to write, so no new revision either
  finish(&step, actor.name, now, had_jobs);
  return step;
}

void Catalog::finish(Step* step, std::string_view actor, Time now, const HadJobs& had_jobs) const {
  Catalog& next = step->next;
  ++next.records_.revision;
  sort_by_number(&next.records_);
  tell_difference(records_, actor, now, step);
  drop_revived(next.records_, &next.deleted_);
  const auto created = [&](const RowKey& key) {
    const auto found = times_.find(key);
    return found == times_.end() ? Time{} : found->second.created;
  };
  KeptRecords kept;
  if (!step->erase.empty()) kept = keep_removed(records_, next.records_, created, now, had_jobs);
  model::append(kept.records, &next.deleted_);
  for (CatalogRow& row : step->put) {
    Times& times = next.times_.try_emplace({row.kind, row.key}, Times{now, {}}).first->second;
    times.deleted = {};
    row.created = times.created;
  }
  for (const RowKey& key : step->erase) {
    if (kept.keys.contains(key))
      next.times_[key].deleted = now;
    else
      next.times_.erase(key);
  }
  std::erase_if(step->erase, [&](const RowKey& key) { return kept.keys.contains(key); });
  for (CatalogRow& row : record_rows(kept.records)) {
    row.created = created({row.kind, row.key});
    row.deleted = now;
    step->put.push_back(std::move(row));
  }
  next.note_changes(*step);
}

std::optional<Time> Catalog::cluster_deleted(std::string_view name) const {
  const auto found = times_.find({std::string(name_of(RecordKind::Cluster)), std::string(name)});
  if (found == times_.end() || !is_set(found->second.deleted)) return std::nullopt;
  return found->second.deleted;
}

Result<std::optional<Catalog::Step>> Catalog::plan_register(const model::ClusterRecord& cluster, Time now) const {
  Step step{*this, {}, {}, {}};
  model::AccountRecords& all = step.next.records_;
  model::ClusterRecord told = cluster;
  SPUR_ASSIGN(told.name, checked_name("cluster", cluster.name));
  const auto known = std::ranges::find(all.clusters, told.name, &model::ClusterRecord::name);
  if (known == all.clusters.end()) {
    all.clusters.push_back(told);
  } else {
    told.classification = known->classification;
    *known = told;
  }
  for (const model::TresCount& item : told.tres) {
    const std::size_t slash = item.tres.find('/');
    model::TresRecord record{0, item.tres.substr(0, slash),
                             slash == std::string::npos ? "" : item.tres.substr(slash + 1)};
    const auto same = [&](const model::TresRecord& r) { return r.type == record.type && r.name == record.name; };
    if (std::ranges::any_of(all.tres, same)) continue;
    record.id = step.next.counters_.next_tres++;
    all.tres.push_back(std::move(record));
  }
  add_root(told.name, default_qos_, deleted_, &all, &step.next.counters_);
  if (all == records_) return std::nullopt;
  SPUR_TRY(check_records(all));
  finish(&step, "root", now, {});
  return step;
}

Result<std::optional<Catalog::Step>> Catalog::plan_wckeys(const std::string& cluster, const std::set<WckeyUse>& used,
                                                          Time now) const {
  Step step{*this, {}, {}, {}};
  model::AccountRecords& all = step.next.records_;
  if (std::ranges::find(all.clusters, cluster, &model::ClusterRecord::name) == all.clusters.end()) return std::nullopt;
  const DeletedNumbers numbers(deleted_);
  for (const WckeyUse& use : used) {
    if (std::ranges::find(all.users, use.user, &model::UserRecord::name) == all.users.end()) continue;
    if (use.wckey.size() > kLongestName || !checked_name("wckey", use.wckey)) continue;  // a job may be called anything
    const auto of_user = [&](const model::WckeyRecord& r) { return r.user == use.user && r.cluster == cluster; };
    const auto add = [&](const std::string& name, bool is_default) {
      if (std::ranges::any_of(all.wckeys, [&](const auto& r) { return of_user(r) && r.name == name; })) return;
      model::WckeyRecord record{0, name, use.user, cluster, is_default};
      record.id = numbers.of(record);
      if (record.id == 0) record.id = step.next.counters_.next_wckey++;
      all.wckeys.push_back(std::move(record));
    };
    if (std::ranges::none_of(all.wckeys, [&](const auto& r) { return of_user(r) && r.is_default; })) add("", true);
    add(text::lower(use.wckey), false);
  }
  if (all == records_) return std::nullopt;
  SPUR_TRY(check_records(all));
  finish(&step, "root", now, {});
  return step;
}

model::AdminLevel Catalog::admin_level(std::string_view user) const {
  const auto found = std::ranges::find(records_.users, user, &model::UserRecord::name);
  return found == records_.users.end() ? model::AdminLevel::None : found->admin;
}

bool Catalog::coordinates(std::string_view user, std::string_view cluster, std::string_view account) const {
  std::set<std::string_view> seen;
  for (std::string at(account); !at.empty() && seen.insert(account).second;) {
    for (const auto& r : records_.coordinators)
      if (r.user == user && r.account == at) return true;
    const auto row = std::ranges::find_if(records_.associations, [&](const auto& r) {
      return r.cluster == cluster && r.row.account == at && !r.row.is_user();
    });
    if (row == records_.associations.end()) break;
    at = row->parent;
    account = row->parent;
  }
  return false;
}

model::AccountsUpdate Catalog::whole(std::string_view cluster) const {
  model::AccountsUpdate update;
  update.revision = records_.revision;
  update.all = true;
  update.associations = model::resolve(records_.associations, cluster);
  update.qos = records_.qos;
  std::map<std::string_view, model::AccountUser> users;
  for (const auto& r : records_.users) {
    if (r.admin == model::AdminLevel::None) continue;
    users[r.name].admin = r.admin;
  }
  for (const auto& row : update.associations) {
    if (!row.is_user()) continue;
    model::AccountUser& user = users[row.user];
    if (row.is_default) user.default_account = row.account;
  }
  for (const auto& r : records_.coordinators) users[r.user].coordinates.push_back(r.account);
  for (const auto& r : records_.wckeys) {
    if (r.cluster != cluster) continue;
    users[r.user].wckeys.push_back(r.name);
    if (r.is_default) users[r.user].default_wckey = r.name;
  }
  for (auto& [name, user] : users) {
    user.name = name;
    std::ranges::sort(user.coordinates);
    std::ranges::sort(user.wckeys);
    update.users.push_back(std::move(user));
  }
  return update;
}

namespace {

template <class Row, class Key, class Gone>
void compare(const std::vector<Row>& before, const std::vector<Row>& after, Key key, std::vector<Row>* changed,
             std::vector<Gone>* gone) {
  std::map<Gone, const Row*> old;
  for (const Row& row : before) old.emplace(key(row), &row);
  for (const Row& row : after) {
    const auto found = old.find(key(row));
    if (found == old.end() || *found->second != row) changed->push_back(row);
    if (found != old.end()) old.erase(found);
  }
  for (const auto& [name, row] : old) gone->push_back(name);
}

}  // namespace

std::optional<model::AccountsUpdate> difference(const model::AccountsUpdate& before,
                                                const model::AccountsUpdate& after) {
  model::AccountsUpdate update;
  update.revision = after.revision;
  compare(
      before.associations, after.associations, [](const auto& r) { return r.id; }, &update.associations,
      &update.associations_gone);
  compare(before.qos, after.qos, [](const auto& r) { return r.name; }, &update.qos, &update.qos_gone);
  compare(before.users, after.users, [](const auto& r) { return r.name; }, &update.users, &update.users_gone);
  if (update.associations.empty() && update.associations_gone.empty() && update.qos.empty() &&
      update.qos_gone.empty() && update.users.empty() && update.users_gone.empty())
    return std::nullopt;
  return update;
}

}  // namespace spur::acct
