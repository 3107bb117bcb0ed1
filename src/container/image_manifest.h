// SPDX-License-Identifier: Apache-2.0
// The JSON documents of images: OCI's index, manifest and configuration, and the manifest.json of `docker save`. They
// come from users: whatever is in them is either understood or refused in one sentence. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spur::container {

struct Descriptor {
  std::string media_type{}, digest{};  // "sha256:..."
  std::uint64_t size = 0;
  std::string name{};                // of an index's entry: its tag
  std::string os{}, architecture{};  // of an index's entry; empty: not said
  friend bool operator==(const Descriptor&, const Descriptor&) = default;
};

struct Manifest {
  Descriptor config;
  std::vector<Descriptor> layers;  // the lowest first
};

struct ImageConfig {
  std::string os{}, architecture{};
  std::vector<std::string> env{}, entrypoint{}, command{};
  std::string workdir{};
  std::vector<std::string> diff_ids{};  // of the layers, unpacked
  friend bool operator==(const ImageConfig&, const ImageConfig&) = default;
};

// An image of a docker archive: names of members.
struct ArchiveImage {
  std::string config;
  std::vector<std::string> tags, layers;
};

Result<std::vector<Descriptor>> parse_index(std::string_view text);
Result<Manifest> parse_manifest(std::string_view text);
Result<ImageConfig> parse_image_config(std::string_view text);
Result<std::vector<ArchiveImage>> parse_archive_manifest(std::string_view text);
// In the same form, to be kept with the unpacked image.
std::string image_config_text(const ImageConfig& config);

// "sha256:" and 64 hexadecimal digits.
bool is_digest(std::string_view text);
bool is_index_type(std::string_view media_type);

// The entry for `tag` (empty: any) and this machine. An image for no machine in particular is taken as ours.
Result<Descriptor> choose_image(const std::vector<Descriptor>& entries, std::string_view tag);
// As Go names this machine's processor: "amd64".
std::string_view own_architecture();

}  // namespace spur::container
