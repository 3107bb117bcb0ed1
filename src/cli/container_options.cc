// SPDX-License-Identifier: Apache-2.0
#include "cli/container_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "text/mount_spec.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::cli {
namespace job_setters {
namespace {

bool is_variable(std::string_view name) {
  return !name.empty() && !text::is_digit(name.front()) &&
         std::ranges::all_of(name, [](char c) { return text::is_alpha(c) || text::is_digit(c) || c == '_'; });
}

}  // namespace

OptionStatus set_container_bundle(JobRequest& request, std::string_view value) {
  if (value.empty()) return bad_option("--container: the path of the bundle is missing");
  const std::string path = value.starts_with('/') ? std::string(value) : request.directory + "/" + std::string(value);
  request.spec.container.bundle = text::clean_path(path);
  request.spec.container.image.clear();  // the later of the two counts: the line over the environment
  return {};
}

OptionStatus set_container_image(JobRequest& request, std::string_view value) {
  if (value.empty()) return bad_option("--container-image: the image is missing");
  request.spec.container.image = std::string(value);
  request.spec.container.bundle.clear();
  return {};
}

OptionStatus set_container_env(JobRequest& request, std::string_view value) {
  std::vector<std::string> entries;
  for (const std::string_view entry : text::split(value, ',')) {
    if (!is_variable(entry.substr(0, entry.find('='))))
      return bad_option(fmt::format("invalid --container-env: \"{}\"", text::shown(value)));
    entries.emplace_back(entry);
  }
  request.spec.container.environment = std::move(entries);
  return {};
}

OptionStatus set_container_mounts(JobRequest& request, std::string_view value) {
  const auto mounts = text::parse_mounts(value, request.directory);
  if (!mounts) return bad_option("--container-mounts: " + mounts.error().message);
  request.spec.container.mounts.clear();
  for (const auto& mount : *mounts) request.spec.container.mounts.push_back(text::mount_text(mount));
  return {};
}

OptionStatus set_container_name(JobRequest& request, std::string_view value) {
  const bool good =
      !value.empty() && value.size() <= 64 && value.front() != '.' && std::ranges::all_of(value, [](char c) {
        return text::is_alpha(c) || text::is_digit(c) || c == '_' || c == '-' || c == '.';
      });
  if (!good)
    return bad_option(fmt::format("invalid --container-name: \"{}\" (letters, digits, '.', '_' and '-', at most 64)",
                                  text::shown(value)));
  request.spec.container.name = std::string(value);
  return {};
}

OptionStatus set_container_workdir(JobRequest& request, std::string_view value) {
  if (!value.starts_with('/'))
    return bad_option(fmt::format("--container-workdir must be an absolute path: \"{}\"", text::shown(value)));
  request.spec.container.workdir = text::clean_path(value);
  return {};
}

}  // namespace job_setters

OptionStatus settle_container(JobRequest& request) {
  model::ContainerRequest& container = request.spec.container;
  if (!container.wanted()) {
    if (container != model::ContainerRequest{})
      return bad_option("the --container options need --container-image, --container or --container-name", 1);
    return {};
  }
  if (!container.bundle.empty() && (container.entrypoint || !container.name.empty()))
    return bad_option("--container has no entrypoint and no name: it is taken as its config.json says", 1);
  if (container.image.starts_with("./") || container.image.starts_with("../") || container.image == ".")
    container.image = text::clean_path(request.directory + "/" + container.image);
  return {};
}

std::vector<std::string> container_variables(const model::ContainerRequest& c) {
  std::vector<std::string> out;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) out.push_back(fmt::format("SLURM_CONTAINER{}={}", name, value));
  };
  add("", c.bundle);
  add("_IMAGE", c.image);
  add("_NAME", c.name);
  add("_WORKDIR", c.workdir);
  add("_MOUNTS", fmt::format("{}", fmt::join(c.mounts, ",")));
  add("_ENV", fmt::format("{}", fmt::join(c.environment, ",")));
  add("_READONLY", c.readonly ? "1" : "");
  add("_MOUNT_HOME", c.mount_home ? "1" : "");
  add("_ENTRYPOINT", c.entrypoint ? "1" : "");
  add("_REMAP_ROOT", c.remap_root ? "1" : "");
  return out;
}

}  // namespace spur::cli
