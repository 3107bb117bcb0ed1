// SPDX-License-Identifier: Apache-2.0
// Any bytes as topology.yaml: read or refused in one line.
#include "config/topology_yaml.h"

#include "config/resolve.h"
#include "fuzz.h"
#include "text/printable.h"

namespace spur::config {

SPUR_FUZZ(topology_yaml, "- topology: a\n  tree:\n    switches:\n      - switch: s1\n        nodes: n[1-2]\n      - switch: s2\n        children: s1\n",
          "---\n- topology: b\n  cluster_default: true\n  block:\n    block_sizes: [2, 4]\n    blocks:\n    - block: b1\n      nodes: \"n1\"\n",
          "- topology: f # why\n  flat: true\n-\n  topology: g\n", "- a\n- b: c\n    d: e\n", "x: {}\n- [\n") {
  Draft draft;
  draft.dialect = draft.written_in = Dialect::Slurm;
  draft.files = {"/etc/slurm/slurm.conf", "/etc/slurm/topology.yaml"};
  if (const auto read = read_topology_yaml(input, {.file = 1, .line = 0}, draft); !read)
    return fuzz::check_message(read.error());
  for (const std::string& line : draft.warnings) SPUR_CHECK(text::printable(line) == line);
}

}  // namespace spur::config
