// SPDX-License-Identifier: Apache-2.0
// A piece of a file on its way (proto/spur/v1/files.proto): plain or compressed, with a checksum of what it holds.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "spur/v1/files.pb.h"

namespace spur::wire {

inline constexpr std::size_t kMaxFileBlock = std::size_t{8} << 20;  // of plain data

// Data that compression does not make smaller goes as it is.
v1::FileBlock make_file_block(std::string_view data, bool compress);
// The plain data, in `block` itself or in `room`. Corrupt: it is not what was sent.
Result<std::string_view> open_file_block(const v1::FileBlock& block, std::string& room);

}  // namespace spur::wire
