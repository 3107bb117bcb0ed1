// SPDX-License-Identifier: Apache-2.0
#include "cli/broadcast.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>

#include "cli/read_file.h"
#include "text/words.h"

extern char** environ;

namespace spur::cli {
namespace {

constexpr int kFailed = 255;

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string clock_text(const timespec& when) {
  char text[64] = {};
  std::tm broken{};
  ::localtime_r(&when.tv_sec, &broken);
  std::strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &broken);
  return text;
}

void describe(Context& context, const struct stat& info) {
  if (context.verbosity == 0) return;
  context.info("modes    = {:o}", info.st_mode);
  context.info("uid      = {}", info.st_uid);
  context.info("gid      = {}", info.st_gid);
  context.info("atime    = {}", clock_text(info.st_atim));
  context.info("mtime    = {}", clock_text(info.st_mtim));
  context.info("ctime    = {}", clock_text(info.st_ctim));
  context.info("size     = {}", info.st_size);
}

std::int64_t ns_of(const timespec& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// A file of this host, read from its beginning as often as it is sent.
class Source {
 public:
  explicit Source(std::size_t block) : block_(block), buffer_(std::make_unique_for_overwrite<char[]>(block)) {}
  ~Source() { close(); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // The exit status, after the message.
  int open(Context& context, const std::string& path) {
    close();
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0 || ::fstat(fd_, &info) != 0) {
      context.error("Can't open `{}`: {}", path, std::strerror(errno));
      return kFailed;
    }
    if (!S_ISREG(info.st_mode)) {
      context.error("Can't mmap file `{}`, No such device.", path);
      return kFailed;
    }
    return 0;
  }
  Result<std::string_view> next() {
    const std::uint64_t left = static_cast<std::uint64_t>(info.st_size) - at_;
    if (left == 0) return std::string_view();
    const ssize_t n = ::pread(fd_, buffer_.get(), std::min<std::uint64_t>(left, block_), static_cast<off_t>(at_));
    if (n < 0 && errno == EINTR) return next();
    if (n < 0) return fail(ErrorCode::Internal, fmt::format("cannot read it: {}", std::strerror(errno)));
    if (n == 0) return fail(ErrorCode::Internal, "it has become shorter while it was read");
    at_ += static_cast<std::uint64_t>(n);
    return std::string_view(buffer_.get(), static_cast<std::size_t>(n));
  }
  void rewind() { at_ = 0; }

  struct stat info{};

 private:
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    at_ = 0;
  }
  int fd_ = -1;
  std::uint64_t at_ = 0;
  std::size_t block_;
  std::unique_ptr<char[]> buffer_;
};

int send_to(Context& context, Controller& controller, const std::vector<wire::FilePlace>& places,
            const wire::FileToSend& file, Source& source) {
  int worst = 0;
  for (const auto& place : places) {
    source.rewind();
    const auto failures = controller.send_file(place, file, [&] { return source.next(); });
    if (!failures) {
      context.error("REQUEST_FILE_BCAST({}): {}", place.nodes.empty() ? "" : place.nodes.front(),
                    words(failures.error()));
      worst = std::max(worst, 1);
      continue;
    }
    for (const auto& failure : *failures) {
      context.error("REQUEST_FILE_BCAST({}): {}", failure.node,
                    failure.number != 0 ? std::strerror(failure.number) : failure.text.c_str());
      worst = std::max(worst, failure.number != 0 ? failure.number & 0xff : 1);
    }
  }
  return worst;
}

int send_one(Context& context, Controller& controller, const Broadcast& what,
             const std::vector<wire::FilePlace>& places, Source& source) {
  wire::FileToSend file{.path = what.destination,
                        .mode = source.info.st_mode & 0777u,
                        .size = static_cast<std::uint64_t>(source.info.st_size),
                        .replace = what.replace,
                        .compress = what.compress,
                        .times = {}};
  if (what.preserve) file.times = {ns_of(source.info.st_atim), ns_of(source.info.st_mtim)};
  return send_to(context, controller, places, file, source);
}

// What ldd says of a program; nothing where it says nothing of use.
std::optional<std::string> ask_ldd(const std::string& path) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string program = "ldd", end_of_options = "--", word = path;
  char* arguments[] = {program.data(), end_of_options.data(), word.data(), nullptr};
  pid_t child = -1;
  const int failed = ::posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  const auto text = failed != 0 ? Result<std::string>(fail(ErrorCode::NotFound)) : read_descriptor(ends[0]);
  ::close(ends[0]);
  int status = 1;
  if (failed == 0)
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  return text && status == 0 ? std::optional(*text) : std::nullopt;
}

int send_libraries(Context& context, Controller& controller, const Broadcast& what,
                   const std::vector<wire::FilePlace>& places, Source& source) {
  const auto found = ask_ldd(what.source);
  if (!found) {
    context.error(
        "Cannot autodetect libraries for '{}' with ldd command; still sending the file but ignoring send_libs",
        what.source);
    return 0;
  }
  const auto libraries = libraries_of(*found, what.exclude);
  Broadcast one = what;
  one.replace = true;
  const std::string directory = library_directory(what.destination);
  const wire::FileToSend make{.path = directory, .replace = true, .directory = true, .times = {}};
  if (const int failed = send_to(context, controller, places, make, source); failed != 0) return failed;
  for (const auto& library : libraries) {
    if (const int failed = source.open(context, library); failed != 0) return failed;
    one.destination = directory + "/" + name_of(library);
    if (const int failed = send_one(context, controller, one, places, source); failed != 0) return failed;
  }
  return 0;
}

}  // namespace

std::vector<std::string> libraries_of(std::string_view ldd_output, std::string_view exclude) {
  std::vector<std::string> out;
  const auto excluded = [&](std::string_view path) {
    if (exclude == "NONE") return false;
    return std::ranges::any_of(text::split(exclude, ','), [&](std::string_view directory) {
      while (directory.ends_with('/')) directory.remove_suffix(1);
      return directory.starts_with('/') && path.starts_with(directory) &&
             path.substr(directory.size()).starts_with('/');
    });
  };
  for (std::string_view line : text::split(ldd_output, '\n')) {
    // "\tlibc.so.6 => /lib/libc.so.6 (0x7f...)" or "\t/lib64/ld-linux.so.2 (0x7f...)"
    const auto path_at = line.find('/');
    if (path_at == std::string_view::npos) continue;
    if (const auto arrow = line.find("=> ");
        arrow != std::string_view::npos && arrow + 3 < line.size() && line[arrow + 3] != '/')
      continue;
    line.remove_prefix(line.find("=> /") != std::string_view::npos ? line.find("=> /") + 3 : path_at);
    const auto address = line.rfind(" (0x");
    const std::string path(line.substr(0, address));
    if (!excluded(path) && std::ranges::find(out, path) == out.end()) out.push_back(path);
  }
  return out;
}

int broadcast(Context& context, Controller& controller, const Broadcast& what,
              const std::vector<wire::FilePlace>& places) {
  Source source(std::clamp<std::size_t>(what.block_bytes, 4096, std::size_t{8} << 20));
  if (const int failed = source.open(context, what.source); failed != 0) return failed;
  if (source.info.st_size == 0) context.error("Warning: file `{}` is empty.", what.source);
  describe(context, source.info);
  if (const int failed = send_one(context, controller, what, places, source); failed != 0) return failed;
  return what.send_libs ? send_libraries(context, controller, what, places, source) : 0;
}

}  // namespace spur::cli
