// SPDX-License-Identifier: Apache-2.0
#include "ctld/authorization.h"

#include <algorithm>
#include <array>

namespace spur::ctld {
namespace {

constexpr std::array kTable = {
    Row{"Ping", Rule::Anybody, Where::Any},
    Row{"SubmitJob", Rule::Authenticated},
    Row{"WillRun", Rule::Authenticated},
    Row{"ExplainJob", Rule::Authenticated, Where::Current},
    Row{"ListJobs", Rule::Authenticated, Where::Current},
    Row{"GetCluster", Rule::Authenticated, Where::Current},
    Row{"GetConfig", Rule::Authenticated, Where::Current},
    Row{"WaitJob", Rule::Authenticated},
    // As ListJobs; of the leader, which hears of everything first.
    Row{"WatchJobs", Rule::Authenticated},
    Row{"CancelJob", Rule::OwnerOrAdmin},
    Row{"CancelJobs", Rule::OwnerOrAdmin},
    Row{"HoldJob", Rule::OwnerOrAdmin},
    Row{"ReleaseJob", Rule::OwnerOrAdmin},
    Row{"RequeueJob", Rule::OwnerOrAdmin},
    Row{"SuspendJob", Rule::Admin},
    Row{"UpdateJob", Rule::OwnerOrAdmin},
    Row{"CompleteAllocation", Rule::OwnerOrAdmin},
    Row{"NotifyJob", Rule::OwnerOrAdmin},
    Row{"StepTicket", Rule::OwnerOrAdmin},
    Row{"UpdateNode", Rule::Admin},
    Row{"CreateNodes", Rule::Admin},
    Row{"DeleteNodes", Rule::Admin},
    Row{"GetReservations", Rule::Authenticated, Where::Current},
    Row{"GetPriorities", Rule::Authenticated, Where::Current},
    Row{"GetShares", Rule::Authenticated, Where::Current},
    Row{"GetAccountBook", Rule::Authenticated, Where::Current},
    // Of himself, or as an administrator of anybody; the call looks.
    Row{"GetToken", Rule::OwnerOrAdmin, Where::Any},
    // Its users may delete one that says so; the controller looks.
    Row{"CreateReservation", Rule::Admin},
    Row{"UpdateReservation", Rule::Admin},
    Row{"DeleteReservation", Rule::Authenticated},
    Row{"UpdatePartition", Rule::Admin},
    Row{"Reconfigure", Rule::Admin},
    Row{"Shutdown", Rule::Admin, Where::Any},
    Row{"Takeover", Rule::Admin},
    Row{"FetchSnapshot", Rule::Admin, Where::Any},
    Row{"FetchOutbox", Rule::Admin, Where::Any},
    // Users, and whoever has the join token; the service looks.
    Row{"FetchConfig", Rule::Anybody, Where::Any},
    // Anybody may look; the call refuses a reset to others than administrators.
    Row{"GetStatistics", Rule::Authenticated, Where::Any},
    Row{"SetDebug", Rule::Admin, Where::Any},
    Row{"ResetUsage", Rule::Admin},
    Row{"TopJobs", Rule::OwnerOrAdmin},
    // His own, or as an administrator anybody's; the controller looks.
    Row{"SetCrontab", Rule::OwnerOrAdmin},
    Row{"GetCrontab", Rule::OwnerOrAdmin},
    Row{"RemoveCrontab", Rule::OwnerOrAdmin},
    Row{"CronJobs", Rule::Authenticated, Where::Any},
    Row{"SetTrigger", Rule::OwnerOrAdmin},
    Row{"ClearTriggers", Rule::OwnerOrAdmin},
    Row{"GetTriggers", Rule::Authenticated, Where::Any},
    // Also of jobs that the controller has forgotten; the call looks who the owner was.
    Row{"JobEvents", Rule::OwnerOrAdmin, Where::Current},
    // A new controller asks it before it has a key.
    Row{"ListControllers", Rule::Anybody, Where::Any},
    Row{"AddController", Rule::Admin},
    Row{"RemoveController", Rule::Admin},
    Row{"Connect", Rule::Node},
    Row{"Join", Rule::Node},
};

}  // namespace

std::span<const Row> authorization_table() {
  return kTable;
}

Status authorize(std::string_view method, const model::Caller& caller) {
  const auto row = std::find_if(kTable.begin(), kTable.end(), [&](const Row& r) { return r.method == method; });
  if (row == kTable.end()) return fail(ErrorCode::PermissionDenied, "this call is not in the authorization table");
  if (row->rule != Rule::Anybody && caller.role == model::Role::Anonymous)
    return fail(ErrorCode::Unauthenticated, "no valid credential was presented");
  switch (row->rule) {
    case Rule::Anybody:
      return {};
    case Rule::Authenticated:
    case Rule::OwnerOrAdmin:
      if (caller.role == model::Role::User || caller.role == model::Role::Admin) return {};
      break;
    case Rule::Admin:
      if (caller.role == model::Role::Admin) return {};
      break;
    case Rule::Node:
      if (caller.role == model::Role::NodeAgent) return {};
      break;
  }
  return fail(ErrorCode::PermissionDenied, "Access/permission denied");
}

Where answered_by(std::string_view method) {
  const auto row = std::find_if(kTable.begin(), kTable.end(), [&](const Row& r) { return r.method == method; });
  return row == kTable.end() ? Where::Leader : row->where;
}

bool may_touch(const model::Caller& caller, const model::Job& job) {
  if (caller.role == model::Role::Admin) return true;
  return caller.role == model::Role::User && caller.uid == job.spec->uid;
}

}  // namespace spur::ctld
