// SPDX-License-Identifier: Apache-2.0
// When the scheduler is asked, and for what. Whatever happens is answered at once by a quick call; a full cycle,
// which makes all plans anew, follows soon, but may use a tenth of a core only. Where a full cycle is cheap anyway,
// it is the answer.
#pragma once

#include <algorithm>
#include <optional>

#include "base/time.h"
#include "sched/plan.h"

namespace spur::ctld {

enum class PlanKind : std::uint8_t { Quick, Full };

class PlanPace {
 public:
  static constexpr Duration kCheap = milliseconds(2), kRest = milliseconds(50);

  // Something happened that a plan should take into account.
  void want() { wanted_ = full_wanted_ = true; }
  bool idle() const { return !full_wanted_; }

  // What to ask for now, if anything. An answer must come before the next question.
  std::optional<PlanKind> ask(Duration now) {
    if (!full_wanted_ || now < not_before_) return std::nullopt;
    const bool full = now >= full_not_before_ && (!wanted_ || full_cost_ <= kCheap);
    if (!full && !wanted_) return std::nullopt;
    wanted_ = false;
    full_wanted_ = !full;
    asked_ = now;
    return full ? PlanKind::Full : PlanKind::Quick;
  }
  void answered(const sched::Plan& plan, Duration now) {
    const Duration cost = now - asked_;
    // Planning may use half of a core, not all of it: after a long call, a pause of the same length lets requests
    // through.
    not_before_ = now + cost;
    if (plan.full) {
      full_cost_ = cost;
      full_not_before_ = plan.more ? now : now + std::max(kRest, 10 * cost);
      full_wanted_ = wanted_;
    }
    if (plan.more) want();
  }
  // When ask() may have something; Duration::max() if nothing is wanted.
  Duration next() const {
    if (!full_wanted_) return Duration::max();
    return wanted_ ? not_before_ : std::max(not_before_, full_not_before_);
  }

 private:
  bool wanted_ = false;       // something happened since the last question
  bool full_wanted_ = false;  // ... since the last one for a full cycle
  Duration asked_{0}, not_before_{0}, full_not_before_{0}, full_cost_{0};
};

}  // namespace spur::ctld
