// SPDX-License-Identifier: Apache-2.0
#include "wire/lean_channel.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "wire/error_map.h"
#include "wire/follower_note.h"

namespace spur::wire {

using std::chrono::steady_clock;

namespace {
constexpr Duration kAvoid = std::chrono::seconds(2);
constexpr Duration kLongestPatience = std::chrono::seconds(20);
constexpr std::size_t kMostLearned = 8;
}

LeanChannel::LeanChannel(const std::vector<std::string>& peers, std::uint16_t default_port) {
  for (const auto& text : peers) peers_.push_back(parse_peer_address(text, default_port));
  avoid_until_.resize(peers_.size());
  strikes_.resize(peers_.size());
  given_ = peers_.size();
  default_port_ = default_port;
}

// Moves bytes until done() holds; an error if the deadline comes first or the wait is given up. A closed connection
// has ended its calls, which is for done() to know.
Status LeanChannel::drive(Deadline deadline, const std::function<bool()>& done) {
  while (!done()) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0) return fail(ErrorCode::TimedOut, "The server did not answer in time");
    pollfd watched{.fd = connection_->fd(),
                   .events = static_cast<short>(POLLIN | (connection_->wants_write() ? POLLOUT : 0)),
                   .revents = 0};
    // In slices: a signal that came just before the wait does not end it.
    const int ready = ::poll(
        &watched, 1, static_cast<int>(std::min<std::int64_t>(left.count(), interrupted ? 1000 : 1'000'000'000)));
    if (ready <= 0) {
      gave_up_ = interrupted && interrupted();
      if (gave_up_) return fail(ErrorCode::TimedOut, "Interrupted while waiting for the server");
      continue;
    }
    if (watched.revents & POLLOUT) connection_->on_writable();
    if (watched.revents & (POLLIN | POLLHUP | POLLERR)) connection_->on_readable();
  }
  return {};
}

// Twice as much each time: who is slow is not asked in vain for ever.
Duration LeanChannel::patience_with(std::size_t peer, const CallOptions& options) const {
  return std::min(options.patience * (1 << std::min(strikes_[peer], 8u)), std::max(options.patience, kLongestPatience));
}

CallEnd LeanChannel::attempt(std::size_t peer, std::string_view path, std::string_view request,
                             const CallOptions& options, Deadline deadline, Deadline connect_deadline,
                             const OnMessage& on_message, Status* handler_status) {
  const auto local_end = [](const Error& error) {
    CallEnd end = {.grpc_status = grpc_status_of(error.code),
                   .message = error.message,
                   .code = error.code,
                   .answered = false,
                   .trailers = {}};
    return end;
  };
  if (!connection_) {
    if (!peers_[peer]) return local_end(peers_[peer].error());
    auto dialled = GrpcConnection::dial(*peers_[peer]);
    if (!dialled) return local_end(dialled.error());
    connection_ = *std::move(dialled);
    current_ = peer;
    connection_->flush();
    const auto connected = drive(connect_deadline, [this] { return !connection_->connecting(); });
    if (connection_->closed()) return local_end(connection_->why_closed());
    if (!connected) {
      if (options.patience.count() > 0) avoid_until_[peer] = steady_clock::now() + kAvoid, ++strikes_[peer];
      connection_.reset();
      return local_end(gave_up_
                           ? connected.error()
                           : Error{ErrorCode::Unreachable, fmt::format("{} does not answer", peers_[peer]->text())});
    }
  }

  CallOptions sent = options;
  sent.timeout = std::chrono::duration_cast<Duration>(deadline - steady_clock::now());
  if (sent.timeout.count() <= 0) return local_end({ErrorCode::TimedOut, "The server did not answer in time"});
  CallEnd result;
  bool ended = false;
  GrpcConnection::CallId call = 0;
  GrpcConnection::Handler handler;
  int messages = 0;
  handler.on_message = [&](std::string_view message) {
    result.answered = true;
    ++messages;
    if (*handler_status = on_message(message); handler_status->has_value()) return;
    connection_->cancel(call);
    ended = true;
  };
  handler.on_end = [&](const CallEnd& end) { result = end, ended = true; };
  const Deadline first_by =
      options.patience.count() > 0 ? std::min(deadline, steady_clock::now() + patience_with(peer, options)) : deadline;
  const auto started = connection_->start(path, sent, std::move(handler));
  if (!started) return local_end(started.error());
  call = *started;
  connection_->send(call, request);
  connection_->finish_sending(call);
  connection_->flush();
  auto driven = drive(first_by, [&] { return ended || result.answered; });
  const bool impatient = !driven && !gave_up_ && first_by < deadline;
  if (impatient) avoid_until_[peer] = steady_clock::now() + kAvoid, ++strikes_[peer];
  if (driven) strikes_[peer] = 0;
  if (impatient) driven = fail(ErrorCode::Unreachable, fmt::format("{} does not answer", peers_[peer]->text()));
  while (driven && !ended) {
    const Deadline silent_until = steady_clock::now() + options.silence;
    const bool hurry = options.silence.count() > 0 && silent_until < deadline;
    driven = drive(hurry ? silent_until : deadline, [&, before = messages] {
      return ended || (hurry && messages != before);
    });
    if (!driven && !gave_up_ && hurry)
      driven = fail(ErrorCode::Unreachable, fmt::format("{} says nothing any more", peers_[peer]->text()));
  }
  if (!driven) {
    connection_->cancel(call);
    connection_->flush();
    connection_.reset();  // who did not answer this may not answer the next
    const bool answered = result.answered;
    result = local_end(driven.error());
    result.answered = answered;
  }
  return result;
}

void LeanChannel::go_to_leader(const CallEnd& end, std::size_t at, std::vector<std::size_t>* order) {
  const auto told = std::ranges::find(end.trailers, std::string_view(kLeaderMetadata), &Metadata::value_type::first);
  if (told == end.trailers.end() || end.code != ErrorCode::NotLeader) return;
  auto address = parse_peer_address(told->second, default_port_);
  if (!address) return;
  const auto known = std::ranges::find_if(
      peers_, [&](const auto& peer) { return peer && peer->text() == address->text(); });
  const auto leader = static_cast<std::size_t>(known - peers_.begin());
  if (known == peers_.end()) {
    if (peers_.size() - given_ >= kMostLearned) return;
    peers_.push_back(std::move(address));
    avoid_until_.emplace_back();
    strikes_.emplace_back();
  }
  // Whoever names it has just heard of it: if it was silent to us, it was slow.
  avoid_until_[leader] = {};
  const auto begin = order->begin() + static_cast<std::ptrdiff_t>(at) + 1;
  if (std::find(order->begin(), begin, leader) != begin) return;  // was asked in this round
  order->erase(std::remove(begin, order->end(), leader), order->end());
  order->insert(order->begin() + static_cast<std::ptrdiff_t>(at) + 1, leader);
}

Status LeanChannel::run(Order asked, std::string_view path, std::string_view request, const CallOptions& options,
                        const OnMessage& on_message) {
  auto& order = asked.first;
  if (order.empty()) return fail(ErrorCode::Unreachable, "No controller is configured");
  const Deadline deadline = steady_clock::now() + options.timeout;
  Status last;
  gave_up_ = false;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (connection_ && (!connection_->usable() || current_ != order[i])) connection_.reset();
    const bool reused = connection_ != nullptr;
    // A host that swallows packets must leave time for the others.
    auto share = (deadline - steady_clock::now()) / static_cast<std::int64_t>(order.size() - i);
    if (options.patience.count() > 0) share = std::min<steady_clock::duration>(share, patience_with(order[i], options));
    Status handler_status;
    const CallEnd end =
        attempt(order[i], path, request, options, deadline, steady_clock::now() + share, on_message, &handler_status);
    trailers_ = end.trailers;
    if (!handler_status) return handler_status;
    // That another one leads says more than that one is away.
    const Status now = end.status();
    if (last || last.error().code != ErrorCode::NotLeader) last = now;
    // A server that is shutting down cancels what reaches it in that moment.
    const bool going = end.grpc_status == kGrpcCancelled && !gave_up_ && order.size() > 1;
    const bool next = (end.grpc_status == kGrpcUnavailable || going) && !end.answered;
    if (!next) return now;
    go_to_leader(end, i, &order);
    const bool stale =
        reused && connection_ && connection_->closed();  // the server was restarted since the last call
    connection_.reset();
    if (stale) --i;  // same peer once more, over a new connection
    // Nobody is there but, perhaps, who was slow a moment ago.
    if (i + 1 == order.size() && !gave_up_ && !last && last.error().code == ErrorCode::Unreachable) {
      std::ranges::copy_if(asked.silent, std::back_inserter(order),
                           [&](std::size_t peer) { return std::ranges::find(order, peer) == order.end(); });
      asked.silent.clear();
    }
  }
  return last;
}

Result<std::string> LeanChannel::one_answer(Order order, std::string_view path, std::string_view request,
                                            const CallOptions& options) {
  std::string reply;
  int replies = 0;
  SPUR_TRY(run(std::move(order), path, request, options, [&](std::string_view message) -> Status {
    reply = message;
    if (++replies > 1) return fail(ErrorCode::Internal, "The server sent several answers to one request");
    return {};
  }));
  if (replies == 0) return fail(ErrorCode::Internal, "The server sent no answer");
  return reply;
}

LeanChannel::Order LeanChannel::all_peers() const {
  Order order;
  const auto now = steady_clock::now();
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const std::size_t peer = (current_ + i) % peers_.size();
    (avoid_until_[peer] > now ? order.silent : order.first).push_back(peer);
  }
  if (order.first.empty()) order.first.swap(order.silent);
  return order;
}

bool LeanChannel::someone_is_silent() const {
  return std::ranges::any_of(avoid_until_, [now = steady_clock::now()](Deadline until) { return until > now; });
}

Result<std::string> LeanChannel::call(std::string_view path, std::string_view request, const CallOptions& options) {
  return one_answer(all_peers(), path, request, options);
}

Result<std::string> LeanChannel::call_peer(std::size_t peer, std::string_view path, std::string_view request,
                                           const CallOptions& options) {
  return one_answer({.first = {peer}, .silent = {}}, path, request, options);
}

Status LeanChannel::stream(std::string_view path, std::string_view request, const CallOptions& options,
                           const OnMessage& on_message) {
  return run(all_peers(), path, request, options, on_message);
}

}  // namespace spur::wire
