// SPDX-License-Identifier: Apache-2.0
#include "stepd/template.h"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "os/privileges.h"
#include "os/step_spawner.h"
#include "stepd/batch_run.h"
#include "stepd/file_run.h"
#include "stepd/step_run.h"

namespace spur::stepd {
namespace {

// The copy. Returns when there is nothing left to do.
void serve(os::StepRequest request, int template_pid, const os::CpuMap& cpus) {
  os::RunFile record{std::move(request.fds[0])};
  if (request.kind == os::StepRequest::Kind::Batch && !record.note_started(::getpid())) return;
  std::string identity_text, token, limits_text, containers, gpu_cores;
  TaskHooks hooks;
  Duration sample_every{0};
  std::vector<std::string> of_node;
  for (auto& entry : request.environment) {
    if (entry.starts_with("SPURSTEPD_IDENTITY="))
      identity_text = entry.substr(19);
    else if (entry.starts_with("SPURSTEPD_TOKEN="))
      token = entry.substr(16);
    else if (entry.starts_with("SPURSTEPD_SAMPLE="))
      sample_every = seconds(std::atoi(entry.c_str() + 17));
    else if (entry.starts_with("SPURSTEPD_LIMITS="))
      limits_text = entry.substr(17);
    else if (entry.starts_with("SPURSTEPD_CONTAINERS="))
      containers = entry.substr(21);
    else if (entry.starts_with("SPURSTEPD_GPU_CORES="))
      gpu_cores = entry.substr(20);
    else if (entry.starts_with("SPURSTEPD_TASK_PROLOG="))
      hooks.prolog = entry.substr(22);
    else if (entry.starts_with("SPURSTEPD_TASK_EPILOG="))
      hooks.epilog = entry.substr(22);
    else if (entry.starts_with("SPURSTEPD_NICE="))
      hooks.propagate_nice = std::atoi(entry.c_str() + 15);
    else
      of_node.push_back(std::move(entry));
  }
  auto identity = os::decode_identity(identity_text);
  auto limits = os::decode_limits(limits_text);
  if (!identity || !limits) return;
  if (request.kind == os::StepRequest::Kind::Batch)
    run_batch({.directory = std::move(request.argument),
               .record = std::move(record),
               .orders = std::move(request.fds[1]),
               .identity = std::move(*identity),
               .of_node = std::move(of_node),
               .limits = std::move(*limits),
               .sample_every = sample_every,
               .token = std::move(token),
               .containers = std::move(containers),
               .hooks = std::move(hooks),
               .agent = template_pid});
  else if (request.kind == os::StepRequest::Kind::Files)
    run_files({.record = std::move(record),
               .orders = std::move(request.fds[1]),
               .stream = std::move(request.fds[2]),
               .identity = std::move(*identity),
               .limits = std::move(*limits)});
  else
    run_step({.record = std::move(record),
              .directory = std::move(request.argument),
              .orders = std::move(request.fds[1]),
              .stream = std::move(request.fds[2]),
              .identity = std::move(*identity),
              .of_node = std::move(of_node),
              .limits = std::move(*limits),
              .sample_every = sample_every,
              .token = std::move(token),
              .containers = std::move(containers),
              .hooks = std::move(hooks),
              .gpu_cores = std::move(gpu_cores),
              .cpus = cpus});
}

void set_title(char* title, const std::string& text) {
  const std::size_t room = std::strlen(title);
  if (room == 0) return;
  std::memset(title, 0, room);
  std::memcpy(title, text.data(), std::min(text.size(), room));
}

}  // namespace

void run_template(os::UniqueFd socket, char* title) {
  ::signal(SIGCHLD, SIG_IGN);  // the kernel reaps copies; the agent watches them
  const pid_t self = ::getpid();
  const os::CpuMap cpus = os::read_cpu_map();  // once, for all copies
  for (;;) {
    auto request = os::receive_request(socket.get());
    if (!request && request.error().code == ErrorCode::NotFound) return;
    if (!request || request->fds.size() != (request->kind == os::StepRequest::Kind::Batch ? 2u : 3u)) continue;
    int pidfd = -1;
    clone_args args{};
    args.flags = CLONE_PIDFD;
    args.pidfd = reinterpret_cast<__u64>(&pidfd);
    args.exit_signal = SIGCHLD;
    const auto pid = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
    if (pid == 0) {
      socket.reset();
      ::signal(SIGCHLD, SIG_DFL);
      ::setsid();
      set_title(title, request->title);
      serve(std::move(*request), self, cpus);
      ::_exit(0);
    }
    const int error = pid < 0 ? errno : 0;
    const os::UniqueFd owned(pidfd);
    if (!os::send_reply(socket.get(), request->id, pid, pidfd, error)) return;
  }
}

}  // namespace spur::stepd
