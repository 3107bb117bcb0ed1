// SPDX-License-Identifier: Apache-2.0
// What an administrator may do beyond asking (accounting.h): reservations of the past, changes of jobs, archives.
#pragma once

#include <functional>

#include "cli/accounting.h"

namespace spur::v1 {
class AcctArchiveReply;
class AcctArchiveRequest;
class AcctJobEdit;
class AcctJobEditReply;
class AcctReservationQuery;
class AcctReservationRow;
class AcctStatisticsReply;
class AcctStatisticsRequest;
}  // namespace spur::v1

namespace spur::cli {

class AccountingBooks {
 public:
  virtual ~AccountingBooks() = default;
  virtual Status reservations(const v1::AcctReservationQuery& query,
                              const std::function<void(v1::AcctReservationRow)>& each) = 0;
  virtual Status edit_jobs(const v1::AcctJobEdit& edit, v1::AcctJobEditReply* reply) = 0;
  virtual Status archive(const v1::AcctArchiveRequest& request, v1::AcctArchiveReply* reply) = 0;
  virtual Status statistics(const v1::AcctStatisticsRequest& request, v1::AcctStatisticsReply* reply) = 0;
  virtual Status reconfigure() = 0;
  virtual Status shutdown() = 0;
};

// Of a service that keeps them; null for one that only answers.
inline AccountingBooks* books_of(Accounting& accounting) {
  return dynamic_cast<AccountingBooks*>(&accounting);
}

}  // namespace spur::cli
