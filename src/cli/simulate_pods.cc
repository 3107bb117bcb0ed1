// SPDX-License-Identifier: Apache-2.0
// spur simulate --trace PODS.csv --nodes-file NODES.csv
#include <algorithm>

#include "cli/json.h"
#include "cli/simulate.h"
#include "replay/gpu_fill.h"
#include "replay/picture.h"
#include "replay/trace_file.h"
#include "text/hostlist.h"
#include "text/printable.h"

namespace spur::cli {
namespace {

using replay::GpuFill;
using replay::GpuScore;
using replay::OpenbNode;

struct Score {
  const char* policy;
  GpuScore score;
};
constexpr Score kScores[] = {
    {"default", GpuScore::Fragmentation}, {"fgd", GpuScore::OneCopy}, {"best-fit", GpuScore::BestFit}};

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

}  // namespace

int simulate_pods(Context& context, const Simulate& options, const std::string& text) {
  const auto score = std::ranges::find_if(kScores, [&](const Score& s) { return s.policy == options.policy; });
  if (score == std::end(kScores)) {
    context.error("policy {} is not one for pods; default, fgd and best-fit are", options.policy);
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
  GpuFill fill;
  {
    ProgressLine progress(context);
    fill = replay::fill_gpus(nodes->rows, pods->rows, {options.seed, options.fill.value_or(130), score->score},
                             progress.callback());
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
