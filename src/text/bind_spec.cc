// SPDX-License-Identifier: Apache-2.0
#include "text/bind_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "text/decimal.h"
#include "text/words.h"

namespace spur::text {
namespace {

constexpr std::uint32_t kMostBits = 65536, kMostRepeats = 65536;

struct CpuWord {
  std::string_view word;
  CpuBind::Kind kind;
  bool list = false;
};
constexpr std::array kCpuWords{
    CpuWord{"none", CpuBind::Kind::None},
    CpuWord{"no", CpuBind::Kind::None},
    CpuWord{"rank", CpuBind::Kind::Rank},
    CpuWord{"map_cpu", CpuBind::Kind::MapCpu, true},
    CpuWord{"mask_cpu", CpuBind::Kind::MaskCpu, true},
    CpuWord{"rank_ldom", CpuBind::Kind::RankLdom},
    CpuWord{"map_ldom", CpuBind::Kind::MapLdom, true},
    CpuWord{"mask_ldom", CpuBind::Kind::MaskLdom, true},
    CpuWord{"sockets", CpuBind::Kind::Sockets},
    CpuWord{"socket", CpuBind::Kind::Sockets},
    CpuWord{"cores", CpuBind::Kind::Cores},
    CpuWord{"core", CpuBind::Kind::Cores},
    CpuWord{"threads", CpuBind::Kind::Threads},
    CpuWord{"thread", CpuBind::Kind::Threads},
    CpuWord{"ldoms", CpuBind::Kind::Ldoms},
    CpuWord{"ldom", CpuBind::Kind::Ldoms},
};
struct MemWord {
  std::string_view word;
  MemBind::Kind kind;
  bool list = false;
};
constexpr std::array kMemWords{
    MemWord{"none", MemBind::Kind::None},
    MemWord{"no", MemBind::Kind::None},
    MemWord{"rank", MemBind::Kind::Rank},
    MemWord{"local", MemBind::Kind::Local},
    MemWord{"map_mem", MemBind::Kind::MapMem, true},
    MemWord{"mask_mem", MemBind::Kind::MaskMem, true},
};

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// "0x3*2,c": with repetitions written out and without 0x. A mask is hexadecimal whatever it begins with; a number
// only behind 0x, and comes out decimal.
std::expected<std::vector<std::string>, std::string> parse_list(std::string_view text, bool masks) {
  std::vector<std::string> out;
  while (true) {
    const std::string_view item = text.substr(0, text.find(','));
    const auto star = item.find('*');
    std::string_view value = item.substr(0, star);
    std::uint32_t repeats = 1;
    if (star != std::string_view::npos) {
      const auto count = parse_decimal32(item.substr(star + 1));
      if (!count || *count == 0 || *count > kMostRepeats)
        return std::unexpected(fmt::format("Failed to validate number: {}", item));
      repeats = *count;
    }
    const bool hex = value.starts_with("0x") || value.starts_with("0X");
    if (hex) value.remove_prefix(2);
    const auto digit = [&](char c) { return hex || masks ? is_hex(c) : c >= '0' && c <= '9'; };
    const auto bad = std::ranges::find_if_not(value, digit);
    if (bad != value.end())
      return std::unexpected(
          fmt::format("Failed to validate number: {}, the offending character is {}", value, *bad));
    if (value.empty() || value.size() > kMostBits / 4)
      return std::unexpected(fmt::format("Failed to validate number: {}", item));
    std::string plain(value);
    if (!masks) {
      std::uint64_t number = 0;
      for (const char c : value) {
        const int digit_value = c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
        number =
            std::min<std::uint64_t>(number * (hex ? 16 : 10) + static_cast<std::uint64_t>(digit_value), kMostBits);
      }
      plain = std::to_string(number);
    }
    if (out.size() + repeats > kMostRepeats) return std::unexpected("Failed to validate number: too many");
    out.insert(out.end(), repeats, plain);
    if (item.size() == text.size()) return out;
    text.remove_prefix(item.size() + 1);
  }
}

// The words up to the one with a list, which takes the rest.
template <class Words, class Bind>
std::expected<bool, std::string> take_word(const Words& words, std::string_view option, std::string_view& text,
                                           Bind& out) {
  const std::string_view word = text.substr(0, std::min(text.find(','), text.find(':')));
  for (const auto& known : words) {
    if (!equal_ignoring_case(word, known.word)) continue;
    out.kind = known.kind;
    if (!known.list) {
      if (text.size() > word.size() && text[word.size()] == ':') break;
      text.remove_prefix(word.size());
      return true;
    }
    if (text.size() <= word.size() + 1 || text[word.size()] != ':')
      return std::unexpected(fmt::format("missing list for \"--{}={}:<list>\"", option, known.word));
    auto list = parse_list(text.substr(word.size() + 1), known.word.starts_with("mask"));
    if (!list) return std::unexpected(std::move(list.error()));
    out.list = *std::move(list);
    text = {};
    return true;
  }
  return false;
}

bool take_flag(std::string_view& text, std::string_view shortest, std::string_view longest) {
  const std::string_view word = text.substr(0, text.find(','));
  if (!equal_ignoring_case(word, shortest) && !equal_ignoring_case(word, longest)) return false;
  text.remove_prefix(word.size());
  return true;
}

template <class Words, class Bind>
std::expected<Bind, std::string> parse_words(const Words& words, std::string_view option, std::string_view text) {
  Bind out;
  const std::string_view whole = text;
  while (!text.empty()) {
    if (text.front() == ',') {
      text.remove_prefix(1);
      continue;
    }
    if (take_flag(text, "v", "verbose")) {
      out.verbose = true;
      continue;
    }
    if (take_flag(text, "q", "quiet")) {
      out.verbose = false;
      continue;
    }
    if constexpr (requires { out.prefer; }) {
      if (take_flag(text, "p", "prefer")) {
        out.prefer = true;
        continue;
      }
      const bool sort = take_flag(text, "sort", "sort");
      if (sort || take_flag(text, "nosort", "nosort")) {
        out.sort = sort;
        continue;
      }
    }
    const auto taken = take_word(words, option, text, out);
    if (!taken) return std::unexpected(taken.error());
    if (!*taken) return std::unexpected(fmt::format("unrecognized --{} argument \"{}\"", option, whole));
  }
  return out;
}

}  // namespace

std::expected<CpuBind, std::string> parse_cpu_bind(std::string_view text) {
  return parse_words<decltype(kCpuWords), CpuBind>(kCpuWords, "cpu-bind", text);
}
std::expected<MemBind, std::string> parse_mem_bind(std::string_view text) {
  return parse_words<decltype(kMemWords), MemBind>(kMemWords, "mem-bind", text);
}

std::expected<GpuBind, std::string> parse_gpu_bind(std::string_view text) {
  GpuBind out;
  const auto bad = [whole = std::string(text)] {
    return std::unexpected(fmt::format("Invalid --gpu-bind argument: {}", whole));
  };
  if (take_flag(text, "v", "verbose")) {
    out.verbose = true;
    if (!text.empty()) text.remove_prefix(1);
  }
  const auto colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (text.empty()) return out;
  if (equal_ignoring_case(word, "none") || equal_ignoring_case(word, "closest")) {
    if (colon != std::string_view::npos) return bad();
    out.kind = equal_ignoring_case(word, "none") ? GpuBind::Kind::None : GpuBind::Kind::Closest;
    return out;
  }
  if (equal_ignoring_case(word, "single") || equal_ignoring_case(word, "per_task")) {
    const auto count = parse_decimal32(rest);
    if (!count || *count == 0) return bad();
    out.kind = equal_ignoring_case(word, "single") ? GpuBind::Kind::Single : GpuBind::Kind::PerTask;
    out.count = *count;
    return out;
  }
  const bool mask = equal_ignoring_case(word, "mask_gpu");
  if ((!mask && !equal_ignoring_case(word, "map_gpu")) || rest.empty()) return bad();
  auto list = parse_list(rest, mask);
  if (!list) return bad();
  out.kind = mask ? GpuBind::Kind::MaskGpu : GpuBind::Kind::MapGpu;
  out.list = *std::move(list);
  return out;
}

std::string_view type_text(CpuBind::Kind kind) {
  using enum CpuBind::Kind;
  switch (kind) {
    case None:
      return "none";
    case Rank:
      return "rank";
    case MapCpu:
      return "map_cpu:";
    case MaskCpu:
      return "mask_cpu:";
    case RankLdom:
      return "rank_ldom";
    case MapLdom:
      return "map_ldom:";
    case MaskLdom:
      return "mask_ldom:";
    case Auto:
    case Sockets:
    case Cores:
    case Threads:
    case Ldoms:
      return "";
  }
  return "";
}

std::string_view type_text(MemBind::Kind kind) {
  using enum MemBind::Kind;
  switch (kind) {
    case Unset:
      return "";
    case None:
      return "none";
    case Rank:
      return "rank";
    case Local:
      return "local";
    case MapMem:
      return "map_mem:";
    case MaskMem:
      return "mask_mem:";
  }
  return "";
}

std::vector<std::uint32_t> mask_bits(std::string_view hex) {
  if (hex.starts_with("0x") || hex.starts_with("0X")) hex.remove_prefix(2);
  std::vector<std::uint32_t> out;
  std::uint32_t base = 0;
  for (auto it = hex.rbegin(); it != hex.rend(); ++it, base += 4) {
    if (!is_hex(*it)) return {};
    const int value = *it <= '9' ? *it - '0' : (*it | 32) - 'a' + 10;
    for (std::uint32_t bit = 0; bit < 4; ++bit)
      if (value & (1 << bit)) out.push_back(base + bit);
  }
  return out;
}

std::string mask_text(const std::vector<std::uint32_t>& bits) {
  if (bits.empty()) return "0x0";
  std::string digits(std::ranges::max(bits) / 4 + 1, '0');
  for (const std::uint32_t bit : bits) {
    char& c = digits[digits.size() - 1 - bit / 4];
    const int value = (c <= '9' ? c - '0' : c - 'a' + 10) | (1 << (bit % 4));
    c = static_cast<char>(value < 10 ? '0' + value : 'a' + value - 10);
  }
  return "0x" + digits;
}

}  // namespace spur::text
