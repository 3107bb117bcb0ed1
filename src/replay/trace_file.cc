// SPDX-License-Identifier: Apache-2.0
#include "replay/trace_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "text/printable.h"

namespace spur::replay {

Result<std::string> read_trace_file(const std::string& path, std::size_t limit) {
  const auto refuse = [&](ErrorCode code, const char* why) {
    return fail(code, fmt::format("{}: {}", text::shown(path), why));
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return refuse(ErrorCode::NotFound, std::strerror(errno));
  struct stat what = {};
  if (::fstat(descriptor, &what) == 0 && S_ISDIR(what.st_mode)) {
    ::close(descriptor);
    return refuse(ErrorCode::InvalidArgument, "is a directory");
  }
  // zlib passes on what is not packed as it is.
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(::gzdopen(descriptor, "rb"), ::gzclose);
  if (!file) {
    ::close(descriptor);
    return refuse(ErrorCode::Internal, "out of memory");
  }
  constexpr unsigned kPiece = 1u << 20;
  ::gzbuffer(file.get(), kPiece);
  std::string content;
  for (;;) {
    const std::size_t before = content.size();
    if (before > limit) return refuse(ErrorCode::InvalidArgument, "too large");
    content.resize(before + kPiece);
    const int got = ::gzread(file.get(), content.data() + before, kPiece);
    content.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got > 0) continue;
    // A packed file that was cut off ends like any other for gzread; only the error tells.
    int error = Z_OK;
    const char* message = ::gzerror(file.get(), &error);
    if (error == Z_ERRNO) return refuse(ErrorCode::Internal, std::strerror(errno));
    if (error != Z_OK && error != Z_STREAM_END)
      return refuse(ErrorCode::Corrupt, error == Z_BUF_ERROR ? "unexpected end of packed data" : message);
    return content;
  }
}

}  // namespace spur::replay
