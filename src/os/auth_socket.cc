// SPDX-License-Identifier: Apache-2.0
#include "os/auth_socket.h"

#include <fmt/format.h>

#include "spur/v1/credential.pb.h"
#include "wire/envelope.h"

namespace spur::os {

Result<std::unique_ptr<AuthSocket>> AuthSocket::open(Options options, io::CredentialSigner& signer,
                                                     io::Clock& clock) {
  std::unique_ptr<AuthSocket> auth(new AuthSocket(std::move(options), signer, clock));
  const Options& given = auth->options_;
  SPUR_ASSIGN(auth->socket_, LocalSocket::open(
                                 {.path = given.path,
                                  .max_connections = given.max_connections,
                                  .max_connections_per_user = given.max_connections_per_user,
                                  .request_limit = given.time_limit,
                                  .stall_limit = given.time_limit},
                                 [self = auth.get()](const std::string& request, const auto& line) {
                                   Result<std::string> bytes = self->credential_for(line->peer(), request);
                                   if (!bytes) {
                                     v1::Credential refusal;
                                     refusal.set_error(bytes.error().message);
                                     bytes = refusal.SerializeAsString();
                                   }
                                   std::string framed(4, '\0');
                                   wire::put_u32(static_cast<std::uint32_t>(bytes->size()), framed.data());
                                   line->send(framed + *bytes);
                                   line->finish();
                                 },
                                 clock));
  return auth;
}

Result<std::string> AuthSocket::credential_for(const LocalSocket::Peer& peer, const std::string& request_bytes) {
  v1::CredentialRequest request;
  if (!request.ParseFromString(request_bytes)) return fail(ErrorCode::InvalidArgument, "the request is garbled");
  if (peer.uid == LocalSocket::unknown_uid())
    return fail(ErrorCode::InvalidUser,
                fmt::format("uid {} stands for unknown users and gets no credential", peer.uid.value));
  if (options_.may_attest && !options_.may_attest(peer.uid))
    return fail(ErrorCode::PermissionDenied,
                fmt::format("this host gives uid {} no credential, because it has no job here", peer.uid.value));
  io::CredentialClaims claims;
  claims.uid = peer.uid;
  claims.gid = peer.gid;
  claims.audience = request.audience();
  return signer_.sign(claims, clock_.now());
}

}  // namespace spur::os
