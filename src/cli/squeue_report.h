// SPDX-License-Identifier: Apache-2.0
// The text of squeue's lines: a header, a line, and a whole report, which is made while the list is still coming in and
// keeps only text and order of the lines. Most of what a long list costs is memory that is touched for the first time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"
#include "cli/squeue_sort.h"
#include "text/columns.h"

namespace spur::cli {

// Without a newline.
std::string header_text(const text::Format& format);
void append_line(const text::Format& format, const JobLine& job, Style style, std::string& text);

// How far the arrays of a list are, by id.
std::map<std::uint32_t, ArrayProgress> progress_of(const wire::JobTable& table);
// Each array's progress stands on the first of its lines.
void show_progress(std::vector<JobLine>& lines, const std::map<std::uint32_t, ArrayProgress>& arrays);

class QueueReport {
 public:
  // `order` null: nothing will be written.
  QueueReport(const text::Format& format, Style style, LineOrder* order)
      : format_(format), style_(style), order_(order) {}
  void take(const std::vector<JobLine>& lines);
  void write(Output& out);

 private:
  const text::Format& format_;
  Style style_;
  LineOrder* order_;
  void append(const JobLine& line, const wire::JobFields& in_common);
  struct Cell {
    const JobColumn* column = nullptr;  // null: the format's own text
    std::string value, text;            // as the column gives it, and as it is printed
  };
  std::vector<Cell> above_;
  static constexpr std::size_t kBlock = 64 * 1024;
  std::string line_;
  std::deque<std::string> blocks_;        // the text, in pieces that are not moved
  std::vector<std::string_view> lines_;  // in them
};

}  // namespace spur::cli
