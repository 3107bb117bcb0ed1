// SPDX-License-Identifier: Apache-2.0
// The resources that are counted, as columns: a job, a limit or an account is a row of numbers in the same order. The
// first ones are always there and in Slurm's order; behind them the site's own (AccountingStorageTRES), and GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/allocation.h"
#include "model/cluster_config.h"
#include "model/job_spec.h"
#include "model/tres_counts.h"

namespace spur::model {

using TresRow = std::vector<std::uint64_t>;  // one number per column

class TresTable {
 public:
  enum Column : std::size_t { kCpu, kMemory, kEnergy, kNode, kBilling, kDisk, kVmem, kPages, kFixed };

  explicit TresTable(const ClusterConfig& config);
  TresTable() : TresTable(ClusterConfig{}) {}

  const std::vector<std::string>& names() const { return names_; }
  std::size_t size() const { return names_.size(); }
  std::size_t find(std::string_view name) const;  // size() if there is none
  friend bool operator==(const TresTable&, const TresTable&) = default;

  // What the job holds, with what it is billed for; and what it asks for at least in the partition.
  TresRow held(const JobSpec& spec, const Allocation& allocation, const ClusterConfig& config) const;
  TresRow wanted(const JobSpec& spec, const PartitionConfig& partition, const ClusterConfig& config) const;

 private:
  void bill(TresRow& row, const PartitionConfig* partition, const ClusterConfig& config) const;
  void add_gres(TresRow& row, std::string_view name, std::string_view type, std::uint64_t count) const;

  std::vector<std::string> names_;
};

}  // namespace spur::model
