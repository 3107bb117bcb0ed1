// SPDX-License-Identifier: Apache-2.0
// sacctmgr show --json: the fields of Slurm's REST documents that the records fill.
#pragma once

#include <vector>

#include "cli/sacctmgr.h"

namespace spur::cli {

void print_accounts_json(Sacctmgr& s, const std::vector<const model::AccountRecord*>& list);
void print_users_json(Sacctmgr& s, const std::vector<const model::UserRecord*>& list);
void print_associations_json(Sacctmgr& s, const std::vector<PlacedRow>& rows);
void print_clusters_json(Sacctmgr& s);
void print_qos_json(Sacctmgr& s, const std::vector<const model::Qos*>& list);
void print_tres_json(Sacctmgr& s);

}  // namespace spur::cli
