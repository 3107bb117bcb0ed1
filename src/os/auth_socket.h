// SPDX-License-Identifier: Apache-2.0
// The local socket where a command gets its credential: the kernel says who connects, this host's key signs it. A
// CredentialRequest in, a Credential out (its `error` set where none is given), framed as local_socket.h says. The
// client's side is in wire/.
//
// A uid that the kernel could not map (65534, "nobody") stands for anybody and is never attested.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "io/clock.h"
#include "io/credentials.h"
#include "os/local_socket.h"

namespace spur::os {

class AuthSocket {
 public:
  struct Options {
    std::string path;
    // May this host attest this user? Called on the socket's thread. Empty: every user. A compute node says yes only
    // to users with a job on it.
    std::function<bool(Uid)> may_attest;
    std::size_t max_connections = 512, max_connections_per_user = 128;
    Duration time_limit{seconds(1)};  // for the request to come, and for the reply to be taken
  };

  // As LocalSocket::open; `signer` and `clock` must outlive this.
  static Result<std::unique_ptr<AuthSocket>> open(Options options, io::CredentialSigner& signer, io::Clock& clock);

 private:
  AuthSocket(Options options, io::CredentialSigner& signer, io::Clock& clock)
      : options_(std::move(options)), signer_(signer), clock_(clock) {}
  Result<std::string> credential_for(const LocalSocket::Peer& peer, const std::string& request);

  const Options options_;
  io::CredentialSigner& signer_;
  io::Clock& clock_;
  std::unique_ptr<LocalSocket> socket_;  // last: its threads use the rest
};

}  // namespace spur::os
