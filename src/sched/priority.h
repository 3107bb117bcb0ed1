// SPDX-License-Identifier: Apache-2.0
// The order in which pending jobs are looked at: partition tier, then priority, then age of the id.
//
// Priority is Slurm's priority/multifactor: a sum of factors between 0 and 1, each times a weight. All of them but
// age depend on the job alone; so a job is a Rank, its points without age and the moment it ages from, and two jobs
// of equal points never change places. Points are counted in millionths: no floating point, replicas must agree.
// priority/basic, the order of arrival, is put in the same form.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "model/view.h"

namespace spur::sched {

// Held jobs have 0, and 0xffffffff and 0xfffffffe mean something else to Slurm's clients.
inline constexpr std::uint32_t kMaxPriority = 0xfffffffdu;
// priority/basic: the first job of a cluster has one less.
inline constexpr std::uint32_t kTopPriority = 0xffff0000u;

// One point of priority in the units of a Rank.
inline constexpr std::int64_t kPoint = 1'000'000;

struct Rank {
  std::int64_t points = 0;  // millionths, without age
  std::int64_t order = 0;   // among equal points the lower goes first: when it began to age (microseconds), or with
                            // priority/basic its place in the order of arrival
  friend auto operator<=>(const Rank&, const Rank&) = default;
};

// One job in one partition, taken apart for sprio. Factors in billionths.
struct PriorityFactors {
  std::int64_t age = 0, fairshare = 0, job_size = 0, partition = 0, qos = 0, assoc = 0;
  std::vector<std::int64_t> tres;  // beside PriorityConfig::tres_weights
  std::int64_t site = 0;           // points
};

// What factors are measured against: the sizes of the cluster and its partitions, the highest factors there are. To
// be made anew when nodes, partitions, QOS or shares change; the view must outlive it.
class PriorityScale {
 public:
  explicit PriorityScale(const model::View& view);

  // Everything except time. `partition` is one of the view's.
  Rank rank(const model::Job& job, const model::Partition& partition) const;
  // Grows with `now`, and for equal points falls with `order`, strictly by neither.
  std::uint32_t priority(const Rank& rank, Time now) const;
  // Held jobs: 0.
  std::uint32_t priority(const model::Job& job, const model::Partition& partition, Time now) const;
  // In the first of the job's partitions that exists; what squeue and scontrol show.
  std::uint32_t priority(const model::Job& job, Time now) const;

  // Since when the job ages that this is the order of; not set: it does not.
  Time ages_since(std::int64_t order) const;

  PriorityFactors factors(const model::Job& job, const model::Partition& partition, Time now) const;

 private:
  using Amounts = std::vector<std::uint64_t>;  // beside the TRES weights
  struct Flags {
    bool accrue_always = false, raw_assoc = false, raw_partition = false, raw_qos = false, raw_tres = false,
         relative_to_time = false;
  };
  std::int64_t age_factor(Time since, Time now) const;
  std::int64_t job_size(const model::JobSpec& spec, TimeLimit limit, const model::Partition& partition) const;
  std::uint64_t wanted(const std::string& tres, const model::JobSpec& spec, const model::Partition& partition) const;
  Time ages_from(const model::Job& job) const;

  const model::View& view_;
  const model::ClusterConfig& config_;
  Flags flags_;
  std::uint64_t cpus_ = 0, nodes_ = 0;
  std::uint32_t highest_partition_ = 0, highest_qos_ = 0, highest_assoc_ = 0;
  std::map<std::string, Amounts, std::less<>> totals_;  // of each partition
};

}  // namespace spur::sched
