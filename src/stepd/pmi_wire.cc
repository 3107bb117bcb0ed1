// SPDX-License-Identifier: Apache-2.0
#include "stepd/pmi_wire.h"

#include <fmt/format.h>

#include <algorithm>

namespace spur::stepd {
namespace {

constexpr std::size_t kLengthOfLength = 6;

std::unexpected<Error> no_command() {
  return fail(ErrorCode::InvalidArgument, "not a PMI command");
}

// "key=value" items parted by `mark`. A doubled mark in a value of PMI-2 stands for itself.
Result<PmiCommand> parse_items(std::string_view text, char mark, bool doubled) {
  PmiCommand command;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == mark) {  // between items
      ++at;
      continue;
    }
    const std::size_t equals = text.find('=', at);
    if (equals == std::string_view::npos) return no_command();
    std::string key(text.substr(at, equals - at));
    if (key.find(mark) != std::string::npos) return no_command();
    std::string value;
    for (at = equals + 1; at < text.size(); ++at) {
      if (text[at] == mark) {
        if (!doubled || at + 1 >= text.size() || text[at + 1] != mark) break;
        ++at;
      }
      value += text[at];
    }
    command.items.emplace_back(std::move(key), std::move(value));
  }
  if (command.items.empty() || (command.items[0].first != "cmd" && command.items[0].first != "mcmd"))
    return no_command();
  return command;
}

}  // namespace

const std::string* PmiCommand::find(std::string_view key) const {
  const auto at = std::ranges::find(items, key, [](const auto& item) -> std::string_view { return item.first; });
  return at == items.end() ? nullptr : &at->second;
}

std::string_view PmiCommand::get(std::string_view key) const {
  const std::string* value = find(key);
  return value ? std::string_view(*value) : std::string_view{};
}

Result<std::optional<PmiCommand>> PmiReader::next() {
  return version_2_ ? next_body() : next_line();
}

Result<std::optional<PmiCommand>> PmiReader::next_line() {
  const std::size_t end = pending_.find('\n');
  if (end > kMostPmiCommand && (end != std::string::npos || pending_.size() > kMostPmiCommand)) return no_command();
  if (end == std::string::npos) return std::optional<PmiCommand>{};
  auto command = parse_items(std::string_view(pending_).substr(0, end), ' ', false);
  pending_.erase(0, end + 1);
  if (!command) return std::unexpected(command.error());
  return std::optional(*std::move(command));
}

Result<std::optional<PmiCommand>> PmiReader::next_body() {
  if (pending_.size() < kLengthOfLength) return std::optional<PmiCommand>{};
  std::size_t length = 0;
  bool digits = false;
  for (const char c : std::string_view(pending_).substr(0, kLengthOfLength)) {
    if (c == ' ' && !digits) continue;
    if (c == ' ') break;  // some pad behind
    if (c < '0' || c > '9') return no_command();
    digits = true;
    length = length * 10 + static_cast<std::size_t>(c - '0');
  }
  if (!digits || length > kMostPmiCommand) return no_command();
  if (pending_.size() < kLengthOfLength + length) return std::optional<PmiCommand>{};
  auto command = parse_items(std::string_view(pending_).substr(kLengthOfLength, length), ';', true);
  pending_.erase(0, kLengthOfLength + length);
  if (!command) return std::unexpected(command.error());
  return std::optional(*std::move(command));
}

std::string write_pmi1(const PmiCommand& command) {
  std::string line;
  for (const auto& [key, value] : command.items) line += (line.empty() ? "" : " ") + key + '=' + value;
  return line + '\n';
}

std::string write_pmi2(const PmiCommand& command) {
  std::string body;
  for (const auto& [key, value] : command.items) {
    body += key + '=';
    for (const char c : value) body.append(c == ';' ? 2 : 1, c);
    body += ';';
  }
  return fmt::format("{:6}", body.size()) + body;
}

}  // namespace spur::stepd
