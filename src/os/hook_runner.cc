// SPDX-License-Identifier: Apache-2.0
#include "os/hook_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "os/cgroup.h"
#include "os/files.h"

namespace spur::os {

std::deque<std::string> expand_programs(const std::vector<std::string>& patterns) {
  std::deque<std::string> out;
  for (const std::string& pattern : patterns) {
    if (pattern.find_first_of("*?[") == std::string::npos) {
      out.push_back(pattern);
      continue;
    }
    glob_t found{};
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
      for (std::size_t i = 0; i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i]);
    ::globfree(&found);
  }
  return out;
}

HookRunner::~HookRunner() {
  *alive_ = false;
  for (auto& [id, job] : jobs_) {
    loop_.cancel(job.timer);
    if (!job.pidfd) continue;
    loop_.unwatch(job.pidfd->get());
    ::kill(-job.pid, SIGKILL);
  }
}

void HookRunner::run(HookRequest request, Done done) {
  const std::uint64_t id = next_id_++;
  Job& job = jobs_[id];
  job.left = expand_programs(request.programs);
  job.request = std::move(request);
  job.done = std::move(done);
  job.waits = serial_ && jobs_.size() > 1;  // finish() of the one before starts it
  if (!job.waits) begin(id);
}

void HookRunner::begin(std::uint64_t id) {
  jobs_.at(id).waits = false;
  loop_.post([this, alive = alive_, id] {
    if (*alive) next(id);
  });
}

void HookRunner::set_one_at_a_time(bool serial) {
  serial_ = serial;
  begin_waiting();
}

// As many of those that wait as may run now.
void HookRunner::begin_waiting() {
  for (const auto& [id, job] : jobs_) {
    const bool busy = std::ranges::any_of(jobs_, [](const auto& other) { return !other.second.waits; });
    if (serial_ && busy) return;
    if (job.waits) begin(id);
  }
}

void HookRunner::next(std::uint64_t id) {
  Job& job = jobs_.at(id);
  if (job.left.empty()) return finish(id, {});
  const std::string program = std::move(job.left.front());
  job.left.pop_front();
  if (auto started = start(id, job, program); !started) finish(id, std::move(started));
}

Status HookRunner::start(std::uint64_t id, Job& job, const std::string& program) {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail_errno("cannot open /dev/null", errno);
  // What goes into a cgroup is held back by a shell until it is there: else what it starts first could stay outside.
  const bool contained = !job.request.cgroup.empty();
  int gate[2] = {-1, -1};
  if (contained && ::pipe2(gate, O_CLOEXEC) != 0) return fail_errno("cannot make a pipe", errno);
  const UniqueFd behind(gate[0]), before(gate[1]);
  std::vector<std::string> arguments{program};
  if (contained) arguments = {"/bin/sh", "-c", "read go && exec \"$0\" \"$@\" </dev/null", program};
  arguments.insert(arguments.end(), job.request.arguments.begin(), job.request.arguments.end());
  auto spawned = spawn({.path = arguments.front(),
                        .arguments = arguments,
                        .environment = job.request.environment,
                        .fds = {contained ? behind.get() : null.get(), null.get(), null.get()},
                        .new_session = true});
  if (!spawned)
    return fail(spawned.error().code,
                fmt::format("the {} {} cannot be run: {}", job.request.name, program, spawned.error().message));
  job.pid = spawned->pid;
  job.pidfd = std::make_shared<const UniqueFd>(std::move(spawned->pidfd));
  if (contained) {
    const UniqueFd procs(::open((job.request.cgroup + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (procs) (void)write_all(procs.get(), std::to_string(job.pid), job.request.cgroup);
    (void)write_all(before.get(), "\n", program);
  }
  if (job.request.timeout > Duration{0})
    job.timer = loop_.call_after(job.request.timeout, [this, id] {
      Job& late = jobs_.at(id);
      late.timer = {};
      late.timed_out = true;
      ::kill(-late.pid, SIGKILL);
    });
  return loop_.watch_process(job.pidfd, [this, id, program] { on_ended(id, program); });
}

void HookRunner::on_ended(std::uint64_t id, const std::string& program) {
  Job& job = jobs_.at(id);
  loop_.cancel(job.timer);
  job.timer = {};
  const auto exit = reap(*job.pidfd).value_or(model::ExitStatus{.code = 0, .signal = SIGKILL});
  job.pidfd.reset();
  if (exit == model::ExitStatus{}) return next(id);
  const std::string& name = job.request.name;
  if (job.timed_out)
    return finish(id, fail(ErrorCode::TimedOut, fmt::format("the {} {} took too long", name, program)));
  finish(id, fail(ErrorCode::Internal,
                  fmt::format("the {} {} failed with status {}:{}", name, program, exit.code, exit.signal)));
}

void HookRunner::finish(std::uint64_t id, Status status) {
  const auto job = jobs_.extract(id);
  begin_waiting();
  if (job.mapped().done) job.mapped().done(std::move(status));
}

}  // namespace spur::os
