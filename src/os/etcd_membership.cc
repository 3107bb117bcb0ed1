// SPDX-License-Identifier: Apache-2.0
#include "os/etcd_membership.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <utility>

#include "os/etcd_snapshot.h"

namespace spur::os {
namespace {

std::string new_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", random());
  return id;
}

struct Identity {
  std::string id, members;
};
Identity parse_identity(const std::string& value) {
  const std::size_t line = value.find('\n');
  if (line == std::string::npos) return {value, ""};
  std::string members = value.substr(line + 1);
  while (!members.empty() && members.back() == '\n') members.pop_back();
  return {value.substr(0, line), members};
}

}  // namespace

Status check_etcd_version(EtcdClient& client) {
  SPUR_ASSIGN(const std::string version, client.version());
  int major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "%d.%d", &major, &minor) != 2 || major != 3 || minor < 4)
    return fail(ErrorCode::VersionMismatch, fmt::format("etcd is version {}; 3.4 or a later 3.x is needed", version));
  return {};
}

Status join_cluster(EtcdClient& client, const EtcdKeys& keys, const EtcdMembership& membership) {
  auto names = membership.members;
  std::ranges::sort(names);
  const std::string members = fmt::format("{}", fmt::join(names, ","));
  SPUR_ASSIGN(const std::string own, load_cluster_id(membership.directory));
  SPUR_ASSIGN(EtcdRange found, client.range(keys.identity(), "", 1, false));
  if (found.values.empty()) {
    if (!own.empty())
      return fail(
          ErrorCode::ConfigInvalid,
          fmt::format("{} has state of cluster {} (id {}), but this etcd knows of no such cluster: point to the "
                      "right etcd, or restore it; to begin anew without the jobs of before, remove cluster.id and "
                      "snapshot.bin there",
                      membership.directory, membership.cluster, own));
    SPUR_TRY(client.commit({.unchanged = {{keys.identity(), 0}},
                            .puts = {{keys.identity(), new_id() + "\n" + members + "\n"}},
                            .deletes = {}}));
    SPUR_ASSIGN(found, client.range(keys.identity(), "", 1, false));
    if (found.values.empty()) return fail(ErrorCode::Unreachable, "etcd lost what was just written");
  }
  const Identity identity = parse_identity(found.values.front().value);
  if (!own.empty() && own != identity.id)
    return fail(
        ErrorCode::ConfigInvalid,
        fmt::format("{} belongs to another cluster (id {}) than this etcd (id {}): correct controller.state_dir "
                    "or controller.etcd",
                    membership.directory, own, identity.id));
  if (identity.members != members)
    return fail(
        ErrorCode::ConfigInvalid,
        fmt::format("this etcd belongs to a cluster {} whose controllers are {}, not {}: two clusters on one etcd "
                    "need different names; to change the controllers of one is not supported yet",
                    membership.cluster, identity.members, members));
  if (std::ranges::find(names, membership.member) == names.end())
    return fail(ErrorCode::ConfigInvalid,
                fmt::format("{} is none of the controllers {}", membership.member, members));
  if (own.empty()) SPUR_TRY(store_cluster_id(membership.directory, identity.id));
  return {};
}

Result<std::string> agree_on_secret(EtcdClient& client, const EtcdKeys& keys, const std::string& name,
                                    const std::string& mine) {
  const std::string key = keys.secret(name);
  SPUR_ASSIGN(EtcdRange found, client.range(key, "", 1, false));
  if (found.values.empty()) {
    SPUR_TRY(client.commit({.unchanged = {{key, 0}}, .puts = {{key, mine}}, .deletes = {}}));
    SPUR_ASSIGN(found, client.range(key, "", 1, false));
    if (found.values.empty()) return fail(ErrorCode::Unreachable, "etcd lost what was just written");
  }
  return std::move(found.values.front().value);
}

}  // namespace spur::os
