// SPDX-License-Identifier: Apache-2.0
// What stands in front of everything we store: four bytes that say what it is, the format version and a checksum of
// the rest. The checksum finds any damage within one aligned group of eight bytes, and any other but for one case in
// 2^64; it does not resist somebody who writes on purpose.
//
//   0  kind, four characters     4  version, 32 bits     8  checksum, 64 bits     16  the content (little-endian)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spur::wire {

inline constexpr std::size_t kEnvelopeBytes = 16;

// `kind` has four characters.
std::string seal(std::string_view kind, std::uint32_t version, std::string_view content);
// For content that was written behind kEnvelopeBytes placeholder bytes: fills them in.
void seal_in_place(std::string_view kind, std::uint32_t version, std::string* bytes);
// The content. Corrupt if it is of another kind or damaged, VersionMismatch if the version is above `newest`.
Result<std::string_view> unseal(std::string_view kind, std::uint32_t newest, std::string_view bytes);

// The same checksum, of anything.
std::uint64_t checksum_of(std::string_view content);

void put_u32(std::uint32_t value, char* to);
std::uint32_t get_u32(const char* from);

}  // namespace spur::wire
