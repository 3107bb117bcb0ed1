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

std::string names_of(std::vector<EtcdController> controllers) {
  std::ranges::sort(controllers, {}, &EtcdController::name);
  std::string out;
  for (const auto& one : controllers) out += (out.empty() ? "" : ", ") + one.name;
  return out;
}

Status begin_cluster(EtcdClient& client, const EtcdKeys& keys, const EtcdMembership& membership,
                     const EtcdBeginning& beginning) {
  EtcdIdentity fresh;
  fresh.id = beginning.id.empty() ? new_id() : beginning.id;
  fresh.controllers = membership.members;
  EtcdTransaction first{
      .unchanged = {{keys.identity(), 0}}, .puts = {{keys.identity(), encode_etcd_identity(fresh)}}, .deletes = {}};
  if (!beginning.id.empty()) {
    // Says where the log begins.
    EtcdEntry start;
    start.parts = EtcdEntry::kBeginning;
    first.puts.emplace_back(keys.log(beginning.index), encode_etcd_entry(start));
    for (const auto& [name, value] : beginning.secrets) first.puts.emplace_back(keys.secret(name), value);
  }
  SPUR_TRY(client.commit(first));
  return {};
}

}  // namespace

bool EtcdIdentity::has(const std::string& name) const {
  return std::ranges::find(controllers, name, &EtcdController::name) != controllers.end();
}

bool EtcdIdentity::may_lead(const std::string& name) const {
  return has(name) && (reserved_for.empty() || reserved_for == name);
}

std::string EtcdIdentity::names() const {
  return names_of(controllers);
}

std::string encode_etcd_identity(const EtcdIdentity& identity) {
  auto sorted = identity.controllers;
  std::ranges::sort(sorted, {}, &EtcdController::name);
  std::string out = identity.id + "\n";
  for (const auto& one : sorted)
    out += fmt::format("{}{}({})", out.back() == '\n' ? "" : ",", one.name, one.address);
  return out + "\n" + (identity.reserved_for.empty() ? "" : identity.reserved_for + "\n");
}

EtcdIdentity decode_etcd_identity(const std::string& value) {
  const std::size_t line = value.find('\n');
  EtcdIdentity out;
  out.id = value.substr(0, line);
  if (line == std::string::npos) return out;
  std::string_view rest(value);
  rest.remove_prefix(line + 1);
  while (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
  if (const std::size_t third = rest.find('\n'); third != std::string_view::npos) {
    out.reserved_for = rest.substr(third + 1);
    rest = rest.substr(0, third);
  }
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    std::string_view one = rest.substr(0, end);
    const std::size_t open = one.find('(');
    EtcdController controller{std::string(one.substr(0, open)), {}};
    if (open != std::string_view::npos && one.back() == ')')
      controller.address = one.substr(open + 1, one.size() - open - 2);
    out.controllers.push_back(std::move(controller));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

Status check_etcd_version(EtcdClient& client) {
  SPUR_ASSIGN(const std::string version, client.version());
  int major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "%d.%d", &major, &minor) != 2 || major != 3 || minor < 4)
    return fail(ErrorCode::VersionMismatch, fmt::format("etcd is version {}; 3.4 or a later 3.x is needed", version));
  return {};
}

Result<EtcdIdentity> read_identity(io::KvStore& client, const EtcdKeys& keys, bool local) {
  SPUR_ASSIGN(const EtcdRange found, client.range(keys.identity(), "", 1, local));
  if (found.values.empty()) return fail(ErrorCode::NotFound, "this etcd knows of no such cluster");
  EtcdIdentity out = decode_etcd_identity(found.values.front().value);
  out.revision = found.values.front().changed;
  return out;
}

Status write_identity(EtcdClient& client, const EtcdKeys& keys, const EtcdIdentity& changed) {
  SPUR_ASSIGN(const auto commit, client.commit({.unchanged = {{keys.identity(), changed.revision}},
                                                .puts = {{keys.identity(), encode_etcd_identity(changed)}},
                                                .deletes = {}}));
  if (!commit.done) return fail(ErrorCode::Busy, "the set of controllers is being changed by somebody else");
  return {};
}

Result<EtcdIdentity> join_cluster(EtcdClient& client, const EtcdKeys& keys, const EtcdMembership& membership,
                                  const EtcdBeginning& beginning) {
  SPUR_ASSIGN(const std::string own, load_cluster_id(membership.directory));
  auto identity = read_identity(client, keys, false);
  if (!identity && identity.error().code == ErrorCode::NotFound) {
    if (!own.empty())
      return fail(
          ErrorCode::ConfigInvalid,
          fmt::format("{} has state of cluster {} (id {}), but this etcd knows of no such cluster: point to the "
                      "right etcd, or restore it; to begin anew without the jobs of before, remove cluster.id and "
                      "snapshot.bin there",
                      membership.directory, membership.cluster, own));
    if (const auto& first = membership.members.front().name; first != membership.member)
      return fail(ErrorCode::Busy, fmt::format("{}, the first controller, begins the cluster and is not there yet",
                                               first));
    SPUR_TRY(begin_cluster(client, keys, membership, beginning));
    identity = read_identity(client, keys, false);
  } else if (identity && !beginning.id.empty() && beginning.id != identity->id) {
    return fail(ErrorCode::ConfigInvalid,
                fmt::format("the state that was converted in {} cannot go into this etcd: it has a cluster {} already",
                            membership.directory, membership.cluster));
  }
  if (!identity) return identity;
  if (!own.empty() && own != identity->id)
    return fail(
        ErrorCode::ConfigInvalid,
        fmt::format("{} belongs to another cluster (id {}) than this etcd (id {}): correct controller.state_dir "
                    "or controller.etcd",
                    membership.directory, own, identity->id));
  const std::string configured = names_of(membership.members);
  // One that was here before may have an old list: the set has been changed since.
  if (own.empty() && identity->names() != configured)
    return fail(
        ErrorCode::ConfigInvalid,
        fmt::format("this etcd belongs to a cluster {} whose controllers are {}, not {}: two clusters on one etcd "
                    "need different names; a new controller is made known with \"spur controllers add\"",
                    membership.cluster, identity->names(), configured));
  if (!identity->has(membership.member))
    return fail(ErrorCode::ConfigInvalid,
                fmt::format("{} is none of the controllers of cluster {} ({}); \"spur controllers add\" makes it one",
                            membership.member, membership.cluster, identity->names()));
  if (own.empty()) SPUR_TRY(store_cluster_id(membership.directory, identity->id));
  return identity;
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
