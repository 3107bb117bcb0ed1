// SPDX-License-Identifier: Apache-2.0
#include "cli/command_options.h"

#include <algorithm>
#include <array>
#include <memory>

#include "cli/job_options.h"
#include "cli/scontrol.h"

namespace spur::cli {
namespace {

struct ByName {
  std::string_view name;
  ValueOf value;
};
// Options mean the same wherever they are; what none of these names is a file if its value's name says so.
constexpr ByName kOptionValues[] = {
    {"partition", ValueOf::Partition}, {"nodelist", ValueOf::Node},     {"exclude", ValueOf::Node},
    {"nodes", ValueOf::Node},          {"jobs", ValueOf::Job},          {"job", ValueOf::Job},
    {"jobid", ValueOf::Job},           {"dependency", ValueOf::Anything}, {"account", ValueOf::Account},
    {"accounts", ValueOf::Account},    {"qos", ValueOf::Qos},           {"user", ValueOf::User},
    {"users", ValueOf::User},          {"uid", ValueOf::User},          {"states", ValueOf::JobState},
    {"state", ValueOf::JobState},      {"output", ValueOf::File},       {"error", ValueOf::File},
    {"input", ValueOf::File},          {"chdir", ValueOf::File},        {"nodefile", ValueOf::File},
    {"export-file", ValueOf::File},    {"batch", ValueOf::Anything},
};
constexpr ByName kWordValues[] = {
    {"scancel", ValueOf::Job},   {"cancel", ValueOf::Job}, {"wait", ValueOf::Job},    {"explain", ValueOf::Job},
    {"hold", ValueOf::Job},      {"release", ValueOf::Job}, {"requeue", ValueOf::Job}, {"sattach", ValueOf::Job},
    {"sbatch", ValueOf::File},   {"submit", ValueOf::File}, {"srun", ValueOf::File},   {"run", ValueOf::File},
    {"salloc", ValueOf::File},   {"sbcast", ValueOf::File}, {"sgather", ValueOf::File},
    {"simulate", ValueOf::File},
};

JobCommand job_command(std::string_view name) {
  if (name == "srun" || name == "run") return kSrun;
  return name == "salloc" ? kSalloc : kSbatch;
}

bool is_job_command(std::string_view name) {
  return name == "sbatch" || name == "submit" || name == "srun" || name == "run" || name == "salloc";
}

const char* job_variable(const JobOption& option, JobCommand command) {
  if (command == kSrun) return option.srun_env;
  if (option.sbatch_env == nullptr || command == kSbatch) return option.sbatch_env;
  // SALLOC_X beside SBATCH_X; kept for as long as the process lives.
  static std::vector<std::unique_ptr<std::string>> names;
  std::string_view text = option.sbatch_env;
  if (text.starts_with("SBATCH_")) text.remove_prefix(7);
  names.push_back(std::make_unique<std::string>("SALLOC_" + std::string(text)));
  return names.back()->c_str();
}

}  // namespace

std::vector<OptionsAsked::Row> options_of(const NamedCommand& command) {
  if (is_job_command(command.name)) {
    std::vector<OptionsAsked::Row> rows;
    const JobCommand which = job_command(command.name);
    for (const JobOption& job : all_job_options())
      if ((job.commands & which) != 0 && job.option.set != nullptr)
        rows.push_back({job.option.row, job_variable(job, which)});
    return rows;
  }
  // Nobody writes these: they are only there because a command has them.
  Output out(-1), err(-1);
  Context context(out, err);
  OptionsAsked asked;
  context.options_asked = &asked;
  context.program = command.name;
  context.now = [] { return Time{}; };
  command.run(context);
  std::erase_if(asked.rows, [](const OptionsAsked::Row& row) { return !row.supported; });
  if (command.native && (command.name == "queue" || command.name == "nodes" || command.name == "top"))
    asked.rows.push_back({{"color", 0, Takes::Maybe, "auto|always|never", "colours: on a terminal, always or never"}});
  return asked.rows;
}

std::vector<std::string> first_words(const NamedCommand& command, const std::vector<NamedCommand>& all) {
  if (command.name == "scontrol") return scontrol_keywords();
  if (command.name == "show")
    return {"config", "hostlist", "hostnames", "job", "licenses", "node", "partition", "reservation", "step", "topology"};
  if (command.name == "sacctmgr") return {"add", "create", "delete", "dump", "help", "list", "load", "modify", "show", "version"};
  if (command.name == "completion") return {"bash", "fish", "zsh"};
  if (command.name == "image") return {"export", "import", "list", "remove"};
  if (command.name != "man") return {};
  std::vector<std::string> names;
  for (const NamedCommand& other : all) names.push_back(other.name);
  return names;
}

ValueOf value_of_option(const NamedCommand& command, const OptionRow& row) {
  const std::string_view name = row.name;
  if (name == "states" && (command.name == "sinfo" || command.name == "nodes")) return ValueOf::NodeState;
  const auto known = std::ranges::find(kOptionValues, name, &ByName::name);
  if (known != std::end(kOptionValues)) return known->value;
  const std::string_view value = row.value_name != nullptr ? row.value_name : "";
  return value.find("file") != std::string_view::npos || value.find("path") != std::string_view::npos
             ? ValueOf::File
             : ValueOf::Anything;
}

ValueOf value_of_words(const NamedCommand& command) {
  const auto known = std::ranges::find(kWordValues, std::string_view(command.name), &ByName::name);
  return known == std::end(kWordValues) ? ValueOf::Anything : known->value;
}

std::string_view value_name(ValueOf value) {
  static constexpr std::array<std::string_view, 10> kNames{"",         "",    "partitions", "nodes",     "jobs",
                                                           "accounts", "qos", "users",      "jobstates", "nodestates"};
  return kNames[static_cast<std::size_t>(value)];
}

}  // namespace spur::cli
