// SPDX-License-Identifier: Apache-2.0
#include "acct/viewer.h"

#include <algorithm>

#include "text/private_data.h"

namespace spur::acct {
namespace {

// His own rows, those of his accounts, and the accounts above both.
std::vector<model::AssociationRecord> visible_associations(const std::vector<model::AssociationRecord>& all,
                                                           const Viewer& viewer) {
  std::set<std::pair<std::string, std::string>> above;  // accounts whose own row is needed
  const auto is_his = [&](const model::AssociationRecord& r) {
    return (r.row.is_user() && r.row.user == viewer.name) || viewer.has_account(r.cluster, r.row.account);
  };
  for (const auto& r : all)
    if (is_his(r)) above.emplace(r.cluster, r.row.is_user() ? r.row.account : r.parent);
  for (std::size_t known = 0; known != above.size();) {
    known = above.size();
    for (const auto& r : all)
      if (!r.row.is_user() && !r.parent.empty() && above.contains({r.cluster, r.row.account}))
        above.emplace(r.cluster, r.parent);
  }
  std::vector<model::AssociationRecord> out;
  for (const auto& r : all)
    if (is_his(r) || (!r.row.is_user() && above.contains({r.cluster, r.row.account}))) out.push_back(r);
  return out;
}

}  // namespace

bool Viewer::sees_job(std::string_view cluster, std::uint32_t owner, std::string_view account) const {
  return !lacks(text::kPrivateJobs) || owner == uid.value || has_account(cluster, account);
}
bool Viewer::sees_usage(std::string_view cluster, std::uint32_t owner, std::string_view account) const {
  return !lacks(text::kPrivateUsage) || owner == uid.value || has_account(cluster, account);
}

Viewer viewer_of(const Catalog& catalog, std::uint32_t hidden, std::string name, Uid uid, bool is_admin) {
  Viewer out;
  out.name = std::move(name);
  out.uid = uid;
  if (hidden == 0 || is_admin || catalog.admin_level(out.name) >= model::AdminLevel::Operator) return out;
  out.hidden = hidden;
  const auto& records = catalog.records();
  if (std::ranges::none_of(records.coordinators, [&](const auto& r) { return r.user == out.name; })) return out;
  for (const auto& r : records.associations)
    if (!r.row.is_user() && catalog.coordinates(out.name, r.cluster, r.row.account))
      out.coordinates.emplace(r.cluster, r.row.account);
  return out;
}

model::AccountRecords visible_records(const model::AccountRecords& records, const Viewer& viewer) {
  if (!viewer.lacks(text::kPrivateUsers | text::kPrivateAccounts)) return records;
  model::AccountRecords out = records;
  const auto coordinates = [&](const std::string& account) {
    return std::ranges::any_of(viewer.coordinates, [&](const auto& row) { return row.second == account; });
  };
  if (viewer.lacks(text::kPrivateUsers)) {
    std::erase_if(out.users, [&](const auto& r) { return r.name != viewer.name; });
    std::erase_if(out.wckeys, [&](const auto& r) { return r.user != viewer.name; });
    std::erase_if(out.coordinators, [&](const auto& r) { return r.user != viewer.name && !coordinates(r.account); });
    out.associations = visible_associations(records.associations, viewer);
  }
  if (viewer.lacks(text::kPrivateAccounts))
    std::erase_if(out.accounts, [&](const auto& r) { return !coordinates(r.name); });
  return out;
}

}  // namespace spur::acct
