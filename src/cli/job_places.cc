// SPDX-License-Identifier: Apache-2.0
#include "cli/job_places.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/decimal.h"
#include "text/hostlist.h"

namespace spur::cli {
namespace {

Result<wire::FilePlace> place_of(Controller& controller, JobId job, const FileTarget& target) {
  SPUR_ASSIGN(auto ticket, controller.step_ticket(job));
  if (ticket.nodes.empty() || ticket.addresses.size() != ticket.nodes.size()) return fail(ErrorCode::InvalidJobId);
  wire::FilePlace out{.ticket = ticket.ticket, .nodes = ticket.nodes, .addresses = ticket.addresses};
  if (!target.step) return out;
  SPUR_ASSIGN(const auto steps, controller.steps(ticket.addresses.front()));
  const auto step = std::ranges::find_if(
      steps, [&](const wire::StepInfo& one) { return one.job == job && one.step == *target.step; });
  if (step == steps.end()) return fail(ErrorCode::InvalidJobId);
  SPUR_ASSIGN(const auto nodes, text::expand_hostlist(step->nodes));
  out.nodes.clear();
  out.addresses.clear();
  for (std::size_t i = 0; i < ticket.nodes.size(); ++i) {
    if (std::ranges::find(nodes, ticket.nodes[i]) == nodes.end()) continue;
    out.nodes.push_back(ticket.nodes[i]);
    out.addresses.push_back(ticket.addresses[i]);
  }
  return out;
}

}  // namespace

std::string FileTarget::text() const {
  std::string out = std::to_string(job);
  if (offset) out += fmt::format("+{}", *offset);
  if (step) out += fmt::format(".{}", *step);
  return out;
}

FileTarget parse_file_target(std::string_view text) {
  const auto dot = text.find('.');
  const auto plus = text.substr(0, dot).find('+');
  FileTarget out;
  const auto job = text::parse_decimal32(text.substr(0, std::min(plus, dot)));
  if (!job) return out;
  if (plus != std::string_view::npos) {
    out.offset = text::parse_decimal32(text.substr(0, dot).substr(plus + 1));
    if (!out.offset) return {};
  }
  if (dot != std::string_view::npos) {
    out.step = text::parse_decimal32(text.substr(dot + 1));
    if (!out.step) return {};
  }
  out.job = *job;
  return out;
}

Result<std::vector<wire::FilePlace>> find_places(Controller& controller, const FileTarget& target) {
  if (target.job == 0) return fail(ErrorCode::InvalidJobId);
  std::uint32_t first = target.job, count = 1;
  wire::JobFilter filter;
  filter.jobs = {{.id = JobId(target.job), .tasks = {}}};
  filter.all_states = true;  // of one that is over the ticket says so
  if (!target.step || target.offset) {
    SPUR_ASSIGN(const auto table, controller.jobs(filter));
    const auto job = std::ranges::find_if(table.jobs, [&](const auto& one) { return one->id.value == target.job; });
    if (job == table.jobs.end()) return fail(ErrorCode::InvalidJobId);
    const bool leads = (*job)->het_job && (*job)->het_offset == 0;
    if (target.offset && (!leads || *target.offset >= (*job)->het_size)) return fail(ErrorCode::InvalidJobId);
    if (target.offset) first += *target.offset;
    if (leads && !target.offset) count = (*job)->het_size;
  }
  std::vector<wire::FilePlace> out;
  for (std::uint32_t i = 0; i < count; ++i) {
    SPUR_ASSIGN(auto place, place_of(controller, JobId(first + i), target));
    out.push_back(std::move(place));
  }
  return out;
}

}  // namespace spur::cli
