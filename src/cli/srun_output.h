// SPDX-License-Identifier: Apache-2.0
// What the tasks write, on its way to srun's own output: whole lines where several tasks write (so that they do not
// tear one another apart), with the task's number in front for -l.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cli/output.h"

namespace spur::cli {

class TaskOutput {
 public:
  // `only`: print that task's output alone (-o 3).
  TaskOutput(Output& out, std::uint32_t tasks, bool label, bool unbuffered, std::optional<std::uint32_t> only);
  void add(std::uint32_t rank, std::string_view data);
  // Lines that had no end yet.
  void finish();

 private:
  void write_lines(std::uint32_t rank, std::string_view lines);
  Output& out_;
  bool label_, whole_lines_;
  std::optional<std::uint32_t> only_;
  int width_;
  std::map<std::uint32_t, std::string> started_;  // the last line of each task while it has no end
};

}  // namespace spur::cli
