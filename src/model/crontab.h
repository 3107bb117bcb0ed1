// SPDX-License-Identifier: Apache-2.0
// A user's table of scrontab: its text, and for each of its entries the job that runs it. The job keeps its number: when
// a run is over it goes back to the queue and waits there for its next time. An entry goes when its job is cancelled (its
// lines are disabled then) or the table is replaced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"

namespace spur::model {

// Of Job::flags, beside those of job_state.h.
enum CronFlag : std::uint32_t {
  kCronJob = 1u << 17,    // of a table
  kCronWaits = 1u << 18,  // its last run is over and its next time is not known yet: the leader sets it
};

struct CronEntry {
  std::string schedule;                         // as written: "*/5 * * * *", "@daily" (text/cron.h)
  std::uint32_t first_line = 0, last_line = 0;  // from 1: its options and itself
  JobId job;
  friend bool operator==(const CronEntry&, const CronEntry&) = default;
};

struct Crontab {
  Uid user;
  std::string text;
  std::vector<CronEntry> entries;
  friend bool operator==(const Crontab&, const Crontab&) = default;
};

}  // namespace spur::model
