// SPDX-License-Identifier: Apache-2.0
#include "replay/swf.h"

#include <array>
#include <limits>

#include "replay/fields.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::replay {
namespace {

constexpr std::size_t kColumns = 18;
constexpr std::int64_t kFar = std::int64_t{1} << 40;  // seconds and counts beyond this are damage, not data

std::int32_t narrow(std::int64_t value) {
  return value < 0 || value > std::numeric_limits<std::int32_t>::max() ? -1 : static_cast<std::int32_t>(value);
}

// The 18 numbers; further columns, which some files have, are not looked at.
bool read_numbers(std::string_view line, std::array<std::int64_t, kColumns>& numbers) {
  for (std::int64_t& number : numbers) {
    const auto value = parse_number(next_word(line));
    if (!value || *value > kFar || *value < -kFar) return false;
    number = *value;
  }
  return true;
}

bool read_job(std::string_view line, SwfJob& job) {
  std::array<std::int64_t, kColumns> n{};
  if (!read_numbers(line, n) || n[1] < 0) return false;
  job.id = n[0];
  job.submit = n[1];
  job.run = n[3];
  job.processors = n[4] > 0 ? n[4] : n[7];
  job.requested = n[8] > 0 ? n[8] : -1;
  job.user = narrow(n[11]);
  job.group = narrow(n[12]);
  job.queue = narrow(n[14]);
  job.partition = narrow(n[15]);
  return true;
}

// "; MaxProcs: 9216"
void read_comment(std::string_view line, SwfTrace& trace) {
  line.remove_prefix(1);
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view key = text::trim(line.substr(0, colon)), value = text::trim(line.substr(colon + 1));
  const auto number = [&](std::optional<std::int64_t>& field, std::int64_t least) {
    std::string_view rest = value;
    const auto read = parse_number(next_word(rest));
    if (!field && read && *read >= least && *read <= kFar) field = read;
  };
  if (key == "MaxProcs") number(trace.max_processors, 1);
  if (key == "MaxNodes") number(trace.max_nodes, 1);
  if (key == "UnixStartTime") number(trace.unix_start, 0);
  if ((key == "Computer" || key == "Installation") && trace.computer.empty()) trace.computer = text::shown(value);
}

}  // namespace

SwfTrace parse_swf(std::string_view text) {
  SwfTrace trace;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    ++number;
    if (line.empty() || text::trim(line).empty()) continue;
    if (line.front() == ';') {
      read_comment(line, trace);
      continue;
    }
    SwfJob job;
    if (read_job(line, job)) {
      trace.jobs.push_back(job);
    } else if (++trace.broken_lines == 1) {
      trace.first_broken = number;
    }
  }
  return trace;
}

}  // namespace spur::replay
