// SPDX-License-Identifier: Apache-2.0
#include "ctld/job_changes.h"

#include <fmt/format.h>

#include "text/date.h"
#include "text/time_limit.h"

namespace spur::ctld {
namespace {

using model::Job;

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ",") + word;
  return out;
}
template <class T>
std::string optional_number(const std::optional<T>& value) {
  return value ? std::to_string(*value) : std::string();
}
std::string limit_text(TimeLimit limit) {
  if (!limit.is_set()) return {};
  return limit.is_unlimited() ? "UNLIMITED" : std::to_string(limit.minutes_value());
}
// The one that a submit gives says only who came first.
std::string priority_text(const Job& job) {
  return job.priority_by_hand || job.priority == 0 ? std::to_string(job.priority) : std::string();
}
std::string date_text(Time t) {
  return is_set(t) ? text::format_date(t) : std::string();
}
std::string gres_text(const Job& job) {
  std::string out;
  for (const auto& gres : job.spec->gres)
    out += fmt::format("{}{}{}{}:{}", out.empty() ? "" : ",", gres.name, gres.type.empty() ? "" : ":", gres.type,
                       gres.count);
  return out;
}

struct Field {
  const char* name;
  std::string (*text)(const Job&);
};
// Slurm's names, as scontrol update takes them.
constexpr Field kFields[] = {
    {"JobName", [](const Job& j) { return j.spec->name; }},
    {"Partition", [](const Job& j) { return joined(j.spec->partitions); }},
    {"Account", [](const Job& j) { return j.spec->account; }},
    {"QOS", [](const Job& j) { return j.spec->qos; }},
    {"Reservation", [](const Job& j) { return j.spec->reservation; }},
    {"TimeLimit", [](const Job& j) { return limit_text(j.time_limit); }},
    {"TimeMin", [](const Job& j) { return limit_text(j.spec->time_min); }},
    {"Priority", priority_text},
    {"Nice", [](const Job& j) { return std::to_string(j.spec->nice); }},
    {"MinNodes", [](const Job& j) { return std::to_string(j.spec->min_nodes); }},
    {"MaxNodes", [](const Job& j) { return optional_number(j.spec->max_nodes); }},
    {"NumTasks", [](const Job& j) { return optional_number(j.spec->tasks); }},
    {"CPUsPerTask", [](const Job& j) { return std::to_string(j.spec->cpus_per_task); }},
    {"MinMemoryNode", [](const Job& j) { return optional_number(j.spec->memory_per_node_mib); }},
    {"MinMemoryCPU", [](const Job& j) { return optional_number(j.spec->memory_per_cpu_mib); }},
    {"MinTmpDiskNode", [](const Job& j) { return std::to_string(j.spec->tmp_disk_mib); }},
    {"Gres", gres_text},
    {"Features", [](const Job& j) { return j.spec->features; }},
    {"ReqNodeList", [](const Job& j) { return j.spec->required_nodes; }},
    {"ExcNodeList", [](const Job& j) { return j.spec->excluded_nodes; }},
    {"StartTime", [](const Job& j) { return date_text(j.spec->begin); }},
    {"Deadline", [](const Job& j) { return date_text(j.spec->deadline); }},
    {"Dependency", [](const Job& j) { return model::dependency_text(*j.spec); }},
    {"Requeue", [](const Job& j) { return j.spec->requeue ? (*j.spec->requeue ? "1" : "0") : std::string(); }},
    {"ArrayTaskThrottle", [](const Job& j) { return std::to_string(j.array_max_running); }},
    {"Comment", [](const Job& j) { return j.spec->comment; }},
    {"AdminComment", [](const Job& j) { return j.spec->admin_comment; }},
    {"StdOut", [](const Job& j) { return j.spec->std_out; }},
    {"WorkDir", [](const Job& j) { return j.spec->work_dir; }},
};

// A hundred tasks may be updated by one line: what is long is cut.
std::string shown(const std::string& value) {
  constexpr std::size_t kMost = 80;
  if (value.empty()) return "(none)";
  return value.size() <= kMost ? value : value.substr(0, kMost) + "...";
}

}  // namespace

std::string changes_of(const Job& before, const Job& after) {
  std::string out;
  for (const Field& field : kFields) {
    const std::string a = field.text(before), b = field.text(after);
    if (a == b) continue;
    out += fmt::format("{}{} {} -> {}", out.empty() ? "" : ", ", field.name, shown(a), shown(b));
  }
  if (out.empty() && *before.spec != *after.spec) return "other fields";
  return out;
}

}  // namespace spur::ctld
