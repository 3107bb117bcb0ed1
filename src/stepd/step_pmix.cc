// SPDX-License-Identifier: Apache-2.0
#include "stepd/step_pmix.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "os/files.h"
#include "spur/v1/agent.pb.h"
#include "stepd/step_container.h"
#include "stepd/step_pmi.h"

namespace spur::stepd {
namespace {

// Beside our own program.
Result<std::string> pmix_program() {
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto path = own.parent_path() / "spurpmix";
  if (error || !std::filesystem::exists(path, error))
    return fail(ErrorCode::NotSupported, fmt::format("there is no {} on this node", path.string()));
  return path.string();
}

}  // namespace

StepPmix::StepPmix(os::EventLoop& loop, MpiStep step, Events events)
    : loop_(loop), step_(std::move(step)), events_(std::move(events)) {}

Status StepPmix::begin(std::function<void()> ready) {
  ready_ = std::move(ready);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return os::fail_errno("cannot make a socket for PMIx", errno);
  os::UniqueFd ours(ends[0]);
  const os::UniqueFd theirs(ends[1]);
  TaskPlan plan;
  plan.identity = step_.identity;
  SPUR_ASSIGN(plan.program, pmix_program());
  plan.arguments = {"spurpmix", fmt::format("--fd={}", theirs.get())};
  plan.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/"};
  plan.work_dir = "/";
  plan.umask = 077;
  plan.out_path = plan.err_path = "/dev/null";
  plan.kept_fd = theirs.get();
  plan.may_outlive = true;  // it cleans up behind itself
  SPUR_ASSIGN(program_, start_task(plan));
  gone_ = false;
  stream_ = std::make_unique<FrameStream>(loop_, std::move(ours));
  SPUR_TRY(stream_->open({.on_message = [this](std::string_view bytes) { on_message(bytes); },
                          .on_closed = [this] { fail_with("the PMIx server has ended"); },
                          .on_drained = [] {}}));
  v1::PmixInput input;
  auto* setup = input.mutable_setup();
  setup->set_name(step_.name);
  for (const auto& node : step_.nodes) setup->add_nodes(node);
  setup->set_process_mapping(step_.process_mapping);
  setup->set_node(step_.node);
  setup->set_uid(step_.identity.uid.value);
  setup->set_gid(step_.identity.gid.value);
  stream_->send(input.SerializeAsString());
  return {};
}

void StepPmix::on_message(std::string_view bytes) {
  v1::PmixOutput output;
  if (!stream_) return;
  if (!output.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail_with("the PMIx server is not understood");
  if (output.has_error()) return fail_with(output.error().text());
  if (output.has_fence()) return events_.fence(std::move(*output.mutable_fence()->mutable_data()));
  if (output.has_abort()) return events_.abort(output.abort().rank(), output.abort().code(), output.abort().text());
  if (!output.has_ready() || !ready_) return;
  for (const auto& task : output.ready().tasks())
    environments_[task.rank()].assign(task.env().begin(), task.env().end());
  std::exchange(ready_, nullptr)();
}

void StepPmix::fail_with(std::string text) {
  if (events_.failed) std::exchange(events_.failed, nullptr)({ErrorCode::Internal, std::move(text)});
}

Result<os::UniqueFd> StepPmix::prepare(std::size_t local, TaskPlan& plan) {
  const auto at = environments_.find(step_.ranks[local]);
  if (at == environments_.end())
    return fail(ErrorCode::Internal, "the PMIx server does not know all tasks of the step");
  plan.own_environment.insert(plan.own_environment.end(), at->second.begin(), at->second.end());
  return os::UniqueFd{};
}

Status StepPmix::pass_fence(std::string_view data) {
  if (!stream_) return {};
  v1::PmixInput input;
  input.mutable_fence()->set_data(std::string(data));
  stream_->send(input.SerializeAsString());
  return {};
}

std::vector<std::string> StepPmix::directories() const {
  return environments_.empty() ? std::vector<std::string>() : mpi_directories(environments_.begin()->second);
}

void StepPmix::on_child(pid_t pid) {
  gone_ |= pid == program_.pid;
}

bool StepPmix::end() {
  events_.failed = nullptr;
  // Not amid one of its own calls.
  if (stream_) loop_.post([old = std::shared_ptr<FrameStream>(std::move(stream_))] {});
  return gone_;
}

Result<std::unique_ptr<MpiServer>> make_mpi_server(std::string_view kind, os::EventLoop& loop, MpiStep step,
                                                   MpiServer::Events events) {
  if (kind == "pmi2") return std::make_unique<StepPmi>(loop, std::move(step), std::move(events));
  if (kind == "pmix") return std::make_unique<StepPmix>(loop, std::move(step), std::move(events));
  return fail(ErrorCode::NotSupported, fmt::format("--mpi={} is not supported", kind));
}

}  // namespace spur::stepd
