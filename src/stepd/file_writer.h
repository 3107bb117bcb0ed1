// SPDX-License-Identifier: Apache-2.0
// Writing one file that arrives in pieces, with the rights of the calling process. Until finish() succeeds nothing is
// there under its name, and what there was stays as it was. If the process dies, nothing is left behind; where the
// file system has no files without a name, a hidden one that only its owner can read and nobody can execute.
#pragma once

#include <string>
#include <string_view>

#include "os/unique_fd.h"
#include "spur/v1/files.pb.h"

namespace spur::stepd {

// How something with a file failed: errno, and where it was.
struct FileFailure {
  int number = 0;  // 0: success
  std::string text{};
  explicit operator bool() const { return number != 0; }
};

class FileWriter {
 public:
  FileWriter() = default;
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  FileFailure begin(const v1::FileSend& file);
  FileFailure write(std::string_view data);
  FileFailure finish();

 private:
  FileFailure make_directory();
  FileFailure open_new();
  FileFailure give_name();

  v1::FileSend file_;
  std::string path_;       // links followed
  std::string temporary_;  // a name that must go if we do not finish
  os::UniqueFd fd_;
  std::uint64_t written_ = 0;
  bool in_place_ = false;  // a device or a pipe: there is nothing to replace
};

}  // namespace spur::stepd
