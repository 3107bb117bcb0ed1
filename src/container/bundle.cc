// SPDX-License-Identifier: Apache-2.0
#include "container/bundle.h"

#include <fmt/format.h>

#include <algorithm>

#include "container/json_fields.h"
#include "text/printable.h"

namespace spur::container {
namespace {

constexpr std::string_view kWhat = "config.json";

std::unexpected<Error> unsupported(std::string_view what) {
  return fail(ErrorCode::NotSupported, fmt::format("config.json: {} is not supported", text::shown(what)));
}

bool take_option(const std::string& word, text::MountSpec& out) {
  if (word == "ro") return out.read_only = true;
  if (word == "bind") return out.recursive = false, true;
  if (word == "rbind") return out.recursive = true;
  if (word == "noexec") return out.no_exec = true;
  if (word == "nodev") return out.no_dev = true;
  if (word == "nosuid") return out.no_suid = true;
  // How mounts of the host spread, and how times are kept, is settled.
  static constexpr std::string_view kNothing[] = {"rw",         "exec",        "dev",    "suid",     "private",
                                                  "rprivate",   "slave",       "rslave", "relatime", "noatime",
                                                  "nodiratime", "strictatime", "sync",   "async"};
  return std::ranges::find(kNothing, word) != std::end(kNothing);
}

// Kinds that every container of ours has in its own way.
bool is_ours(const std::string& type) {
  static constexpr std::string_view kOurs[] = {"proc", "sysfs", "devpts", "mqueue", "cgroup", "cgroup2"};
  return std::ranges::find(kOurs, type) != std::end(kOurs);
}

Status take_mount(const Json& item, std::string_view directory, Bundle& out) {
  if (!item.is_object()) return bad_json(kWhat, "a mount is no object");
  const std::string type = text_at(item, "type"), target = text_at(item, "destination");
  if (!target.starts_with('/'))
    return bad_json(kWhat, "a mount's destination is not absolute: " + text::shown(target));
  SPUR_ASSIGN(const auto options, texts_at(item, "options", kWhat));
  const bool binds =
      type == "bind" || std::ranges::any_of(options, [](const auto& o) { return o == "bind" || o == "rbind"; });
  if (!binds && is_ours(type)) return {};
  if (!binds && type != "tmpfs") return unsupported("a mount of type " + type);
  text::MountSpec mount;
  mount.target = text::clean_path(target);
  if (!binds && (mount.target == "/dev" || mount.target == "/dev/shm")) return {};
  if (mount.target == "/") return bad_json(kWhat, "the root cannot be mounted over");
  if (binds) {
    const std::string source = text_at(item, "source");
    if (source.empty()) return bad_json(kWhat, "a mount has no source");
    mount.source = text::clean_path(source.starts_with('/') ? source : std::string(directory) + "/" + source);
  }
  for (const std::string& option : options) {
    const bool of_tmpfs = !binds && option.find('=') != std::string::npos;  // mode, size
    if (!of_tmpfs && !take_option(option, mount)) return unsupported("the mount option " + option);
  }
  out.mounts.push_back(std::move(mount));
  return {};
}

Status take_process(const Json& root, Bundle& out) {
  const auto process = root.find("process");
  if (process == root.end() || process->is_null()) return {};
  if (!process->is_object()) return bad_json(kWhat, "process is no object");
  if (auto args = texts_at(*process, "args", kWhat); !args) return std::unexpected(args.error());
  SPUR_ASSIGN(out.env, texts_at(*process, "env", kWhat));
  for (const auto& entry : out.env)
    if (entry.find('=') == std::string::npos || entry.front() == '=')
      return bad_json(kWhat, "this is no variable: " + text::shown(entry));
  out.workdir = text_at(*process, "cwd");
  if (!out.workdir.empty() && !out.workdir.starts_with('/')) return bad_json(kWhat, "cwd is not absolute");
  return {};
}

Status take_linux(const Json& root, Bundle& out) {
  const auto part = root.find("linux");
  if (part == root.end() || !part->is_object()) return {};
  SPUR_ASSIGN(out.masked, texts_at(*part, "maskedPaths", kWhat));
  SPUR_ASSIGN(out.readonly_paths, texts_at(*part, "readonlyPaths", kWhat));
  for (const auto* list : {&out.masked, &out.readonly_paths})
    for (const auto& path : *list)
      if (!path.starts_with('/')) return bad_json(kWhat, "a path is not absolute: " + text::shown(path));
  for (const char* key : {"devices", "sysctl", "intelRdt"})
    if (const auto it = part->find(key); it != part->end() && !it->empty())
      return unsupported(std::string("linux.") + key);
  return {};
}

}  // namespace

Result<Bundle> parse_bundle(std::string_view text, std::string_view directory) {
  SPUR_ASSIGN(const Json config, parse_object(text, kWhat));
  Bundle out;
  if (text_at(config, "ociVersion").empty()) return bad_json(kWhat, "ociVersion is missing");
  const auto root = config.find("root");
  if (root == config.end() || !root->is_object() || text_at(*root, "path").empty())
    return bad_json(kWhat, "root.path is missing");
  out.root = text_at(*root, "path");
  if (const auto flag = root->find("readonly"); flag != root->end())
    out.readonly = flag->is_boolean() && flag->get<bool>();
  out.hostname = text_at(config, "hostname");
  if (out.hostname.size() > 64) return bad_json(kWhat, "the hostname is too long");
  SPUR_TRY(take_process(config, out));
  SPUR_TRY(take_linux(config, out));
  if (const auto hooks = config.find("hooks"); hooks != config.end() && hooks->is_object())
    for (const auto& [kind, list] : hooks->items())
      if (!list.empty()) return unsupported("the hook " + kind);
  if (const auto mounts = config.find("mounts"); mounts != config.end() && !mounts->is_null()) {
    if (!mounts->is_array() || mounts->size() > 10'000) return bad_json(kWhat, "mounts is no list");
    for (const Json& item : *mounts) SPUR_TRY(take_mount(item, directory, out));
  }
  return out;
}

}  // namespace spur::container
