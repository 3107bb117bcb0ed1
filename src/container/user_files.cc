// SPDX-License-Identifier: Apache-2.0
#include "container/user_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "container/scoped_path.h"
#include "os/files.h"
#include "text/words.h"

namespace spur::container {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

bool has_id(std::string_view content, std::size_t column, unsigned id) {
  for (const std::string_view line : text::split(content, '\n')) {
    const auto fields = text::split(line, ':');
    if (fields.size() > column && fields[column] == std::to_string(id)) return true;
  }
  return false;
}

// Of the image; empty if it has none.
std::string read_in(int root, const char* path) {
  const auto fd = open_in(root, path, O_RDONLY | O_NONBLOCK);
  std::string out;
  if (!fd) return out;
  char buffer[65536];
  for (ssize_t got; (got = ::read(fd->get(), buffer, sizeof buffer)) > 0 && out.size() < kMostBytes;)
    out.append(buffer, static_cast<std::size_t>(got));
  return out;
}

// Nothing that would make a line of its own, or more fields.
std::string field(std::string_view text) {
  std::string out(text);
  std::erase_if(out, [](char c) { return c == ':' || static_cast<unsigned char>(c) < 0x20; });
  return out;
}

void end_line(std::string& content) {
  if (!content.empty() && content.back() != '\n') content += '\n';
}

}  // namespace

std::string with_user(std::string content, std::string_view name, unsigned uid, unsigned gid, std::string_view home) {
  if (has_id(content, 2, uid)) return content;
  end_line(content);
  return content + fmt::format("{}:x:{}:{}::{}:/bin/sh\n", field(name), uid, gid, home.empty() ? "/" : field(home));
}

std::string with_group(std::string content, std::string_view name, unsigned gid) {
  if (has_id(content, 2, gid)) return content;
  end_line(content);
  return content + fmt::format("{}:x:{}:\n", field(name), gid);
}

Result<std::vector<text::MountSpec>> write_user_files(const std::string& rootfs, const std::string& directory,
                                                      const BoxUser& user) {
  const os::UniqueFd root(::open(rootfs.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return os::fail_errno("cannot open the image " + rootfs, errno);
  const unsigned uid = user.as_root ? 0 : ::geteuid(), gid = user.as_root ? 0 : ::getegid();
  const std::string name = user.as_root ? "root" : user.name;
  std::vector<text::MountSpec> out;
  const struct {
    const char* path;
    std::string file, content;
  } files[] = {{"/etc/passwd", directory + "/passwd",
                with_user(read_in(root.get(), "/etc/passwd"), name, uid, gid, user.home)},
               {"/etc/group", directory + "/group", with_group(read_in(root.get(), "/etc/group"), name, gid)}};
  for (const auto& file : files) {
    if (file.content == read_in(root.get(), file.path)) continue;
    ::unlink(file.file.c_str());
    const os::UniqueFd fd(::open(file.file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!fd) return os::fail_errno("cannot write " + file.file, errno);
    SPUR_TRY(os::write_all(fd.get(), file.content, file.file));
    out.push_back({.source = file.file, .target = file.path});
  }
  return out;
}

}  // namespace spur::container
