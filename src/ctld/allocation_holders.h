// SPDX-License-Identifier: Apache-2.0
// Who holds interactive allocations (salloc): it waits here for the end of its job, over a connection that breaks when
// it is gone. InactiveLimit releases those that nobody has held for so long. Only those that were held once under this
// leader are looked at: salloc --no-shell leaves at once, and nobody is to wait for it.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/view.h"

namespace spur::ctld {

class AllocationHolders {
 public:
  // Somebody waits for the end of the job that he holds. `gone`: whether he has hung up; empty: nobody can say, so he is
  // there for as long as the job is.
  void attend(JobId job, std::function<bool()> gone, Duration now);
  void forget_all() { held_.clear(); }

  // Jobs that nobody has held for InactiveLimit; each is told once.
  std::vector<JobId> take_abandoned(const model::View& view, Duration now);
  // When to look again.
  Duration next(const model::View& view) const;

 private:
  struct Held {
    std::vector<std::function<bool()>> holders;
    Duration seen{0};  // when there was one last
  };
  std::map<JobId, Held> held_;
  Duration look_at_{0};
};

}  // namespace spur::ctld
