// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <algorithm>

#include "cli/cmd_report.h"

namespace spur::cli {
namespace {

constexpr Command kCommands[] = {
    {"sacct", cmd_sacct, "jobs of the past, from accounting"},
    {"sacctmgr", cmd_sacctmgr, "accounts, users, QOS and their limits"},
    {"salloc", cmd_salloc, "hold an allocation while a command runs"},
    {"sattach", cmd_sattach, "look at the output of a running step"},
    {"sbatch", cmd_sbatch, "submit a batch script"},
    {"sbcast", cmd_sbcast, "send a file to the nodes of a job"},
    {"scancel", cmd_scancel, "end or signal jobs and steps"},
    {"scontrol", cmd_scontrol, "show and change jobs, nodes, partitions, reservations"},
    {"scrontab", cmd_scrontab, "batch jobs that come back at set times"},
    {"sdiag", cmd_sdiag, "what the controller has been doing"},
    {"seff", cmd_seff, "how much a job used of what it had, in brief"},
    {"sgather", cmd_sgather, "fetch a file from the nodes of a job"},
    {"sinfo", cmd_sinfo, "show nodes and partitions"},
    {"sprio", cmd_sprio, "what the priority of waiting jobs is made of"},
    {"squeue", cmd_squeue, "show jobs"},
    {"sreport", cmd_sreport, "reports on use, from accounting"},
    {"srun", cmd_srun, "run a program in parallel"},
    {"sshare", cmd_sshare, "shares of accounts and users, and what they used"},
    {"sstat", cmd_sstat, "what running steps use"},
    {"strigger", cmd_strigger, "programs to run when something happens to jobs or nodes"},
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
