// SPDX-License-Identifier: Apache-2.0
// Who may call what of spurdbd: one row per RPC, and none means: nobody. Who calls is known from the credential
// alone.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/clock.h"
#include "io/credentials.h"
#include "model/caller.h"

namespace spur::acct {

enum class Rule : std::uint8_t {
  Anybody,        // also without a credential: says that we are there
  Authenticated,  // any verified user; what he may see or change of others is decided by the call
  Admin,          // root, the daemon's own user, or an administrator of the configuration
  Controller,     // the daemon of a cluster: an administrator's credential of a host that we trust
};

struct Row {
  std::string_view method;  // "QueryJobs"
  Rule rule;
};

std::span<const Row> authorization_table();
Status authorize(std::string_view method, const model::Caller& caller);

// From the credential in a call's metadata to a Caller.
class Identify {
 public:
  struct Options {
    Uid daemon_uid;                         // the user spurdbd runs as
    std::vector<std::uint32_t> admin_uids;  // of the configuration
  };
  Identify(io::Clock& clock, io::CredentialVerifier& verifier, Options options)
      : clock_(clock), verifier_(verifier), options_(std::move(options)) {}
  // Anonymous when there is none; an error when there is one and it is bad.
  Result<model::Caller> user(std::string_view credential) const;

 private:
  io::Clock& clock_;
  io::CredentialVerifier& verifier_;
  const Options options_;
};

}  // namespace spur::acct
