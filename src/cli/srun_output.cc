// SPDX-License-Identifier: Apache-2.0
#include "cli/srun_output.h"

namespace spur::cli {

TaskOutput::TaskOutput(Output& out, std::uint32_t tasks, bool label, bool unbuffered,
                       std::optional<std::uint32_t> only)
    : out_(out),
      label_(label),
      whole_lines_(!unbuffered && (label || tasks > 1)),
      only_(only),
      width_(static_cast<int>(fmt::formatted_size("{}", tasks > 0 ? tasks - 1 : 0))) {}

void TaskOutput::add(std::uint32_t rank, std::string_view data) {
  if (only_ && *only_ != rank) return;
  if (!whole_lines_) {
    if (label_)  // each piece is a line of its own, as in Slurm
      write_lines(rank, data.ends_with('\n') ? std::string(data) : std::string(data) + "\n");
    else
      out_.write(data);
    out_.flush();
    return;
  }
  std::string& start = started_[rank];
  start.append(data);
  const std::size_t end = start.rfind('\n');
  if (end == std::string::npos) return;
  write_lines(rank, std::string_view(start).substr(0, end + 1));
  start.erase(0, end + 1);
  out_.flush();
}

void TaskOutput::write_lines(std::uint32_t rank, std::string_view lines) {
  if (!label_) return out_.write(lines);
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    out_.print("{:>{}}: {}", rank, width_, lines.substr(0, end));
    lines.remove_prefix(end);
  }
}

void TaskOutput::finish() {
  for (auto& [rank, line] : started_)
    if (!line.empty()) write_lines(rank, label_ ? line + "\n" : line);
  started_.clear();
  out_.flush();
}

}  // namespace spur::cli
