// SPDX-License-Identifier: Apache-2.0
// What commands do where their options say nothing. Part of DaemonConfig; as in Slurm a command reads it on the host
// where it runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace spur::config {

struct CommandDefaults {
  std::string mpi;                        // MpiDefault; empty: none
  std::string srun_prolog, srun_epilog;   // run by srun itself; empty: none
  bool kill_on_bad_exit = false;          // KillOnBadExit
  std::uint32_t wait_seconds = 0;         // WaitTime: after the first task's end; 0: for all tasks
  bool append_output = false;             // JobFileAppend
  // PropagateResourceLimits: names of limits, ALL or NONE; the others are those of the node.
  std::vector<std::string> limits{"ALL"};
  std::vector<std::string> limits_except;  // PropagateResourceLimitsExcept
  seconds login_environment{0};            // GetEnvTimeout; 0: the command's own
  std::string task_binding;                // TaskPluginParam, as --cpu-bind has it; empty: the usual
  std::string broadcast_directory;         // BcastParameters=DestDir; empty: the working directory
  bool broadcast_libraries = false, broadcast_compressed = false;  // send_libs, Compression
  std::string broadcast_exclude;           // BcastExclude; empty: the usual directories
  std::string salloc_command;              // SallocDefaultCommand; empty: the user's shell
  bool interactive_step = false;           // LaunchParameters=use_interactive_step
  std::string interactive_options = "--interactive --preserve-env --pty $SHELL";  // InteractiveStepOptions
  friend bool operator==(const CommandDefaults&, const CommandDefaults&) = default;
};

}  // namespace spur::config
