// SPDX-License-Identifier: Apache-2.0
// Blocking gRPC calls for commands: small enough that a whole one-call process costs about a millisecond. The
// connection is kept for the next call. Peers are tried in turn: the next one is asked when a connection fails, or
// when the answer is UNAVAILABLE (not the leader, shutting down) and nothing else had come before. So a request may
// reach two peers, or one peer twice; what must happen once carries a token.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/grpc_connection.h"

namespace spur::wire {

class LeanChannel {
 public:
  using OnMessage = std::function<Status(std::string_view)>;

  // Addresses as peer_address.h reads them; a wrong one is an error of the first call.
  LeanChannel(const std::vector<std::string>& peers, std::uint16_t default_port);

  // One request, one answer. Needs a timeout in the options.
  Result<std::string> call(std::string_view path, std::string_view request, const CallOptions& options);
  // The same, of one peer and no other.
  Result<std::string> call_peer(std::size_t peer, std::string_view path, std::string_view request,
                                const CallOptions& options);
  // One request, any number of answers; an error from on_message ends the call and is the result.
  Status stream(std::string_view path, std::string_view request, const CallOptions& options,
                const OnMessage& on_message);
  std::size_t peer_count() const { return peers_.size(); }
  // Whether a peer has named one that was not among the given ones (`spur-leader`); it is asked from then on as well.
  bool has_learned() const { return peers_.size() > given_; }
  // Whether a peer was too slow a moment ago: it may be there all the same, unlike one that refuses connections.
  bool someone_is_silent() const;
  // What came beside the last answer.
  const Metadata& trailers() const { return trailers_; }

  // Asked when a signal interrupts the wait: true ends the call with TimedOut.
  std::function<bool()> interrupted;

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  struct Order {
    std::vector<std::size_t> first;   // those to ask, in turn
    std::vector<std::size_t> silent;  // asked only if none of the others is there
  };
  // The one that answered last comes first; those that were silent a moment ago are apart, unless all were.
  Order all_peers() const;
  Result<std::string> one_answer(Order order, std::string_view path, std::string_view request,
                                 const CallOptions& options);
  Status run(Order asked, std::string_view path, std::string_view request, const CallOptions& options,
             const OnMessage& on_message);
  CallEnd attempt(std::size_t peer, std::string_view path, std::string_view request, const CallOptions& options,
                  Deadline deadline, Deadline connect_deadline, const OnMessage& on_message, Status* handler_status);
  // The one that leads, as a peer that refused says: it is the next in the order.
  void go_to_leader(const CallEnd& end, std::size_t at, std::vector<std::size_t>* order);
  Duration patience_with(std::size_t peer, const CallOptions& options) const;
  Status drive(Deadline deadline, const std::function<bool()>& done);

  std::vector<Result<PeerAddress>> peers_;
  std::unique_ptr<GrpcConnection> connection_;  // to peers_[current_]; null: none yet
  std::size_t current_ = 0;
  std::vector<Deadline> avoid_until_;  // parallel to peers_
  std::vector<unsigned> strikes_;      // likewise: how often in a row a peer was silent for too long
  std::size_t given_ = 0;              // how many peers_ were given; the others were learned
  std::uint16_t default_port_ = 0;
  Metadata trailers_;
  bool gave_up_ = false;  // interrupted() said so
};

}  // namespace spur::wire
