// SPDX-License-Identifier: Apache-2.0
#include "acct/authorization.h"

#include <algorithm>
#include <array>

namespace spur::acct {
namespace {

constexpr std::array kTable = {
    Row{"Ping", Rule::Anybody},
    Row{"Attach", Rule::Controller},
    Row{"QueryJobs", Rule::Authenticated},
    Row{"QueryEvents", Rule::Authenticated},
    Row{"QueryUsage", Rule::Authenticated},
    Row{"QueryReservations", Rule::Authenticated},
    Row{"EditJobs", Rule::Admin},
    Row{"Archive", Rule::Admin},
    Row{"GetStatistics", Rule::Admin},
    Row{"Reconfigure", Rule::Admin},
    Row{"Shutdown", Rule::Admin},
    Row{"GetAccounts", Rule::Authenticated},
    Row{"ChangeAccounts", Rule::Authenticated},  // the catalogue decides: operators, coordinators (catalog_rights.cc)
    Row{"GetTransactions", Rule::Authenticated},
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
      if (caller.role == model::Role::User || caller.role == model::Role::Admin) return {};
      break;
    case Rule::Admin:
    case Rule::Controller:
      if (caller.role == model::Role::Admin) return {};
      break;
  }
  return fail(ErrorCode::PermissionDenied, "Access/permission denied");
}

Result<model::Caller> Identify::user(std::string_view credential) const {
  model::Caller caller;
  if (credential.empty()) return caller;
  SPUR_ASSIGN(const auto verified, verifier_.verify(credential, clock_.now()));
  if (verified.kind != io::CredentialKind::User)
    return fail(ErrorCode::Unauthenticated, "this credential does not speak for a user");
  caller.uid = verified.uid;
  caller.gid = verified.gid;
  caller.host = verified.host;
  caller.node = verified.node;
  const auto& admins = options_.admin_uids;
  const bool named = verified.uid == kRootUid || verified.uid == options_.daemon_uid ||
                     std::find(admins.begin(), admins.end(), verified.uid.value) != admins.end();
  // A compute node's word makes nobody an administrator: users' programs run beside its key.
  caller.role = named && verified.node.empty() ? model::Role::Admin : model::Role::User;
  return caller;
}

}  // namespace spur::acct
