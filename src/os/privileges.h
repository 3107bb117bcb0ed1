// SPDX-License-Identifier: Apache-2.0
// Becoming the user of a job, for good. Either all of it happened and was verified, or the caller gets an error and
// must end without running anything: a job that goes on as root because one call failed is the worst thing a
// scheduler can do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace spur::os {

struct Identity {
  Uid uid;
  Gid gid;
  std::string name;         // "alice"; decimal uid where the user has no name
  std::vector<Gid> groups;  // supplementary
  friend bool operator==(const Identity&, const Identity&) = default;
};

// Real, effective, saved and file-system ids, supplementary groups, capabilities. Started as root: any user.
// Otherwise only one's own uid is accepted, and groups stay what they are. Single-threaded processes only.
Status become(const Identity& identity);

// The identity as one line and back, for handing it to spurstepd: "uid:gid:name:group,group,...".
std::string encode_identity(const Identity& identity);
Result<Identity> decode_identity(std::string_view text);

}  // namespace spur::os
