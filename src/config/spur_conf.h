// SPDX-License-Identifier: Apache-2.0
// spur.conf: TOML. Every key is a row of the table in keys.cc; anything else is an error that names the line and the
// nearest known key.
#pragma once

#include <string_view>

#include "base/result.h"
#include "config/draft.h"

namespace spur::config {

// Adds what `text` says to `draft`, whose files[0] names the file in messages. The result still has to pass
// resolve().
Status read_spur_conf(std::string_view text, Draft& draft);

}  // namespace spur::config
