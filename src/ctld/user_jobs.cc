// SPDX-License-Identifier: Apache-2.0
#include "ctld/user_jobs.h"

namespace spur::ctld {

UserJobs::Jobs UserJobs::of(const model::View& view, Uid user) {
  const std::lock_guard lock(mutex_);
  return find(view, user);
}

std::optional<UserJobs::Jobs> UserJobs::of_now(const model::View& view, Uid user) {
  constexpr std::size_t kFew = 1000;
  constexpr Duration kMoment = milliseconds(500);
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return std::nullopt;
  const bool near = view.as_of - seen_at_ < kMoment && seen_at_ - view.as_of < kMoment;
  if (view.jobs.size() + seen_.size() > kFew && !near) return std::nullopt;
  return find(view, user);
}

UserJobs::Jobs UserJobs::find(const model::View& view, Uid user) {
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
  seen_at_ = view.as_of;
  const auto at = by_user_.find(user);
  return at == by_user_.end() ? Jobs{} : at->second;
}

void UserJobs::forget_unused() {
  const std::lock_guard lock(mutex_);
  if (!used_) {
    seen_.clear();
    seen_at_ = {};
    by_user_.clear();
  }
  used_ = false;
}

}  // namespace spur::ctld
