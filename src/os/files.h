// SPDX-License-Identifier: Apache-2.0
// Files as a daemon needs them: a write that is either wholly there after a crash or not at all, a read that cannot
// be made to eat all memory, directories and files that only their owner can change. Every error names the path.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spur::os {

// The error for `errno_value` met while doing `what` ("cannot open /x"): full disk, missing file and missing
// permission get their own codes.
Error errno_error(std::string_view what, int errno_value);
inline std::unexpected<Error> fail_errno(std::string_view what, int errno_value) {
  return std::unexpected<Error>(errno_error(what, errno_value));
}

// Replaces `path` by a file of `content` and mode `mode`: after success it survives a power loss, after an error or a
// crash the old file is still whole.
Status write_file_durably(const std::string& path, std::string_view content, mode_t mode = 0600);
// The whole file; more than `limit` bytes is an error, and so is anything but a regular file.
Result<std::string> read_file(const std::string& path, std::size_t limit);
// Makes the names in `directory` durable (after a create, rename or unlink).
Status sync_directory(const std::string& directory);

// Writes all of it, however often write() stops half way.
Status write_all(int fd, std::string_view bytes, std::string_view path);

// Creates `path` and what is missing above it, the last one with mode 0700. An existing directory must pass
// check_private_dir.
Status make_private_dir(const std::string& path);
// `path` is a directory of the calling user (effective uid) that nobody else may write to and he himself may.
Status check_private_dir(const std::string& path);
// `path` is a regular file of the calling user that nobody else may read or write: what a secret key must be.
Status check_secret_file(const std::string& path);

// "alice (uid 1000)", or "uid 1000" where the user has no name.
std::string describe_user(uid_t uid);
std::string parent_directory(const std::string& path);

}  // namespace spur::os
