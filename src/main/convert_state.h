// SPDX-License-Identifier: Apache-2.0
// spurctld --convert: moves the state of a cluster between the journal of a single controller (SQLite) and the one
// that several share (etcd). The controller of this host is stopped meanwhile; jobs and agents go on. Ids, keys and
// epochs are kept. What was there before is put aside, never deleted; an interrupted conversion is begun again.
#pragma once

#include <functional>
#include <string>

#include "config/load.h"
#include "io/clock.h"

namespace spur::main {

struct Conversion {
  const config::Loaded& loaded;
  std::string name;  // which controller this is; empty: that of this host
  io::Clock& clock;
  std::function<void(const std::string&)> log;
  std::function<bool()> give_up;
};

// `to`: "etcd" or "sqlite".
Status convert_state(const Conversion& conversion, const std::string& to);

}  // namespace spur::main
