// SPDX-License-Identifier: Apache-2.0
// spur simulate --trace PODS.csv --nodes-file NODES.csv
#include <algorithm>

#include "cli/json.h"
#include "cli/simulate.h"
#include "replay/gpu_fill.h"
#include "replay/gpu_replay.h"
#include "replay/metrics.h"
#include "replay/picture.h"
#include "replay/trace_file.h"
#include "text/hostlist.h"
#include "text/printable.h"
#include "text/time_limit.h"

namespace spur::cli {
namespace {

using replay::GpuFill;
using replay::GpuScore;
using replay::OpenbNode;

struct Score {
  const char* policy;
  GpuScore score;
};
constexpr Score kScores[] = {{"default", GpuScore::Fragmentation},
                             {"engine", GpuScore::Engine},
                             {"fgd", GpuScore::OneCopy},
                             {"best-fit", GpuScore::BestFit}};

template <class Table>
std::optional<Table> keep(Context& context, const std::string& file, Result<Table> table) {
  if (!table) {
    context.error("{}: {}", text::shown(file), table.error().message);
    return std::nullopt;
  }
  report_broken(context, file, table->broken_lines, table->first_broken);
  return *std::move(table);
}

Status change_nodes(const Simulate& options, std::vector<OpenbNode>& nodes) {
  const auto find = [&](const std::string& name) { return std::ranges::find(nodes, name, &OpenbNode::name); };
  const auto unknown = [](const std::string& name) {
    return fail(ErrorCode::InvalidNode, fmt::format("there is no node \"{}\"", text::shown(name)));
  };
  if (options.added.count > 0) {
    const auto like = options.added.like.empty() ? nodes.begin() : find(options.added.like);
    if (like == nodes.end()) return unknown(options.added.like);
    const OpenbNode node = *like;
    nodes.insert(nodes.end(), options.added.count, node);
  }
  if (!options.drain.empty()) {
    SPUR_ASSIGN(const auto names, text::expand_hostlist(options.drain));
    for (const std::string& name : names) {
      const auto at = find(name);
      if (at == nodes.end()) return unknown(name);
      nodes.erase(at);
    }
  }
  return {};
}

std::string to_json(const Simulate& options, const GpuFill& fill, std::size_t nodes, std::size_t broken) {
  Json json;
  json.open_object()
      .field("policy", options.policy)
      .field("seed", options.seed)
      .field("nodes", nodes)
      .field("broken_lines", broken)
      .field("gpus", fill.capacity)
      .field("gpus_requested", fill.requested)
      .field("gpus_allocated", fill.allocated)
      .field("gpu_allocation_percent", fill.allocated_percent())
      .field("pods", fill.arrived)
      .field("pods_turned_away", fill.turned_away)
      .field("gpus_fragmented", fill.fragmented)
      .field("gpus_fragmented_fgd", fill.fragmented_fgd)
      .field("largest_gang_gpus", fill.idle_gpus)
      .field("largest_gang_on_idle_nodes", fill.idle_node_gpus)
      .close_object();
  return std::move(json).finish();
}

void print_text(Output& out, const Simulate& options, const GpuFill& fill, std::size_t nodes) {
  out.print("machine       {} nodes, {:.0f} GPUs\n", nodes, fill.capacity);
  out.print("policy        {}, seed {}\n", options.policy, options.seed);
  out.print("pods          {} arrived, asking for {:.1f} GPUs; {} turned away\n", fill.arrived, fill.requested,
            fill.turned_away);
  out.print("GPUs in use   {:.2f} % ({:.1f})\n", fill.allocated_percent(), fill.allocated);
  out.print("fragmented    {:.1f} GPUs that popular requests cannot use ({:.1f} as FGD counts)\n", fill.fragmented,
            fill.fragmented_fgd);
  out.print("could start   a gang on {} whole GPUs; on {} of wholly idle nodes\n", fill.idle_gpus,
            fill.idle_node_gpus);
}

// ---- at the times of the trace

std::string span(double count) {
  return text::format_elapsed(seconds(static_cast<std::int64_t>(count + 0.5)));
}

void print_text(Output& out, const Simulate& options, const replay::GpuReplay& run, const replay::Metrics& m,
                std::size_t nodes) {
  const double gpus = run.work.machine.processors / 1000.0;
  out.print("machine       {} nodes, {:.0f} GPUs\n", nodes, gpus);
  out.print("policy        {}\n", options.policy);
  out.print("pods          {} ({} left out that never ran)\n", run.work.jobs.size(), run.without_time);
  if (m.not_started > 0) out.print("not started   {} that fit on no node\n", m.not_started);
  out.print("wait          mean {}, median {}, 95 % {}, longest {}\n", span(m.all.wait_mean), span(m.all.wait_median),
            span(m.all.wait_p95), span(m.all.wait_max));
  out.print("slowdown      mean {:.2f}, 95 % {:.1f} (bounded, 10 s)\n", m.all.slowdown_mean, m.all.slowdown_p95);
  out.print("GPUs in use   {:.2f} % over {}\n", m.utilisation * 100, span(m.makespan_seconds));
  out.print("fragmented    {:.1f} GPUs that popular requests cannot use, on average\n", run.fragmented_mean);
  out.print("could start   a gang on {:.0f} whole GPUs, on average; on {:.0f} of wholly idle nodes ({} at worst)\n",
            run.idle_gpus_mean, run.idle_node_gpus_mean, run.idle_node_gpus_least);
  for (const auto& [number, f] : m.by_user)
    out.print("{:<13} {} pods, {:.0f} GPU hours, mean wait {}, longest {}\n",
              text::printable(run.qos[static_cast<std::size_t>(number)]), f.jobs, f.processor_hours / 1000,
              span(f.wait_mean), span(f.wait_max));
}

std::string to_json(const Simulate& options, const replay::GpuReplay& run, const replay::Metrics& m,
                    std::size_t nodes, std::size_t broken) {
  Json json;
  json.open_object()
      .field("policy", options.policy)
      .field("nodes", nodes)
      .field("gpus", run.work.machine.processors / 1000.0)
      .field("broken_lines", broken)
      .field("pods", run.work.jobs.size())
      .field("left_out_never_ran", run.without_time)
      .field("not_started", m.not_started)
      .field("wait_mean", m.all.wait_mean)
      .field("wait_median", m.all.wait_median)
      .field("wait_p95", m.all.wait_p95)
      .field("wait_max", m.all.wait_max)
      .field("slowdown_mean", m.all.slowdown_mean)
      .field("slowdown_p95", m.all.slowdown_p95)
      .field("gpu_utilisation", m.utilisation)
      .field("makespan", m.makespan_seconds)
      .field("gpus_fragmented_mean", run.fragmented_mean)
      .field("largest_gang_gpus_mean", run.idle_gpus_mean)
      .field("largest_gang_on_idle_nodes_mean", run.idle_node_gpus_mean)
      .field("largest_gang_on_idle_nodes_least", run.idle_node_gpus_least);
  json.open_array("qos");
  for (const auto& [number, f] : m.by_user)
    json.open_object()
        .field("qos", run.qos[static_cast<std::size_t>(number)])
        .field("pods", f.jobs)
        .field("gpu_hours", f.processor_hours / 1000)
        .field("wait_mean", f.wait_mean)
        .field("wait_max", f.wait_max)
        .field("slowdown_mean", f.slowdown_mean)
        .close_object();
  json.close_array().close_object();
  return std::move(json).finish();
}

int simulate_in_time(Context& context, const Simulate& options, GpuScore score, const std::vector<OpenbNode>& nodes,
                     const std::vector<replay::OpenbPod>& pods, std::size_t broken) {
  replay::GpuReplay run;
  {
    ProgressLine progress(context);
    run = replay::replay_gpus(nodes, pods, score, progress.callback());
  }
  if (run.work.jobs.empty()) {
    context.error("no pod has a time; --fill lets them come in random order");
    return 1;
  }
  const replay::Metrics metrics = measure(run.work, run.outcome);
  if (options.json)
    context.out.write(to_json(options, run, metrics, nodes.size(), broken));
  else
    print_text(context.out, options, run, metrics, nodes.size());
  return options.svg.empty() || write_picture(context, options.svg, replay::draw(run.work, run.outcome)) ? 0 : 1;
}

}  // namespace

int simulate_pods(Context& context, const Simulate& options, const std::string& text) {
  const auto score = std::ranges::find_if(kScores, [&](const Score& s) { return s.policy == options.policy; });
  if (score == std::end(kScores) || (score->score == GpuScore::Engine && !options.fill)) {
    context.error("policy {} is not one for pods; default, engine (with --fill), fgd and best-fit are",
                  options.policy);
    return 1;
  }
  const auto nodes_text = replay::read_trace_file(options.nodes_file);
  if (!nodes_text) {
    context.error("{}", nodes_text.error().message);
    return 1;
  }
  auto nodes = keep(context, options.nodes_file, replay::parse_openb_nodes(*nodes_text));
  auto pods = keep(context, options.trace, replay::parse_openb_pods(text));
  if (!nodes || !pods) return 1;
  if (const auto changed = change_nodes(options, nodes->rows); !changed) {
    context.error("{}", changed.error().message);
    return 1;
  }
  if (options.limit && pods->rows.size() > *options.limit) pods->rows.resize(*options.limit);
  if (!options.fill)
    return simulate_in_time(context, options, score->score, nodes->rows, pods->rows,
                            nodes->broken_lines + pods->broken_lines);
  GpuFill fill;
  {
    ProgressLine progress(context);
    fill =
        replay::fill_gpus(nodes->rows, pods->rows, {options.seed, *options.fill, score->score}, progress.callback());
  }
  if (fill.arrived == 0) {
    context.error("no node has a GPU, or no pod asks for one");
    return 1;
  }
  if (options.json)
    context.out.write(to_json(options, fill, nodes->rows.size(), nodes->broken_lines + pods->broken_lines));
  else
    print_text(context.out, options, fill, nodes->rows.size());
  if (!options.svg.empty() && !write_picture(context, options.svg, replay::draw(fill))) return 1;
  return 0;
}

}  // namespace spur::cli
