// SPDX-License-Identifier: Apache-2.0
#include "model/account_records.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace spur::model {

std::string key_of(const ClusterRecord& record) {
  return record.name;
}
std::string key_of(const AccountRecord& record) {
  return record.name;
}
std::string key_of(const UserRecord& record) {
  return record.name;
}
std::string key_of(const AssociationRecord& record) {
  return std::to_string(record.row.id);
}
std::string key_of(const Qos& record) {
  return record.name;
}
std::string key_of(const CoordinatorRecord& record) {
  return record.account + "\n" + record.user;
}
std::string key_of(const WckeyRecord& record) {
  return std::to_string(record.id);
}
std::string key_of(const TresRecord& record) {
  return std::to_string(record.id);
}
std::string key_of(const ResourceRecord& record) {
  return std::to_string(record.id);
}

void append(const AccountRecords& more, AccountRecords* to) {
  const auto add = [](const auto& from, auto* list) { list->insert(list->end(), from.begin(), from.end()); };
  add(more.clusters, &to->clusters);
  add(more.accounts, &to->accounts);
  add(more.users, &to->users);
  add(more.associations, &to->associations);
  add(more.qos, &to->qos);
  add(more.coordinators, &to->coordinators);
  add(more.wckeys, &to->wckeys);
  add(more.tres, &to->tres);
  add(more.resources, &to->resources);
}

std::vector<TreeRow> tree_of(const std::vector<AssociationRecord>& all, std::string_view cluster) {
  std::map<std::string_view, std::vector<const AssociationRecord*>> below;  // account -> its children
  for (const AssociationRecord& record : all)
    if (record.cluster == cluster) below[record.parent].push_back(&record);
  for (auto& [account, rows] : below)
    std::ranges::sort(rows, {}, [](const AssociationRecord* r) { return std::make_pair(r->order, r->row.id); });

  std::vector<TreeRow> out;
  std::uint32_t number = 0;
  const std::function<void(std::string_view, std::uint32_t, std::uint32_t)> walk =
      [&](std::string_view account, std::uint32_t depth, std::uint32_t parent) {
        const auto found = below.find(account);
        if (found == below.end()) return;
        for (const AssociationRecord* record : found->second) {
          const std::size_t at = out.size();
          out.push_back({record, depth, ++number, 0, parent});
          if (!record->row.is_user()) walk(record->row.account, depth + 1, record->row.id);
          out[at].right = ++number;
        }
      };
  walk("", 0, 0);
  return out;
}

namespace {

template <class T>
void inherit(std::optional<T>& own, const std::optional<T>& parent) {
  if (!own) own = parent;
}
// One resource at a time.
void inherit(TresCounts& own, const TresCounts& parent) {
  for (const TresCount& item : parent)
    if (!find_tres(own, item.tres)) own.push_back(item);
}

}  // namespace

Association resolve(const AssociationRecord& record, const Association* parent) {
  Association row = record.row;
  row.parent = parent ? parent->id : 0;
  if (parent) {
    inherit(row.max_jobs, parent->max_jobs);
    inherit(row.max_jobs_accrue, parent->max_jobs_accrue);
    inherit(row.max_submit, parent->max_submit);
    inherit(row.max_wall_minutes, parent->max_wall_minutes);
    inherit(row.min_priority, parent->min_priority);
    inherit(row.max_tres_per_job, parent->max_tres_per_job);
    inherit(row.max_tres_per_node, parent->max_tres_per_node);
    inherit(row.max_tres_minutes_per_job, parent->max_tres_minutes_per_job);
    inherit(row.max_tres_run_minutes, parent->max_tres_run_minutes);
    if (row.default_qos.empty()) row.default_qos = parent->default_qos;
    if (row.qos.empty()) row.qos = parent->qos;
  }
  if (record.row.qos.empty()) {
    for (const std::string& name : record.qos_added)
      if (std::ranges::find(row.qos, name) == row.qos.end()) row.qos.push_back(name);
    std::erase_if(row.qos, [&](const std::string& name) {
      return std::ranges::find(record.qos_removed, name) != record.qos_removed.end();
    });
  }
  return row;
}

std::vector<Association> resolve(const std::vector<AssociationRecord>& all, std::string_view cluster) {
  const std::vector<TreeRow> tree = tree_of(all, cluster);
  std::vector<Association> out;
  std::map<std::uint32_t, std::size_t> at;
  out.reserve(tree.size());
  for (const TreeRow& row : tree) {
    const auto parent = at.find(row.parent);
    out.push_back(resolve(*row.record, parent == at.end() ? nullptr : &out[parent->second]));
    at.emplace(out.back().id, out.size() - 1);
  }
  return out;
}

}  // namespace spur::model
