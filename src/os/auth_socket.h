// SPDX-License-Identifier: Apache-2.0
// The local socket where a command gets its credential: the kernel says who connects (SO_PEERCRED), this host's key
// signs it. One thread, one request per connection: four bytes of length (little-endian) and a CredentialRequest in,
// four bytes and a Credential out (its `error` set where none is given), then it is closed. The client's side is in
// wire/.
//
// Whoever connects can cost at most one place for at most the time limit, and one user at most his share of the
// places. A uid that the kernel could not map (65534, "nobody") stands for anybody and is never attested.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>

#include "base/ids.h"
#include "base/result.h"
#include "io/clock.h"
#include "io/credentials.h"
#include "os/unique_fd.h"

namespace spur::os {

class AuthSocket {
 public:
  struct Options {
    std::string path;
    // May this host attest this user? Called on the socket's thread. Empty: every user. A compute node says yes only
    // to users with a job on it.
    std::function<bool(Uid)> may_attest;
    std::size_t max_connections = 512, max_connections_per_user = 128;
    std::size_t max_request_bytes = 1024;
    Duration time_limit{seconds(1)};  // from connecting to the end of the reply
  };

  // The directory must belong to this process's user and be writable by nobody else; it is created (0755) if missing.
  // A socket that nobody serves any more is replaced; one that is served is Busy. `signer` and `clock` must outlive
  // this.
  static Result<std::unique_ptr<AuthSocket>> open(Options options, io::CredentialSigner& signer, io::Clock& clock);
  // Ends the thread and removes the socket.
  ~AuthSocket();
  AuthSocket(const AuthSocket&) = delete;
  AuthSocket& operator=(const AuthSocket&) = delete;

 private:
  struct Connection {
    UniqueFd fd;
    Uid uid;
    Gid gid;
    Duration deadline{0};
    std::string in, out;
    std::size_t sent = 0;
    bool answered = false;
  };
  AuthSocket(Options options, io::CredentialSigner& signer, io::Clock& clock)
      : options_(std::move(options)), signer_(signer), clock_(clock) {}
  Status listen_on_path();
  void run();
  void accept_some();
  void admit(UniqueFd fd);
  void set_accepting(bool accepting);
  bool progress(Connection& connection);  // false: finished, close it
  bool read_request(Connection& connection);
  bool write_reply(Connection& connection);
  void answer(Connection& connection, std::string_view request);
  Result<std::string> credential_for(const Connection& connection, std::string_view request);
  void close_connection(int fd);
  void close_late();
  int wait_milliseconds() const;

  const Options options_;
  io::CredentialSigner& signer_;
  io::Clock& clock_;
  UniqueFd lock_, listener_, epoll_, stop_;
  bool bound_ = false, accepting_ = true;
  Duration paused_until_{0};  // after the process ran out of descriptors
  std::unordered_map<int, Connection> connections_;
  std::unordered_map<Uid, std::size_t> per_user_;
  std::thread thread_;
};

}  // namespace spur::os
