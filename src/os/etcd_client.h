// SPDX-License-Identifier: Apache-2.0
// Reads and transactions of etcd's version 3 API, for os/etcd_journal. Calls block up to the timeout and come from
// any thread; each is tried at one endpoint, and the next call goes to the next one after a failure.
//
// A transaction that fails may have happened, except with OutOfSpace (the space quota is used up), InvalidArgument
// and PermissionDenied: etcd has refused those.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace spur::os {

struct EtcdValue {
  std::string key, value;
  std::int64_t created = 0, changed = 0;  // revisions
};

struct EtcdRange {
  std::vector<EtcdValue> values;  // ascending keys
  bool more = false;              // than were asked for
  std::int64_t revision = 0;
};

// What is done, all or nothing, if every condition holds.
struct EtcdTransaction {
  // (key, revision): the key was last changed then; 0: it does not exist.
  std::vector<std::pair<std::string, std::int64_t>> unchanged;
  std::vector<std::pair<std::string, std::string>> puts;
  std::vector<std::pair<std::string, std::string>> deletes;  // [from, to)
};

struct EtcdCommit {
  bool done = false;  // false: a condition did not hold
  std::int64_t revision = 0;
};

struct EtcdMember {
  std::uint64_t id = 0;
  std::string name;
  std::string peer;  // its first address for other members
  bool learner = false;
  bool started = false;  // it has told the others that it is there
};

class EtcdClient {
 public:
  struct Options {
    std::vector<std::string> endpoints;  // "http://host:port", "https://host:port", "unix:/path"
    std::string ca_file = {}, certificate_file = {}, key_file = {};  // for https
    Duration timeout{std::chrono::seconds(2)};
  };
  // Reads the files; dials nobody yet. ConfigInvalid: an endpoint or a file is not what it should be.
  static Result<std::unique_ptr<EtcdClient>> open(const Options& options);
  ~EtcdClient();

  // [from, to), or the one key `from` if `to` is empty. `local`: as the asked member knows it, which may be behind.
  Result<EtcdRange> range(const std::string& from, const std::string& to, std::int64_t limit, bool local);
  Result<EtcdCommit> commit(const EtcdTransaction& transaction);
  // The version of the member that answers.
  Result<std::string> version();

  // The set of members, as the asked one knows it.
  Result<std::vector<EtcdMember>> members();
  // It counts for the majority only once it is promoted.
  Status add_learner(const std::string& peer);
  // Busy: it is not far enough yet.
  Status promote(std::uint64_t member);
  Status remove(std::uint64_t member);
  // The id of the member that answers, if it leads etcd; else 0.
  Result<std::uint64_t> leads();
  // The member that answers leads, and hands over.
  Status hand_lead_to(std::uint64_t member);

 private:
  struct Endpoint;
  struct State;
  explicit EtcdClient(std::unique_ptr<State> state);
  template <class Call>
  Status run(Call&& call);
  std::unique_ptr<State> state_;
};

}  // namespace spur::os
