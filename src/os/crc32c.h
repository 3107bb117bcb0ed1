// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli), the checksum of everything the daemons store. Catches damage, not malice.
#pragma once

#include <cstdint>
#include <string_view>

namespace spur::os {

// The checksum of `bytes`, or of all bytes so far when `so_far` is the checksum of those before.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t so_far = 0);

}  // namespace spur::os
