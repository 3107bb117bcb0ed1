// SPDX-License-Identifier: Apache-2.0
#include "container/box.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "container/box_mounts.h"
#include "container/bundle.h"
#include "container/device_edits.h"
#include "container/image_source.h"
#include "container/scoped_path.h"
#include "container/user_files.h"
#include "os/files.h"
#include "text/printable.h"
#include "wire/spec_codec.h"

namespace spur::container {
namespace {

constexpr std::size_t kMostBoxConfig = 16 << 20;
constexpr int kLockAttempts = 40;
constexpr useconds_t kLockPauseUs = 50'000;

// What the container is made of, before anything is done.
struct Parts {
  UsedImage image;
  std::optional<Bundle> bundle;
  std::string directory;  // for the writable layer
  os::UniqueFd directory_lock;
  bool named = false;
  DeviceEdits devices;
};

UnpackOptions options_of(const v1::ContainerSetup& setup) {
  UnpackOptions out;
  if (setup.max_bytes() > 0) out.limits.bytes = setup.max_bytes();
  if (setup.max_files() > 0) out.limits.files = setup.max_files();
  return out;
}

Status find_bundle(const std::string& path, Parts& parts) {
  const auto text = os::read_file(path + "/config.json", kMostBoxConfig);
  if (!text)
    return fail(text.error().code, fmt::format("{} is no OCI bundle: {}", text::shown(path), text.error().message));
  SPUR_ASSIGN(parts.bundle, parse_bundle(*text, path));
  const std::string& root = parts.bundle->root;
  parts.image.rootfs = text::clean_path(root.starts_with('/') ? root : path + "/" + root);
  parts.image.lock = os::UniqueFd(::open(parts.image.rootfs.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parts.image.lock)
    return os::fail_errno("cannot open the bundle's root " + text::shown(parts.image.rootfs), errno);
  parts.image.config.env = parts.bundle->env;
  parts.image.config.workdir = parts.bundle->workdir;
  return {};
}

// A container of the job that has a name: with the image it was made from, and by one step at a time.
Result<std::string> image_of_named(const model::ContainerRequest& request, Parts& parts) {
  const std::string note = parts.directory + "/image";
  auto before = os::read_file(note, 64 << 10);
  if (!before && request.image.empty())
    return fail(
        ErrorCode::NotFound,
        fmt::format("the job has no container {} on this node, and no image to make it from is given", request.name));
  if (!before) {
    SPUR_TRY(os::write_file_durably(note, request.image));
    return request.image;
  }
  if (!request.image.empty() && request.image != *before)
    return fail(ErrorCode::InvalidArgument,
                fmt::format("the container {} was made from {}, not from {}", request.name, text::shown(*before),
                            text::shown(request.image)));
  return *before;
}

Status make_directory(const v1::ContainerSetup& setup, Parts& parts) {
  parts.named = !setup.request().name().empty();
  parts.directory = setup.scratch() + "/" + (parts.named ? "name-" + setup.request().name() : setup.instance());
  if (::mkdir(parts.directory.c_str(), 0700) != 0 && errno != EEXIST)
    return os::fail_errno("cannot make " + parts.directory, errno);
  parts.directory_lock = os::UniqueFd(::open(parts.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parts.directory_lock) return os::fail_errno("cannot open " + parts.directory, errno);
  // A step that is just ending lets go soon.
  for (int i = 0; ::flock(parts.directory_lock.get(), LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno == EWOULDBLOCK && i < kLockAttempts) {
      ::usleep(kLockPauseUs);
      continue;
    }
    return fail(ErrorCode::NodesBusy,
                fmt::format("the container {} is in use by another step", setup.request().name()));
  }
  return {};
}

Status find_parts(const v1::ContainerSetup& setup, const model::ContainerRequest& request, Parts& parts) {
  SPUR_TRY(make_directory(setup, parts));
  if (!request.bundle.empty()) {
    SPUR_TRY(find_bundle(request.bundle, parts));
  } else {
    std::string image = request.image;
    if (parts.named) {
      SPUR_ASSIGN(image, image_of_named(request, parts));
    }
    const std::vector<std::string> stores{
        setup.image_path(), setup.home().empty() ? "" : setup.home() + "/.spur/images", setup.image_dir()};
    SPUR_ASSIGN(parts.image, use_image(image, stores, setup.cache(), options_of(setup)));
  }
  std::vector<std::string> cdi_dirs(setup.cdi_dirs().begin(), setup.cdi_dirs().end());
  if (cdi_dirs.empty()) cdi_dirs = {"/etc/cdi", "/var/run/cdi"};
  if (setup.devices_size() > 0)
    parts.devices = device_edits({setup.devices().begin(), setup.devices().end()}, os::read_cdi(cdi_dirs, nullptr));
  return {};
}

// In the order in which they are made. Files under /etc first: a user may cover them.
Result<std::vector<text::MountSpec>> mounts_of(const v1::ContainerSetup& setup,
                                               const model::ContainerRequest& request, const Parts& parts) {
  std::vector<text::MountSpec> out;
  out.push_back({.source = "/proc", .target = "/proc"});
  out.push_back({.source = "/sys", .target = "/sys"});
  out.push_back({.source = {}, .target = "/tmp"});
  for (const char* file : {"/etc/resolv.conf", "/etc/hosts", "/etc/hostname"})
    if (::access(file, R_OK) == 0 && !(parts.bundle && !parts.bundle->hostname.empty()))
      out.push_back({.source = file, .target = file, .read_only = true});
  SPUR_ASSIGN(const auto user_files,
              write_user_files(parts.image.rootfs, parts.directory,
                               {.name = setup.user(), .home = setup.home(), .as_root = request.remap_root}));
  out.insert(out.end(), user_files.begin(), user_files.end());
  if (request.mount_home) {
    if (!setup.home().starts_with('/'))
      return fail(ErrorCode::InvalidArgument, "--container-mount-home: the job has no HOME");
    const std::string home = text::clean_path(setup.home());
    if (home != "/") out.push_back({.source = home, .target = home});
  }
  out.insert(out.end(), parts.devices.mounts.begin(), parts.devices.mounts.end());
  if (parts.bundle) out.insert(out.end(), parts.bundle->mounts.begin(), parts.bundle->mounts.end());
  for (const std::string& text : request.mounts) {
    SPUR_ASSIGN(auto mount, text::parse_mount(text, setup.directory()));
    out.push_back(std::move(mount));
  }
  for (const std::string& path : setup.binds()) out.push_back({.source = path, .target = text::clean_path(path)});
  return out;
}

Status mount_all(const v1::ContainerSetup& setup, const model::ContainerRequest& request, const Parts& parts) {
  SPUR_ASSIGN(const auto mounts, mounts_of(setup, request, parts));
  auto targets = mounts;
  targets.push_back({.source = {}, .target = "/dev"});
  const bool own_hostname = parts.bundle && !parts.bundle->hostname.empty();
  SPUR_TRY(enter_own_namespaces(request.remap_root, own_hostname));
  if (own_hostname && ::sethostname(parts.bundle->hostname.data(), parts.bundle->hostname.size()) != 0)
    return os::fail_errno("cannot set the container's hostname", errno);
  SPUR_ASSIGN(const auto root, mount_root({.lower = parts.image.rootfs,
                                           .directory = parts.directory,
                                           .copy = setup.copy(),
                                           .mounts = std::move(targets)}));
  SPUR_TRY(mount_dev(root.get(), parts.devices.files));
  for (const auto& mount : mounts) SPUR_TRY(mount_in(root.get(), mount));
  if (parts.bundle) {
    for (const auto& path : parts.bundle->masked) SPUR_TRY(mask(root.get(), path));
    for (const auto& path : parts.bundle->readonly_paths) SPUR_TRY(make_readonly(root.get(), path));
  }
  if (request.readonly || (parts.bundle && parts.bundle->readonly)) SPUR_TRY(make_root_readonly(root.get()));
  return pivot_to(root.get());
}

Result<std::vector<os::UniqueFd>> own_namespaces(bool own_hostname) {
  std::vector<os::UniqueFd> out;
  for (const char* kind : {"user", "mnt", "uts"}) {
    if (kind == std::string_view("uts") && !own_hostname) continue;
    out.emplace_back(::open(fmt::format("/proc/self/ns/{}", kind).c_str(), O_RDONLY | O_CLOEXEC));
    if (!out.back()) return os::fail_errno("cannot open the container's namespaces", errno);
  }
  return out;
}

}  // namespace

Result<MadeBox> make_box(const v1::ContainerSetup& setup) {
  model::ContainerRequest request;
  SPUR_TRY(wire::from_proto(setup.request(), &request));
  ::umask(022);
  Parts parts;
  SPUR_TRY(find_parts(setup, request, parts));
  SPUR_TRY(mount_all(setup, request, parts));
  MadeBox out;
  const bool own_hostname = parts.bundle && !parts.bundle->hostname.empty();
  SPUR_ASSIGN(out.fds, own_namespaces(own_hostname));
  out.fds.push_back(std::move(parts.image.lock));
  out.fds.push_back(std::move(parts.directory_lock));
  v1::ContainerReady& ready = out.ready;
  const ImageConfig& config = parts.image.config;
  for (const auto& entry : config.env) ready.add_env(entry);
  for (const auto& entry : parts.devices.env) ready.add_device_env(entry);
  for (const auto& note : parts.devices.notes) ready.add_notes(note);
  ready.set_workdir(!request.workdir.empty()          ? request.workdir
                    : config.workdir.starts_with('/') ? config.workdir
                                                      : "");
  if (request.entrypoint)
    for (const auto& word : config.entrypoint) ready.add_entrypoint(word);
  ready.set_own_hostname(own_hostname);
  return out;
}

}  // namespace spur::container
