// SPDX-License-Identifier: Apache-2.0
#include "os/container_dirs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "os/files.h"
#include "os/sysfs.h"
#include "text/words.h"

namespace spur::os {
namespace {

bool take_amount(std::string_view text, std::uint64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

// Ours, for others to pass through.
Status make_open_dir(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0) {
    ::chmod(path.c_str(), 0755);
    return {};
  }
  const int error = errno;
  struct stat info{};
  if (error != EEXIST || ::lstat(path.c_str(), &info) != 0) return fail_errno("cannot make " + path, error);
  if (!S_ISDIR(info.st_mode) || (info.st_uid != ::geteuid() && info.st_uid != 0) || (info.st_mode & 022) != 0)
    return fail(ErrorCode::PermissionDenied,
                fmt::format("{} must be a directory of the agent that nobody else can write to", path));
  return {};
}

Status make_user_dir(const std::string& path, const Identity& user) {
  if (::mkdir(path.c_str(), 0700) == 0) {
    if (::geteuid() == 0 && ::lchown(path.c_str(), user.uid.value, user.gid.value) != 0)
      return fail_errno("cannot hand over " + path, errno);
    return {};
  }
  const int error = errno;
  struct stat info{};
  if (error != EEXIST || ::lstat(path.c_str(), &info) != 0) return fail_errno("cannot make " + path, error);
  // Another step may be between making it and handing it over.
  if (S_ISDIR(info.st_mode) && info.st_uid == 0 && ::geteuid() == 0 &&
      ::lchown(path.c_str(), user.uid.value, user.gid.value) == 0)
    return {};
  if (!S_ISDIR(info.st_mode) || info.st_uid != user.uid.value)
    return fail(ErrorCode::PermissionDenied, fmt::format("{} does not belong to {}", path, user.name));
  return {};
}

}  // namespace

std::string encode_container_settings(const ContainerSettings& s) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", s.image_dir, s.max_bytes, s.max_files, s.copy ? 1 : 0,
                     fmt::join(s.cdi_dirs, "\n"));
}

Result<ContainerSettings> decode_container_settings(std::string_view text) {
  const auto lines = text::split(text, '\n');
  ContainerSettings out;
  if (lines.size() < 5 || !take_amount(lines[1], &out.max_bytes) || !take_amount(lines[2], &out.max_files))
    return fail(ErrorCode::NotSupported, "this node has no directory for containers");
  out.image_dir = lines[0];
  out.copy = lines[3] == "1";
  for (std::size_t i = 4; i < lines.size(); ++i)
    if (!lines[i].empty()) out.cdi_dirs.emplace_back(lines[i]);
  return out;
}

std::string container_scratch(std::string_view image_dir, std::string_view spool_token, model::JobRun run) {
  return fmt::format("{}/run/{}.{}.{}", image_dir, spool_token, run.job.value, run.epoch.value);
}

Result<ContainerDirs> make_container_dirs(const std::string& image_dir, std::string_view spool_token,
                                          model::JobRun run, const Identity& user) {
  ContainerDirs out{.scratch = container_scratch(image_dir, spool_token, run),
                    .cache = fmt::format("{}/users/{}", image_dir, user.uid.value)};
  // A node has no other use for what is above.
  for (auto slash = image_dir.find('/', 1); slash != std::string::npos; slash = image_dir.find('/', slash + 1))
    ::mkdir(image_dir.substr(0, slash).c_str(), 0755);
  SPUR_TRY(make_open_dir(image_dir));
  SPUR_TRY(make_open_dir(image_dir + "/users"));
  SPUR_TRY(make_open_dir(image_dir + "/run"));
  SPUR_TRY(make_user_dir(out.cache, user));
  SPUR_TRY(make_user_dir(out.scratch, user));
  return out;
}

std::vector<std::string> stale_scratch(const std::string& image_dir, std::string_view spool_token,
                                       const std::vector<model::JobRun>& known) {
  std::vector<std::string> out;
  const std::string directory = image_dir + "/run";
  for (const std::string& name : sysfs_list(directory)) {
    const std::string path = directory + "/" + name;
    if (!name.starts_with(std::string(spool_token) + ".")) continue;
    if (std::ranges::none_of(known, [&](auto run) { return container_scratch(image_dir, spool_token, run) == path; }))
      out.push_back(path);
  }
  return out;
}

}  // namespace spur::os
