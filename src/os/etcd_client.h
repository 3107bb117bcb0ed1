// SPDX-License-Identifier: Apache-2.0
// Reads and transactions of etcd's version 3 API behind io::KvStore. Each call is tried at one endpoint, and the next
// call goes to the next one after a failure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "io/kv_store.h"

namespace spur::os {

using EtcdValue = io::KvValue;
using EtcdRange = io::KvRange;
using EtcdTransaction = io::KvTransaction;
using EtcdCommit = io::KvCommit;

struct EtcdMember {
  std::uint64_t id = 0;
  std::string name;
  std::string peer;  // its first address for other members
  bool learner = false;
  bool started = false;  // it has told the others that it is there
};

class EtcdClient final : public io::KvStore {
 public:
  struct Options {
    std::vector<std::string> endpoints;  // "http://host:port", "https://host:port", "unix:/path"
    std::string ca_file = {}, certificate_file = {}, key_file = {};  // for https
    Duration timeout{std::chrono::seconds(2)};
  };
  // Reads the files; dials nobody yet. ConfigInvalid: an endpoint or a file is not what it should be.
  static Result<std::unique_ptr<EtcdClient>> open(const Options& options);
  ~EtcdClient() override;

  Result<EtcdRange> range(const std::string& from, const std::string& to, std::int64_t limit, bool local) override;
  Result<EtcdCommit> commit(const EtcdTransaction& transaction) override;
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
  Status run(Call&& call, Duration patience = {});
  std::unique_ptr<State> state_;
};

}  // namespace spur::os
