// SPDX-License-Identifier: Apache-2.0
// spur controllers list|add|remove|convert: the set of controllers of a running cluster. To convert is spurctld's
// work, a program beside ours, with the controller of this host stopped.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <system_error>

#include "cli/commands.h"
#include "config/load.h"
#include "text/words.h"

namespace spur::cli {
namespace {

constexpr std::string_view kUsage =
    "Usage: spur controllers list\n"
    "       spur controllers add NAME[(ADDRESS)]\n"
    "       spur controllers remove NAME\n"
    "       spur controllers convert etcd|sqlite [-f FILE] [-N NAME] [--state-dir DIR]\n";

std::string spurctld_beside() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  const std::string own(path, size > 0 ? static_cast<std::size_t>(size) : 0);
  const auto slash = own.rfind('/');
  return slash == std::string::npos ? "spurctld" : own.substr(0, slash + 1) + "spurctld";
}

int convert(Context& context) {
  const std::string program = spurctld_beside();
  std::vector<std::string> words{program, "--foreground", "--convert", context.arguments[1]};
  words.insert(words.end(), context.arguments.begin() + 2, context.arguments.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  context.out.flush();
  ::execve(program.c_str(), argv.data(), const_cast<char* const*>(context.environment));
  context.error("cannot run {}: {}", program, std::system_category().message(errno));
  return 1;
}

// How each stands, as it says itself.
int list(Context& context, Controller& controller) {
  const auto known = controller.controllers();
  if (!known) return context.error("{}", words(known.error())), 1;
  std::vector<wire::PingReply> standing;
  for (std::size_t i = 0; i < controller.controller_count(); ++i)
    if (auto reply = controller.ping(i)) standing.push_back(*std::move(reply));
  context.out.print("{:<16} {:<24} {:<9} {:>10} {:>8}\n", "NAME", "ADDRESS", "ROLE", "ENTRY", "SILENCE");
  for (const auto& member : known->members) {
    const auto self = std::ranges::find(standing, member.name, &wire::PingReply::host);
    const bool up = self != standing.end();
    const char* role = !up ? (member.learner ? "learner" : "unknown") : self->is_leader ? "leader" : "follower";
    context.out.print("{:<16} {:<24} {:<9} {:>10} {:>8}\n", member.name,
                      member.address.empty() ? "-" : member.address, role, up ? std::to_string(self->entry) : "-",
                      up && !self->is_leader ? fmt::format("{:.1f}s", static_cast<double>(self->silence.count()) / 1e6)
                                             : "-");
  }
  return 0;
}

// "c4(10.0.0.4)"
bool split_place(const std::string& place, std::string* name, std::string* address) {
  const auto open = place.find('(');
  *name = place.substr(0, open);
  if (open == std::string::npos) return true;
  if (place.back() != ')') return false;
  *address = place.substr(open + 1, place.size() - open - 2);
  return !address->empty();
}

}  // namespace

int cmd_controllers(Context& context) {
  const auto& given = context.arguments;
  const std::string verb = given.empty() ? "" : given[0];
  if (verb == "--help" || verb == "-h") return context.out.write(std::string(kUsage)), 0;
  if (verb == "convert" && given.size() >= 2) return convert(context);
  std::string name, address;
  const bool good = (verb == "list" && given.size() == 1) ||
                    ((verb == "add" || verb == "remove") && given.size() == 2 && !given[1].starts_with('-') &&
                     split_place(given[1], &name, &address) && !name.empty() && (verb == "add" || address.empty()));
  if (!good) return context.err.write(std::string(kUsage)), 1;
  const auto controller = context.controller();
  if (!controller) return context.error("{}", words(controller.error())), 1;
  if (verb == "list") return list(context, **controller);
  const Status done =
      verb == "add" ? (*controller)->add_controller(name, address) : (*controller)->remove_controller(name);
  if (!done) {
    context.error("{}", done.error().code == ErrorCode::PermissionDenied || done.error().message.empty()
                            ? words(done.error())
                            : done.error().message);
    return 1;
  }
  if (verb == "add")
    context.out.print(
        "{} is a controller now. Name it in controller.hosts of all hosts, copy controllers.secret to it, start it.\n",
        name);
  else
    context.out.print("{} is no controller any more. Take it out of controller.hosts of all hosts.\n", name);
  return 0;
}

}  // namespace spur::cli
