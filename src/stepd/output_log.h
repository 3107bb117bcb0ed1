// SPDX-License-Identifier: Apache-2.0
// What the tasks of a step have to tell, until srun has it for good: agents and connections on the way may fail, and
// whoever comes next gets it from where srun was. Numbers the outputs; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "spur/v1/agent.pb.h"
#include "stepd/frame_stream.h"

namespace spur::stepd {

class OutputLog {
 public:
  void append(v1::StepOutput message, std::uint32_t part);
  // The next one to be sent; nullptr: all are.
  Frame next();
  void acknowledge(std::uint64_t seq);  // all up to this one
  void rewind(std::uint64_t after);     // send again what comes after this one
  std::uint64_t sent() const { return first_ + next_ - 1; }
  std::size_t bytes() const { return bytes_; }  // kept
  bool empty() const { return frames_.empty(); }

 private:
  std::deque<Frame> frames_;
  std::uint64_t first_ = 1;  // number of the front
  std::size_t next_ = 0;     // position of the next one to be sent
  std::size_t bytes_ = 0;
};

// A message in its frame, without going through another copy.
Frame frame_of(const v1::StepOutput& message);

}  // namespace spur::stepd
