// SPDX-License-Identifier: Apache-2.0
// YAML as programs write it (CDI specifications, say), turned into JSON: block mappings and sequences, plain and
// quoted scalars, short flow sequences, comments. What people may write by hand beyond that (anchors, tags, several
// documents, text over several lines) is refused, never misread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace spur::os {

// All scalars become strings but true, false, null and whole numbers. Corrupt names the line.
Result<std::string> yaml_to_json(std::string_view text);

}  // namespace spur::os
