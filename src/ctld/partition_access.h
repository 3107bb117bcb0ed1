// SPDX-License-Identifier: Apache-2.0
// Who may use a partition: AllowGroups, AllowAccounts, DenyAccounts, AllowQos, DenyQos and AllocNodes. Not part of
// sched/, because groups are the host's business and not the state's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/view.h"

namespace spur::ctld {

// Names of the groups of a user. May be slow; only asked where a partition cares.
using GroupsOf = std::function<std::vector<std::string>(Uid, Gid)>;

// For a job that is submitted, or moved. Of several partitions one is enough, unless EnforcePartLimits=ALL. Root
// passes AllowGroups, as in Slurm. Accounts and QOS are those that the job will have (ctld/job_account.h).
Status check_partition_access(const model::View& view, const model::JobSpec& spec, const GroupsOf& groups_of);

// Partitions that are not shown to a user unless he asks for all: hidden ones, and those not for his groups.
std::vector<std::string> hidden_partitions(const model::View& view, Uid uid, Gid gid, const GroupsOf& groups_of);

}  // namespace spur::ctld
