// SPDX-License-Identifier: Apache-2.0
#include "sched/explain.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "sched/eligibility.h"
#include "sched/explain_changes.h"
#include "sched/question.h"
#include "sched/what_if.h"

namespace spur::sched {
namespace {

using model::Reason;

void take_away(WhatIf& world, JobId job, const Blocker& blocker, Time now) {
  switch (blocker.kind) {
    case Blocker::Kind::Hold:
      return world.without_hold(job);
    case Blocker::Kind::Dependency:
      return world.without_dependencies(job, now);
    case Blocker::Kind::BeginTime:
      return world.without_begin_time(job, now);
    case Blocker::Kind::PartitionState:
      return world.open_partition(blocker.partition);
    case Blocker::Kind::PartitionLimit:
      return world.without_partition_limits(blocker.partition);
    case Blocker::Kind::Node:
      return world.make_usable(blocker.node);
    case Blocker::Kind::Reservation:
      return world.without_reservation(job, blocker.partition, now);
    case Blocker::Kind::RunningJob:
    case Blocker::Kind::Queue:
      for (const JobId other : blocker.jobs) world.remove(other);
      return;
  }
}

// Everything that could stand in the way, the likelier culprits first.
class Suspects {
 public:
  Suspects(const model::View& view, const Question& question, const ExplainLimits& limits)
      : view_(view), question_(question), limits_(limits), job_(question.job()) {}

  std::vector<Blocker> list() {
    own();
    for (const auto* partition : question_.partitions()) of_partition(*partition);
    for (const auto& r : *view_.reservations) found_.push_back({Blocker::Kind::Reservation, {}, {}, r.name});
    queue();
    running();
    nodes();
    return std::move(found_);
  }

 private:
  void add(Blocker::Kind kind, std::vector<JobId> jobs = {}) { found_.push_back({kind, std::move(jobs), {}, {}}); }

  void own() {
    if (job_.hold != model::Hold::None) add(Blocker::Kind::Hold);
    if (job_.dependency_never || !job_.dependencies_left.empty()) {
      std::vector<JobId> jobs;
      for (const auto& term : job_.dependencies_left)
        if (term.job && std::ranges::find(jobs, term.job) == jobs.end()) jobs.push_back(term.job);
      add(Blocker::Kind::Dependency, std::move(jobs));
    }
    if (begin_of(job_) > question_.now()) add(Blocker::Kind::BeginTime);
  }

  void of_partition(const model::Partition& partition) {
    const auto state = partition.config.state;
    if (state == model::PartitionState::Down || state == model::PartitionState::Inactive)
      found_.push_back({Blocker::Kind::PartitionState, {}, {}, partition.config.name});
    const auto& config = partition.config;
    if (config.max_time.is_finite() || config.max_nodes || config.min_nodes > 0)
      found_.push_back({Blocker::Kind::PartitionLimit, {}, {}, config.name});
    for (const NodeIndex node : partition.nodes) nodes_.insert(node.value);
  }

  void queue() {
    const auto& first = question_.jobs_ahead();
    if (first.empty()) return;
    if (first.size() > limits_.single_queue_jobs) return add(Blocker::Kind::Queue, first);
    for (const JobId job : first) add(Blocker::Kind::Queue, {job});
  }

  // The largest first: with them few are enough.
  void running() {
    std::vector<std::pair<std::uint64_t, JobId>> jobs;
    view_.active.for_each([&](std::uint32_t, const model::JobPtr& job) {
      if (!job->allocation) return;
      std::uint64_t cpus = 0;
      for (const auto& grant : job->allocation->nodes)
        if (nodes_.contains(grant.node.value)) cpus += grant.cpus.size();
      if (cpus == 0 && job->spec->licenses.empty()) return;
      jobs.emplace_back(cpus, job->id);
    });
    std::ranges::sort(jobs, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (const auto& [cpus, job] : jobs) add(Blocker::Kind::RunningJob, {job});
  }

  void nodes() {
    std::vector<std::uint32_t> numbers(nodes_.begin(), nodes_.end());
    std::ranges::sort(numbers);
    for (const std::uint32_t number : numbers)
      if (!(*view_.nodes.find(number))->usable()) found_.push_back({Blocker::Kind::Node, {}, NodeIndex(number), {}});
  }

  const model::View& view_;
  const Question& question_;
  const ExplainLimits& limits_;
  const model::Job& job_;
  std::unordered_set<std::uint32_t> nodes_;
  std::vector<Blocker> found_;
};

// Finds a set of blockers of which none can be left out, by halving: about k * log(n / k) questions for k of n.
class Reducer {
 public:
  Reducer(Question& question, std::vector<Blocker> suspects) : question_(question), suspects_(std::move(suspects)) {}

  // Not set: taking everything away does not help.
  std::optional<std::vector<Blocker>> run() {
    std::vector<std::size_t> all(suspects_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    if (!enough(all)) return std::nullopt;
    std::vector<std::size_t> kept = needed({}, all);
    // Removing one more thing can, rarely, make a plan worse; so look once more at each.
    for (bool smaller = true; smaller && question_.may_ask();) {
      smaller = false;
      for (std::size_t i = 0; i < kept.size() && question_.may_ask(); ++i) {
        std::vector<std::size_t> fewer = kept;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        if (!enough(fewer)) continue;
        kept = std::move(fewer);
        smaller = true;
        break;
      }
    }
    std::ranges::sort(kept);
    std::vector<Blocker> blockers;
    for (const std::size_t i : kept) blockers.push_back(suspects_[i]);
    return blockers;
  }

 private:
  using Set = std::vector<std::size_t>;

  static Set join(Set a, const Set& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  bool is_whole_queue(std::size_t i) const {
    return suspects_[i].kind == Blocker::Kind::Queue && suspects_[i].jobs.size() == question_.jobs_ahead().size();
  }

  bool enough(const Set& gone) {
    const bool queue = std::ranges::any_of(gone, [this](std::size_t i) { return is_whole_queue(i); });
    const auto edit = [&](WhatIf& world) {
      for (const std::size_t i : gone)
        if (!is_whole_queue(i)) take_away(world, question_.job().id, suspects_[i], question_.now());
    };
    return question_.answer_now(edit, queue ? Question::Queue::Gone : Question::Queue::AsItIs).starts_now;
  }

  // Of `choice`, what has to go besides `gone`. All of `choice` together is enough.
  Set needed(const Set& gone, const Set& choice) {
    if (choice.empty() || !question_.may_ask() || enough(gone)) return {};
    if (choice.size() == 1) return choice;
    const auto middle = choice.begin() + static_cast<std::ptrdiff_t>(choice.size() / 2);
    const Set first(choice.begin(), middle), second(middle, choice.end());
    const Set of_second = needed(join(gone, first), second);
    const Set of_first = needed(join(gone, of_second), first);
    return join(of_first, of_second);
  }

  Question& question_;
  std::vector<Blocker> suspects_;
};

}  // namespace

Result<Explanation> explain(const model::View& view, const Params& params, JobId id, Time now,
                            const ExplainLimits& limits) {
  const model::JobPtr* job = view.pending.find(id.value);
  if (!job) return fail(ErrorCode::InvalidJobId, "the job is not pending");
  Question question(view, params, **job, now, limits.most_plans);
  Explanation out;
  out.job = id;
  const Answer as_it_is = question.answer();
  out.reason = as_it_is.reason;
  out.starts_now = as_it_is.starts_now;
  out.start = as_it_is.start;
  out.certainty = as_it_is.starts_now || as_it_is.promised ? Certainty::Promised : Certainty::Expected;
  if (out.starts_now) return out;
  auto blockers = Reducer(question, Suspects(question.base(), question, limits).list()).run();
  out.impossible = !blockers;
  if (blockers) out.blockers = *std::move(blockers);
  Outlook outlook(view, params, id, now, limits.outlook);
  if (!out.impossible && (*job)->hold == model::Hold::None && !(*job)->dependency_never)
    correct(outlook.look(), &out.start, &out.certainty);
  out.changes = tried_out(find_changes(question, as_it_is), outlook, id, out.start, now, limits.most_changes);
  return out;
}

model::View without_blockers(const model::View& view, JobId job, const std::vector<Blocker>& blockers, Time now) {
  WhatIf world(view);
  for (const auto& blocker : blockers) take_away(world, job, blocker, now);
  return world.view();
}

}  // namespace spur::sched
