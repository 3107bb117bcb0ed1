// SPDX-License-Identifier: Apache-2.0
// Names and groups of the users whose jobs start here, from the system's databases (files, LDAP, ...). Such a lookup
// may take milliseconds or, when a server is down, a minute; so it is done on a thread of its own and kept for a
// while. spurstepd asks nobody: it gets the identity handed over.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "os/event_loop.h"
#include "os/privileges.h"

namespace spur::os {

// Asks the databases, now. InvalidUser for a uid without an entry.
Result<Identity> look_up_user(Uid uid, Gid gid);

class UserLookup {
 public:
  using Found = std::function<void(const Result<Identity>&)>;
  UserLookup(EventLoop& loop, Duration keep);
  ~UserLookup();
  UserLookup(const UserLookup&) = delete;
  UserLookup& operator=(const UserLookup&) = delete;

  // Calls `found` on the loop's thread: at once when the answer is known and fresh, else when it is there. Only on
  // that thread.
  void find(Uid uid, Gid gid, Found found);

 private:
  using Key = std::pair<Uid, Gid>;
  struct Entry {
    Identity identity;
    Duration known_at{0};
  };
  void work();
  void answer(Key key, Result<Identity> result);

  EventLoop& loop_;
  Duration keep_;
  std::map<Key, Entry> known_;
  std::multimap<Key, Found> waiting_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // answers that arrive later are dropped
  std::mutex mutex_;                                            // guards the two below
  std::deque<Key> wanted_;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace spur::os
