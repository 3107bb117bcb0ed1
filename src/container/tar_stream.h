// SPDX-License-Identifier: Apache-2.0
// A tar file, entry by entry, over libarchive: decompressed first, with digests of both what was read and what came
// out, then taken apart. Two readers, because only so is the digest of the tar itself known.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "container/digest.h"

struct archive;
struct archive_entry;

namespace spur::container {

class TarStream {
 public:
  // `fd` is read from its beginning; it stays the caller's. More than `limit` bytes of tar is an error.
  static Result<std::unique_ptr<TarStream>> open(int fd, std::uint64_t limit);
  ~TarStream();
  TarStream(const TarStream&) = delete;
  TarStream& operator=(const TarStream&) = delete;

  // Null at the end. Valid until the next call.
  Result<archive_entry*> next();
  // The next piece of the entry's data; false at its end.
  Result<bool> data(const void** bytes, std::size_t* size, std::int64_t* offset);
  // Reads what is left; then the digests of the file and of the tar in it.
  struct Digests {
    std::string file, tar;
  };
  Result<Digests> finish();

 private:
  TarStream() = default;
  Status open_readers();
  static ssize_t read_file(archive*, void* self, const void** buffer);
  static ssize_t read_plain(archive*, void* self, const void** buffer);
  std::unexpected<Error> broken(archive* reader) const;

  int fd_ = -1;
  std::uint64_t limit_ = 0, plain_bytes_ = 0;
  bool too_large_ = false;
  Sha256 of_file_, of_tar_;
  archive *outer_ = nullptr, *inner_ = nullptr;
  std::string buffer_, plain_;
};

}  // namespace spur::container
