// SPDX-License-Identifier: Apache-2.0
// Reading a file or a directory with all in it, with the rights of the calling process, and handing it out in pieces.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "spur/v1/files.pb.h"
#include "stepd/file_writer.h"

namespace spur::stepd {

struct FileSink {
  std::function<bool(const v1::FileEntry&)> entry;  // false: nobody listens any more
  std::function<bool(std::string_view)> data;
};
// Symbolic links are followed at the top, and told of below. What is neither file, directory nor link is left out.
FileFailure read_files(const v1::FileFetch& fetch, const FileSink& sink);
FileFailure remove_files(const std::string& path);

}  // namespace spur::stepd
