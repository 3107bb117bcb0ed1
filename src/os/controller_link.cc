// SPDX-License-Identifier: Apache-2.0
#include "os/controller_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wire/agent_codec.h"

namespace spur::os {
namespace {

constexpr std::uint16_t kControllerPort = 6817;
constexpr Duration kFirstPause = std::chrono::milliseconds(100), kLongestPause = std::chrono::seconds(2);
// With several controllers there is somebody to go to: a link that is dead is noticed soon.
constexpr Duration kLongestPauseOfSeveral = std::chrono::milliseconds(400), kNextPause = std::chrono::milliseconds(20);
constexpr wire::LeanStream::KeepAlive kKeepAlive{.interval = std::chrono::seconds(15), .timeout = std::chrono::seconds(10)};
constexpr wire::LeanStream::KeepAlive kQuickKeepAlive{.interval = std::chrono::seconds(2), .timeout = std::chrono::seconds(1)};

}  // namespace

ControllerLink::ControllerLink(EventLoop& loop, Options options) : loop_(loop), options_(std::move(options)) {}

ControllerLink::~ControllerLink() {
  if (timer_) loop_.cancel(timer_);
}

void ControllerLink::send(model::AgentMessage message) {
  if (stream_) stream_->send(wire::encode_agent_message(message));
}

void ControllerLink::dial() {
  timer_ = {};
  const auto addresses = options_.addresses();
  const auto open = [&]() -> Result<std::unique_ptr<LoopedStream>> {
    addresses_ = addresses.size();
    if (addresses.empty()) return fail(ErrorCode::ConfigInvalid, "no controller is configured");
    SPUR_ASSIGN(const auto peer, wire::parse_peer_address(addresses[next_++ % addresses.size()], kControllerPort));
    wire::CallOptions call;
    SPUR_ASSIGN(call.metadata, options_.metadata());
    LoopedStream::Events events{
        .on_message =
            [this](const std::string& bytes) {
              auto message = wire::decode_controller_message(bytes);
              if (!message) return on_end(std::unexpected(message.error()));
              pause_ = Duration{0};
              refused_ = 0;
              last_complaint_.clear();
              options_.on_message(*message);
            },
        .on_end = [this](const Status& status) { on_end(status); }};
    return LoopedStream::open(loop_, peer, "/spur.v1.AgentLink/Connect", call, std::move(events),
                              addresses.size() > 2 ? kQuickKeepAlive : kKeepAlive);
  };
  auto stream = open();
  if (!stream) return on_end(std::unexpected(stream.error()));
  stream_ = std::move(*stream);
  options_.on_connected();
}

void ControllerLink::on_end(const Status& status) {
  const std::string why = status ? "the controller ended the stream" : status.error().message;
  // One that follows another says so; only when all have is there anything to tell.
  const bool follower = !status && status.error().code == ErrorCode::NotLeader;
  if (why != last_complaint_ && !follower) options_.log(fmt::format("error: no link to the controller: {}", why));
  if (!follower) last_complaint_ = why;
  if (std::exchange(stream_, nullptr)) options_.on_disconnected();
  dial_later();
}

void ControllerLink::dial_later() {
  if (++refused_ < addresses_) {
    timer_ = loop_.call_after(kNextPause, [this] { dial(); });
    return;
  }
  refused_ = 0;
  pause_ = std::clamp(pause_ * 2, kFirstPause, addresses_ > 2 ? kLongestPauseOfSeveral : kLongestPause);
  timer_ = loop_.call_after(pause_, [this] { dial(); });
}

}  // namespace spur::os
