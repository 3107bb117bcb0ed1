// SPDX-License-Identifier: Apache-2.0
// What the columns of a node's row mean, for one kind of nodes: its CPUs by socket, its devices one by one, and what
// it has of GRES that is only counted. Nodes of a kind share a layout; rows of all kinds have the same width
// (capacity.h).
//
//   0  CPUs in all; where cores go whole, only those of cores that are free altogether
//   1  memory in MiB
//   2  and on: one per partition with MaxCPUsPerNode: CPUs its jobs may still take on the node
//   then the node's own: CPUs per socket (where it has several with more than a core each), one per device with its
//   shares (a device that nobody shares has one), one per (name, type) of GRES without devices
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/view.h"
#include "sched/topology.h"

namespace spur::sched {

using Amount = std::int64_t;
using GresId = std::uint32_t;  // a (name, type), alike on all nodes of a call

// The part of a row's meaning that all nodes share.
class Columns {
 public:
  static constexpr std::size_t kCpu = 0, kMemory = 1, kFirstLimit = 2;

  explicit Columns(const model::View& view);

  std::size_t width() const { return width_; }
  std::size_t first_of_node() const { return first_of_node_; }  // where the columns of the kind begin
  GresId gres_kinds() const { return static_cast<GresId>(gres_.size()); }
  const std::string& gres_name(GresId id) const { return gres_[id].first; }
  const std::string& gres_type(GresId id) const { return gres_[id].second; }
  // All types of that name that any node has, or the one; in order of the types.
  std::vector<GresId> gres_ids(std::string_view name, std::string_view type) const;
  // 0 if the partition has no such limit. `partition` is a position in View::partitions.
  std::size_t partition_limit(std::size_t partition) const { return partition_limit_[partition]; }
  // Null if near and far are the same there.
  const std::shared_ptr<const Topology>& topology(std::size_t partition) const { return topologies_[partition]; }

 private:
  std::vector<std::pair<std::string, std::string>> gres_;
  std::vector<std::size_t> partition_limit_;
  std::size_t first_of_node_ = 0, width_ = 0;
  std::vector<std::shared_ptr<const Topology>> topologies_;  // by partition
};

// Names of GRES that are shares of GPUs.
bool is_share_of_gpu(std::string_view gres);

// No node has more devices of one kind: a larger count is a typing error or a quantity, and device numbers are listed
// one by one in every grant.
inline constexpr std::uint64_t kMaxDevices = 65'536;
// Up to so many devices of one name get a column each; it bounds the masks below.
inline constexpr std::uint32_t kMaxSingleDevices = 64;

struct Device {
  std::size_t column = 0;
  GresId gres = 0;
  Amount capacity = 1;                        // shares
  std::uint64_t sockets = ~std::uint64_t{0};  // near it, a bit each
  std::vector<std::uint64_t> near_cpus;       // bitmap; empty: all
};

// The devices of one name, by number.
struct DeviceGroup {
  std::string name;
  std::vector<Device> devices;
  std::string shared_as;            // "shard", "mps": the name under which shares are asked for; empty: not shared
  std::vector<std::int32_t> links;  // devices x devices: weight of the connection between two
  std::vector<std::int32_t> sums;   // by mask of devices: links within it; only where there are few devices
  bool all_equal = true;            // nothing to choose by: neither links nor sockets differ

  std::int32_t link(std::size_t a, std::size_t b) const { return links[a * devices.size() + b]; }
  std::int32_t links_within(std::uint64_t mask) const;
};

// GRES that is only counted, with the runs of numbers it has among those of its name.
struct CountedGres {
  GresId gres = 0;
  std::string name;
  std::size_t column = 0;
  struct Run {
    std::uint32_t first = 0, count = 0;
  };
  std::vector<Run> runs;
};

struct NodeLayout {
  // Where a (name, type) is: a run of columns of single devices, or one column with a count; 0 columns: not there.
  struct Span {
    std::size_t first = 0, columns = 0;
    bool counted = false;
    std::uint32_t group = 0;  // position in `groups`, unless counted
  };

  Amount unit = 1;  // CPUs that go together: threads per core where cores go whole, else 1
  std::uint32_t sockets = 1;
  std::size_t first_socket = 0;  // column of socket 0; 0: sockets have no columns
  Amount cpus_per_socket = 0;
  std::vector<std::uint64_t> reserved_cpus;  // bitmap of those kept for the system; empty: none
  std::vector<DeviceGroup> groups;
  std::vector<CountedGres> counted;
  std::vector<Span> spans;  // by GresId

  const DeviceGroup* group(std::string_view name) const;
};

// -S and --thread-spec: so many cores, or threads, of a node are kept for the system.
struct CoreSpec {
  std::uint32_t count = 0;
  bool threads = false;
};
// Which CPUs these are, as a bitmap: from the last core of the last socket downwards, socket by socket; with whole
// cores only those of which all threads are kept.
std::vector<std::uint64_t> kept_cpus(const model::NodeHardware& hardware, CoreSpec spec, Amount unit);
// CPUs that are left for tasks.
Amount cpus_beside(const model::NodeHardware& hardware, CoreSpec spec, Amount unit);

NodeLayout make_layout(const model::NodeHardware& hardware, const Columns& columns, bool cores_whole);

// All that a node of this layout has; `limits` and what is beyond the layout are left alone.
void fill_total(const NodeLayout& layout, const model::NodeHardware& hardware, Amount* row);
// What is in use there by the node's books, to be taken from the total.
void subtract_used(const NodeLayout& layout, const model::Node& node, bool memory_counts, Amount* row);
// CPUs (all and by socket) and devices of a grant, added to `row`. A suspended job holds no CPUs.
void add_cpus(const NodeLayout& layout, std::span<const model::CpuNumber> cpus, Amount* row);
void add_devices(const NodeLayout& layout, const std::vector<model::DeviceGrant>& devices, Amount* row);

}  // namespace spur::sched
