// SPDX-License-Identifier: Apache-2.0
// What a task, a step or a run used. Times, bytes and faults add up over tasks; peaks are those of the largest task,
// except `memory_peak_kib`, which is of all processes together as the kernel counted them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace spur::model {

struct Usage {
  std::uint64_t user_cpu_us = 0, system_cpu_us = 0;
  std::uint64_t max_rss_kib = 0, max_vsize_kib = 0;
  std::uint64_t memory_peak_kib = 0;  // 0: not counted by this kernel
  std::uint64_t read_bytes = 0, write_bytes = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t gpu_memory_mib = 0;   // at its highest
  std::uint64_t gpu_utilization = 0;  // percent, summed over the GPUs, at its highest
  friend bool operator==(const Usage&, const Usage&) = default;

  // Together with what ran beside it.
  void add(const Usage& other) {
    user_cpu_us += other.user_cpu_us;
    system_cpu_us += other.system_cpu_us;
    max_rss_kib = std::max(max_rss_kib, other.max_rss_kib);
    max_vsize_kib = std::max(max_vsize_kib, other.max_vsize_kib);
    memory_peak_kib = std::max(memory_peak_kib, other.memory_peak_kib);
    read_bytes += other.read_bytes;
    write_bytes += other.write_bytes;
    major_faults += other.major_faults;
    gpu_memory_mib = std::max(gpu_memory_mib, other.gpu_memory_mib);
    gpu_utilization = std::max(gpu_utilization, other.gpu_utilization);
  }
};

}  // namespace spur::model
