// SPDX-License-Identifier: Apache-2.0
// Names of users and groups, both ways, through the host's name service. Each id is asked for once in a process.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace spur::cli {

// The login name, or the number where nobody has it.
const std::string& user_name(Uid uid);
const std::string& group_name(Gid gid);

// A login name or a number; nothing for a name that does not exist. A number need not belong to anybody.
std::optional<Uid> find_user(std::string_view text);
std::optional<Gid> find_group(std::string_view text);
// The user's own group; nothing for an unknown user.
std::optional<Gid> group_of(Uid uid);

// Whether this process belongs to one of the groups.
bool in_any_group(const std::vector<std::string>& names);

}  // namespace spur::cli
