// SPDX-License-Identifier: Apache-2.0
#include "stepd/task.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "os/files.h"
#include "stepd/job_environment.h"
#include "stepd/job_message.h"
#include "stepd/step_container.h"
#include "stepd/task_prolog.h"
#include "text/bind_spec.h"

namespace spur::stepd {
namespace {

constexpr int kLaunchFailedExit = 127;

// ---- the channel from the new process to its parent

enum class ReportKind : char { Started = 'O', NodeFailed = 'F', FilesFailed = 'U' };

void send_report(int channel, ReportKind what, std::string_view text, int fd) {
  char kind = static_cast<char>(what);
  iovec parts[] = {{&kind, 1}, {const_cast<char*>(text.data()), text.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  (void)::sendmsg(channel, &message, MSG_NOSIGNAL);
}

[[noreturn]] void give_up(int channel, const Error& error, ReportKind kind = ReportKind::NodeFailed) {
  send_report(channel, kind, error.message, -1);
  ::_exit(kLaunchFailedExit);
}

// ---- steps of the new process, in order

void say(const TaskPlan& plan, std::string_view text) {
  const std::string line = fmt::format("{}{}\n", plan.message_prefix, text);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

void tell(std::string line) {
  line += '\n';
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

// By system call: the C library refuses to touch 32 and 33, which its own posix_spawn left ignored in us.
void reset_signals() {
  struct {
    void (*handler)(int) = SIG_DFL;
    unsigned long flags = 0;
    void (*restorer)() = nullptr;
    unsigned long mask = 0;
  } const action;
  for (int sig = 1; sig < NSIG; ++sig) ::syscall(SYS_rt_sigaction, sig, &action, nullptr, sizeof action.mask);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

Status join_cgroup(int cgroup_fd) {
  const os::UniqueFd fd(::openat(cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), "0", 1) != 1) return os::fail_errno("cannot enter the job's cgroup", errno);
  return {};
}

// The step daemon itself is protected from the out-of-memory killer; its jobs are not.
void be_killable() {
  if (::geteuid() != 0) return;
  const os::UniqueFd fd(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (fd) [[maybe_unused]]
    const auto written = ::write(fd.get(), "0", 1);
}

Result<os::UniqueFd> open_as_user(const std::string& path, int flags, const char* what) {
  os::UniqueFd fd(::open(path.c_str(), flags | O_NOCTTY | O_CLOEXEC, 0666));
  if (!fd) return os::fail_errno(fmt::format("Could not open {} file {}", what, path), errno);
  return fd;
}

Status put(int fd, int target) {
  // dup2 onto itself would keep the close-on-exec flag.
  const int rc = fd == target ? ::fcntl(fd, F_SETFD, 0) : ::dup2(fd, target);
  return rc < 0 ? Status(os::fail_errno("cannot set up standard input and output", errno)) : Status{};
}

Status open_files(const TaskPlan& plan) {
  const int output = O_WRONLY | O_CREAT | O_APPEND | (plan.append ? 0 : O_TRUNC);
  os::UniqueFd in, out, err;
  if (plan.in_fd < 0) {
    SPUR_ASSIGN(in, open_as_user(plan.in_path, O_RDONLY, "stdin"));
  }
  if (plan.out_fd < 0) {
    SPUR_ASSIGN(out, open_as_user(plan.out_path, output, "stdout"));
  }
  const int out_fd = out ? out.get() : plan.out_fd;
  int err_fd = plan.err_fd >= 0 ? plan.err_fd : out_fd;
  if (plan.err_fd < 0 && !plan.err_path.empty() && (plan.out_fd >= 0 || plan.err_path != plan.out_path)) {
    SPUR_ASSIGN(err, open_as_user(plan.err_path, output, "stderr"));
    err_fd = err.get();
  }
  SPUR_TRY(put(in ? in.get() : plan.in_fd, STDIN_FILENO));
  SPUR_TRY(put(out_fd, STDOUT_FILENO));
  return put(err_fd, STDERR_FILENO);
}

void enter_work_dir(const TaskPlan& plan, const std::string& directory) {
  if (::chdir(directory.c_str()) == 0) return;
  say(plan, fmt::format("couldn't chdir to `{}': {}: going to /tmp instead", directory, std::strerror(errno)));
  if (::chdir("/tmp") != 0) say(plan, fmt::format("couldn't chdir to /tmp either: {}", std::strerror(errno)));
}

void make_tmp_dir(const TaskPlan& plan, std::vector<std::string>& environment) {
  const char* path = find_entry(environment, "TMPDIR");
  if (path == nullptr || ::mkdir(path, 0700) == 0 || errno == EEXIST) return;
  say(plan, fmt::format("Unable to create TMPDIR [{}]: {}", path, std::strerror(errno)));
  say(plan, "Setting TMPDIR to /tmp");
  set_entry(environment, "TMPDIR", "/tmp");
}

// The submitter's soft limits, as far as this node's hard limits allow.
void set_limits(const TaskPlan& plan) {
  for (const auto& wanted : plan.rlimits) {
    const auto resource = static_cast<__rlimit_resource>(wanted.resource);
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) continue;  // unknown to this kernel
    limit.rlim_cur = std::min<rlim_t>(wanted.soft, limit.rlim_max);
    (void)::setrlimit(resource, &limit);  // never above the hard limit: cannot be refused
  }
}

// As the user: who submits with a lower value than the daemon's does not get it.
void set_nice(const TaskPlan& plan) {
  if (plan.propagate_nice == 0) return;
  const char* given = find_entry(plan.environment, "SLURM_PRIO_PROCESS");
  const int own = ::getpriority(PRIO_PROCESS, 0), wanted = given != nullptr ? std::atoi(given) : own;
  (void)::setpriority(PRIO_PROCESS, 0, plan.propagate_nice == 2 ? std::max(wanted, own + 1) : wanted);
}

bool is_program(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string here() {
  const std::unique_ptr<char, decltype(&std::free)> path(::get_current_dir_name(), &std::free);
  return path ? path.get() : ".";
}

// The file to execute: the name itself if it holds a '/', else the first executable of that name in the task's PATH
// and, last, the working directory.
std::string resolve_program(const std::string& name, const std::vector<std::string>& environment) {
  if (name.starts_with("./") || name.starts_with("../")) return here() + "/" + name;
  if (name.find('/') != std::string::npos) return name;
  const char* path = find_entry(environment, "PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  for (;;) {
    const auto colon = rest.find(':');
    const auto dir = rest.substr(0, colon);
    const std::string candidate = dir.empty() ? "./" + name : fmt::format("{}/{}", dir, name);
    if (is_program(candidate)) return candidate;
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  const std::string local = here() + "/" + name;
  return is_program(local) ? local : name;
}

// sbcast --send-libs puts the shared objects of a program beside it; the program is to find them.
void use_sent_libraries(const std::string& program, std::vector<std::string>& environment) {
  struct stat info{};
  const std::string directory = program + "_libs";
  if (!program.starts_with('/') || ::stat(directory.c_str(), &info) != 0) return;
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) return;
  const char* before = find_entry(environment, "LD_LIBRARY_PATH");
  set_entry(environment, "LD_LIBRARY_PATH",
            before != nullptr && *before != 0 ? fmt::format("{}:{}", directory, before) : directory);
}

[[noreturn]] void execute(const TaskPlan& plan, std::vector<std::string>& environment) {
  const std::string program = resolve_program(plan.program, environment);
  use_sent_libraries(program, environment);
  std::vector<char*> argv, env;
  for (const auto& a : plan.arguments) argv.push_back(const_cast<char*>(a.c_str()));
  // As Slurm has it: what was looked for is called by where it was found.
  if (plan.program.find('/') == std::string::npos) argv.front() = const_cast<char*>(program.c_str());
  for (const auto& e : environment) env.push_back(const_cast<char*>(e.c_str()));
  argv.push_back(nullptr);
  env.push_back(nullptr);
  int error = 0;
  if (program.find('/') == std::string::npos) {
    error = ENOENT;  // not in PATH; execve would take it for a file of the working directory
  } else {
    ::execve(program.c_str(), argv.data(), env.data());
    error = errno;
  }
  say(plan, exec_message(program, error));
  ::_exit(error);
}

// What the step asked for it has (task_binding.h); what fails here is the machine's doing, and said.
void bind_cpus(const TaskPlan& plan) {
  bool set = false;
  if (!plan.cpus.empty()) {
    const int count = static_cast<int>(plan.cpus.back()) + 1;
    cpu_set_t* mask = CPU_ALLOC(count);
    const std::size_t size = CPU_ALLOC_SIZE(count);
    CPU_ZERO_S(size, mask);
    for (const auto cpu : plan.cpus) CPU_SET_S(cpu, size, mask);
    set = ::sched_setaffinity(0, size, mask) == 0;
    if (!set && !plan.cpu_bind_word.empty())
      say(plan, fmt::format("error: sched_setaffinity: {}", std::strerror(errno)));
    CPU_FREE(mask);
  }
  if (plan.cpu_bind_word.empty()) return;
  tell(fmt::format("cpu-bind={} - {}, task {:2} {:2} [{}]: mask {}{}", plan.cpu_bind_word, plan.node, plan.told_rank,
                   plan.local_id, ::getpid(), text::mask_text(plan.cpus), set ? " set" : ""));
}

void bind_memory(const TaskPlan& plan) {
  constexpr int kPreferred = 1, kBind = 2;  // of <linux/mempolicy.h>
  bool set = false;
  if (!plan.memory_nodes.empty()) {
    std::vector<unsigned long> mask(plan.memory_nodes.back() / 64 + 1);
    for (const auto node : plan.memory_nodes) mask[node / 64] |= 1ul << (node % 64);
    set = ::syscall(SYS_set_mempolicy, plan.memory_preferred ? kPreferred : kBind, mask.data(),
                    mask.size() * 64 + 1) == 0;
    if (!set && errno != ENOSYS) say(plan, fmt::format("error: set_mempolicy: {}", std::strerror(errno)));
  }
  if (plan.mem_bind_word.empty()) return;
  tell(fmt::format("mem-bind={} - {}, task {:2} {:2} [{}]: mask {}{}", plan.mem_bind_word, plan.node, plan.told_rank,
                   plan.local_id, ::getpid(), text::mask_text(plan.memory_nodes), set ? " set" : ""));
}

[[noreturn]] void become_task(const TaskPlan& plan, bool in_cgroup, int channel) {
  reset_signals();
  if (plan.is_terminal)
    ::setsid();
  else
    ::setpgid(0, 0);
  be_killable();
  if (!in_cgroup && plan.cgroup_fd >= 0)
    if (auto joined = join_cgroup(plan.cgroup_fd); !joined) give_up(channel, joined.error());
  if (auto done = os::become(plan.identity); !done) give_up(channel, done.error());
  // After the change of user, which clears it: the batch shell must not go on unsupervised.
  if (!plan.may_outlive) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::umask(plan.umask & 0777);
  if (auto opened = open_files(plan); !opened) give_up(channel, opened.error(), ReportKind::FilesFailed);
  ::close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
  if (plan.kept_fd >= 0) ::fcntl(plan.kept_fd, F_SETFD, 0);
  send_report(channel, ReportKind::Started, {}, STDERR_FILENO);
  if (plan.is_terminal) ::ioctl(STDIN_FILENO, TIOCSCTTY, 0);
  if (!plan.refusal.empty()) {
    say(plan, plan.refusal);
    ::_exit(1);
  }
  if (!plan.container)
    enter_work_dir(plan, plan.work_dir);
  else if (::chdir(plan.work_dir.c_str()) != 0)
    (void)!::chdir("/");  // for the prolog alone
  std::vector<std::string> environment = plan.environment;
  if (!plan.container) make_tmp_dir(plan, environment);
  for (auto& entry : task_entries(plan.told_rank, plan.local_id, ::getpid())) environment.push_back(std::move(entry));
  for (const auto& entry : plan.own_environment) {
    const auto equals = entry.find('=');
    set_entry(environment, entry.substr(0, equals), entry.substr(equals + 1));
  }
  bind_cpus(plan);
  bind_memory(plan);
  for (const auto& [of, prolog] : plan.task_prologs) {
    const PrologEnd ran = run_task_prolog(prolog, of, environment);
    for (const std::string& line : ran.lines) say(plan, line);
    if (ran.exit != 0) ::_exit(ran.exit);
  }
  if (plan.epilog_of && ::access(plan.program.c_str(), R_OK | X_OK) != 0)
    give_up(channel, {ErrorCode::NotFound, epilog_denied(plan.program, *plan.epilog_of)});
  if (plan.container) {
    if (auto entered = enter_container(*plan.container); !entered) give_up(channel, entered.error());
    if (!plan.may_outlive) ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // again: cleared with the credentials
    enter_work_dir(plan, plan.inner_work_dir);
    make_tmp_dir(plan, environment);
  }
  for (const std::string& note : plan.notes) say(plan, note);
  set_limits(plan);
  set_nice(plan);
  execute(plan, environment);
}

// fork(), straight into the cgroup where the kernel can: moving a process later costs it a grace period of the
// kernel.
pid_t clone_into(int cgroup_fd, bool* in_cgroup) {
  clone_args args{};
  args.exit_signal = SIGCHLD;
  if (cgroup_fd >= 0) {
    args.flags = CLONE_INTO_CGROUP;
    args.cgroup = static_cast<__u64>(cgroup_fd);
    const auto pid = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
    *in_cgroup = true;
    if (pid >= 0 || errno == EAGAIN || errno == ENOMEM) return pid;
  }
  *in_cgroup = false;
  return ::fork();
}

}  // namespace

TaskPlan epilog_plan(const TaskPlan& task, const std::string& program, HookOf of) {
  TaskPlan out = task;
  out.program = program;
  out.arguments = {program};
  out.in_fd = out.out_fd = out.err_fd = out.kept_fd = -1;
  out.in_path = out.out_path = out.err_path = "/dev/null";
  out.is_terminal = false;
  out.task_prologs.clear();
  out.epilog_of = of;
  out.container.reset();
  out.notes.clear();
  out.cpu_bind_word = out.mem_bind_word = {};
  out.own_environment.push_back("SLURM_SCRIPT_CONTEXT=epilog_task");
  return out;
}

Result<StartedTask> start_task(const TaskPlan& plan) {
  int channel[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) != 0)
    return os::fail_errno("cannot make a socket", errno);
  StartedTask out{.pid = -1, .reports = os::UniqueFd(channel[0])};
  const os::UniqueFd theirs(channel[1]);
  bool in_cgroup = false;
  out.pid = clone_into(plan.cgroup_fd, &in_cgroup);
  if (out.pid < 0) return os::fail_errno("cannot start a process", errno);
  if (out.pid == 0) become_task(plan, in_cgroup, theirs.get());
  return out;
}

std::optional<TaskReport> next_report(int fd) {
  char text[4096];
  iovec io{text, sizeof text};
  msghdr message{};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got <= 0) return std::nullopt;
  TaskReport out;
  const auto kind = static_cast<ReportKind>(text[0]);
  if (kind != ReportKind::Started) {
    out.launch_failed = true;
    out.by_user = kind == ReportKind::FilesFailed;
    out.error.assign(text + 1, static_cast<std::size_t>(got) - 1);
    return out;
  }
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int received;
    std::memcpy(&received, CMSG_DATA(header), sizeof received);
    out.error_output.reset(received);
  }
  return out;
}

}  // namespace spur::stepd
