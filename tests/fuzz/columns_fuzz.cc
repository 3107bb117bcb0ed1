// SPDX-License-Identifier: Apache-2.0
#include "text/columns.h"

#include "fuzz.h"

namespace spur::text {

SPUR_FUZZ(columns, "%.18i %.9P %.8j|text", "%%i%5.3j", "jobid:10,name:.20,state:|", "%99999999j",
          "name:\x1f,,jobid:", "%") {
  using Row = std::string_view;
  static const std::vector<Column<Row>> table = {
      {{'i', "JobID", 20}, "JOBID", [](const Row&, std::string& out) { out += "137"; }},
      {{'j', "Name", 20}, "NAME", [](const Row& row, std::string& out) { out += row; }},
      {{'P', "Partition", 9}, "PARTITION", [](const Row&, std::string& out) { out += "\xc3\xa4\xc3\xb6"; }},
  };
  const std::span<const Column<Row>> columns(table);
  for (const Format& format :
       {parse_short_format(input, keys_of(columns)), parse_long_format(input, keys_of(columns))}) {
    std::string line;
    append_header(format, columns, line);
    append_row(format, columns, input.substr(0, 100), line);
    for (const FormatPiece& piece : format.pieces) {
      std::string cell;
      if (piece.column != FormatPiece::kText) table[piece.column].render(input, cell);
      finish_cell(cell, 0, piece);
      SPUR_CHECK(piece.width == 0 || cell.size() == piece.width + piece.suffix.size());
    }
  }
}

}  // namespace spur::text
