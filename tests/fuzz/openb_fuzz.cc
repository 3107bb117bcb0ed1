// SPDX-License-Identifier: Apache-2.0
// Any bytes as either file of a GPU cluster trace.
#include "replay/openb.h"

#include "fuzz.h"

namespace spur::replay {

SPUR_FUZZ(
    openb, "sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,2,P100\n",
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "p,12000,16384,1,460,V100M16|V100M32,LS,Running,0,12537496,0\nq,1,2,8,1000,,,,,,\n") {
  if (const auto nodes = parse_openb_nodes(input); !nodes)
    fuzz::check_message(nodes.error());
  else
    for (const OpenbNode& node : nodes->rows) SPUR_CHECK(!node.name.empty() && node.gpus <= kMostGpusPerNode);
  const auto pods = parse_openb_pods(input);
  if (!pods) return fuzz::check_message(pods.error());
  for (const OpenbPod& pod : pods->rows) {
    SPUR_CHECK(pod.gpus <= kMostGpusPerNode && pod.gpu_milli <= kMilliPerGpu);
    SPUR_CHECK((pod.gpus == 0) == (pod.gpu_milli == 0));
    SPUR_CHECK(pod.gpus < 2 || pod.gpu_milli == kMilliPerGpu);
  }
}

}  // namespace spur::replay
