// SPDX-License-Identifier: Apache-2.0
// Tar files for tests, hostile ones included: names and links are written as given.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "os/unique_fd.h"

namespace spur::container {

class TestTar {
 public:
  explicit TestTar(int filter = 0) : fd_(::memfd_create("tar", MFD_CLOEXEC)), writer_(archive_write_new()) {
    if (filter == 'g') archive_write_add_filter_gzip(writer_);
    if (filter == 'z') archive_write_add_filter_zstd(writer_);
    archive_write_set_format_pax_restricted(writer_);
    archive_write_open_fd(writer_, fd_.get());
  }
  ~TestTar() { archive_write_free(writer_); }

  TestTar& file(const std::string& path, const std::string& content, int mode = 0644) {
    return add(path, AE_IFREG, mode, content, nullptr, nullptr);
  }
  TestTar& directory(const std::string& path, int mode = 0755) {
    return add(path, AE_IFDIR, mode, {}, nullptr, nullptr);
  }
  TestTar& symlink(const std::string& path, const std::string& to) {
    return add(path, AE_IFLNK, 0777, {}, to.c_str(), nullptr);
  }
  TestTar& hardlink(const std::string& path, const std::string& to) {
    return add(path, AE_IFREG, 0644, {}, nullptr, to.c_str());
  }
  TestTar& device(const std::string& path) { return add(path, AE_IFCHR, 0666, {}, nullptr, nullptr); }
  // Ready to be read.
  int fd() {
    archive_write_close(writer_);
    return fd_.get();
  }

 private:
  TestTar& add(const std::string& path, unsigned type, int mode, const std::string& content, const char* symlink_to,
               const char* hardlink_to) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, path.c_str());
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, static_cast<mode_t>(mode));
    archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    if (symlink_to) archive_entry_set_symlink(entry, symlink_to);
    if (hardlink_to) archive_entry_set_hardlink(entry, hardlink_to);
    archive_write_header(writer_, entry);
    if (!content.empty()) archive_write_data(writer_, content.data(), content.size());
    archive_entry_free(entry);
    return *this;
  }

  os::UniqueFd fd_;
  archive* writer_;
};

}  // namespace spur::container
