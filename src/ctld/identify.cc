// SPDX-License-Identifier: Apache-2.0
#include "ctld/identify.h"

#include <algorithm>
#include <utility>

#include "ctld/equal_secret.h"

namespace spur::ctld {

Identify::Identify(io::Clock& clock, io::CredentialVerifier& verifier, Options options)
    : clock_(clock), verifier_(verifier), options_(std::move(options)) {}

bool Identify::is_admin(Uid uid, const model::View& view) const {
  if (uid == kRootUid || uid == options_.daemon_uid) return true;
  const auto& admins = view.config->admin_uids;
  return std::find(admins.begin(), admins.end(), uid.value) != admins.end();
}

Result<model::Caller> Identify::user(std::string_view credential, const model::View& view) const {
  model::Caller caller;
  if (credential.empty()) return caller;
  SPUR_ASSIGN(const auto verified, verifier_.verify(credential, clock_.now()));
  if (verified.kind != io::CredentialKind::User)
    return fail(ErrorCode::Unauthenticated, "this credential does not speak for a user");
  caller.uid = verified.uid;
  caller.gid = verified.gid;
  caller.host = verified.host;
  // A compute node's word makes nobody an administrator: users' programs run beside its key.
  const bool admin = verified.node.empty() && is_admin(verified.uid, view);
  caller.role = admin ? model::Role::Admin : model::Role::User;
  return caller;
}

Result<model::Caller> Identify::local(Uid uid, Gid gid, const model::View& view) const {
  if (uid == options_.unknown_uid)
    return fail(ErrorCode::Unauthenticated, "uid " + std::to_string(uid.value) + " stands for unknown users and speaks for nobody");
  model::Caller caller;
  caller.uid = uid;
  caller.gid = gid;
  caller.host = options_.host;
  caller.role = is_admin(uid, view) ? model::Role::Admin : model::Role::User;
  return caller;
}

Result<model::Caller> Identify::agent(std::string_view credential, std::string_view join_token, const std::string& node,
                                      const std::string& public_key, const model::View& view) const {
  model::Caller caller;
  caller.role = model::Role::NodeAgent;
  caller.node = node;
  const auto vouched = [&]() -> Result<model::Caller> {
    if (!public_key.empty() && options_.enrol && !options_.enrol(node, public_key))
      return fail(ErrorCode::PermissionDenied, "the key that node " + node + " shows belongs to somebody else");
    return caller;
  };
  if (!join_token.empty() && !options_.join_token.empty() && equal_secret(join_token, options_.join_token)) return vouched();
  if (credential.empty()) return fail(ErrorCode::Unauthenticated, "no valid credential was presented");
  SPUR_ASSIGN(const auto verified, verifier_.verify(credential, clock_.now()));
  caller.host = verified.host;
  if (verified.kind == io::CredentialKind::User && verified.node.empty() && is_admin(verified.uid, view)) return vouched();
  if (verified.kind == io::CredentialKind::Node && verified.node == node && verified.public_key == public_key) {
    const auto* known = model::find_node(view, node);
    if (known && !known->public_key.empty() && known->public_key == public_key) return caller;
  }
  return fail(ErrorCode::PermissionDenied, "this host may not speak for node " + node);
}

}  // namespace spur::ctld
