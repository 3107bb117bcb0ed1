// SPDX-License-Identifier: Apache-2.0
// The command lines of the daemons. Both answer to Slurm's names and options (slurmctld -D -f -c -i -v -V, slurmd -N
// NAME ...) as well as to their own.
#pragma once

#include <optional>
#include <string>

#include "config/load.h"
#include "os/log.h"

namespace spur::main {

struct DaemonOptions {
  bool foreground = false;
  bool clear_state = false;    // -c: start without the jobs of before
  std::string convert;         // --convert: where the state is moved to; empty: no
  bool ignore_damage = false;  // -i: start without them if they cannot be read
  int verbose = 0;             // -v, each one level more
  std::string config;          // -f
  std::string state_dir, listen, log_file;
  std::optional<config::LogLevel> log_level;
  std::string node;  // -N: the node to be; of spurctld, which of the controllers
  // spurd only
  std::string controller;  // --controller
  std::string token_file;  // --token
  std::string conf_server;  // --conf-server: where the configuration comes from
  std::string stepd;       // --stepd: where spurstepd is
  std::string address;     // --address: how others reach this agent
  bool print_cdi = false;  // --print-cdi
  bool just_booted = false;  // -b: tell the controller so, whatever the kernel says
  bool print_hardware = false, print_gres = false;  // -C, -G
  bool future = false;   // -F: to take the place of a FUTURE node that has this feature, if one is named
  std::string feature;
  bool dynamic = false;   // -Z: to be a node that no file has,
  std::string node_words;  // --conf: of which this is to be said
  std::string extra, instance_id, instance_type;  // what the controller is to show of the node
};

enum class Daemon : std::uint8_t { Controller, Agent };

// Parses; prints and exits for -V, --help and errors.
DaemonOptions parse_daemon_options(Daemon daemon, int argc, char** argv);

// Under Slurm's name Slurm's answer, else our own. Exits.
[[noreturn]] void print_version(const char* argv0);

// The configuration with the command line's word over it.
Result<config::Loaded> load_for(const DaemonOptions& options);

// Where the daemon's log goes: as configured, to stderr in the foreground, else to syslog if there is no file.
os::Log::Targets log_targets(const config::LogConfig& config, const std::string& file, const DaemonOptions& options);

// The program beside this one ("spurstepd").
std::string sibling_program(const std::string& name);
std::string short_hostname();

}  // namespace spur::main
