// SPDX-License-Identifier: Apache-2.0
// etcd as os/etcd_journal sees it: one store of keys that a majority of members keeps, transactions that compare
// revisions, each member's own picture of it that may be behind. Requests and answers take time and get lost; one
// that was given up may still happen. What it takes for granted is etcd's own promise: what is committed is
// committed, in one order.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/kv_store.h"
#include "sim/event_queue.h"
#include "sim/fibers.h"
#include "sim/random.h"

namespace spur::sim {

class SimEtcd {
 public:
  // In thousandths of all requests: answers that get lost, requests that are late by longer than anybody waits.
  struct Trouble {
    unsigned lost_answers = 0, late = 0;
  };
  SimEtcd(EventQueue& events, Random random, std::size_t members, Duration timeout);

  // What was there before the world began, and every member knows.
  void begin_with(const std::string& key, const std::string& value);
  // A controller's own way to its own member.
  std::unique_ptr<io::KvStore> client(std::size_t member, Fibers& fibers);

  void set_trouble(Trouble trouble) { trouble_ = trouble; }
  void set_up(std::size_t member, bool up);
  void set_cut(std::size_t one, std::size_t other, bool cut);  // between two members
  void set_slow(std::size_t member, Duration lag) { members_[member].lag = lag; }
  void set_full(bool full) { full_ = full; }
  void stall(Duration time) { stalled_until_ = std::max(stalled_until_, events_.now() + time); }
  bool in_majority(std::size_t member) const;

  using Keys = std::map<std::string, io::KvValue>;
  const Keys& keys() const { return keys_; }
  // Called with every transaction that was done, by whose member, after it was.
  std::function<void(std::size_t member, const io::KvTransaction&)> on_commit = [](std::size_t, const auto&) {};

 private:
  class Client;
  struct Change {
    Duration seen_at;
    std::int64_t revision;
    std::shared_ptr<const io::KvTransaction> transaction;
  };
  struct Member {
    bool up = true;
    Duration lag{0};
    std::vector<bool> cut;      // from which others
    Keys keys;                  // as it knows them
    std::int64_t revision = 0;
    std::deque<Change> behind;  // what it does not know yet
  };
  Result<io::KvCommit> commit(std::size_t member, const io::KvTransaction& transaction);
  void catch_up(Member& member, bool reached);
  static io::KvRange range(const Keys& keys, const std::string& from, const std::string& to, std::int64_t limit,
                           std::int64_t revision);
  static void change(Keys& keys, const io::KvTransaction& transaction, std::int64_t revision);
  Duration way(const Member& member);

  EventQueue& events_;
  Random random_;
  Duration timeout_;
  Trouble trouble_;
  bool full_ = false;
  Duration stalled_until_{0};
  std::vector<Member> members_;
  Keys keys_;
  std::int64_t revision_ = 1;
};

}  // namespace spur::sim
