// SPDX-License-Identifier: Apache-2.0
// What a node knows of its runs: one directory job<ID>.<EPOCH> per run in the spool directory. It survives the death
// of the agent and of spurstepd; surviving a power cut is the business of os/run_ledger.h, for which a run's number
// and end are enough.
//
//   run           the record below; root's (or the agent's user's) alone
//   slurm_script  the batch script, readable by the job's user alone; written by spurstepd
//   ctl           named pipe on which spurstepd takes orders (os/step_control.h)
//
// The record is one file of four parts at fixed places, all allocated by the first write: the end of a job can be
// recorded on a full disk.
//
//   0     header   run, part, boot, cgroup; size and checksum of the launch
//   1024  start    pid of spurstepd, once it is there
//   1536  end      how the run ended
//   4096  launch   the ControllerLaunch, as wire/agent_codec.h writes it
//
// A directory, its record and its pipe are used again for later runs (as "spare<N>" in between): creating and
// deleting inodes at the rate of short jobs is what ext4 does worst. The script is always a new file, for its user
// may still have it open.
//
// Each part carries its own checksum: a part that a crash cut short reads as absent. Whoever supervises a run holds
// the file's lock (flock) from before spurstepd is started until it ends: the agent passes its locked descriptor on.
// So "is the supervisor alive" has an answer that no crash and no reuse of process ids can falsify.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/agent_message.h"
#include "os/unique_fd.h"

namespace spur::os {

struct RunHeader {
  model::JobRun run;
  bool is_batch_host = false;  // part 0 of its job
  bool has_script = false;     // runs a batch script here; otherwise the run is only noted
  std::string boot_id;         // of the kernel, when noted
  std::string cgroup;          // of the job; empty: none
};

struct EndRecord {
  model::ExitStatus exit;
  bool out_of_memory = false, launch_failed = false;
  std::string error{};
  Time ended{};
  model::Usage usage{};
  bool prolog_failed = false, node_blameless = false;  // as in model::AgentJobDone
};

class RunFile {
 public:
  explicit RunFile(UniqueFd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  UniqueFd take() { return std::move(fd_); }  // with the lock, to hand both on
  Result<RunHeader> header() const;           // Corrupt when it is not whole
  Result<std::string> launch() const;         // Corrupt when it is not whole
  std::optional<pid_t> started() const;       // pid of spurstepd
  std::optional<EndRecord> end() const;

  Status note_started(pid_t stepd) const;
  Status note_end(const EndRecord& record) const;
  Status sync() const;  // makes the record, and the way to it, survive a power cut
  // Takes the lock unless a living process has it.
  bool try_lock() const;

 private:
  UniqueFd fd_;
};

class Spool {
 public:
  // Creates the directory if need be; refuses one that somebody else owns or may write to.
  static Result<Spool> open(std::string path);

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }
  std::string run_path(model::JobRun run) const;   // absolute if path() is
  static std::string run_name(model::JobRun run);  // "job12.1"

  // Notes a run, and locks its file. On failure nothing is left behind.
  Result<RunFile> create(const RunHeader& header, std::string_view launch);
  Result<RunFile> open_run(model::JobRun run) const;
  // Runs that have a directory here, in order.
  Result<std::vector<model::JobRun>> list() const;
  void remove(model::JobRun run);

 private:
  Spool(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  Status take_directory(const std::string& name);
  Result<RunFile> create_in(const std::string& name, const RunHeader& header, std::string_view launch) const;
  bool keep_spare(const std::string& name, int dir);
  void remove_for_good(const std::string& name) const;
  Result<std::vector<std::string>> names() const;
  std::string path_;
  UniqueFd fd_;
  std::vector<std::string> spares_;
  std::uint64_t next_spare_ = 0;
};

// Where a step daemon of the run in `run_directory` leaves samples of what its tasks use (os/usage_sample.h): files
// in the spool's directory "usage". They are worth nothing once it is gone, and swept away when an agent starts.
inline constexpr std::string_view kUsageDirectory = "usage";
std::string usage_file(std::string_view run_directory, model::JobRun run, std::string_view step);

// The entry that marks a run's processes in their environment, for finding them without a cgroup. `spool_token` tells
// this spool from any other on the host.
std::string run_token(std::string_view spool_token, model::JobRun run);

// Of the running kernel: processes of a run noted under another one are gone.
std::string current_boot_id();

}  // namespace spur::os
