// SPDX-License-Identifier: Apache-2.0
// A bidirectional gRPC stream for an event loop: the agent's link to its controller, srun's link to an agent. The
// owner watches fd() (always for reading, for writing while wants_write()), calls on_timer() when next_timer() is
// reached, and decides about reconnecting. Events come inside these calls; they must not destroy the stream.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/grpc_connection.h"

namespace spur::wire {

class LeanStream {
 public:
  struct Events {
    std::function<void(std::string_view)> on_message;
    std::function<void(const CallEnd&)> on_end;  // once: the peer ended it, or the connection is gone
  };
  // If nothing arrives for `interval` the peer is pinged; if then nothing arrives for `timeout`, or connecting takes
  // as long, the stream ends with Unreachable. A grpc++ server takes pings more often than every five minutes only if
  // it was told to (GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS).
  struct KeepAlive {
    Duration interval = Duration::max(), timeout = Duration::max();
  };

  static Result<std::unique_ptr<LeanStream>> open(const PeerAddress& peer, std::string_view path,
                                                  const CallOptions& options, Events events, KeepAlive keep_alive);

  int fd() const { return connection_->fd(); }  // -1 once ended; may change while connecting
  bool connecting() const { return connection_->connecting(); }
  bool ended() const { return ended_; }
  bool wants_write() const { return connection_->wants_write(); }
  void on_readable();
  void on_writable();

  void send(std::string_view message);  // queued, and written as far as the socket takes it
  void finish_sending();
  std::size_t queued_bytes() const { return connection_->queued_bytes(call_); }

  // `now` is monotonic. Without keep-alive next_timer() is Duration::max().
  void on_timer(Duration now);
  Duration next_timer() const;

 private:
  LeanStream(std::unique_ptr<GrpcConnection> connection, Events events, KeepAlive keep_alive);
  std::unique_ptr<GrpcConnection> connection_;
  Events events_;
  GrpcConnection::CallId call_ = 0;
  bool ended_ = false;
  KeepAlive keep_alive_;
  bool timing_ = false, ping_out_ = false;
  std::uint64_t seen_bytes_ = 0;
  Duration seen_at_{0};  // when seen_bytes_ last changed, or when the ping went out
};

}  // namespace spur::wire
