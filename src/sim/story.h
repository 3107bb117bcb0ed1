// SPDX-License-Identifier: Apache-2.0
// What a world is made of and what befalls it, laid down before it runs: its size, how its network behaves, and every
// fault with its time. Made from a seed, or read from a file: the museum (tests/sim/museum/) keeps stories as text,
// so that they stay what they were when the way they are made up changes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace spur::sim {

// `a` is who it happens to, `b` the other side, `lasts` for how long. story.cc has the table of names.
enum class FaultKind : std::uint8_t {
  CrashController,   // kill -9; its etcd goes on
  CrashHost,         // of a controller, with its etcd
  StopController,    // an orderly stop: it hands over
  PauseController,   // SIGSTOP
  WipeController,    // crash, and its snapshot is gone
  DiskFull,          // of a controller: no snapshot can be stored there
  CutControllers,    // between two controllers' etcd members
  IsolateController, // from all others, nodes and clients
  CutMember,         // of etcd, from all others; nodes and clients still reach its controller
  CutClients,        // from a controller
  SlowMember,        // of etcd; amount: by up to how many microseconds
  StallStore,        // etcd elects a leader, or its disks stall
  FullStore,         // its space quota is used up
  CrashAgent,
  RebootNode,
  PauseAgent,
  CutNode,           // from all controllers
  CutWay,            // between one node and one controller; amount: 1 to the node, 2 from it, 3 both
  JumpClock,         // of a controller's host; amount: by how many microseconds
  EditConfig,        // an administrator changes the configuration; amount chooses what
};

struct Fault {
  Duration at{0};
  FaultKind kind = FaultKind::CrashController;
  std::uint64_t a = 0, b = 0;
  Duration lasts{0};
  std::int64_t amount = 0;
  friend bool operator==(const Fault&, const Fault&) = default;
};

struct Story {
  std::uint64_t seed = 1;         // of everything that is not written down here: what clients do, how long messages take
  std::uint64_t steps = 150;      // things that clients do
  std::uint64_t controllers = 1;  // 1, with a journal of its own, or 3 that share one
  std::uint64_t nodes = 1;
  std::uint64_t preempts = 0;     // urgent jobs push out others
  std::uint64_t shares = 0;       // jobs that may have a core at once; 0: one
  std::uint64_t looks = 0;        // in thousandths of what clients do: how often one looks at some controller besides
  std::uint64_t lost = 15, repeated = 15, late = 20;       // messages, in thousandths
  std::uint64_t lost_answers = 0, late_requests = 0;       // of etcd, in thousandths
  std::uint64_t failover_us = 3'000'000;
  std::uint64_t piece_bytes = 512 << 10;                   // of an entry in etcd
  std::uint64_t snapshot_bytes = 64 << 20;                 // of log between two snapshots
  std::vector<Fault> faults;                               // ascending
  friend bool operator==(const Story&, const Story&) = default;
};

// `steps` 0: as many as the seed says.
Story make_story(std::uint64_t seed, std::uint64_t steps);
std::string print_story(const Story& story);
Result<Story> parse_story(std::string_view text);

}  // namespace spur::sim
