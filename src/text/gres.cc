// SPDX-License-Identifier: Apache-2.0
#include "text/gres.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "text/decimal.h"
#include "text/memory_size.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::text {
namespace {

constexpr std::uint32_t kMaxSocket = 4095;

std::unexpected<Error> bad_gres(std::string_view item) {
  return fail(ErrorCode::InvalidGres,
              fmt::format("Invalid generic resource (gres) specification \"{}\"", shown(item)));
}

// Names and types: what Slurm writes into files, environment and accounting without quoting.
bool is_word(std::string_view word) {
  return !word.empty() && word.size() <= 256 && (is_alpha(word[0]) || is_digit(word[0])) &&
         std::all_of(word.begin(), word.end(), [](char c) {
           return is_alpha(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == '+';
         });
}

// True where `text` must be a count: it starts with a digit and parses as one. A type such as "3090" needs a count
// behind it to be told from one, as in Slurm.
std::optional<std::uint64_t> as_count(std::string_view text) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  const auto count = parse_count(text);
  return count ? std::optional(*count) : std::nullopt;
}

// The parts between ':' or '='.
std::vector<std::string_view> cut_fields(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = text.find_first_of(":=");
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// [name][:type][:count] without the name when `name` is given.
Result<GresItem> parse_item(std::string_view text, std::string_view name) {
  const auto parts = cut_fields(text);
  GresItem item;
  std::size_t next = 0;
  if (name.empty()) {
    if (!is_word(parts[0]) || equal_ignoring_case(parts[0], "gres")) return bad_gres(text);
    item.name = parts[next++];
  } else {
    item.name = name;
  }
  const std::size_t left = parts.size() - next;
  if (left > 2) return bad_gres(text);
  if (left == 2) {
    const auto count = as_count(parts[next + 1]);
    if (!is_word(parts[next]) || !count) return bad_gres(text);
    item.type = parts[next];
    item.count = *count;
  } else if (left == 1) {
    if (const auto count = as_count(parts[next])) {
      item.count = *count;
    } else if (is_word(parts[next]) && parts[next].find_first_not_of("0123456789") != std::string_view::npos) {
      item.type = parts[next];
    } else {
      return bad_gres(text);
    }
  }
  return item;
}

Result<std::vector<GresItem>> parse_items(std::string_view text, std::string_view name) {
  std::vector<GresItem> items;
  for (auto part : split(text, ',')) {
    if (name.empty() && (starts_with_ignoring_case(part, "gres:") || starts_with_ignoring_case(part, "gres/")))
      part.remove_prefix(5);
    SPUR_ASSIGN(GresItem item, parse_item(part, name));
    const bool twice = std::any_of(items.begin(), items.end(), [&](const GresItem& other) {
      return other.name == item.name && other.type == item.type;
    });
    if (twice) return bad_gres(text);
    items.push_back(std::move(item));
  }
  return items;
}

// "0-1,3" into a set; nothing if malformed.
std::optional<IndexSet> parse_sockets(std::string_view text) {
  IndexSet sockets;
  for (const auto part : split(text, ',')) {
    const auto dash = part.find('-');
    const auto first = parse_decimal(part.substr(0, dash), kMaxSocket);
    const auto last = dash == std::string_view::npos ? first : parse_decimal(part.substr(dash + 1), kMaxSocket);
    if (!first || !last || *first > *last) return std::nullopt;
    sockets.insert_range(static_cast<std::uint32_t>(*first), static_cast<std::uint32_t>(*last));
  }
  return sockets;
}

// Reads the item at the start of `rest` with its "(...)" and drops it.
Result<GresDeclaration> take_declaration(std::string_view& rest) {
  const auto end = rest.find_first_of("(,");
  std::string_view body = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end);
  GresDeclaration declaration;
  std::string kept;
  for (const auto part : cut_fields(body)) {
    if (equal_ignoring_case(part, "no_consume")) {
      declaration.no_consume = true;
    } else {
      kept.append(kept.empty() ? "" : ":").append(part);
    }
  }
  if (kept.empty()) return bad_gres(body);
  SPUR_ASSIGN(declaration.item, parse_item(kept, {}));
  if (rest.starts_with('(')) {
    const auto close = rest.find(')');
    if (close == std::string_view::npos) return bad_gres(rest);
    const std::string_view inside = rest.substr(1, close - 1);
    if (inside.starts_with("S:")) {
      const auto sockets = parse_sockets(inside.substr(2));
      if (!sockets) return bad_gres(rest);
      declaration.sockets = *sockets;
    } else if (!inside.starts_with("IDX:") && inside != "null") {
      return bad_gres(rest);
    }
    rest.remove_prefix(close + 1);
    if (!rest.empty() && rest.front() != ',') return bad_gres(rest);
  }
  return declaration;
}

}  // namespace

Result<std::vector<GresItem>> parse_gres_request(std::string_view text) {
  if (text.empty() || equal_ignoring_case(text, "none")) return std::vector<GresItem>();
  return parse_items(text, {});
}

Result<std::vector<GresItem>> parse_gpu_request(std::string_view text) {
  if (text.empty()) return bad_gres(text);
  return parse_items(text, "gpu");
}

Result<std::vector<GresDeclaration>> parse_gres_declaration(std::string_view text) {
  std::vector<GresDeclaration> declarations;
  if (text.empty() || text == "(null)" || equal_ignoring_case(text, "none")) return declarations;
  std::string_view rest = text;
  for (;;) {
    SPUR_ASSIGN(GresDeclaration declaration, take_declaration(rest));
    declarations.push_back(std::move(declaration));
    if (rest.empty()) return declarations;
    rest.remove_prefix(1);
  }
}

std::string format_gres(const GresItem& item) {
  return item.type.empty() ? fmt::format("{}:{}", item.name, item.count)
                           : fmt::format("{}:{}:{}", item.name, item.type, item.count);
}

std::string format_gres(const std::vector<GresItem>& items) {
  std::string out;
  for (const GresItem& item : items) out.append(out.empty() ? "" : ",").append(format_gres(item));
  return out;
}

std::string format_gres(const GresDeclaration& declaration) {
  std::string out = declaration.item.name;
  if (!declaration.item.type.empty()) out.append(":").append(declaration.item.type);
  if (declaration.no_consume) out += ":no_consume";
  out += fmt::format(":{}", declaration.item.count);
  if (!declaration.sockets.empty()) out += fmt::format("(S:{})", declaration.sockets.to_string());
  return out;
}

}  // namespace spur::text
