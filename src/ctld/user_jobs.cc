// SPDX-License-Identifier: Apache-2.0
#include "ctld/user_jobs.h"

namespace spur::ctld {

UserJobs::Jobs UserJobs::of(const model::View& view, Uid user) {
  const std::lock_guard lock(mutex_);
  used_ = true;
  // Forwards or backwards: of two that ask at once the later may have the older view.
  Jobs::diff(seen_, view.jobs, [&](std::uint32_t id, const model::JobPtr* before, const model::JobPtr* after) {
    if (before && (!after || (*after)->spec->uid != (*before)->spec->uid)) {
      const auto at = by_user_.find((*before)->spec->uid);
      at->second.erase(id);
      if (at->second.empty()) by_user_.erase(at);
    }
    if (after) by_user_[(*after)->spec->uid].set(id, *after);
  });
  seen_ = view.jobs;
  const auto at = by_user_.find(user);
  return at == by_user_.end() ? Jobs{} : at->second;
}

void UserJobs::forget_unused() {
  const std::lock_guard lock(mutex_);
  if (!used_) {
    seen_.clear();
    by_user_.clear();
  }
  used_ = false;
}

}  // namespace spur::ctld
