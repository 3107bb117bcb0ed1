// SPDX-License-Identifier: Apache-2.0
// The parts of `spur simulate`: what was asked for, one function per kind of input, and how results are shown.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "replay/outcome.h"
#include "replay/reference.h"
#include "sched/plan.h"

namespace spur::cli {

struct AddedNodes {
  std::uint32_t count = 0;
  std::string like;  // name of a node; empty: the first one
};

struct Simulate {
  std::string trace, nodes_file, policy = "default", until, svg, drain;
  std::optional<std::uint32_t> procs, nodes, cpus_per_node, limit, fill;
  AddedNodes added;
  std::uint64_t seed = 1;
  bool from_state = false, json = false, help = false;
};

// A scheduler by the name --policy knows it by. Reference policies are the textbook's and know one pool of
// processors; the others are the planner with other parameters.
struct Policy {
  std::string name;
  const char* help;
  std::optional<replay::ReferencePolicy> reference;
  sched::Params params;
  std::function<void(sched::Params&)> settings{};  // made over that; empty: none
  // For a cluster with that configuration, which the default policy heeds; null: there is none.
  sched::Params params_for(const model::ClusterConfig* config) const;
};
// A name, for the planner followed by settings: "default:promised_jobs=8,promise_after=1-0". None: unknown; the
// message was printed.
std::optional<Policy> find_policy(Context& context, const std::string& text);
std::string policy_help();

// Each returns the exit status.
int simulate_swf(Context& context, const Simulate& options, const Policy& policy, const std::string& text);
int simulate_pods(Context& context, const Simulate& options, const std::string& text);
int simulate_state(Context& context, const Simulate& options, const Policy& policy);

// A line on the terminal that is written over and over; nothing where stderr is no terminal.
class ProgressLine {
 public:
  explicit ProgressLine(Context& context);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  replay::Progress callback();

 private:
  void show(double share);

  Context& context_;
  bool shown_ = false;
  bool terminal_;
  int last_ = -1;
};

// Writes the picture, or says why not. True: done.
bool write_picture(Context& context, const std::string& path, const std::string& svg);
// "3 lines make no sense (the first is line 17); they are left out" on stderr, where there are any.
void report_broken(Context& context, const std::string& file, std::size_t lines, std::size_t first);

}  // namespace spur::cli
