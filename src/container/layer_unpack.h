// SPDX-License-Identifier: Apache-2.0
// Layers of an image, laid over each other in a directory. A layer is a tar file, compressed or not, in which
// whiteouts
// (.wh.NAME) and opaque directories (.wh..wh..opq) hide what lower layers have. It may be hostile: no entry gets
// outside the directory, whatever it is called and whatever links it goes through, and what is unpacked is limited.
//
// Everything belongs to whoever unpacks. Owners, set-user-id bits, extended attributes and device files are left out:
// a container has no use for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spur::container {

struct UnpackLimits {
  std::uint64_t bytes = std::uint64_t{128} << 30;
  std::uint64_t files = 4'000'000;
};

struct UnpackOptions {
  UnpackLimits limits{};  // of all layers together
  bool shared = false;    // others may read everything
};

// What has been used of the limits so far.
struct Unpacked {
  std::uint64_t bytes = 0, files = 0;
};

// One layer, read from `fd`, over what is in the directory `root`. `digest` is that of the file as it is, `diff_id`
// that of the tar in it; empty: not known. A mismatch is an error, found only when all has been unpacked.
Status unpack_layer(int fd, int root, std::string_view digest, std::string_view diff_id, const UnpackOptions& options,
                    Unpacked& so_far);

// All regular files of a tar into the directory, for archives that hold an image: names with slashes make
// directories. Members other than files and directories are passed over.
Status unpack_members(int fd, int root, const UnpackOptions& options);
// The content of one member; NotFound if it is not there.
Result<std::string> read_member(int fd, std::string_view name, std::size_t limit);

}  // namespace spur::container
