// SPDX-License-Identifier: Apache-2.0
// The gRPC server of spurctld: both services on a unix socket and on TCP.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "ctld/agent_links.h"
#include "ctld/controller_service.h"

namespace grpc {
class Server;
class Service;
}

namespace spur::ctld {

class GrpcServer {
 public:
  // Addresses: "unix:/path" or "host:port" (port 0: any; see port()). A port in use is an error that names it.
  // `others`: further services.
  static Result<std::unique_ptr<GrpcServer>> start(const std::vector<std::string>& addresses, ControllerService& controller,
                                                   AgentLinks::Service& agents,
                                                   const std::vector<grpc::Service*>& others = {});
  ~GrpcServer();
  // Stops taking calls; open ones get `grace` to end.
  void stop(Duration grace);
  int port() const { return port_; }    // of the first TCP address

 private:
  GrpcServer() = default;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace spur::ctld
