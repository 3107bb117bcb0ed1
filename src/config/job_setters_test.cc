// SPDX-License-Identifier: Apache-2.0
// Keys of jobs and steps, in both dialects.
#include <gtest/gtest.h>

#include "config/load.h"
#include "config/test_files.h"
#include "model/shown_config.h"

namespace spur::config {
namespace {

constexpr const char* kFourNodes = "NodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL Default=YES\nSlurmctldHost=h\n";

Loaded read(const std::string& text, const char* name) {
  Loaded out;
  if (auto loaded = load_text(text, name, Want::All))
    out = std::move(*loaded);
  else
    ADD_FAILURE() << loaded.error().message;
  return out;
}
Loaded of_slurm(const std::string& lines) {
  return read(lines + "\n" + kFourNodes, "slurm.conf");
}
Loaded of_spur(const std::string& text) {
  return read(text, "spur.conf");
}
std::string refused(const std::string& lines) {
  const auto loaded = load_text(lines + "\n" + kFourNodes, "slurm.conf", Want::All);
  return loaded ? "taken" : loaded.error().message;
}

// The same site in both dialects: the same for commands, agents and controllers, and as it is shown.
TEST(JobKeys, MeanTheSameInBothDialects) {
  const Loaded ours = of_spur(R"(
cluster_name = "steps"
[controller]
reconfig = ["KeepPartInfo"]
[jobs]
append_output = true
requeue_exits = "1-3,9"
requeue_hold_exits = "17"
login_timeout_secs = 20
salloc_command = "bash -l"
[steps]
kill_on_bad_exit = true
wait_secs = 30
max_tasks_per_node = 64
max_count = 100
cpu_binding = ["cores", "verbose"]
launch = ["use_interactive_step"]
interactive_options = "--pty sh"
propagate_limits = ["STACK", "RLIMIT_CORE"]
propagate_nice = 2
unkillable_timeout_secs = 120
unkillable_program = "/sbin/unkillable"
[files]
broadcast = ["DestDir=/scratch", "Compression=lz4", "send_libs"]
broadcast_exclude = ["/lib", "/opt"]
[hooks]
timeout_secs = 60
prolog_timeout_secs = 30
lead_begins = "/sbin/lead"
lead_ends = "/sbin/follow"
reservation_begins = "/sbin/begins"
reservation_ends = "/sbin/ends"
[logging]
debug_flags = ["Backfill", "Steps"]
time = ["short"]
controller_syslog = "error"
[agent]
tmp_dir = "/scratch"
[auth]
allow_root_jobs = false
[[nodes]]
names = "n[1-4]"
cpus = 4
[[partitions]]
name = "p"
default = true
nodes = "ALL"
requires_reservation = true
disable_root_jobs = true
over_time_limit_minutes = 30
)");
  const Loaded theirs = of_slurm(
      "ReconfigFlags=KeepPartInfo\nJobFileAppend=1\nRequeueExit=1-3,9\nRequeueExitHold=17\nGetEnvTimeout=20\n"
      "SallocDefaultCommand=\"bash -l\"\nKillOnBadExit=1\nWaitTime=30\nMaxTasksPerNode=64\nMaxStepCount=100\n"
      "TaskPluginParam=cores,verbose\nLaunchParameters=use_interactive_step\nInteractiveStepOptions=\"--pty sh\"\n"
      "PropagateResourceLimits=STACK,RLIMIT_CORE\nPropagatePrioProcess=2\nUnkillableStepTimeout=120\n"
      "UnkillableStepProgram=/sbin/unkillable\nBcastParameters=DestDir=/scratch,Compression=lz4,send_libs\n"
      "BcastExclude=/lib,/opt\nPrologEpilogTimeout=60\nPrologTimeout=30\nSlurmctldPrimaryOnProg=/sbin/lead\n"
      "SlurmctldPrimaryOffProg=/sbin/follow\nResvProlog=/sbin/begins\nResvEpilog=/sbin/ends\n"
      "DebugFlags=Backfill,Steps\nLogTimeFormat=short\nSlurmctldSyslogDebug=error\nTmpFS=/scratch\nDisableRootJobs=yes\n");
  EXPECT_EQ(theirs.daemon.commands, ours.daemon.commands);
  EXPECT_EQ(theirs.daemon.steps, ours.daemon.steps);
  EXPECT_EQ(theirs.daemon.hooks, ours.daemon.hooks);
  EXPECT_EQ(theirs.daemon.debug_flags, ours.daemon.debug_flags);
  EXPECT_EQ(theirs.daemon.controller_log, ours.daemon.controller_log);
  EXPECT_EQ(theirs.daemon.tmp_dir, ours.daemon.tmp_dir);
  EXPECT_EQ(theirs.cluster.requeue_exits, ours.cluster.requeue_exits);
  EXPECT_EQ(theirs.cluster.no_root_jobs, ours.cluster.no_root_jobs);
  EXPECT_EQ(theirs.warnings, std::vector<std::string>());

  const CommandDefaults& commands = ours.daemon.commands;
  EXPECT_TRUE(commands.kill_on_bad_exit && commands.append_output && commands.interactive_step);
  EXPECT_EQ(commands.wait_seconds, 30u);
  EXPECT_EQ(commands.limits, (std::vector<std::string>{"STACK", "CORE"}));
  EXPECT_EQ(commands.login_environment, seconds(20));
  EXPECT_EQ(commands.task_binding, "verbose,cores");
  EXPECT_EQ(commands.broadcast_directory, "/scratch");
  EXPECT_TRUE(commands.broadcast_libraries && commands.broadcast_compressed);
  EXPECT_EQ(commands.broadcast_exclude, "/lib,/opt");
  EXPECT_EQ(commands.salloc_command, "bash -l");
  EXPECT_EQ(commands.interactive_options, "--pty sh");
  EXPECT_EQ(ours.daemon.steps.max_tasks_per_node, 64u);
  EXPECT_EQ(ours.daemon.steps.max_count, 100u);
  EXPECT_EQ(ours.daemon.steps.unkillable_after, seconds(120));
  EXPECT_EQ(ours.daemon.hooks.prolog_timeout, seconds(30));
  EXPECT_EQ(ours.daemon.hooks.epilog_timeout, std::nullopt);
  EXPECT_EQ(ours.cluster.requeue_exits, (std::vector<std::uint32_t>{1, 2, 3, 9}));
  EXPECT_EQ(ours.cluster.requeue_hold_exits, std::vector<std::uint32_t>{17});
  EXPECT_TRUE(ours.cluster.append_output && ours.cluster.no_root_jobs && ours.cluster.keep_partition_info);
  EXPECT_FALSE(ours.cluster.keep_partition_state);
  const model::PartitionConfig& partition = ours.cluster.partitions.at(0);
  EXPECT_TRUE(partition.requires_reservation && partition.no_root_jobs);
  EXPECT_EQ(partition.over_time_limit_minutes, 30u);

  for (const auto& [key, value] :
       {std::pair{"KillOnBadExit", "1"}, {"WaitTime", "30 sec"}, {"JobFileAppend", "1"}, {"MaxTasksPerNode", "64"},
        {"MaxStepCount", "100"}, {"RequeueExit", "1-3,9"}, {"RequeueExitHold", "17"}, {"GetEnvTimeout", "20 sec"},
        {"TaskPluginParam", "verbose,cores"}, {"PropagateResourceLimits", "STACK,RLIMIT_CORE"},
        {"PropagatePrioProcess", "2"}, {"UnkillableStepTimeout", "120 sec"}, {"PrologTimeout", "30 sec"},
        {"ResvProlog", "/sbin/begins"}, {"SlurmctldPrimaryOnProg", "/sbin/lead"}, {"DebugFlags", "Backfill,Steps"},
        {"LogTimeFormat", "short"}, {"SlurmctldSyslogDebug", "error"}, {"TmpFS", "/scratch"}, {"DisableRootJobs", "yes"}, {"BcastExclude", "/lib,/opt"},
        {"BcastParameters", "DestDir=/scratch,Compression=lz4,send_libs"}, {"ReconfigFlags", "KeepPartInfo"}}) {
    EXPECT_EQ(model::shown_value(theirs.cluster, key), value) << key;
    EXPECT_EQ(model::shown_value(ours.cluster, key), value) << key;
  }
  EXPECT_EQ(model::shown_value(ours.cluster, "EpilogTimeout"), "") << "only if it is given";
}

TEST(JobKeys, SlurmsDefaultsCountWithSlurmsFile) {
  EXPECT_EQ(of_slurm("").daemon.steps.max_tasks_per_node, 512u);
  EXPECT_EQ(of_slurm("").daemon.steps.max_count, 40'000u);
  EXPECT_EQ(of_spur("").daemon.steps.max_tasks_per_node, 65'533u);
  EXPECT_EQ(of_slurm("").daemon.commands, CommandDefaults());
  EXPECT_EQ(model::shown_value(of_slurm("").cluster, "MaxTasksPerNode"), "512");
  EXPECT_EQ(of_slurm("BcastExclude=none").daemon.commands.broadcast_exclude, "NONE");
  EXPECT_EQ(of_slurm("SbcastParameters=DestDir=/x").daemon.commands.broadcast_directory, "/x");
  EXPECT_EQ(of_slurm("PrologTimeout=65534").daemon.hooks.prolog_timeout, seconds(0));
}

TEST(JobKeys, RefusesWhatCannotBe) {
  for (const char* codes : {"x", "1-", "300", "5-2", "1,,2"})
    EXPECT_EQ(refused(std::string("RequeueExit=") + codes),
              std::string("slurm.conf:1: RequeueExit: \"") + codes + "\" is no list of exit codes from 0 to 255");
  EXPECT_EQ(refused("PropagateResourceLimits=STACK,FOO"),
            "slurm.conf:1: PropagateResourceLimits: Bad PropagateResourceLimits: STACK,FOO");
  EXPECT_EQ(refused("PropagateResourceLimits=ALL\nPropagateResourceLimitsExcept=CORE"),
            "slurm.conf:2: PropagateResourceLimitsExcept: PropagateResourceLimits and PropagateResourceLimitsExcept "
            "are mutually exclusive");
  EXPECT_EQ(refused("DebugFlags=Backfill,wibble"), "slurm.conf:1: DebugFlags: DebugFlags invalid: Backfill,wibble");
  EXPECT_EQ(refused("LogTimeFormat=stardate"), "slurm.conf:1: LogTimeFormat: invalid LogTimeFormat stardate");
  EXPECT_EQ(refused("TaskPluginParam=cores,threads"),
            "slurm.conf:1: TaskPluginParam: Bad TaskPluginParam: cores,threads");
  EXPECT_EQ(refused("BcastExclude=lib"), "slurm.conf:1: BcastExclude: \"lib\" is no absolute path");
}

}  // namespace
}  // namespace spur::config
