// SPDX-License-Identifier: Apache-2.0
// The gRPC server of spurdbd: its services on a unix socket and on TCP.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace spur::acct {

class Server {
 public:
  // Addresses: "unix:/path" or "host:port" (port 0: any; see port()). A port in use is an error that names it.
  static Result<std::unique_ptr<Server>> start(const std::vector<std::string>& addresses,
                                               const std::vector<grpc::Service*>& services);
  ~Server();
  // Stops taking calls; open ones get `grace` to end.
  void stop(Duration grace);
  int port() const { return port_; }  // of the first TCP address

 private:
  Server() = default;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace spur::acct
