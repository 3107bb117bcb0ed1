// SPDX-License-Identifier: Apache-2.0
#include "cli/name_service.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

extern char** environ;

namespace spur::cli {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

std::string drain(int fd) {
  std::string text;
  char buffer[16384];
  while (text.size() < kMaxBytes) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

std::string read_all(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text = drain(fd);
  ::close(fd);
  return text;
}

// The next line, without its end; moves `text` behind it.
std::string_view next_line(std::string_view& text) {
  const auto end = text.find('\n');
  const auto line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::string_view field(std::string_view line, int number) {
  for (; number > 0; --number) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return {};
    line.remove_prefix(colon + 1);
  }
  return line.substr(0, line.find(':'));
}

std::vector<std::string> fields(std::string_view line) {
  std::vector<std::string> out;
  for (;;) {
    const auto colon = line.find(':');
    out.emplace_back(line.substr(0, colon));
    if (colon == std::string_view::npos) return out;
    line.remove_prefix(colon + 1);
  }
}

std::optional<std::vector<std::string>> search(std::string_view text, std::string_view key, bool by_id,
                                               std::size_t least_fields) {
  while (!text.empty()) {
    const auto line = next_line(text);
    // Both files have the id in the third field. "+" and "-" lines are of the compat source, not users.
    if (line.empty() || line[0] == '+' || line[0] == '-' || line[0] == '#') continue;
    if (field(line, by_id ? 2 : 0) != key) continue;
    if (auto found = fields(line); found.size() >= least_fields) return found;
  }
  return std::nullopt;
}

bool has_other_sources(std::string_view nsswitch, std::string_view database) {
  while (!nsswitch.empty()) {
    auto line = next_line(nsswitch);
    line = line.substr(0, line.find('#'));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with(database) || line.substr(database.size(), 1) != ":") continue;
    line.remove_prefix(database.size() + 1);
    for (bool action = false; !line.empty();) {
      line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
      const auto word = line.substr(0, line.find_first_of(" \t\r"));
      line.remove_prefix(word.size());
      if (word.starts_with('[')) action = true;
      if (!word.empty() && !action && word != "files" && word != "compat") return true;
      if (word.ends_with(']')) action = false;
    }
  }
  return false;
}

}  // namespace

std::optional<std::vector<std::string>> NameService::find(Database database, std::string_view key, bool by_id) const {
  const bool passwd = database == Database::Passwd;
  if (key.empty() || key.find_first_of(":\n") != std::string_view::npos || key.find('\0') != std::string_view::npos)
    return std::nullopt;
  if (auto found = search(read_all(passwd ? files_.passwd : files_.group), key, by_id, passwd ? 4 : 3)) return found;
  if (!has_other_sources(read_all(files_.nsswitch), passwd ? "passwd" : "group")) return std::nullopt;
  return ask_getent(database, key, by_id);
}

std::optional<std::vector<std::string>> NameService::ask_getent(Database database, std::string_view key,
                                                                bool by_id) const {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const bool passwd = database == Database::Passwd;
  std::string program = files_.getent, which = passwd ? "passwd" : "group", word(key), end_of_options = "--";
  char* arguments[] = {program.data(), end_of_options.data(), which.data(), word.data(), nullptr};
  pid_t child = -1;
  const int failed = ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  const std::string text = failed ? std::string{} : drain(ends[0]);
  ::close(ends[0]);
  if (failed) return std::nullopt;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return search(text, key, by_id, passwd ? 4 : 3);
}

}  // namespace spur::cli
