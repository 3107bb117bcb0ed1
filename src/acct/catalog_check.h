// SPDX-License-Identifier: Apache-2.0
// Inside of acct/: whether records agree with each other, who may make a change, and what a new cluster gets.
#pragma once

#include "acct/catalog.h"

namespace spur::acct {

// That the records are as catalog.h promises. The error says the first thing that is wrong, in words for the user.
Status check_records(const model::AccountRecords& all);
// That the actor may turn `before` into `after`.
Status check_rights(const Catalog& before, const Catalog& after, const Actor& actor);
// Clusters that are new and whose root has no QOS of its own get this one, if it is there.
void give_default_qos(const model::AccountRecords& before, const std::string& qos,
                      const std::vector<model::ClusterRecord>& put, model::AccountRecords* all);
// The root account of the cluster and the user root in it, if they are not there; with the numbers that they had if
// they were deleted.
void add_root(const std::string& cluster, const std::string& qos, const model::AccountRecords& deleted,
              model::AccountRecords* all, Catalog::Counters* counters);

}  // namespace spur::acct
