// SPDX-License-Identifier: Apache-2.0
#include "text/columns.h"

#include <algorithm>

#include "text/printable.h"
#include "text/words.h"

namespace spur::text {
namespace {

constexpr std::uint32_t kMaxWidth = 4096;

// Digits at `at`, which moves behind them. Absurd widths are cut: a line must not cost gigabytes.
std::uint32_t take_width(std::string_view text, std::size_t& at) {
  std::uint32_t width = 0;
  for (; at < text.size() && is_digit(text[at]); ++at)
    width = std::min(kMaxWidth, width * 10 + static_cast<std::uint32_t>(text[at] - '0'));
  return width;
}

std::optional<std::size_t> find_letter(std::span<const ColumnKey> columns, char letter) {
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (letter != 0 && columns[i].letter == letter) return i;
  return std::nullopt;
}

std::optional<std::size_t> find_name(std::span<const ColumnKey> columns, std::string_view name) {
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (!name.empty() && equal_ignoring_case(columns[i].long_name, name)) return i;
  return std::nullopt;
}

bool needs_care(std::string_view cell) {
  return std::any_of(cell.begin(), cell.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte >= 0x7f;
  });
}

}  // namespace

Format parse_short_format(std::string_view text, std::span<const ColumnKey> columns) {
  Format format;
  // Slurm cuts the text at every '%' and skips empty pieces: "%%i" is "%i".
  const auto first = text.find('%');
  if (first != 0 && !text.empty())
    format.pieces.push_back(
        {.column = FormatPiece::kText, .width = 0, .right = false, .suffix = std::string(text.substr(0, first))});
  std::string_view rest = first == std::string_view::npos ? std::string_view() : text.substr(first + 1);
  for (const auto token : split(rest, '%')) {
    if (token.empty()) continue;
    FormatPiece piece;
    std::size_t at = 0;
    if (token[at] == '.') piece.right = true, ++at;
    piece.width = take_width(token, at);
    const char letter = at < token.size() ? token[at] : '\0';
    const auto column = find_letter(columns, letter);
    if (column) {
      piece.column = *column;
      piece.suffix = token.substr(at + 1);
    } else {
      format.unknown.emplace_back(letter == 0 ? std::string() : std::string(1, letter));
      piece = {.column = FormatPiece::kText, .width = 0, .right = false, .suffix = "%" + std::string(token)};
    }
    format.pieces.push_back(std::move(piece));
  }
  return format;
}

Format parse_long_format(std::string_view text, std::span<const ColumnKey> columns) {
  Format format;
  for (const auto field : split(text, ',')) {
    if (field.empty()) continue;
    const auto colon = field.find(':');
    const std::string_view name = field.substr(0, colon);
    const auto column = find_name(columns, name);
    if (!column) {
      format.unknown.emplace_back(name);
      continue;
    }
    FormatPiece piece{.column = *column, .width = columns[*column].default_width, .right = false, .suffix = {}};
    if (colon != std::string_view::npos) {
      const std::string_view how = field.substr(colon + 1);
      std::size_t at = 0;
      if (at < how.size() && how[at] == '.') piece.right = true, ++at;
      piece.width = take_width(how, at);
      piece.suffix = how.substr(at);
    }
    format.pieces.push_back(std::move(piece));
  }
  return format;
}

void finish_cell(std::string& line, std::size_t start, const FormatPiece& piece, bool cut) {
  if (const std::string_view cell = std::string_view(line).substr(start); needs_care(cell)) {
    const std::string harmless = printable(cell);
    line.resize(start);
    line += harmless;
  }
  if (piece.width > 0) {
    if (cut && line.size() - start > piece.width) {
      std::size_t end = start + piece.width;
      while (end > start && (static_cast<unsigned char>(line[end]) & 0xc0u) == 0x80) --end;
      line.resize(end);
    }
    const std::size_t missing = piece.width - std::min<std::size_t>(piece.width, line.size() - start);
    line.insert(piece.right ? start : line.size(), missing, ' ');
  }
  line += piece.suffix;
}

}  // namespace spur::text
