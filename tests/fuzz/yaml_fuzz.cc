// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "os/yaml_text.h"

namespace spur::os {

SPUR_FUZZ(yaml, "---\na:\n- b: 'c'  # d\n  e: [1, \"f\"]\n-\n  g: ~\n", "- - 1\n  - {}\n", "a: |\n  b\n") {
  (void)yaml_to_json(input);
}

}  // namespace spur::os
