// SPDX-License-Identifier: Apache-2.0
// For tests: a real etcd of one member on a unix socket in a directory of its own.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "os/etcd_client.h"
#include "os/test_directory.h"

namespace spur::os {

class EtcdTestServer {
 public:
  explicit EtcdTestServer(std::vector<std::string> extra = {}) : extra_(std::move(extra)) {
    start();
    auto probe = client();
    for (int i = 0; i < 2000; ++i) {
      if (probe->range("ready", "", 1, false)) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    SPUR_CHECK_MSG(false, "etcd (package etcd-server) does not start");
  }
  ~EtcdTestServer() {
    ::kill(pid_, SIGCONT);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::unique_ptr<EtcdClient> client(Duration timeout = milliseconds(500)) const {
    auto made = EtcdClient::open({.endpoints = {"unix:" + directory_.path() + "/etcd:1"}, .timeout = timeout});
    SPUR_CHECK(made.has_value());
    return *std::move(made);
  }
  // A stop has taken effect when this returns.
  void signal(int number) const {
    ::kill(pid_, number);
    int status = 0;
    if (number == SIGSTOP) ::waitpid(pid_, &status, WUNTRACED);
  }

 private:
  static int free_port() {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    SPUR_CHECK(::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
    SPUR_CHECK(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    ::close(fd);
    return ntohs(address.sin_port);
  }
  void start() {
    const std::string peer = "http://127.0.0.1:" + std::to_string(free_port());
    std::vector<std::string> args{"etcd",
                                  "--name=a",
                                  "--data-dir=data",
                                  "--heartbeat-interval=20",
                                  "--election-timeout=200",
                                  "--listen-client-urls=unix://etcd:1",
                                  "--advertise-client-urls=http://127.0.0.1:1",
                                  "--listen-peer-urls=" + peer,
                                  "--initial-advertise-peer-urls=" + peer,
                                  "--initial-cluster=a=" + peer};
    args.insert(args.end(), extra_.begin(), extra_.end());
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, directory_.path().c_str());
    posix_spawn_file_actions_addopen(&actions, 1, "log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    SPUR_CHECK(::posix_spawnp(&pid_, "etcd", &actions, nullptr, argv.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
  }

  TestDirectory directory_;
  std::vector<std::string> extra_;
  pid_t pid_ = -1;
};

}  // namespace spur::os
