// SPDX-License-Identifier: Apache-2.0
// Credentials as proto/spur/v1/credential.proto writes them, signed with Ed25519. The signature covers a fixed prefix
// and the payload's bytes as they were sent, so a signature made for anything else is never one of these.
//
// A verifier knows a set of keys and what each may attest. Everything is refused that is not: signed by a key of the
// set, for this cluster, for this audience, in its time (short, not in the future but for a little skew), of a kind
// this verifier takes and this key may attest. Results are kept until they expire, so a repeat costs a look-up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/credentials.h"
#include "os/ed25519.h"

namespace spur::v1 {
class Credential;
}

namespace spur::os {

class HostCredentialSigner final : public io::CredentialSigner {
 public:
  HostCredentialSigner(Ed25519Key key, std::string cluster, std::string host)
      : key_(std::move(key)), cluster_(std::move(cluster)), host_(std::move(host)) {}

  Result<std::string> sign(const io::CredentialClaims& claims, Time now) override;
  const std::string& public_key() const { return key_.public_key(); }

 private:
  const Ed25519Key key_;
  const std::string cluster_, host_;
};

// What a key may attest. Nothing, unless said.
struct Trust {
  bool any_user = false;      // a login host or the controller's host: every user it names
  bool step_tickets = false;  // the controller
  // A compute node: itself and, where the verifier's user_on_node says so, users other than root.
  std::string node;
  friend bool operator==(const Trust&, const Trust&) = default;
};

class TrustedKeyVerifier final : public io::CredentialVerifier {
 public:
  struct Options {
    std::string cluster;
    std::string audience;                     // "controller" or "node:<name>"
    std::vector<io::CredentialKind> accepts;  // an agent takes step tickets, a controller users and nodes
    // May the key of this node attest this user (has he a job there)? Asked each time, on the caller's thread, never
    // under a lock. Empty: never.
    std::function<bool(const std::string& node, Uid uid)> user_on_node;
    seconds skew{5};  // how far the signer's clock may be ahead
    std::size_t cache_entries = 8192;
  };
  explicit TrustedKeyVerifier(Options options) : options_(std::move(options)) {}

  Result<io::Verified> verify(std::string_view credential_bytes, Time now) override;

  // A key keeps only its last trust. All take effect for every verify() that starts afterwards.
  void trust(const std::string& public_key, Trust trust);
  // This key and no other speaks for this node from now on: an earlier key of the node is forgotten. False, and
  // nothing changes, if the key is trusted with anything else already: nodes name their own keys when they enrol, and
  // must not be able to take over, or take down, the key of the controller or of another node by naming that.
  bool trust_node(const std::string& public_key, const std::string& node);
  void distrust(const std::string& public_key);
  void replace_all(std::map<std::string, Trust> keys);

 private:
  struct Known {
    io::Verified verified;
    Time issued;
  };
  std::optional<Known> recall(const std::string& name);
  std::optional<Trust> trust_of(const std::string& public_key, std::uint64_t& generation);
  // All that does not depend on the time of day or on running jobs.
  Result<Known> check(const v1::Credential& credential, std::uint64_t& generation);
  Status check_times(const Known& known, Time now) const;
  Status check_user_policy(const io::Verified& verified) const;
  void remember(const std::string& name, const Known& known, std::uint64_t generation);
  void changed();

  const Options options_;
  std::shared_mutex mutex_;
  std::map<std::string, Trust> keys_;
  std::uint64_t generation_ = 0;  // of keys_; a result found under an older one is not kept
  std::unordered_map<std::string, Known> cache_;
  std::deque<const std::string*> oldest_;  // keys of cache_, in order of arrival
};

}  // namespace spur::os
