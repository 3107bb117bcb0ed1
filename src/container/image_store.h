// SPDX-License-Identifier: Apache-2.0
// Unpacked images, by digest, in a directory:
//
//   sha256-<hex>/rootfs        what the container sees
//   sha256-<hex>/config.json   environment, entry point and so on, as in the image
//   sha256-<hex>/source        where it came from, one line
//   names/<name>               a digest
//   seen/<key>                 a digest: of a file that has been imported and has not changed since
//   lock                       held while something is added or removed
//   tmp-*                      what a killed import left; gone with the next one
//
// An image appears with all it has, or not at all: it is unpacked beside and renamed. Whoever uses one holds a shared
// lock on its directory; it cannot be removed meanwhile.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "container/image_manifest.h"
#include "os/unique_fd.h"

namespace spur::container {

struct StoredImage {
  std::string digest;  // "sha256:..."
  std::string path;    // of its directory
  std::string source;
  std::vector<std::string> names;
  std::int64_t imported = 0;  // seconds of the epoch
  std::string rootfs() const { return path + "/rootfs"; }
};

// In use: as long as the lock lives.
struct UsedImage {
  std::string rootfs;
  ImageConfig config;
  os::UniqueFd lock;
};

class ImageStore {
 public:
  // Makes the directory if it is not there.
  static Result<ImageStore> create(const std::string& path);
  // NotFound if it is not there.
  static Result<ImageStore> open(const std::string& path);

  const std::string& path() const { return path_; }
  std::vector<StoredImage> list() const;
  // By name, or by digest ("sha256:..." or enough of its digits). NotFound if there is none.
  Result<StoredImage> find(std::string_view name) const;
  std::optional<StoredImage> find_digest(std::string_view digest) const;
  static Result<UsedImage> use(const StoredImage& image);

  // Fills a directory with rootfs/ and tells the rest.
  using Fill = std::function<Result<ImageConfig>(int directory, const std::string& path)>;
  // Unless it is there already. Others who add wait.
  Result<StoredImage> add(const std::string& digest, const std::string& source, const Fill& fill);
  Status give_name(std::string_view name, std::string_view digest);
  // The name; and the image when that was its last.
  Status remove(std::string_view name);

  // What a file that looks like `key` was found to be.
  std::optional<std::string> seen(const std::string& key) const;
  void note_seen(const std::string& key, const std::string& digest);

 private:
  ImageStore(std::string path, os::UniqueFd directory) : path_(std::move(path)), directory_(std::move(directory)) {}
  Result<os::UniqueFd> lock() const;
  void sweep() const;

  std::string path_;
  os::UniqueFd directory_;
};

// Letters, digits and "._-+:@/"; no ".." and not too long.
bool is_image_name(std::string_view name);

}  // namespace spur::container
