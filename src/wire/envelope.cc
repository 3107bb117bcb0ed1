// SPDX-License-Identifier: Apache-2.0
#include "wire/envelope.h"

#include <fmt/format.h>

#include <cstring>

#include "base/check.h"

namespace spur::wire {
namespace {

constexpr std::size_t kVersionAt = 4, kSumAt = 8;

std::uint64_t get_u64(const char* from) {
  return std::uint64_t{get_u32(from)} | std::uint64_t{get_u32(from + 4)} << 32;
}

// Each step is a bijection of the running value for a fixed word and of the word for a fixed running value: so a
// change of one word always changes the result.
constexpr std::uint64_t mix(std::uint64_t sum, std::uint64_t word) {
  sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
  return sum ^ (sum >> 29);
}

std::uint64_t checksum(std::string_view head, std::string_view content) {
  std::uint64_t sum = mix(get_u64(head.data()), content.size());
  while (content.size() >= 8) {
    sum = mix(sum, get_u64(content.data()));
    content.remove_prefix(8);
  }
  char tail[8] = {};
  std::memcpy(tail, content.data(), content.size());
  return mix(sum, get_u64(tail));
}

}  // namespace

std::uint64_t checksum_of(std::string_view content) {
  return checksum(std::string_view("\0\0\0\0\0\0\0\0", 8), content);
}

void put_u32(std::uint32_t value, char* to) {
  for (int i = 0; i < 4; ++i) to[i] = static_cast<char>(value >> (8 * i));
}

std::uint32_t get_u32(const char* from) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<unsigned char>(from[i])} << (8 * i);
  return value;
}

std::string seal(std::string_view kind, std::uint32_t version, std::string_view content) {
  std::string bytes(kEnvelopeBytes, '\0');
  bytes.append(content);
  seal_in_place(kind, version, &bytes);
  return bytes;
}

void seal_in_place(std::string_view kind, std::uint32_t version, std::string* bytes) {
  SPUR_CHECK(kind.size() == kVersionAt && bytes->size() >= kEnvelopeBytes);
  std::memcpy(bytes->data(), kind.data(), kind.size());
  put_u32(version, bytes->data() + kVersionAt);
  const std::string_view all(*bytes);
  const std::uint64_t sum = checksum(all.substr(0, kSumAt), all.substr(kEnvelopeBytes));
  put_u32(static_cast<std::uint32_t>(sum), bytes->data() + kSumAt);
  put_u32(static_cast<std::uint32_t>(sum >> 32), bytes->data() + kSumAt + 4);
}

Result<std::string_view> unseal(std::string_view kind, std::uint32_t newest, std::string_view bytes) {
  if (bytes.size() < kEnvelopeBytes || bytes.substr(0, kVersionAt) != kind)
    return fail(ErrorCode::Corrupt, fmt::format("A stored record is damaged: it does not begin with {}", kind));
  const auto content = bytes.substr(kEnvelopeBytes);
  if (checksum(bytes.substr(0, kSumAt), content) != get_u64(bytes.data() + kSumAt))
    return fail(ErrorCode::Corrupt, "A stored record is damaged: its checksum is wrong");
  const std::uint32_t version = get_u32(bytes.data() + kVersionAt);
  if (version == 0) return fail(ErrorCode::Corrupt, "A stored record is damaged: it has no version");
  if (version > newest)
    return fail(
        ErrorCode::VersionMismatch,
        fmt::format("A stored record has format {}, and this version reads formats up to {}", version, newest));
  return content;
}

}  // namespace spur::wire
