// SPDX-License-Identifier: Apache-2.0
// Inside of acct/: what becomes of records that are removed. What is younger than a day and had no jobs is gone for
// good, as if it had been a slip of the pen. All else is kept aside: it counts for nothing, but `withdeleted` shows
// it, reports of its time place it where it was, and it gets its number back when it is added again. Called by
// Catalog::plan.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "acct/catalog.h"

namespace spur::acct {

using RowKey = std::pair<std::string, std::string>;  // kind, key

// The removed records that are to be kept, as they are kept: associations and QOS without limits, so that none of
// before is in force when they are added again.
struct KeptRecords {
  model::AccountRecords records;
  std::set<RowKey> keys;
};
// Of a removal that takes away several records of a kind, or accounts and users with what hangs on them, the jobs of
// any young one keep all of them.
KeptRecords keep_removed(const model::AccountRecords& before, const model::AccountRecords& after,
                         const std::function<Time(const RowKey&)>& created, Time now, const HadJobs& had_jobs);

// Takes out of `deleted` what is in force again.
void drop_revived(const model::AccountRecords& live, model::AccountRecords* deleted);

// The numbers that new records get back; 0 if none like it was deleted. Made once for all records of a change, so that a
// file with thousands of users does not look through thousands of deleted ones for each of them.
class DeletedNumbers {
 public:
  explicit DeletedNumbers(const model::AccountRecords& deleted);
  std::uint32_t of(const model::AssociationRecord& record) const;
  std::uint32_t of(const model::WckeyRecord& record) const;
  std::uint32_t of(const model::ResourceRecord& record) const;

 private:
  std::unordered_map<std::string, std::uint32_t> associations_, wckeys_, resources_;  // look-up only
};

}  // namespace spur::acct
