// SPDX-License-Identifier: Apache-2.0
#include "os/step_notes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "os/files.h"
#include "os/spool.h"
#include "wire/envelope.h"

namespace spur::os {
namespace {

constexpr std::size_t kMaxOpen = 64, kMaxFileBytes = std::size_t{256} << 20;

}  // namespace

std::string SpoolStepNotes::path_of(model::JobRun run) const {
  return fmt::format("{}/{}", directory_, Spool::run_name(run));
}

Result<int> SpoolStepNotes::file_of(model::JobRun run) {
  if (const auto it = open_.find(run); it != open_.end()) return it->second.get();
  if (open_.size() >= kMaxOpen) open_.clear();
  const std::string path = path_of(run);
  const auto open_it = [&] {
    return UniqueFd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  };
  UniqueFd fd = open_it();
  if (!fd && errno == ENOENT && ::mkdir(directory_.c_str(), 0700) == 0) fd = open_it();
  if (!fd) return fail_errno("cannot open " + path, errno);
  return open_.emplace(run, std::move(fd)).first->second.get();
}

// One write for each: so only the last can be cut short.
Status SpoolStepNotes::add(model::JobRun run, std::string_view record) {
  SPUR_ASSIGN(const int fd, file_of(run));
  std::string bytes(4, '\0');
  wire::put_u32(static_cast<std::uint32_t>(record.size()), bytes.data());
  bytes += record;
  const ssize_t put = ::write(fd, bytes.data(), bytes.size());
  if (put == static_cast<ssize_t>(bytes.size())) return {};
  return fail_errno("cannot write to " + path_of(run), put < 0 ? errno : ENOSPC);
}

std::vector<std::string> SpoolStepNotes::read(model::JobRun run) {
  std::vector<std::string> out;
  const auto bytes = read_file(path_of(run), kMaxFileBytes);
  if (!bytes) return out;
  for (std::size_t at = 0; bytes->size() - at >= 4;) {
    const std::size_t size = wire::get_u32(bytes->data() + at);
    at += 4;
    if (bytes->size() - at < size) break;
    out.push_back(bytes->substr(at, size));
    at += size;
  }
  return out;
}

void SpoolStepNotes::forget(model::JobRun run) {
  open_.erase(run);
  ::unlink(path_of(run).c_str());
}

}  // namespace spur::os
