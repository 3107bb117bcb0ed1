// SPDX-License-Identifier: Apache-2.0
#include "wire/file_block.h"

#include <fmt/format.h>
#include <zstd.h>

#include "wire/envelope.h"

namespace spur::wire {

namespace {
constexpr int kLevel = 1;  // faster than most networks
}

v1::FileBlock make_file_block(std::string_view data, bool compress) {
  v1::FileBlock out;
  out.set_checksum(checksum_of(data));
  if (compress) {
    std::string packed(ZSTD_compressBound(data.size()), '\0');
    const std::size_t size = ZSTD_compress(packed.data(), packed.size(), data.data(), data.size(), kLevel);
    if (ZSTD_isError(size) == 0 && size < data.size()) {
      packed.resize(size);
      out.set_data(std::move(packed));
      out.set_plain_bytes(static_cast<std::uint32_t>(data.size()));
      return out;
    }
  }
  out.set_data(data.data(), data.size());
  return out;
}

Result<std::string_view> open_file_block(const v1::FileBlock& block, std::string& room) {
  std::string_view data = block.data();
  if (block.plain_bytes() > kMaxFileBlock || data.size() > kMaxFileBlock)
    return fail(ErrorCode::Corrupt, "a block of a file is too large");
  if (block.plain_bytes() > 0) {
    room.resize(block.plain_bytes());
    const std::size_t size = ZSTD_decompress(room.data(), room.size(), data.data(), data.size());
    if (ZSTD_isError(size) != 0 || size != room.size())
      return fail(ErrorCode::Corrupt, "a block of a file cannot be decompressed");
    data = room;
  }
  if (checksum_of(data) != block.checksum()) return fail(ErrorCode::Corrupt, "a block of a file arrived damaged");
  return data;
}

}  // namespace spur::wire
