// SPDX-License-Identifier: Apache-2.0
// squeue --watch: the list of jobs, kept up to date by the controller instead of being asked for again and again. On
// a terminal the screen always shows how things are; elsewhere each change is a line:
//   2026-11-15T20:23:11|listed|LINE     a job that was there when the watching began
//   2026-11-15T20:23:11|changed|LINE    one that is new, or whose line is another now
//   2026-11-15T20:23:11|gone|JOBID      one that is no longer among those that were asked for
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/context.h"

namespace spur::cli {

struct QueueLine {
  JobId job;
  std::string part;  // of a job with several lines: which (-r, -P)
  std::string text;
};

// What of a list is shown, and how.
struct QueueView {
  wire::JobFilter filter;
  bool any_state = false;  // no state was asked for: where changes are lines, ends of jobs are among them
  std::string header;      // of the screen; empty: none
  std::function<std::vector<QueueLine>(const wire::JobTable&)> lines;
};

// Until it is interrupted, or cannot begin. Returns the exit status.
int watch_queue(Context& context, Controller& controller, const QueueView& view);

}  // namespace spur::cli
