// SPDX-License-Identifier: Apache-2.0
// A controller's own etcd member: started, watched, started again when it ends. It lives on when its controller dies,
// so that the others keep their majority, and the next controller on this host takes it over.
//
// Its clients are on a unix socket in a directory of the daemon's user alone, so nobody else can write to the
// journal. Members talk TLS to each other; os/etcd_certificates.h has whom they trust.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "os/unique_fd.h"

namespace spur::os {

class EtcdProcess {
 public:
  struct Peer {
    std::string name, address;  // host name or address
  };
  struct Options {
    std::string directory;  // made if it is missing
    std::string cluster, member;
    std::vector<Peer> peers;  // all members, this one too
    bool joins = false;       // the others are a cluster already, and know of this one
    std::uint16_t peer_port = 2380;
    Duration election{milliseconds(500)};  // silence of etcd's own leader after which another is elected
    std::string secret;  // shared by all members
    std::function<void(const std::string&)> log;
  };
  // NotFound: etcd is not installed. Does not wait until it serves.
  static Result<std::unique_ptr<EtcdProcess>> start(Options options);
  // Ends it.
  ~EtcdProcess();

  // Whether there are files of a member in the directory.
  static bool has_files(const std::string& directory);
  // How members call each other.
  static std::string peer_url(const std::string& address, std::uint16_t port);

  std::string endpoint() const { return "unix:" + options_.directory + "/etcd:1"; }

 private:
  explicit EtcdProcess(Options options) : options_(std::move(options)) {}
  std::vector<std::string> arguments() const;
  Status launch();
  bool adopt();
  void watch();
  // Waits until the disk has room, if it is full. False: told to stop.
  bool wait_for_room();

  Options options_;
  std::string program_;
  int pid_ = -1;
  UniqueFd pidfd_, stop_;
  std::thread watcher_;
};

}  // namespace spur::os
