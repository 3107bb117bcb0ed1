// SPDX-License-Identifier: Apache-2.0
#include "wire/file_client.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <set>

#include "spur/v1/files.pb.h"
#include "wire/file_block.h"
#include "wire/lean_stream.h"

namespace spur::wire {
namespace {

constexpr std::uint16_t kFileAgentPort = 6818;
constexpr std::size_t kAhead = std::size_t{2} << 20;  // accepted before the socket has taken it
constexpr LeanStream::KeepAlive kFileKeepAlive{.interval = std::chrono::seconds(30), .timeout = std::chrono::seconds(20)};

Duration file_clock() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

// A stream and the patience for it.
class Transfer {
 public:
  explicit Transfer(const FilePlace& place) : place_(place) {}

  Status open(v1::FileStart start) {
    if (place_.nodes.empty() || place_.addresses.size() != place_.nodes.size())
      return fail(ErrorCode::InvalidNode, "the job has no nodes");
    SPUR_ASSIGN(const auto peer, parse_peer_address(place_.addresses.front(), kFileAgentPort));
    LeanStream::Events events{[this](std::string_view bytes) { on_message(bytes); },
                              [this](const CallEnd& end) { end_ = end; }};
    SPUR_ASSIGN(stream_,
                LeanStream::open(peer, "/spur.v1.NodeFiles/Transfer", CallOptions{}, std::move(events), kFileKeepAlive));
    start.set_ticket(place_.ticket);
    start.set_fanout(place_.fanout);
    v1::FileInput input;
    *input.mutable_start() = std::move(start);
    send(input);
    return {};
  }

  void send(const v1::FileInput& input) { stream_->send(input.SerializeAsString()); }
  bool full() const { return stream_->queued_bytes() > kAhead; }
  bool ended() const { return end_.has_value() || damaged_; }

  // Waits for anything to happen; an error when nothing did for too long, or when the stream broke.
  Status turn() {
    const Duration now = file_clock();
    if (progress_at_ == Duration{0}) progress_at_ = now;
    stream_->on_timer(now);
    if (ended()) return result();
    pollfd wait{.fd = stream_->fd(), .events = POLLIN, .revents = 0};
    if (stream_->wants_write()) wait.events |= POLLOUT;
    const Duration until = std::min(stream_->next_timer() - now, progress_at_ + place_.patience - now);
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(until).count() + 1;
    const int ready = ::poll(&wait, 1, static_cast<int>(std::clamp<std::int64_t>(ms, 0, 60'000)));
    if (ready < 0 && errno != EINTR) return fail(ErrorCode::Internal, "cannot wait for the agent");
    const std::size_t before = stream_->queued_bytes();
    if (ready > 0 && (wait.revents & POLLOUT) != 0) stream_->on_writable();
    if (ready > 0 && (wait.revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !ended()) stream_->on_readable();
    if (stream_->queued_bytes() < before) progress_at_ = file_clock();
    if (!ended() && file_clock() - progress_at_ > place_.patience)
      return fail(ErrorCode::TimedOut, "Socket timed out on send/recv operation");
    return result();
  }

  // Success while it goes on and after an orderly end.
  Status result() const {
    if (damaged_) return fail(ErrorCode::Corrupt, "the agent answers with what is no answer");
    return end_ ? end_->status() : Status{};
  }

  std::function<void(v1::FileOutput&)> on_output;

 private:
  void on_message(std::string_view bytes) {
    progress_at_ = file_clock();
    v1::FileOutput output;
    if (!output.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      damaged_ = true;
    else if (on_output)
      on_output(output);
  }

  const FilePlace& place_;
  std::unique_ptr<LeanStream> stream_;
  std::optional<CallEnd> end_;
  bool damaged_ = false;
  Duration progress_at_{0};
};

v1::FileStart start_of(const FilePlace& place, const FileToSend& file) {
  v1::FileStart start;
  for (const auto& node : place.nodes) start.add_nodes(node);
  for (const auto& address : place.addresses) start.add_addresses(address);
  auto& send = *start.mutable_send();
  send.set_path(file.path);
  send.set_mode(file.mode);
  send.set_size(file.size);
  send.set_replace(file.replace);
  send.set_directory(file.directory);
  if (file.times) {
    send.set_accessed_ns(file.times->accessed_ns);
    send.set_modified_ns(file.times->modified_ns);
  }
  return start;
}

}  // namespace

Result<std::vector<FileFailure>> send_file(const FilePlace& place, const FileToSend& file,
                                           const std::function<Result<std::string_view>()>& read) {
  Transfer transfer(place);
  std::vector<FileFailure> out;
  std::set<std::string> open(place.nodes.begin(), place.nodes.end());
  transfer.on_output = [&](v1::FileOutput& output) {
    if (output.has_done()) open.erase(output.done().node());
    if (!output.has_error() || open.erase(output.error().node()) == 0) return;
    out.push_back({output.error().node(), output.error().number(), output.error().text()});
  };
  SPUR_TRY(transfer.open(start_of(place, file)));
  bool all_sent = false;
  Status broken;
  while (!open.empty() && !transfer.ended() && broken) {
    while (!all_sent && !transfer.full()) {
      SPUR_ASSIGN(const auto piece, file.directory ? Result<std::string_view>("") : read());
      v1::FileInput input;
      all_sent = piece.empty();
      if (all_sent)
        input.mutable_end();
      else
        *input.mutable_block() = make_file_block(piece, file.compress);
      transfer.send(input);
    }
    broken = transfer.turn();
  }
  if (open.size() == place.nodes.size() && !broken) return std::unexpected(broken.error());
  for (const auto& node : open)
    out.push_back({node, 0, broken ? "the transfer was cut off" : broken.error().message});
  return out;
}

Result<std::optional<FileFailure>> fetch_file(const FilePlace& place, const FileToFetch& file,
                                              const FetchSink& sink) {
  Transfer transfer(place);
  std::optional<FileFailure> failure;
  Status kept;
  bool done = false;
  std::string room;
  const auto take = [&](v1::FileOutput& output) -> Status {
    if (output.has_entry()) {
      const auto& entry = output.entry();
      return sink.entry(
          {entry.path(), entry.mode(), entry.size(), {entry.accessed_ns(), entry.modified_ns()}, entry.link()});
    }
    if (output.has_block()) {
      SPUR_ASSIGN(const auto data, open_file_block(output.block(), room));
      return sink.data(data);
    }
    if (output.has_error()) failure = {output.error().node(), output.error().number(), output.error().text()};
    done = output.has_done();
    return {};
  };
  transfer.on_output = [&](v1::FileOutput& output) {
    if (kept) kept = take(output);
  };
  v1::FileStart start;
  start.add_nodes(place.nodes.empty() ? std::string{} : place.nodes.front());
  start.add_addresses(place.addresses.empty() ? std::string{} : place.addresses.front());
  start.mutable_fetch()->set_path(file.path);
  start.mutable_fetch()->set_recursive(file.recursive);
  start.mutable_fetch()->set_remove(file.remove);
  start.mutable_fetch()->set_compress(file.compress);
  SPUR_TRY(transfer.open(std::move(start)));
  while (!done && !failure && kept && !transfer.ended()) SPUR_TRY(transfer.turn());
  if (!kept) return std::unexpected(kept.error());
  if (failure) return failure;
  if (!done) return fail(ErrorCode::Unreachable, "the transfer was cut off");
  SPUR_TRY(sink.complete());
  v1::FileInput input;
  input.mutable_end();
  transfer.send(input);
  while (!transfer.ended()) SPUR_TRY(transfer.turn());
  return std::optional<FileFailure>{};
}

}  // namespace spur::wire
