// SPDX-License-Identifier: Apache-2.0
// The journal's thread, its role, and snapshots. etcd_journal_follow.cc follows, etcd_journal_lead.cc leads.
#include "os/etcd_journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "os/system_threads.h"

namespace spur::os {

namespace {

EtcdJournal::Options with_real_doors(EtcdJournal::Options options) {
  if (!options.threads) options.threads = std::make_shared<SystemThreads>();
  if (!options.snapshots) options.snapshots = std::make_shared<SnapshotFile>(options.membership.directory);
  return options;
}

}  // namespace

EtcdJournal::EtcdJournal(std::unique_ptr<io::KvStore> client, io::Clock& clock, Options options)
    : client_(std::move(client)),
      clock_(clock),
      options_(with_real_doors(std::move(options))),
      keys_(options_.membership.cluster),
      life_(fmt::format("{:x}", clock_.now().time_since_epoch().count())),
      wake_(options_.threads->signal()),
      asked_wake_(options_.threads->signal()) {
  standing_.silence = clock_.monotonic();
}

EtcdJournal::~EtcdJournal() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_->notify();
  asked_wake_->notify();
  asked_thread_.reset();
  thread_.reset();
  snapshot_thread_.reset();
}

void EtcdJournal::say(const std::string& line) const {
  if (options_.log) options_.log(line);
}

// It may be choosing its leader just now.
Result<EtcdRange> EtcdJournal::first_entry() {
  for (const Duration began = clock_.monotonic();;) {
    auto first = client_->range(keys_.log(0), keys_.log_end(), 1, false);
    if (first || clock_.monotonic() - began >= options_.patience) return first;
    const ErrorCode code = first.error().code;
    if (code != ErrorCode::Unreachable && code != ErrorCode::TimedOut && code != ErrorCode::Busy) return first;
    options_.threads->sleep(options_.failover / 3);
  }
}

Result<io::Journal::Recovery> EtcdJournal::recover() {
  SPUR_CHECK_MSG(!thread_, "recover() is called once");
  SPUR_ASSIGN(StoredSnapshot snapshot, options_.snapshots->load());
  SPUR_ASSIGN(const EtcdRange first, first_entry());
  auto begins = first.values.empty() ? std::optional<std::uint64_t>() : keys_.log_index(first.values.front().key);
  if (begins)
    if (const auto entry = decode_etcd_entry(first.values.front().value);
        entry && entry->parts == EtcdEntry::kBeginning)
      ++*begins;
  if (begins && *begins > snapshot.index + 1) {
    say(fmt::format("the log begins at entry {}, after the snapshot here ({}): asking the other controllers", *begins,
                    snapshot.index));
    if (!options_.fetch)
      return fail(ErrorCode::NotFound, "the log has been cut and nobody can be asked for the state");
    SPUR_ASSIGN(snapshot, options_.fetch());
    if (*begins > snapshot.index + 1)
      return fail(ErrorCode::Unreachable,
                  fmt::format("another controller's state ends at entry {}, before the log begins ({})",
                              snapshot.index, *begins));
    SPUR_TRY(options_.snapshots->store(snapshot.index, snapshot.bytes));
  }
  return Recovery{
      .snapshot_index = snapshot.index, .snapshot = std::move(snapshot.bytes), .entries = {}, .notice = {}};
}

void EtcdJournal::follow(std::uint64_t after, Roles roles) {
  {
    const std::lock_guard lock(mutex_);
    SPUR_CHECK_MSG(role_ == Role::Idle, "follow() comes once after recover() and after each on_follow");
    roles_ = std::move(roles);
    next_ = after + 1;
    given_ = last_given_ = 0;
    applied_ = after;
    resigned_ = false;
    makes_way_.reset();
    role_ = Role::Following;
    if (!thread_) thread_ = options_.threads->start([this] { run(); });
  }
  wake_->notify();
}

void EtcdJournal::append(std::uint64_t index, std::string entry, Done done) {
  {
    const std::lock_guard lock(mutex_);
    if (role_ == Role::Leading) {
      const std::uint64_t expected = queue_.empty() ? next_ : queue_.back().index + 1;
      SPUR_CHECK_MSG(index >= expected, "entries are numbered without gaps");
      queue_.push_back({index, std::move(entry), std::move(done)});
    }
  }
  if (done) return done(fail(ErrorCode::NotLeader, "this controller does not lead"));
  wake_->notify();
}

void EtcdJournal::retire() {
  {
    const std::lock_guard lock(mutex_);
    retired_ = true;
  }
  wake_->notify();
}

void EtcdJournal::hand_over(const std::string& successor) {
  {
    const std::lock_guard lock(mutex_);
    if (role_ != Role::Leading) return;
    makes_way_ = successor.empty() ? "-" + options_.membership.member : successor;
  }
  wake_->notify();
}

EtcdJournal::Standing EtcdJournal::standing() const {
  const std::lock_guard lock(mutex_);
  Standing out = standing_;
  out.leads = role_ == Role::Leading;
  out.silence = clock_.monotonic() - out.silence;
  return out;
}

void EtcdJournal::wait(std::unique_lock<std::mutex>& lock, Duration at_most) {
  wake_->wait(lock, std::max(at_most, Duration{0}), [this] { return stop_ || retired_ || makes_way_ || !queue_.empty(); });
}

void EtcdJournal::run() {
  heard_ = clock_.monotonic();
  std::unique_lock lock(mutex_);
  while (!stop_) {
    switch (role_) {
      case Role::Idle:
        wake_->wait(lock, seconds(60), [this] { return stop_ || role_ != Role::Idle; });
        break;
      case Role::Following:
        lock.unlock();
        follow_once();
        lock.lock();
        break;
      case Role::Leading: {
        const Duration next_beat = last_write_ + options_.failover / 3;
        if (queue_.empty()) wait(lock, next_beat - clock_.monotonic());
        auto appends = std::exchange(queue_, {});
        const bool retired = retired_;
        const auto makes_way = std::exchange(makes_way_, {});
        lock.unlock();
        lead_once(std::move(appends));
        if (retired) leave({}, "this controller is stopping");
        if (makes_way) leave(*makes_way, "it was asked to make way for another");
        lock.lock();
        break;
      }
    }
  }
  const bool led = std::exchange(role_, Role::Idle) == Role::Leading;
  auto left = std::exchange(queue_, {});
  lock.unlock();
  for (Append& append : left) append.done(fail(ErrorCode::NotLeader, "this controller is stopping"));
  if (led) resign();
}

// ---- snapshots: written beside the journal's thread, which must go on beating.

void EtcdJournal::save_snapshot(std::uint64_t index, std::string snapshot, Done done) {
  snapshot_thread_.reset();  // the one before is done
  snapshot_thread_ = options_.threads->start([this, index, bytes = std::move(snapshot), done = std::move(done)] {
    const auto& membership = options_.membership;
    Status status = options_.snapshots->store(index, bytes);
    if (status) {
      // Not known in etcd, the log is only kept for longer.
      if (auto told = client_->commit(
              {.unchanged = {}, .puts = {{keys_.member(membership.member), std::to_string(index)}}, .deletes = {}}))
        truncate(index);
    }
    done(std::move(status));
  });
}

void EtcdJournal::truncate(std::uint64_t own) {
  own_snapshots_.push_back(own);
  if (own_snapshots_.size() > options_.held_snapshots) own_snapshots_.pop_front();
  std::int64_t term = 0;
  {
    const std::lock_guard lock(mutex_);
    if (role_ != Role::Leading) return;
    term = term_;
  }
  const auto identity = read_identity(*client_, keys_, false);
  const auto known = client_->range(keys_.member(""), keys_.members_end(), 0, false);
  if (!known || !identity) return;
  std::uint64_t oldest = own;
  for (const auto& controller : identity->controllers) {
    const auto row = std::ranges::find(known->values, keys_.member(controller.name), &EtcdValue::key);
    std::uint64_t index = 0;
    if (row != known->values.end()) std::from_chars(row->value.data(), row->value.data() + row->value.size(), index);
    oldest = std::min(oldest, index);
  }
  if (own_snapshots_.size() == options_.held_snapshots) oldest = std::max(oldest, own_snapshots_.front());
  if (oldest == 0) return;
  // The entry of the snapshot itself stays: with an empty log nobody could tell where it begins.
  static_cast<void>(
      client_->commit({.unchanged = {{keys_.term(), term}},
                       .puts = {},
                       .deletes = {{keys_.log(0), keys_.log(oldest)}, {keys_.parts(0), keys_.parts(oldest)}}}));
}

}  // namespace spur::os
