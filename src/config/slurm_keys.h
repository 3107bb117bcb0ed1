// SPDX-License-Identifier: Apache-2.0
// Names of real Slurm keys (22.05 to 25.05 and older ones) that have no setter in keys.cc, each with what becomes of
// it here: it does not matter, because things are done another way, or something is lost until its feature comes. They
// are accepted with one warning each, so that a site can point Spur at the files it has; a name that is neither here
// nor in keys.cc is an error, as in Slurm. A key that gets a meaning moves to the table in keys.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/keys.h"

namespace spur::config {

enum class Fate : std::uint8_t {
  InForce,   // does what it says
  Needless,  // does not matter here; the reason says why
  Later,     // not in force yet; the reason says what is lost
};

struct SlurmName {
  Scope scope;
  std::string_view name;
  Fate fate;
  std::string_view reason;
  // A value that asks for just what Spur does anyway, so that there is nothing to warn of; alternatives separated by
  // '|'.
  std::string_view harmless = {};
};

std::span<const SlurmName> slurm_names();
// In any case; null if it is no Slurm key at all, or one of keys.cc.
const SlurmName* find_slurm_name(Scope scope, std::string_view name);

// One word of a key that takes several: SchedulerParameters=bf_interval=60,defer.
struct SlurmOption {
  std::string_view key;   // of slurm.conf
  std::string_view word;  // up to its '='
  Fate fate;
  std::string_view reason;
};

std::span<const SlurmOption> slurm_options();
// Null if the word is none that Slurm knows for this key.
const SlurmOption* find_slurm_option(std::string_view key, std::string_view word);
bool has_slurm_options(std::string_view key);

// What is to be said of those words of a list that are not in force, each with its reason; empty if all are. Words that
// Slurm does not know either are named as unknown. Several lines where one would be too long.
std::vector<std::string> remarks_on_options(std::string_view key, std::string_view list);

}  // namespace spur::config
