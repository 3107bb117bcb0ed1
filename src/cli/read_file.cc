// SPDX-License-Identifier: Apache-2.0
#include "cli/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace spur::cli {

Result<std::string> read_descriptor(int descriptor) {
  std::string content;
  for (;;) {
    const std::size_t before = content.size();
    constexpr std::size_t kPiece = 64 * 1024;
    content.resize(before + kPiece);
    const ssize_t got = ::read(descriptor, content.data() + before, kPiece);
    content.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorCode::NotFound, std::strerror(errno));
    if (got == 0) return content;
    if (content.size() > kLargestInput) return fail(ErrorCode::InvalidArgument, "File too large");
  }
}

Result<std::string> read_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail(ErrorCode::NotFound, std::strerror(errno));
  auto content = read_descriptor(descriptor);
  ::close(descriptor);
  return content;
}

}  // namespace spur::cli
