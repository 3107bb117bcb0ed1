// SPDX-License-Identifier: Apache-2.0
// What manual pages say beside the options: one row per command.
#include <algorithm>

#include "cli/manual.h"

namespace spur::cli {
namespace {

constexpr std::string_view kScriptExits =
    "0 if the job was submitted; 1 if it was refused; 255 for a line that cannot be read. With --wait the exit status of "
    "the job, the highest of an array's.";
constexpr std::string_view kStepExits =
    "The highest exit status of the tasks; 128 and the signal's number for a task that a signal ended; 1 if the step "
    "could not be started.";

constexpr ManualText kTexts[] = {
    {"submit", "[OPTIONS] SCRIPT [ARGUMENTS]", "sbatch by another name.", kScriptExits},
    {"sbatch", "[OPTIONS] [SCRIPT [ARGUMENTS]]",
     "Submits a batch script and prints the number of the job. The script is read from the file, or from standard input. "
     "Lines of it that begin with #SBATCH are options.\nIt returns when the job is durable: whatever happens to the "
     "controller afterwards, the job is there.",
     kScriptExits},
    {"run", "[OPTIONS] PROGRAM [ARGUMENTS]", "srun by another name.", kStepExits},
    {"srun", "[OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]",
     "Runs a program in parallel: as a step of the job around it, else in an allocation of its own, which it waits for.",
     kStepExits},
    {"salloc", "[OPTIONS] [COMMAND [ARGUMENTS]]",
     "Waits for an allocation, runs a command or a shell while it holds it, and gives it back.",
     "That of the command; 1 if there was no allocation."},
    {"queue", "[OPTIONS]",
     "Shows jobs. On a terminal reasons are in plain words, with the expected start, and the first line of an array shows "
     "how far it is: # has ended, > runs, . waits. Elsewhere the table has Slurm's words.\nTakes the options of squeue.",
     ""},
    {"squeue", "[OPTIONS]",
     "Shows jobs that wait, run or complete. Formats, filters and order are Slurm's.\nWith --watch the controller tells "
     "of every change: on a terminal the list is redrawn (q quits); elsewhere each change is a line "
     "TIME|EVENT|JOB LINE, where EVENT is listed, changed or gone, and the line is as --format says, by default "
     "ID|STATE|PARTITION|USER|NAME|NODES|NODELIST(REASON).",
     ""},
    {"accounting", "", "Says how the accounting service stands, and how far the controllers' records are.", ""},
    {"cancel", "[OPTIONS] [JOB...]", "scancel by another name.", ""},
    {"scancel", "[OPTIONS] [JOB[.STEP]...]", "Ends jobs and steps, or sends them a signal.", ""},
    {"explain", "[OPTIONS] JOB",
     "Says what a job waits for, when it is expected to start, and which smaller wish would start it sooner.", ""},
    {"history", "[OPTIONS]", "sacct by another name.", ""},
    {"sacct", "[OPTIONS]", "Shows jobs and steps from accounting, and those that it does not have yet from the controller.",
     ""},
    {"sacctmgr", "[OPTIONS] [COMMAND [WORDS]]",
     "Shows and changes accounts, users, associations, QOS and their limits. Without a command it reads commands from "
     "standard input.",
     ""},
    {"image", "COMMAND [ARGUMENTS]", "Imports, lists and removes container images.", ""},
    {"nodes", "[OPTIONS]", "Shows nodes, one a line; on a terminal states are coloured. Takes the options of sinfo.", ""},
    {"scrontab", "[-u USER] [-e | -l | -r | FILE]",
     "Sets, edits, shows or removes a table of batch jobs that come back at set times. A line is minute, hour, day of the "
     "month, month, day of the week and a command, or @hourly, @daily, @weekly, @monthly, @yearly, @noon and the like and a "
     "command. Lines #SCRON hold options of sbatch for the entry below them, lines NAME=VALUE variables for all entries "
     "below.\nAn entry is one job, which keeps its number: when a run is over it waits for its next time, of the "
     "controller's time zone. If it is cancelled, its lines are disabled.",
     "0, or 1 if nothing was changed."},
    {"strigger", "--set | --get | --clear [OPTIONS]",
     "Sets, shows and clears triggers: programs that the controller runs, as the user who set them, when something happens "
     "to a job, to nodes or to the controllers. The program is told the job or the nodes.",
     "0, or 1 if nothing was changed."},
    {"sinfo", "[OPTIONS]", "Shows nodes and partitions. Formats, filters, grouping and order are Slurm's.", ""},
    {"show", "ENTITY [NAME]", "scontrol show by another name.", ""},
    {"hold", "JOB...", "Keeps jobs from starting.", ""},
    {"release", "JOB...", "Lets held jobs start.", ""},
    {"requeue", "JOB...", "Puts jobs back into the queue.", ""},
    {"scontrol", "[OPTIONS] [COMMAND [WORDS]]",
     "Shows and changes jobs, nodes, partitions, reservations and the controller. Without a command it reads commands "
     "from standard input.",
     ""},
    {"wait", "[OPTIONS] JOB...",
     "Waits until all jobs have ended, without asking again and again: the controller tells of each change. A job may be "
     "an array, some of its tasks (12_[1-5]) or a heterogeneous job. A controller that goes away meanwhile is waited for, "
     "or another one takes over. A line for each job says how it ended: JOB STATE CODE:SIGNAL.",
     "The highest exit status of the jobs, as with sbatch --wait; with --any that of the one that has ended. 124 after "
     "--timeout; 1 for a job that is not known."},
    {"top", "[OPTIONS]",
     "Shows the cluster and its jobs on the whole screen, live: what is in use of CPUs, GPUs and memory by partition, "
     "and jobs with why they wait and when they are expected to start.\nKeys: arrows, page up and down move; s sorts by "
     "the next column, S the other way round; / filters by a text; u shows only own jobs, p only waiting ones, r only "
     "running ones, a all; c cancels the marked job after a question; h helps; q quits.",
     ""},
    {"completion", "bash|zsh|fish", "Prints completions of all commands for a shell.", ""},
    {"man", "NAME", "Shows the manual page of a command, or with --all DIRECTORY writes all of them.", ""},
    {"simulate", "[OPTIONS] [TRACE]",
     "Replays a workload through the planner in virtual time, or tells what would become of the queue.", ""},
    {"version", "", "Prints the version of Spur.", "0"},
    {"help", "", "Lists the commands.", "0"},
    {"sattach", "[OPTIONS] JOB.STEP", "Shows what the tasks of a running step write from now on.", ""},
    {"sbcast", "[OPTIONS] SOURCE DESTINATION", "Sends a file to all nodes of the job around it.", ""},
    {"sgather", "[OPTIONS] SOURCE DESTINATION", "Fetches a file from all nodes of the job around it.", ""},
    {"sdiag", "[OPTIONS]", "Shows what the controller has been doing: jobs, cycles of the scheduler, calls.", ""},
    {"sprio", "[OPTIONS]", "Shows what the priority of waiting jobs is made of.", ""},
    {"sreport", "[OPTIONS] REPORT [WORDS]", "Reports on what clusters, accounts and users have used.", ""},
    {"sshare", "[OPTIONS]", "Shows shares of accounts and users, and what they have used.", ""},
    {"seff", "[OPTIONS] JOB[_TASK]",
     "Shows how much a job used of the CPUs and the memory that it had.\n"
     "The lines are those of Slurm's contributed script of that name; spur efficiency adds what they mean.",
     "0, 1 after an error, 2 if there is no such job."},
    {"sstat", "[OPTIONS] JOB[.STEP]...", "Shows what the steps of running jobs use.", ""},
};

}  // namespace

const ManualText* find_manual_text(std::string_view name) {
  const auto found = std::ranges::find(kTexts, name, &ManualText::name);
  return found == std::end(kTexts) ? nullptr : found;
}

}  // namespace spur::cli
