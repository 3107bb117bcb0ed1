// SPDX-License-Identifier: Apache-2.0
// A journal whose disk outlives the process that writes it. Appends take time, now and then a lot of it; a crash in
// between leaves it open whether the entry in flight is there afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/journal.h"
#include "sim/event_queue.h"
#include "sim/random.h"

namespace spur::sim {

// What a crash does not take away.
struct Disk {
  std::uint64_t snapshot_index = 0;
  std::string snapshot;
  std::vector<std::string> entries;  // numbers snapshot_index + 1 ...
};

class SimJournal final : public io::Journal {
 public:
  SimJournal(EventQueue& events, Random random, Disk& disk);
  ~SimJournal() override;  // a crash: what is in flight may or may not have reached the disk

  Result<Recovery> recover() override;
  void append(std::uint64_t index, std::string entry, Done done) override;
  void save_snapshot(std::uint64_t index, std::string snapshot, Done done) override;
  std::function<void()> on_append = [] {};

 private:
  Duration write_time();

  EventQueue& events_;
  Random random_;
  Disk& disk_;
  std::string in_flight_;
  bool writing_ = false;
  std::shared_ptr<bool> alive_;
};

}  // namespace spur::sim
