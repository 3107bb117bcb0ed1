// SPDX-License-Identifier: Apache-2.0
// From the credential in a call's metadata to a Caller. Nothing else in a request says who is calling.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/clock.h"
#include "io/credentials.h"
#include "model/caller.h"
#include "model/view.h"

namespace spur::ctld {

class Identify {
 public:
  struct Options {
    Uid daemon_uid;                    // SlurmUser: the user spurctld runs as is an administrator
    Uid unknown_uid = kNobodyUid;      // what the kernel shows for users it cannot name here
    std::string host = {};             // this one's name
    std::string join_token;            // lets a node that is not known yet enrol its key; empty: no such way
    // A key that was vouched for: from now on it, and no other, speaks for that node. False: it cannot (it is another's key).
    std::function<bool(const std::string& node, const std::string& public_key)> enrol;
  };
  Identify(io::Clock& clock, io::CredentialVerifier& verifier, Options options);

  // A user, from `spur-credential-bin`. Anonymous when there is none; an error when there is one and it is bad.
  Result<model::Caller> user(std::string_view credential, const model::View& view) const;
  // A user of this host, of whom the kernel said so. Unauthenticated for a uid that stands for anybody.
  Result<model::Caller> local(Uid uid, Gid gid, const model::View& view) const;
  // An agent that wants to speak for `node` and shows `public_key`: it holds that node's enrolled key, or an administrator
  // of this host vouches for it, or it has the join token.
  Result<model::Caller> agent(std::string_view credential, std::string_view join_token, const std::string& node,
                              const std::string& public_key, const model::View& view) const;

 private:
  bool is_admin(Uid uid, const model::View& view) const;
  io::Clock& clock_;
  io::CredentialVerifier& verifier_;
  Options options_;
};

}  // namespace spur::ctld
