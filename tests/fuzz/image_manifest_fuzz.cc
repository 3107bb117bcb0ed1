// SPDX-License-Identifier: Apache-2.0
#include "container/image_manifest.h"

#include "fuzz.h"

namespace spur::container {

SPUR_FUZZ(
    image_manifest,
    R"({"manifests":[{"mediaType":"x","digest":"sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","size":1,"annotations":{"org.opencontainers.image.ref.name":"v1"},"platform":{"os":"linux","architecture":"amd64"}}]})",
    R"({"config":{"digest":"sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},"layers":[]})",
    R"({"os":"linux","config":{"Env":["A=1"],"Entrypoint":["/x"],"Cmd":null,"WorkingDir":"/w"},"rootfs":{"diff_ids":[]}})",
    R"([{"Config":"c.json","RepoTags":["a:1"],"Layers":["l/layer.tar"]}])") {
  if (const auto index = parse_index(input)) {
    for (const Descriptor& entry : *index) SPUR_CHECK(is_digest(entry.digest));
    if (const auto chosen = choose_image(*index, ""); !chosen) fuzz::check_message(chosen.error());
  } else {
    fuzz::check_message(index.error());
  }
  if (const auto manifest = parse_manifest(input); !manifest) fuzz::check_message(manifest.error());
  if (const auto images = parse_archive_manifest(input); !images) fuzz::check_message(images.error());
  const auto config = parse_image_config(input);
  if (!config) return fuzz::check_message(config.error());
  for (const auto& entry : config->env) SPUR_CHECK(entry.find('\0') == std::string::npos);
  SPUR_CHECK(parse_image_config(image_config_text(*config)).has_value());
}

}  // namespace spur::container
