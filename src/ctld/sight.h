// SPDX-License-Identifier: Apache-2.0
// What a caller may see of the cluster where the site keeps things private (PrivateData). Administrators and
// operators see all; coordinators also see jobs and usage of their accounts; anybody sees what is his own. Decided by
// the credential and the present accounts, also of what is told of the past.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "model/caller.h"
#include "model/view.h"

namespace spur::ctld {

class Sight {
 public:
  Sight(const model::View& present, const model::Caller& caller);

  // `kind`: a bit of text/private_data.h. True: he sees of it no more than what is his.
  bool lacks(std::uint32_t kind) const { return (private_ & kind) != 0; }
  bool sees(const model::Job& job) const;
  bool sees(const model::Reservation& reservation) const;  // one that he may use
  bool sees(const model::Association& association) const;  // its usage
  // For lists of jobs; empty: he sees all of them.
  std::function<bool(const model::Job&)> of_jobs() const;

 private:
  std::uint32_t private_ = 0;  // to this caller
  Uid uid_;
  std::shared_ptr<const model::AccountBook> accounts_;
};

}  // namespace spur::ctld
