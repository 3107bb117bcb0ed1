// SPDX-License-Identifier: Apache-2.0
#include "main/node_side.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "model/gres_in_force.h"
#include "os/device_filter.h"
#include "os/files.h"
#include "os/managed_devices.h"
#include "text/hostlist.h"

namespace spur::main {
namespace {

std::uint64_t number_in(const char* path) {
  const auto text = os::read_file(path, 64);
  return text ? std::strtoull(text->c_str(), nullptr, 10) : 0;
}

// So that a job that forks without end leaves the node enough to end it with.
std::uint64_t half_of_all_processes() {
  const std::uint64_t pids = number_in("/proc/sys/kernel/pid_max"),
                      threads = number_in("/proc/sys/kernel/threads-max");
  const std::uint64_t most = pids > 0 && threads > 0 ? std::min(pids, threads) : std::max(pids, threads);
  return most / 2;
}

}  // namespace

os::ConfinedNode confined_node(const config::CgroupConfig& config, const os::Machine& machine,
                               std::vector<os::ManagedDevice> devices) {
  return {.policy = {.cores = config.cores.value_or(false),
                     .ram = config.ram.value_or(false),
                     .swap = config.swap.value_or(false),
                     .devices = config.devices.value_or(false),
                     .allowed_ram = config.allowed_ram,
                     .allowed_swap = config.allowed_swap,
                     .max_ram = config.max_ram,
                     .max_swap = config.max_swap,
                     .min_ram_mib = config.min_ram_mib,
                     .max_processes = config.max_processes.value_or(half_of_all_processes()),
                     .io_max = config.io_max},
          .memory_mib = machine.hardware.memory_mib,
          .cpu_numbers = machine.cpu_numbers,
          .devices = std::move(devices)};
}

config::Detect detect_for(const std::vector<config::DetectRule>& rules, std::string_view node) {
  config::Detect out = config::Detect::Off;
  for (const config::DetectRule& rule : rules) {
    const auto names = text::expand_hostlist(rule.nodes);
    if (rule.nodes.empty() || (names && std::ranges::find(*names, node) != names->end())) out = rule.how;
  }
  return out;
}

NodeDevices::NodeDevices(config::Detect how, std::vector<model::NodeGres> declared, std::vector<std::string> cdi_dirs,
                         const Warn& warn)
    : how_(how), declared_(std::move(declared)) {
  if (cdi_dirs.empty()) cdi_dirs = {"/etc/cdi", "/var/run/cdi"};
  std::vector<std::string> problems;
  cdi_ = os::read_cdi(cdi_dirs, &problems);
  for (const std::string& problem : problems) warn(problem);
  using config::Detect;
  // For tests and demonstrations: another machine's sys/.
  if (const char* root = std::getenv("SPUR_SYSFS_ROOT")) root_ = root;
  if (how_ == Detect::Nvml || how_ == Detect::All) {
    if (auto nvml = os::Nvml::open())
      nvml_ = std::move(*nvml);
    else if (how_ == Detect::Nvml || nvml.error().code != ErrorCode::NotFound)
      warn(fmt::format("no GPU of NVIDIA can be found: {}", nvml.error().message));
  }
  at_start_ = look();
  for (const model::NodeGres& row : declared_)
    if (const auto files = text::expand_hostlist(row.file))
      for (const std::string& file : *files)
        if (::access(file.c_str(), F_OK) == 0) present_.push_back(file);
}

std::vector<os::Gpu> NodeDevices::look() {
  using config::Detect;
  std::vector<os::Gpu> out;
  const auto add = [&out](std::vector<os::Gpu> more) {
    // Links are counted among GPUs of one maker.
    for (os::Gpu& gpu : more) {
      gpu.links.insert(gpu.links.begin(), out.size(), 0);
      out.push_back(std::move(gpu));
    }
    for (os::Gpu& gpu : out) gpu.links.resize(out.size(), 0);
  };
  if (nvml_) add(nvml_->find(root_));
  if (how_ == Detect::Rsmi || how_ == Detect::All) add(os::find_amd_gpus(root_));
  if (how_ == Detect::OneApi || how_ == Detect::All) add(os::find_intel_gpus(root_));
  return out;
}

bool NodeDevices::has_files(std::string_view name) const {
  return std::ranges::any_of(declared_, [&](const auto& row) { return row.name == name && !row.file.empty(); });
}

std::vector<model::NodeGres> NodeDevices::report(const os::Machine& machine) const {
  std::vector<model::NodeGres> out;
  if (!has_files("gpu")) out = os::gres_of(at_start_, machine.cpu_numbers, machine.hardware.threads_per_core);
  if (how_ != config::Detect::Off && out.empty() && !has_files("gpu") &&
      std::ranges::any_of(declared_, [](const auto& row) { return row.name == "gpu"; }))
    out.push_back({.name = "gpu", .type = {}, .count = 0, .file = {}});  // looked for, and none is there
  for (const model::NodeGres& row : declared_) {
    if (row.file.empty()) continue;
    const auto files = text::expand_hostlist(row.file);
    if (!files) continue;
    model::NodeGres found = row;
    const auto there = std::ranges::count_if(
        *files, [&](const std::string& file) { return std::ranges::find(present_, file) != present_.end(); });
    // A single file may stand for many (shares of a device).
    found.count = files->size() == 1 && there == 1 ? row.count : static_cast<std::uint64_t>(there);
    out.push_back(std::move(found));
  }
  return out;
}

std::vector<os::ManagedDevice> NodeDevices::managed(const os::Machine& machine) {
  const auto in_force = model::gres_in_force(declared_, report(machine));
  std::uint32_t index = 0;
  for (const model::NodeGres& row : in_force) {
    if (row.name != "gpu") continue;
    const auto files = text::expand_hostlist(row.file);
    for (std::uint32_t i = 0; files && i < files->size(); ++i)
      for (std::size_t gpu = 0; gpu < at_start_.size(); ++gpu)
        if (!at_start_[gpu].files.empty() && at_start_[gpu].files.front() == (*files)[i])
          gpu_of_index_[index + i] = gpu;
    index += static_cast<std::uint32_t>(row.count);
  }
  return os::managed_devices(in_force, os::device_number,
                             [this](const std::string& first) { return further_files(first); });
}

// As the search found them, or as a CDI specification says: of the smallest device that has the file, without what
// other devices have as well.
std::vector<std::string> NodeDevices::further_files(const std::string& first) const {
  for (const os::Gpu& gpu : at_start_)
    if (!gpu.files.empty() && gpu.files.front() == first)
      return std::vector<std::string>(gpu.files.begin() + 1, gpu.files.end());
  const auto has = [](const os::CdiDevice& device, const std::string& file) {
    return std::ranges::find(device.files, file) != device.files.end();
  };
  const os::CdiDevice* own = nullptr;
  for (const os::CdiDevice& device : cdi_)
    if (has(device, first) && (!own || device.files.size() < own->files.size())) own = &device;
  std::vector<std::string> out;
  if (!own) return out;
  for (const std::string& file : own->files) {
    const bool shared = std::ranges::any_of(cdi_, [&](const auto& d) { return !has(d, first) && has(d, file); });
    if (file != first && !shared) out.push_back(file);
  }
  return out;
}

os::GpuLoad NodeDevices::load(const std::vector<model::DeviceGrant>& grants) const {
  os::GpuLoad out;
  for (const model::DeviceGrant& grant : grants) {
    if (grant.gres != "gpu") continue;
    for (const std::uint32_t index : grant.indices) {
      const auto at = gpu_of_index_.find(index);
      if (at == gpu_of_index_.end()) continue;
      const os::Gpu& gpu = at_start_[at->second];
      os::GpuLoad one;
      if (gpu.vendor == "nvidia" && nvml_) one = nvml_->load(gpu.id);
      if (gpu.vendor == "amd") one = os::amd_load(root_, gpu);
      out.memory_mib += one.memory_mib;
      out.percent += one.percent;
    }
  }
  return out;
}

std::vector<std::string> NodeDevices::cdi_specifications() const {
  std::vector<std::string> out;
  for (const char* vendor : {"amd", "intel", "nvidia"})
    if (std::ranges::any_of(at_start_, [&](const os::Gpu& gpu) { return gpu.vendor == vendor; }))
      out.push_back(os::write_cdi(vendor, at_start_));
  return out;
}

std::string NodeDevices::problem() {
  for (const std::string& file : present_)
    if (::access(file.c_str(), F_OK) != 0) return fmt::format("gres: {} is gone", file);
  return at_start_.empty() ? std::string() : os::gpu_problem(at_start_, look());
}

}  // namespace spur::main
