// SPDX-License-Identifier: Apache-2.0
// What an administrator may do beyond asking (accounting.h): reservations of the past, and changes of jobs.
#pragma once

#include <functional>

#include "cli/accounting.h"

namespace spur::v1 {
class AcctJobEdit;
class AcctJobEditReply;
class AcctReservationQuery;
class AcctReservationRow;
}  // namespace spur::v1

namespace spur::cli {

class AccountingBooks {
 public:
  virtual ~AccountingBooks() = default;
  virtual Status reservations(const v1::AcctReservationQuery& query,
                              const std::function<void(v1::AcctReservationRow)>& each) = 0;
  virtual Status edit_jobs(const v1::AcctJobEdit& edit, v1::AcctJobEditReply* reply) = 0;
};

// Of a service that keeps them; null for one that only answers.
inline AccountingBooks* books_of(Accounting& accounting) {
  return dynamic_cast<AccountingBooks*>(&accounting);
}

}  // namespace spur::cli
