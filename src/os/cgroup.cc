// SPDX-License-Identifier: Apache-2.0
#include "os/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <memory>
#include <optional>

#include "os/files.h"
#include "os/process.h"
#include "os/sysfs.h"

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

// Where the controller is off the file is missing, and with it the limit.
Status set_limit(int dir, const std::string& path, const char* name, std::string_view value) {
  if (::faccessat(dir, name, F_OK, 0) != 0) return {};
  return write_at(dir, path, name, value);
}

constexpr const char* kControllers[] = {"memory", "cpuset", "pids", "io"};

// One by one: a controller that cannot be had must not cost the others.
void hand_on_controllers(int dir, const std::string& path) {
  for (const char* name : kControllers) (void)write_at(dir, path, "cgroup.subtree_control", fmt::format("+{}", name));
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

void parse_pids(const std::string& text, std::vector<pid_t>& out) {
  for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
    pid_t pid = 0;
    at = std::from_chars(at, end, pid).ptr;
    if (pid > 0) out.push_back(pid);
  }
}

void collect_processes(int dir, std::vector<pid_t>& out) {
  if (const auto text = read_at(dir, "cgroup.procs")) parse_pids(*text, out);
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

// A group with processes of its own cannot hand controllers on, the root excepted.
void step_aside(const Cgroup& group) {
  const auto type = read_at(group.fd(), "cgroup.type");  // the root has none
  if (!type) return;
  const auto text = read_at(group.fd(), "cgroup.procs");
  std::vector<pid_t> here;
  if (text) parse_pids(*text, here);
  if (here.empty()) return;
  std::vector<pid_t> ours = descendants_of(::getpid());
  ours.push_back(::getpid());
  for (const pid_t pid : here)
    if (std::ranges::find(ours, pid) == ours.end()) return;  // a login session, say: not ours to rearrange
  auto aside = Cgroup::create(group.path() + "/daemon");
  if (!aside) return;
  for (const pid_t pid : here) (void)write_at(aside->fd(), aside->path(), "cgroup.procs", std::to_string(pid));
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
  out.lock.reset(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (out.lock) (void)::flock(out.lock.get(), LOCK_SH | LOCK_NB);
  if (auto above = Cgroup::open(parent); above) {
    step_aside(*above);
    hand_on_controllers(above->fd(), parent);
  }
  hand_on_controllers(base->fd(), path);
  const auto on = read_at(base->fd(), "cgroup.subtree_control").value_or("");
  std::string missing;
  for (const char* controller : kControllers)
    if (!has_word(on, controller)) missing += (missing.empty() ? "" : ", ") + std::string(controller);
  if (!missing.empty())
    out.problem = fmt::format("no control of {} in {}: limits of these are not enforced", missing, path);
  return out;
}

std::size_t remove_left_groups(const CgroupBase& base, std::string_view prefix, seconds older_than) {
  const auto slash = base.path.rfind('/');
  if (base.path.empty() || slash == std::string::npos || prefix.empty()) return 0;
  const std::string parent = base.path.substr(0, slash);
  std::size_t removed = 0;
  for (const auto& name : sysfs_list(parent)) {
    const std::string path = parent + "/" + name;
    if (!name.starts_with(prefix) || path == base.path) continue;
    const auto group = Cgroup::open(path);
    // An agent of another cluster on this host may have a node of the same name.
    if (!group || group->populated() || ::flock(group->fd(), LOCK_EX | LOCK_NB) != 0) continue;
    struct stat info{};
    if (::fstat(group->fd(), &info) != 0 || ::time(nullptr) - info.st_mtime < older_than.count()) continue;
    if (group->remove()) ++removed;
  }
  return removed;
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

Status Cgroup::limit(const CgroupLimits& limits) const {
  const auto set = [this](const char* name, std::string_view value) {
    return set_limit(fd_.get(), path_, name, value);
  };
  if (!limits.cpus.empty()) SPUR_TRY(set("cpuset.cpus", limits.cpus));
  if (limits.memory_high) SPUR_TRY(set("memory.high", std::to_string(*limits.memory_high)));
  if (limits.memory_max) SPUR_TRY(set("memory.max", std::to_string(*limits.memory_max)));
  if (limits.swap_max) SPUR_TRY(set("memory.swap.max", std::to_string(*limits.swap_max)));
  if (limits.processes_max > 0) SPUR_TRY(set("pids.max", std::to_string(limits.processes_max)));
  for (const std::string& line : limits.io_max) SPUR_TRY(set("io.max", line));
  return {};
}

void Cgroup::delegate(bool cpus) const {
  // Only what groups below are limited by or counted with.
  (void)write_at(fd_.get(), path_, "cgroup.subtree_control", "+memory");
  if (cpus) (void)write_at(fd_.get(), path_, "cgroup.subtree_control", "+cpuset");
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

Cgroup::CpuTime Cgroup::cpu_time() const {
  const auto text = read_at(fd_.get(), "cpu.stat");
  return {.user_us = value_of(text, "user_usec"), .system_us = value_of(text, "system_usec")};
}

}  // namespace spur::os
