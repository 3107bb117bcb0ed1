// SPDX-License-Identifier: Apache-2.0
// Fields become bit sets; the next time is looked for day by day, for as long as it takes a 29th of February to come
// back on the day of the week that was asked for.
#include "text/cron.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <span>

#include "text/decimal.h"
#include "text/directives.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::text {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                      "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kDays = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
constexpr int kMostDays = 40 * 366;  // 29 February on a Monday, over a century without a leap day

struct Word {
  std::string_view name, fields;
};
constexpr Word kWords[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"},  {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"},  {"@hourly", "0 * * * *"},  {"@elevenses", "0 11 * * *"},
    {"@noon", "0 12 * * *"},  {"@fika", "0 15 * * *"},     {"@teatime", "0 16 * * *"},
};

// What a field may hold.
struct CronRange {
  std::string_view what;
  std::uint32_t first, last;
  std::span<const std::string_view> names;
};
constexpr CronRange kRanges[] = {{"minute", 0, 59, {}},
                             {"hour", 0, 23, {}},
                             {"day of the month", 1, 31, {}},
                             {"month", 1, 12, kMonths},
                             {"day of the week", 0, 7, kDays}};

std::unexpected<Error> bad(const CronRange& range, std::string_view field) {
  return fail(ErrorCode::InvalidArgument, fmt::format("Invalid {} \"{}\"", range.what, shown(field, 40)));
}

std::optional<std::uint32_t> value_of(const CronRange& range, std::string_view text) {
  for (std::size_t i = 0; i < range.names.size(); ++i)
    if (equal_ignoring_case(text, range.names[i])) return static_cast<std::uint32_t>(i + range.first);
  const auto number = parse_decimal32(text);
  if (!number || *number < range.first || *number > range.last) return std::nullopt;
  return *number;
}

// One of a list: "*", "*/5", "3", "3-7", "3-21/6".
bool take_item(const CronRange& range, std::string_view item, std::uint64_t* bits) {
  std::uint32_t step = 1;
  if (const std::size_t slash = item.find('/'); slash != std::string_view::npos) {
    const auto number = parse_decimal32(item.substr(slash + 1));
    if (!number || *number == 0 || *number > range.last) return false;
    step = *number;
    item = item.substr(0, slash);
    if (item != "*" && item.find('-') == std::string_view::npos) return false;
  }
  std::uint32_t first = range.first, last = range.last;
  if (item != "*") {
    const std::size_t dash = item.find('-');
    const auto from = value_of(range, item.substr(0, dash));
    const auto to = dash == std::string_view::npos ? from : value_of(range, item.substr(dash + 1));
    if (!from || !to || *from > *to) return false;
    first = *from;
    last = *to;
  }
  for (std::uint32_t i = first; i <= last; i += step) *bits |= std::uint64_t{1} << i;
  return true;
}

Result<std::uint64_t> take_field(const CronRange& range, std::string_view field) {
  std::uint64_t bits = 0;
  for (const std::string_view item : split(field, ','))
    if (!take_item(range, item, &bits)) return bad(range, field);
  return bits;
}

// The next word, and what is behind it and its blanks.
std::string_view take_word(std::string_view* rest) {
  const std::size_t end = std::min(rest->find_first_of(" \t"), rest->size());
  const std::string_view word = rest->substr(0, end);
  rest->remove_prefix(end);
  rest->remove_prefix(std::min(rest->find_first_not_of(" \t"), rest->size()));
  return word;
}

std::tm local_tm(std::int64_t seconds_since_epoch) {
  const auto value = static_cast<std::time_t>(seconds_since_epoch);
  std::tm tm{};
  localtime_r(&value, &tm);
  return tm;
}

bool fits_day(const CronSchedule& s, const std::tm& day) {
  if (!(s.months >> (day.tm_mon + 1) & 1)) return false;
  const bool date = s.days >> day.tm_mday & 1, weekday = s.weekdays >> day.tm_wday & 1;
  if (s.every_day) return weekday;
  if (s.every_weekday) return date;
  return date || weekday;
}

// The first fitting minute of this day behind `after`; not set: none.
Time in_day(const CronSchedule& s, const std::tm& day, Time after) {
  for (int hour = 0; hour < 24; ++hour) {
    if (!(s.hours >> hour & 1)) continue;
    for (int minute = 0; minute < 60; ++minute) {
      if (!(s.minutes >> minute & 1)) continue;
      std::tm tm = day;
      tm.tm_hour = hour;
      tm.tm_min = minute;
      tm.tm_sec = 0;
      tm.tm_isdst = -1;  // where clocks jump over it, mktime takes the moment behind the gap
      const std::time_t at = mktime(&tm);
      if (at == -1) continue;
      if (const Time when = from_micros(std::int64_t{at} * 1'000'000); when > after) return when;
    }
  }
  return {};
}

std::string bits_text(std::uint64_t bits, bool every) {
  if (every) return "*";
  std::string out;
  for (std::uint32_t i = 0; i < 64; ++i) {
    if (!(bits >> i & 1)) continue;
    std::uint32_t last = i;
    while (last + 1 < 64 && (bits >> (last + 1) & 1)) ++last;
    if (!out.empty()) out += ',';
    out += last == i ? fmt::format("{}", i) : fmt::format("{}-{}", i, last);
    i = last;
  }
  return out;
}

bool is_variable(std::string_view text) {
  return !text.empty() && !is_digit(text.front()) && std::ranges::all_of(text, [](char c) {
    return is_digit(c) || is_alpha(c) || c == '_';
  });
}

// NAME=VALUE, with blanks around the sign and quotes around the value if one likes.
std::optional<std::pair<std::string, std::string>> variable_in(std::string_view line) {
  const std::size_t sign = line.find('=');
  if (sign == std::string_view::npos) return std::nullopt;
  const std::string_view name = trim(line.substr(0, sign));
  if (!is_variable(name)) return std::nullopt;
  std::string_view value = trim(line.substr(sign + 1));
  const bool quoted =
      value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.front() == value.back();
  if (quoted) value = value.substr(1, value.size() - 2);
  return std::pair(std::string(name), std::string(value));
}

// Reads a table line by line.
class Reader {
 public:
  std::expected<std::vector<CronLine>, CronFault> read(std::string_view text) {
    while (!text.empty()) {
      ++line_;
      const std::size_t end = std::min(text.find('\n'), text.size());
      if (auto done = take(trim(text.substr(0, end))); !done)
        return std::unexpected(CronFault{done.error().message, begun_ ? begun_ : line_, line_});
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(lines_);
  }

 private:
  Status take(std::string_view line) {
    if (line.find('\0') != std::string_view::npos) return fail(ErrorCode::InvalidArgument, "a line with a NUL byte");
    if (line.empty()) return {};
    if (line.starts_with("#SCRON")) return take_options(line.substr(6));
    if (line.starts_with('#')) return {};
    if (auto variable = variable_in(line)) {
      variables_.push_back(*std::move(variable));
      return {};
    }
    return take_entry(line);
  }

  Status take_options(std::string_view line) {
    if (!line.empty() && line.front() != ' ' && line.front() != '\t') return {};  // a comment after all
    if (begun_ == 0) begun_ = line_;
    SPUR_ASSIGN(auto words, split_directive(line));
    options_.insert(options_.end(), words.begin(), words.end());
    return {};
  }

  Status take_entry(std::string_view line) {
    std::string_view rest = line;
    std::string schedule;
    if (line.starts_with('@')) {
      schedule = take_word(&rest);
    } else {
      for (int i = 0; i < 5 && !rest.empty(); ++i) {
        if (i > 0) schedule += ' ';
        schedule += take_word(&rest);
      }
    }
    SPUR_TRY(parse_cron(schedule));
    if (rest.empty()) return fail(ErrorCode::InvalidArgument, "an entry without a command");
    lines_.push_back({std::move(schedule), std::string(rest), std::exchange(options_, {}), variables_,
                      begun_ ? begun_ : line_, line_});
    begun_ = 0;
    return {};
  }

  std::uint32_t line_ = 0, begun_ = 0;  // begun_: the first line of options that wait for their entry
  std::vector<std::string> options_;
  std::vector<std::pair<std::string, std::string>> variables_;
  std::vector<CronLine> lines_;
};

}  // namespace

Result<CronSchedule> parse_cron(std::string_view text) {
  if (text.starts_with('@')) {
    const auto word = std::ranges::find_if(kWords, [&](const Word& w) { return equal_ignoring_case(text, w.name); });
    if (word == std::end(kWords))
      return fail(ErrorCode::InvalidArgument, fmt::format("Unknown time \"{}\"", shown(text, 40)));
    text = word->fields;
  }
  std::string_view fields[5];
  std::string_view rest = text;
  for (std::string_view& field : fields) {
    field = take_word(&rest);
    if (field.empty())
      return fail(ErrorCode::InvalidArgument, fmt::format("\"{}\" has fewer than five fields", shown(text, 40)));
  }
  if (!rest.empty())
    return fail(ErrorCode::InvalidArgument, fmt::format("\"{}\" has more than five fields", shown(text, 40)));
  std::uint64_t bits[5];
  for (int i = 0; i < 5; ++i) {
    SPUR_ASSIGN(bits[i], take_field(kRanges[i], fields[i]));
  }
  CronSchedule s;
  s.minutes = bits[0];
  s.hours = static_cast<std::uint32_t>(bits[1]);
  s.days = static_cast<std::uint32_t>(bits[2]);
  s.months = static_cast<std::uint32_t>(bits[3]);
  s.weekdays = static_cast<std::uint32_t>((bits[4] | bits[4] >> 7) & 0x7f);  // 7 is Sunday, too
  s.every_minute = fields[0] == "*", s.every_hour = fields[1] == "*", s.every_day = fields[2] == "*";
  s.every_month = fields[3] == "*", s.every_weekday = fields[4] == "*";
  return s;
}

Time next_cron(const CronSchedule& schedule, Time after) {
  const std::int64_t start = to_micros(after) / 1'000'000;
  const std::tm today = local_tm(start);
  for (int ahead = 0; ahead < kMostDays; ++ahead) {
    std::tm noon = today;  // of that day; noon is there whatever clocks do
    noon.tm_mday += ahead;
    noon.tm_hour = 12;
    noon.tm_min = noon.tm_sec = 0;
    noon.tm_isdst = -1;
    if (mktime(&noon) == -1) return {};
    if (!fits_day(schedule, noon)) continue;
    if (const Time when = in_day(schedule, noon, after); is_set(when)) return when;
  }
  return {};
}

std::string cron_text(const CronSchedule& s) {
  return fmt::format("{} {} {} {} {}", bits_text(s.minutes, s.every_minute), bits_text(s.hours, s.every_hour),
                     bits_text(s.days, s.every_day), bits_text(s.months, s.every_month),
                     bits_text(s.weekdays, s.every_weekday));
}

std::expected<std::vector<CronLine>, CronFault> parse_crontab(std::string_view text) {
  return Reader().read(text);
}

}  // namespace spur::text
