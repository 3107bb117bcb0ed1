// SPDX-License-Identifier: Apache-2.0
// The two text protocols that MPI libraries speak over PMI_FD. PMI-1 has lines of "key=value" parted by blanks; PMI-2
// has bodies of "key=value;" behind a length of six characters, and begins with one line of PMI-1 that says so.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace spur::stepd {

inline constexpr std::size_t kMostPmiCommand = 64 * 1024;

// Its items in order, the first one being cmd (or mcmd).
struct PmiCommand {
  std::vector<std::pair<std::string, std::string>> items;

  std::string_view name() const { return items.empty() ? std::string_view{} : items.front().second; }
  // Null if it is not there.
  const std::string* find(std::string_view key) const;
  std::string_view get(std::string_view key) const;  // empty if it is not there
};

// Cuts what a task writes into commands. Starts with PMI-1; whoever reads an init of version 2 switches it over.
class PmiReader {
 public:
  void add(std::string_view bytes) { pending_.append(bytes); }
  void use_version_2() { version_2_ = true; }
  bool version_2() const { return version_2_; }
  // Nothing until a whole command is there. An error means that this is no such protocol; then all is over.
  Result<std::optional<PmiCommand>> next();

 private:
  Result<std::optional<PmiCommand>> next_line();
  Result<std::optional<PmiCommand>> next_body();

  std::string pending_;
  bool version_2_ = false;
};

// One command as it goes over the wire. Values of PMI-1 must not contain blanks or ends of lines.
std::string write_pmi1(const PmiCommand& command);
std::string write_pmi2(const PmiCommand& command);

}  // namespace spur::stepd
