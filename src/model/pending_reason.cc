// SPDX-License-Identifier: Apache-2.0
// One row per Reason, in the enum's order, spelled as squeue prints it in %r.
#include "model/pending_reason.h"

#include <array>

#include "text/words.h"

namespace spur::model {
namespace {

constexpr std::array<std::string_view, 56> kNames{
    "None",
    "Priority",
    "Dependency",
    "Resources",
    "PartitionNodeLimit",
    "PartitionTimeLimit",
    "PartitionDown",
    "PartitionInactive",
    "JobHeldAdmin",
    "JobHeldUser",
    "BeginTime",
    "Licenses",
    "ReqNodeNotAvail",
    "ReservationDeleted",
    "Reservation",
    "BadConstraints",
    "DependencyNeverSatisfied",
    "JobArrayTaskLimit",
    "NodeDown",
    "PartitionConfig",
    "JobLaunchFailure",
    "JobHoldMaxRequeue",
    "NonZeroExitCode",
    "TimeLimit",
    "SystemFailure",
    "OutOfMemory",
    "InvalidAccount",
    "InvalidQOS",
    "launch_failed_requeued_held",
    "RaisedSignal",
    "DeadLine",
    "Cleaning",
    "Prolog",
    "RequeuedInQueue",
    "AccountNotAllowed",
    "QOSNotAllowed",
    "Preempted",
    "AccountingPolicy",
    "AssocGrpJobsLimit",
    "AssocGrpSubmitJobsLimit",
    "AssocGrpWallLimit",
    "AssocMaxJobsLimit",
    "AssocMaxSubmitJobLimit",
    "AssocMaxWallDurationPerJobLimit",
    "QOSGrpJobsLimit",
    "QOSGrpSubmitJobsLimit",
    "QOSGrpWallLimit",
    "QOSMaxJobsPerUserLimit",
    "QOSMaxSubmitJobPerUserLimit",
    "QOSMaxWallDurationPerJobLimit",
    "MaxJobsPerAccount",
    "MaxSubmitJobsPerAccount",
    "QOSUsageThreshold",
    "QOSJobLimit",
    "AssociationJobLimit",
    "InactiveLimit",
};
static_assert(kNames.size() == static_cast<std::size_t>(Reason::InactiveLimit) + 1);

// Limits on amounts, as irregular as Slurm spells them. A row per LimitOn, a column per TresKind.
constexpr std::string_view kTresLimits[15][9] = {
    {"AssocGrpCpuLimit", "AssocGrpMemLimit", "AssocGrpNodeLimit", "AssocGrpEnergy", "AssocGrpGRES", "AssocGrpLicense",
     "AssocGrpBB", "AssocGrpBilling", "AssocGrpUnknown"},
    {"AssocGrpCPUMinutesLimit", "AssocGrpMemMinutes", "AssocGrpNodeMinutes", "AssocGrpEnergyMinutes",
     "AssocGrpGRESMinutes", "AssocGrpLicenseMinutes", "AssocGrpBBMinutes", "AssocGrpBillingMinutes",
     "AssocGrpUnknownMinutes"},
    {"AssocGrpCPURunMinutesLimit", "AssocGrpMemRunMinutes", "AssocGrpNodeRunMinutes", "AssocGrpEnergyRunMinutes",
     "AssocGrpGRESRunMinutes", "AssocGrpLicenseRunMinutes", "AssocGrpBBRunMinutes", "AssocGrpBillingRunMinutes",
     "AssocGrpUnknownRunMinutes"},
    {"AssocMaxCpuPerJobLimit", "AssocMaxMemPerJob", "AssocMaxNodePerJobLimit", "AssocMaxEnergyPerJob",
     "AssocMaxGRESPerJob", "AssocMaxLicensePerJob", "AssocMaxBBPerJob", "AssocMaxBillingPerJob",
     "AssocMaxUnknownPerJob"},
    {"AssocMaxCpuPerNode", "AssocMaxMemPerNode", "AssocMaxUnknownPerNode", "AssocMaxEnergyPerNode",
     "AssocMaxGRESPerNode", "AssocMaxUnknownPerNode", "AssocMaxBBPerNode", "AssocMaxBillingPerNode",
     "AssocMaxUnknownPerNode"},
    {"AssocMaxCpuMinutesPerJobLimit", "AssocMaxMemMinutesPerJob", "AssocMaxNodeMinutesPerJob",
     "AssocMaxEnergyMinutesPerJob", "AssocMaxGRESMinutesPerJob", "AssocMaxLicenseMinutesPerJob",
     "AssocMaxBBMinutesPerJob", "AssocMaxBillingMinutesPerJob", "AssocMaxUnknownMinutesPerJob"},
    {"QOSGrpCpuLimit", "QOSGrpMemLimit", "QOSGrpNodeLimit", "QOSGrpEnergy", "QOSGrpGRES", "QOSGrpLicense", "QOSGrpBB",
     "QOSGrpBilling", "QOSGrpUnknown"},
    {"QOSGrpCPUMinutesLimit", "QOSGrpMemoryMinutes", "QOSGrpNodeMinutes", "QOSGrpEnergyMinutes", "QOSGrpGRESMinutes",
     "QOSGrpLicenseMinutes", "QOSGrpBBMinutes", "QOSGrpBillingMinutes", "QOSGrpUnknownMinutes"},
    {"QOSGrpCPURunMinutesLimit", "QOSGrpMemoryRunMinutes", "QOSGrpNodeRunMinutes", "QOSGrpEnergyRunMinutes",
     "QOSGrpGRESRunMinutes", "QOSGrpLicenseRunMinutes", "QOSGrpBBRunMinutes", "QOSGrpBillingRunMinutes",
     "QOSGrpUnknownRunMinutes"},
    {"QOSMaxCpuPerJobLimit", "QOSMaxMemoryPerJob", "QOSMaxNodePerJobLimit", "QOSMaxEnergyPerJob", "QOSMaxGRESPerJob",
     "QOSMaxLicensePerJob", "QOSMaxBBPerJob", "QOSMaxBillingPerJob", "QOSMaxUnknownPerJob"},
    {"QOSMaxCpuPerNode", "QOSMaxMemoryPerNode", "QOSMaxUnknownPerNode", "QOSMaxEnergyPerNode", "QOSMaxGRESPerNode",
     "QOSMaxUnknownPerNode", "QOSMaxBBPerNode", "QOSMaxBillingPerNode", "QOSMaxUnknownPerNode"},
    {"QOSMaxCpuPerUserLimit", "QOSMaxMemoryPerUser", "QOSMaxNodePerUserLimit", "QOSMaxEnergyPerUser",
     "QOSMaxGRESPerUser", "QOSMaxLicensePerUser", "QOSMaxBBPerUser", "QOSMaxBillingPerUser", "QOSMaxUnknownPerUser"},
    {"MaxCpuPerAccount", "MaxMemoryPerAccount", "MaxNodePerAccount", "MaxEnergyPerAccount", "MaxGRESPerAccount",
     "MaxLicensePerAccount", "MaxBBPerAccount", "MaxBillingPerAccount", "MaxUnknownPerAccount"},
    {"QOSMaxCpuMinutesPerJobLimit", "QOSMaxMemoryMinutesPerJob", "QOSMaxNodeMinutesPerJob",
     "QOSMaxEnergyMinutesPerJob", "QOSMaxGRESMinutesPerJob", "QOSMaxLicenseMinutesPerJob", "QOSMaxBBMinutesPerJob",
     "QOSMaxBillingMinutesPerJob", "QOSMaxUnknownMinutesPerJob"},
    {"QOSMinCpuNotSatisfied", "QOSMinMemory", "QOSMinNode", "QOSMinEnergy", "QOSMinGRES", "QOSMinLicense", "QOSMinBB",
     "QOSMinBilling", "QOSMinUnknown"},
};
static_assert(tres_reason(LimitOn::QosMin, TresKind::Other) == Reason::LastTresLimit);

}  // namespace

TresKind tres_kind(std::string_view tres) {
  if (tres == "cpu") return TresKind::Cpu;
  if (tres == "mem") return TresKind::Memory;
  if (tres == "node") return TresKind::Node;
  if (tres == "energy") return TresKind::Energy;
  if (tres == "billing") return TresKind::Billing;
  if (tres.starts_with("gres/")) return TresKind::Gres;
  if (tres.starts_with("license/")) return TresKind::License;
  if (tres.starts_with("bb/")) return TresKind::BurstBuffer;
  return TresKind::Other;
}

std::string_view reason_name(Reason reason) {
  if (reason >= Reason::FirstTresLimit && reason <= Reason::LastTresLimit) {
    const auto nth = static_cast<std::size_t>(reason) - static_cast<std::size_t>(Reason::FirstTresLimit);
    return kTresLimits[nth / 9][nth % 9];
  }
  const auto at = static_cast<std::size_t>(reason);
  return at < kNames.size() ? kNames[at] : kNames[0];
}

bool parse_reason(std::string_view word, Reason* out) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (!text::equal_ignoring_case(word, kNames[i])) continue;
    *out = static_cast<Reason>(i);
    return true;
  }
  constexpr auto kFirst = static_cast<std::size_t>(Reason::FirstTresLimit);
  for (std::size_t i = kFirst; i <= static_cast<std::size_t>(Reason::LastTresLimit); ++i) {
    if (!text::equal_ignoring_case(word, reason_name(static_cast<Reason>(i)))) continue;
    *out = static_cast<Reason>(i);
    return true;
  }
  return false;
}

}  // namespace spur::model
