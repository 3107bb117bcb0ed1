// SPDX-License-Identifier: Apache-2.0
// sdiag: what the controller counts of itself. The page is Slurm 25.05's, line by line. What Slurm calls its main
// scheduler are the quick answers to events here, and its backfill the full cycles; a cycle of either always reaches
// the end of the queue.
#include <algorithm>

#include "cli/api_documents.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/display.h"
#include "cli/options.h"
#include "cli/slurm_calls.h"
#include "cli/users.h"

namespace spur::cli {
namespace {

using Value = std::string_view;
using Statistics = wire::ControllerStatistics;

struct Sdiag {
  bool reset = false, help = false, usage = false, version = false;
  CallOrder order = CallOrder::Count;
  std::optional<DocumentStyle> document;
  ClusterList clusters;
};

template <bool Sdiag::* Field>
OptionStatus flag(Sdiag& s, Value) {
  s.*Field = true;
  return {};
}
template <CallOrder Order>
OptionStatus set_order(Sdiag& s, Value) {
  s.order = Order;
  return {};
}
OptionStatus set_all(Sdiag& s, Value) {
  s.reset = false;
  return {};
}
OptionStatus set_clusters(Sdiag& s, Value value) {
  s.clusters = parse_clusters(value);
  return {};
}
template <DocumentStyle::Kind Kind>
OptionStatus set_document(Sdiag& s, Value value) {
  auto style = parse_document_style(Kind, value);
  if (!style) return std::unexpected(std::move(style).error());
  s.document = *style;
  return {};
}

constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
constexpr auto M = Takes::Maybe;
// clang-format off
constexpr Option<Sdiag> kOptions[] = {
    {{"all", 'a', N, nullptr, "all statistics"}, set_all},
    {{"reset", 'r', N, nullptr, "reset statistics"}, flag<&Sdiag::reset>},
    {{"cluster", 'M', V, "cluster", "cluster to ask: this one's name", "clusters"}, set_clusters, "SLURM_CLUSTERS"},
    {{"sort-by-id", 'i', N, nullptr, "sort RPCs by id"}, set_order<CallOrder::Number>},
    {{"sort-by-time", 't', N, nullptr, "sort RPCs by total run time"}, set_order<CallOrder::Total>},
    {{"sort-by-time2", 'T', N, nullptr, "sort RPCs by average run time"}, set_order<CallOrder::Average>},
    {{"json", 0, M, "data_parser", "produce JSON output"}, set_document<DocumentStyle::Kind::Json>},
    {{"yaml", 0, M, "data_parser", "produce YAML output"}, set_document<DocumentStyle::Kind::Yaml>},
    {{"version", 'V', N, nullptr, "display current version number"}, flag<&Sdiag::version>},
    {{"help", 'h', N, nullptr, "show this help message"}, flag<&Sdiag::help>},
    {{"usage", 0, N, nullptr, "display brief usage message"}, flag<&Sdiag::usage>},
};
// clang-format on
constexpr std::string_view kUsage = "Usage: sdiag [-ar] [-M cluster] [-itT] [--json] [--yaml]\n";

std::string dated(Time t) {
  return fmt::format("{} ({})", date_line(t), to_unix_seconds(t));
}

void add_queues(Output& out, const Statistics& s) {
  out.print(
      "*******************************************************\n"
      "sdiag output at {}\n"
      "Data since      {}\n"
      "*******************************************************\n"
      "Server thread count:  1\n"
      "RPC queue enabled:    0\n"
      "Agent queue size:     0\n"
      "Agent count:          0\n"
      "Agent thread count:   0\n"
      "DBD Agent queue size: {}\n\n",
      dated(s.as_of), dated(s.since), s.accounting_backlog);
  out.print(
      "Jobs submitted: {}\n"
      "Jobs started:   {}\n"
      "Jobs completed: {}\n"
      "Jobs canceled:  {}\n"
      "Jobs failed:    {}\n\n"
      "Job states ts:  {}\n"
      "Jobs pending:   {}\n"
      "Jobs running:   {}\n",
      s.submitted, s.started, s.completed, s.cancelled, s.failed, dated(s.as_of), s.pending, s.running);
}

void add_main_cycles(Output& out, const Statistics& s) {
  const Statistics::Cycles& c = s.quick;
  out.print(
      "\nMain schedule statistics (microseconds):\n"
      "\tLast cycle:   {}\n"
      "\tMax cycle:    {}\n"
      "\tTotal cycles: {}\n",
      c.last_us, c.max_us, c.count);
  if (c.count > 0)
    out.print("\tMean cycle:   {}\n\tMean depth cycle:  {}\n", c.sum_us / c.count, c.depth_sum / c.count);
  const auto whole_minutes = static_cast<std::uint64_t>(std::chrono::floor<minutes>(s.as_of - s.since).count());
  if (whole_minutes > 0) out.print("\tCycles per minute: {}\n", c.count / whole_minutes);
  out.print("\tLast queue length: {}\n", c.queue_last);
  out.print(
      "\nMain scheduler exit:\n"
      "\tEnd of job queue:{:2}\n"
      "\tHit default_queue_depth: 0\n"
      "\tHit sched_max_job_start: 0\n"
      "\tBlocked on licenses: 0\n"
      "\tHit max_rpc_cnt: 0\n"
      "\tTimeout (max_sched_time): 0\n",
      c.count);
}

void add_full_cycles(Output& out, const Statistics& s) {
  const Statistics::Cycles& c = s.full;
  out.print(
      "\nBackfilling stats\n"
      "\tTotal backfilled jobs (since last slurm start): {}\n"
      "\tTotal backfilled jobs (since last stats cycle start): {}\n"
      "\tTotal backfilled heterogeneous job components: {}\n"
      "\tTotal cycles: {}\n",
      c.starts_ever, c.starts, c.het_starts_ever, c.count);
  out.print("\tLast cycle when: {}\n", is_set(c.last_at) ? dated(c.last_at) : "N/A");
  out.print("\tLast cycle: {}\n\tMax cycle:  {}\n", c.last_us, c.max_us);
  if (c.count > 0) out.print("\tMean cycle: {}\n", c.sum_us / c.count);
  out.print("\tLast depth cycle: {}\n\tLast depth cycle (try sched): {}\n", c.depth_last, c.tried_last);
  if (c.count > 0)
    out.print("\tDepth Mean: {}\n\tDepth Mean (try depth): {}\n", c.depth_sum / c.count, c.tried_sum / c.count);
  out.print("\tLast queue length: {}\n", c.queue_last);
  if (c.count > 0) out.print("\tQueue length mean: {}\n", c.queue_sum / c.count);
  // Holds of jobs that wait are kept in one profile; its size is what was tested one by one.
  out.print("\tLast table size: {}\n", c.tried_last);
  if (c.count > 0) out.print("\tMean table size: {}\n", c.tried_sum / c.count);
  out.print(
      "\nBackfill exit\n"
      "\tEnd of job queue:{:2}\n"
      "\tHit bf_max_job_start: 0\n"
      "\tHit bf_max_job_test: 0\n"
      "\tSystem state changed: 0\n"
      "\tHit table size limit (bf_node_space_size): 0\n"
      "\tTimeout (bf_max_time): 0\n",
      c.count);
}

void add_calls(Output& out, const Statistics& s, CallOrder order) {
  out.print("\nLatency for 1000 calls to gettimeofday(): {} microseconds\n", s.clock_us);
  out.write("\nRemote Procedure Call statistics by message type\n");
  for (const NamedCalls& row : sorted_calls(s, order))
    out.print("\t{:<40}({:5}) count:{:<6} ave_time:{:<6} total_time:{}\n", row.name, row.number, row.calls->count,
              row.average_us(), row.calls->total_us);
  out.write("\nRemote Procedure Call statistics by user\n");
  for (const NamedCalls& row : sorted_users(s, order))
    out.print("\t{:<16}({:8}) count:{:<6} ave_time:{:<6} total_time:{}\n", row.name, row.number, row.calls->count,
              row.average_us(), row.calls->total_us);
  out.write("\nPending RPC statistics\n\tNo pending RPCs\n");
}

}  // namespace

int cmd_sdiag(Context& context) {
  Sdiag options;
  const auto rest = read_line<Sdiag>(context, kOptions, options, Order::Anywhere, 1);
  if (!rest) return rest.error();
  if (options.version) return print_version(context);
  if (options.help) {
    context.out.write("Usage: sdiag [OPTIONS]\n" + help_text(rows_of<Sdiag>(kOptions)));
    return 0;
  }
  if (options.usage) {
    context.out.write(kUsage);
    return 0;
  }
  if (options.document && options.document->list) return list_document_styles(context);
  const auto controller = context.controller();
  if (!controller) {
    context.plain("slurm_get_statistics: {}", words(controller.error()));
    return 255;
  }
  if (!is_this_cluster(context, **controller, options.clusters)) return 1;
  const auto statistics = (*controller)->statistics(options.reset);
  if (!statistics) {
    context.plain("{}: {}", options.reset ? "slurm_reset_statistics" : "slurm_get_statistics",
                  words(statistics.error()));
    return 255;
  }
  if (options.reset) {
    context.out.write("Reset scheduling statistics\n");
    return 0;
  }
  if (options.document) {
    context.out.write(statistics_document(*statistics, *options.document, context));
    return 0;
  }
  add_queues(context.out, *statistics);
  add_main_cycles(context.out, *statistics);
  add_full_cycles(context.out, *statistics);
  add_calls(context.out, *statistics, options.order);
  return 0;
}

}  // namespace spur::cli
