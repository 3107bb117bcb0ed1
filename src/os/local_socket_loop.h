// SPDX-License-Identifier: Apache-2.0
// One thread of a LocalSocket: accepts, reads requests, writes what lines could not write at once. Only for
// local_socket.cc and local_socket_loop.cc.
#pragma once

#include <thread>
#include <unordered_map>

#include "os/local_socket.h"

namespace spur::os {

class LocalSocket::Loop {
 public:
  explicit Loop(LocalSocket& socket) : socket_(socket) {}
  ~Loop();
  Status start();

 private:
  struct Connection {
    std::shared_ptr<Line> line;
    int fd = -1;  // the line's, for as long as this exists
    Duration deadline{0};
    std::string in;
    std::size_t charged = 0;  // bytes on the user's account
    bool watched = false;     // by epoll
    bool asked = false;       // the request is with the handler
  };
  void run();
  void accept_some();
  void admit(UniqueFd fd);
  void set_accepting(bool accepting);
  bool watch_for(Connection& connection, std::uint32_t events);
  bool on_event(Connection& connection, std::uint32_t events);  // false: close it
  bool read_request(Connection& connection);
  bool hand_over(Connection& connection, std::size_t length);
  void close_connection(int fd);
  void close_late();
  int wait_milliseconds() const;

  LocalSocket& socket_;
  UniqueFd epoll_, stop_;
  bool accepting_ = true;
  Duration paused_until_{0};  // after the process ran out of descriptors
  Duration look_at_{0};       // when somebody may be late: a look costs as much as there are connections
  std::unordered_map<int, Connection> connections_;
  std::thread thread_;
};

}  // namespace spur::os
