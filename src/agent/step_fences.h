// SPDX-License-Identifier: Apache-2.0
// The fences of an MPI step: what the tasks of each part have for the others is gathered, and given to all when all
// have come. Parts tell their last two fences again when a connection was lost; so do they to a new step manager,
// which gathers what its predecessor did not get to. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace spur::agent {

class StepFences {
 public:
  struct Pass {
    std::uint64_t number = 0;
    std::string data;
    std::optional<std::size_t> only;  // this part; otherwise all
  };
  explicit StepFences(std::size_t parts = 0) : parts_(parts) {}
  // A part has come to a fence. What can be passed now, if any.
  std::optional<Pass> at(std::size_t part, std::uint64_t number, std::string data);
  // Its tasks have ended: it keeps nobody waiting.
  std::optional<Pass> over(std::size_t part);

 private:
  std::optional<Pass> pass();
  struct Part {
    std::map<std::uint64_t, std::string> at;
    bool over = false;
  };
  std::vector<Part> parts_;
  Pass last_;
};

}  // namespace spur::agent
