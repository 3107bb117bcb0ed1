// SPDX-License-Identifier: Apache-2.0
// The Standard Workload Format: one job a line, 18 numbers, -1 for "not known"; lines that begin with ';' are
// comments, some of which name the machine. Any text is a trace: lines that make no sense are counted and left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spur::replay {

struct SwfJob {
  std::int64_t id = 0;
  std::int64_t submit = 0;      // seconds since the trace's beginning
  std::int64_t run = -1;        // seconds
  std::int64_t processors = 0;  // given to it; where that is not known, asked for
  std::int64_t requested = -1;  // seconds it asked for; -1: not known
  std::int32_t user = -1, group = -1, queue = -1, partition = -1;
  friend bool operator==(const SwfJob&, const SwfJob&) = default;
};

struct SwfTrace {
  std::string computer;  // Computer or Installation; may be empty
  std::optional<std::int64_t> max_nodes, max_processors, unix_start;
  std::vector<SwfJob> jobs;      // in the order of the file
  std::size_t broken_lines = 0;  // neither comment nor job
  std::size_t first_broken = 0;  // number of the first of them, from 1
};

SwfTrace parse_swf(std::string_view text);

}  // namespace spur::replay
