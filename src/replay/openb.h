// SPDX-License-Identifier: Apache-2.0
// GPU cluster traces as a pair of CSV files: nodes (sn,cpu_milli,memory_mib,gpu,model) and pods (name,cpu_milli,
// memory_mib,num_gpu,gpu_milli[,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time]). Columns are
// found by the names in the first line, in any order; lines that make no sense are counted and left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spur::replay {

inline constexpr std::uint32_t kMilliPerGpu = 1000;
inline constexpr std::uint32_t kMostGpusPerNode = 64;

struct OpenbNode {
  std::string name;
  std::uint32_t cpu_milli = 0;
  std::uint64_t memory_mib = 0;
  std::uint32_t gpus = 0;
  std::string model;
  friend bool operator==(const OpenbNode&, const OpenbNode&) = default;
};

struct OpenbPod {
  std::string name;
  std::uint32_t cpu_milli = 0;
  std::uint64_t memory_mib = 0;
  std::uint32_t gpus = 0;               // 0: none
  std::uint32_t gpu_milli = 0;          // of each of them; less than kMilliPerGpu only where gpus is 1
  std::vector<std::string> gpu_models;  // "V100M16|V100M32"; empty: any
  std::string qos;
  std::int64_t created = -1, deleted = -1, scheduled = -1;  // seconds; -1: not known
  friend bool operator==(const OpenbPod&, const OpenbPod&) = default;
};

template <class Row>
struct OpenbTable {
  std::vector<Row> rows;
  std::size_t broken_lines = 0;
  std::size_t first_broken = 0;  // from 1
};

// Fails only where the first line does not name the columns.
Result<OpenbTable<OpenbNode>> parse_openb_nodes(std::string_view text);
Result<OpenbTable<OpenbPod>> parse_openb_pods(std::string_view text);

}  // namespace spur::replay
