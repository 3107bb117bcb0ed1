// SPDX-License-Identifier: Apache-2.0
// A View that is edited as if something were different: a job not there, a node back, a wish changed. Copies share
// all that was not touched, so that a question costs what it changes. For explain, and for whoever asks "and if
// not?".
#pragma once

#include <memory>

#include "model/view.h"

namespace spur::sched {

class WhatIf {
 public:
  explicit WhatIf(const model::View& view) : view_(view) {}

  const model::View& view() const { return view_; }

  // As if the job had never been submitted: out of the queue, or off its nodes.
  void remove(JobId job);
  // As if it asked for this. `limit` is the time limit in force.
  void ask(JobId job, std::shared_ptr<const model::JobSpec> spec, TimeLimit limit);
  // Nothing of its own keeps it: no hold, no dependency, no begin time.
  void free_of_own_reasons(JobId job, Time now);
  void without_hold(JobId job);
  void without_dependencies(JobId job, Time now);
  void without_begin_time(JobId job, Time now);
  // Up, registered and not drained.
  void make_usable(NodeIndex node);
  // Up and without limits of time and size.
  void open_partition(const std::string& name);
  void without_partition_limits(const std::string& name);
  // It is gone; or has begun, if the job asks for it.
  void without_reservation(JobId job, const std::string& name, Time now);

 private:
  void put(model::Job job);
  model::PartitionConfig* edit_partition(const std::string& name);

  model::View view_;
};

}  // namespace spur::sched
