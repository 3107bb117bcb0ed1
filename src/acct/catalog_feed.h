// SPDX-License-Identifier: Apache-2.0
// Where a controller's stream gets updates of accounts, users, associations and QOS from. Served by the catalogue;
// attach.cc only passes the bytes on (AcctToController.catalogue).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace spur::acct {

class CatalogFeed {
 public:
  // May be called from any thread, also from inside watch(); takes its time when the controller is slow.
  using Push = std::function<void(std::string update)>;
  virtual ~CatalogFeed() = default;
  // `push` first gets all that there is for the cluster, then every change, until unwatch(id) returns.
  virtual std::uint64_t watch(const std::string& cluster, Push push) = 0;
  virtual void unwatch(std::uint64_t id) = 0;
};

}  // namespace spur::acct
