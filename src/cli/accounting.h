// SPDX-License-Identifier: Apache-2.0
// The accounting service as commands see it, so that a test can put rows in its place. The real one is made by
// wire_accounting.cc.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "wire/accounting_client.h"

namespace spur::v1 {
class AcctEventQuery;
class AcctEventRow;
class AcctJobQuery;
class AcctJobRow;
class AcctPingReply;
class AcctUsageQuery;
class AcctUsageReply;
}  // namespace spur::v1

namespace spur::cli {

class Accounting {
 public:
  virtual ~Accounting() = default;
  virtual const std::string& cluster() const = 0;  // this one's name
  virtual std::string host() const { return "localhost"; }
  virtual Status ping(v1::AcctPingReply* reply) = 0;
  // By cluster and job id.
  virtual Status jobs(const v1::AcctJobQuery& query, const std::function<void(v1::AcctJobRow)>& each) = 0;
  virtual Status events(const v1::AcctEventQuery& query, const std::function<void(v1::AcctEventRow)>& each) = 0;
  virtual Status usage(const v1::AcctUsageQuery& query, v1::AcctUsageReply* reply) = 0;
};

std::unique_ptr<Accounting> make_wire_accounting(wire::AccountingOptions options, std::string cluster);

}  // namespace spur::cli
