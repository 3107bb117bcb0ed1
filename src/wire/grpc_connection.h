// SPDX-License-Identifier: Apache-2.0
// The lean gRPC client engine: one HTTP/2 connection (libnghttp2) over a unix or TCP socket, any number of calls on
// it, driven by whoever watches fd(). No threads, no clock, no exceptions; nothing blocks but the connect to a local
// socket whose listener is overloaded (five seconds at most). lean_channel.h makes blocking calls of it,
// lean_stream.h a stream for event loops.
//
//   dial() --> connecting --> open --> closed (why_closed says why; every call has ended by then)
//
// Handlers run inside on_readable(), on_writable() and the calls that can fail at once; they may start, send, finish
// and cancel, but not destroy the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "wire/grpc_framing.h"
#include "wire/peer_address.h"

struct nghttp2_session;

namespace spur::wire {

// Names in lower case; values of names ending in "-bin" are any bytes, others printable ASCII.
using Metadata = std::vector<std::pair<std::string, std::string>>;

struct CallOptions {
  Duration timeout{0};  // told to the server; whoever drives the connection enforces it. 0: none
  Metadata metadata;
  Duration patience{0};  // how long a peer may take to begin its answer, where others can be asked. 0: for as long as it likes
  std::size_t max_message_bytes = std::size_t{64} << 20;
  Duration silence{0};  // between two messages of a stream, before it counts as broken. 0: for as long as it likes
};

// How a call ended.
struct CallEnd {
  int grpc_status = 0;
  std::string message;
  std::optional<ErrorCode> code;  // from `spur-error`
  bool answered = false;          // a message had come before
  Metadata trailers;              // all trailing metadata but gRPC's own, decoded
  Status status() const;          // ok, or our Error
};

class GrpcConnection {
 public:
  using CallId = std::int32_t;
  struct Handler {
    std::function<void(std::string_view)> on_message;
    std::function<void(const CallEnd&)> on_end;  // exactly once, unless cancel() was called
  };

  // Resolves the name and begins to connect; what fails later shows as closed().
  static Result<std::unique_ptr<GrpcConnection>> dial(const PeerAddress& peer);
  // Over a connected, non-blocking socket, which it takes over; for tests and fuzzing.
  static Result<std::unique_ptr<GrpcConnection>> adopt(int fd, std::string peer_name);
  ~GrpcConnection();
  GrpcConnection(const GrpcConnection&) = delete;
  GrpcConnection& operator=(const GrpcConnection&) = delete;

  int fd() const { return fd_; }  // -1 once closed; changes while connecting to a name with several addresses
  bool connecting() const { return connecting_; }
  bool closed() const { return fd_ < 0; }
  const Error& why_closed() const { return why_closed_; }
  // New calls are accepted: not closed, and the peer has not said goodbye.
  bool usable() const { return !closed() && !goaway_; }
  bool wants_write() const;  // watch fd() for writing (always for reading)
  void on_readable();
  void on_writable();
  // Writes what can be written now. start, send and the like only queue.
  void flush();

  // `path` is "/package.Service/Method".
  Result<CallId> start(std::string_view path, const CallOptions& options, Handler handler);
  void send(CallId call, std::string_view message);  // a call that has ended takes it and drops it
  void finish_sending(CallId call);
  void cancel(CallId call);                     // no more events of it
  std::size_t queued_bytes(CallId call) const;  // sent but not yet written to the socket

  void ping();  // the peer must answer
  std::uint64_t bytes_received() const { return received_; }
  void close(Error why);  // ends all calls with Unreachable

 private:
  struct Call;
  struct Callbacks;  // nghttp2's C callbacks, in grpc_call.cc
  GrpcConnection(int fd, std::string peer_name);
  Status open_session();
  bool try_next_address();
  void finish_connecting();
  int make_session();
  void reset(CallId id, std::uint32_t error_code);
  void end_call(CallId id, CallEnd end);
  void check_alive();
  void broken(std::string_view what, int error_number = 0);

  int fd_ = -1;
  std::string peer_name_, authority_;
  nghttp2_session* session_ = nullptr;
  bool connecting_ = false, goaway_ = false, receiving_ = false;
  struct Addresses;  // of the name, still to be tried
  std::unique_ptr<Addresses> addresses_;
  int connect_error_ = 0;
  Error why_closed_;
  std::unique_ptr<char[]> in_;  // where recv() writes
  std::string out_;             // serialised, not yet written
  std::size_t out_sent_ = 0;
  std::uint64_t received_ = 0;
  std::map<CallId, std::shared_ptr<Call>> calls_;
};

}  // namespace spur::wire
