// SPDX-License-Identifier: Apache-2.0
#include "os/sysfs.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "os/files.h"

namespace spur::os {
namespace {

constexpr std::size_t kMostSysfsBytes = std::size_t{1} << 16;
constexpr std::uint32_t kMostCpus = 1u << 16;

// Digits compare as numbers.
bool natural_less(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const bool digits = a[0] >= '0' && a[0] <= '9' && b[0] >= '0' && b[0] <= '9';
    if (!digits) {
      if (a[0] != b[0]) return a[0] < b[0];
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    std::uint64_t x = 0, y = 0;
    const auto after_a = std::from_chars(a.data(), a.data() + a.size(), x).ptr;
    const auto after_b = std::from_chars(b.data(), b.data() + b.size(), y).ptr;
    if (x != y) return x < y;
    a.remove_prefix(static_cast<std::size_t>(after_a - a.data()));
    b.remove_prefix(static_cast<std::size_t>(after_b - b.data()));
  }
  return a.size() < b.size();
}

}  // namespace

std::string sysfs_text(const std::string& path) {
  auto text = read_file(path, kMostSysfsBytes);
  if (!text) return {};
  while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
  return std::move(*text);
}

std::optional<std::uint64_t> sysfs_number(const std::string& path) {
  const std::string text = sysfs_text(path);
  std::string_view digits = text;
  const bool hex = digits.starts_with("0x");
  if (hex) digits.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> sysfs_property(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    if (line.starts_with(':')) line.remove_prefix(1);
    if (!line.starts_with(' ')) continue;
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    std::uint64_t value = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), value).ec == std::errc()) return value;
  }
  return std::nullopt;
}

std::vector<std::string> sysfs_list(const std::string& path) {
  std::vector<std::string> out;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(path, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error))
    if (auto name = it->path().filename().string(); !name.starts_with('.')) out.push_back(std::move(name));
  std::ranges::sort(out, natural_less);
  return out;
}

std::vector<std::uint32_t> cpu_list(std::string_view text) {
  std::vector<std::uint32_t> out;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    std::uint32_t first = 0, last = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), first);
    if (error != std::errc()) continue;
    last = first;
    if (end < item.data() + item.size() && *end == '-') std::from_chars(end + 1, item.data() + item.size(), last);
    for (; first <= last && last < kMostCpus; ++first) out.push_back(first);
  }
  return out;
}

}  // namespace spur::os
