// SPDX-License-Identifier: Apache-2.0
// The catalogue of accounts as sacctmgr sees it, so that a test can put records in its place. The real one is made by
// wire_accounts.cc.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/account_records.h"
#include "wire/accounting_client.h"

namespace spur::cli {

class Accounts {
 public:
  virtual ~Accounts() = default;
  virtual const std::string& cluster() const = 0;  // this one's name
  struct Records {
    model::AccountRecords records;
    std::set<model::RecordKey> deleted;  // those of them that are not in force
  };
  virtual Result<Records> read(bool with_deleted) = 0;
  Result<model::AccountRecords> records() {
    SPUR_ASSIGN(Records got, read(false));
    return std::move(got.records);
  }
  // Busy: somebody else was faster. Jobs that use what is to be removed: their lines, and nothing has changed.
  virtual Result<std::vector<std::string>> change(const model::AccountsChange& change) = 0;
  virtual Result<std::vector<model::TransactionRecord>> transactions(Time from, Time until) = 0;
};

std::unique_ptr<Accounts> make_wire_accounts(wire::AccountingOptions options, std::string cluster);

}  // namespace spur::cli
