// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <algorithm>

#include "cli/cmd_report.h"

namespace spur::cli {
namespace {

constexpr Command kCommands[] = {
    {"sacct", cmd_sacct},     {"sacctmgr", cmd_sacctmgr}, {"salloc", cmd_salloc},   {"sattach", cmd_sattach},
    {"sbatch", cmd_sbatch},   {"sbcast", cmd_sbcast},     {"scancel", cmd_scancel}, {"scontrol", cmd_scontrol},
    {"sdiag", cmd_sdiag},     {"seff", cmd_seff},         {"sgather", cmd_sgather}, {"sinfo", cmd_sinfo},
    {"sprio", cmd_sprio},     {"squeue", cmd_squeue},     {"sreport", cmd_sreport}, {"srun", cmd_srun},
    {"sshare", cmd_sshare},   {"sstat", cmd_sstat},
};

}  // namespace

std::span<const Command> slurm_commands() {
  return kCommands;
}

const Command* find_command(std::string_view name) {
  const auto found = std::ranges::find_if(kCommands, [&](const Command& command) { return command.name == name; });
  return found == std::end(kCommands) ? nullptr : found;
}

int print_version(Context& context) {
  context.out.print("slurm {}\n", kSlurmVersion);
  return 0;
}

}  // namespace spur::cli
