// SPDX-License-Identifier: Apache-2.0
// The door to a replicated store of keys with transactions, in etcd's terms: every change of the store has a
// revision, one more than the last, and a key remembers at which it was created and last changed. Real:
// os/etcd_client. Fake: sim/sim_etcd.
//
// Calls block up to the store's timeout and come from any thread of io/threads.h. A transaction that fails may have
// happened, or may still happen, except with OutOfSpace (the space quota is used up), InvalidArgument and
// PermissionDenied: the store has refused those.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace spur::io {

struct KvValue {
  std::string key, value;
  std::int64_t created = 0, changed = 0;  // revisions
};

struct KvRange {
  std::vector<KvValue> values;  // ascending keys
  bool more = false;            // than were asked for
  std::int64_t revision = 0;
};

// What is done, all or nothing, if every condition holds.
struct KvTransaction {
  // (key, revision): the key was last changed then; 0: it does not exist.
  std::vector<std::pair<std::string, std::int64_t>> unchanged;
  std::vector<std::pair<std::string, std::string>> puts;
  std::vector<std::pair<std::string, std::string>> deletes;  // [from, to)
  Duration patience{0};  // how long the caller waits for the answer; 0: the store's timeout
};

struct KvCommit {
  bool done = false;  // false: a condition did not hold
  std::int64_t revision = 0;
};

class KvStore {
 public:
  virtual ~KvStore() = default;
  // [from, to), or the one key `from` if `to` is empty; at most `limit` values, 0: all. `local`: as the asked member
  // knows it, which may be behind.
  virtual Result<KvRange> range(const std::string& from, const std::string& to, std::int64_t limit, bool local) = 0;
  virtual Result<KvCommit> commit(const KvTransaction& transaction) = 0;
};

}  // namespace spur::io
