// SPDX-License-Identifier: Apache-2.0
#include "config/slurm_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/slurm_lines.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::config {

namespace {

constexpr SlurmFile kFiles[] = {
    {"acct_gather.conf", "energy, networks and file systems are not measured, and no profiles are written",
     "EnergyIPMIFrequency EnergyIPMICalcAdjustment EnergyIPMIPowerSensors EnergyIPMIUsername EnergyIPMIPassword "
     "EnergyIPMITimeout EnergyIPMIVariable EnergyXCCFrequency EnergyXCCUsername EnergyXCCPassword EnergyXCCTimeout "
     "ProfileHDF5Dir ProfileHDF5Default ProfileInfluxDBDatabase ProfileInfluxDBDefault ProfileInfluxDBExtraTags "
     "ProfileInfluxDBFrequency ProfileInfluxDBFlags ProfileInfluxDBHost ProfileInfluxDBPass ProfileInfluxDBRTPolicy "
     "ProfileInfluxDBTimeout ProfileInfluxDBUser InfinibandOFEDPort SysfsInterfaces"},
    {"burst_buffer.conf", "no burst buffers",
     "AllowUsers AltPool CreateBuffer DefaultPool DenyUsers DestroyBuffer Directive Flags GetSysState GetSysStatus "
     "Granularity OtherTimeout PollInterval Pools StageInTimeout StageOutTimeout StartStageIn StartStageOut StopStageIn "
     "StopStageOut ValidateTimeout"},
    {"cli_filter.lua", "no filters in commands", ""},
    {"helpers.conf", "features of nodes change by scontrol only",
     "Feature Helper Flags AllowUserBoot BootTime ExecTime MutuallyExclusive NodeName"},
    {"job_container.conf", "jobs get no file systems of their own",
     "AutoBasePath BasePath CloneNSScript CloneNSEpilog CloneNSScript_Wait CloneNSEpilog_Wait Dirs EntireStepInNS "
     "InitScript NodeName Shared"},
    {"namespace.yaml", "jobs get no file systems of their own", ""},
    {"job_submit.lua", "submissions are not edited by scripts", ""},
    {"knl_generic.conf", "features of nodes change by scontrol only",
     "AllowMCDRAM AllowNUMA AllowUserBoot BootTime DefaultMCDRAM DefaultNUMA Force LogFile McPath SyscfgPath "
     "SyscfgTimeout SystemType UmeCheckInterval"},
    {"mpi.conf", "PMIx is set up in one way",
     "PMIxCliTmpDirBase PMIxCollFence PMIxDebug PMIxDirectConn PMIxDirectConnEarly PMIxDirectConnUCX "
     "PMIxDirectSameArch PMIxEnv PMIxFenceBarrier PMIxNetDevicesUCX PMIxShareServerTopology PMIxTimeout PMIxTlsUCX"},
    {"oci.conf", "containers are run by Spur itself, without a runtime of the site",
     "ContainerPath CreateEnvFile DebugFlags DisableCleanup DisableHooks EnvExclude FileDebug IgnoreFileConfigJson "
     "MountSpoolDir RunTimeCreate RunTimeDelete RunTimeEnvExclude RunTimeKill RunTimeQuery RunTimeRun RunTimeStart "
     "SrunArgs SrunPath StdIODebug SyslogDebug"},
    {"plugstack.conf", "no SPANK plugins", ""},
    {"resources.yaml", "hierarchical resources are not counted", ""},
    {"scrun.lua", "no scrun", ""},
};

const SlurmFile* find_file(std::string_view name) {
  const auto found = std::ranges::find(kFiles, name, &SlurmFile::name);
  return found == std::end(kFiles) ? nullptr : found;
}

bool has_word(std::string_view words, std::string_view word) {
  return std::ranges::any_of(text::split(words, ' '),
                             [&](std::string_view known) { return text::equal_ignoring_case(known, word); });
}

}  // namespace

std::span<const SlurmFile> slurm_files() {
  return kFiles;
}

bool is_slurm_file(std::string_view name) {
  return find_file(name) != nullptr;
}

void keep_slurm_file(Draft& draft, const std::string& name, std::string text, Position at) {
  const SlurmFile* file = find_file(name);
  std::vector<std::string> known, unknown;
  if (!file->keys.empty())
    for (const SlurmLine& line : slurm_lines(text)) {
      const auto pairs = slurm_pairs(line.text);
      if (!pairs) {
        if (included_file(line.text).empty()) unknown.push_back(text::shown(text::trim(line.text), 40));
        continue;
      }
      for (const SlurmPair& pair : *pairs) {
        auto& list = has_word(file->keys, pair.key) ? known : unknown;
        if (std::ranges::find(list, pair.key) == list.end()) list.emplace_back(pair.key);
      }
    }
  // The place is the file itself, or a line of spur.conf.
  std::string what = fmt::format("{}not in force yet: {}", at.line == 0 ? std::string() : name + ": ", file->reason);
  if (!known.empty()) what += fmt::format("; it has {}", fmt::join(known, ", "));
  if (!unknown.empty()) what += fmt::format("; unknown there: {}", text::shown(fmt::format("{}", fmt::join(unknown, ", ")), 400));
  draft.warn(at, what);
  draft.siblings.emplace_back(name, std::move(text));
}

}  // namespace spur::config
