// SPDX-License-Identifier: Apache-2.0
#include "config/slurm_keys.h"

#include "text/words.h"

namespace spur::config {

namespace {

using enum Scope;

// clang-format off
constexpr SlurmName kNames[] = {
    {Top, "AccountingStorageBackupHost", ""},
    {Top, "AccountingStorageExternalHost", ""}, {Top, "AccountingStorageLoc", ""},
    {Top, "AccountingStorageParameters", ""}, {Top, "AccountingStoragePass", ""},
    {Top, "AccountingStorageUser", ""}, {Top, "AccountingStoreJobComment", ""},
    {Top, "AcctGatherEnergyType", "acct_gather_energy/none"},
    {Top, "AcctGatherFilesystemType", "acct_gather_filesystem/none"}, {Top, "AcctGatherInfinibandType", "acct_gather_infiniband/none"},
    {Top, "AcctGatherInterconnectType", "acct_gather_interconnect/none"}, {Top, "AcctGatherNodeFreq", "0"},
    {Top, "AcctGatherProfileType", "acct_gather_profile/none"},
    {Top, "AuthAltParameters", ""}, {Top, "AuthAltTypes", ""}, {Top, "AuthInfo", ""}, {Top, "AuthType", ""},
    {Top, "BatchStartTimeout", ""}, {Top, "BcastExclude", ""}, {Top, "BcastParameters", ""},
    {Top, "BurstBufferParameters", ""}, {Top, "BurstBufferType", "burst_buffer/none"},
    {Top, "CertgenParameters", ""}, {Top, "CertgenType", ""}, {Top, "CertmgrParameters", ""}, {Top, "CertmgrType", ""},
    {Top, "CliFilterParameters", ""}, {Top, "CliFilterPlugins", ""},
    {Top, "CoreSpecPlugin", "core_spec/none"}, {Top, "CpuFreqDef", ""}, {Top, "CpuFreqGovernors", ""},
    {Top, "CredType", ""}, {Top, "CryptoType", ""}, {Top, "DataParserParameters", ""}, {Top, "DebugFlags", ""},
    {Top, "DefCPUPerGPU", ""}, {Top, "DefMemPerGPU", ""}, {Top, "DependencyParameters", ""},
    {Top, "DisableRootJobs", "no|0"}, {Top, "EioTimeout", ""}, {Top, "EpilogMsgTime", ""},
    {Top, "EpilogTimeout", ""}, {Top, "ExtSensorsFreq", "0"},
    {Top, "ExtSensorsType", "ext_sensors/none"}, {Top, "FastSchedule", "1"},
    {Top, "FederationParameters", ""}, {Top, "FrontendName", ""}, {Top, "GetEnvTimeout", ""}, {Top, "GpuFreqDef", ""},
    {Top, "GroupUpdateForce", ""}, {Top, "GroupUpdateTime", ""}, {Top, "HashPlugin", ""},
   
    {Top, "HttpParserType", ""}, {Top, "InactiveLimit", "0"}, {Top, "InteractiveStepOptions", ""},
    {Top, "JobAcctGatherParams", ""},
    {Top, "JobCompHost", ""}, {Top, "JobCompLoc", ""},
    {Top, "JobCompParams", ""}, {Top, "JobCompPass", ""}, {Top, "JobCompPassScript", ""}, {Top, "JobCompPort", ""},
    {Top, "JobCompType", "jobcomp/none"}, {Top, "JobCompUser", ""}, {Top, "JobContainerType", "job_container/none"},
    {Top, "JobCredentialPrivateKey", ""}, {Top, "JobCredentialPublicCertificate", ""},
    {Top, "JobFileAppend", "0"}, {Top, "JobSubmitPlugins", ""}, {Top, "KeepAliveTime", ""},
    {Top, "KillOnBadExit", "0"}, {Top, "LaunchParameters", ""}, {Top, "LaunchType", "launch/slurm"},
    {Top, "LogTimeFormat", "iso8601_ms"}, {Top, "MCSParameters", ""}, {Top, "MCSPlugin", "mcs/none"},
    {Top, "MailDomain", ""}, {Top, "MailProg", ""}, {Top, "MaxDBDMsgs", ""}, {Top, "MaxNodeCount", ""},
    {Top, "MaxStepCount", ""}, {Top, "MaxTasksPerNode", ""}, {Top, "MetricsType", ""},
    {Top, "MpiParams", ""}, {Top, "NamespaceType", ""}, {Top, "NodeFeaturesPlugins", ""},
    {Top, "PlugStackConfig", ""}, {Top, "PluginDir", ""}, {Top, "PowerParameters", ""}, {Top, "PowerPlugin", "power/none"},
    {Top, "PrEpParameters", ""}, {Top, "PrEpPlugins", ""},
    {Top, "PreemptParameters", ""},

    {Top, "PriorityParameters", ""}, {Top, "PrioritySiteFactorParameters", ""}, {Top, "PrioritySiteFactorPlugin", ""},


    {Top, "PrivateData", "none"},
    {Top, "ProctrackType", "proctrack/cgroup"},
    {Top, "PrologTimeout", ""},
    {Top, "PropagatePrioProcess", "0"}, {Top, "PropagateResourceLimits", "ALL"}, {Top, "PropagateResourceLimitsExcept", ""},
    {Top, "RebootProgram", ""}, {Top, "ReconfigFlags", ""}, {Top, "RequeueExit", ""}, {Top, "RequeueExitHold", ""},
    {Top, "ResumeFailProgram", ""}, {Top, "ResumeProgram", ""}, {Top, "ResumeRate", ""}, {Top, "ResumeTimeout", ""},
    {Top, "ResvEpilog", ""}, {Top, "ResvProlog", ""}, {Top, "RoutePlugin", "route/default"},
    {Top, "SallocDefaultCommand", ""}, {Top, "SbcastParameters", ""}, {Top, "SchedulerAuth", ""},
    {Top, "SchedulerTimeSlice", ""}, {Top, "SchedulerType", "sched/backfill"},
    {Top, "ScronParameters", ""}, {Top, "SlurmSchedLogFile", ""}, {Top, "SlurmSchedLogLevel", "0"},
    {Top, "SlurmctldAddr", ""}, {Top, "SlurmctldParameters", ""}, {Top, "SlurmctldPlugstack", ""},
    {Top, "SlurmctldPrimaryOffProg", ""}, {Top, "SlurmctldPrimaryOnProg", ""}, {Top, "SlurmctldSyslogDebug", ""},
    {Top, "SlurmctldTimeout", ""}, {Top, "SlurmdSyslogDebug", ""}, {Top, "SrunPortRange", ""},
    {Top, "SuspendExcNodes", ""}, {Top, "SuspendExcParts", ""}, {Top, "SuspendExcStates", ""},
    {Top, "SuspendProgram", ""}, {Top, "SuspendRate", ""}, {Top, "SuspendTime", "-1|INFINITE|NONE"}, {Top, "SuspendTimeout", ""},
    {Top, "SwitchParameters", ""}, {Top, "SwitchType", "switch/none"}, {Top, "TCPTimeout", ""}, {Top, "TLSParameters", ""},
    {Top, "TLSType", "tls/none"}, {Top, "TaskEpilog", ""}, {Top, "TaskPluginParam", ""},
    {Top, "TaskProlog", ""}, {Top, "TmpFS", ""},
    {Top, "TreeWidth", ""},
    {Top, "UnkillableStepProgram", ""}, {Top, "UnkillableStepTimeout", ""}, {Top, "UrlParserType", ""},
    {Top, "UsePAM", "no|0"}, {Top, "VSizeFactor", "0"}, {Top, "WaitTime", "0"}, {Top, "X11Parameters", ""},

    {Partition, "CpuBind", ""}, {Partition, "DefCPUPerGPU", ""}, {Partition, "DefMemPerGPU", ""}, {Partition, "DisableRootJobs", "no|0"},
    {Partition, "ExclusiveTopo", "no|0"},
    {Partition, "OverTimeLimit", ""}, {Partition, "PowerDownOnIdle", "no|0"}, {Partition, "ReqResv", "no|0"},
    {Partition, "ResumeTimeout", ""}, {Partition, "SelectTypeParameters", "NONE"}, {Partition, "SuspendTime", "-1|INFINITE"},
    {Partition, "SuspendTimeout", ""}, {Partition, "Topology", ""},

    {Node, "BcastAddr", ""}, {Node, "CpuBind", ""}, {Node, "GresConf", ""},
    {Node, "Parameters", ""}, {Node, "RestrictedCoresPerGPU", "0"}, {Node, "Topology", ""},
    {Node, "TRESWeights", ""},
};
// clang-format on

}  // namespace

std::span<const SlurmName> slurm_names() {
  return kNames;
}

const SlurmName* find_slurm_name(Scope scope, std::string_view name) {
  for (const SlurmName& known : kNames)
    if (known.scope == scope && text::equal_ignoring_case(known.name, name)) return &known;
  return nullptr;
}

}  // namespace spur::config
