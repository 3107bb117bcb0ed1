// SPDX-License-Identifier: Apache-2.0
#include "os/etcd_snapshot.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "os/crc32c.h"
#include "os/files.h"

namespace spur::os {
namespace {

constexpr std::string_view kSnapshotMagic = "spur snapshot 1\n";
constexpr std::size_t kNumbers = 16 + 1 + 8 + 1;  // hexadecimal, for whoever looks at the file
constexpr std::size_t kMaxSnapshotBytes = std::size_t{16} << 30;

std::string id_path(const std::string& directory) {
  return directory + "/cluster.id";
}
std::string converted_path(const std::string& directory) {
  return directory + "/converted.id";
}
std::string snapshot_path(const std::string& directory) {
  return directory + "/snapshot.bin";
}
bool file_exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}
Result<std::string> load_id(const std::string& path) {
  if (!file_exists(path)) return std::string();
  SPUR_ASSIGN(std::string id, read_file(path, 256));
  while (!id.empty() && id.back() == '\n') id.pop_back();
  if (id.empty()) return fail(ErrorCode::Corrupt, path + " is empty");
  return id;
}

}  // namespace

Result<std::string> load_cluster_id(const std::string& directory) {
  return load_id(id_path(directory));
}

Result<std::string> load_converted_id(const std::string& directory) {
  return load_id(converted_path(directory));
}

Status store_converted_id(const std::string& directory, const std::string& id) {
  return write_file_durably(converted_path(directory), id + "\n", 0600);
}

Status forget_converted_id(const std::string& directory) {
  if (::unlink(converted_path(directory).c_str()) == 0 || errno == ENOENT) return {};
  return fail_errno("cannot remove " + converted_path(directory), errno);
}

Status store_cluster_id(const std::string& directory, const std::string& id) {
  return write_file_durably(id_path(directory), id + "\n", 0600);
}

Result<StoredSnapshot> load_snapshot_file(const std::string& directory) {
  const std::string path = snapshot_path(directory);
  if (!file_exists(path)) return StoredSnapshot{};
  SPUR_ASSIGN(std::string file, read_file(path, kMaxSnapshotBytes));
  const std::size_t header = kSnapshotMagic.size() + kNumbers;
  StoredSnapshot out;
  std::uint32_t checksum = 0;
  const char* at = file.data() + kSnapshotMagic.size();
  const bool whole = file.size() >= header && file.starts_with(kSnapshotMagic) &&
                     std::from_chars(at, at + 16, out.index, 16).ptr == at + 16 &&
                     std::from_chars(at + 17, at + 25, checksum, 16).ptr == at + 25 && out.index > 0 &&
                     crc32c(std::string_view(file).substr(header)) == checksum;
  if (!whole)
    return fail(ErrorCode::Corrupt,
                fmt::format("{} is damaged; remove it: this controller then gets the state from the others", path));
  out.bytes = file.substr(header);
  return out;
}

Status store_snapshot_file(const std::string& directory, std::uint64_t index, const std::string& bytes) {
  std::string file(kSnapshotMagic);
  file.reserve(file.size() + kNumbers + bytes.size());
  file += fmt::format("{:016x} {:08x}\n", index, crc32c(bytes));
  file += bytes;
  return write_file_durably(snapshot_path(directory), file, 0600);
}

}  // namespace spur::os
