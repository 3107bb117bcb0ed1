// SPDX-License-Identifier: Apache-2.0
#include "stepd/process_set.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "os/process.h"

namespace spur::stepd {

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

namespace {

Status limit(const os::Cgroup& group, std::uint64_t mib) {
  if (mib == 0) return {};
  auto limited = group.limit_memory(mib);
  if (!limited && limited.error().code == ErrorCode::NotSupported) return {};
  return limited;
}

}  // namespace

Result<ProcessSet> ProcessSet::make(const std::string& job_cgroup, const std::string& step_name,
                                    std::uint64_t job_memory_mib, std::uint64_t step_memory_mib) {
  ProcessSet out;
  if (job_cgroup.empty()) return out;
  SPUR_ASSIGN(auto job, os::Cgroup::create(job_cgroup));
  SPUR_TRY(limit(job, job_memory_mib));
  if (step_memory_mib > 0) job.delegate_memory();
  SPUR_ASSIGN(auto step, os::Cgroup::create(job_cgroup + "/" + step_name));
  SPUR_TRY(limit(step, step_memory_mib));
  out.job_ = std::move(job);
  out.step_ = std::move(step);
  return out;
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

bool ProcessSet::out_of_memory() const {
  return job_ && job_->oom_kills() > 0;
}
std::uint64_t ProcessSet::peak_memory_bytes() const {
  return job_ ? job_->peak_memory_bytes() : 0;
}

}  // namespace spur::stepd
