// SPDX-License-Identifier: Apache-2.0
#include "sched/priority.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "sched/request.h"

namespace spur::sched {
namespace {

constexpr std::int64_t kOne = 1'000'000'000;  // a factor of 1
constexpr std::int64_t kNeverAges = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostPoints = std::int64_t{kMaxPriority} * kPoint;

using Wide = __int128;

std::int64_t clip(Wide value) {
  return static_cast<std::int64_t>(std::clamp<Wide>(value, -Wide{kMostPoints}, Wide{kMostPoints}));
}

// part / whole, in billionths.
std::int64_t ratio(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return 0;
  return clip(Wide{part} * kOne / whole);
}

// factor x weight in millionths of a point; weight in thousandths.
std::int64_t weigh(std::int64_t factor, std::int64_t weight_thousandths) {
  // Almost always it fits, and dividing what is wider is dear.
  if (std::int64_t product = 0; !__builtin_mul_overflow(factor, weight_thousandths, &product))
    return clip(product / 1'000'000);
  return clip(Wide{factor} * weight_thousandths / 1'000'000);
}
std::int64_t weigh(std::int64_t factor, std::uint32_t weight) {
  return weigh(factor, std::int64_t{weight} * 1000);
}

std::uint64_t gres_of(const std::vector<model::NodeGres>& list, std::string_view name) {
  const auto colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  const std::string_view type = colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1);
  std::uint64_t sum = 0;
  for (const model::NodeGres& row : list)
    if (row.name == kind && (type.empty() || row.type == type)) sum += row.count;
  return sum;
}

bool cut(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// What a node has of a TRES. Licenses belong to the cluster.
std::uint64_t node_has(const model::Node& node, std::string_view tres) {
  if (tres == "cpu" || tres == "billing") return node.hardware.cpus;
  if (tres == "mem") return node.hardware.memory_mib;
  if (tres == "node") return 1;
  return cut(tres, "gres/") ? gres_of(node.hardware.gres, tres) : 0;
}

std::uint64_t gres_wanted(const model::JobSpec& spec, std::string_view name) {
  std::uint64_t sum = 0;
  for (const model::GresRequest& row : spec.gres) {
    const bool meant = row.name == name || row.name + ":" + row.type == name;
    if (!meant) continue;
    using Per = model::GresRequest::Per;
    const std::uint64_t times = row.per == Per::Node   ? spec.min_nodes
                                : row.per == Per::Task ? model::task_count(spec)
                                : row.per == Per::Socket
                                    ? std::uint64_t{spec.min_nodes} * std::max(1u, spec.sockets_per_node)
                                    : 1;
    sum += row.count * times;
  }
  return sum;
}

}  // namespace

PriorityScale::PriorityScale(const model::View& view) : view_(view), config_(*view.config) {
  const auto has = [&](std::string_view flag) {
    return std::ranges::find(config_.priority.flags, flag) != config_.priority.flags.end();
  };
  const bool raw = has("NO_NORMAL_ALL");
  flags_ = {.accrue_always = has("ACCRUE_ALWAYS"),
            .raw_assoc = raw || has("NO_NORMAL_ASSOC"),
            .raw_partition = raw || has("NO_NORMAL_PART"),
            .raw_qos = raw || has("NO_NORMAL_QOS"),
            .raw_tres = raw || has("NO_NORMAL_TRES"),
            .relative_to_time = has("SMALL_RELATIVE_TO_TIME")};
  view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
    cpus_ += node->hardware.cpus;
    ++nodes_;
  });
  for (const model::Qos& qos : *view.qos) highest_qos_ = std::max(highest_qos_, qos.priority);
  for (const model::FairShare& share : *view.shares) highest_assoc_ = std::max(highest_assoc_, share.priority);
  for (const model::Partition& partition : *view.partitions) {
    highest_partition_ = std::max(highest_partition_, partition.config.priority_job_factor);
    Amounts& totals = totals_[partition.config.name];
    for (const model::TresWeight& weight : config_.priority.tres_weights) {
      std::uint64_t& total = totals.emplace_back(0);
      std::string_view name = weight.tres;
      if (cut(name, "license/")) {
        for (const auto& license : config_.licenses)
          if (license.name == name) total += license.count;
        continue;
      }
      for (const NodeIndex at : partition.nodes)
        if (const model::NodePtr* node = view.nodes.find(at.value)) total += node_has(**node, weight.tres);
    }
  }
}

std::uint64_t PriorityScale::wanted(const std::string& tres, const model::JobSpec& spec,
                                    const model::Partition& partition) const {
  std::string_view name = tres;
  if (name == "cpu" || name == "billing") return model::min_cpus(spec);
  if (name == "node") return spec.min_nodes;
  if (name == "mem") {
    const MemoryWish wish = memory_wish(config_, partition.config, spec);
    if (wish.need == MemoryNeed::PerNode) return wish.mib * spec.min_nodes;
    if (wish.need == MemoryNeed::PerCpu) return wish.mib * model::min_cpus(spec);
    // All of a node's memory, as far as anybody knows before it has nodes.
    if (partition.nodes.empty()) return 0;
    const model::NodePtr* node = view_.nodes.find(partition.nodes.front().value);
    return node ? (*node)->hardware.memory_mib * spec.min_nodes : 0;
  }
  if (cut(name, "gres/")) return gres_wanted(spec, name);
  std::uint64_t sum = 0;
  if (cut(name, "license/"))
    for (const model::LicenseRequest& row : spec.licenses)
      if (row.name == name) sum += row.count;
  return sum;
}

Time PriorityScale::ages_from(const model::Job& job) const {
  if (flags_.accrue_always) return job.submitted;
  if (job.flags & model::kNotAging) return {};
  return is_set(job.accrue) ? job.accrue : job.eligible;
}

std::int64_t PriorityScale::age_factor(Time since, Time now) const {
  if (config_.age_full.count() <= 0 || !is_set(since) || now <= since) return 0;
  const Duration full = config_.age_full;
  return ratio(static_cast<std::uint64_t>(std::min<Duration>(now - since, full).count()),
               static_cast<std::uint64_t>(full.count()));
}

std::int64_t PriorityScale::job_size(const model::JobSpec& spec, TimeLimit limit,
                                     const model::Partition& partition) const {
  if (cpus_ == 0 || nodes_ == 0) return 0;
  const std::uint64_t cpus = model::min_cpus(spec), nodes = spec.min_nodes;
  const bool small = config_.priority.favor_small;
  if (flags_.relative_to_time) {
    TimeLimit time = limit.is_finite() ? limit : partition.config.max_time;
    const std::uint64_t minutes = time.is_finite() ? std::max(1u, time.minutes_value()) : 0xffffffffu;
    const std::uint64_t size = std::max(cpus, nodes * cpus_ / nodes_);
    const std::int64_t factor = std::min(kOne, ratio(size, cpus_) / static_cast<std::int64_t>(minutes));
    return small ? kOne - factor : factor;
  }
  const std::int64_t of_nodes = std::min(kOne, ratio(nodes, nodes_)), of_cpus = std::min(kOne, ratio(cpus, cpus_));
  const std::int64_t factor = (of_nodes + of_cpus) / 2;
  return small ? kOne - factor : factor;
}

PriorityFactors PriorityScale::factors(const model::Job& job, const model::Partition& partition, Time now) const {
  PriorityFactors out;
  const model::JobSpec& spec = *job.spec;
  const model::PriorityConfig& weights = config_.priority;
  out.tres.resize(weights.tres_weights.size());
  if (job.priority_by_hand || !weights.multifactor) return out;
  out.site = std::int64_t{weights.base} + job.site_factor;
  if (config_.age_weight > 0) out.age = age_factor(ages_from(job), now);
  if (weights.job_size_weight > 0) out.job_size = job_size(spec, job.time_limit, partition);
  const std::uint32_t of_partition = partition.config.priority_job_factor;
  if (weights.partition_weight > 0)
    out.partition = flags_.raw_partition ? of_partition * kOne : ratio(of_partition, highest_partition_);
  if (const model::Qos* qos = weights.qos_weight > 0 ? model::find_qos(view_, spec.qos) : nullptr)
    out.qos = flags_.raw_qos ? qos->priority * kOne : ratio(qos->priority, highest_qos_);
  if (const model::FairShare* share = model::find_share(view_, spec.account, spec.uid, partition.config.name)) {
    out.fairshare = share->factor;
    out.assoc = flags_.raw_assoc ? share->priority * kOne : ratio(share->priority, highest_assoc_);
  }
  const auto totals = totals_.find(partition.config.name);
  for (std::size_t i = 0; i < out.tres.size() && totals != totals_.end(); ++i) {
    const std::uint64_t amount = wanted(weights.tres_weights[i].tres, spec, partition);
    out.tres[i] = flags_.raw_tres ? clip(Wide{amount} * kOne) : ratio(amount, totals->second[i]);
  }
  return out;
}

Rank PriorityScale::rank(const model::Job& job, const model::Partition& partition) const {
  if (job.priority_by_hand) return {std::int64_t{job.priority} * kPoint, kNeverAges};
  const model::PriorityConfig& weights = config_.priority;
  if (!weights.multifactor) return {0, std::int64_t{job.id.value} + job.spec->nice - job.site_factor};
  const PriorityFactors f = factors(job, partition, Time{});
  Wide points = (Wide{f.site} - job.spec->nice) * kPoint;
  points += weigh(f.fairshare, weights.fairshare_weight);
  points += weigh(f.job_size, weights.job_size_weight);
  points += weigh(f.partition, weights.partition_weight);
  points += weigh(f.qos, weights.qos_weight);
  points += weigh(f.assoc, weights.assoc_weight);
  for (std::size_t i = 0; i < f.tres.size(); ++i) points += weigh(f.tres[i], weights.tres_weights[i].thousandths);
  if (config_.age_weight == 0 || config_.age_full.count() <= 0) return {clip(points), 0};  // then ids decide
  const Time since = ages_from(job);
  return {clip(points), is_set(since) ? to_micros(since) : kNeverAges};
}

Time PriorityScale::ages_since(std::int64_t order) const {
  const bool ages = config_.priority.multifactor && config_.age_weight > 0 && config_.age_full.count() > 0;
  return ages && order != kNeverAges ? from_micros(order) : Time{};
}

std::uint32_t PriorityScale::priority(const Rank& rank, Time now) const {
  const bool basic = !config_.priority.multifactor && rank.order != kNeverAges;
  Wide points = rank.points;
  if (basic) {
    points = (Wide{kTopPriority} - rank.order) * kPoint;
  } else if (rank.order != kNeverAges) {
    points += weigh(age_factor(from_micros(rank.order), now), config_.age_weight);
  }
  points = std::clamp<Wide>(points, 0, Wide{kMaxPriority} * kPoint);
  return static_cast<std::uint32_t>(std::max<std::int64_t>(static_cast<std::int64_t>(points) / kPoint, 1));
}

std::uint32_t PriorityScale::priority(const model::Job& job, const model::Partition& partition, Time now) const {
  if (job.hold != model::Hold::None || job.priority == 0) return 0;
  return priority(rank(job, partition), now);
}

std::uint32_t PriorityScale::priority(const model::Job& job, Time now) const {
  static const model::Partition nowhere{};
  const model::Partition* found = nullptr;
  if (job.spec->partitions.empty()) found = model::default_partition(view_);
  for (const std::string& name : job.spec->partitions)
    if (!found) found = model::find_partition(view_, name);
  return priority(job, found ? *found : nowhere, now);
}

}  // namespace spur::sched
