// SPDX-License-Identifier: Apache-2.0
#include "wire/lean_stream.h"

namespace spur::wire {

LeanStream::LeanStream(std::unique_ptr<GrpcConnection> connection, Events events, KeepAlive keep_alive)
    : connection_(std::move(connection)), events_(std::move(events)), keep_alive_(keep_alive) {}

Result<std::unique_ptr<LeanStream>> LeanStream::open(const PeerAddress& peer, std::string_view path,
                                                     const CallOptions& options, Events events,
                                                     KeepAlive keep_alive) {
  SPUR_ASSIGN(auto connection, GrpcConnection::dial(peer));
  std::unique_ptr<LeanStream> stream(new LeanStream(std::move(connection), std::move(events), keep_alive));
  GrpcConnection::Handler handler;
  handler.on_message = [self = stream.get()](std::string_view message) {
    if (self->events_.on_message) self->events_.on_message(message);
  };
  handler.on_end = [self = stream.get()](const CallEnd& end) {
    self->ended_ = true;
    if (self->events_.on_end) self->events_.on_end(end);
  };
  SPUR_ASSIGN(stream->call_, stream->connection_->start(path, options, std::move(handler)));
  stream->connection_->flush();
  return stream;
}

// Once the call is over the connection has no use; whoever watches fd() sees -1.
void LeanStream::on_readable() {
  connection_->on_readable();
  if (ended_ && !connection_->closed()) connection_->close({ErrorCode::Unreachable, "The stream has ended"});
}

void LeanStream::on_writable() {
  connection_->on_writable();
  if (ended_ && !connection_->closed()) connection_->close({ErrorCode::Unreachable, "The stream has ended"});
}

void LeanStream::send(std::string_view message) {
  connection_->send(call_, message);
  connection_->flush();
}

void LeanStream::finish_sending() {
  connection_->finish_sending(call_);
  connection_->flush();
}

void LeanStream::on_timer(Duration now) {
  if (ended_) return;
  const std::uint64_t bytes = connection_->bytes_received();
  if (!timing_ || bytes != seen_bytes_) {
    timing_ = true;
    seen_bytes_ = bytes;
    seen_at_ = now;
    ping_out_ = false;
  }
  if (now < next_timer()) return;
  if (connection_->connecting() || ping_out_) {
    connection_->close({ErrorCode::Unreachable, "The peer does not answer any more"});
    return;
  }
  connection_->ping();
  connection_->flush();
  ping_out_ = true;
  seen_at_ = now;
}

Duration LeanStream::next_timer() const {
  if (ended_) return Duration::max();
  if (!timing_) return keep_alive_.interval == Duration::max() ? Duration::max() : Duration{0};
  const Duration wait = connection_->connecting() || ping_out_ ? keep_alive_.timeout : keep_alive_.interval;
  return wait == Duration::max() ? wait : seen_at_ + wait;
}

}  // namespace spur::wire
