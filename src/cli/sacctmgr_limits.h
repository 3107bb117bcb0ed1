// SPDX-License-Identifier: Apache-2.0
// How the limits of associations and QOS are typed: a number, minutes, or amounts of resources; -1 takes one away.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cli/sacctmgr.h"

namespace spur::cli {

enum class LimitKind : unsigned char { Number, Minutes, Tres };

// One value as typed, for a limit called `name` (in complaints).
struct LimitValue {
  std::optional<std::uint32_t> number;  // not set: none
  model::TresCounts tres;
  std::vector<std::string> tres_gone;

  void apply(std::optional<std::uint32_t>* to) const { *to = number; }
  void apply(model::TresCounts* to) const;
};
// `one`: the value is an amount of this resource alone (GrpCPUs=). Nothing: it is bad, and was complained about.
// `fatal` says whether the command ends there.
std::optional<LimitValue> parse_limit(Sacctmgr& s, const Word& word, LimitKind kind, std::string_view name,
                                      std::string_view one, Parsed* how);
// "qos=+a,+b" is "qos+=a,b".
Word with_sign_in_front(Word word);
std::optional<std::vector<std::string>> parse_qos_list(Sacctmgr& s, std::string_view value);

}  // namespace spur::cli
