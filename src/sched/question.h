// SPDX-License-Identifier: Apache-2.0
// One job, and the planner asked about it again and again on edited copies of a View. Where the order of the queue is
// all that counts, jobs that come after it are left out once and for all: they have no say in when it starts. Where
// smaller ones pass it they stay. Engines are kept from question to question: they take in what these differ in.
#pragma once

#include <functional>
#include <vector>

#include "sched/engine.h"
#include "sched/plan.h"
#include "sched/what_if.h"

namespace spur::sched {

struct Answer {
  bool starts_now = false;
  Time start;             // now, or planned; not set: never, or too far back in the queue to be planned
  bool promised = false;  // nobody may delay it
  model::Reason reason = model::Reason::None;

  bool sooner_than(const Answer& other) const;
};

class Question {
 public:
  // `job` must be pending in `view` and, like it, outlive the question.
  Question(const model::View& view, const Params& params, const model::Job& job, Time now, std::uint32_t most);

  const model::Job& job() const { return job_; }
  Time now() const { return now_; }
  const model::View& base() const { return base_; }
  const std::vector<JobId>& jobs_ahead() const { return ahead_; }  // who may go before; front of the queue first
  std::vector<const model::Partition*> partitions() const;         // of the job

  bool may_ask() const { return asked_ < most_; }
  std::uint32_t asked() const { return asked_; }

  using Edit = std::function<void(WhatIf&)>;
  // Whether it starts, and when it can be expected to; the latter is dear, and not known far back in the queue.
  Answer answer(const Edit& edit = {});
  enum class Queue : std::uint8_t { AsItIs, Gone };
  Answer answer_now(const Edit& edit, Queue queue = Queue::AsItIs);

 private:
  std::size_t sort_out_others(const model::View& view, std::vector<model::JobPtr>& beside);
  Answer ask(Engine& engine, const model::View& base, const Edit& edit);

  const model::Job& job_;
  Time now_;
  Params params_;
  std::uint32_t most_, asked_ = 0;
  model::View base_, alone_;  // the latter without those who may go before
  std::vector<JobId> ahead_;
  Engine expects_, decides_, decides_alone_;
};

}  // namespace spur::sched
