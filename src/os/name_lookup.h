// SPDX-License-Identifier: Apache-2.0
// Users and groups by name, from the system's databases, now. Any thread; may take as long as the databases do.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace spur::os {

// A name or a number. InvalidUser if there is none.
Result<Uid> user_by_name(const std::string& name);
// All users of a group: those that it lists and those whose first group it is. InvalidUser if there is no such group.
Result<std::vector<Uid>> members_of_group(const std::string& name);
// Names of all groups of a user, that of `gid` first; empty for a user who is not known.
std::vector<std::string> group_names_of(Uid uid, Gid gid);

// Empty where there is none.
std::string name_of_user(Uid uid);
std::string name_of_group(Gid gid);

}  // namespace spur::os
