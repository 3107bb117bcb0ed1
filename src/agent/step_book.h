// SPDX-License-Identifier: Apache-2.0
// The steps of the jobs whose first node this is: what each holds (step_ledger.h), their numbers, and who waits for
// room. On the agent's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "agent/step_ledger.h"
#include "model/agent_message.h"

namespace spur::agent {

struct StepBegin {
  std::uint32_t step = 0;
  std::vector<StepShare> shares;
};

class StepBook {
  struct Job;
  struct Entry;

 public:
  struct Events {
    std::function<void(StepBegin)> granted;  // once, in enter() or later
    std::function<void()> waits;             // in enter(): there is no room now
    std::function<void(Error)> gone;         // instead of `granted`, after `waits`: the job ends
  };
  // A step's place in the book; leaving it gives back what it holds, and lets those in that wait for it.
  class Place {
   public:
    Place(StepBook& book, std::shared_ptr<Job> job, std::list<Entry>::iterator entry);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    StepBook& book_;
    std::shared_ptr<Job> job_;
    std::list<Entry>::iterator entry_;
  };

  // The site's bounds; 0: none.
  std::uint32_t most_tasks_per_node = 0, most_steps = 0;

  // An error: what is asked for can never be.
  Result<std::unique_ptr<Place>> enter(const model::ControllerLaunch& launch, StepAsk ask, Events events);
  // A step that was there before this book: it holds `shares`, or nothing if it overlaps.
  std::unique_ptr<Place> restore(const model::ControllerLaunch& launch, std::uint32_t step,
                                 std::optional<std::vector<StepShare>> shares);
  // Numbers below this were given out before this book.
  void count_from(const model::ControllerLaunch& launch, std::uint32_t step);
  // The run is being ended: nobody waits any longer.
  void ends(const model::JobRun& run);
  void forget(const model::JobRun& run);  // it is over
  void close();                           // nobody gets in any more

 private:
  struct Entry {
    StepAsk ask;
    Events events;
    bool holds = false;
    std::uint32_t step = 0;
  };
  struct Job {
    explicit Job(const model::ControllerLaunch& launch) : run(launch.run), ledger(launch.parts) {}
    model::JobRun run;
    StepLedger ledger;
    std::uint32_t next_step = 0;
    std::list<Entry> entries;  // in the order they came
    bool letting_in = false, again = false, over = false;
  };
  std::shared_ptr<Job>& job_of(const model::ControllerLaunch& launch);
  void let_in(const std::shared_ptr<Job>& job);

  std::map<model::JobRun, std::shared_ptr<Job>> jobs_;
};

}  // namespace spur::agent
