// SPDX-License-Identifier: Apache-2.0
// spur simulate --trace FILE.swf
#include <algorithm>

#include "cli/json.h"
#include "cli/simulate.h"
#include "replay/metrics.h"
#include "replay/picture.h"
#include "replay/replay.h"
#include "text/date.h"
#include "text/printable.h"
#include "text/time_limit.h"

namespace spur::cli {
namespace {

using replay::Metrics;
using replay::WaitFigures;

std::string span(double count) {
  return text::format_elapsed(seconds(static_cast<std::int64_t>(count + 0.5)));
}

// The rows that say most: those with the most work.
std::vector<std::pair<std::int32_t, const WaitFigures*>> largest(const std::map<std::int32_t, WaitFigures>& groups,
                                                                 std::size_t most) {
  std::vector<std::pair<std::int32_t, const WaitFigures*>> rows;
  for (const auto& [name, figures] : groups) rows.emplace_back(name, &figures);
  std::ranges::stable_sort(rows, std::greater<>(), [](const auto& row) { return row.second->processor_hours; });
  if (rows.size() > most) rows.resize(most);
  return rows;
}

void print_groups(Output& out, const char* title, const std::map<std::int32_t, WaitFigures>& groups) {
  constexpr std::size_t kRows = 10;
  if (groups.size() < 2) return;
  out.print("\n{:<12} {:>8} {:>14} {:>14} {:>14} {:>10}\n", title, "jobs", "cpu hours", "mean wait", "longest wait",
            "slowdown");
  for (const auto& [name, f] : largest(groups, kRows))
    out.print("{:<12} {:>8} {:>14.1f} {:>14} {:>14} {:>10.2f}\n", name, f->jobs, f->processor_hours,
              span(f->wait_mean), span(f->wait_max), f->slowdown_mean);
  if (groups.size() > kRows) out.print("({} more)\n", groups.size() - kRows);
}

void print_text(Output& out, const replay::Workload& work, const replay::Outcome& outcome, const Metrics& m,
                const Policy& policy) {
  if (!work.name.empty()) out.print("workload      {}\n", work.name);
  out.print("jobs          {} ({} left out: {} that never ran, {} too wide)\n", work.jobs.size(),
            work.without_run + work.too_wide, work.without_run, work.too_wide);
  if (work.machine.pool)
    out.print("machine       {} processors\n", work.machine.processors);
  else
    out.print("machine       {} nodes with {} processors\n", work.machine.nodes, work.machine.cpus_per_node);
  out.print("policy        {}\n", policy.name);
  if (m.not_started > 0) out.print("not started   {}\n", m.not_started);
  out.print("wait          mean {}, median {}, 95 % {}, longest {}\n", span(m.all.wait_mean), span(m.all.wait_median),
            span(m.all.wait_p95), span(m.all.wait_max));
  out.print("slowdown      mean {:.2f}, 95 % {:.1f} (bounded, 10 s)\n", m.all.slowdown_mean, m.all.slowdown_p95);
  out.print("utilisation   {:.1f} % over {}\n", m.utilisation * 100, span(m.makespan_seconds));
  out.print("widest tenth  from {} processors: longest wait {}, mean {}\n", m.widest_from, span(m.widest_wait_max),
            span(m.widest_wait_mean));
  out.print("could start   a job of {:.0f} processors at any time, on average; {} at best\n", m.free_mean,
            m.free_max);
  if (outcome.plans > 0)
    out.print("planning      {} plans, {:.2f} s of {:.2f} s\n", outcome.plans, outcome.planning_seconds,
              outcome.total_seconds);
  print_groups(out, "user", m.by_user);
  print_groups(out, "partition", m.by_partition);
}

void add_figures(Json& json, const WaitFigures& f) {
  json.field("jobs", f.jobs)
      .field("wait_mean", f.wait_mean)
      .field("wait_median", f.wait_median)
      .field("wait_p95", f.wait_p95)
      .field("wait_max", f.wait_max)
      .field("slowdown_mean", f.slowdown_mean)
      .field("slowdown_p95", f.slowdown_p95)
      .field("cpu_hours", f.processor_hours);
}

void add_groups(Json& json, const char* key, const char* name, const std::map<std::int32_t, WaitFigures>& groups) {
  json.open_array(key);
  for (const auto& [number, figures] : groups) {
    json.open_object().field(name, number);
    add_figures(json, figures);
    json.close_object();
  }
  json.close_array();
}

std::string to_json(const replay::Workload& work, const replay::Outcome& outcome, const Metrics& m,
                    const Policy& policy) {
  Json json;
  json.open_object()
      .field("workload", work.name)
      .field("policy", policy.name)
      .field("processors", work.machine.processors)
      .field("nodes", work.machine.pool ? 0 : work.machine.nodes)
      .field("left_out_never_ran", work.without_run)
      .field("left_out_too_wide", work.too_wide)
      .field("broken_lines", work.broken_lines)
      .field("not_started", m.not_started);
  add_figures(json, m.all);
  json.field("utilisation", m.utilisation)
      .field("makespan", m.makespan_seconds)
      .field("widest_from", m.widest_from)
      .field("widest_wait_max", m.widest_wait_max)
      .field("widest_wait_mean", m.widest_wait_mean)
      .field("startable_mean", m.free_mean)
      .field("startable_max", m.free_max)
      .field("plans", outcome.plans)
      .field("planning_seconds", outcome.planning_seconds)
      .field("total_seconds", outcome.total_seconds);
  add_groups(json, "users", "user", m.by_user);
  add_groups(json, "partitions", "partition", m.by_partition);
  json.close_object();
  return std::move(json).finish();
}

Result<replay::Workload> load(const Simulate& options, const replay::SwfTrace& trace) {
  replay::WorkloadOptions wanted;
  wanted.processors = options.procs;
  wanted.nodes = options.nodes;
  wanted.cpus_per_node = options.cpus_per_node;
  if (options.limit) wanted.limit = *options.limit;
  if (options.added.count > 0 && !options.nodes)
    return fail(ErrorCode::InvalidArgument, "--add-nodes needs nodes to be like; say --nodes and --cpus-per-node");
  if (options.added.count > 0) wanted.nodes = *options.nodes + options.added.count;
  if (!options.drain.empty())
    return fail(ErrorCode::InvalidArgument,
                "the nodes of a trace have no names; a smaller machine is --procs or --nodes");
  if (!options.added.like.empty()) return fail(ErrorCode::InvalidArgument, "the nodes of a trace are all alike");
  return make_workload(trace, wanted);
}

}  // namespace

int simulate_swf(Context& context, const Simulate& options, const Policy& policy, const std::string& text) {
  const replay::SwfTrace trace = replay::parse_swf(text);
  report_broken(context, options.trace, trace.broken_lines, trace.first_broken);
  const auto work = load(options, trace);
  if (!work) {
    context.error("{}", work.error().message);
    return 1;
  }
  if (work->jobs.empty()) {
    context.error("{}: no jobs to replay", text::shown(options.trace));
    return 1;
  }
  if (policy.reference && !work->machine.pool) {
    context.error("policy {} knows processors only, not nodes; say --procs", policy.name);
    return 1;
  }
  replay::ReplayOptions how;
  if (!options.until.empty()) {
    const auto until = text::parse_date(options.until, work->jobs.front().submit);
    if (!until || policy.reference) {
      context.error(
          "{}", until ? fmt::format("policy {} does not stop before the end", policy.name) : until.error().message);
      return 1;
    }
    how.until = *until;
  }
  replay::Outcome outcome;
  {
    ProgressLine progress(context);
    how.params = policy.params_for(nullptr);
    how.progress = progress.callback();
    how.stopwatch = [&] { return static_cast<double>(to_micros(context.now())) / 1e6; };
    outcome =
        policy.reference ? replay_reference(*work, *policy.reference, how.progress) : replay::replay(*work, how);
  }
  const Metrics metrics = measure(*work, outcome);
  if (options.json)
    context.out.write(to_json(*work, outcome, metrics, policy));
  else
    print_text(context.out, *work, outcome, metrics, policy);
  if (!options.svg.empty() && !write_picture(context, options.svg, replay::draw(*work, outcome))) return 1;
  return 0;
}

}  // namespace spur::cli
