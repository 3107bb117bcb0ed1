// SPDX-License-Identifier: Apache-2.0
#include "text/mount_spec.h"

#include "text/printable.h"
#include "text/words.h"

namespace spur::text {
namespace {

constexpr std::size_t kLongestPath = 4095;

std::unexpected<Error> bad(std::string_view text, std::string_view why) {
  return fail(ErrorCode::InvalidArgument, "invalid container mount \"" + shown(text) + "\": " + shown(why));
}

bool take_option(std::string_view word, MountSpec& out) {
  if (word == "ro") return out.read_only = true;
  if (word == "rw") return out.read_only = false, true;
  if (word == "bind") return out.recursive = false, true;
  if (word == "rbind") return out.recursive = true;
  if (word == "noexec") return out.no_exec = true;
  if (word == "nodev") return out.no_dev = true;
  if (word == "nosuid") return out.no_suid = true;
  return false;
}

}  // namespace

std::string clean_path(std::string_view path) {
  std::vector<std::string_view> parts;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..")
      parts.push_back(part);
    else if (!parts.empty())
      parts.pop_back();
  }
  std::string out;
  for (const std::string_view part : parts) out.append("/").append(part);
  return out.empty() ? "/" : out;
}

Result<MountSpec> parse_mount(std::string_view text, std::string_view directory) {
  const auto parts = split(text, ':');
  if (text.find('\0') != std::string_view::npos || text.size() > 3 * kLongestPath) return bad("...", "it is no path");
  if (parts.size() > 3) return bad(text, "expected SOURCE:TARGET[:OPTIONS]");
  if (parts[0].empty()) return bad(text, "the source is missing");
  MountSpec out;
  const bool is_tmpfs = parts[0] == "tmpfs";
  if (!is_tmpfs) {
    const bool absolute = parts[0].starts_with('/');
    if (!absolute && !directory.starts_with('/')) return bad(text, "the source must be an absolute path");
    out.source = clean_path(absolute ? std::string(parts[0]) : std::string(directory) + "/" + std::string(parts[0]));
  }
  const std::string_view target = parts.size() > 1 ? parts[1] : is_tmpfs ? "" : std::string_view(out.source);
  if (target.empty()) return bad(text, "the target is missing");
  if (!target.starts_with('/')) return bad(text, "the target must be an absolute path");
  out.target = clean_path(target);
  if (out.target == "/") return bad(text, "the root of the container cannot be mounted over");
  if (out.source.size() > kLongestPath || out.target.size() > kLongestPath) return bad("...", "a path is too long");
  if (parts.size() < 3) return out;
  for (const std::string_view word : split(parts[2], '+'))
    if (!take_option(word, out)) return bad(text, "no such option: " + std::string(word));
  return out;
}

Result<std::vector<MountSpec>> parse_mounts(std::string_view text, std::string_view directory) {
  std::vector<MountSpec> out;
  for (const std::string_view entry : split(text, ',')) {
    SPUR_ASSIGN(auto mount, parse_mount(entry, directory));
    out.push_back(std::move(mount));
  }
  return out;
}

std::string mount_text(const MountSpec& mount) {
  std::string out = (mount.source.empty() ? "tmpfs" : mount.source) + ":" + mount.target + ":";
  out += mount.read_only ? "ro" : "rw";
  out += mount.recursive ? "+rbind" : "+bind";
  if (mount.no_exec) out += "+noexec";
  if (mount.no_dev) out += "+nodev";
  if (mount.no_suid) out += "+nosuid";
  return out;
}

}  // namespace spur::text
