// SPDX-License-Identifier: Apache-2.0
// The door to identity: who signs that a caller is who he is, and who believes it. Real: os/credentials.h (Ed25519
// keys).
//
// A credential names one user, node or step, is good for one audience ("controller", or "node:<name>") of one cluster
// and for a short time. What a key may attest is the verifier's knowledge, never the credential's claim.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"

namespace spur::io {

enum class CredentialKind : std::uint8_t {
  User,        // a person's process: uid and gid, as the kernel of `host` gave them
  Node,        // the agent of `node`
  StepTicket,  // the controller lets `uid` run steps in (job, epoch)
};

inline constexpr seconds kUserCredentialLifetime{60};
inline constexpr seconds kStepTicketLifetime{600};

// What is to be attested.
struct CredentialClaims {
  CredentialKind kind = CredentialKind::User;
  Uid uid{0xffffffffu};
  Gid gid{0xffffffffu};
  std::string node;  // of kind Node
  std::string audience;
  JobId job;  // of kind StepTicket, as the next
  Epoch epoch;
};

// What was attested, by a key trusted to do so.
struct Verified {
  CredentialKind kind = CredentialKind::User;
  Uid uid{0xffffffffu};
  Gid gid{0xffffffffu};
  std::string host;  // that signed, as it calls itself
  // Kind Node: the node it speaks for. Kind User: empty, or the compute node whose key attested the user; such a user
  // has a job there, but must never be taken for an administrator (the key lies on a machine that runs users'
  // programs).
  std::string node;
  std::string audience;
  JobId job;
  Epoch epoch;
  std::string public_key;  // raw 32 bytes
  Time expires;
  friend bool operator==(const Verified&, const Verified&) = default;
};

// Both may be used by many threads at once.
class CredentialSigner {
 public:
  virtual ~CredentialSigner() = default;
  // The credential's bytes, issued at `now`.
  virtual Result<std::string> sign(const CredentialClaims& claims, Time now) = 0;
};

class CredentialVerifier {
 public:
  virtual ~CredentialVerifier() = default;
  // Unauthenticated for whatever does not hold; the message says why.
  virtual Result<Verified> verify(std::string_view credential_bytes, Time now) = 0;
};

}  // namespace spur::io
