// SPDX-License-Identifier: Apache-2.0
#include "cli/context.h"

#include <cstring>

#include "base/check.h"
#include "text/printable.h"

namespace spur::cli {

Result<Controller*> Context::controller() {
  if (!controller_) {
    SPUR_CHECK(connect);
    auto made = connect();
    if (!made) return std::unexpected(std::move(made).error());
    controller_ = *std::move(made);
  }
  return controller_.get();
}

config::CommandDefaults Context::defaults() {
  if (!controller_ && !connect) return {};
  const auto known = controller();
  return known ? (*known)->defaults() : config::CommandDefaults{};
}

std::optional<std::string_view> Context::env(std::string_view name) const {
  if (environment == nullptr || name.empty()) return std::nullopt;
  // Asked for a hundred names in every start: most variables are told apart by their first letter.
  for (const char* const* entry = environment; *entry != nullptr; ++entry)
    if (**entry == name[0] && std::strncmp(*entry, name.data(), name.size()) == 0 && (*entry)[name.size()] == '=')
      return *entry + name.size() + 1;
  return std::nullopt;
}

void Context::message(std::string_view mark, const std::string& sentence) {
  out.flush();  // so that both appear in the order in which they were written
  std::string line;
  if (!mark.empty()) line = program;
  line.append(mark).append(text::printable(sentence)).push_back('\n');
  err.write(line);
}

std::string words(const Error& error) {
  using enum ErrorCode;
  // Where Slurm's sentence would say less than nothing ("Invalid argument"), the error's own is shown.
  const bool own = error.code == Internal || error.code == InvalidArgument || error.code == NotFound ||
                   error.code == Corrupt || error.code == ConfigInvalid || error.code == AlreadyExists ||
                   error.code == NotSupported;
  if (own && !error.message.empty()) return error.message;
  // Of several controllers, and of their etcd: what is wrong, and with what.
  const bool wants_help = (error.code == Unreachable && error.message.starts_with("no controller leads")) ||
                          (error.code == OutOfSpace &&
                           (error.message.starts_with("etcd") || error.message.starts_with("no job is taken")));
  if (wants_help)
    return fmt::format("{}: {}", slurm_message(error.code), error.message);
  return std::string(slurm_message(error.code));
}

}  // namespace spur::cli
