// SPDX-License-Identifier: Apache-2.0
// GPUs of this machine, whoever made them: what the node's agent reports of them, which device files they are, how
// they are linked, how they are. gpu_amd.cc and gpu_intel.cc read sysfs below a root that tests can fake;
// gpu_nvidia.cc asks NVML, which is loaded when it is needed. A partition (MIG, CPX) is a GPU of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/node.h"

namespace spur::os {

struct Gpu {
  std::string vendor;              // "amd", "intel", "nvidia"
  std::string type;                // "mi300x", "nvidia_a100-sxm4-40gb": lower case, no blanks
  std::string id;                  // that the maker gave it: "GPU-4a1b..."; of a partition its own
  std::string pci;                 // "0000:c1:00.0"
  std::vector<std::string> files;  // that belong to it, or to it and other partitions; the first stands for it
  std::string cpus;                // the kernel's numbers of near CPUs ("0-15,32-47"); empty: all alike
  int numa_node = -1;
  std::uint64_t memory_mib = 0;
  std::uint64_t hive = 0;            // AMD: GPUs of one hive are linked to each other
  std::string partition;             // "CPX/NPS4", "1g.5gb"; empty: the whole
  std::vector<std::uint32_t> links;  // beside the list: how many direct links to each GPU; 0 to itself
  std::string problem;               // why no job should get it; empty: none
  friend bool operator==(const Gpu&, const Gpu&) = default;
};

// What it was doing just now.
struct GpuLoad {
  std::uint64_t memory_mib = 0;
  std::uint32_t percent = 0;
};

// `root` is "" or a directory that holds sys/.
std::vector<Gpu> find_amd_gpus(const std::string& root);
std::vector<Gpu> find_intel_gpus(const std::string& root);

// NVML, as long as the object lives. NotFound where it is not installed.
class Nvml {
 public:
  static Result<std::unique_ptr<Nvml>> open(const std::string& library = "libnvidia-ml.so.1");
  virtual ~Nvml() = default;
  virtual std::vector<Gpu> find(const std::string& root) = 0;
  // By `id`; all zero if it is not known.
  virtual GpuLoad load(const std::string& id) = 0;
};

GpuLoad amd_load(const std::string& root, const Gpu& gpu);

// As gres.conf would declare them: one row each, cores in the node's own numbering.
std::vector<model::NodeGres> gres_of(const std::vector<Gpu>& gpus, const std::vector<std::uint32_t>& cpu_numbers,
                                     std::uint32_t threads_per_core);

// What has become worse since the agent started: a GPU that is gone, or that has a problem. One sentence, or empty.
std::string gpu_problem(const std::vector<Gpu>& before, const std::vector<Gpu>& now);

// "NVIDIA A100-SXM4-40GB" to "nvidia_a100-sxm4-40gb", as Slurm does it.
std::string type_name(std::string_view product);

}  // namespace spur::os
