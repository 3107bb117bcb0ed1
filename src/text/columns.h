// SPDX-License-Identifier: Apache-2.0
// Output formats of squeue and sinfo: -o "%.18i %.9P|text" and -O "JobID:10,Name:.20,State:|". A command keeps one
// table of columns; this turns a user's format into pieces and a record into a line. Byte for byte as Slurm, save
// that a cell is never cut inside a UTF-8 character and never carries control characters to a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spur::text {

// How a format finds a column. A column may lack a letter (0) or a long name (empty).
struct ColumnKey {
  char letter = 0;
  std::string_view long_name;        // compared ignoring case
  std::uint32_t default_width = 20;  // of -O without a width
};

struct FormatPiece {
  static constexpr std::size_t kText = static_cast<std::size_t>(-1);
  std::size_t column = kText;  // index into the table; kText: only `suffix` is printed
  std::uint32_t width = 0;     // 0: as long as it is
  bool right = false;
  std::string suffix;  // printed after the cell as it is
  friend bool operator==(const FormatPiece&, const FormatPiece&) = default;
};

struct Format {
  std::vector<FormatPiece> pieces;
  // What named no column, in Slurm's words after "Invalid job format specification: ". The command complains about
  // each and goes on: a bad piece of -o is printed as text, a bad field of -O is left out.
  std::vector<std::string> unknown;
  friend bool operator==(const Format&, const Format&) = default;
};

Format parse_short_format(std::string_view text, std::span<const ColumnKey> columns);  // -o
Format parse_long_format(std::string_view text, std::span<const ColumnKey> columns);   // -O

// Makes the cell that starts at `start` of `line` harmless, cuts or pads it, and adds the suffix.
void finish_cell(std::string& line, std::size_t start, const FormatPiece& piece, bool cut = true);

template <class Row>
struct Column {
  ColumnKey key;
  std::string_view header;
  std::function<void(const Row&, std::string& out)> render;  // appends the cell's text to `out`
};

template <class Row>
std::vector<ColumnKey> keys_of(std::span<const Column<Row>> columns) {
  std::vector<ColumnKey> keys;
  keys.reserve(columns.size());
  for (const auto& column : columns) keys.push_back(column.key);
  return keys;
}

// The header without a newline, appended to `line`.
template <class Row>
void append_header(const Format& format, std::span<const Column<Row>> columns, std::string& line) {
  for (const FormatPiece& piece : format.pieces) {
    const std::size_t start = line.size();
    if (piece.column != FormatPiece::kText) line += columns[piece.column].header;
    finish_cell(line, start, piece);
  }
}

template <class Row>
void append_row(const Format& format, std::span<const Column<Row>> columns, const Row& row, std::string& line) {
  for (const FormatPiece& piece : format.pieces) {
    const std::size_t start = line.size();
    if (piece.column != FormatPiece::kText) columns[piece.column].render(row, line);
    finish_cell(line, start, piece);
  }
}

}  // namespace spur::text
