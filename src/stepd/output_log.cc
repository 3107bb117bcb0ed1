// SPDX-License-Identifier: Apache-2.0
#include "stepd/output_log.h"

#include <algorithm>
#include <string>
#include <utility>

namespace spur::stepd {

Frame frame_of(const v1::StepOutput& message) {
  const std::size_t size = message.ByteSizeLong();
  auto frame = std::make_shared<std::string>();
  frame->resize_and_overwrite(wire::kFramePrefixBytes + size, [&](char* to, std::size_t) {
    to[0] = 0;
    for (int i = 0; i < 4; ++i) to[1 + i] = static_cast<char>(size >> (24 - 8 * i));
    message.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(to + wire::kFramePrefixBytes));
    return wire::kFramePrefixBytes + size;
  });
  return frame;
}

void OutputLog::append(v1::StepOutput message, std::uint32_t part) {
  message.set_part(part);
  message.set_seq(first_ + frames_.size());
  bytes_ += frames_.emplace_back(frame_of(message))->size();
}

Frame OutputLog::next() {
  return next_ < frames_.size() ? frames_[next_++] : nullptr;
}

void OutputLog::acknowledge(std::uint64_t seq) {
  while (!frames_.empty() && first_ <= seq) {
    bytes_ -= frames_.front()->size();
    frames_.pop_front();
    ++first_;
    if (next_ > 0) --next_;
  }
}

void OutputLog::rewind(std::uint64_t after) {
  acknowledge(after);
  next_ = 0;
}

}  // namespace spur::stepd
