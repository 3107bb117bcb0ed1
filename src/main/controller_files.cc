// SPDX-License-Identifier: Apache-2.0
#include "main/controller_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <random>

#include "os/files.h"
#include "os/state_directory.h"

namespace spur::main {

Result<std::string> load_or_create_join_token(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) {
    std::random_device random;
    std::string token;
    for (int i = 0; i < 8; ++i) token += fmt::format("{:08x}", random());
    SPUR_TRY(os::write_file_durably(path, token + "\n", 0600));
  }
  SPUR_TRY(os::check_secret_file(path));
  SPUR_ASSIGN(std::string token, os::read_file(path, 4096));
  while (!token.empty() && (token.back() == '\n' || token.back() == ' ')) token.pop_back();
  if (token.size() < 32) return fail(ErrorCode::ConfigInvalid, path + " holds no token of 32 characters or more");
  return token;
}

Result<std::string> move_state_aside(const std::string& dir) {
  // Held while we do it: the files may be another controller's.
  SPUR_ASSIGN(const auto held, os::StateDirectory::open(dir, "journal.lock"));
  if (::access((held / "journal.sqlite").c_str(), F_OK) != 0) return std::string();
  std::string aside = fmt::format("{}/cleared-{}", dir, ::time(nullptr));
  for (int n = 2; ::mkdir(aside.c_str(), 0700) != 0; ++n) {
    if (errno != EEXIST) return os::fail_errno("cannot create " + aside, errno);
    aside = fmt::format("{}/cleared-{}-{}", dir, ::time(nullptr), n);
  }
  for (const char* name : {"journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "journal.mark",
                           "history.sqlite", "history.sqlite-wal", "history.sqlite-shm"}) {
    const std::string from = dir + "/" + name;
    if (::access(from.c_str(), F_OK) == 0 && ::rename(from.c_str(), (aside + "/" + name).c_str()) != 0)
      return os::fail_errno("cannot move " + from, errno);
  }
  return aside;
}

}  // namespace spur::main
