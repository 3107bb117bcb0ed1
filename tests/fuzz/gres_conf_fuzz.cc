// SPDX-License-Identifier: Apache-2.0
// Any bytes as gres.conf, over a cluster that declares GPUs. The file also includes itself, as far as that is let.
#include "config/resolve.h"
#include "config/slurm_conf.h"
#include "fuzz.h"
#include "text/printable.h"

namespace spur::config {

SPUR_FUZZ(gres_conf, "AutoDetect=nvml\n",
          "Name=gpu File=/dev/nvidia[0-3] Cores=0-15\nName=nic Count=2 Flags=CountOnly\n",
          "NodeName=n[1-2] Name=gpu Type=a100 File=/dev/nvidia[0-1] Links=-1,4\n",
          "Include gres.conf\nInclude x.conf\n") {
  const FileReader same = [&](const std::string&) -> Result<std::string> { return std::string(input); };
  Draft draft;
  draft.dialect = Dialect::Slurm;
  draft.files.push_back("/etc/slurm/slurm.conf");
  const auto base =
      read_slurm_conf("GresTypes=gpu\nNodeName=n[1-3] Gres=gpu:a100:2\nPartitionName=p Nodes=ALL\n", same, draft);
  SPUR_CHECK(base.has_value());
  if (const auto read = read_slurm_sibling(Scope::Device, input, "/etc/slurm/gres.conf", same, draft); !read)
    return fuzz::check_message(read.error());
  if (const auto done = resolve_cluster(draft); !done) return fuzz::check_message(done.error());
  SPUR_CHECK(draft.cluster.nodes.size() == 3);
  for (const std::string& line : draft.warnings) SPUR_CHECK(text::printable(line) == line);
}

}  // namespace spur::config
