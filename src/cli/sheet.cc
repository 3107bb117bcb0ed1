// SPDX-License-Identifier: Apache-2.0
#include "cli/sheet.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/json.h"
#include "text/printable.h"

namespace spur::cli {
namespace {

std::string shown(const SheetColumn& column, const SheetCell& cell, std::string_view unknown) {
  if (const auto* text = std::get_if<std::string>(&cell)) return text::printable(*text);
  if (const auto* number = std::get_if<double>(&cell)) return fmt::format("{:.{}f}", *number, column.decimals);
  return std::string(unknown);
}

double number_of(const SheetCell& cell) {
  const auto* number = std::get_if<double>(&cell);
  return number ? *number : 0;
}

// ---- charts

constexpr int kWidth = 860, kLabelWidth = 220, kValueWidth = 90, kBar = 16, kGap = 7, kRowsDrawn = 40;
constexpr std::string_view kColours[] = {"#3b6fb6", "#e08a2c", "#4f9d5d", "#b2b8c2", "#8d5fb0"};

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text::printable(std::string(text))) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string cut(std::string text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 2) + "..";
}

class Picture {
 public:
  void text(int x, int y, std::string_view words, std::string_view anchor, int size = 12, std::string_view more = "") {
    body_ += fmt::format(R"(<text x="{}" y="{}" font-size="{}" text-anchor="{}"{}>{}</text>)"
                         "\n",
                         x, y, size, anchor, more, xml(words));
  }
  void bar(double x, int y, double width, int height, std::size_t colour, const std::string& hint) {
    body_ += fmt::format(R"(<rect x="{:.1f}" y="{}" width="{:.1f}" height="{}" fill="{}"><title>{}</title></rect>)"
                         "\n",
                         x, y, std::max(width, 0.0), height, kColours[colour % std::size(kColours)], xml(hint));
  }
  void line(int x1, int y1, int x2, int y2) {
    body_ += fmt::format(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="#d5d9e0"/>)"
                         "\n",
                         x1, y1, x2, y2);
  }
  std::string finish(int height) && {
    return fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" font-family="sans-serif" fill="#222">)"
        "\n"
        R"(<rect width="{0}" height="{1}" fill="#ffffff"/>)"
        "\n{2}</svg>\n",
        kWidth, height, body_);
  }

 private:
  std::string body_;
};

double largest(const Sheet& sheet) {
  double most = 0;
  for (const auto& row : sheet.rows) {
    double sum = 0;
    for (const auto at : sheet.values) {
      sum = sheet.chart == Sheet::Chart::Stacked ? sum + number_of(row[at]) : std::max(sum, number_of(row[at]));
    }
    most = std::max(most, sum);
  }
  return most;
}

int draw_legend(const Sheet& sheet, Picture& picture, int y) {
  if (sheet.values.size() < 2) return y;
  int x = kLabelWidth;
  for (std::size_t i = 0; i < sheet.values.size(); ++i) {
    const std::string& title = sheet.columns[sheet.values[i]].title;
    picture.bar(x, y, 11, 11, i, title);
    picture.text(x + 16, y + 10, title, "start", 11);
    x += 40 + static_cast<int>(title.size()) * 7;
  }
  return y + 22;
}

int draw_row(const Sheet& sheet, const std::vector<SheetCell>& row, double most, Picture& picture, int y) {
  std::string label;
  for (const auto at : sheet.labels) label += (label.empty() ? "" : " / ") + shown(sheet.columns[at], row[at], "-");
  const double room = kWidth - kLabelWidth - kValueWidth;
  const bool stacked = sheet.chart == Sheet::Chart::Stacked;
  const int thick = stacked || sheet.values.size() == 1 ? kBar : 10;
  const int height = stacked ? kBar : thick * static_cast<int>(sheet.values.size());
  picture.text(kLabelWidth - 8, y + height / 2 + 4, cut(label, 32), "end");
  double x = kLabelWidth;
  std::string sum;
  for (std::size_t i = 0; i < sheet.values.size(); ++i) {
    const auto at = sheet.values[i];
    const double width = most > 0 ? number_of(row[at]) / most * room : 0;
    const std::string value = shown(sheet.columns[at], row[at], "not known");
    const int top = stacked ? y : y + static_cast<int>(i) * thick;
    picture.bar(x, top, width, thick - (stacked || sheet.values.size() == 1 ? 0 : 1), i,
                fmt::format("{}: {} {}", label, sheet.columns[at].title, value));
    if (!stacked) picture.text(static_cast<int>(x + width) + 5, top + thick / 2 + 4, value, "start", thick < kBar ? 9 : 11);
    if (stacked) {
      x += width;
      sum += (sum.empty() ? "" : " + ") + value;
    }
  }
  if (stacked) picture.text(static_cast<int>(x) + 5, y + kBar / 2 + 4, sum, "start", 10);
  return y + height + kGap;
}

int draw(const Sheet& sheet, Picture& picture, int y) {
  picture.text(16, y + 16, sheet.title, "start", 15, R"( font-weight="bold")");
  y = draw_legend(sheet, picture, y + 30);
  if (sheet.rows.empty()) {
    picture.text(kLabelWidth, y + 12, "nothing in this time", "start");
    return y + 40;
  }
  const double most = largest(sheet);
  const int top = y;
  for (std::size_t i = 0; i < sheet.rows.size() && i < kRowsDrawn; ++i) y = draw_row(sheet, sheet.rows[i], most, picture, y);
  if (sheet.rows.size() > kRowsDrawn) {
    picture.text(kLabelWidth, y + 12, fmt::format("and {} more", sheet.rows.size() - kRowsDrawn), "start", 11);
    y += 20;
  }
  picture.line(kLabelWidth, top - 3, kLabelWidth, y);
  if (!sheet.note.empty()) picture.text(kLabelWidth, y + 14, sheet.note, "start", 11, R"( fill="#666")"), y += 20;
  return y + 22;
}

}  // namespace

std::string sheet_text(const Sheet& sheet) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < sheet.columns.size(); ++i) {
    std::size_t width = sheet.columns[i].title.size();
    for (const auto& row : sheet.rows) width = std::max(width, shown(sheet.columns[i], row[i], "-").size());
    widths.push_back(width);
  }
  const auto line = [&](const auto& cell) {
    std::string out;
    for (std::size_t i = 0; i < sheet.columns.size(); ++i) {
      const std::string value = cell(i);
      out += sheet.columns[i].is_number ? fmt::format("{:>{}}", value, widths[i]) : fmt::format("{:<{}}", value, widths[i]);
      if (i + 1 < sheet.columns.size()) out += "  ";
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out + "\n";
  };
  std::string out = sheet.title + "\n\n";
  out += line([&](std::size_t i) { return sheet.columns[i].title; });
  out += line([&](std::size_t i) { return std::string(widths[i], '-'); });
  for (const auto& row : sheet.rows) out += line([&](std::size_t i) { return shown(sheet.columns[i], row[i], "-"); });
  if (sheet.rows.empty()) out += "nothing in this time\n";
  if (!sheet.note.empty()) out += "\n" + sheet.note + "\n";
  return out;
}

std::string sheet_csv(const Sheet& sheet) {
  const auto quoted = [](const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
  };
  std::string out;
  for (std::size_t i = 0; i < sheet.columns.size(); ++i) out += (i ? "," : "") + sheet.columns[i].key;
  out += "\r\n";
  for (const auto& row : sheet.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto* text = std::get_if<std::string>(&row[i]);
      out += (i ? "," : "") + (text ? quoted(*text) : shown(sheet.columns[i], row[i], ""));
    }
    out += "\r\n";
  }
  return out;
}

void sheet_json(const Sheet& sheet, Json& json) {
  json.open_object(sheet.name).field("title", sheet.title);
  if (!sheet.note.empty()) json.field("note", sheet.note);
  json.open_array("rows");
  for (const auto& row : sheet.rows) {
    json.open_object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (const auto* text = std::get_if<std::string>(&row[i]))
        json.field(sheet.columns[i].key, std::string_view(*text));
      else
        json.field(sheet.columns[i].key, std::holds_alternative<double>(row[i]) ? number_of(row[i]) : NAN);
    }
    json.close_object();
  }
  json.close_array().close_object();
}

std::string sheets_svg(const std::vector<Sheet>& sheets, std::string_view heading) {
  Picture picture;
  picture.text(16, 28, heading, "start", 13, R"( fill="#666")");
  int y = 44;
  for (const Sheet& sheet : sheets) y = draw(sheet, picture, y);
  return std::move(picture).finish(y + 8);
}

}  // namespace spur::cli
