// SPDX-License-Identifier: Apache-2.0
// What takes time on nodes (node_watch.h), and the site's programs that switch nodes off and on. They run where the
// controller leads, after the commit; a controller that begins to lead runs them again for nodes that are still on
// their way, so that a program may be told of the same node twice, and is never not told of one.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ctld/controller.h"
#include "text/hostlist.h"
#include "text/printable.h"

namespace spur::ctld {
namespace {

using Which = state::RunPowerProgram::Which;

std::string said(model::NodeDue what, const std::string& node) {
  switch (what) {
    case model::NodeDue::RebootOverdue:
      return fmt::format("error: node {} has not come back from its reboot in time, it stays DOWN", node);
    case model::NodeDue::PowerUpOverdue:
      return fmt::format("error: node {} was not there within ResumeTimeout, setting it DOWN", node);
    default:
      return {};
  }
}

std::string text_or_null(std::string_view text) {
  return text.empty() ? "null" : fmt::format("\"{}\"", text::json_escape(text));
}

std::string_view sharing_of(const model::JobSpec& spec) {
  if (spec.exclusive == model::Exclusive::Node) return "NO";
  if (spec.exclusive != model::Exclusive::No) return "USER";
  return spec.oversubscribe ? "YES" : "OK";
}

// What ResumeProgram finds in the file that SLURM_RESUME_FILE names: which jobs wait for which of the nodes.
std::string resume_document(const model::View& view, const std::vector<std::string>& names) {
  std::string jobs;
  view.active.for_each([&](std::uint32_t, const model::JobPtr& job) {
    if (!(job->flags & model::kConfiguring)) return;
    std::vector<std::string> all, waited_for;
    for (const model::NodeGrant& grant : job->allocation->nodes) {
      const std::string& name = (*view.nodes.find(grant.node.value))->name;
      all.push_back(name);
      if (std::ranges::find(names, name) != names.end()) waited_for.push_back(name);
    }
    if (waited_for.empty()) return;
    const model::JobSpec& spec = *job->spec;
    jobs += fmt::format(
        "{}{{\"extra\":{},\"features\":{},\"job_id\":{},\"nodes_alloc\":\"{}\",\"nodes_resume\":\"{}\","
        "\"oversubscribe\":\"{}\",\"partition\":{},\"reservation\":{}}}",
        jobs.empty() ? "" : ",", text_or_null(spec.extra), text_or_null(spec.features), job->id.value,
        text::json_escape(text::compress_hostlist(all)), text::json_escape(text::compress_hostlist(waited_for)),
        sharing_of(spec), text_or_null(job->allocation->partition), text_or_null(job->allocation->reservation));
  });
  return fmt::format("{{\"all_nodes_resume\":\"{}\",\"jobs\":[{}]}}",
                     text::json_escape(text::compress_hostlist(names)), jobs);
}

}  // namespace

void Controller::watch_nodes() {
  const Duration mono = doors_.clock.monotonic();
  if (mono < nodes_looked_at_ + kNodeLook || nodes_due_open_ > 0) return;
  nodes_looked_at_ = mono;
  start_power_programs();
  for (state::NodesDue& due : node_watch_.look(cluster_->view(), doors_.clock.now(), mono)) {
    ++nodes_due_open_;
    const model::NodeDue what = due.what;
    propose(
        std::move(due),
        [this, what](const state::Outcome& outcome) {
          --nodes_due_open_;
          for (const std::string& node : outcome.notes)
            if (std::string line = said(what, node); !line.empty()) doors_.log(std::move(line));
        },
        IfFull::Refuse);
  }
}

void Controller::queue_power_program(const state::RunPowerProgram& order) {
  PowerOrder out{order.which, {}};
  for (const NodeIndex at : order.nodes)
    if (const auto* node = cluster_->view().nodes.find(at.value)) out.nodes.push_back((*node)->name);
  power_orders_.push_back(std::move(out));
  start_power_programs();
}

// The news of the commit may be late: another controller may lead by now, and see to the nodes.
void Controller::start_power_programs() {
  if (power_orders_.empty() || !doors_.journal.is_current()) return;
  for (const PowerOrder& order : std::exchange(power_orders_, {})) run_power_program(order);
}

void Controller::run_power_program(const PowerOrder& order) {
  const model::PowerConfig& power = config().power;
  io::ControllerHooks::SiteProgram program;
  program.timeout = std::max<Duration>({power.suspend_timeout, config().resume_timeout, std::chrono::seconds(10)});
  const std::string nodes = text::compress_hostlist(order.nodes);
  std::string path;
  switch (order.which) {
    case Which::Suspend:
      program.name = "SuspendProgram";
      path = power.suspend_program;
      break;
    case Which::Resume:
      program.name = "ResumeProgram";
      path = power.resume_program;
      program.variable = "SLURM_RESUME_FILE";
      program.document = resume_document(cluster_->view(), order.nodes);
      break;
    case Which::ResumeFail:
      program.name = "ResumeFailProgram";
      path = power.resume_fail_program;
      break;
  }
  if (path.empty() || order.nodes.empty()) return;
  if (!doors_.programs) return doors_.log("error: there is nothing to run " + program.name + " with");
  program.words = {path, nodes};
  const std::string what = program.name;
  doors_.log(fmt::format("{} runs for {}", what, nodes));
  doors_.log(fmt::format("about Power: {} {}", path, nodes));
  doors_.programs->run_site(std::move(program), [this, what, nodes](const Status& status) {
    if (!status) doors_.log(fmt::format("error: {} for {}: {}", what, nodes, status.error().message));
  });
}

}  // namespace spur::ctld
