// SPDX-License-Identifier: Apache-2.0
// The library's server, for the tasks of one step on this node. One per process, as the library has it.
//
// Events come from a thread of the library.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace spur::pmix {

struct StepMap {
  std::string name;  // of the namespace
  std::vector<std::string> nodes;
  std::vector<std::vector<std::uint32_t>> ranks;  // of each node
  std::uint32_t node = 0;                         // this one
  std::uint32_t uid = 0, gid = 0;
};

struct PmixEvents {
  std::function<void(std::string data)> fence;  // all tasks here have come to it
  std::function<void(std::uint32_t rank, int code, std::string text)> abort;
};

class PmixNode {
 public:
  // `directory`: where the library puts its files; ours alone.
  static Status start(const StepMap& step, const std::string& directory, PmixEvents events);
  // Of a task on this node: NAME=VALUE each.
  static Result<std::vector<std::string>> environment(const StepMap& step, std::uint32_t rank);
  // What the tasks of all nodes had to tell.
  static void pass_fence(std::string data);
  static void stop();
};

}  // namespace spur::pmix
