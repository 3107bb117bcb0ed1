// SPDX-License-Identifier: Apache-2.0
#include "stepd/process_set.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "os/device_filter.h"
#include "os/process.h"

namespace spur::stepd {

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Result<ProcessSet> ProcessSet::make(const std::string& job_cgroup, const std::string& step_name,
                                    const os::CgroupLimits& job_limits, const os::CgroupLimits& step_limits) {
  ProcessSet out;
  if (job_cgroup.empty()) return out;
  SPUR_ASSIGN(auto job, os::Cgroup::create(job_cgroup));
  // By every step: whoever finds the group there cannot know whether its maker has come to that yet.
  SPUR_TRY(job.limit(job_limits));
  job.delegate(!step_limits.cpus.empty());
  SPUR_ASSIGN(auto step, os::Cgroup::create(job_cgroup + "/" + step_name));
  SPUR_TRY(step.limit(step_limits));
  // The agent has warned where that cannot be.
  if (auto denied = os::deny_devices(step.fd(), step_limits.denied);
      !denied && denied.error().code != ErrorCode::NotSupported)
    return std::unexpected(denied.error());
  out.job_ = std::move(job);
  out.step_ = std::move(step);
  return out;
}

Result<int> ProcessSet::task_fd(std::uint32_t rank) {
  if (!step_) return -1;
  SPUR_ASSIGN(auto task, os::Cgroup::create(fmt::format("{}/task_{}", step_->path(), rank)));
  return tasks_.insert_or_assign(rank, std::move(task)).first->second.fd();
}

const os::Cgroup* ProcessSet::task(std::uint32_t rank) const {
  const auto it = tasks_.find(rank);
  return it == tasks_.end() ? nullptr : &it->second;
}

void ProcessSet::signal(int signal) const {
  for (const pid_t pid : step_ ? step_->processes() : os::descendants_of(::getpid())) ::kill(pid, signal);
}

void ProcessSet::kill() const {
  if (step_)
    (void)step_->kill();
  else
    signal(SIGKILL);
}

bool ProcessSet::any_left() const {
  if (step_) return step_->populated();
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

void ProcessSet::freeze(bool frozen) const {
  if (step_ && step_->freeze(frozen)) return;
  signal(frozen ? SIGSTOP : SIGCONT);
}

void ProcessSet::kill_job() const {
  if (job_)
    (void)job_->kill();
  else
    kill();
}

bool ProcessSet::any_left_of_job() const {
  return job_ ? job_->populated() : any_left();
}

void ProcessSet::remove(bool whole_job) const {
  if (step_) step_->remove();
  if (job_ && whole_job) job_->remove();
}

std::uint64_t ProcessSet::oom_kills() const {
  return step_ ? step_->oom_kills() : 0;
}

}  // namespace spur::stepd
