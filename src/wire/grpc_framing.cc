// SPDX-License-Identifier: Apache-2.0
#include "wire/grpc_framing.h"

#include <fmt/format.h>

#include <algorithm>

namespace spur::wire {
namespace {

constexpr std::size_t kReserveAtMost = 1u << 20;  // a peer's word for it is not worth more

std::size_t length_of(std::string_view prefix) {
  std::size_t length = 0;
  for (std::size_t i = 1; i < kFramePrefixBytes; ++i) length = length << 8 | static_cast<unsigned char>(prefix[i]);
  return length;
}

}  // namespace

void append_frame(std::string_view message, std::string* out) {
  const auto length = static_cast<std::uint32_t>(message.size());
  out->push_back('\0');
  for (int shift = 24; shift >= 0; shift -= 8) out->push_back(static_cast<char>(length >> shift));
  out->append(message);
}

Status FrameReader::take(std::string_view bytes, const std::function<void(std::string_view)>& on_message) {
  const auto check = [this](std::string_view prefix) -> Status {
    if (prefix[0] != 0)
      return fail(ErrorCode::NotSupported, "The peer sent a compressed message, which was not offered");
    if (length_of(prefix) > max_)
      return fail(
          ErrorCode::ResourceLimit,
          fmt::format("The peer sent a message of {} bytes; at most {} are accepted", length_of(prefix), max_));
    return {};
  };
  while (!bytes.empty()) {
    if (held_.empty() && bytes.size() >= kFramePrefixBytes) {  // the common case: whole messages, not copied
      SPUR_TRY(check(bytes));
      const std::size_t whole = kFramePrefixBytes + length_of(bytes);
      if (bytes.size() >= whole) {
        on_message(bytes.substr(kFramePrefixBytes, whole - kFramePrefixBytes));
        bytes.remove_prefix(whole);
        continue;
      }
    }
    std::size_t wanted = kFramePrefixBytes;
    if (held_.size() >= kFramePrefixBytes) wanted += length_of(held_);
    const std::size_t piece = std::min(wanted - held_.size(), bytes.size());
    held_.append(bytes.substr(0, piece));
    bytes.remove_prefix(piece);
    if (held_.size() == kFramePrefixBytes) {
      SPUR_TRY(check(held_));
      held_.reserve(std::min(kFramePrefixBytes + length_of(held_), kReserveAtMost));
    }
    if (held_.size() >= kFramePrefixBytes && held_.size() == kFramePrefixBytes + length_of(held_)) {
      std::string message;
      message.swap(held_);  // on_message may be slow; the buffer of a huge message is not kept
      on_message(std::string_view(message).substr(kFramePrefixBytes));
    }
  }
  return {};
}

}  // namespace spur::wire
