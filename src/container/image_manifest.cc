// SPDX-License-Identifier: Apache-2.0
#include "container/image_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "container/json_fields.h"
#include "text/printable.h"

namespace spur::container {
namespace {

constexpr std::size_t kMostLayers = 1000, kMostEntries = 10'000;

Result<Descriptor> descriptor_of(const Json& from, std::string_view what) {
  Descriptor out;
  if (!from.is_object()) return bad_json(what, "a descriptor is no object");
  out.media_type = text_at(from, "mediaType");
  out.digest = text_at(from, "digest");
  if (!is_digest(out.digest)) return bad_json(what, "a digest is not sha256: " + text::shown(out.digest));
  if (const auto size = from.find("size"); size != from.end() && size->is_number_unsigned())
    out.size = size->get<std::uint64_t>();
  if (const auto notes = from.find("annotations"); notes != from.end() && notes->is_object())
    out.name = text_at(*notes, "org.opencontainers.image.ref.name");
  if (const auto platform = from.find("platform"); platform != from.end() && platform->is_object()) {
    out.os = text_at(*platform, "os");
    out.architecture = text_at(*platform, "architecture");
  }
  return out;
}

}  // namespace

bool is_digest(std::string_view text) {
  constexpr std::string_view kPrefix = "sha256:";
  return text.size() == kPrefix.size() + 64 && text.starts_with(kPrefix) &&
         text.substr(kPrefix.size()).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_index_type(std::string_view media_type) {
  return media_type == "application/vnd.oci.image.index.v1+json" ||
         media_type == "application/vnd.docker.distribution.manifest.list.v2+json";
}

Result<std::vector<Descriptor>> parse_index(std::string_view text) {
  SPUR_ASSIGN(const Json index, parse_object(text, "the index"));
  const auto manifests = index.find("manifests");
  if (manifests == index.end() || !manifests->is_array()) return bad_json("the index", "it lists no manifests");
  if (manifests->size() > kMostEntries) return bad_json("the index", "it is too long");
  std::vector<Descriptor> out;
  for (const Json& item : *manifests) {
    SPUR_ASSIGN(auto entry, descriptor_of(item, "the index"));
    out.push_back(std::move(entry));
  }
  return out;
}

Result<Manifest> parse_manifest(std::string_view text) {
  SPUR_ASSIGN(const Json manifest, parse_object(text, "the manifest"));
  Manifest out;
  const auto config = manifest.find("config"), layers = manifest.find("layers");
  if (config == manifest.end()) return bad_json("the manifest", "it names no configuration");
  if (layers == manifest.end() || !layers->is_array()) return bad_json("the manifest", "it lists no layers");
  if (layers->size() > kMostLayers) return bad_json("the manifest", "it has too many layers");
  SPUR_ASSIGN(out.config, descriptor_of(*config, "the manifest"));
  for (const Json& item : *layers) {
    SPUR_ASSIGN(auto layer, descriptor_of(item, "the manifest"));
    out.layers.push_back(std::move(layer));
  }
  return out;
}

Result<ImageConfig> parse_image_config(std::string_view text) {
  constexpr std::string_view kWhat = "the image's configuration";
  SPUR_ASSIGN(const Json root, parse_object(text, kWhat));
  ImageConfig out;
  out.os = text_at(root, "os");
  out.architecture = text_at(root, "architecture");
  if (const auto config = root.find("config"); config != root.end() && config->is_object()) {
    SPUR_ASSIGN(out.env, texts_at(*config, "Env", kWhat));
    SPUR_ASSIGN(out.entrypoint, texts_at(*config, "Entrypoint", kWhat));
    SPUR_ASSIGN(out.command, texts_at(*config, "Cmd", kWhat));
    out.workdir = text_at(*config, "WorkingDir");
  }
  if (const auto rootfs = root.find("rootfs"); rootfs != root.end() && rootfs->is_object()) {
    SPUR_ASSIGN(out.diff_ids, texts_at(*rootfs, "diff_ids", kWhat));
  }
  for (const auto& id : out.diff_ids)
    if (!is_digest(id)) return bad_json(kWhat, "a layer's digest is not sha256: " + text::shown(id));
  for (const auto& entry : out.env)
    if (entry.find('=') == std::string::npos || entry.front() == '=')
      return bad_json(kWhat, "this is no variable: " + text::shown(entry));
  return out;
}

Result<std::vector<ArchiveImage>> parse_archive_manifest(std::string_view text) {
  constexpr std::string_view kWhat = "manifest.json";
  const Json list = Json::parse(text, nullptr, false);
  if (!list.is_array() || list.empty() || list.size() > kMostEntries) return bad_json(kWhat, "it lists no images");
  std::vector<ArchiveImage> out;
  for (const Json& item : list) {
    if (!item.is_object()) return bad_json(kWhat, "an entry is no object");
    ArchiveImage image;
    image.config = text_at(item, "Config");
    SPUR_ASSIGN(image.tags, texts_at(item, "RepoTags", kWhat));
    SPUR_ASSIGN(image.layers, texts_at(item, "Layers", kWhat));
    if (image.config.empty()) return bad_json(kWhat, "an image has no configuration");
    if (image.layers.size() > kMostLayers) return bad_json(kWhat, "an image has too many layers");
    out.push_back(std::move(image));
  }
  return out;
}

std::string image_config_text(const ImageConfig& config) {
  Json inner{{"Env", config.env},
             {"Entrypoint", config.entrypoint},
             {"Cmd", config.command},
             {"WorkingDir", config.workdir}};
  Json root{{"os", config.os},
            {"architecture", config.architecture},
            {"config", std::move(inner)},
            {"rootfs", Json{{"diff_ids", config.diff_ids}}}};
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string_view own_architecture() {
#if defined(__x86_64__)
  return "amd64";
#elif defined(__aarch64__)
  return "arm64";
#elif defined(__powerpc64__)
  return "ppc64le";
#elif defined(__riscv)
  return "riscv64";
#else
  return "";
#endif
}

Result<Descriptor> choose_image(const std::vector<Descriptor>& entries, std::string_view tag) {
  const auto named = [&](const Descriptor& entry) {
    return tag.empty() || entry.name == tag || entry.name.ends_with(":" + std::string(tag));
  };
  const auto ours = [&](const Descriptor& entry) {
    return (entry.os.empty() || entry.os == "linux") &&
           (entry.architecture.empty() || entry.architecture == own_architecture());
  };
  std::vector<const Descriptor*> found;
  for (const Descriptor& entry : entries)
    if (named(entry) && ours(entry)) found.push_back(&entry);
  if (found.size() == 1) return *found.front();
  if (found.empty())
    return fail(ErrorCode::NotFound,
                tag.empty() ? fmt::format("it has no image for linux/{}", own_architecture())
                            : fmt::format("it has no image {} for linux/{}", text::shown(tag), own_architecture()));
  if (std::ranges::all_of(found, [&](const auto* d) { return d->digest == found.front()->digest; }))
    return *found.front();
  std::string names;
  for (const auto* entry : found) names += (names.empty() ? "" : ", ") + text::shown(entry->name, 40);
  return fail(ErrorCode::InvalidArgument,
              "it has several images, say which (oci:PATH:TAG): " + text::shown(names, 400));
}

}  // namespace spur::container
