// SPDX-License-Identifier: Apache-2.0
// Who is calling, as the verified credential says. Never filled from a request body.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"

namespace spur::model {

enum class Role : std::uint8_t { Anonymous, User, Admin, NodeAgent };

struct Caller {
  Role role = Role::Anonymous;
  Uid uid{65534};
  Gid gid{65534};
  std::string node;        // for NodeAgent: the node it speaks for
  std::string host;        // host that attested the credential
  bool is_admin() const { return role == Role::Admin; }
};

}  // namespace spur::model
