// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_journal.h"

#include <utility>

#include "base/check.h"

namespace spur::sim {

SimJournal::SimJournal(EventQueue& events, Random random, Disk& disk)
    : events_(events), random_(random), disk_(disk), alive_(std::make_shared<bool>(true)) {}

SimJournal::~SimJournal() {
  *alive_ = false;
  if (writing_ && random_.chance(500)) write();
}

void SimJournal::write() {
  disk_.entries.push_back(std::move(in_flight_));
  on_durable(disk_.snapshot_index + disk_.entries.size(), disk_.entries.back());
}

Result<io::Journal::Recovery> SimJournal::recover() {
  return Recovery{disk_.snapshot_index, disk_.snapshot, disk_.entries, {}};
}

Duration SimJournal::write_time() {
  if (random_.chance(5)) return Duration(random_.between(200'000, 3'000'000));  // a stall
  return Duration(random_.between(80, 3'000));
}

void SimJournal::append(std::uint64_t index, std::string entry, Done done) {
  SPUR_CHECK(!writing_);
  SPUR_CHECK(index == disk_.snapshot_index + disk_.entries.size() + 1);
  writing_ = true;
  in_flight_ = std::move(entry);
  const bool full = index > 1 && random_.chance(5);  // the first is the configuration, without which nothing starts
  events_.after(write_time(), [this, alive = alive_, full, done = std::move(done)] {
    if (!*alive) return;
    writing_ = false;
    if (full) return done(fail(ErrorCode::OutOfSpace, "no space left on device"));
    write();
    done({});
  });
}

void SimJournal::save_snapshot(std::uint64_t index, std::string snapshot, Done done) {
  events_.after(write_time(),
                [this, alive = alive_, index, snapshot = std::move(snapshot), done = std::move(done)]() mutable {
                  if (!*alive) return;
                  if (disk_.full) return done(fail(ErrorCode::OutOfSpace, "no space left on device"));
                  SPUR_CHECK(index >= disk_.snapshot_index && index <= disk_.snapshot_index + disk_.entries.size());
                  const auto drop = static_cast<std::ptrdiff_t>(index - disk_.snapshot_index);
                  disk_.entries.erase(disk_.entries.begin(), disk_.entries.begin() + drop);
                  disk_.snapshot_index = index;
                  disk_.snapshot = std::move(snapshot);
                  done({});
                });
}

}  // namespace spur::sim
