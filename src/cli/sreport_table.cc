// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <set>

#include "cli/display.h"
#include "cli/sreport.h"
#include "text/date.h"
#include "text/decimal.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::cli {

std::string_view report_unit_words(ReportUnit unit) {
  static constexpr std::string_view kWords[] = {"Seconds",
                                                "Minutes",
                                                "Hours",
                                                "Percentage of Total",
                                                "Seconds/Percentage of Total",
                                                "Minutes/Percentage of Total",
                                                "Hours/Percentage of Total"};
  return kWords[static_cast<std::size_t>(unit)];
}

std::string report_amount(ReportUnit unit, std::uint64_t seconds, std::uint64_t total) {
  const auto in = [&](double parts) { return fmt::format("{:.0f}", static_cast<double>(seconds) / parts); };
  const double share = total ? 100.0 * static_cast<double>(seconds) / static_cast<double>(total) : 0.0;
  const std::string percent = fmt::format("{:.2f}%", share);
  switch (unit) {
    case ReportUnit::Seconds:
      return in(1);
    case ReportUnit::Minutes:
      return in(60);
    case ReportUnit::Hours:
      return in(3600);
    case ReportUnit::Percent:
      return percent;
    case ReportUnit::SecPer:
      return fmt::format("{}({})", in(1), percent);
    case ReportUnit::MinPer:
      return fmt::format("{}({})", in(60), percent);
    case ReportUnit::HourPer:
      return fmt::format("{}({})", in(3600), percent);
  }
  return "";
}

// ---- tables

bool ReportTable::choose(std::span<const ReportField> fields, std::string_view format) {
  for (const auto word : text::split(format, ',')) {
    if (word.empty()) continue;
    const auto percent = word.find('%');
    const std::string_view name = word.substr(0, percent);
    const auto found = std::ranges::find_if(fields, [&](const ReportField& field) {
      return name.size() >= field.least && text::starts_with_ignoring_case(field.name, name);
    });
    if (found == fields.end()) {
      context_.plain(" Unknown field '{}'", name);
      return false;
    }
    int width = found->width;
    if (percent != std::string_view::npos && !found->is_usage) {
      std::string_view digits = word.substr(percent + 1);
      const bool left = digits.starts_with('-');
      if (left) digits.remove_prefix(1);
      const int number = static_cast<int>(std::min(text::parse_decimal32(digits).value_or(0), 1'000'000u));
      if (number > 0) width = left ? -number : number;
    }
    if (found->is_usage && with_percentage(style_.unit)) width += 9;
    columns_.push_back({&*found, std::string(found->title), width});
  }
  return true;
}

void ReportTable::add_column(std::string title, int width) {
  columns_.push_back({nullptr, std::move(title), width});
}

void ReportTable::widen(std::string_view field, std::uint64_t seconds) {
  const int digits = static_cast<int>(fmt::formatted_size("{}", seconds)) + (with_percentage(style_.unit) ? 9 : 0);
  for (Column& column : columns_)
    if (column.field && column.field->is_usage && column.field->name == field)
      column.width = std::max(column.width, digits);
}

void ReportTable::line(const std::vector<std::string>& cells, bool title) {
  std::string line;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::string value = cells[i];
    if (style_.parsable || style_.parsable2) {
      line += value;
      if (style_.parsable || i + 1 < columns_.size()) line += '|';
      continue;
    }
    const auto width = static_cast<std::size_t>(std::abs(columns_[i].width));
    if (value.size() > width) {
      value.resize(title ? width : width - 1);
      if (!title) value += '+';
    }
    line += columns_[i].width < 0 ? fmt::format("{:<{}} ", value, width) : fmt::format("{:>{}} ", value, width);
  }
  context_.out.write(text::printable(line) + "\n");
}

void ReportTable::print() {
  if (!style_.no_header) {
    std::vector<std::string> names, lines;
    for (const Column& column : columns_) {
      names.push_back(column.title);
      lines.emplace_back(static_cast<std::size_t>(std::abs(column.width)), '-');
    }
    line(names, true);
    if (!style_.parsable && !style_.parsable2) line(lines, true);
  }
  for (const Cells& cells : rows_) {
    std::vector<std::string> values;
    for (const Column& column : columns_) {
      const auto cell = cells.find(column.field ? column.field->name : std::string_view(column.title));
      values.push_back(cell == cells.end() ? "" : cell->second);
    }
    line(values, false);
  }
}

// ---- what all reports start with

// The hour of the clock on the wall: where that is not whole hours from UTC, hours begin elsewhere.
static Time whole_hour(Time at) {
  const std::time_t second = to_unix_seconds(at);
  std::tm local{};
  ::localtime_r(&second, &local);
  return from_unix_seconds(second - local.tm_min * 60 - local.tm_sec);
}

Status Report::set_window() {
  const Time now = context.now();
  const Time today = text::parse_date("00:00:00", now, text::DateSense::Past).value_or(now);
  from = today - hours(24);
  until = today;
  const auto take = [&](const std::optional<std::string>& word, Time* into) {
    if (!word) return false;
    const auto at = text::parse_date(*word, now, text::DateSense::Past);
    if (!at) return context.plain("{}", at.error().message), false;
    *into = *at;
    return true;
  };
  if (take(wish.start, &from)) until = std::max(until, whole_hour(now));
  (void)take(wish.end, &until);
  from = whole_hour(from);
  // As Slurm: nothing beyond now, and whole hours, the nearest ones.
  until = whole_hour(std::min(until, now) + minutes(30));
  if (until <= from) until = from + hours(1);
  return {};
}

std::vector<std::string> Report::wanted_clusters() const {
  if (style.all_clusters || wish.all_clusters) return {};
  if (wish.clusters.empty() && !style.clusters.empty()) return style.clusters;
  return wish.clusters.empty() ? std::vector<std::string>{accounting.cluster()} : wish.clusters;
}

Status Report::load() {
  v1::AcctUsageQuery query;
  for (const auto& name : wanted_clusters()) query.add_clusters(name);
  query.set_from_us(to_micros(from));
  query.set_until_us(to_micros(until));
  SPUR_TRY(accounting.usage(query, &usage));
  for (const auto& row : usage.clusters())
    totals[row.cluster() + "\n" + row.tres()] =
        row.allocated() + row.down() + row.planned_down() + row.idle() + row.reserved();
  return {};
}

Result<std::vector<std::string>> Report::wanted_tres() const {
  if (style.tres.empty()) return std::vector<std::string>{"cpu"};
  std::vector<model::TresRecord> all = records.tres;
  std::ranges::sort(all, {}, &model::TresRecord::id);
  const auto name_of = [](const model::TresRecord& record) {
    return record.name.empty() ? record.type : record.type + "/" + record.name;
  };
  std::vector<std::string> out;
  if (text::equal_ignoring_case(style.tres, "ALL")) {
    for (const auto& record : all) out.push_back(name_of(record));
    return out;
  }
  for (const auto word : text::split(style.tres, ',')) {
    const auto found = std::ranges::find_if(all, [&](const auto& record) {
      return text::equal_ignoring_case(name_of(record), word) || fmt::format("{}", record.id) == word;
    });
    if (found != all.end()) out.push_back(name_of(*found));
  }
  if (out.empty()) return fail(ErrorCode::NotFound, "No valid TRES given");
  return out;
}

void Report::title(std::string_view words, bool with_seconds, bool tres_anyway) const {
  if (style.no_header) return;
  const bool percent = style.unit == ReportUnit::Percent;
  const std::string_view what = percent ? "" : names_tres() || tres_anyway ? "TRES " : "CPU ";
  context.out.write(fmt::format("{0}\n{1} {2} - {3}{4}\nUsage reported in {5}{6}\n{0}\n", std::string(80, '-'), words,
                                moment(from, ""), moment(until - seconds(1), ""),
                                with_seconds ? fmt::format(" ({} secs)", span()) : "", what,
                                report_unit_words(style.unit)));
}

}  // namespace spur::cli
