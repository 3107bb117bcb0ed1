// SPDX-License-Identifier: Apache-2.0
// The one table of configuration keys. A row says what a key is called in spur.conf and in slurm.conf, what values it
// takes, where the value lands, whether it is in force yet, and one sentence for docs/configuration.md. Both front
// ends are driven by it: a key that has no row does not exist.
//
// Real Slurm keys without a meaning here are only names; they are in slurm_keys.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/draft.h"
#include "config/value.h"

namespace spur::config {

// Where a key stands: at the top (dotted by its [section]), or in a block of its own.
enum class Scope : std::uint8_t {
  Top,
  Partition,  // [[partitions]], PartitionName=
  Node,       // [[nodes]], NodeName=
  Device,     // [[devices.gres]], a line of gres.conf
  Cgroup,     // [cgroup] at the top of spur.conf, a line of cgroup.conf
  Switch,     // [[topology.switches]], a line of topology.conf
  NodeSet,    // [[node_sets]], NodeSet=
  Down,       // [[down_nodes]], DownNodes=
  Dbd,        // slurmdbd.conf
  Member,     // [[federation.clusters]]
};

enum class Force : std::uint8_t {
  Now,
  Later,  // accepted, checked and kept; each use gives one warning
};

using Setter = Status (*)(Target&, const Value&);

struct Key {
  Scope scope;
  std::string_view spur;   // empty: only in slurm.conf
  std::string_view slurm;  // empty: only in spur.conf
  Kind kind;
  Setter set;  // null: the text is kept in DaemonConfig::kept
  Force force;
  std::string_view doc;
  // Of a Later key: a value that asks for just what happens anyway, so that there is nothing to warn of.
  std::string_view harmless = {};
  bool repeats = false;  // several lines add up, instead of the last one counting
  bool shown = false;    // its text is also kept under Slurm's name: for `scontrol show config`, and for whoever asks there
};

std::span<const Key> key_table();

// Null if there is none. Slurm's names are found in any case.
const Key* find_spur_key(Scope scope, std::string_view name);
const Key* find_slurm_key(Scope scope, std::string_view name);

// The path of the array of tables that holds this scope in spur.conf: "partitions", "devices.gres"; empty for Top.
std::string_view array_of(Scope scope);
// The scope of the array of tables at `path`, or null.
const Scope* scope_of_array(std::string_view path);

// True if some key of the top scope, or some array, starts with "section.".
bool is_section(std::string_view section);
// The known name that is closest to `name`; empty if none is close.
std::string nearest_spur_key(Scope scope, std::string_view name);

// Puts the value where the row says, or keeps it and says so once per key and file.
Status take(const Key& key, std::string_view shown_name, Target& target, const Value& value, Position at);

// One Key=Value of Slurm's files, by its row or by being a name that Slurm knows. Anything else is refused.
Status take_slurm_pair(Scope scope, std::string_view key, std::string_view value, Target& target, Position at);

// The value as Slurm writes it.
std::string slurm_text(const Kind& kind, const Value& value);

}  // namespace spur::config
