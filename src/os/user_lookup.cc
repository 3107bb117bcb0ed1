// SPDX-License-Identifier: Apache-2.0
#include "os/user_lookup.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "os/files.h"

namespace spur::os {

Result<Identity> look_up_user(Uid uid, Gid gid) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(4096);
  int rc;
  while ((rc = ::getpwuid_r(uid.value, &entry, buffer.data(), buffer.size(), &found)) == ERANGE)
    buffer.resize(buffer.size() * 2);
  if (rc != 0) return fail_errno(fmt::format("cannot look up uid {}", uid.value), rc);
  if (found == nullptr)
    return fail(ErrorCode::InvalidUser, fmt::format("uid {} is not known on this node", uid.value));
  Identity out{.uid = uid, .gid = gid, .name = entry.pw_name, .groups = {}};
  std::vector<gid_t> groups(64);
  int count = static_cast<int>(groups.size());
  while (::getgrouplist(entry.pw_name, gid.value, groups.data(), &count) < 0) {
    if (count <= static_cast<int>(groups.size())) count = static_cast<int>(groups.size()) * 2;
    groups.resize(static_cast<std::size_t>(count));
  }
  for (int i = 0; i < count; ++i) out.groups.push_back(Gid{groups[static_cast<std::size_t>(i)]});
  return out;
}

UserLookup::UserLookup(EventLoop& loop, Duration keep) : loop_(loop), keep_(keep), thread_([this] { work(); }) {}

UserLookup::~UserLookup() {
  *alive_ = false;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void UserLookup::find(Uid uid, Gid gid, Found found) {
  const Key key{uid, gid};
  const auto it = known_.find(key);
  if (it != known_.end() && EventLoop::now() - it->second.known_at < keep_) return found(it->second.identity);
  const bool asked = waiting_.contains(key);
  waiting_.emplace(key, std::move(found));
  if (asked) return;
  {
    const std::lock_guard lock(mutex_);
    wanted_.push_back(key);
  }
  wake_.notify_one();
}

void UserLookup::work() {
  for (;;) {
    Key key;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !wanted_.empty(); });
      if (stopping_) return;
      key = wanted_.front();
      wanted_.pop_front();
    }
    auto result = look_up_user(key.first, key.second);
    loop_.post([this, alive = alive_, key, result = std::move(result)]() mutable {
      if (*alive) answer(key, std::move(result));
    });
  }
}

void UserLookup::answer(Key key, Result<Identity> result) {
  if (result) known_[key] = {*result, EventLoop::now()};
  std::vector<Found> waiting;
  const auto [first, last] = waiting_.equal_range(key);
  for (auto it = first; it != last; ++it) waiting.push_back(std::move(it->second));
  waiting_.erase(first, last);
  for (const auto& found : waiting) found(result);
}

}  // namespace spur::os
