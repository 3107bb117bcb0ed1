// SPDX-License-Identifier: Apache-2.0
// Who looks at a controller that follows must find what was acknowledged before, whoever acknowledged it
// (docs/decisions/0017). etcd is asked at which revision it is, once for all who wait; when the log has been given up to
// that revision, they go on. On a thread of its own: etcd may take long to answer, and the journal's must not miss that
// the leader is silent.
#include <algorithm>
#include <iterator>
#include <utility>

#include "os/etcd_journal.h"

namespace spur::os {
namespace {

constexpr Duration kLongest = seconds(2);
constexpr Duration kStale = seconds(1);  // after so long a silence commands warn (wire/controller_channel.h)

}  // namespace

// The leader: nobody can have taken over within `failover` of the beginning of a write that got through. One that
// follows: after so long a silence those who look are told how old the answer is. It must have listened, though: one
// that stood still has heard nothing either, and is about to.
bool EtcdJournal::is_current_locked() const {
  const Duration now = clock_.monotonic(), silence = now - standing_.silence;
  if (role_ == Role::Leading) return !resigned_ && silence < options_.failover;
  const Duration patience = std::max(kStale, options_.failover);
  return silence >= patience && now - looked_ < patience / 2;
}

bool EtcdJournal::is_current() const {
  const std::lock_guard lock(mutex_);
  return is_current_locked();
}

void EtcdJournal::catch_up(Done done) {
  Status now;
  {
    const std::lock_guard lock(mutex_);
    if (stop_ && !is_current_locked()) {
      now = fail(ErrorCode::NotLeader, "this controller is stopping");
    } else if (!is_current_locked()) {
      asked_.push_back({clock_.monotonic(), std::move(done)});
      if (!asked_thread_) asked_thread_ = options_.threads->start([this] { answer_asked(); });
    }
  }
  if (done) return done(std::move(now));
  asked_wake_->notify();
}

// Waits until we are where etcd was when it answered. A leader that is still named there has written everything itself.
bool EtcdJournal::settle(const Result<EtcdRange>& term, std::unique_lock<std::mutex>& lock) {
  if (!term) return false;
  const std::int64_t leads = term->values.empty() ? 0 : term->values.front().changed;
  const auto there = [&] {
    return role_ == Role::Leading ? term_ == leads : role_ == Role::Following && given_ >= term->revision;
  };
  wanted_ = std::max(wanted_, term->revision);
  wake_->notify();
  asked_wake_->wait(lock, options_.failover, [&] { return stop_ || there(); });
  return there();
}

void EtcdJournal::answer_asked() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    asked_wake_->wait(lock, seconds(60), [this] { return stop_ || !asked_.empty(); });
    if (stop_ || asked_.empty()) continue;
    auto asked = std::exchange(asked_, {});
    lock.unlock();
    const auto term = client_->range(keys_.term(), "", 1, false);
    if (!term) options_.threads->sleep(options_.failover / 30);
    lock.lock();
    const bool current = settle(term, lock) || is_current_locked();
    const Duration now = clock_.monotonic();
    std::deque<Asked> again;
    lock.unlock();
    for (Asked& one : asked) {
      if (current)
        one.done({});
      else if (now - one.since < kLongest)
        again.push_back(std::move(one));
      else
        one.done(fail(ErrorCode::Unreachable, "this controller cannot find out what the others have done; ask another"));
    }
    lock.lock();
    asked_.insert(asked_.begin(), std::make_move_iterator(again.begin()), std::make_move_iterator(again.end()));
  }
  auto left = std::exchange(asked_, {});
  lock.unlock();
  for (Asked& one : left) one.done(fail(ErrorCode::NotLeader, "this controller is stopping"));
}

}  // namespace spur::os
