// SPDX-License-Identifier: Apache-2.0
#include "os/synced_mark.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "os/crc32c.h"
#include "os/files.h"

namespace spur::os {
namespace {

// "SPURMARK", journal id, index, CRC of all before: 36 bytes, well within one sector, so a write is never torn.
constexpr std::string_view kMarkMagic = "SPURMARK";
constexpr std::size_t kBytes = 8 + 16 + 8 + 4;

template <class Number>
void put(std::string& to, Number value) {
  for (std::size_t i = 0; i < sizeof value; ++i) to.push_back(static_cast<char>(value >> (8 * i)));
}
template <class Number>
Number get(std::string_view from) {
  Number value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i)
    value |= static_cast<Number>(static_cast<unsigned char>(from[i])) << (8 * i);
  return value;
}

std::string encode(const SyncedMark::Value& value) {
  std::string bytes(kMarkMagic);
  bytes.append(value.journal.data(), value.journal.size());
  put(bytes, value.index);
  put(bytes, crc32c(bytes));
  return bytes;
}

}  // namespace

Result<std::optional<SyncedMark::Value>> SyncedMark::read(const std::string& path) {
  Result<std::string> bytes = read_file(path, 4096);
  if (!bytes && bytes.error().code == ErrorCode::NotFound) return std::nullopt;
  if (!bytes) return std::unexpected(bytes.error());
  const std::string_view view = *bytes;
  if (view.size() != kBytes || !view.starts_with(kMarkMagic) ||
      get<std::uint32_t>(view.substr(kBytes - 4)) != crc32c(view.substr(0, kBytes - 4)))
    return fail(ErrorCode::Corrupt, fmt::format("{} is damaged", path));
  Value value;
  std::memcpy(value.journal.data(), view.data() + 8, value.journal.size());
  value.index = get<std::uint64_t>(view.substr(24));
  return value;
}

Result<SyncedMark> SyncedMark::create(const std::string& path, const Value& value) {
  SPUR_TRY(write_file_durably(path, encode(value)));
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return fail_errno(fmt::format("cannot open {}", path), errno);
  return SyncedMark(std::move(fd), path, value.journal);
}

Status SyncedMark::set(std::uint64_t index) {
  const std::string bytes = encode({journal_, index});
  if (::pwrite(fd_.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return fail_errno(fmt::format("cannot write {}", path_), errno);
  synced_ = false;
  return {};
}

Status SyncedMark::sync() {
  if (synced_) return {};
  if (::fdatasync(fd_.get()) != 0) return fail_errno(fmt::format("cannot sync {}", path_), errno);
  synced_ = true;
  return {};
}

}  // namespace spur::os
