// SPDX-License-Identifier: Apache-2.0
// What a watcher knows of the jobs that he watches: the newest record of each, put together from what he was told.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "wire/controller_client.h"

namespace spur::cli {

class WatchedJobs {
 public:
  // What is new or may have changed with this message, and what is gone.
  struct Changed {
    std::vector<JobId> jobs;
    std::vector<model::JobPtr> gone;  // as they were last
  };
  Changed take(const wire::JobChanges& changes);

  bool current() const { return current_; }
  const model::Job* find(JobId id) const;
  // All of them, as a list that was asked for; in ascending order of ids.
  wire::JobTable table(const std::set<std::uint32_t>* only = nullptr) const;

 private:
  struct Known {
    model::JobPtr job;
    Time expected_start, preemptable;
    std::string planned_nodes;
    bool confirmed = true;  // since the last resync
  };
  std::map<std::uint32_t, Known> jobs_;
  wire::JobTable about_;  // all but the jobs: names and stamps
  bool current_ = false, resyncing_ = false;
};

}  // namespace spur::cli
