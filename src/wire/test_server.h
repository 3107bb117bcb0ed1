// SPDX-License-Identifier: Apache-2.0
// For tests: a stock grpc++ server (callback API) with the services of our protos, on a unix socket and a loopback
// port. What it does depends on the request, as written beside each method in test_server_test.cc, the one file that
// includes grpc++ (its headers take long to compile).
#pragma once

#include <atomic>
#include <memory>
#include <string>

namespace spur::wire {

class TestServer {
 public:
  TestServer();
  ~TestServer();
  void start();
  void stop();
  std::string directory() const;  // of the server's own, gone with it
  std::string unix_address() const;
  std::string tcp_address() const;
  std::atomic<int> calls{0};  // of some methods
  std::string last_credential() const;

 private:
  struct Services;
  std::unique_ptr<Services> services_;
};

}  // namespace spur::wire
