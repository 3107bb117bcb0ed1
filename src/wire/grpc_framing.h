// SPDX-License-Identifier: Apache-2.0
// gRPC's length-prefixed messages: one byte "compressed", four bytes of length (big-endian), the message.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spur::wire {

inline constexpr std::size_t kFramePrefixBytes = 5;

void append_frame(std::string_view message, std::string* out);

// Cuts a stream of bytes, arriving in any pieces, into messages.
class FrameReader {
 public:
  explicit FrameReader(std::size_t max_message_bytes) : max_(max_message_bytes) {}
  // Calls on_message for each that is complete; the view is good during the call. An error (compressed, too large) is
  // final.
  Status take(std::string_view bytes, const std::function<void(std::string_view)>& on_message);
  // Whether the stream may end here.
  bool between_messages() const { return held_.empty(); }

 private:
  std::size_t max_;
  std::string held_;  // prefix and part of one message
};

}  // namespace spur::wire
