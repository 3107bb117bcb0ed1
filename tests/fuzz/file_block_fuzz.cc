// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "wire/file_block.h"

namespace spur::wire {

SPUR_FUZZ(file_block, "abc", std::string_view("\x28\xb5\x2f\xfd\x04\x00\x19\x00\x00" "abc", 12)) {
  v1::FileBlock block;
  block.set_data(input.data(), input.size());
  std::string room;
  block.set_plain_bytes(static_cast<std::uint32_t>(input.size() * 7 % 4096));
  (void)open_file_block(block, room);
  if (block.ParseFromArray(input.data(), static_cast<int>(input.size()))) (void)open_file_block(block, room);
}

}  // namespace spur::wire
