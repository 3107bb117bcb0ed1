// SPDX-License-Identifier: Apache-2.0
// What a controller that follows says of itself with every answer: its name, and how long ago it last heard of a
// leader. Beside an answer over gRPC as metadata, on the local socket with the end of the call.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace spur::wire {

inline constexpr const char* kFollowerMetadata = "spur-follower";
inline constexpr const char* kLeaderMetadata = "spur-leader";          // with a refusal: where the leader is
inline constexpr const char* kConsistentMetadata = "spur-consistent";  // with a request: the leader's word is wanted

struct FollowerNote {
  std::string name;
  Duration silence{0};
};

inline std::string encode_follower_note(const FollowerNote& note) {
  return std::to_string(note.silence.count()) + " " + note.name;
}
inline std::optional<FollowerNote> decode_follower_note(std::string_view text) {
  FollowerNote note;
  std::int64_t micros = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), micros);
  if (bad != std::errc{} || end == text.data() + text.size() || *end != ' ' || micros < 0) return std::nullopt;
  note.silence = Duration(micros);
  note.name = text.substr(static_cast<std::size_t>(end + 1 - text.data()));
  return note;
}

}  // namespace spur::wire
