// SPDX-License-Identifier: Apache-2.0
// Which cluster an etcd belongs to, who its controllers are, and whether this one is among them. Asked when a
// controller starts, and while it runs: the set may change.
//
//   identity      the cluster's id, a line; the controllers, a line: name(address),name(address); while the state is
//                 being taken out of this etcd, a line: the one who does it, and alone may lead
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/etcd_client.h"
#include "os/etcd_keys.h"

namespace spur::os {

struct EtcdController {
  std::string name, address;  // host; empty: as the configuration says
  friend bool operator==(const EtcdController&, const EtcdController&) = default;
};

struct EtcdIdentity {
  std::string id;
  std::vector<EtcdController> controllers;  // ascending names
  std::string reserved_for{};               // who alone may lead; empty: each of them
  std::int64_t revision = 0;                // when it was last changed
  bool has(const std::string& name) const;
  bool may_lead(const std::string& name) const;
  std::string names() const;  // "a, b, c"
};
std::string encode_etcd_identity(const EtcdIdentity& identity);
EtcdIdentity decode_etcd_identity(const std::string& value);

struct EtcdMembership {
  std::string cluster, member;          // names
  std::vector<EtcdController> members;  // all controllers, as configured; the first begins the cluster
  std::string directory;                // this one's state
};

// What a cluster that was one controller's brings along (os/etcd_snapshot.h): its log goes on behind `index`, and its
// secrets count.
struct EtcdBeginning {
  std::string id;           // empty: there is none
  std::uint64_t index = 0;
  std::vector<std::pair<std::string, std::string>> secrets;
};

// The first controller gives the cluster its id. ConfigInvalid: the etcd is another cluster's, or the directory is,
// or this is none of its controllers; the message says what to do. Other errors are etcd's, or Busy until the first
// controller is there: try again.
Result<EtcdIdentity> join_cluster(EtcdClient& client, const EtcdKeys& keys, const EtcdMembership& membership,
                                  const EtcdBeginning& beginning = {});

// NotFound: there is none. `local`: as the asked member knows it.
Result<EtcdIdentity> read_identity(io::KvStore& client, const EtcdKeys& keys, bool local);
// Busy: it has been changed meanwhile.
Status write_identity(EtcdClient& client, const EtcdKeys& keys, const EtcdIdentity& changed);

// What all controllers must share: the first one's word counts.
Result<std::string> agree_on_secret(EtcdClient& client, const EtcdKeys& keys, const std::string& name,
                                    const std::string& mine);

// VersionMismatch if it is too old for us.
Status check_etcd_version(EtcdClient& client);

}  // namespace spur::os
