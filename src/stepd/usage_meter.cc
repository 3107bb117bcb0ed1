// SPDX-License-Identifier: Apache-2.0
#include "stepd/usage_meter.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "os/files.h"
#include "os/process.h"

namespace spur::stepd {
namespace {

constexpr std::uint64_t kBlockBytes = 512;

std::uint64_t micros(const timeval& t) {
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(t.tv_usec);
}

}  // namespace

UsageMeter::~UsageMeter() {
  loop_.cancel(timer_);
  if (wrote_) ::unlink(file_.c_str());
}

void UsageMeter::start(std::string step, std::vector<Task> tasks, Duration every, std::string file) {
  step_ = std::move(step);
  tasks_ = std::move(tasks);
  every_ = every;
  file_ = std::move(file);
  if (every_ > Duration{0}) timer_ = loop_.call_after(every_, [this] { sample(); });
}

model::Usage UsageMeter::usage_of(const Task& task) const {
  if (const auto* group = processes_.task(task.rank)) return os::usage_of_cgroup(*group);
  if (tasks_.size() == 1 && processes_.step()) return os::usage_of_cgroup(*processes_.step());
  std::vector<pid_t> pids = os::descendants_of(task.pid);
  pids.push_back(task.pid);
  return os::usage_of_processes(pids);
}

void UsageMeter::sample() {
  timer_ = loop_.call_after(every_, [this] { sample(); });
  os::StepSample now{.step = step_, .tasks = {}};
  for (const Task& task : tasks_) {
    os::keep_peaks(peaks_[task.rank], usage_of(task));
    now.tasks.push_back({task.rank, task.pid, peaks_[task.rank]});
  }
  // Written over in place: a reader that meets the middle of it finds no end and looks again.
  const os::UniqueFd fd(::open(file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  wrote_ = wrote_ || fd;
  if (fd) (void)os::write_all(fd.get(), os::encode_sample(now), file_);
}

model::Usage UsageMeter::finish() {
  loop_.cancel(timer_);
  timer_ = {};
  model::Usage out;
  for (const auto& [rank, peaks] : peaks_) out.add(peaks);
  rusage ended{};
  ::getrusage(RUSAGE_CHILDREN, &ended);
  out.user_cpu_us = std::max(out.user_cpu_us, micros(ended.ru_utime));
  out.system_cpu_us = std::max(out.system_cpu_us, micros(ended.ru_stime));
  out.max_rss_kib = std::max(out.max_rss_kib, static_cast<std::uint64_t>(ended.ru_maxrss));
  out.major_faults = std::max(out.major_faults, static_cast<std::uint64_t>(ended.ru_majflt));
  out.read_bytes = std::max(out.read_bytes, static_cast<std::uint64_t>(ended.ru_inblock) * kBlockBytes);
  out.write_bytes = std::max(out.write_bytes, static_cast<std::uint64_t>(ended.ru_oublock) * kBlockBytes);
  if (const auto& step = processes_.step()) out.memory_peak_kib = step->peak_memory_bytes() / 1024;
  return out;
}

}  // namespace spur::stepd
