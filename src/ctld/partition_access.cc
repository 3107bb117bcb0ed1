// SPDX-License-Identifier: Apache-2.0
#include "ctld/partition_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "text/hostlist.h"

namespace spur::ctld {
namespace {

bool has(const std::vector<std::string>& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

bool names_host(const std::vector<std::string>& list, const std::string& host) {
  const auto matches = [&](const std::string& entry) {
    const auto hosts = text::expand_hostlist(entry);
    return entry == "ALL" || (hosts && has(*hosts, host));
  };
  return std::ranges::any_of(list, matches);
}

class Access {
 public:
  Access(const model::JobSpec& spec, const GroupsOf& groups_of) : spec_(spec), groups_of_(groups_of) {}

  Status check(const model::PartitionConfig& partition) {
    if (!partition.allow_groups.empty() && spec_.uid != kRootUid && !in_group(partition.allow_groups))
      return fail(ErrorCode::PartitionGroupDenied,
                  fmt::format("partition {} is not for this user's groups", partition.name));
    if ((!partition.allow_accounts.empty() && !has(partition.allow_accounts, spec_.account)) ||
        has(partition.deny_accounts, spec_.account))
      return fail(ErrorCode::InvalidAccount,
                  fmt::format("partition {} is not for account '{}'", partition.name, spec_.account));
    if ((!partition.allow_qos.empty() && !has(partition.allow_qos, spec_.qos)) || has(partition.deny_qos, spec_.qos))
      return fail(ErrorCode::InvalidQos, fmt::format("partition {} is not for QOS '{}'", partition.name, spec_.qos));
    if (!partition.alloc_nodes.empty() && !names_host(partition.alloc_nodes, spec_.submit_host))
      return fail(ErrorCode::PermissionDenied,
                  fmt::format("partition {} takes no jobs from host {}", partition.name, spec_.submit_host));
    return {};
  }

 private:
  bool in_group(const std::vector<std::string>& allowed) {
    if (!asked_ && groups_of_) groups_ = groups_of_(spec_.uid, spec_.gid);
    asked_ = true;
    return std::ranges::any_of(groups_, [&](const std::string& group) { return has(allowed, group); });
  }

  const model::JobSpec& spec_;
  const GroupsOf& groups_of_;
  std::vector<std::string> groups_;
  bool asked_ = false;
};

}  // namespace

Status check_partition_access(const model::View& view, const model::JobSpec& spec, const GroupsOf& groups_of) {
  const bool all = view.config->enforce_partition_limits == model::EnforcePartitionLimits::All;
  Access access(spec, groups_of);
  Status first_error;
  bool open = false;
  for (const std::string& name : spec.partitions) {
    const model::Partition* partition = model::find_partition(view, name);
    if (!partition) continue;  // check_submit has a better word for it
    Status status = access.check(partition->config);
    open |= status.has_value();
    if (!status && first_error) first_error = std::move(status);
  }
  return open && !all ? Status{} : first_error;
}

std::vector<std::string> hidden_partitions(const model::View& view, Uid uid, Gid gid, const GroupsOf& groups_of) {
  std::vector<std::string> hidden;
  if (uid == kRootUid) return hidden;
  std::optional<std::vector<std::string>> groups;
  for (const model::Partition& partition : *view.partitions) {
    const auto& allowed = partition.config.allow_groups;
    if (!partition.config.hidden && allowed.empty()) continue;
    if (!allowed.empty() && !groups) groups = groups_of ? groups_of(uid, gid) : std::vector<std::string>{};
    const bool open =
        allowed.empty() || std::ranges::any_of(*groups, [&](const auto& group) { return has(allowed, group); });
    if (partition.config.hidden || !open) hidden.push_back(partition.config.name);
  }
  return hidden;
}

}  // namespace spur::ctld
