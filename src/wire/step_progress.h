// SPDX-License-Identifier: Apache-2.0
// How far srun is with a step: what it has heard of each part and need not hear again, and what it has sent that not
// all parts are known to have. Enough to go on after an interruption without losing or repeating a byte. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spur/v1/agent.pb.h"

namespace spur::wire {

class StepProgress {
 public:
  // False: not to be looked at; it has been here before, will come again, or was for us alone.
  bool take(const v1::StepOutput& output, std::size_t bytes);
  // What may be acknowledged now; each is given once.
  std::vector<v1::StepAck> acknowledge();

  // Numbers an input for all tasks or one; its bytes, kept until they have arrived. They are good until the next
  // call.
  std::string_view number(v1::StepInput input, std::optional<std::uint32_t> rank);
  std::size_t kept_bytes() const { return kept_bytes_; }

  // After an interruption: what to tell the step manager, and what to send again.
  v1::StepResume resume() const;
  const auto& kept() const { return kept_; }
  // Acknowledgements may have been lost on the way.
  void forget_acknowledged();

  bool granted() const { return granted_; }
  bool done() const;  // all parts are

 private:
  struct Part {
    std::uint64_t seen = 0, acknowledged = 0, taken = 0;
    std::size_t bytes = 0;  // seen and not acknowledged
    bool done = false;
  };
  struct Kept {
    std::uint64_t seq = 0;
    std::optional<std::uint32_t> rank;
    std::string bytes;
  };
  bool arrived(const Kept& input) const;
  void drop_arrived();

  std::vector<Part> parts_;
  std::map<std::uint32_t, std::uint32_t> part_of_;  // by rank
  std::deque<Kept> kept_;
  std::size_t kept_bytes_ = 0;
  std::uint64_t last_ = 0;
  bool granted_ = false;
};

}  // namespace spur::wire
