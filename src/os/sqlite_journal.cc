// SPDX-License-Identifier: Apache-2.0
#include "os/sqlite_journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace spur::os {

Result<std::unique_ptr<SqliteJournal>> SqliteJournal::open(const std::string& state_directory, Options options) {
  SPUR_ASSIGN(JournalStore store, JournalStore::open(state_directory));
  return std::unique_ptr<SqliteJournal>(new SqliteJournal(std::move(store), options));
}

SqliteJournal::~SqliteJournal() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Result<io::Journal::Recovery> SqliteJournal::recover() {
  SPUR_CHECK_MSG(next_index_ == 0, "recover() is called once");
  SPUR_ASSIGN(Recovery recovery, store_.load());
  next_index_ = marked_ = store_.last_index() + 1;
  trimming_ = true;  // a crash may have interrupted it
  thread_ = std::thread([this] { run(); });
  return recovery;
}

void SqliteJournal::append(std::uint64_t index, std::string entry, Done done) {
  std::vector<Append> lone;
  {
    const std::lock_guard lock(mutex_);
    SPUR_CHECK_MSG(next_index_ != 0, "recover() comes first");
    SPUR_CHECK_MSG(index == next_index_, "entries are numbered without gaps");
    ++next_index_;
    if (may_write_here(entry)) {
      lent_ = true;
      lone.push_back({std::move(entry), std::move(done)});
    } else {
      queue_.push_back({std::move(entry), std::move(done)});
    }
  }
  if (lone.empty()) return wake_.notify_one();
  commit(std::move(lone));
  give_back();
}

bool SqliteJournal::may_write_here(const std::string& entry) const {
  return resting_ && !lent_ && quick_ && !stop_ && queue_.empty() && new_snapshots_.empty() &&
         entry.size() < options_.lone_bytes;
}

// The caller has written.
void SqliteJournal::give_back() {
  bool wake;
  {
    const std::lock_guard lock(mutex_);
    lent_ = false;
    nudged_ = !failed_ && store_.wants_checkpoint(options_.checkpoint_pages);
    wake = asleep_ || nudged_ || stop_ || !queue_.empty() || !new_snapshots_.empty();
  }
  if (wake) wake_.notify_one();
}

void SqliteJournal::save_snapshot(std::uint64_t index, std::string snapshot, Done done) {
  {
    const std::lock_guard lock(mutex_);
    SPUR_CHECK_MSG(next_index_ != 0, "recover() comes first");
    new_snapshots_.push_back({.index = index, .data = std::move(snapshot), .done = std::move(done)});
  }
  wake_.notify_one();
}

void SqliteJournal::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const bool background = !failed_ && (!snapshots_.empty() || trimming_);
    if (!background) rest(lock);
    nudged_ = false;
    std::move(new_snapshots_.begin(), new_snapshots_.end(), std::back_inserter(snapshots_));
    new_snapshots_.clear();
    std::vector<Append> group = take_group();
    if (group.empty() && stop_) break;
    lock.unlock();
    const std::size_t arrived = group.size();
    if (!group.empty()) commit(std::move(group));
    background_step(arrived);
    lock.lock();
  }
  lock.unlock();
  while (!snapshots_.empty())
    finish_snapshot(fail(ErrorCode::Busy, "the journal was closed before the snapshot was stored"));
  // Not needed for safety: only the next start is a little faster.
  if (!failed_) static_cast<void>(store_.close());
}

// Until there is something to do for the thread; on the way the mark is synced, once no entry has come for a while.
void SqliteJournal::rest(std::unique_lock<std::mutex>& lock) {
  const auto work = [&] { return !lent_ && (stop_ || nudged_ || !queue_.empty() || !new_snapshots_.empty()); };
  const auto marked = [&] { return marked_ == next_index_; };
  while (!work()) {
    resting_ = true;
    if (!lent_ && (failed_ || marked())) {
      asleep_ = true;
      wake_.wait(lock, [&] { return work() || (!lent_ && !failed_ && !marked()); });
      asleep_ = false;
      continue;
    }
    const std::uint64_t next = next_index_;
    if (wake_.wait_for(lock, options_.rest, work) || lent_ || next != next_index_ || failed_) continue;
    resting_ = false;
    lock.unlock();
    if (Status synced = store_.sync_mark(); !synced) fail_for_good(synced.error());
    lock.lock();
    marked_ = next;
  }
  resting_ = false;
}

std::vector<SqliteJournal::Append> SqliteJournal::take_group() {
  std::vector<Append> group;
  std::size_t bytes = 0;
  while (!queue_.empty() && group.size() < options_.max_group_entries && bytes < options_.max_group_bytes) {
    bytes += queue_.front().entry.size();
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return group;
}

void SqliteJournal::commit(std::vector<Append> group) {
  if (!failed_) {
    std::vector<std::string_view> entries;
    entries.reserve(group.size());
    for (const Append& append : group) entries.push_back(append.entry);
    const auto begin = std::chrono::steady_clock::now();
    const Status status = store_.append(entries);
    const bool quick = std::chrono::steady_clock::now() - begin < options_.quick;
    {
      const std::lock_guard lock(mutex_);
      quick_ = quick;
    }
    if (!status && status.error().code == ErrorCode::OutOfSpace) return refuse(std::move(group), status.error());
    if (!status) fail_for_good(status.error());
  }
  for (Append& append : group)
    if (append.done) append.done(failed_ ? Status(std::unexpected(*failed_)) : Status());
}

// Nothing of the group is in the log; what waits behind it cannot follow it any more.
void SqliteJournal::refuse(std::vector<Append> group, const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    std::move(queue_.begin(), queue_.end(), std::back_inserter(group));
    queue_.clear();
    next_index_ = store_.last_index() + 1;
  }
  for (Append& append : group)
    if (append.done) append.done(std::unexpected(error));
}

void SqliteJournal::background_step(std::size_t arrived) {
  if (failed_) {
    while (!snapshots_.empty()) finish_snapshot(std::unexpected(*failed_));
    return;
  }
  // A disk too full for this is met again, and reported, by the next append.
  static_cast<void>(store_.checkpoint_if_over(options_.checkpoint_pages));
  // A snapshot begins only once what the last one made superfluous is gone, else the file could grow without end.
  const bool begun = !snapshots_.empty() && snapshots_.front().written > 0;
  if (!snapshots_.empty() && (begun || !trimming_)) return snapshot_step(snapshots_.front());
  if (!trimming_) return;
  // At least twice as fast as entries arrive, so that clearing up always gets to its end.
  const Result<bool> more = store_.trim(std::max<std::uint64_t>(options_.trim_entries, 2 * arrived));
  // Without room to delete, the next snapshot tries again.
  if (!more && more.error().code != ErrorCode::OutOfSpace) return fail_for_good(more.error());
  trimming_ = more && *more;
}

void SqliteJournal::snapshot_step(Snapshot& snapshot) {
  if (snapshot.written == 0) {
    if (snapshot.index == 0 || snapshot.index > store_.last_index() || snapshot.index < store_.snapshot_index())
      return finish_snapshot(fail(ErrorCode::InvalidArgument,
                                  fmt::format("no snapshot is possible at entry {}: the journal has {} to {}",
                                              snapshot.index, store_.snapshot_index() + 1, store_.last_index())));
    // Found out half way, it would have taken the last space from the entries.
    if (Status room = store_.check_room_for_snapshot(snapshot.data.size()); !room) return finish_snapshot(room);
    store_.begin_snapshot();
  }
  Status status;
  if (snapshot.written < snapshot.data.size()) {
    const std::string_view rest = std::string_view(snapshot.data).substr(snapshot.written);
    const std::string_view chunk = rest.substr(0, options_.snapshot_chunk_bytes);
    status = store_.add_chunk(chunk);
    snapshot.written += chunk.size();
    if (status && snapshot.written < snapshot.data.size()) return;
  }
  if (status) status = store_.finish_snapshot(snapshot.index);
  if (!status) {
    store_.begin_snapshot();
    if (status.error().code != ErrorCode::OutOfSpace) fail_for_good(status.error());
  }
  trimming_ = true;
  finish_snapshot(std::move(status));
}

void SqliteJournal::finish_snapshot(Status status) {
  const Done done = std::move(snapshots_.front().done);
  snapshots_.pop_front();
  if (done) done(std::move(status));
}

void SqliteJournal::fail_for_good(const Error& error) {
  if (!failed_) failed_ = error;
}

}  // namespace spur::os
