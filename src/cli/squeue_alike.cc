// SPDX-License-Identifier: Apache-2.0
#include "cli/squeue_alike.h"

namespace spur::cli {
namespace {

// Columns that say nothing of the job's number; squeue_fields_test looks.
constexpr std::string_view kNumberless = "aBCDhkjlMNPQqRrTtuv";

bool stands_alone(const JobLine& line) {
  const model::Job& job = *line.job;
  return !line.task && !line.partition && !line.progress && !job.array_job && !job.array_pending && !job.het_job;
}

constexpr wire::JobFields whole_spec() {
  wire::JobFields fields;
  for (std::size_t i = 0; i < static_cast<std::size_t>(wire::SpecField::Count); ++i)
    fields.add(static_cast<wire::SpecField>(i));
  return fields;
}

}  // namespace

wire::JobFields fields_in_common(const JobLine& above, const JobLine& line) {
  static constexpr wire::JobFields kSpec = whole_spec();
  const model::Job &a = *above.job, &b = *line.job;
  if (a.spec != b.spec || above.table != line.table || !stands_alone(above) || !stands_alone(line)) return {};
  wire::JobFields fields = kSpec;
  const auto add = [&](wire::JobField field, bool same) {
    if (same) fields.add(field);
  };
  using J = wire::JobField;
  add(J::state, a.state == b.state);
  add(J::flags, a.flags == b.flags);
  add(J::reason, a.reason == b.reason);
  add(J::reason_detail, a.reason_detail == b.reason_detail);
  add(J::priority, a.priority == b.priority);
  add(J::time_limit, a.time_limit == b.time_limit);
  add(J::started, a.started == b.started);
  add(J::ended, a.ended == b.ended);
  add(J::suspended_at, a.suspended_at == b.suspended_at);
  add(J::suspended_total, a.suspended_total == b.suspended_total);
  add(J::cpus_allocated, a.cpus_allocated == b.cpus_allocated);
  add(J::batch_host, a.batch_host == b.batch_host);
  add(J::allocation, !a.allocation && !b.allocation);
  add(J::nodes_left, a.nodes_left.empty() && b.nodes_left.empty());
  add(J::last_nodes, a.last_nodes == b.last_nodes);
  return fields;
}

bool is_alike(const JobColumn& column, const wire::JobFields& in_common) {
  return column.letter != 0 && in_common.has_all(column.reads) && kNumberless.find(column.letter) != std::string_view::npos;
}

}  // namespace spur::cli
