// SPDX-License-Identifier: Apache-2.0
#include "os/etcd_keys.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

namespace spur::os {
namespace {

constexpr std::string_view kEntryMagic = "SPJ1";
constexpr std::size_t kEntryHeaderBytes = 4 + 8 + 4 + 4;

template <class T>
void put(std::string* out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out->push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}
template <class T>
T get(std::string_view bytes) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

}  // namespace

// Of one width, so that the order of the keys is that of the numbers.
std::string EtcdKeys::log(std::uint64_t index) const {
  return fmt::format("{}r/log/{:016x}", root_, index);
}
std::string EtcdKeys::parts(std::uint64_t index) const {
  return fmt::format("{}part/{:016x}", root_, index);
}
std::string EtcdKeys::parts(std::uint64_t index, std::int64_t term) const {
  return fmt::format("{}/{:016x}/", parts(index), term);
}
std::string EtcdKeys::parts_end(std::uint64_t index, std::int64_t term) const {
  return fmt::format("{}/{:016x}0", parts(index), term);
}
std::string EtcdKeys::part(std::uint64_t index, std::int64_t term, std::uint32_t number) const {
  return fmt::format("{}{:08x}", parts(index, term), number);
}

std::optional<std::uint64_t> EtcdKeys::log_index(std::string_view key) const {
  const std::string prefix = root_ + "r/log/";
  if (!key.starts_with(prefix)) return {};
  key.remove_prefix(prefix.size());
  std::uint64_t index = 0;
  const auto [end, bad] = std::from_chars(key.data(), key.data() + key.size(), index, 16);
  if (bad != std::errc{} || end != key.data() + key.size() || key.size() != 16) return {};
  return index;
}

std::string encode_etcd_entry(const EtcdEntry& entry) {
  std::string out(kEntryMagic);
  out.reserve(kEntryHeaderBytes + entry.last.size());
  put(&out, static_cast<std::uint64_t>(entry.term));
  put(&out, entry.parts);
  put(&out, entry.checksum);
  out += entry.last;
  return out;
}

std::optional<EtcdEntry> decode_etcd_entry(std::string_view value) {
  if (value.size() < kEntryHeaderBytes || !value.starts_with(kEntryMagic)) return {};
  return EtcdEntry{.term = static_cast<std::int64_t>(get<std::uint64_t>(value.substr(4))),
                   .parts = get<std::uint32_t>(value.substr(12)),
                   .checksum = get<std::uint32_t>(value.substr(16)),
                   .last = value.substr(kEntryHeaderBytes)};
}

std::string encode_etcd_term(const EtcdTerm& term) {
  std::string out = fmt::format("{}\n{}\n{}", term.member, term.address, term.life);
  if (!term.successor.empty()) out += "\n" + term.successor;
  return out;
}

EtcdTerm decode_etcd_term(std::string_view value) {
  const auto line = [&value] {
    const std::size_t end = value.find('\n');
    const std::string out(value.substr(0, end));
    value.remove_prefix(end == std::string_view::npos ? value.size() : end + 1);
    return out;
  };
  EtcdTerm out;
  out.member = line();
  out.address = line();
  out.life = line();
  out.successor = line();
  return out;
}

}  // namespace spur::os
