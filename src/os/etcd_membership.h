// SPDX-License-Identifier: Apache-2.0
// Which cluster an etcd belongs to, and whether this controller is one of it. Asked once, when a controller starts.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "os/etcd_client.h"
#include "os/etcd_keys.h"

namespace spur::os {

struct EtcdMembership {
  std::string cluster, member;       // names
  std::vector<std::string> members;  // all controllers, as configured
  std::string directory;             // this one's state
};

// The first controller gives the cluster its id. ConfigInvalid: the etcd is another cluster's, or the directory is,
// or the lists of controllers differ; the message says what to do. Other errors are etcd's: try again.
Status join_cluster(EtcdClient& client, const EtcdKeys& keys, const EtcdMembership& membership);

// What all controllers must share: the first one's word counts.
Result<std::string> agree_on_secret(EtcdClient& client, const EtcdKeys& keys, const std::string& name,
                                    const std::string& mine);

// VersionMismatch if it is too old for us.
Status check_etcd_version(EtcdClient& client);

}  // namespace spur::os
