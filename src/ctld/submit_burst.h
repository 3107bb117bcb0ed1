// SPDX-License-Identifier: Apache-2.0
// Many batch jobs submitted in a row are all answered before the first of them is started, where the node that starts
// them shares its CPUs with the commands that submit: a shell that submits in a loop is then through in half the time.
// Nobody waits for longer than a limit (batch_sched_delay), and with submissions that never end only for that long in
// all: the time that may be taken grows again only while there is no burst.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/time.h"

namespace spur::ctld {

class SubmitBurst {
 public:
  static constexpr std::size_t kMany = 16;                                             // submissions ...
  static constexpr Duration kWithin = milliseconds(100), kOverAfter = milliseconds(50);  // make a burst; without one

  // A batch job was submitted. `most`: for how long a burst may delay starts.
  void submitted(Duration now, Duration most) {
    if (!any_) {
      left_ = most;
    } else if (now - last_ > kOverAfter) {  // there was no burst for a while
      end();
      left_ = std::min(most, left_ + (now - last_));
    }
    Duration& oldest = times_[next_++ % kMany];
    const bool many = next_ > kMany && now - oldest <= kWithin;
    oldest = last_ = now;
    any_ = true;
    if (!many || holding_) return;
    holding_ = true;
    until_ = now + left_;
    left_ = Duration{0};
  }
  // Somebody waits for a start: all that is there is looked at now, and a new burst needs as many submissions again.
  void cut(Duration now) {
    last_ = std::min(last_, now - kOverAfter);
    end();
    next_ = 0;
  }
  // Starts wait until then; in the past if they do not wait.
  Duration hold_until() const { return holding_ ? std::min(until_, last_ + kOverAfter) : Duration{0}; }

 private:
  void end() {
    if (holding_) left_ = std::max(Duration{0}, until_ - (last_ + kOverAfter));
    holding_ = false;
  }

  std::array<Duration, kMany> times_{};  // of the last submissions, in a ring
  std::size_t next_ = 0;
  Duration last_{0}, until_{0}, left_{0};
  bool any_ = false, holding_ = false;
};

}  // namespace spur::ctld
