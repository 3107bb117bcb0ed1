// SPDX-License-Identifier: Apache-2.0
// A node: what the configuration says of it, what its agent found, how it stands.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace spur::model {

struct NodeGres {
  std::string name, type;
  std::uint64_t count = 0;
  std::string file;                  // device pattern, may be empty
  std::string cores{};               // cores near it ("0-15"), in the node's abstract numbering; empty: all
  std::string links{};               // gres.conf's Links: connections to the devices of that name, -1 for itself
  std::string nic{};                 // its nearest network interface; empty: not known
  std::vector<std::string> flags{};  // gres.conf's Flags
  friend bool operator==(const NodeGres&, const NodeGres&) = default;
};

// Declared in configuration, or taken from the agent where not declared.
struct NodeHardware {
  std::uint32_t cpus = 1, boards = 1, sockets = 1, cores_per_socket = 1, threads_per_core = 1;
  std::uint64_t memory_mib = 1, tmp_disk_mib = 0;
  std::vector<NodeGres> gres;
  std::uint32_t numa_nodes = 0;       // 0: as many as sockets
  std::uint32_t spec_cores = 0;       // CoreSpecCount: kept for the system
  std::string spec_cpus{};            // CpuSpecList
  std::uint64_t spec_memory_mib = 0;  // MemSpecLimit
  friend bool operator==(const NodeHardware&, const NodeHardware&) = default;
};

enum class NodeState : std::uint8_t { Unknown, Down, Idle, Allocated, Mixed, Future };
enum NodeFlag : std::uint32_t {
  kNodeDrain = 1u << 0,
  kNodeNoResponse = 1u << 1,  // '*': lease running out, or never registered
  kNodeFail = 1u << 2,
  kNodeMaintenance = 1u << 3,
  kNodeCompleting = 1u << 4,
  kNodeInvalidRegistration = 1u << 5,  // INVALID_REG: fewer resources than declared
  kNodeReserved = 1u << 6,             // in a reservation that has begun (kNodeMaintenance: for maintenance)
  kNodeRebootRequested = 1u << 7,      // '@': it reboots when nothing is left on it
  kNodeRebootIssued = 1u << 8,         // '^': its agent was told to; it is down until it has booted
  kNodeCloud = 1u << 9,                // State=CLOUD: there when it is needed, and switched off to begin with
  // What SuspendProgram and ResumeProgram do to it; state/power.h draws it.
  kNodePowerDown = 1u << 10,     // '!': it is switched off when nothing is left on it
  kNodePoweringDown = 1u << 11,  // '%'
  kNodePoweredDown = 1u << 12,   // '~'
  kNodePowerUp = 1u << 13,       // it is switched off, and is to be switched on
  kNodePoweringUp = 1u << 14,    // '#': until it has booted
  kNodeDynamicFuture = 1u << 15,  // a FUTURE node whose place a host has taken (slurmd -F)
  kNodeDynamicNorm = 1u << 16,    // made at run time, not in the configuration (slurmd -Z, scontrol create)
  // FUTURE: only in answers to who asks for them. No such node is in the state (model/dynamic_nodes.h).
  kNodeFuture = 1u << 17,
};
// No agent is expected to answer: the node is switched off, or on its way there or back.
inline constexpr std::uint32_t kNodeAway = kNodePoweringDown | kNodePoweredDown | kNodePoweringUp;

// What the leader finds due for nodes that reboot, or are switched off and on.
enum class NodeDue : std::uint8_t { RebootOverdue, PowerDown, PoweredDown, PowerUp, PowerUpOverdue };

// What becomes of a node that has been rebooted. Resume, Down: it is drained no more.
enum class AfterReboot : std::uint8_t { AsBefore, Resume, Down };

struct Node {
  NodeIndex index;
  std::string name;
  std::string address;    // host:port where the agent serves steps; empty until registered
  std::string hostname;   // NodeHostName
  NodeHardware hardware;  // in force
  NodeHardware found;     // as the agent reported it
  std::vector<std::string> features, active_features;
  std::uint32_t weight = 1;
  std::string comment, extra, reason;
  std::string instance_id{}, instance_type{};  // of a machine in a cloud, as its agent or an administrator says
  Uid reason_by;
  Time reason_at;

  bool down = false;        // lost its lease, set down by an admin, or never seen
  std::uint32_t flags = 0;  // NodeFlag bits, without kNodeCompleting which is derived
  bool registered = false;
  Time registered_at, boot_time, agent_started, last_busy;
  std::string version, os, arch;
  std::string public_key;  // Ed25519 key of the agent, raw 32 bytes

  // Sums over the allocations of jobs on it. apply_start and apply_done keep them; invariant checks recompute them.
  std::uint32_t cpus_allocated = 0;
  std::uint64_t memory_allocated_mib = 0;
  std::vector<std::uint64_t> cpus_in_use;  // bitmap by CPU index
  struct DevicesInUse {
    std::string gres;
    std::vector<std::uint64_t> bits;
    std::vector<std::uint32_t> shares{};
    friend bool operator==(const DevicesInUse&, const DevicesInUse&) = default;
  };
  std::vector<DevicesInUse>
      devices_in_use;       // one per gres name: bitmap by device index; shares taken, where it is shared
  std::vector<JobId> jobs;  // running, suspended or completing here, ascending
  std::uint32_t jobs_completing = 0;
  bool exclusive = false;             // a job holds the node alone
  std::uint32_t launch_failures = 0;  // runs in a row that it could not start
  AfterReboot after_reboot = AfterReboot::AsBefore;
  Time ordered_at;  // when it was to reboot, or to be switched off or on; not set: never, or it has been done

  bool is_away() const { return (flags & kNodeAway) != 0; }
  // Jobs may be given to it. They wait for a node that is switched off, or on its way back.
  bool usable() const {
    if (down || (flags & (kNodeDrain | kNodeFail | kNodeInvalidRegistration | kNodePoweringDown))) return false;
    return (flags & (kNodePoweredDown | kNodePoweringUp)) || (registered && !(flags & kNodeNoResponse));
  }
  // Which of several nodes goes first: those that are there before those that have to be switched on.
  std::uint32_t placement_weight() const {
    constexpr std::uint32_t kHalf = 1u << 30;
    const std::uint32_t own = weight < kHalf ? weight : kHalf - 1;
    return is_away() ? own + kHalf : own;
  }
  friend bool operator==(const Node&, const Node&) = default;
};

using NodePtr = std::shared_ptr<const Node>;

// Idle, Mixed, Allocated, Down, Unknown: what Slurm calls the base state.
NodeState base_state(const Node& node);
// "idle", "mixed*", "drained", "draining", "down~": sinfo's words; compact "mix", "drng", "alloc".
std::string state_text(const Node& node, bool compact);
// scontrol's "MIXED+DRAIN".
std::string state_text_full(const Node& node);

}  // namespace spur::model
