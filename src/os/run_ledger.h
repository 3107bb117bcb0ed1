// SPDX-License-Identifier: Apache-2.0
// Which runs this node has taken on and how they ended, so that a power cut loses neither: after it, every run that
// was started is still known, and is reported as ended. One file of fixed slots, written once when it is made, so
// that a later sync only moves data and commits nothing of the file system's own; and one thread that syncs for all
// who wait (group commit). A busy agent is never stopped by its disk.
//
// The ledger need not be in step with the directories of the spool: those survive the agent's death, this one the
// machine's.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "os/event_loop.h"
#include "os/spool.h"
#include "os/unique_fd.h"

namespace spur::os {

class RunLedger {
 public:
  struct Entry {
    model::JobRun run;
    bool is_batch_host = false;
    std::optional<EndRecord> end;
  };
  using Done = std::function<void(Status)>;

  // The file is made if missing. A slot that a power cut damaged while it was being written was never acknowledged,
  // and is free.
  static Result<std::unique_ptr<RunLedger>> open(EventLoop& loop, const std::string& path);
  ~RunLedger();
  RunLedger(const RunLedger&) = delete;
  RunLedger& operator=(const RunLedger&) = delete;

  // What the file held when it was opened, by run.
  const std::vector<Entry>& found() const { return found_; }
  bool knows(model::JobRun run) const { return slots_.contains(run); }

  // All on the loop's thread, and `done` is called there once the entry is durable.
  void note(model::JobRun run, bool is_batch_host, Done done);
  // Durable soon; of an unknown run: no-op.
  void note_end(model::JobRun run, const EndRecord& record);
  void forget(model::JobRun run);

 private:
  struct Write {
    std::uint64_t offset = 0;
    std::string bytes;
    Done done;
    bool must_last = false;
  };
  struct Place {
    std::uint32_t slot = 0;
    bool is_batch_host = false;
  };
  RunLedger(EventLoop& loop, UniqueFd file, std::string path);
  Status load();
  Status grow(std::uint32_t slots);
  void put(Write write);
  std::vector<Write> next_batch();
  void work();

  EventLoop& loop_;
  UniqueFd file_;
  std::string path_;
  std::vector<Entry> found_;
  std::map<model::JobRun, Place> slots_;
  std::vector<std::uint32_t> free_;
  std::uint32_t count_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::mutex mutex_;  // guards the three below
  std::vector<Write> queue_;
  bool waited_for_ = false;  // somebody waits for one of the queue
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace spur::os
