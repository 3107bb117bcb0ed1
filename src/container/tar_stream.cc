// SPDX-License-Identifier: Apache-2.0
#include "container/tar_stream.h"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <cerrno>

#include "os/files.h"
#include "text/printable.h"

namespace spur::container {

constexpr std::size_t kPiece = 256 << 10;

Result<std::unique_ptr<TarStream>> TarStream::open(int fd, std::uint64_t limit) {
  std::unique_ptr<TarStream> out(new TarStream);
  out->fd_ = fd;
  out->limit_ = limit;
  if (::lseek(fd, 0, SEEK_SET) < 0) return os::fail_errno("cannot read the archive", errno);
  SPUR_TRY(out->open_readers());
  return out;
}

Status TarStream::open_readers() {
  buffer_.resize(kPiece);
  plain_.resize(kPiece);
  outer_ = archive_read_new();
  inner_ = archive_read_new();
  if (!outer_ || !inner_) return fail(ErrorCode::Internal, "no memory for unpacking");
  archive_read_support_filter_gzip(outer_);
  archive_read_support_filter_zstd(outer_);
  archive_read_support_filter_bzip2(outer_);
  archive_read_support_filter_xz(outer_);
  archive_read_support_format_raw(outer_);
  archive_read_support_format_empty(outer_);
  if (archive_read_open(outer_, this, nullptr, read_file, nullptr) != ARCHIVE_OK) return broken(outer_);
  archive_entry* raw = nullptr;
  const int first = archive_read_next_header(outer_, &raw);
  if (first != ARCHIVE_OK && first != ARCHIVE_EOF) return broken(outer_);
  archive_read_support_format_tar(inner_);
  archive_read_support_format_empty(inner_);
  if (archive_read_open(inner_, this, nullptr, read_plain, nullptr) != ARCHIVE_OK) return broken(inner_);
  return {};
}

TarStream::~TarStream() {
  if (inner_) archive_read_free(inner_);
  if (outer_) archive_read_free(outer_);
}

ssize_t TarStream::read_file(archive* reader, void* self, const void** buffer) {
  auto& own = *static_cast<TarStream*>(self);
  ssize_t got;
  do {
    got = ::read(own.fd_, own.buffer_.data(), own.buffer_.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    archive_set_error(reader, errno, "cannot be read");
    return -1;
  }
  own.of_file_.add(own.buffer_.data(), static_cast<std::size_t>(got));
  *buffer = own.buffer_.data();
  return got;
}

ssize_t TarStream::read_plain(archive* reader, void* self, const void** buffer) {
  auto& own = *static_cast<TarStream*>(self);
  const auto got = archive_read_data(own.outer_, own.plain_.data(), own.plain_.size());
  if (got < 0) {
    const char* why = archive_error_string(own.outer_);
    archive_set_error(reader, EIO, "%s", why ? why : "cannot be decompressed");
    return -1;
  }
  own.plain_bytes_ += static_cast<std::uint64_t>(got);
  if (own.plain_bytes_ > own.limit_) {
    own.too_large_ = true;
    archive_set_error(reader, EFBIG, "too large");
    return -1;
  }
  own.of_tar_.add(own.plain_.data(), static_cast<std::size_t>(got));
  *buffer = own.plain_.data();
  return got;
}

std::unexpected<Error> TarStream::broken(archive* reader) const {
  if (too_large_) return fail(ErrorCode::InvalidArgument, "the image is larger than this node allows");
  const char* why = archive_error_string(reader);
  return fail(ErrorCode::Corrupt, "the archive is damaged: " + text::shown(why ? why : "it is no tar file"));
}

Result<archive_entry*> TarStream::next() {
  archive_entry* entry = nullptr;
  const int code = archive_read_next_header(inner_, &entry);
  if (code == ARCHIVE_EOF) return nullptr;
  if (code != ARCHIVE_OK && code != ARCHIVE_WARN) return broken(inner_);
  return entry;
}

Result<bool> TarStream::data(const void** bytes, std::size_t* size, std::int64_t* offset) {
  la_int64_t at = 0;
  const int code = archive_read_data_block(inner_, bytes, size, &at);
  *offset = at;
  if (code == ARCHIVE_EOF) return false;
  if (code != ARCHIVE_OK && code != ARCHIVE_WARN) return broken(inner_);
  return true;
}

Result<TarStream::Digests> TarStream::finish() {
  for (const void* bytes = nullptr;;) {
    const ssize_t got = read_plain(inner_, this, &bytes);
    if (got < 0) return broken(inner_);
    if (got == 0) break;
  }
  for (const void* bytes = nullptr;;) {
    const ssize_t got = read_file(outer_, this, &bytes);
    if (got < 0) return broken(outer_);
    if (got == 0) break;
  }
  return Digests{of_file_.finish(), of_tar_.finish()};
}

}  // namespace spur::container
