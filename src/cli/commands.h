// SPDX-License-Identifier: Apache-2.0
// The commands, by name. One function each, in cmd_<slurm name>.cc; the table that main/spur.cc looks them up in.
#pragma once

#include <span>
#include <string_view>

#include "cli/context.h"

namespace spur::cli {

int cmd_accounting(Context& context);
int cmd_controllers(Context& context);
int cmd_explain(Context& context);
int cmd_history(Context& context);
int cmd_image(Context& context);
int cmd_sacct(Context& context);
int cmd_sacctmgr(Context& context);
int cmd_salloc(Context& context);
int cmd_sbatch(Context& context);
int cmd_sbcast(Context& context);
int cmd_scancel(Context& context);
int cmd_scontrol(Context& context);
int cmd_scrontab(Context& context);
int cmd_sdiag(Context& context);
int cmd_sgather(Context& context);
int cmd_simulate(Context& context);
int cmd_sinfo(Context& context);
int cmd_sprio(Context& context);
int cmd_sshare(Context& context);
int cmd_squeue(Context& context);
int cmd_sreport(Context& context);
int cmd_srun(Context& context);
int cmd_sattach(Context& context);
int cmd_sstat(Context& context);
int cmd_strigger(Context& context);
int cmd_top(Context& context);
int cmd_wait(Context& context);
// `spur <word> ...`: Slurm's names, the native ones, help and version.
int cmd_spur(Context& context);

struct Command {
  std::string_view name;
  int (*run)(Context& context);
  const char* help = nullptr;  // in a few words
};
std::span<const Command> slurm_commands();
// Null for a name that is no command.
const Command* find_command(std::string_view name);

// "slurm 25.05.0"; exit status 0.
int print_version(Context& context);

}  // namespace spur::cli
