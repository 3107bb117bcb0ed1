// SPDX-License-Identifier: Apache-2.0
#include "sched/outlook.h"

#include <algorithm>

#include "sched/forward.h"

namespace spur::sched {

Outlook::Outlook(const model::View& view, const Params& params, JobId job, Time now, const OutlookLimits& limits)
    : view_(view),
      params_(settled(params, *view.config)),
      job_(job),
      now_(now),
      most_plans_(limits.most_plans),
      work_left_(limits.most_work) {
  params_.max_starts = 0xffffffffu;
  params_.forecasts = 0;
}

Seen Outlook::look(const Edit& edit, Time until) {
  if (!may_look()) return {};
  WhatIf world(view_);
  if (edit) edit(world);
  Forward forward(world.view(), params_, now_);
  Seen seen;
  const auto started = [&](const ForwardRun& run, JobId of) {
    if (of != job_) return true;
    seen = {Seen::How::Starts, run.job->started, forward.foreseeable()};
    return false;
  };
  bool goes_on = true;
  while (goes_on && forward.plans() < most_plans_ && forward.work() < work_left_) {
    const Time next = forward.next();
    const bool too_late = is_set(next) && is_set(until) && next >= until;
    if (!is_set(next) || too_late || !forward.view().pending.contains(job_.value)) {
      seen = {too_late ? Seen::How::NotBefore : Seen::How::Never, {}, forward.foreseeable()};
      break;
    }
    goes_on = forward.play(started);
  }
  work_left_ -= std::min(work_left_, forward.work());
  return seen;
}

}  // namespace spur::sched
