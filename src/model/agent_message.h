// SPDX-License-Identifier: Apache-2.0
// What a controller and an agent say to each other on the agent's one stream. Every message may be lost, repeated or
// late; each carries (job, epoch) and is idempotent. wire/agent_codec.cc maps them to protobuf.
//
//   agent                         controller
//   Hello  ---------------------->            who I am, what I have, which (job, epoch) I hold or have ended
//          <---------------------- Welcome    lease and heartbeat interval; or: end these runs, which are over, and
//          say hello again
//   Heartbeat -------------------->           every interval; renews the lease
//          <---------------------- Launch     until a Launched or JobDone for it arrives (repeated by the controller)
//   Launched -------------------->            durably noted on the node; one that cannot be launched is a JobDone
//          <---------------------- End        TERM or KILL; repeated until JobDone
//   JobDone  -------------------->            repeated by the agent until DoneAck
//   StepsEnded ------------------>           while the run goes on, when many have ended; repeated until StepsAck
//          <---------------------- StepsAck
//          <---------------------- DoneAck    durable in the journal: the agent may forget it
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/allocation.h"
#include "model/job.h"
#include "model/node.h"
#include "model/step_end.h"
#include "model/usage.h"

namespace spur::model {

// ---- agent to controller
struct AgentHello {
  std::string node, address, hostname, version, os, arch, public_key;
  NodeHardware found;
  Time boot_time, started;
  std::vector<JobRun> holding;  // running or not yet acknowledged as done
  std::uint64_t sequence = 0;   // hellos and heartbeats are counted together
  std::string extra{}, instance_id{}, instance_type{};  // of what is not said, what is known stays
  std::uint32_t load_hundredths = 0;  // as in a heartbeat
  std::uint64_t free_memory_mib = 0;
};
struct AgentHeartbeat {
  std::uint64_t sequence = 0;
  std::uint32_t load_hundredths = 0;  // 1-minute load average x 100
  std::uint64_t free_memory_mib = 0;
  std::string problem{};  // why the node should get no jobs (a device is missing); empty: nothing
};
struct AgentLaunched {
  JobRun run;
};
struct AgentJobDone {
  JobRun run;
  ExitStatus exit;
  bool is_batch_host = false, out_of_memory = false, launch_failed = false;
  std::string error;
  bool prolog_failed = false;   // that is why it was not launched
  bool node_blameless = false;  // not launched, and no sign that the node is broken (its user is not known there)
  std::string drain{};          // why the node must not be used any more (its epilog failed); empty: it may
  Usage usage{};
  Usage batch_usage{};           // the part of it that is the batch script's own
  std::vector<StepEnd> steps{};  // of the run, that the controller has not got yet
};
// Steps of a run that goes on, so that a job of many of them has no large end.
struct AgentStepsEnded {
  JobRun run;
  std::uint64_t first = 0;  // which step of the run to end this is, counted from 0
  std::vector<StepEnd> steps;
};
using AgentMessage = std::variant<AgentHello, AgentHeartbeat, AgentLaunched, AgentJobDone, AgentStepsEnded>;

// ---- controller to agent
struct ControllerWelcome {
  std::string cluster_name;
  seconds lease{300};
  seconds heartbeat{30};
  std::string controller_public_key;  // verifies step credentials
  std::vector<JobRun> unknown;        // held by the agent, not known here: end and forget them
  bool hello_again = false;           // the node is not taken in: when nothing of `unknown` is left, say hello again
};
// What one node needs to run its part. Node names, not indices: agents know no indices.
struct LaunchPart {
  std::string node;
  std::vector<CpuNumber> cpus;
  std::uint64_t memory_mib = 0;
  std::uint32_t tasks = 1;
  std::vector<DeviceGrant> devices;
  std::uint32_t sockets = 1, cores_per_socket = 0, threads_per_core = 1;  // of the node, as CPUs are numbered
  std::string topology_address{}, topology_pattern{};  // "s4.s1.n1", "switch.switch.node"; empty: no switches, no blocks
};
// What a node that is not the job's first must know of the others.
struct WholeJob {
  std::string nodes;  // a host list
  std::uint32_t node_count = 0;
  std::string cpus_per_node;  // "64(x2),32"
  friend bool operator==(const WholeJob&, const WholeJob&) = default;
};
// A component of a heterogeneous job, as the script of the first is told of it.
struct HetComponent {
  JobId job;
  std::string name, partition;
  std::string nodes;  // a host list
  std::uint32_t node_count = 0;
  std::string cpus_per_node, tasks_per_node;  // "64(x2),32"
  std::optional<std::uint32_t> tasks;         // where asked for
  std::optional<std::uint32_t> cpus_per_task;
  std::optional<std::uint64_t> memory_per_node_mib, memory_per_cpu_mib;
  friend bool operator==(const HetComponent&, const HetComponent&) = default;
};
// Only the job's first node, which runs the script and starts steps on the others, is told of every part and gets the
// script: in a job of ten thousand nodes all others need not read of each other.
struct ControllerLaunch {
  JobRun run;
  // The agent's last hello or heartbeat that the controller had heard when it sent this: if that was said long ago, the node
  // may have been given up since, and the job may run elsewhere.
  std::uint64_t heard = 0;
  std::shared_ptr<const JobSpec> spec;
  JobId array_job;
  std::optional<std::uint32_t> array_task;
  std::uint32_t array_count = 0, array_min = 0, array_max = 0, array_step = 1;
  std::string partition, cluster_name;
  std::uint32_t restarts = 0;
  TimeLimit time_limit;
  Time started;
  std::vector<LaunchPart> parts;       // the receiver's own first; then, for the first node, all others' in order
  std::vector<std::string> addresses;  // of the agents of `parts`
  std::uint32_t this_part = 0;         // which of the job's nodes the receiver is; 0 runs the batch script
  WholeJob whole;                      // unless it is the first
  seconds kill_wait{30};
  std::vector<HetComponent> het;  // all components, for the first node of a heterogeneous job's first
  std::uint32_t het_offset = 0;   // which of them this is
};
struct ControllerEnd {
  JobRun run;
  bool kill = false;                   // false: CONT and TERM now
  JobState why = JobState::Cancelled;  // for the line in the job's output ("CANCELLED AT ... DUE TO TIME LIMIT")
};
struct ControllerSignal {
  JobRun run;
  int signal = 0;
  bool batch_only = false, steps_only = false;
};
struct ControllerSuspend {
  JobRun run;
  bool resume = false;
};
struct ControllerDoneAck {
  JobRun run;
};
struct ControllerStepsAck {
  JobRun run;
  std::uint64_t count = 0;  // so many of its ended steps are on record
};
// scontrol notify: a line for whoever looks at the job. To its first node; not repeated, and lost with the connection.
struct ControllerNotify {
  JobRun run;
  std::string text;
};
// scontrol shutdown: the agent ends; what runs goes on.
struct ControllerShutdown {};
// The node is to be rebooted. Sent again at every welcome until it has been: the agent does it once for each moment.
struct ControllerReboot {
  Time at;
};
// scontrol setdebug, setdebugflags nodes=: of the agent's log, until its configuration is read again.
struct ControllerDebug {
  std::string level;                // empty: it stays
  std::string flags_on, flags_off;  // DebugFlags, with commas
};
// Nodes of a job that goes on without them (--no-kill). To its first node, also at every welcome.
struct ControllerNodesLost {
  JobRun run;
  std::vector<std::string> nodes;
};
using ControllerMessage = std::variant<ControllerWelcome, ControllerLaunch, ControllerEnd, ControllerSignal, ControllerSuspend,
                                       ControllerDoneAck, ControllerStepsAck, ControllerShutdown, ControllerNotify,
                                       ControllerReboot, ControllerNodesLost, ControllerDebug>;

}  // namespace spur::model
