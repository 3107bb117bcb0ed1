// SPDX-License-Identifier: Apache-2.0
// Which jobs a question means: Slurm's rules of sacct, beyond what the database chooses by. Pure.
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "io/accounting_store.h"

namespace spur::v1 {
class AcctJob;
class AcctJobQuery;
}  // namespace spur::v1

namespace spur::wire {

class AccountingQuery {
 public:
  // InvalidArgument for a host list that is none.
  static Result<AccountingQuery> make(const v1::AcctJobQuery& query);

  // What the database is to look for; a little more than matches().
  io::AcctJobWish wish(const std::string& cluster) const;
  bool matches(const v1::AcctJob& job) const;

 private:
  explicit AccountingQuery(const v1::AcctJobQuery& query) : query_(query) {}
  bool is_target(const v1::AcctJob& job) const;
  bool in_window(const v1::AcctJob& job) const;
  bool has_properties(const v1::AcctJob& job) const;
  bool was_in(std::uint32_t state, const v1::AcctJob& job) const;

  const v1::AcctJobQuery& query_;  // the caller keeps it
  std::set<std::string> nodes_;
};

}  // namespace spur::wire
