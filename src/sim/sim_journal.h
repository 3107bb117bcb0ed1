// SPDX-License-Identifier: Apache-2.0
// What a controller's host keeps when its process dies, and the journal of a controller that is alone on it. Appends
// take time, now and then a lot of it; a crash in between leaves it open whether the entry in flight is there
// afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/journal.h"
#include "io/snapshot_store.h"
#include "sim/event_queue.h"
#include "sim/random.h"

namespace spur::sim {

// What a crash does not take away.
struct Disk {
  std::uint64_t snapshot_index = 0;
  std::string snapshot;
  std::vector<std::string> entries;  // numbers snapshot_index + 1 ...; of a controller that is alone
  bool full = false;                 // no snapshot fits
};

class SimJournal final : public io::Journal {
 public:
  SimJournal(EventQueue& events, Random random, Disk& disk);
  ~SimJournal() override;  // a crash: what is in flight may or may not have reached the disk

  Result<Recovery> recover() override;
  void append(std::uint64_t index, std::string entry, Done done) override;
  void save_snapshot(std::uint64_t index, std::string snapshot, Done done) override;
  std::function<void(std::uint64_t index, const std::string& entry)> on_durable = [](std::uint64_t, const std::string&) {};

 private:
  Duration write_time();
  void write();

  EventQueue& events_;
  Random random_;
  Disk& disk_;
  std::string in_flight_;
  bool writing_ = false;
  std::shared_ptr<bool> alive_;
};

// Of one controller of several: its log is elsewhere.
class SimSnapshots final : public io::SnapshotStore {
 public:
  explicit SimSnapshots(Disk& disk) : disk_(disk) {}
  Result<io::StoredSnapshot> load() override { return io::StoredSnapshot{disk_.snapshot_index, disk_.snapshot}; }
  Status store(std::uint64_t index, const std::string& bytes) override {
    if (disk_.full) return fail(ErrorCode::OutOfSpace, "no space left on device");
    disk_.snapshot_index = index;
    disk_.snapshot = bytes;
    return {};
  }

 private:
  Disk& disk_;
};

}  // namespace spur::sim
