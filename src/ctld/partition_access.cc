// SPDX-License-Identifier: Apache-2.0
#include "ctld/partition_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ctld/job_account.h"
#include "text/hostlist.h"

namespace spur::ctld {
namespace {

bool has(const std::vector<std::string>& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

// A list of accounts speaks of those below them, too.
bool holds_account(const model::AccountBook& book, const std::vector<std::string>& list, const std::string& name) {
  if (list.empty()) return false;
  if (has(list, name)) return true;
  const model::Association* row = book.account(name);
  while (row && !has(list, row->account)) row = book.parent(*row);
  return row != nullptr;
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
  Access(const model::View& view, const model::JobSpec& spec, const GroupsOf& groups_of)
      : view_(view), spec_(spec), groups_of_(groups_of) {}

  Status check(const model::PartitionConfig& partition) {
    if (!partition.allow_groups.empty() && spec_.uid != kRootUid && !in_group(partition.allow_groups))
      return fail(ErrorCode::PartitionGroupDenied,
                  fmt::format("partition {} is not for this user's groups", partition.name));
    SPUR_TRY(check_account(partition));
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

  Status check_account(const model::PartitionConfig& partition) {
    if (partition.allow_accounts.empty() && partition.deny_accounts.empty() && partition.allow_qos.empty() &&
        partition.deny_qos.empty())
      return {};
    // Not what the job names, but what it will have: its user's default where it names none.
    if (!settled_) {
      SPUR_ASSIGN(settled_, with_account(view_, std::make_shared<const model::JobSpec>(spec_)));
    }
    const std::string &account = settled_->account, &qos = settled_->qos;
    const auto holds = [&](const auto& list) { return holds_account(*view_.accounts, list, account); };
    // Slurm: who says which accounts may is not asked which may not.
    if (partition.allow_accounts.empty() ? holds(partition.deny_accounts) : !holds(partition.allow_accounts))
      return fail(ErrorCode::InvalidAccount,
                  fmt::format("partition {} is not for account '{}'", partition.name, account));
    if (partition.allow_qos.empty() ? has(partition.deny_qos, qos) : !has(partition.allow_qos, qos))
      return fail(ErrorCode::InvalidQos, fmt::format("partition {} is not for QOS '{}'", partition.name, qos));
    return {};
  }

  const model::View& view_;
  const model::JobSpec& spec_;
  const GroupsOf& groups_of_;
  SpecPtr settled_;
  std::vector<std::string> groups_;
  bool asked_ = false;
};

}  // namespace

Status check_partition_access(const model::View& view, const model::JobSpec& spec, const GroupsOf& groups_of) {
  const bool all = view.config->enforce_partition_limits == model::EnforcePartitionLimits::All;
  Access access(view, spec, groups_of);
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
