// SPDX-License-Identifier: Apache-2.0
// A table that people look at, in four forms: text, CSV, JSON, and a chart (SVG). What is in it is its maker's affair
// (spur report).
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace spur::cli {

class Json;

using SheetCell = std::variant<std::monostate, std::string, double>;  // monostate: not known

struct SheetColumn {
  std::string key;    // of CSV and JSON: "gpu_hours"
  std::string title;  // of text and charts: "GPU hours"
  bool is_number = false;
  int decimals = 1;
};

struct Sheet {
  enum class Chart : unsigned char { Stacked, Grouped };
  std::string name;   // "gpu"
  std::string title;  // "GPU hours by account and user"
  std::vector<SheetColumn> columns;
  std::vector<std::vector<SheetCell>> rows;
  std::string note;                 // a sentence below; may be empty
  std::vector<std::size_t> labels;  // columns that name a bar
  std::vector<std::size_t> values;  // columns that are drawn
  Chart chart = Chart::Grouped;
};

std::string sheet_text(const Sheet& sheet);
std::string sheet_csv(const Sheet& sheet);  // RFC 4180, with a header
void sheet_json(const Sheet& sheet, Json& json);
// All of them below each other in one picture.
std::string sheets_svg(const std::vector<Sheet>& sheets, std::string_view heading);

}  // namespace spur::cli
