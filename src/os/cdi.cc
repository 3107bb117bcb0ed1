// SPDX-License-Identifier: Apache-2.0
#include "os/cdi.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "os/files.h"
#include "os/sysfs.h"
#include "os/yaml_text.h"

namespace spur::os {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMostBytes = std::size_t{4} << 20;
constexpr std::string_view kVersion = "0.5.0";

std::string text_at(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// Of a device, or of all devices of the file.
void take_edits(const Json& holder, CdiDevice& out) {
  const auto edits = holder.find("containerEdits");
  if (edits == holder.end() || !edits->is_object()) return;
  const auto each = [&](const char* key, auto&& take) {
    const auto list = edits->find(key);
    if (list == edits->end() || !list->is_array()) return;
    for (const Json& item : *list) take(item);
  };
  each("deviceNodes", [&](const Json& node) {
    if (!node.is_object()) return;
    const std::string host = text_at(node, "hostPath"), path = text_at(node, "path");
    if (!host.empty() || !path.empty()) out.files.push_back(host.empty() ? path : host);
  });
  each("env", [&](const Json& entry) {
    if (entry.is_string()) out.environment.push_back(entry.get<std::string>());
  });
  each("hooks", [&](const Json& hook) {
    if (hook.is_object()) out.hooks.push_back(text_at(hook, "hookName") + " " + text_at(hook, "path"));
  });
  each("mounts", [&](const Json& mount) {
    if (!mount.is_object()) return;
    const std::string host = text_at(mount, "hostPath"), inside = text_at(mount, "containerPath");
    if (!host.empty() && !inside.empty()) out.mounts.push_back(host + ":" + inside);
  });
}

}  // namespace

Result<std::vector<CdiDevice>> parse_cdi(std::string_view text) {
  const Json spec = Json::parse(text, nullptr, false);
  if (!spec.is_object()) return fail(ErrorCode::Corrupt, "this is no JSON object");
  const std::string kind = text_at(spec, "kind");
  if (text_at(spec, "cdiVersion").empty() || kind.find('/') == std::string::npos)
    return fail(ErrorCode::Corrupt, "cdiVersion or kind is missing");
  const auto devices = spec.find("devices");
  if (devices == spec.end() || !devices->is_array()) return fail(ErrorCode::Corrupt, "it has no devices");
  std::vector<CdiDevice> out;
  for (const Json& device : *devices) {
    const std::string name = device.is_object() ? text_at(device, "name") : std::string();
    if (name.empty()) return fail(ErrorCode::Corrupt, "a device has no name");
    CdiDevice& row = out.emplace_back();
    row.kind = kind;
    row.name = name;
    take_edits(device, row);
    take_edits(spec, row);
  }
  return out;
}

std::vector<CdiDevice> read_cdi(const std::vector<std::string>& directories, std::vector<std::string>* problems) {
  std::vector<CdiDevice> out;
  for (const std::string& directory : directories)
    for (const std::string& name : sysfs_list(directory)) {
      const bool yaml = name.ends_with(".yaml") || name.ends_with(".yml");
      if (!yaml && !name.ends_with(".json")) continue;
      const std::string path = directory + "/" + name;
      auto text = read_file(path, kMostBytes);
      if (text && yaml) text = yaml_to_json(*text);
      auto devices = text ? parse_cdi(*text) : Result<std::vector<CdiDevice>>(std::unexpected(text.error()));
      if (!devices) {
        if (problems) problems->push_back(fmt::format("{}: {}", path, devices.error().message));
        continue;
      }
      for (CdiDevice& device : *devices) {
        std::erase_if(out, [&](const CdiDevice& d) { return d.kind == device.kind && d.name == device.name; });
        out.push_back(std::move(device));
      }
    }
  return out;
}

std::string write_cdi(std::string_view vendor, const std::vector<Gpu>& gpus) {
  const auto node = [](const std::string& path) { return Json{{"path", path}}; };
  Json spec{{"cdiVersion", kVersion}, {"kind", fmt::format("{}.com/gpu", vendor)}, {"devices", Json::array()}};
  for (const Gpu& gpu : gpus) {
    if (gpu.vendor != vendor) continue;
    Json nodes = Json::array();
    for (const std::string& file : gpu.files) nodes.push_back(node(file));
    Json device{{"name", std::to_string(spec["devices"].size())}, {"containerEdits", Json{{"deviceNodes", nodes}}}};
    spec["devices"].push_back(std::move(device));
  }
  // What a maker's GPUs need besides themselves.
  Json common = Json::array();
  if (vendor == "amd") common.push_back(node("/dev/kfd"));
  if (vendor == "nvidia")
    for (const char* path : {"/dev/nvidiactl", "/dev/nvidia-uvm"}) common.push_back(node(path));
  if (!common.empty()) spec["containerEdits"] = Json{{"deviceNodes", common}};
  return spec.dump(2) + "\n";
}

}  // namespace spur::os
