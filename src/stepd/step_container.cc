// SPDX-License-Identifier: Apache-2.0
#include "stepd/step_container.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "os/container_dirs.h"
#include "os/files.h"
#include "os/remove_tree.h"
#include "spur/v1/agent.pb.h"
#include "stepd/job_environment.h"
#include "wire/spec_codec.h"

namespace spur::stepd {
namespace {

constexpr std::size_t kMostMessage = 1 << 20, kMostFds = 8;

// Beside our own program.
Result<std::string> container_program() {
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto path = own.parent_path() / "spurcontainer";
  if (error || !std::filesystem::exists(path, error))
    return fail(ErrorCode::NotSupported, fmt::format("there is no {} on this node", path.string()));
  return path.string();
}

std::string entry_or_empty(const std::vector<std::string>& environment, std::string_view name) {
  const char* value = find_entry(environment, name);
  return value != nullptr ? value : "";
}

Result<v1::ContainerSetup> setup_of(const ContainerOrder& order) {
  SPUR_ASSIGN(const auto settings, os::decode_container_settings(order.settings));
  SPUR_ASSIGN(const auto dirs,
              os::make_container_dirs(settings.image_dir, order.spool_token, order.run, order.identity));
  v1::ContainerSetup out;
  wire::to_proto(order.request, out.mutable_request());
  out.set_image_dir(settings.image_dir);
  out.set_scratch(dirs.scratch);
  out.set_cache(dirs.cache);
  out.set_instance(order.instance);
  out.set_user(order.identity.name);
  out.set_home(entry_or_empty(order.environment, "HOME"));
  out.set_image_path(entry_or_empty(order.environment, "SPUR_IMAGE_DIR"));
  for (const auto& path : order.binds) out.add_binds(path);
  for (const auto& file : order.devices) out.add_devices(file);
  for (const auto& directory : settings.cdi_dirs) out.add_cdi_dirs(directory);
  out.set_max_bytes(settings.max_bytes);
  out.set_max_files(settings.max_files);
  out.set_copy(settings.copy);
  out.set_directory(order.work_dir);
  return out;
}

// What says where and who a task is does not come from an image.
bool is_ours(std::string_view name) {
  static constexpr std::string_view kBeginnings[] = {"SLURM_", "SLURMD_", "SPUR_", "PMI_", "PMI2_", "PMIX_"};
  static constexpr std::string_view kNames[] = {
      "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
      "ZE_AFFINITY_MASK",     "MASTER_ADDR",          "MASTER_PORT",         "WORLD_SIZE"};
  return std::ranges::any_of(kBeginnings, [&](auto beginning) { return name.starts_with(beginning); }) ||
         std::ranges::find(kNames, name) != std::end(kNames);
}

}  // namespace

Status enter_container(const Container& container) {
  for (const auto& name_space : container.namespaces)
    if (::setns(name_space.get(), 0) != 0) return os::fail_errno("cannot enter the container", errno);
  return {};
}

ContainerMaker::~ContainerMaker() {
  if (socket_) loop_.unwatch(socket_.get());
}

Status ContainerMaker::begin(const ContainerOrder& order, Made made) {
  SPUR_ASSIGN(const auto setup, setup_of(order));
  const std::string bytes = setup.SerializeAsString();
  directory_ = order.request.name.empty() ? setup.scratch() + "/" + setup.instance() : std::string();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return os::fail_errno("cannot make a socket for the container", errno);
  socket_ = os::UniqueFd(ends[0]);
  const os::UniqueFd theirs(ends[1]);
  TaskPlan plan;
  plan.identity = order.identity;
  SPUR_ASSIGN(plan.program, container_program());
  plan.arguments = {"spurcontainer", fmt::format("--fd={}", theirs.get())};
  plan.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/"};
  plan.work_dir = "/";
  plan.out_path = plan.err_path = "/dev/null";
  plan.kept_fd = theirs.get();
  plan.cgroup_fd = order.cgroup_fd;
  if (::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
    return fail(ErrorCode::InvalidArgument, "the container's options are too long");
  SPUR_ASSIGN(program_, start_task(plan));
  made_ = std::move(made);
  return loop_.watch(socket_.get(), EPOLLIN, [this](std::uint32_t) { on_reply(); });
}

void ContainerMaker::remove() {
  if (!directory_.empty()) (void)os::remove_tree(AT_FDCWD, std::exchange(directory_, {}));
}

void ContainerMaker::on_reply() {
  std::string buffer(kMostMessage, '\0');
  iovec part{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostFds * sizeof(int))];
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  std::vector<os::UniqueFd> fds;
  for (cmsghdr* h = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr; h != nullptr; h = CMSG_NXTHDR(&message, h)) {
    if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t i = 0; i < (h->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
  v1::ContainerReply reply;
  if (got <= 0 || !reply.ParseFromArray(buffer.data(), static_cast<int>(got))) {
    const auto report = next_report(program_.reports.get());
    return end(fail(ErrorCode::Internal, report && report->launch_failed
                                             ? report->error
                                             : "the container could not be made: spurcontainer was ended"));
  }
  if (reply.has_error()) return end(fail(static_cast<ErrorCode>(reply.error().code()), reply.error().text()));
  const auto& ready = reply.ready();
  const std::size_t count = ready.own_hostname() ? 3 : 2;
  if (fds.size() < count) return end(fail(ErrorCode::Internal, "the container has no namespaces"));
  auto out = std::make_shared<Container>();
  for (std::size_t i = 0; i < fds.size(); ++i)
    (i < count ? out->namespaces : out->locks).push_back(std::move(fds[i]));
  // The mounts are entered last: they bring their own root.
  if (count == 3) std::swap(out->namespaces[1], out->namespaces[2]);
  out->env.assign(ready.env().begin(), ready.env().end());
  out->device_env.assign(ready.device_env().begin(), ready.device_env().end());
  out->entrypoint.assign(ready.entrypoint().begin(), ready.entrypoint().end());
  out->notes.assign(ready.notes().begin(), ready.notes().end());
  out->work_dir = ready.workdir().empty() ? "/" : ready.workdir();
  end(std::shared_ptr<const Container>(std::move(out)));
}

void ContainerMaker::end(Result<std::shared_ptr<const Container>> result) {
  loop_.unwatch(socket_.get());
  socket_.reset();
  if (made_) std::exchange(made_, nullptr)(std::move(result));
}

void merge_environment(const Container& container, const model::ContainerRequest& request,
                       std::vector<std::string>& environment) {
  const auto set = [&](const std::string& entry) {
    const auto equals = entry.find('=');
    if (equals != std::string::npos) set_entry(environment, entry.substr(0, equals), entry.substr(equals + 1));
  };
  for (const std::string& entry : container.env) {
    const std::string name = entry.substr(0, entry.find('='));
    const bool kept = std::ranges::find(request.environment, name) != request.environment.end() &&
                      find_entry(environment, name) != nullptr;
    if (!kept && !is_ours(name)) set(entry);
  }
  for (const std::string& entry : request.environment) set(entry);
  for (const std::string& entry : container.device_env) set(entry);
  if (request.remap_root) set("HOME=/root");
}

void put_into(const std::shared_ptr<const Container>& container, const model::ContainerRequest& request,
              TaskPlan& task) {
  task.container = container;
  merge_environment(*container, request, task.environment);
  task.inner_work_dir = container->work_dir;
  if (container->entrypoint.empty()) return;
  task.arguments.insert(task.arguments.begin(), container->entrypoint.begin(), container->entrypoint.end());
  task.program = task.arguments.front();
}

std::vector<std::string> mpi_directories(const std::vector<std::string>& environment) {
  constexpr std::string_view kBelow = "/tmp/spur-pmix.";
  std::vector<std::string> out;
  for (const std::string& entry : environment) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos || entry.compare(equals + 1, kBelow.size(), kBelow) != 0) continue;
    const auto slash = entry.find('/', equals + 1 + kBelow.size());
    std::string path = entry.substr(equals + 1, slash == std::string::npos ? slash : slash - equals - 1);
    if (std::ranges::find(out, path) == out.end()) out.push_back(std::move(path));
  }
  return out;
}

}  // namespace spur::stepd
