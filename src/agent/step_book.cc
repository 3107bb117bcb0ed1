// SPDX-License-Identifier: Apache-2.0
#include "agent/step_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace spur::agent {

StepBook::Place::Place(StepBook& book, std::shared_ptr<Job> job, std::list<Entry>::iterator entry)
    : book_(book), job_(std::move(job)), entry_(entry) {}

StepBook::Place::~Place() {
  const bool held = entry_->holds;
  if (held) job_->ledger.give_back(entry_->step);
  job_->entries.erase(entry_);
  if (held) book_.let_in(job_);
}

std::shared_ptr<StepBook::Job>& StepBook::job_of(const model::ControllerLaunch& launch) {
  auto& job = jobs_[launch.run];
  if (!job) job = std::make_shared<Job>(launch);
  return job;
}

std::unique_ptr<StepBook::Place> StepBook::restore(const model::ControllerLaunch& launch, std::uint32_t step,
                                                   std::optional<std::vector<StepShare>> shares) {
  auto& job = job_of(launch);
  if (shares) job->ledger.hold(step, std::move(*shares));
  const auto entry = job->entries.insert(job->entries.end(), Entry{{}, {}});
  entry->holds = true;
  entry->step = step;
  return std::make_unique<Place>(*this, job, entry);
}

void StepBook::count_from(const model::ControllerLaunch& launch, std::uint32_t step) {
  auto& job = job_of(launch);
  job->next_step = std::max(job->next_step, step);
}

Result<std::unique_ptr<StepBook::Place>> StepBook::enter(const model::ControllerLaunch& launch, StepAsk ask,
                                                         Events events) {
  auto& job = job_of(launch);
  if (job->over) return fail(ErrorCode::JobAlreadyDone, "Job/step already completing or completed");
  if (most_tasks_per_node > 0 && ask.tasks > std::uint64_t{ask.node_count} * most_tasks_per_node)
    return fail(ErrorCode::TooManyTasks,
                fmt::format("{} tasks on {} nodes: at most {} on each", ask.tasks, ask.node_count, most_tasks_per_node));
  const auto waits = std::ranges::count_if(job->entries, [](const Entry& entry) { return !entry.holds; });
  if (most_steps > 0 && job->next_step + static_cast<std::uint64_t>(waits) >= most_steps)
    return fail(ErrorCode::TooManySteps, fmt::format("the job has had its {} steps", most_steps));
  auto shares = job->ledger.grant(job->next_step, ask);
  if (!shares && shares.error().code != ErrorCode::NodesBusy) return std::unexpected(std::move(shares.error()));
  const auto entry = job->entries.insert(job->entries.end(), Entry{std::move(ask), std::move(events)});
  auto place = std::make_unique<Place>(*this, job, entry);
  if (!shares) {
    entry->events.waits();
    return place;
  }
  entry->holds = true;
  entry->step = job->next_step++;
  entry->events.granted({entry->step, std::move(*shares)});
  return place;
}

// In the order they came, but what is too large for now does not hold up what is not. Many that wait ask for the
// same: what has been refused to one is not tried for the next.
void StepBook::let_in(const std::shared_ptr<Job>& job) {
  if (job->over) return;
  job->again = true;
  if (std::exchange(job->letting_in, true)) return;  // one that was let in has left at once
  while (std::exchange(job->again, false)) {
    std::vector<const StepAsk*> refused;
    for (auto it = job->entries.begin(); it != job->entries.end(); ++it) {
      if (it->holds || std::ranges::any_of(refused, [&](const StepAsk* ask) { return *ask == it->ask; })) continue;
      auto shares = job->ledger.grant(job->next_step, it->ask);
      if (!shares) {
        refused.push_back(&it->ask);
        continue;
      }
      it->holds = true;
      it->step = job->next_step++;
      const auto granted = it->events.granted;  // a copy: the entry may go meanwhile
      granted({it->step, std::move(*shares)});
      if (job->again) break;
    }
  }
  job->letting_in = false;
}

void StepBook::ends(const model::JobRun& run) {
  const auto it = jobs_.find(run);
  if (it == jobs_.end()) return;
  const auto job = it->second;
  job->over = true;
  std::vector<std::function<void(Error)>> waiting;
  for (const Entry& entry : job->entries)
    if (!entry.holds) waiting.push_back(entry.events.gone);
  for (const auto& gone : waiting) gone({ErrorCode::JobAlreadyDone, "Job/step already completing or completed"});
}

void StepBook::forget(const model::JobRun& run) {
  ends(run);
  jobs_.erase(run);
}

void StepBook::close() {
  for (auto& [run, job] : jobs_) job->over = true;
}

}  // namespace spur::agent
