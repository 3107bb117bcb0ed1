// SPDX-License-Identifier: Apache-2.0
// What leaves the database, and comes back: an archive is a row of AcctArchived messages, each with its length (32
// bits, little-endian) in front.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/accounting_store.h"

namespace spur::acct {

std::string encode_archive(const std::string& cluster, const std::vector<io::AccountingStore::Old>& jobs);
std::string encode_archive(const std::string& cluster, const io::AccountingStore::OldRows& rows);

struct ArchivedJob {
  std::string cluster;
  io::AccountingStore::Old row;
};
struct Archive {
  std::vector<ArchivedJob> jobs;
  std::map<std::string, io::AccountingStore::OldRows> rows;  // by cluster
};
// Corrupt for what is no archive; what comes before the damage is not returned either.
Result<Archive> decode_archive(std::string_view bytes);

}  // namespace spur::acct
