// SPDX-License-Identifier: Apache-2.0
// Jobs that leave the database, and come back: an archive is a row of AcctJobRow messages, each with its length (32
// bits, little-endian) in front.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/accounting_store.h"

namespace spur::acct {

std::string encode_archive(const std::string& cluster, const std::vector<io::AccountingStore::Old>& jobs);

struct ArchivedJob {
  std::string cluster;
  io::AccountingStore::Old row;
};
// Corrupt for what is no archive; what comes before the damage is not returned either.
Result<std::vector<ArchivedJob>> decode_archive(std::string_view bytes);

}  // namespace spur::acct
