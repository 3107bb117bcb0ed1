// SPDX-License-Identifier: Apache-2.0
// A list is parsed into pieces (text, or one bracket's ranges), counted with overflow checks, and only then
// expanded. Memory before the count is proportional to the text, never to what it stands for.
#include "text/hostlist.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "text/decimal.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::text {
namespace {

constexpr std::size_t kMaxDigits = 18;  // what fits 64 bits in any case
constexpr std::size_t kMaxNameLength = 1024;

struct HostRange {
  std::uint64_t first, last, step;
  std::size_t width;
  std::uint64_t count() const { return (last - first) / step + 1; }
};

// A name with brackets: text[0] ranges[0] text[1] ranges[1] ... text[n].
struct Pattern {
  std::vector<std::string_view> texts;
  std::vector<std::vector<HostRange>> brackets;
};

std::unexpected<Error> bad_list(std::string_view list, std::string_view why) {
  return fail(ErrorCode::InvalidArgument, fmt::format("Invalid hostlist \"{}\": {}", shown(list), why));
}

// "7", "001-010" or "0-10:2".
Result<HostRange> parse_range(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return fail(ErrorCode::InvalidArgument, fmt::format("{} in range \"{}\"", why, shown(text)));
  };
  if (text.empty()) return fail(ErrorCode::InvalidArgument, "empty range");
  std::string_view body = text, step_text;
  if (const auto colon = body.find(':'); colon != std::string_view::npos) {
    step_text = body.substr(colon + 1);
    body = body.substr(0, colon);
  }
  std::string_view first_text = body, last_text = body;
  if (const auto dash = body.find('-'); dash != std::string_view::npos) {
    first_text = body.substr(0, dash);
    last_text = body.substr(dash + 1);
  } else if (body.size() != text.size()) {
    return bad("a step without an end");
  }
  if (first_text.size() > kMaxDigits || last_text.size() > kMaxDigits) return bad("number too large");
  const auto first = parse_decimal(first_text), last = parse_decimal(last_text);
  if (!first || !last) return bad("not a number");
  if (*first > *last) return bad("end before start");
  std::uint64_t step = 1;
  if (body.size() != text.size()) {
    const auto given = parse_decimal(step_text);
    if (!given || *given == 0) return bad("bad step");
    step = *given;
  }
  return HostRange{*first, *last, step, first_text.size()};
}

// Reads one name from `rest`, up to a separator outside brackets.
Result<Pattern> parse_pattern(std::string_view& rest) {
  Pattern pattern;
  std::size_t start = 0, at = 0;
  while (at < rest.size() && rest[at] != ',' && !is_blank(rest[at])) {
    if (rest[at] == ']') return fail(ErrorCode::InvalidArgument, "\"]\" without \"[\"");
    if (rest[at] != '[') {
      ++at;
      continue;
    }
    pattern.texts.push_back(rest.substr(start, at - start));
    const auto end = rest.find_first_of("[]", at + 1);
    if (end == std::string_view::npos) return fail(ErrorCode::InvalidArgument, "\"[\" without \"]\"");
    if (rest[end] == '[') return fail(ErrorCode::InvalidArgument, "brackets inside brackets");
    auto& ranges = pattern.brackets.emplace_back();
    for (const auto part : split(rest.substr(at + 1, end - at - 1), ',')) {
      SPUR_ASSIGN(const HostRange range, parse_range(part));
      ranges.push_back(range);
    }
    start = at = end + 1;
  }
  pattern.texts.push_back(rest.substr(start, at - start));
  rest.remove_prefix(at);
  std::size_t longest = 0;
  for (const auto text : pattern.texts) longest += text.size();
  if (longest + pattern.brackets.size() * kMaxDigits > kMaxNameLength)
    return fail(ErrorCode::InvalidArgument, "a name is too long");
  return pattern;
}

// Nothing if the count exceeds `limit`; every product is checked before it is formed.
std::optional<std::uint64_t> count_pattern(const Pattern& pattern, std::uint64_t limit) {
  std::uint64_t total = 1;
  for (const auto& ranges : pattern.brackets) {
    std::uint64_t sum = 0;
    for (const HostRange& range : ranges) {
      const auto added = checked_add(sum, range.count());
      if (!added || *added > limit) return std::nullopt;
      sum = *added;
    }
    const auto product = checked_mul(total, sum);
    if (!product || *product > limit) return std::nullopt;
    total = *product;
  }
  return total <= limit ? std::optional(total) : std::nullopt;
}

struct Parsed {
  std::vector<Pattern> patterns;
  std::uint64_t count = 0;
};

Result<Parsed> parse_list(std::string_view list, std::size_t limit) {
  Parsed parsed;
  std::string_view rest = list;
  for (;;) {
    while (!rest.empty() && (rest.front() == ',' || is_blank(rest.front()))) rest.remove_prefix(1);
    if (rest.empty()) return parsed;
    auto pattern = parse_pattern(rest);
    if (!pattern) return bad_list(list, pattern.error().message);
    const auto count = count_pattern(*pattern, limit - parsed.count);
    if (!count) return bad_list(list, fmt::format("more than {} hosts", limit));
    parsed.count += *count;
    parsed.patterns.push_back(*std::move(pattern));
  }
}

// All names of a pattern in Slurm's order: the last bracket runs fastest, then the first, the second and so on.
void expand_pattern(const Pattern& pattern, std::vector<std::string>& out) {
  const std::size_t brackets = pattern.brackets.size();
  struct Wheel {
    std::size_t range = 0;
    std::uint64_t value = 0;
  };
  std::vector<Wheel> wheels(brackets);
  for (std::size_t i = 0; i < brackets; ++i) wheels[i].value = pattern.brackets[i][0].first;
  // Turns one wheel on; true if it came round to its start.
  const auto turn = [&](std::size_t i) {
    const auto& ranges = pattern.brackets[i];
    Wheel& wheel = wheels[i];
    if (ranges[wheel.range].last - wheel.value >= ranges[wheel.range].step) {
      wheel.value += ranges[wheel.range].step;
      return false;
    }
    wheel.range = (wheel.range + 1) % ranges.size();
    wheel.value = ranges[wheel.range].first;
    return wheel.range == 0;
  };
  std::string name;
  for (bool more = true; more;) {
    name.clear();
    for (std::size_t i = 0; i < brackets; ++i) {
      name += pattern.texts[i];
      fmt::format_to(std::back_inserter(name), "{:0{}}", wheels[i].value, pattern.brackets[i][wheels[i].range].width);
    }
    name += pattern.texts[brackets];
    out.push_back(name);
    bool carry = brackets == 0 || turn(brackets - 1);
    for (std::size_t i = 0; carry && i + 1 < brackets; ++i) carry = turn(i);
    more = !carry;
  }
}

// A name split before its trailing digits.
struct Numbered {
  std::string_view prefix, digits;
  std::uint64_t value = 0;
};

Numbered split_number(std::string_view host) {
  std::size_t at = host.size();
  while (at > 0 && is_digit(host[at - 1]) && host.size() - at < kMaxDigits) --at;
  Numbered out{host.substr(0, at), host.substr(at)};
  out.value = parse_decimal(out.digits).value_or(0);
  return out;
}

int sign_of(bool less, bool greater) {
  return greater - less;
}

// Byte by byte, except that runs of digits compare as numbers; where one has a leading zero, as fractions.
int compare_prefixes(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (!is_digit(a.front()) || !is_digit(b.front())) {
      const auto x = static_cast<unsigned char>(a.front()), y = static_cast<unsigned char>(b.front());
      if (x != y) return sign_of(x<y, x> y);
      a.remove_prefix(1), b.remove_prefix(1);
      continue;
    }
    const auto take_run = [](std::string_view& text) {
      const auto length =
          static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
      const std::string_view run = text.substr(0, length);
      text.remove_prefix(length);
      return run;
    };
    const std::string_view x = take_run(a), y = take_run(b);
    if (x.front() != '0' && y.front() != '0' && x.size() != y.size())
      return sign_of(x.size() < y.size(), x.size() > y.size());
    if (x != y) return sign_of(x<y, x> y);
  }
  return sign_of(a.size() < b.size(), a.size() > b.size());
}

// Length of the digits `value` takes when written at least `width` wide.
std::size_t written_width(std::uint64_t value, std::size_t width) {
  std::size_t digits = 1;
  while (value >= 10) value /= 10, ++digits;
  return std::max(digits, width);
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view list, std::size_t limit) {
  SPUR_ASSIGN(const Parsed parsed, parse_list(list, limit));
  std::vector<std::string> hosts;
  hosts.reserve(parsed.count);
  for (const Pattern& pattern : parsed.patterns) expand_pattern(pattern, hosts);
  return hosts;
}

Result<std::size_t> count_hosts(std::string_view list, std::size_t limit) {
  SPUR_ASSIGN(const Parsed parsed, parse_list(list, limit));
  return parsed.count;
}

std::string compress_hostlist(const std::vector<std::string>& hosts) {
  std::string out;
  for (std::size_t i = 0; i < hosts.size();) {
    const Numbered head = split_number(hosts[i]);
    if (!out.empty()) out += ',';
    if (head.digits.empty()) {
      out += hosts[i++];
      continue;
    }
    // The ranges of all following hosts with this prefix.
    std::string ranges;
    std::size_t members = 0;
    while (i < hosts.size()) {
      const Numbered first = split_number(hosts[i]);
      if (first.digits.empty() || first.prefix != head.prefix) break;
      Numbered last = first;
      for (++i; i < hosts.size(); ++i) {
        const Numbered next = split_number(hosts[i]);
        if (next.prefix != head.prefix || next.digits.empty() || next.value != last.value + 1 ||
            next.digits.size() != written_width(next.value, first.digits.size()))
          break;
        last = next;
      }
      if (!ranges.empty()) ranges += ',';
      ranges += first.digits;
      if (last.value != first.value) ranges.append("-").append(last.digits);
      members += last.value - first.value + 1;
    }
    out += head.prefix;
    out += members == 1 ? ranges : "[" + ranges + "]";
  }
  return out;
}

bool host_less(std::string_view a, std::string_view b) {
  const Numbered x = split_number(a), y = split_number(b);
  if (const int order = compare_prefixes(x.prefix, y.prefix)) return order < 0;
  if (x.digits.empty() || y.digits.empty()) return x.digits.size() < y.digits.size();
  if (x.value != y.value) return x.value < y.value;
  return x.digits.size() < y.digits.size();
}

void sort_hosts(std::vector<std::string>& hosts) {
  // They mostly come from a list that is in order.
  if (!std::is_sorted(hosts.begin(), hosts.end(), host_less)) std::sort(hosts.begin(), hosts.end(), host_less);
}

void sort_unique_hosts(std::vector<std::string>& hosts) {
  sort_hosts(hosts);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
}

bool is_node_name(std::string_view name) {
  constexpr std::size_t kLongest = 255;
  const auto allowed = [](char c) { return is_alpha(c) || is_digit(c) || c == '.' || c == '_' || c == '-'; };
  return !name.empty() && name.size() <= kLongest && name[0] != '-' && name[0] != '.' &&
         std::ranges::all_of(name, allowed);
}

}  // namespace spur::text
