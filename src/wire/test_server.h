// SPDX-License-Identifier: Apache-2.0
// For tests: a stock grpc++ server (callback API) with the services of our protos, on a unix socket and a loopback
// port. What it does depends on the request, as written beside each method in test_server_test.cc, the one file that
// includes grpc++ (its headers take long to compile).
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>

namespace spur::wire {

// A listening loopback socket that does nothing by itself.
struct Listener {
  Listener() : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(::listen(fd, 16), 0);
    socklen_t size = sizeof at;
    EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size), 0);
    address = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  }
  ~Listener() { ::close(fd); }
  int fd;
  std::string address;
};

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
