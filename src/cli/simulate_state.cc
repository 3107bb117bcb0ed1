// SPDX-License-Identifier: Apache-2.0
// spur simulate --from-state: when everything that waits now would start.
#include <algorithm>

#include "cli/display.h"
#include "cli/json.h"
#include "cli/simulate.h"
#include "cli/users.h"
#include "model/pending_reason.h"
#include "replay/metrics.h"
#include "replay/picture.h"
#include "replay/what_if.h"
#include "text/date.h"
#include "text/hostlist.h"
#include "text/printable.h"

namespace spur::cli {
namespace {

using replay::FutureStart;
using replay::WhatIf;

Result<model::View> live_state(Controller& controller, Time& as_of) {
  SPUR_ASSIGN(const auto cluster, controller.cluster());
  if (cluster.nodes_denied || cluster.partitions_denied)  // what would come of it is not true
    return fail(ErrorCode::PermissionDenied, std::string(slurm_message(ErrorCode::PermissionDenied)));
  SPUR_ASSIGN(const auto jobs, controller.jobs({}));
  SPUR_ASSIGN(const auto config, controller.config());
  as_of = jobs.as_of;
  return replay::view_of(cluster.nodes, cluster.partitions, config, jobs.jobs);
}

Status change(const Simulate& options, model::View& view) {
  const auto find = [&](const std::string& name) -> Result<NodeIndex> {
    const model::Node* node = model::find_node(view, name);
    if (node == nullptr)
      return fail(ErrorCode::InvalidNode, fmt::format("there is no node \"{}\"", text::shown(name)));
    return node->index;
  };
  if (!options.drain.empty()) {
    SPUR_ASSIGN(const auto names, text::expand_hostlist(options.drain));
    for (const std::string& name : names) {
      SPUR_ASSIGN(const NodeIndex node, find(name));
      replay::drain_node(view, node);
    }
  }
  if (options.added.count > 0) {
    if (view.nodes.empty()) return fail(ErrorCode::InvalidNode, "there is no node that others could be like");
    NodeIndex like(0);
    if (!options.added.like.empty()) {
      SPUR_ASSIGN(like, find(options.added.like));
    }
    replay::add_nodes(view, like, options.added.count);
  }
  return {};
}

std::string nodes_of(const model::View& view, const model::Job& job) {
  std::vector<NodeIndex> nodes;
  for (const model::NodeGrant& grant : job.allocation->nodes) nodes.push_back(grant.node);
  return model::node_list(view, nodes);
}

void print_text(Context& context, const model::View& view, const WhatIf& future, Time now) {
  Output& out = context.out;
  out.print("{:>18} {:>12} {:>10} {:>20} {:>20} {}\n", "JOBID", "PARTITION", "USER", "START", "END",
            "NODELIST(REASON)");
  const auto row = [&](const model::Job& job, const std::string& partition, std::string_view start,
                       std::string_view end, const std::string& where) {
    out.print("{:>18} {:>12} {:>10} {:>20} {:>20} {}\n", model::display_id(job), text::printable(partition),
              text::printable(user_name(job.spec->uid)), start, end, where);
  };
  const auto end_of = [](const FutureStart& start) { return moment(start.end, "never"); };
  for (const FutureStart& start : future.running)
    row(*start.job, start.job->allocation->partition, moment(start.job->started, "Unknown"), end_of(start),
        nodes_of(view, *start.job));
  for (const FutureStart& start : future.starts)
    row(*start.job, start.job->allocation->partition, moment(start.job->started, "Unknown"), end_of(start),
        nodes_of(view, *start.job));
  for (const model::JobPtr& job : future.waiting)
    row(*job, job_partition(*job), "not before the end", "", fmt::format("({})", model::reason_name(job->reason)));
  double waits = 0;
  for (const FutureStart& start : future.starts)
    waits += std::chrono::duration<double>(start.job->started - now).count();
  out.print("\n{} jobs start", future.starts.size());
  if (!future.starts.empty())
    out.print(", {:.0f} s from now on average, the last at {}", waits / static_cast<double>(future.starts.size()),
              moment(future.starts.back().job->started, "Unknown"));
  out.print("; {} do not\n", future.waiting.size());
}

void add_jobs(Json& json, const char* key, const model::View& view, const std::vector<FutureStart>& jobs) {
  json.open_array(key);
  for (const FutureStart& start : jobs) {
    json.open_object()
        .field("job_id", model::display_id(*start.job))
        .field("name", start.job->spec->name)
        .field("user", user_name(start.job->spec->uid))
        .field("partition", start.job->allocation->partition)
        .field("nodes", nodes_of(view, *start.job))
        .moment("start_time", start.job->started)
        .moment("end_time", start.end)
        .close_object();
  }
  json.close_array();
}

std::string to_json(const model::View& view, const WhatIf& future, Time now, const std::string& policy) {
  Json json;
  json.open_object().field("policy", policy).moment("as_of", now).field("cut_off", future.cut_off);
  add_jobs(json, "running", view, future.running);
  add_jobs(json, "starts", view, future.starts);
  json.open_array("waiting");
  for (const model::JobPtr& job : future.waiting)
    json.open_object()
        .field("job_id", model::display_id(*job))
        .field("user", user_name(job->spec->uid))
        .field("reason", model::reason_name(job->reason))
        .close_object();
  json.close_array().close_object();
  return std::move(json).finish();
}

// The same as a workload that has run, which is what can be drawn.
std::string picture(const model::View& view, const WhatIf& future, Time now) {
  replay::Workload work;
  replay::Outcome outcome;
  work.machine.processors = 0;
  view.nodes.for_each(
      [&](std::uint32_t, const model::NodePtr& node) { work.machine.processors += node->hardware.cpus; });
  work.machine.processors = std::max(work.machine.processors, 1u);
  outcome.ended = future.ended;
  const auto add = [&](const FutureStart& start) {
    replay::ReplayJob job;
    job.trace_id = start.job->id.value;
    job.processors = start.job->allocation->total_cpus();
    job.user = static_cast<std::int32_t>(start.job->spec->uid.value & 0x7fffffff);
    const Time begin = std::max(start.job->started, now);
    job.submit = std::max(std::min(start.job->submitted, begin), now);
    const Time end = is_set(start.end) ? std::max(start.end, begin) : std::max(future.ended, begin) + seconds(1);
    work.jobs.push_back(job);
    outcome.jobs.push_back({begin, end, 0});
  };
  for (const FutureStart& start : future.running) add(start);
  for (const FutureStart& start : future.starts) add(start);
  return replay::draw(work, outcome);
}

}  // namespace

int simulate_state(Context& context, const Simulate& options, const Policy& policy) {
  const auto complain = [&](const std::string& message) {
    context.error("{}", message);
    return 1;
  };
  if (policy.reference)
    return complain(fmt::format("policy {} knows processors only; it cannot plan a real cluster", policy.name));
  auto controller = context.controller();
  if (!controller) return complain(words(controller.error()));
  Time now;
  auto view = live_state(**controller, now);
  if (!view) return complain(words(view.error()));
  if (const auto changed = change(options, *view); !changed) return complain(changed.error().message);
  replay::WhatIfOptions how;
  how.params = policy.params_for(view->config.get());
  how.now = now;
  if (!options.until.empty()) {
    const auto until = text::parse_date(options.until, now);
    if (!until) return complain(until.error().message);
    how.until = *until;
  }
  WhatIf future;
  {
    ProgressLine progress(context);
    how.progress = progress.callback();
    future = replay::look_ahead(*view, how);
  }
  if (future.cut_off) context.info("{} starts are enough; the rest is not looked at", future.starts.size());
  if (options.json)
    context.out.write(to_json(*view, future, now, policy.name));
  else
    print_text(context, *view, future, now);
  if (!options.svg.empty() && !write_picture(context, options.svg, picture(*view, future, now))) return 1;
  return 0;
}

}  // namespace spur::cli
