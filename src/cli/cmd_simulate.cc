// SPDX-License-Identifier: Apache-2.0
// spur simulate: the planner in virtual time, on a workload trace or on a copy of the live state. Says how long jobs
// would wait, how well the machine would be used, and when everything that waits now would start.
#include <algorithm>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/simulate.h"
#include "replay/trace_file.h"
#include "text/decimal.h"
#include "text/hostlist.h"
#include "text/printable.h"

namespace spur::cli {
namespace {

using Value = std::string_view;

template <bool Simulate::* Field>
OptionStatus flag(Simulate& s, Value) {
  s.*Field = true;
  return {};
}
template <std::string Simulate::* Field>
OptionStatus word(Simulate& s, Value v) {
  s.*Field = std::string(v);
  return {};
}
template <std::optional<std::uint32_t> Simulate::* Field>
OptionStatus count(Simulate& s, Value v) {
  const auto number = text::parse_decimal32(v);
  if (!number || *number == 0) return bad_option(fmt::format("\"{}\" is not a positive number", text::shown(v)), 1);
  s.*Field = *number;
  return {};
}
OptionStatus set_seed(Simulate& s, Value v) {
  const auto number = text::parse_decimal(v);
  if (!number) return bad_option(fmt::format("\"{}\" is not a number", text::shown(v)), 1);
  s.seed = *number;
  return {};
}
OptionStatus set_drain(Simulate& s, Value v) {
  if (const auto hosts = text::expand_hostlist(v); !hosts) return bad_option(hosts.error().message, 1);
  s.drain = std::string(v);
  return {};
}
// COUNT[:NODE]
OptionStatus set_added(Simulate& s, Value v) {
  const std::size_t colon = v.find(':');
  const auto number = text::parse_decimal(v.substr(0, colon), 1'000'000);
  if (!number || *number == 0) return bad_option(fmt::format("\"{}\" is not COUNT[:NODE]", text::shown(v)), 1);
  s.added.count = static_cast<std::uint32_t>(*number);
  s.added.like = colon == Value::npos ? std::string() : std::string(v.substr(colon + 1));
  return {};
}

constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
// clang-format off
constexpr Option<Simulate> kOptions[] = {
    {{"trace", 't', V, "file", "a workload: FILE.swf, or PODS.csv with --nodes-file;\npacked with gzip or not"}, word<&Simulate::trace>},
    {{"from-state", 0, N, nullptr, "take jobs and nodes as they are in the cluster now"}, flag<&Simulate::from_state>},
    {{"nodes-file", 0, V, "file", "the nodes of a trace of pods"}, word<&Simulate::nodes_file>},
    {{"procs", 'n', V, "count", "processors of the machine, as one pool (default: the\ntrace's MaxProcs)"}, count<&Simulate::procs>},
    {{"nodes", 'N', V, "count", "nodes of the machine, with --cpus-per-node"}, count<&Simulate::nodes>},
    {{"cpus-per-node", 0, V, "count", "processors of each node"}, count<&Simulate::cpus_per_node>},
    {{"add-nodes", 0, V, "count[:node]", "what if there were more nodes, like that one"}, set_added},
    {{"drain", 0, V, "nodes", "what if these nodes took no more jobs"}, set_drain},
    {{"policy", 'p', V, "name", "the scheduler; \"help\" lists them"}, word<&Simulate::policy>},
    {{"fill", 0, V, "percent", "pods arrive in random order and stay, until they ask\nfor that much of all GPUs (published figures: 130)"}, count<&Simulate::fill>},
    {{"seed", 0, V, "number", "of that order (default 1)"}, set_seed},
    {{"limit", 0, V, "jobs", "only the first jobs of the trace"}, count<&Simulate::limit>},
    {{"until", 0, V, "time", "stop there; \"now\" is the beginning (now+2days)"}, word<&Simulate::until>},
    {{"json", 0, N, nullptr, "print JSON"}, flag<&Simulate::json>},
    {{"svg", 0, V, "file", "draw jobs and utilisation over time"}, word<&Simulate::svg>},
    {{"help", 'h', N, nullptr, "show this help message"}, flag<&Simulate::help>},
};
// clang-format on

// Options that would be ignored are refused.
std::string contradiction(const Simulate& o) {
  if (o.from_state == !o.trace.empty()) return "give --trace FILE or --from-state, one of them";
  if (o.from_state && (o.procs || o.nodes || o.cpus_per_node || o.limit || o.fill || !o.nodes_file.empty()))
    return "--from-state takes the machine and its jobs as they are; --procs, --nodes, --cpus-per-node, "
           "--nodes-file, "
           "--limit and --fill are for traces";
  if (o.procs && o.nodes) return "--procs is one pool, --nodes are nodes; give one of them";
  if (!o.nodes_file.empty() && (o.procs || o.nodes || o.cpus_per_node || !o.until.empty()))
    return "with --nodes-file the machine is known, and pods come without time; --procs, --nodes, --cpus-per-node "
           "and "
           "--until do not go with it";
  if (o.nodes_file.empty() && o.fill) return "--fill is for pods on GPU nodes; --nodes-file names the nodes";
  return {};
}

}  // namespace

int cmd_simulate(Context& context) {
  Simulate options;
  const auto rest = read_line<Simulate>(context, kOptions, options, Order::Anywhere, 1);
  if (!rest) return rest.error();
  if (options.help) {
    context.out.write("Usage: spur simulate --trace FILE | --from-state [OPTIONS]\n\n");
    const auto rows = rows_of<Simulate>(kOptions);
    context.out.write(help_text(rows));
    return 0;
  }
  if (options.policy == "help") {
    context.out.write(policy_help());
    return 0;
  }
  if (!rest->empty()) {
    context.error("\"{}\" is no option; a trace is given with --trace", text::shown(rest->front()));
    return 1;
  }
  if (const std::string wrong = contradiction(options); !wrong.empty()) {
    context.error("{}", wrong);
    return 1;
  }
  const bool pods = !options.nodes_file.empty();
  const auto policy = pods ? std::nullopt : find_policy(context, options.policy);
  if (!policy && !pods) return 1;
  if (options.from_state) return simulate_state(context, options, *policy);
  const auto text = replay::read_trace_file(options.trace);
  if (!text) {
    context.error("{}", text.error().message);
    return 1;
  }
  if (pods) return simulate_pods(context, options, *text);
  return simulate_swf(context, options, *policy, *text);
}

}  // namespace spur::cli
