// SPDX-License-Identifier: Apache-2.0
// Where images come from. What a user writes is
//
//   /path or ./path          an OCI layout, a docker or OCI archive, a squashfs file, or a directory that is a root
//   oci:PATH[:TAG]           the same, and which image of several
//   docker-archive:PATH[:TAG], oci-archive:PATH[:TAG], squashfs:PATH, dir:PATH
//   NAME                     an image of a store
//
// Registries are not asked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "container/image_store.h"
#include "container/layer_unpack.h"

namespace spur::container {

struct ImageReference {
  enum class Kind : unsigned char { Name, Path, Layout, DockerArchive, OciArchive, Squashfs, Directory };
  Kind kind = Kind::Name;
  std::string path;  // or the name
  std::string tag;
};
// NotSupported, with what to do instead, for registries and daemons.
Result<ImageReference> parse_reference(std::string_view text);

// Looks at what is there: Path becomes one of the others.
Result<ImageReference> look_at(const ImageReference& reference);

// Unpacks it into the store unless it is there. Not for names and directories. `tags`, if given, gets the names that
// the image has for itself.
Result<StoredImage> import_image(ImageStore& store, const ImageReference& reference, const UnpackOptions& options,
                                 std::vector<std::string>* tags = nullptr);

// What a container is to run in: from the stores in order, imported into `cache` (made if missing), or in place.
Result<UsedImage> use_image(std::string_view text, const std::vector<std::string>& stores, const std::string& cache,
                            const UnpackOptions& options);

}  // namespace spur::container
