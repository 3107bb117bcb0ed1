// SPDX-License-Identifier: Apache-2.0
// Where a controller's stream gets updates of accounts, users, associations and QOS from. Served by the catalogue;
// attach.cc only passes the bytes on (AcctToController.catalogue).
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "acct/catalog.h"

namespace spur::acct {

class CatalogFeed {
 public:
  // May be called from any thread, also from inside watch(); takes its time when the controller is slow.
  using Push = std::function<void(std::string update)>;
  virtual ~CatalogFeed() = default;
  // `push` first gets all that there is for the cluster, then every change, until unwatch(id) returns.
  virtual std::uint64_t watch(const std::string& cluster, Push push) = 0;
  virtual void unwatch(std::uint64_t id) = 0;
  // Jobs of the cluster have these keys. Called after their records are in the database; often with the same ones.
  virtual void note_wckeys(const std::string& cluster, const std::set<WckeyUse>& used) = 0;
};

}  // namespace spur::acct
