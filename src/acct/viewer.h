// SPDX-License-Identifier: Apache-2.0
// What somebody may see of accounting where the site keeps things private (PrivateData of slurmdbd.conf): operators
// all, coordinators what belongs to their accounts, anybody what is his own. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "acct/catalog.h"
#include "base/ids.h"

namespace spur::acct {

struct Viewer {
  std::uint32_t hidden = 0;  // bits of text/private_data.h: of these he sees no more than what is his
  std::string name{};
  Uid uid{};
  std::set<std::pair<std::string, std::string>> coordinates{};  // cluster, account: with all below them

  bool lacks(std::uint32_t kind) const { return (hidden & kind) != 0; }
  bool has_account(std::string_view cluster, std::string_view account) const {
    return coordinates.contains({std::string(cluster), std::string(account)});
  }
  bool sees_job(std::string_view cluster, std::uint32_t owner, std::string_view account) const;
  bool sees_usage(std::string_view cluster, std::uint32_t owner, std::string_view account) const;
};

// `hidden`: what the site keeps from users.
Viewer viewer_of(const Catalog& catalog, std::uint32_t hidden, std::string name, Uid uid, bool is_admin);

// The records that he may see. Accounts above what he sees stay among the associations: limits come from them.
model::AccountRecords visible_records(const model::AccountRecords& records, const Viewer& viewer);

}  // namespace spur::acct
