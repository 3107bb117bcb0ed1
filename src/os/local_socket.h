// SPDX-License-Identifier: Apache-2.0
// A local socket on which the kernel says who calls (SO_PEERCRED): one request per connection, four bytes of length
// (little-endian) and that many bytes, then answers until it is closed. What requests mean is the handler's business;
// this class takes care that whoever connects can cost at most one place, for a limited time, and one user at most
// his share of places and memory.
//
// Answers may come later and from any thread: the handler gets a Line, which outlives the socket harmlessly.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "io/clock.h"
#include "os/unique_fd.h"

namespace spur::os {

class LocalSocket {
 public:
  struct Peer {
    Uid uid;
    Gid gid;
  };

  // The way back to one caller. All functions from any thread; what is sent to somebody who is gone is dropped.
  class Line : public std::enable_shared_from_this<Line> {
   public:
    Line(UniqueFd fd, int epoll, Peer peer, io::Clock& clock, Duration stall_limit)
        : peer_(peer), clock_(clock), stall_limit_(stall_limit), epoll_(epoll), fd_(std::move(fd)) {}
    const Peer& peer() const { return peer_; }
    void send(std::string_view bytes);
    // Closes the connection when all that was sent is out.
    void finish();
    // `more` is asked for bytes each time all that was sent is out; false: that was all, and the connection is closed
    // behind it. It is called by a function that is handed to `run`, one at a time; without `run` on the socket's
    // thread or this one.
    using Run = std::function<void(std::function<void()>)>;
    void stream(std::function<bool(std::string*)> more, Run run = {});
    bool gone() const;
    bool drained() const;  // all that was sent is out

   private:
    friend class LocalSocket;
    void push();            // with the mutex held
    void hang_up();         // with the mutex held
    bool wait_for_room();  // with the mutex held
    void drop();
    void pull();
    const Peer peer_;
    io::Clock& clock_;
    const Duration stall_limit_;
    const int epoll_;
    mutable std::mutex mutex_;
    UniqueFd fd_;
    std::string out_;
    std::size_t sent_ = 0;
    bool finished_ = false;  // nothing more will be sent
    bool over_ = false;      // and all of it is out, or he is gone
    // The loop is with this line's request, looks at it again afterwards, and does not watch its descriptor yet.
    bool at_hand_ = false;
    bool wants_room_ = false;  // what was sent did not fit meanwhile
    std::function<bool(std::string*)> more_;
    Run run_;               // who calls more_; empty: whoever is here
    bool pulling_ = false;  // he has been asked to
    Duration stalled_until_ = Duration::max();  // when a caller that does not read is dropped
  };

  struct Options {
    std::string path;
    std::size_t max_connections = 512, max_connections_per_user = 128;  // the first per thread
    std::size_t max_request_bytes = 1024;
    std::size_t max_user_request_bytes = std::size_t{64} << 20;  // of all his connections together
    Duration request_limit{seconds(1)};                          // from connecting until the request is there
    Duration stall_limit{seconds(1)};  // a caller that takes none of the answer for so long is dropped
    unsigned threads = 1;
  };
  using Handler = std::function<void(std::string request, std::shared_ptr<Line>)>;  // on a thread of the socket's

  // The directory must belong to this process's user and be writable by nobody else; it is created (0755) if missing.
  // A socket that nobody serves any more is replaced; one that is served is Busy. `clock` must outlive this and all
  // lines.
  static Result<std::unique_ptr<LocalSocket>> open(Options options, Handler handler, io::Clock& clock);
  // Ends the threads and removes the socket; open connections are cut.
  ~LocalSocket();
  LocalSocket(const LocalSocket&) = delete;
  LocalSocket& operator=(const LocalSocket&) = delete;

  // What the kernel shows for a user it cannot name in our user namespace: stands for anybody.
  static Uid unknown_uid();

 private:
  class Loop;
  // What each user has taken.
  class Shares {
   public:
    bool enter(Uid uid, std::size_t limit);
    bool grow(Uid uid, std::size_t bytes, std::size_t limit);
    void leave(Uid uid, std::size_t bytes);

   private:
    struct Share {
      std::size_t connections = 0, bytes = 0;
    };
    std::mutex mutex_;
    std::unordered_map<Uid, Share> users_;
  };
  LocalSocket(Options options, Handler handler, io::Clock& clock);
  Status listen_on_path();

  const Options options_;
  const Handler handler_;
  io::Clock& clock_;
  UniqueFd lock_, listener_;
  bool bound_ = false;
  Shares shares_;
  std::vector<std::unique_ptr<Loop>> loops_;
};

}  // namespace spur::os
