// SPDX-License-Identifier: Apache-2.0
// cli_step_info: squeue --steps --json, scontrol show step --json.
#include "cli/api_documents.h"
#include "cli/api_values.h"
#include "cli/users.h"
#include "model/distribution.h"

namespace spur::cli {
namespace {

using Words = std::vector<std::string>;

std::uint64_t running_seconds(const StepOf& of) {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, std::chrono::floor<seconds>(of.now - of.step->info.started).count()));
}

void add_limit(Document& to, std::string_view key, const TimeLimit& limit) {
  to.number(key, limit.is_finite() ? std::optional<std::uint64_t>(limit.minutes_value()) : std::nullopt,
            !limit.is_finite());
}

std::uint32_t array_task(const StepOf& of) {
  return of.step->job && of.step->job->array_task ? *of.step->job->array_task : 0xfffffffe;
}

// clang-format off
constexpr ApiField<StepOf> kFields[] = {
    {"array.job_id", API_VALUE(of.step->job ? of.step->job->array_job.value : 0)},
    {"array.task_id", API_VALUE(array_task(of))},
    {"cluster", API_VALUE(of.cluster)},
    {"container", API_NONE},
    {"container_id", API_NONE},
    {"cpu.frequency.min", API_ZERO},
    {"cpu.frequency.max", API_ZERO},
    {"cpu.frequency.governor", API_ZERO},
    {"tres.per.cpu", API_NONE},
    {"tres.per.memory", API_NONE},
    {"tres.per.step", API_NONE},
    {"tres.per.node", API_NONE},
    {"tres.per.socket", API_NONE},
    {"tres.per.task", API_NONE},
    {"tres.allocation", API_VALUE(fmt::format("cpu={},mem={}M,node={}", of.step->info.cpus, of.step->info.memory_mib, of.step->info.node_count))},
    {"tres.binding", API_NONE},
    {"tres.frequency", API_NONE},
    {"name", API_VALUE(of.step->info.name)},
    {"network", API_NONE},
    {"nodes", API_VALUE(of.step->info.nodes)},
    {"number_cpus", API_VALUE(of.step->info.cpus)},
    {"number_tasks", API_VALUE(of.step->info.tasks)},
    {"partition", API_VALUE(of.step->info.partition)},
    {"reserved_ports", API_NONE},
    {"time.running", API_NUMBER(running_seconds(of))},
    {"time.start", API_MOMENT(of.step->info.started)},
    {"time.limit", SPUR_API_ADD(add_limit(to, key, of.step->info.time_limit))},
    {"srun.host", API_VALUE(of.step->info.host)},
    {"srun.pid", API_VALUE(of.step->info.pid)},
    {"state", API_VALUE(Words{"RUNNING"})},
    {"id", API_VALUE(of.step->id())},
    {"submit_line", API_NONE},
    {"task.distribution", API_VALUE(model::distribution_text(of.step->info.distribution))},
    {"user", API_VALUE(user_name(of.step->info.uid))},
};
// clang-format on

}  // namespace

std::span<const ApiField<StepOf>> step_fields() {
  return kFields;
}

}  // namespace spur::cli
