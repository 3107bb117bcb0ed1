// SPDX-License-Identifier: Apache-2.0
// The options that say what a job is: one table for sbatch, srun and salloc, as Slurm has one. A row names the
// commands it belongs to and the environment variable each of them reads; the setters fill a JobRequest, whose spec
// goes to the controller.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/clusters.h"
#include "cli/options.h"
#include "model/job_spec.h"

namespace spur::cli {

// A command line on its way to a job.
struct JobRequest {
  model::JobSpec spec;

  // Known before the options are read.
  Time now;
  bool is_root = false;
  std::string directory;  // the command's own working directory

  // What is no part of the specification.
  bool help = false, usage = false, version = false, quiet = false, test_only = false;
  int verbose = 0;
  std::optional<std::string> exported;  // --export
  std::optional<std::string> export_file;
  std::optional<std::string> propagate;  // --propagate: names of limits; "" means all
  bool name_given = false, shape_given = false;  // -J, -B

  bool gres_given = false;  // by any of the options, also for none
  // Generic resources by option: each option replaces only its own earlier value.
  std::vector<model::GresRequest> gres, gpus, gpus_per_node, gpus_per_task, gpus_per_socket;

  // Which of --mem, --mem-per-cpu and --mem-per-gpu was given on the source being read (reset by begin_source).
  bool mem_given = false, mem_per_cpu_given = false, mem_per_gpu_given = false;
  bool core_spec_given = false, thread_spec_given = false;
  std::optional<std::uint32_t> plane_size;  // SLURM_DIST_PLANESIZE: of `-m plane`

  std::optional<Uid> run_as;  // --uid, --gid: root submits for somebody
  std::optional<Gid> run_as_group;
  std::optional<seconds> login_environment;  // --get-user-env: how long it may take; 0: as the site says
  bool gres_help = false;                    // --gres=help
  ClusterList clusters;                      // -M

  // sbatch
  bool parsable = false, wait = false, ignore_pbs = false;
  std::optional<std::string> wrap;

  // salloc
  enum class Bell : std::uint8_t { AfterDelay, Always, Never };
  Bell bell = Bell::AfterDelay;
  bool no_shell = false;
  std::optional<int> kill_signal;  // -K: for the command when the allocation is taken away

  // srun
  bool label = false, unbuffered = false, disable_status = false, quit_on_interrupt = false, overlap = false;
  bool exact = false, whole = false;
  bool pty = false, multi_prog = false, distributed = false;
  std::optional<std::string> cpu_bind, gpu_bind, mem_bind;  // as typed, checked
  std::optional<std::string> task_prolog, task_epilog, prolog, epilog;
  std::optional<std::uint32_t> relative;  // -r: from that node of the job on
  std::optional<bool> kill_on_bad_exit;
  std::string mpi;  // pmi2, pmix, list; empty: none
  bool mpi_given = false;
  std::optional<std::string> bcast, bcast_exclude;  // where to send the program first; "": a place of ours
  std::optional<bool> send_libs, bcast_compress;
  std::string bcast_directory;  // where a relative destination begins; empty: the working directory
  std::optional<std::uint32_t> wait_seconds;  // -W: how long the others may run on after the first task ended
  std::optional<JobId> job_id;                // --jobid
  bool nodes_given = false, tasks_given = false, time_given = false;
  bool nodes_of_environment = false;  // given by the variable alone, which tells how many the job had when it began
  bool preserve_env = false;  // -E
  bool interactive = false;   // --interactive: the shell of salloc, on the first node and beside all other steps
  bool x11 = false;
  std::uint32_t reserved_ports = 0;    // --resv-ports=n
  std::optional<IndexSet> het_groups;  // --het-group: components of the job around it to run in

  // Call before reading each of directives, environment and command line: a later source replaces an earlier one,
  // while within one source contradictions are errors.
  void begin_source() { mem_given = mem_per_cpu_given = mem_per_gpu_given = false; }
  // Joins what several options said together into the specification. Call once, after all sources.
  void finish();
};

// --resv-ports=n where MpiParams= names no ports, which is everywhere here.
inline constexpr std::string_view kNoPorts = "Requires more ports than can be reserved";

enum JobCommand : unsigned { kSbatch = 1, kSrun = 2, kSalloc = 4 };

// A row of the table, for help and for reading the environment.
struct JobOption {
  Option<JobRequest> option;
  unsigned commands = kSbatch | kSrun | kSalloc;
  const char* sbatch_env = nullptr;  // SBATCH_X is SALLOC_X for salloc
  const char* srun_env = nullptr;
};

std::span<const JobOption> all_job_options();
// The rows of one command, in the table's order.
std::vector<Option<JobRequest>> job_options_of(JobCommand command);

// Sets what SBATCH_* or SLURM_* variables ask for. Returns 0 or an exit status after the message.
int apply_job_environment(Context& context, JobCommand command, JobRequest& request);

// -m arbitrary and SLURM_HOSTFILE: the nodes of the tasks become the nodes asked for. Part of reconcile; for a step
// it is all there is to settle.
OptionStatus settle_distribution(const Context& context, JobRequest& request);

// --gres=help: the names that there are; exit status 0, or what went wrong.
int print_gres_help(Context& context);

// --x11, which no cluster has here: Slurm's error for one without it. `failed` begins the sentence.
OptionStatus check_x11(const Context& context, const JobRequest& request, std::string_view failed);

// What several options mean together, as Slurm settles it; may print a warning.
OptionStatus reconcile(Context& context, JobRequest& request);
// sbatch and salloc: with a number of nodes or -B, and no number of tasks, there is a task for each socket, core and
// thread that nodes must have at least.
void settle_tasks_by_shape(JobRequest& request);

}  // namespace spur::cli
