// SPDX-License-Identifier: Apache-2.0
// io::Journal for several controllers: the log is in etcd, each controller's snapshots are on its own disk.
// docs/decisions/0011 has the reasons. One thread talks to etcd: it follows the log, takes over when the leader is
// silent, and as leader appends and beats. The store, time, threads and the disk are behind doors, so that sim/ runs
// this very code.
//
// What keeps the log right is that every write compares the revision of the term key, never a clock. Clocks only
// decide when to try.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "io/clock.h"
#include "io/journal.h"
#include "io/kv_store.h"
#include "io/snapshot_store.h"
#include "io/threads.h"
#include "os/etcd_client.h"
#include "os/etcd_keys.h"
#include "os/etcd_membership.h"
#include "os/etcd_snapshot.h"

namespace spur::os {

class EtcdJournal final : public io::Journal {
 public:
  struct Options {
    EtcdMembership membership;
    std::string address = {};               // of this controller, for those who ask who leads
    Duration failover = milliseconds(300);  // silence after which another takes over
    Duration patience{0};                   // for how long recover() asks an etcd that does not answer
    std::size_t piece_bytes = std::size_t{512} << 10;
    std::size_t held_snapshots = 4;  // how long an absent controller keeps the log from being cut
    // The state from another controller, where the log begins later than our own snapshot.
    std::function<Result<StoredSnapshot>()> fetch = {};
    std::function<void(const std::string&)> log = {};
    std::shared_ptr<io::Threads> threads = {};          // null: the system's
    std::shared_ptr<io::SnapshotStore> snapshots = {};  // null: the file in the membership's directory
  };
  // How this controller stands, for answers to clients. Any thread.
  struct Standing {
    bool leads = false;
    bool caught_up = false;       // has been at the end of the log once
    std::string leader, address;  // empty: nobody was ever seen
    Duration silence{0};  // since the leader was last heard of; of the leader: since it began the last write that got through
  };

  EtcdJournal(std::unique_ptr<io::KvStore> client, io::Clock& clock, Options options);
  // What is being appended ends with NotLeader. A leader says that it goes, so that nobody waits for its silence.
  ~EtcdJournal() override;

  // join_cluster() has been called.
  Result<Recovery> recover() override;
  void append(std::uint64_t index, std::string entry, Done done) override;
  void save_snapshot(std::uint64_t index, std::string snapshot, Done done) override;
  bool shared() const override { return true; }
  void follow(std::uint64_t after, Roles roles) override;
  void applied(std::uint64_t index) override { applied_ = index; }
  bool is_current() const override;
  void catch_up(Done done) override;
  void hand_over(const std::string& successor) override;

  Standing standing() const;
  // Leads no longer, and never again.
  void retire();

 private:
  enum class Role : std::uint8_t { Idle, Following, Leading };
  struct Append {
    std::uint64_t index = 0;
    std::string entry;
    Done done;
  };
  enum class Outcome : std::uint8_t { Durable, Full, Refused, Deposed };

  Result<EtcdRange> first_entry();
  void run();
  void wait(std::unique_lock<std::mutex>& lock, Duration at_most);
  // ---- following
  void follow_once();
  Result<bool> read_log();
  bool read_rest(std::int64_t revision);
  Status give(const EtcdValue& value);
  Result<std::string> whole_entry(std::uint64_t index, const EtcdValue& value);
  Error lacks_pieces(std::uint64_t index);
  Error has_been_cut(std::uint64_t goes_on) const;
  void see_leader(const EtcdRange& range);
  bool take_over();
  bool has_claimed() const;
  bool may_be_next() const;
  Result<std::int64_t> claim();
  // ---- catching up (etcd_journal_current.cc)
  struct Asked {
    Duration since;
    Done done;
  };
  void answer_asked();
  bool settle(const Result<EtcdRange>& term, std::unique_lock<std::mutex>& lock);
  bool is_current_locked() const;
  // ---- leading
  void lead_once(std::deque<Append> appends);
  Outcome write(const Append& append, Error* error);
  Outcome write_once(EtcdTransaction transaction, std::uint64_t index, Error* error);
  bool is_ours(std::uint64_t index);
  Result<std::int64_t> last_entry() const;
  void beat();
  void note_write(Duration began);
  void resign(const std::string& successor = {});
  void leave(const std::string& successor, const char* why);
  void stop_leading(std::deque<Append> open, const Error& why);
  void depose(const Error& why);
  void truncate(std::uint64_t own_snapshot);
  void say(const std::string& line) const;

  std::unique_ptr<io::KvStore> client_;
  io::Clock& clock_;
  const Options options_;
  const EtcdKeys keys_;
  const std::string life_;  // tells our claims from those of an earlier life

  mutable std::mutex mutex_;
  std::unique_ptr<io::Threads::Signal> wake_;
  std::deque<Append> queue_;  // guarded by mutex_, as all up to looked_
  Role role_ = Role::Idle;
  bool stop_ = false, retired_ = false;
  std::optional<std::string> makes_way_;  // for whom
  Roles roles_;
  std::uint64_t next_ = 1;
  std::int64_t term_ = 0;  // while leading
  Standing standing_;
  bool resigned_ = false;  // another may lead at any moment, whatever the clock says
  std::deque<Asked> asked_;
  std::int64_t wanted_ = 0;   // revision of etcd up to which somebody waits for the log
  std::int64_t given_ = 0;    // ... up to which we have given it, since we follow
  Duration looked_{0};        // when the log was last asked for news, with or without success

  std::atomic<std::uint64_t> applied_{0};

  // The journal thread's own.
  std::int64_t seen_term_ = 0, seen_tick_ = 0;  // revisions
  Duration heard_{0};                           // when one of them last changed
  bool ours_ = false;                           // the term that was seen is one that we claimed, in this life
  std::int64_t led_ = 0;                        // the last term that we led with
  Duration claimed_{0};                         // when we began to claim the next one; 0: we have not
  bool others_led_ = false;                     // since we began
  bool vacant_ = false;                         // nobody beats: the first controller ever, or the leader has gone
  std::string successor_;                       // ... and has said who is to be next (EtcdTerm)
  Duration last_write_{0};                      // that got through, as leader
  std::int64_t last_entry_ = 0;                 // revision of the entry before the next one, as leader; 0: none
  std::int64_t last_given_ = 0;                 // ... of the last one that was given since we follow; 0: none was
  std::uint64_t ticks_ = 0;
  Duration told_{0};  // when etcd's silence was last logged

  std::unique_ptr<io::Threads::Signal> asked_wake_;
  std::unique_ptr<io::Threads::Thread> asked_thread_;
  std::unique_ptr<io::Threads::Thread> snapshot_thread_;
  std::deque<std::uint64_t> own_snapshots_;
  std::unique_ptr<io::Threads::Thread> thread_;
};

}  // namespace spur::os
