// SPDX-License-Identifier: Apache-2.0
// TLS between the etcd members of one cluster. Every member derives the same authority from the secret that all have,
// and signs a certificate for itself with it: whoever does not have the secret is no member.
#pragma once

#include <string>

#include "base/result.h"

namespace spur::os {

// Writes ca.pem, member.pem and member.key into `directory` (mode 0600). `address`: the name or address that the
// others dial.
Status write_etcd_certificates(const std::string& directory, const std::string& secret, const std::string& address);

}  // namespace spur::os
