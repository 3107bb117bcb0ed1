// SPDX-License-Identifier: Apache-2.0
// spur image import|list|remove|export: container images. The work is spurcontainer's, a program beside ours:
// unpacking needs libraries that no other command should have to load. It is told which store is the site's.
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <system_error>

#include "cli/commands.h"
#include "config/load.h"

namespace spur::cli {
namespace {

std::string sibling(const char* name) {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  const std::string own(path, size > 0 ? static_cast<std::size_t>(size) : 0);
  const auto slash = own.rfind('/');
  return slash == std::string::npos ? name : own.substr(0, slash + 1) + name;
}

}  // namespace

int cmd_image(Context& context) {
  if (context.options_asked != nullptr) return 0;  // they are spurcontainer's
  const auto loaded = config::load({}, config::Want::DaemonOnly);
  const std::string site = config::image_dir(loaded ? loaded->daemon : config::DaemonConfig{});
  const std::string program = sibling("spurcontainer");
  std::vector<std::string> words{program, "image", "--site=" + site};
  words.insert(words.end(), context.arguments.begin(), context.arguments.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  context.out.flush();
  ::execve(program.c_str(), argv.data(), const_cast<char* const*>(context.environment));
  context.error("cannot run {}: {}", program, std::system_category().message(errno));
  return 1;
}

}  // namespace spur::cli
