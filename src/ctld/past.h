// SPDX-License-Identifier: Apache-2.0
// The cluster as it was: from the newest image before a moment, the journal's entries are applied as far as they had
// been shown by then. The state is a pure function of them, so the picture is the one of then, to the byte. What was
// never journaled (expected starts) is not in it. One thread calls it.
#pragma once

#include <memory>
#include <vector>

#include "ctld/controller.h"
#include "io/history_store.h"

namespace spur::ctld {

class Past {
 public:
  explicit Past(io::HistoryStore& store) : store_(store) {}

  // NotFound where there is no history, with from when on, or between which moments.
  Result<std::shared_ptr<const Picture>> at(Time then);
  // Gives back the memory; the next question costs a little more.
  void forget() { walks_.clear(); }

 private:
  // A state on its way through the entries. Whoever asks for a later moment goes on from here.
  struct Walk {
    std::unique_ptr<state::Cluster> cluster;
    Time shown;  // the state that it has
    std::uint64_t used = 0;
  };
  Result<Walk*> walk_towards(Time then);
  Status go_on(Walk& walk, Time then);
  Status gap_behind(const Walk& walk);

  io::HistoryStore& store_;
  std::vector<Walk> walks_;  // a few: each is a whole state
  std::uint64_t uses_ = 0;
};

}  // namespace spur::ctld
