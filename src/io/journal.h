// SPDX-License-Identifier: Apache-2.0
// The door to durability: an ordered log of opaque batches plus snapshots. Implementations: os/sqlite_journal (embedded),
// os/etcd_journal (several controllers); sim/sim_journal for faults.
//
// Promises: `done(ok)` is called only after entry and all before it are durable; entries are numbered 1, 2, 3 ... without
// gaps; recover() gives back exactly the durable entries after the newest snapshot, in order. A log damaged before its
// synced end is refused (ErrorCode::Corrupt, the message says what to do); a torn tail is cut and reported in
// Recovery::notice. append() is asynchronous with at most one caller thread; completions arrive in order, on the journal's
// own thread or on the caller's before append() returns (in the simulator, from the event loop).
//
// A journal that several controllers share has one leader at a time, and only the leader's appends become durable:
//
//   follow() ----> following ----on_lead----> leading ----on_follow----> nothing, until follow() is called again
//                  on_entry, in order         append()                   (appends end with NotLeader)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace spur::io {

class Journal {
 public:
  struct Recovery {
    std::uint64_t snapshot_index = 0;         // 0: no snapshot
    std::string snapshot;
    std::vector<std::string> entries;         // numbers snapshot_index + 1 ...
    std::string notice;                       // empty, or what was cut
  };
  using Done = std::function<void(Status)>;
  // Called on the journal's own thread, one after another.
  struct Roles {
    std::function<void(std::uint64_t index, std::string entry)> on_entry;  // the next durable entry
    // Every durable entry has been given; the next one is ours to append. `first`: nobody else has led since this
    // controller began to follow.
    std::function<void(bool first)> on_lead;
    // Somebody else leads, or nobody. What is being appended ends with NotLeader: it may be durable, and if it is, it
    // will be given as an entry.
    std::function<void(const Error& why)> on_follow;
    std::function<void(const Error& why)> on_failed;  // this controller cannot take part any more
  };

  virtual ~Journal() = default;
  // Once, before the first append.
  virtual Result<Recovery> recover() = 0;
  // `index` must be the last one plus one. OutOfSpace: nothing of the entry is in the log, and the same index may be tried
  // again, by a caller that has one append open at a time. After any other failure the journal refuses further ones (whether
  // the entry is durable is unknown; the caller must stop).
  virtual void append(std::uint64_t index, std::string entry, Done done) = 0;
  // Stores a snapshot of the state at `index` (already appended and durable), then drops entries up to it.
  virtual void save_snapshot(std::uint64_t index, std::string snapshot, Done done) = 0;

  // Whether other controllers may write to it. If so, follow() comes before the first append.
  virtual bool shared() const { return false; }
  // From now on the entries after `after`: once after recover(), and again after every on_follow.
  virtual void follow(std::uint64_t after, Roles roles) { static_cast<void>(after), static_cast<void>(roles); }

  // How far the entries that were given have been applied. A controller that is far behind, because it has just started, does
  // not try to lead. From any thread.
  virtual void applied(std::uint64_t index) { static_cast<void>(index); }

  // The one who leads makes way, for the controller of that name, or, without one, for whoever is first. From any thread.
  virtual void hand_over(const std::string& successor) { static_cast<void>(successor); }

  // For those who look, while another controller may lead. From any thread.
  // Whether nothing is durable that this controller has not been given; or nobody has led for so long that what it has
  // is all that can be had.
  virtual bool is_current() const { return true; }
  // Calls `done`, from any thread, when every entry that was durable before this call has been given to on_entry, or
  // is_current() holds. Fails if that cannot be found out for long.
  virtual void catch_up(Done done) { done({}); }
};

}  // namespace spur::io
