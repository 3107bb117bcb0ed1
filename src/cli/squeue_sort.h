// SPDX-License-Identifier: Apache-2.0
// The order of squeue's lines: -S "P,t,-p", Slurm's default. Numbers and moments sort by value, all else by its text;
// lines that compare equal by ascending id.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/squeue_columns.h"

namespace spur::cli {

// Takes lines one by one, and keeps nothing of them but what they are sorted by.
class LineOrder {
 public:
  LineOrder(LineOrder&&) = default;
  LineOrder(const LineOrder&) = delete;  // keys point into their own texts
  using Number = std::int64_t (*)(const JobLine& line);
  // Or the letter that names no column to sort by.
  static std::expected<LineOrder, char> parse(std::string_view keys);
  // `in_common`: with the line that was added before (squeue_alike.h).
  void add(const JobLine& line, const wire::JobFields& in_common = {});
  // The lines, counted as they were added, in their order. Once: what they are sorted by is gone then.
  std::vector<std::size_t> order();
  // What `add` looks at, besides kLineFields.
  const wire::JobFields& fields() const { return fields_; }

 private:
  struct Key {
    Number number = nullptr;            // of a line; null: the column's text is the key
    const JobColumn* column = nullptr;
    bool descending = false;
    std::unordered_map<std::string, std::int64_t> texts;  // numbered as they came
    const std::pair<const std::string, std::int64_t>* last = nullptr;
    std::vector<std::int64_t> ranks() const;              // by those numbers
  };
  LineOrder() = default;
  std::vector<Key> keys_;
  std::vector<std::int64_t> places_;  // of each line, by each key
  wire::JobFields fields_;
};

// Sorts. Returns the letter that names no column (nothing is sorted then), or 0.
char sort_lines(std::vector<JobLine>& lines, std::string_view text);
// What that looks at, besides kLineFields.
wire::JobFields sort_fields(std::string_view text);

}  // namespace spur::cli
