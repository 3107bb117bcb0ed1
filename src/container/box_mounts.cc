// SPDX-License-Identifier: Apache-2.0
#include "container/box_mounts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "container/copy_tree.h"
#include "container/scoped_path.h"
#include "os/files.h"
#include "os/remove_tree.h"
#include "text/printable.h"

namespace spur::container {
namespace {

std::string self_path(int fd) {
  return fmt::format("/proc/self/fd/{}", fd);
}

Status write_proc(const char* path, const std::string& text) {
  const os::UniqueFd fd(::open(path, O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return os::fail_errno(fmt::format("cannot write {}", path), errno);
  return {};
}

Status make_dir(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return os::fail_errno("cannot make " + path, errno);
}

// Commas and colons mean something in the options of an overlay.
std::string escaped(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (c == ',' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Makes what is missing of `target` in the upper layer, before the overlay is there: the user may do that also where
// directories of the image belong to somebody else. What cannot be made here is tried again in the overlay.
void prepare_target(int lower, int upper, const std::string& target, bool is_directory) {
  std::string path = target, rest;
  os::UniqueFd found;
  while (!path.empty()) {  // the longest part that the image has
    if (auto fd = open_in(lower, path, O_PATH)) {
      found = *std::move(fd);
      break;
    }
    const auto slash = path.rfind('/');
    rest = path.substr(slash) + rest;
    path.resize(slash);
  }
  if (rest.empty()) return;
  std::string real;
  if (found) {
    char base[4096], full[4096];
    const ssize_t b = ::readlink(self_path(lower).c_str(), base, sizeof base);
    const ssize_t f = ::readlink(self_path(found.get()).c_str(), full, sizeof full);
    if (b <= 0 || f < b) return;
    real.assign(full + b, static_cast<std::size_t>(f - b));
  }
  const std::string whole = real + rest;
  const auto slash = whole.rfind('/');
  const auto parent = make_dirs_in(upper, is_directory ? whole : whole.substr(0, slash));
  if (!parent || is_directory) return;
  const os::UniqueFd made(
      ::openat(parent->get(), whole.c_str() + slash + 1, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
}

bool is_directory(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Result<os::UniqueFd> clone_tree(const std::string& source, bool recursive) {
  const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (recursive ? AT_RECURSIVE : 0);
  os::UniqueFd tree(::open_tree(AT_FDCWD, source.c_str(), flags));
  if (tree) return tree;
  if (errno == EINVAL && !recursive)
    return fail(ErrorCode::InvalidArgument,
                fmt::format("cannot mount {} without what is mounted below it: use rbind", text::shown(source)));
  return os::fail_errno(fmt::format("cannot mount {}", text::shown(source)), errno);
}

Status attach(int tree, int target, std::string_view name) {
  if (::move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0) return {};
  return os::fail_errno(fmt::format("cannot mount at {}", text::shown(name)), errno);
}

Status set_flags(int tree, const text::MountSpec& mount) {
  mount_attr attributes{};
  if (mount.read_only) attributes.attr_set |= MOUNT_ATTR_RDONLY;
  if (mount.no_exec) attributes.attr_set |= MOUNT_ATTR_NOEXEC;
  if (mount.no_dev) attributes.attr_set |= MOUNT_ATTR_NODEV;
  if (mount.no_suid) attributes.attr_set |= MOUNT_ATTR_NOSUID;
  if (attributes.attr_set == 0) return {};
  const unsigned flags = AT_EMPTY_PATH | (mount.recursive ? AT_RECURSIVE : 0);
  if (::mount_setattr(tree, "", flags, &attributes, sizeof attributes) == 0) return {};
  return os::fail_errno(fmt::format("cannot set the options of the mount at {}", text::shown(mount.target)), errno);
}

// The target, opened, made if it is missing.
Result<os::UniqueFd> open_target(int root, const std::string& target, bool directory) {
  if (directory) {
    SPUR_ASSIGN(const auto made, make_dirs_in(root, target));
    return open_in(root, target, O_PATH);
  }
  if (auto there = open_in(root, target, O_PATH)) return there;
  const auto slash = target.rfind('/');
  SPUR_ASSIGN(const auto parent, make_dirs_in(root, target.substr(0, slash)));
  const os::UniqueFd made(::openat(parent.get(), target.c_str() + slash + 1, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  return open_in(root, target, O_PATH);
}

Status mount_tmpfs(int root, const text::MountSpec& mount, const char* options) {
  SPUR_ASSIGN(const auto target, open_target(root, mount.target, true));
  const unsigned long flags = MS_NOSUID | MS_NODEV | (mount.no_exec ? MS_NOEXEC : 0);
  if (::mount("tmpfs", self_path(target.get()).c_str(), "tmpfs", flags, options) == 0) return {};
  return os::fail_errno(fmt::format("cannot mount a tmpfs at {}", text::shown(mount.target)), errno);
}

// Whether it can be opened is for the job's device filter to say, then. What is no device here is passed over.
Status mount_device(int root, const std::string& file) {
  struct stat info{};
  if (::stat(file.c_str(), &info) != 0 || !(S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode))) return {};
  SPUR_ASSIGN(const auto tree, clone_tree(file, false));
  SPUR_ASSIGN(const auto target, open_target(root, file, false));
  return attach(tree.get(), target.get(), file);
}

// Everybody's ids can only be mapped from outside the new namespace: a child that stays behind does it.
class AllIds {
 public:
  Status prepare() {
    if (::pipe2(pipe_, O_CLOEXEC) != 0) return os::fail_errno("cannot make a pipe", errno);
    const pid_t parent = ::getpid();
    helper_ = ::fork();
    if (helper_ < 0) return os::fail_errno("cannot start a process", errno);
    if (helper_ > 0) return {};
    char word = 0;
    ::close(pipe_[1]);
    if (::read(pipe_[0], &word, 1) != 1) ::_exit(1);
    const std::string base = fmt::format("/proc/{}/", parent);
    const bool done = write_proc((base + "uid_map").c_str(), "0 0 4294967295\n") &&
                      write_proc((base + "gid_map").c_str(), "0 0 4294967295\n");
    ::_exit(done ? 0 : 1);
  }
  Status map() {
    int status = 1;
    if (::write(pipe_[1], "x", 1) != 1) return os::fail_errno("cannot write to a pipe", errno);
    while (::waitpid(helper_, &status, 0) < 0 && errno == EINTR) {
    }
    helper_ = -1;
    if (status != 0) return fail(ErrorCode::PermissionDenied, "cannot map the users of the node into the container");
    return {};
  }
  AllIds() = default;
  AllIds(const AllIds&) = delete;
  AllIds& operator=(const AllIds&) = delete;
  ~AllIds() {
    for (const int fd : pipe_)
      if (fd >= 0) ::close(fd);
    if (helper_ > 0) ::waitpid(helper_, nullptr, 0);
  }

 private:
  int pipe_[2] = {-1, -1};
  pid_t helper_ = -1;
};

}  // namespace

Status enter_own_namespaces(bool remap_root, bool own_hostname) {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  AllIds all_ids;
  if (uid == 0) SPUR_TRY(all_ids.prepare());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | (own_hostname ? CLONE_NEWUTS : 0)) != 0)
    return os::fail_errno(
        "this node lets users make no namespaces of their own (user.max_user_namespaces, "
        "kernel.unprivileged_userns_clone)",
        errno);
  // Root keeps everybody's ids; for anybody else there is only himself.
  if (uid == 0) {
    SPUR_TRY(all_ids.map());
  } else {
    SPUR_TRY(write_proc("/proc/self/setgroups", "deny"));
    SPUR_TRY(write_proc("/proc/self/uid_map", fmt::format("{} {} 1\n", remap_root ? 0 : uid, uid)));
    SPUR_TRY(write_proc("/proc/self/gid_map", fmt::format("{} {} 1\n", remap_root ? 0 : gid, gid)));
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    return os::fail_errno("cannot make the mounts our own", errno);
  return {};
}

Result<os::UniqueFd> mount_root(const RootPlan& plan) {
  const std::string root = plan.directory + "/root", upper = plan.directory + "/upper",
                    work = plan.directory + "/work";
  SPUR_TRY(make_dir(root));
  SPUR_TRY(make_dir(upper));
  SPUR_TRY(make_dir(work));
  const os::UniqueFd lower(::open(plan.lower.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const os::UniqueFd top(::open(upper.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lower) return os::fail_errno("cannot open the image " + text::shown(plan.lower), errno);
  if (!top) return os::fail_errno("cannot open " + upper, errno);
  bool mounted = false;
  if (!plan.copy) {
    for (const auto& mount : plan.mounts)
      prepare_target(lower.get(), top.get(), mount.target, mount.source.empty() || is_directory(mount.source));
    // Relative: the kernel takes one page of options.
    if (::chdir(plan.directory.c_str()) != 0) return os::fail_errno("cannot enter " + plan.directory, errno);
    const std::string options = fmt::format("lowerdir={},upperdir=upper,workdir=work,userxattr", escaped(plan.lower));
    mounted = ::mount("overlay", root.c_str(), "overlay", MS_NODEV | MS_NOSUID, options.c_str()) == 0;
    (void)::chdir("/");
  }
  if (!mounted) {
    const std::string mark = plan.directory + "/copied";
    if (::access(mark.c_str(), F_OK) != 0) {
      SPUR_TRY(os::remove_tree(AT_FDCWD, root));  // half a copy
      SPUR_TRY(make_dir(root));
      const os::UniqueFd target(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (!target) return os::fail_errno("cannot open " + root, errno);
      SPUR_TRY(copy_tree(lower.get(), target.get()));
      const os::UniqueFd done(::open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
    if (::mount(root.c_str(), root.c_str(), nullptr, MS_BIND, nullptr) != 0)
      return os::fail_errno("cannot mount the container's root", errno);
  }
  os::UniqueFd out(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out) return os::fail_errno("cannot open the container's root", errno);
  return out;
}

Status mount_in(int root, const text::MountSpec& mount) {
  if (mount.source.empty()) return mount_tmpfs(root, mount, "mode=1777");
  if (::faccessat(AT_FDCWD, mount.source.c_str(), R_OK, AT_EACCESS) != 0)
    return os::fail_errno(fmt::format("cannot mount {}", text::shown(mount.source)), errno);
  SPUR_ASSIGN(const auto tree, clone_tree(mount.source, mount.recursive));
  SPUR_TRY(set_flags(tree.get(), mount));
  SPUR_ASSIGN(const auto target, open_target(root, mount.target, is_directory(mount.source)));
  return attach(tree.get(), target.get(), mount.target);
}

Status mount_dev(int root, const std::vector<std::string>& files) {
  SPUR_TRY(mount_tmpfs(root, {.source = {}, .target = "/dev"}, "mode=755,size=4m"));
  for (const char* file : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"})
    SPUR_TRY(mount_device(root, file));
  SPUR_ASSIGN(const auto dev, open_in(root, "/dev", O_RDONLY | O_DIRECTORY));
  const struct {
    const char *name, *to;
  } links[] = {{"fd", "/proc/self/fd"},
               {"stdin", "/proc/self/fd/0"},
               {"stdout", "/proc/self/fd/1"},
               {"stderr", "/proc/self/fd/2"},
               {"ptmx", "pts/ptmx"}};
  for (const auto& link : links)
    if (::symlinkat(link.to, dev.get(), link.name) != 0) return os::fail_errno("cannot fill /dev", errno);
  for (const char* directory : {"/dev/pts", "/dev/shm", "/dev/mqueue"})
    if (::access(directory, R_OK) == 0) SPUR_TRY(mount_in(root, {.source = directory, .target = directory}));
  for (const std::string& file : files) SPUR_TRY(mount_device(root, file));
  return {};
}

Status mask(int root, const std::string& path) {
  struct stat info{};
  const auto there = open_in(root, path, O_PATH);
  if (!there || ::fstat(there->get(), &info) != 0) return {};
  if (S_ISDIR(info.st_mode)) return mount_tmpfs(root, {.source = {}, .target = path}, "mode=000,size=0,ro");
  SPUR_ASSIGN(const auto tree, clone_tree("/dev/null", false));
  return attach(tree.get(), there->get(), path);
}

Status make_readonly(int root, const std::string& path) {
  const auto there = open_in(root, path, O_PATH);
  if (!there) return {};
  SPUR_ASSIGN(const auto tree, clone_tree(self_path(there->get()), true));
  SPUR_TRY(set_flags(tree.get(), {.source = {}, .target = path, .read_only = true}));
  return attach(tree.get(), there->get(), path);
}

Status make_root_readonly(int root) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  if (::mount_setattr(root, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0) return {};
  return os::fail_errno("cannot make the container's root read-only", errno);
}

Status pivot_to(int root) {
  if (::fchdir(root) != 0) return os::fail_errno("cannot enter the container's root", errno);
  if (::syscall(SYS_pivot_root, ".", ".") == 0) {
    // The old root now lies over the new one.
    if (::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0)
      return os::fail_errno("cannot leave the node's root", errno);
    return {};
  }
  // A node without a disk may live in the kernel's first file system, which stays where it is: cover it.
  if (errno != EINVAL || ::mount(".", "/", nullptr, MS_MOVE, nullptr) != 0 || ::chroot(".") != 0 || ::chdir("/") != 0)
    return os::fail_errno("cannot enter the container's root", errno);
  return {};
}

}  // namespace spur::container
