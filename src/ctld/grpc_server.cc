// SPDX-License-Identifier: Apache-2.0
#include "ctld/grpc_server.h"

#include <absl/synchronization/mutex.h>
#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <chrono>
#include <deque>

namespace spur::ctld {
namespace {

constexpr int kMaxMessageBytes = 64 << 20;

}  // namespace

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(const std::vector<std::string>& addresses,
                                                      ControllerService& controller, AgentLinks::Service& agents,
                                                      const std::vector<grpc::Service*>& others) {
  // Its own lines on stderr say the same as our errors, at length and for its developers.
  gpr_set_log_verbosity(static_cast<gpr_log_severity>(GPR_LOG_SEVERITY_ERROR + 1));
  // Debian builds it so that each of its locks is entered into a graph, to find orders that could lock up. With one
  // stream per node that search is a good part of what a message costs.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  // Two servers on one port would each get half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1'000);
  std::deque<int> ports;
  for (const auto& address : addresses)
    if (address.starts_with("unix:") && address.size() - 5 >= sizeof(sockaddr_un::sun_path))
      return fail(ErrorCode::ConfigInvalid, fmt::format("{} is too long for the path of a socket ({} characters at most)",
                                                        address.substr(5), sizeof(sockaddr_un::sun_path) - 1));
  for (const auto& address : addresses)
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &ports.emplace_back(0));
  builder.RegisterService(&controller);
  builder.RegisterService(&agents);
  for (grpc::Service* other : others) builder.RegisterService(other);
  std::unique_ptr<GrpcServer> out(new GrpcServer());
  out->server_ = builder.BuildAndStart();
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    // Where one fails, those before it have their ports.
    if (ports[i] == 0 || (!out->server_ && i + 1 == addresses.size()))
      return fail(ErrorCode::Unreachable, fmt::format("cannot listen on {}: the address is in use or not ours", addresses[i]));
    if (addresses[i].starts_with("unix:")) {
      // Who may do what is decided by the credential of each call, not by the socket's mode.
      ::chmod(addresses[i].c_str() + 5, 0666);
    } else if (out->port_ == 0) {
      out->port_ = ports[i];
    }
  }
  return out;
}

GrpcServer::~GrpcServer() { stop(Duration{0}); }

void GrpcServer::stop(Duration grace) {
  if (!server_) return;
  server_->Shutdown(std::chrono::system_clock::now() + grace);
  server_->Wait();
  server_.reset();
}

}  // namespace spur::ctld
