// SPDX-License-Identifier: Apache-2.0
#include "model/job_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>

namespace spur::model {
namespace {

// Requests are user input: a product that does not fit is the largest number, which no cluster can serve.
std::uint32_t saturate(std::uint64_t n) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(n, std::numeric_limits<std::uint32_t>::max()));
}

std::string_view kind_word(Dependency::Kind kind) {
  switch (kind) {
    case Dependency::Kind::After:
      return "after";
    case Dependency::Kind::AfterAny:
      return "afterany";
    case Dependency::Kind::AfterOk:
      return "afterok";
    case Dependency::Kind::AfterNotOk:
      return "afternotok";
    case Dependency::Kind::AfterCorr:
      return "aftercorr";
    case Dependency::Kind::AfterBurstBuffer:
      return "afterburstbuffer";
    case Dependency::Kind::Expand:
      return "expand";
    case Dependency::Kind::Singleton:
      return "singleton";
  }
  return "";
}

}  // namespace

std::uint32_t task_count(const JobSpec& spec) {
  if (spec.tasks) return std::max(1u, *spec.tasks);
  return saturate(std::uint64_t{std::max(1u, spec.min_nodes)} * std::max(1u, spec.tasks_per_node));
}

std::uint32_t min_cpus(const JobSpec& spec) {
  const std::uint64_t nodes = std::max(1u, spec.min_nodes);
  const std::uint64_t per_node = std::max(1u, spec.min_cpus_per_node.value_or(1));
  // --overcommit: tasks share CPUs, so that one per node will do.
  const std::uint64_t for_tasks =
      spec.overcommit ? 1 : std::uint64_t{task_count(spec)} * std::max(1u, spec.cpus_per_task);
  return saturate(std::max(nodes * per_node, for_tasks));
}

std::string dependency_text(const JobSpec& spec) {
  std::string out;
  for (const Dependency& term : spec.dependencies) {
    if (!out.empty()) out.push_back(spec.dependencies_any ? '?' : ',');
    out.append(kind_word(term.kind));
    if (term.kind == Dependency::Kind::Singleton) continue;
    fmt::format_to(std::back_inserter(out), ":{}", term.job.value);
    if (term.array_task) {
      fmt::format_to(std::back_inserter(out), "_{}", *term.array_task);
    } else if (term.whole_array) {
      out.append("_*");
    }
    if (term.delay_minutes) fmt::format_to(std::back_inserter(out), "+{}", term.delay_minutes);
  }
  return out;
}

}  // namespace spur::model
