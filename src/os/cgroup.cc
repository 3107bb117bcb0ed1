// SPDX-License-Identifier: Apache-2.0
#include "os/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>

#include "os/files.h"

namespace spur::os {
namespace {

std::optional<std::string> read_at(int dir, const char* name) {
  const UniqueFd fd(::openat(dir, name, O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

Status write_at(int dir, const std::string& path, const char* name, std::string_view value) {
  const UniqueFd fd(::openat(dir, name, O_WRONLY | O_CLOEXEC));
  if (!fd) return fail_errno(fmt::format("cannot open {}/{}", path, name), errno);
  if (::write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size()))
    return fail_errno(fmt::format("cannot write {}/{}", path, name), errno);
  return {};
}

// The value after `key` in a file of "key value" lines; 0 if it is not there.
std::uint64_t value_of(const std::optional<std::string>& text, std::string_view key) {
  if (!text) return 0;
  for (std::string_view rest = *text; !rest.empty();) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ') continue;
    std::uint64_t value = 0;
    std::from_chars(line.data() + key.size() + 1, line.data() + line.size(), value);
    return value;
  }
  return 0;
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || text[at - 1] == ' ') && (end == text.size() || text[end] == ' ' || text[end] == '\n'))
      return true;
  }
  return false;
}

// mountinfo: "id parent major:minor root mount-point options ... - type source ..."
std::optional<std::string> cgroup2_mount() {
  const auto text = read_at(AT_FDCWD, "/proc/self/mountinfo");
  if (!text) return std::nullopt;
  for (std::string_view rest = *text; !rest.empty();) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.find(" - cgroup2 ") == std::string_view::npos) continue;
    std::string_view fields = line;
    for (int i = 0; i < 4; ++i) fields.remove_prefix(fields.find(' ') + 1);
    return std::string(fields.substr(0, fields.find(' ')));
  }
  return std::nullopt;
}

std::string own_cgroup() {
  const auto text = read_at(AT_FDCWD, "/proc/self/cgroup");
  for (std::string_view rest = text ? *text : std::string_view{}; !rest.empty();) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.starts_with("0::")) return std::string(line.substr(line == "0::/" ? 4 : 3));
  }
  return {};
}

std::vector<std::string> groups_below(int dir) {
  std::vector<std::string> out;
  const int copy = ::openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return out;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(copy), ::closedir);
  while (const dirent* entry = ::readdir(stream.get()))
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') out.emplace_back(entry->d_name);
  return out;
}

void collect_processes(int dir, std::vector<pid_t>& out) {
  if (const auto text = read_at(dir, "cgroup.procs")) {
    for (const char *at = text->data(), *end = at + text->size(); at < end; ++at) {
      pid_t pid = 0;
      at = std::from_chars(at, end, pid).ptr;
      if (pid > 0) out.push_back(pid);
    }
  }
  for (const auto& name : groups_below(dir)) {
    const UniqueFd below(::openat(dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (below) collect_processes(below.get(), out);
  }
}

void remove_below(int dir) {
  for (const auto& name : groups_below(dir)) {
    const UniqueFd below(::openat(dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!below) continue;
    remove_below(below.get());
    ::unlinkat(dir, name.c_str(), AT_REMOVEDIR);
  }
}

}  // namespace

CgroupBase open_cgroup_base(std::string_view name) {
  CgroupBase out;
  const auto mount = cgroup2_mount();
  if (!mount) {
    out.problem = "no cgroup v2 hierarchy is mounted: jobs are tracked by their process tree, without limits";
    return out;
  }
  const std::string parent = *mount + own_cgroup(), path = parent + "/" + std::string(name);
  auto base = Cgroup::create(path);
  if (!base) {
    out.problem = fmt::format("{}: jobs are tracked by their process tree, without limits", base.error().message);
    return out;
  }
  out.path = path;
  const UniqueFd above(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Best effort: where the parent may not delegate, the check below finds the controller missing.
  (void)write_at(above.get(), parent, "cgroup.subtree_control", "+memory");
  (void)write_at(base->fd(), path, "cgroup.subtree_control", "+memory");
  if (const auto on = read_at(base->fd(), "cgroup.subtree_control"); !on || !has_word(*on, "memory"))
    out.problem = fmt::format("the memory controller is not available in {}: memory limits are not enforced", path);
  return out;
}

std::string job_cgroup_path(std::string_view base, model::JobRun run) {
  // The first run has the name that Slurm's monitoring tools look for; a later one must not share a group with it.
  if (run.epoch.value <= 1) return fmt::format("{}/job_{}", base, run.job.value);
  return fmt::format("{}/job_{}.{}", base, run.job.value, run.epoch.value);
}

Result<Cgroup> Cgroup::create(std::string path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return fail_errno("cannot make the cgroup " + path, errno);
  auto made = open(path);
  // A directory of another kind of file system is no cgroup, whatever it is called.
  if (made && ::faccessat(made->fd(), "cgroup.procs", W_OK, AT_EACCESS) != 0)
    return fail_errno("cannot use the cgroup " + path, errno);
  return made;
}

Result<Cgroup> Cgroup::open(std::string path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return fail_errno("cannot open the cgroup " + path, errno);
  return Cgroup(std::move(path), std::move(fd));
}

std::vector<pid_t> Cgroup::processes() const {
  std::vector<pid_t> out;
  collect_processes(fd_.get(), out);
  return out;
}

bool Cgroup::populated() const {
  return value_of(read_at(fd_.get(), "cgroup.events"), "populated") != 0;
}

Status Cgroup::kill() const {
  if (auto done = write_at(fd_.get(), path_, "cgroup.kill", "1"); done) return {};
  // Kernels before 5.14: until none is left, since those found may have forked meanwhile.
  for (int round = 0; round < 100; ++round) {
    const auto found = processes();
    if (found.empty()) return {};
    for (const pid_t pid : found) ::kill(pid, SIGKILL);
  }
  return fail(ErrorCode::Busy, "processes in " + path_ + " do not end");
}

Status Cgroup::freeze(bool frozen) const {
  return write_at(fd_.get(), path_, "cgroup.freeze", frozen ? "1" : "0");
}

bool Cgroup::remove() const {
  if (::rmdir(path_.c_str()) == 0 || errno == ENOENT) return true;
  remove_below(fd_.get());
  return ::rmdir(path_.c_str()) == 0 || errno == ENOENT;
}

Status Cgroup::limit_memory(std::uint64_t mib) const {
  if (::faccessat(fd_.get(), "memory.max", W_OK, AT_EACCESS) != 0)
    return fail(ErrorCode::NotSupported, "no memory controller in " + path_);
  return write_at(fd_.get(), path_, "memory.max", std::to_string(mib << 20));
}

void Cgroup::delegate_memory() const {
  (void)write_at(fd_.get(), path_, "cgroup.subtree_control", "+memory");
}

std::uint64_t Cgroup::oom_kills() const {
  return value_of(read_at(fd_.get(), "memory.events"), "oom_kill");
}

std::uint64_t Cgroup::peak_memory_bytes() const {
  std::uint64_t value = 0;
  if (const auto text = read_at(fd_.get(), "memory.peak"))
    std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

}  // namespace spur::os
