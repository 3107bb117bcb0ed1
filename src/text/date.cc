// SPDX-License-Identifier: Apache-2.0
// A cursor walks the text and fills in a date, a time of day or an offset, each at most once; then the parts that
// were not said are completed and mktime() makes a point in time of it. Positions in messages are where Slurm sees
// the error.
#include "text/date.h"

#include <ctime>
#include <optional>

#include <fmt/format.h>

#include "text/decimal.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::text {
namespace {

constexpr std::int64_t kMaxSeconds = 253'402'300'799;  // the last second of the year 9999, UTC
constexpr int kMaxDelta = 2'147'483'647;

std::tm local_time(std::int64_t seconds_since_epoch) {
  const auto value = static_cast<std::time_t>(seconds_since_epoch);
  std::tm tm{};
  localtime_r(&value, &tm);
  return tm;
}

// A text and a place in it. `expect_*` move on only if they succeed.
struct Cursor {
  std::string_view text;
  std::size_t at = 0;

  bool done() const { return at >= text.size(); }
  char peek(std::size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }
  bool digit(std::size_t ahead = 0) const { return is_digit(peek(ahead)); }
  void skip_blanks() {
    while (!done() && is_blank(peek())) ++at;
  }
  bool word(std::string_view w) {
    if (!starts_with_ignoring_case(text.substr(at), w)) return false;
    at += w.size();
    return true;
  }
  std::size_t digits_ahead() const {
    std::size_t n = 0;
    while (digit(n)) ++n;
    return n;
  }
};

struct Day {
  std::optional<int> year;  // full: 2030
  int month = 0, day = 0;   // from 1
};
struct Clock {
  int hour = 0, minute = 0, second = 0;
};

struct Parts {
  std::optional<Day> day;
  std::optional<Clock> clock;
  std::optional<std::int64_t> exact;  // now+..., uts...: seconds since the epoch
  bool anything() const { return day || clock || exact; }
};

// A number of one or two digits. False, with the cursor at its start, if it exceeds `max`.
bool short_number(Cursor& c, int max, int* out) {
  if (!c.digit()) return false;
  int value = c.peek() - '0';
  std::size_t length = 1;
  if (c.digit(1)) value = value * 10 + (c.peek(1) - '0'), length = 2;
  if (value > max) return false;
  c.at += length;
  *out = value;
  return true;
}

// Exactly two digits up to 59: minutes and seconds.
bool sixty(Cursor& c, int* out) {
  if (c.peek() < '0' || c.peek() > '5') return false;
  const int tens = c.peek() - '0';
  ++c.at;
  if (!c.digit()) return false;
  *out = tens * 10 + (c.peek() - '0');
  ++c.at;
  return true;
}

// HH:MM[:SS] [AM|PM]
bool parse_clock(Cursor& c, Clock* out) {
  Clock clock;
  if (!short_number(c, 23, &clock.hour)) return false;
  if (c.peek() != ':') return false;
  ++c.at;
  if (!sixty(c, &clock.minute)) return false;
  if (c.peek() == ':') {
    ++c.at;
    if (!sixty(c, &clock.second)) return false;
  }
  std::size_t blanks = 0;
  while (is_blank(c.peek(blanks))) ++blanks;
  const char half = to_upper(c.peek(blanks));
  if ((half == 'A' || half == 'P') && to_upper(c.peek(blanks + 1)) == 'M') {
    c.at += blanks;
    if (clock.hour > 12) return false;
    if (clock.hour == 12) clock.hour = 0;
    if (half == 'P') clock.hour += 12;
    c.at += 2;
  }
  *out = clock;
  return true;
}

// YYYY-MM-DD; the caller saw four digits and a dash.
bool parse_iso_day(Cursor& c, Day* out) {
  Day day;
  int century = 0, rest = 0;
  (void)short_number(c, 99, &century);
  (void)short_number(c, 99, &rest);
  day.year = century * 100 + rest;
  ++c.at;
  if (!short_number(c, 12, &day.month) || day.month == 0) return false;
  if (c.peek() != '-') return false;
  ++c.at;
  if (!short_number(c, 31, &day.day) || day.day == 0) return false;
  *out = day;
  return true;
}

// MM/DD[/YY], MM.DD[.YY] or MMDD[YY]: `separator` is 0 for the last.
bool parse_short_day(Cursor& c, char separator, Day* out) {
  Day day;
  const auto separated = [&] {
    if (separator == 0) return c.digit();
    if (c.peek() != separator) return false;
    ++c.at;
    return true;
  };
  const std::size_t start = c.at;
  if (!short_number(c, 12, &day.month) || day.month == 0) {
    c.at = start;
    return false;
  }
  if (!separated() || !short_number(c, 31, &day.day) || day.day == 0) return false;
  int year = 0;
  if (separated()) {
    if (!c.digit() || !c.digit(1) || !short_number(c, 99, &year)) return false;
    day.year = 2000 + year;
  }
  *out = day;
  return true;
}

// Anything that starts with a digit.
bool parse_number(Cursor& c, Parts& parts) {
  const std::size_t digits = c.digits_ahead();
  const char next = c.peek(digits);
  Day day;
  const bool iso =
      digits == 4 && next == '-' && c.digit(5) && c.digit(6) && c.peek(7) == '-' && c.digit(8) && c.digit(9);
  if (iso || (digits <= 2 && (next == '/' || next == '.')) || digits >= 3) {
    if (parts.day || parts.exact) return false;
    const char separator = digits <= 2 ? next : '\0';
    if (!(iso ? parse_iso_day(c, &day) : parse_short_day(c, separator, &day))) return false;
    parts.day = day;
    return true;
  }
  if (parts.clock || parts.exact) return false;
  Clock clock;
  if (!parse_clock(c, &clock)) return false;
  parts.clock = clock;
  return true;
}

// What follows "now": nothing, or +N or -N with a unit. Positions are those of Slurm: the sign, or the last digit.
bool parse_offset(Cursor& c, std::int64_t* seconds_out) {
  *seconds_out = 0;
  std::size_t ahead = 0;
  while (is_blank(c.peek(ahead))) ++ahead;
  const char sign = c.peek(ahead);
  if (sign != '+' && sign != '-') return true;
  c.at += ahead;
  const std::size_t sign_at = c.at++;
  c.skip_blanks();
  const std::size_t digits = c.digits_ahead();
  const auto amount = parse_decimal(c.text.substr(c.at, digits), kMaxDelta);
  if (!amount) {
    c.at = sign_at;
    return false;
  }
  c.at += digits;
  const std::size_t last_digit = c.at - 1;
  const std::size_t after_number = c.at;
  c.skip_blanks();
  constexpr struct {
    std::string_view word;
    std::int64_t seconds;
  } kUnits[] = {{"second", 1}, {"minute", 60}, {"hour", 3600}, {"day", 86400}, {"week", 7 * 86400}};
  std::int64_t unit = 0;
  for (const auto& row : kUnits) {
    if (!c.word(row.word)) continue;
    if (to_lower(c.peek()) == 's') ++c.at;
    unit = row.seconds;
    break;
  }
  if (unit == 0) {
    if (is_alpha(c.peek())) {
      c.at = last_digit;
      return false;
    }
    c.at = after_number;
    unit = 1;
  }
  const std::int64_t span = static_cast<std::int64_t>(*amount) * unit;
  *seconds_out = sign == '+' ? span : -span;
  return true;
}

bool parse_word(Cursor& c, std::int64_t now, Parts& parts) {
  const std::size_t start = c.at;
  const auto refuse = [&] {
    c.at = start;
    return false;
  };
  const auto set_day = [&](int days_ahead) {
    if (parts.day || parts.exact) return refuse();
    std::tm tm = local_time(now);
    tm.tm_mday += days_ahead, tm.tm_hour = 12, tm.tm_isdst = -1;
    mktime(&tm);
    parts.day = Day{tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday};
    return true;
  };
  const auto set_clock = [&](int hour) {
    if (parts.clock || parts.exact) return refuse();
    parts.clock = Clock{hour, 0, 0};
    return true;
  };
  if (c.word("today")) return set_day(0);
  if (c.word("tomorrow")) return set_day(1);
  if (c.word("midnight")) return set_clock(0);
  if (c.word("noon")) return set_clock(12);
  if (c.word("fika")) return set_clock(15);
  if (c.word("teatime")) return set_clock(16);
  if (parts.anything()) return false;
  if (c.word("now")) {
    std::int64_t offset = 0;
    if (!parse_offset(c, &offset)) return false;
    parts.exact = now + offset;
    return true;
  }
  if (c.word("uts")) {
    const std::size_t digits = c.digits_ahead();
    const auto value = parse_decimal(c.text.substr(c.at, digits), kMaxSeconds);
    if (!value || *value < 1'000'000) return refuse();
    c.at += digits;
    parts.exact = static_cast<std::int64_t>(*value);
    return true;
  }
  return false;
}

// Fills in what was not said. Nothing where the calendar has no such time.
std::optional<std::int64_t> complete(const Parts& parts, std::int64_t now, DateSense sense) {
  if (parts.exact) return parts.exact;
  const std::tm today = local_time(now);
  std::tm tm{};
  tm.tm_isdst = -1;
  const Clock clock = parts.clock.value_or(Clock{});
  tm.tm_hour = clock.hour, tm.tm_min = clock.minute, tm.tm_sec = clock.second;
  if (parts.day) {
    tm.tm_mon = parts.day->month - 1, tm.tm_mday = parts.day->day;
    tm.tm_year = parts.day->year ? *parts.day->year - 1900 : today.tm_year;
    if (!parts.day->year) {
      std::tm this_year = tm;
      const std::time_t guess = mktime(&this_year);
      if (sense == DateSense::Coming && guess < now) ++tm.tm_year;
      if (sense == DateSense::Past && guess > now) --tm.tm_year;
    }
  } else {
    tm.tm_year = today.tm_year, tm.tm_mon = today.tm_mon, tm.tm_mday = today.tm_mday;
    const auto seconds_of_day = [](const std::tm& t) { return t.tm_hour * 3600 + t.tm_min * 60 + t.tm_sec; };
    if (sense == DateSense::Coming && seconds_of_day(tm) < seconds_of_day(today)) ++tm.tm_mday;
  }
  const std::time_t result = mktime(&tm);
  if (result == static_cast<std::time_t>(-1) && tm.tm_wday == -1) return std::nullopt;
  return result;
}

std::string strftime_text(const std::tm& tm, const std::string& format) {
  std::string buffer(format.size() * 4 + 256, '\0');
  buffer.resize(std::strftime(buffer.data(), buffer.size(), format.c_str(), &tm));
  return buffer;
}

std::string relative_date(std::int64_t when, std::int64_t now) {
  const std::tm tm = local_time(when), today = local_time(now);
  if (tm.tm_year != today.tm_year) return strftime_text(tm, "%-d %b %Y");
  switch (tm.tm_yday - today.tm_yday) {
    case 0:
      return strftime_text(tm, "%H:%M:%S");
    case 1:
      return strftime_text(tm, "Tomorr %H:%M");
    case -1:
      return strftime_text(tm, "Ystday %H:%M");
    case 2:
    case 3:
    case 4:
    case 5:
    case 6:
      return strftime_text(tm, "%a %H:%M");
    default:
      return strftime_text(tm, "%-d %b %H:%M");
  }
}

}  // namespace

Result<Time> parse_date(std::string_view text, Time now, DateSense sense) {
  const std::int64_t present = to_unix_seconds(now);
  Parts parts;
  Cursor c{text};
  const auto bad = [&] {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("Invalid time specification (pos={}): {}", c.at, shown(text)));
  };
  while (!c.done()) {
    if (is_blank(c.peek()) || c.peek() == '-' || c.peek() == 'T') {
      ++c.at;
    } else if (!(c.digit() ? parse_number(c, parts) : parse_word(c, present, parts))) {
      return bad();
    }
  }
  if (!parts.anything()) return bad();
  const auto result = complete(parts, present, sense);
  if (!result || *result <= 0 || *result > kMaxSeconds) {
    c.at = 0;
    return bad();
  }
  return from_unix_seconds(*result);
}

Result<Time> parse_moment(std::string_view text, Time now) {
  const std::size_t point = text.rfind('.');
  const std::string_view whole = text.substr(0, point);
  // A point may also stand between a month and a day.
  const bool has_fraction = point != std::string_view::npos &&
                            (starts_with_ignoring_case(text, "uts") ||
                             (whole.size() >= 8 && whole[whole.size() - 3] == ':' && whole[whole.size() - 6] == ':'));
  if (!has_fraction) {
    auto when = parse_date(text, now, DateSense::Past);
    if (when && starts_with_ignoring_case(text, "now")) *when += now - from_unix_seconds(to_unix_seconds(now));
    return when;
  }
  const std::string_view digits = text.substr(point + 1);
  const auto value = parse_decimal32(digits);
  if (!value || digits.size() > 6)
    return fail(ErrorCode::InvalidArgument,
                fmt::format("Invalid time specification (pos={}): {}", point + 1, shown(text)));
  std::uint32_t micros = *value;
  for (std::size_t i = digits.size(); i < 6; ++i) micros *= 10;
  auto when = parse_date(whole, now, DateSense::Past);
  if (when) *when += Duration(micros);
  return when;
}

std::string format_date(Time when) {
  const std::int64_t s = to_unix_seconds(when);
  if (!is_set(when) || s > kMaxSeconds || s < -kMaxSeconds / 4) return "Unknown";
  const std::tm tm = local_time(s);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
                     tm.tm_min, tm.tm_sec);
}

std::string format_date_or(Time when, std::string_view unset) {
  return is_set(when) ? format_date(when) : std::string(unset);
}

std::string format_date(Time when, Time now, std::string_view format) {
  const std::string standard = format_date(when);
  if (standard == "Unknown" || format.empty() || format == "standard") return standard;
  const std::int64_t s = to_unix_seconds(when);
  if (format == "relative") return relative_date(s, to_unix_seconds(now));
  if (format.find('%') == std::string_view::npos) return standard;
  const std::string text = strftime_text(local_time(s), std::string(format));
  return text.empty() ? standard : text;
}

}  // namespace spur::text
