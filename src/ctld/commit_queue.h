// SPDX-License-Identifier: Apache-2.0
// Turns single commands into durable, applied batches. Commands wait here while a batch is being made durable; when it is,
// they are applied in order and each waiting caller learns its own outcome. At most one batch is in flight, so a batch is
// always decided on the state that it is applied to, and everything that arrived meanwhile shares the next write.
//
// When the journal's disk is full, requests are refused; what is not a request (the end of a job, a lost node) waits here
// and is tried again until there is space, for it cannot be untrue.
//
// While another controller leads, the queue is closed: everything is refused with NotLeader.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/clock.h"
#include "io/journal.h"
#include "state/cluster.h"
#include "state/command.h"

namespace spur::ctld {

// A batch that was applied, and all that can be told about it, for those who keep the history (history.h).
struct AppliedBatch {
  std::uint64_t index = 0;
  std::string entry;  // the bytes in the journal
  state::Batch batch;
  std::vector<state::Outcome> outcomes;  // of each command
  model::View before, after;
  Time shown;  // when `after` was published here; as far as is known
};

class CommitQueue {
 public:
  using Then = std::function<void(const state::Outcome&)>;
  struct Hooks {
    // Runs a function on the core thread; the journal completes on a thread of its own.
    std::function<void(std::function<void()>)> post;
    // Right after a batch was applied, before anybody is answered: whoever has his answer and looks must see his own change.
    std::function<void()> publish;
    // After all callers were answered.
    std::function<void(const std::vector<state::Effect>&)> applied;
    std::function<void(const Error&)> fatal;
    std::function<void(std::string)> log;
    // What accounting must know of the batch; empty: nobody asks.
    std::function<void(Time born, std::vector<state::OutboxRecord>)> account = {};
    // After all callers were answered; empty: no history is kept.
    std::function<void(AppliedBatch)> record = {};
  };
  enum class IfFull : std::uint8_t { Wait, Refuse };  // what becomes of a command for which there is no space

  // `cluster` may be replaced (recovery) until the first push.
  CommitQueue(io::Clock& clock, io::Journal& journal, const std::unique_ptr<state::Cluster>& cluster, Hooks hooks);

  // `by`: the user who asked for it.
  void push(state::Command command, Then then = {}, IfFull if_full = IfFull::Wait, std::optional<Uid> by = {});
  // Commands are taken from the start and after open(); not after close().
  void open() { closed_.reset(); }
  void close(const Error& why);
  // When pump() is to be called again for what waits for space; Duration::max() if nothing does.
  Duration next_try() const;
  // Sends the next batch if none is in flight. Called after every event, so that one event's commands go together.
  void pump();
  // Between them nothing is sent: the commands of several events that are at hand go together, too.
  void gather() { gathering_ = true; }
  void gathered() {
    gathering_ = false;
    pump();
  }
  bool idle() const { return queue_.empty() && in_flight_.empty(); }
  std::size_t waiting() const { return queue_.size(); }
  // Bytes appended since the last call; decides when a snapshot is due.
  std::uint64_t bytes_since_snapshot() const { return bytes_; }
  void reset_snapshot_counter() { bytes_ = 0; }

 private:
  struct Entry {
    state::Command command;
    Then then;
    IfFull if_full = IfFull::Wait;
    std::optional<Uid> by = {};
  };
  struct Caller {
    Then then;
    IfFull if_full;
  };
  void on_durable(Status status);
  void on_full(const Error& error);
  static void refuse(const std::vector<Then>& callers, const Error& error);

  io::Clock& clock_;
  io::Journal& journal_;
  const std::unique_ptr<state::Cluster>& cluster_;
  Hooks hooks_;
  std::deque<Entry> queue_;
  state::Batch batch_;              // in flight
  std::string entry_;               // its bytes, where history is kept
  Time shown_;                      // when the batch before it was published; not set: not here
  std::vector<Caller> in_flight_;
  std::uint64_t bytes_ = 0, batch_bytes_ = 0;
  bool failed_ = false, full_ = false, gathering_ = false;
  Duration try_at_{0};              // while full_
  std::optional<Error> closed_;
};

}  // namespace spur::ctld
