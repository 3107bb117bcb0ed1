// SPDX-License-Identifier: Apache-2.0
// Runs one step through the agent of the job's first node, as srun does: start it, turn the crank, get events. The
// agent checks the ticket, spreads the step over the other nodes and brings their output back on the same stream.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/index_set.h"
#include "base/result.h"
#include "base/time.h"
#include "model/job_spec.h"

namespace spur::wire {

// One of several steps of a heterogeneous job that run as one: where this one stands in the whole.
struct HetStep {
  JobId job;  // the first component's
  std::uint32_t first_rank = 0, first_node = 0, tasks = 0;
  std::vector<std::string> nodes;
  std::vector<std::uint32_t> tasks_per_node;  // parallel to nodes
};

struct StepRequest {
  std::string ticket;  // from ControllerClient::step_ticket
  std::string name;
  std::vector<std::string> arguments, environment;  // argv; NAME=VALUE
  std::string directory;
  std::vector<std::string> nodes, addresses;  // of the step, in order; the first address is dialled
  std::vector<std::uint32_t> tasks_per_node;  // parallel to nodes
  model::Distribution distribution;
  std::vector<std::uint32_t> task_nodes;       // of an arbitrary one: by rank, a position in `nodes`
  std::uint32_t tasks = 1, cpus_per_task = 0;  // 0: as the job
  bool no_kill = false;  // the rest goes on when a node is lost
  bool label = false, overlap = false, exclusive = false, kill_on_bad_exit = false, unbuffered = false, pty = false;
  std::uint32_t pty_rows = 0, pty_columns = 0;
  std::uint32_t umask = 022;
  std::vector<model::ResourceLimit> rlimits;
  TimeLimit time_limit;
  std::vector<model::GresRequest> gres;   // empty: as the job
  std::uint64_t memory_mib_per_node = 0;  // 0: as the job
  std::string std_in, std_out, std_err;   // patterns opened on the nodes; empty: over this stream
  std::optional<HetStep> het;             // what the tasks are told; ranks in events are the step's own

  // What is asked of the step manager; see proto/spur/v1/agent.proto.
  std::uint32_t node_count = 0, required_nodes = 0, max_tasks_per_node = 0, cpus_per_gpu = 0;
  bool exact = false, overcommit = false, no_gres = false;
  std::uint64_t memory_mib_per_cpu = 0;

  struct Program {
    IndexSet ranks;
    std::vector<std::string> arguments;
  };
  std::vector<Program> programs;             // --multi-prog: instead of `arguments`
  std::string cpu_bind, gpu_bind, mem_bind;  // as typed
  std::string task_prolog, task_epilog;
  std::int32_t warn_signal = 0;  // so many seconds before the end of the time limit
  std::uint32_t warn_seconds = 0;
  bool open_append = false, distributed = false;
  bool preserve_environment = false;  // tasks keep SLURM_NTASKS and the like
  std::string mpi;  // pmi2, pmix; empty: none
  model::ContainerRequest container;
  std::string host;  // of the caller
  std::uint32_t pid = 0;

  std::optional<std::uint32_t> watch;  // do not start anything, hear of this step of the job

  // A secret that names the step, for going on with it after an interruption; empty: it ends with the connection.
  std::string key;
  // Where the agent is now, and a fresh ticket; asked when it does not answer where it was. May be empty.
  struct Whereabouts {
    std::string address, ticket;
  };
  std::function<Result<Whereabouts>()> renew;
};

struct StepEvents {
  struct Exit {
    std::uint32_t rank = 0;
    std::string node;
    std::uint32_t code = 0, signal = 0;
    bool core_dumped = false, out_of_memory = false;
  };
  struct Part {
    std::string node;
    IndexSet ranks;
  };
  std::function<void(const std::string& node, std::uint32_t step, const std::vector<std::uint32_t>& pids)> started;
  std::function<void(const std::vector<Part>& layout)> layout;  // of a step that is watched: first
  std::function<void(std::uint32_t rank, std::string_view data, bool is_stderr)> output;
  std::function<void(const Exit& exit)> exited;
  std::function<void(const std::string& node, const Error& error)> failed;
  std::function<void(const std::string& node, std::uint32_t step, const std::string& text)>
      not_bound;                               // --cpu-bind cannot be
  std::function<void(ErrorCode why)> waiting;  // the step fits into the job, but not now; may come again
  std::function<void(const std::string& text)> notice;  // somebody has a line for who looks at the job
  std::function<void(bool lost)> contact;      // with the agent: gone for some time, and there again
};

class AgentClient {
 public:
  // Dials `address` and sends the request; what fails later is an event or the result. Events come only inside
  // turn(), and must not destroy the client. With a key, the client reconnects for some minutes when the agent is
  // gone, and the step goes on.
  static Result<std::unique_ptr<AgentClient>> run_step(const std::string& address, const StepRequest& request,
                                                       StepEvents events);
  ~AgentClient();
  AgentClient(const AgentClient&) = delete;
  AgentClient& operator=(const AgentClient&) = delete;

  // Waits until the step, `input` (a descriptor, or -1) or a signal has something, at most for `longest`, and hands
  // out the step's events. True: `input` can be read.
  bool turn(int input, Duration longest);
  bool ended() const;
  // After the end: success, or what broke the stream. How the tasks ended came as events.
  Status result() const;

  void send_input(std::string_view data, std::optional<std::uint32_t> rank);  // no rank: to all tasks
  void end_input();
  bool input_is_full() const;  // hold further input back
  void send_signal(int signal);
  void resize(std::uint32_t rows, std::uint32_t columns);  // of the terminal, with pty

 private:
  struct Link;
  explicit AgentClient(std::unique_ptr<Link> link);
  std::unique_ptr<Link> link_;
};

// A step that runs, as its manager knows it.
struct StepInfo {
  JobId job;
  std::uint32_t step = 0;
  std::string name;
  Uid uid;
  std::string partition, nodes, host;
  std::uint32_t node_count = 0, cpus = 0, tasks = 0, pid = 0;
  std::uint64_t memory_mib = 0;
  Time started;
  TimeLimit time_limit;
  model::Distribution distribution;
};
// Those of the jobs whose first node is the agent's, in order.
Result<std::vector<StepInfo>> list_steps(const std::string& address, Duration timeout);
// `signal` 0: ends it.
Status signal_step(const std::string& address, const std::string& ticket, std::uint32_t step, int signal,
                   Duration timeout);
// Its time limit from now on, counted from its start.
Status limit_step(const std::string& address, const std::string& ticket, std::uint32_t step, TimeLimit limit,
                  Duration timeout);

// Whether an agent serves at the address.
struct AgentPing {
  std::string node, version;
  Time started;
};
Result<AgentPing> ping_agent(const std::string& address, Duration timeout);

}  // namespace spur::wire
