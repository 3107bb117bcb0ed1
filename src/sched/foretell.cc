// SPDX-License-Identifier: Apache-2.0
// After a full walk: when those at the front of the queue who were promised nothing can expect to start, if all goes
// by the limits and in the order of the queue. Holds are made for them as for the promised ones, and are forgotten
// with the next call: nobody is kept from anything by them.
#include <algorithm>

#include "sched/walk.h"

namespace spur::sched {

void Walk::foretell() {
  if (mode_ != Mode::Full || s_.planned.size() >= s_.params.forecasts) return;
  behind_ = false;
  last_.reset();
  heap_.clear();
  for (std::uint32_t l = 0; l < s_.lanes.size(); ++l) {
    cursors_[l].forget();
    if (!s_.lanes[l] || s_.lanes[l]->lane.reason(s_.profile) != model::Reason::None) continue;
    if (!limited_.empty() && limited_[l] != model::Reason::None) continue;
    s_.lanes[l]->lane.begin();
    join(l, nullptr);
  }
  push_groups();
  while (s_.planned.size() + foretold_.size() < s_.params.forecasts) {
    const auto item = pop();
    if (!item) break;
    if (is_group(*item)) {
      foretell_group(*item);
      continue;
    }
    foretell(*item);
    // Holds are only added: who finds no time now will find none.
    const auto& lanes = s_.lanes_of_class[s_.lanes[item->lane]->of_class];
    if (std::ranges::all_of(lanes, [&](std::uint32_t l) { return s_.lanes[l]->lane.has_no_time(s_.profile); }))
      continue;
    Cursor& cursor = cursors_[item->lane];
    ++cursor.at[cursor.group];
    push_next(item->lane);
  }
}

void Walk::foretell(const Item& item) {
  const Backlog::Slot& slot = s_.backlog.slot(item.slot);
  if (s_.planned.contains(slot.job->id) || foretold_.contains(item.slot) || at_cap(*slot.job)) return;
  std::optional<Hold> best;
  for (const std::uint32_t l : s_.lanes_of_class[slot.job_class]) {
    Lane& lane = s_.lanes[l]->lane;
    if (lane.reason(s_.profile) != model::Reason::None) continue;
    if (!limited_.empty() && limited_[l] != model::Reason::None) continue;
    auto hold = lane.fit_later(s_.profile);
    if (hold && (!best || hold->start < best->start)) best = std::move(hold);
  }
  if (!best) return;
  s_.foretold.push_back(*std::move(best));
  foretold_[item.slot] = &s_.foretold.back();
  s_.profile.add(s_.foretold.back());
}

}  // namespace spur::sched
