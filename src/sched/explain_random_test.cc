// SPDX-License-Identifier: Apache-2.0
// What explain() says is tried out on random states: blockers are taken away, changes are made, and time passes,
// minute by minute (naive_future_test.h), until what was said should have happened.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sched/explain.h"
#include "sched/naive_future_test.h"
#include "sched/test_cluster.h"
#include "sched/test_dice.h"

namespace spur::sched {
namespace {

using Kind = model::Dependency::Kind;

constexpr Params kDeepPromises{
    .max_starts = 0xffffffffu, .promises = 1000, .patience = Duration{0}, .backfill = model::BackfillOrder::Priority};
constexpr Params kDefault{.max_starts = 0xffffffffu};

bool starts_now(const model::View& view, JobId job, Time now, const Params& params) {
  const Plan made = plan(view, params, now);
  return std::ranges::any_of(made.starts, [&](const Start& start) { return start.job == job; });
}

// ---- states

class RandomState {
 public:
  RandomState(std::uint64_t seed, const Params& params) : dice_(seed) {
    build();
    for (std::uint32_t i = 0; i < 6; ++i) submit(at_minute(0));
    cluster.carry_out(plan(cluster.view(), params, at_minute(0)), at_minute(0));
    for (std::uint32_t i = 0; i < 6; ++i) submit(at_minute(1));
    now = at_minute(2 + dice_.below(20));
    disturb();
    // What is due has happened, as it has in every state that anybody sees.
    NaiveFuture future(std::move(cluster), params);
    future.let_happen(now);
    cluster = future.take_cluster();
  }

  TestCluster cluster;
  Time now;
  bool murky = false;  // nobody can know what will happen
  bool shaky = false;  // nobody might

 private:
  void build() {
    const std::uint32_t nodes = 2 + dice_.below(4);
    for (std::uint32_t n = 0; n < nodes; ++n) {
      auto& node = cluster.add_node(fmt::format("n{}", n), 2 + 2 * dice_.below(3));
      if (dice_.one_in(2)) node.features = node.active_features = {"big"};
      if (dice_.one_in(2)) node.hardware.gres = {{.name = "gpu", .type = "", .count = 2, .file = ""}};
    }
    cluster.config->licenses = {{"tool", 1}};
    cluster.config->kill_invalid_dependency = dice_.one_in(2);
    cluster.config->priority.multifactor = !dice_.one_in(4);
    cluster.add_partition("all");
    auto& some = cluster.add_partition("some", {0, 1});
    if (dice_.one_in(4)) some.max_time = TimeLimit::of_minutes(60);
    if (dice_.one_in(4)) some.priority_tier = 2;
    if (dice_.one_in(3)) reserve();
    if (dice_.one_in(8)) {
      shaky = true;
      cluster.config->preempt.by = model::PreemptBy::PartitionTier;
      cluster.config->preempt.how = model::PreemptHow::Cancel;
      some.priority_tier = 2;
    }
    if (dice_.one_in(8)) {
      shaky = true;
      cluster.config->age_full = hours(1 + dice_.below(4));
      nice_ = dice_.one_in(2) ? 3000 : 300;  // more or less than age can make up for
    }
  }

  void reserve() {
    model::Reservation r;
    r.name = "r";
    r.start = at_minute(dice_.between(0, 60));
    r.end = r.start + minutes(dice_.between(5, 90));
    constexpr std::uint64_t kFlags[] = {
        0, model::kResvMaint, model::kResvFlex, model::kResvNoHoldJobs, model::kResvMagnetic, model::kResvDaily};
    r.flags = kFlags[dice_.below(6)] | model::kResvSpecNodes;
    for (std::uint32_t n = 0; n < cluster.node_count(); ++n)
      if (dice_.one_in(2)) r.nodes.push_back({.node = NodeIndex(n)});
    if (r.nodes.empty()) r.nodes.push_back({.node = NodeIndex(0)});
    cluster.reservations = std::make_shared<const std::vector<model::Reservation>>(1, r);
  }

  model::JobSpec wish() {
    model::JobSpec spec;
    spec.time_limit = dice_.one_in(30) ? TimeLimit::unlimited() : TimeLimit::of_minutes(1 + dice_.below(120));
    if (dice_.one_in(3)) {
      spec.min_nodes = 1 + dice_.below(3);
      spec.max_nodes = spec.min_nodes;
      spec.nodes_given = true;
      if (dice_.one_in(2)) spec.exclusive = model::Exclusive::Node;
    } else {
      spec.tasks = 1 + dice_.below(8);
    }
    if (dice_.one_in(4)) spec.cpus_per_task = 1 + dice_.below(3);
    if (dice_.one_in(4)) spec.features = "big";
    if (dice_.one_in(5)) spec.gres = {{"gpu", "", 1 + dice_.below(2), model::GresRequest::Per::Node}};
    if (dice_.one_in(4)) spec.partitions = {dice_.one_in(2) ? "some" : "all"};
    if (dice_.one_in(10)) spec.partitions = {"some", "all"};
    if (dice_.one_in(8)) spec.licenses = {{"tool", 1}};
    if (dice_.one_in(12)) spec.begin = at_minute(dice_.between(5, 90));
    if (dice_.one_in(20)) spec.deadline = at_minute(dice_.between(30, 240));
    if (dice_.one_in(15) && spec.time_limit.is_finite()) spec.time_min = TimeLimit::of_minutes(1);
    if (dice_.one_in(4) && !cluster.reservations->empty()) spec.reservation = "r";
    if (nice_ > 0) spec.nice = static_cast<std::int32_t>(nice_ * dice_.below(3));
    spec.name = dice_.one_in(2) ? "one" : "two";
    if (dice_.one_in(10)) {
      spec.array.emplace();
      spec.array->tasks.insert_range(1, 1 + dice_.below(4));
      spec.array->max_running = dice_.below(3);
    }
    return spec;
  }

  void submit(Time when) {
    model::JobSpec spec = wish();
    if (dice_.one_in(6)) depend(spec);
    auto& job = cluster.submit(spec, when);
    if (!spec.dependencies.empty()) {
      job.dependencies_left = spec.dependencies;
      job.eligible = job.accrue = {};
    }
    if (dice_.one_in(15)) job.hold = model::Hold::User, job.priority = 0;
  }

  void depend(model::JobSpec& spec) {
    constexpr Kind kKinds[] = {Kind::After, Kind::AfterAny, Kind::AfterOk, Kind::AfterNotOk, Kind::Singleton};
    for (std::uint32_t i = 0; i < 1 + dice_.below(2); ++i) {
      const Kind kind = kKinds[dice_.below(5)];
      const auto known = static_cast<std::uint32_t>(cluster.jobs().size());
      if (known == 0) return;
      model::Dependency term{kind, JobId(1 + dice_.below(known)), {}, false, 0};
      if (kind == Kind::Singleton) term.job = {};
      if (kind == Kind::After && dice_.one_in(2)) term.delay_minutes = dice_.between(1, 30);
      spec.dependencies.push_back(term);
    }
    spec.dependencies_any = dice_.one_in(3);
  }

  void disturb() {
    if (dice_.one_in(4)) {
      const std::uint32_t n = dice_.below(cluster.node_count());
      if (cluster.node(n).jobs.empty()) cluster.node(n).down = true;
    }
    std::vector<JobId> running;
    for (const auto& [id, job] : cluster.jobs())
      if (job->state == model::JobState::Running) running.push_back(id);
    if (running.empty() || !dice_.one_in(6)) return;
    const JobId one = running[dice_.below(static_cast<std::uint32_t>(running.size()))];
    if (dice_.one_in(2)) return cluster.suspend(one, now);  // until somebody lets it go on
    if (dice_.one_in(2))
      cluster.begin_completing(one);
    else if (!cluster.node(0).down)
      cluster.node(0).flags |= model::kNodeNoResponse;
    else
      return;
    murky = true;
  }

  Dice dice_;
  std::uint32_t nice_ = 0;
};

// ---- trying it out

struct Starts {
  std::size_t now = 0, promised = 0, by_limits = 0, never = 0, expected = 0, unknown = 0;
  std::string text() const {
    return fmt::format("{} now, {} promised, {} by the limits, {} never, {} expected, {} cannot be said", now,
                       promised, by_limits, never, expected, unknown);
  }
};
struct Tally {
  std::size_t blocked = 0, changes = 0;
  Starts as_it_is, with_changes;
};

class Trial {
 public:
  Trial(const RandomState& state, const Params& params) : state_(state), params_(params), now_(state.now) {}

  void run(JobId job, Tally& tally) {
    const model::View view = state_.cluster.view();
    const auto told = explain(view, params_, job, now_);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->starts_now, starts_now(view, job, now_, params_));
    if (told->starts_now) return;
    if (!told->impossible) try_blockers(view, job, *told, tally);
    try_start(state_.cluster.clone(), job, told->start, told->certainty, told->impossible, tally.as_it_is);
    for (const Change& change : told->changes) {
      SCOPED_TRACE(fmt::format("{} {} instead of {}", change.option, change.instead, change.now));
      ++tally.changes;
      ASSERT_TRUE(is_set(change.start));
      EXPECT_TRUE(!is_set(told->start) || change.start < told->start);
      TestCluster changed = state_.cluster.clone();
      changed.job(job.value).spec = change.spec;
      changed.job(job.value).time_limit = change.limit;
      try_start(std::move(changed), job, change.start, change.certainty, false, tally.with_changes);
    }
  }

 private:
  void try_blockers(const model::View& view, JobId job, const Explanation& told, Tally& tally) {
    ++tally.blocked;
    EXPECT_FALSE(told.blockers.empty());
    EXPECT_TRUE(starts_now(without_blockers(view, job, told.blockers, now_), job, now_, params_));
    for (std::size_t i = 0; i < told.blockers.size(); ++i) {
      auto fewer = told.blockers;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_FALSE(starts_now(without_blockers(view, job, fewer, now_), job, now_, params_)) << "blocker " << i;
    }
  }

  // To the minute, if that was said to be sure.
  void try_start(TestCluster cluster, JobId job, Time said, Certainty certainty, bool impossible, Starts& tally) {
    const bool now = said == now_;
    if (certainty == Certainty::Expected) {
      ++(is_set(said) ? tally.expected : tally.unknown);
      const bool helpless =
          cluster.job(job.value).hold != model::Hold::None || cluster.job(job.value).dependency_never;
      EXPECT_TRUE(state_.murky || state_.shaky || impossible || (helpless && !is_set(said)))
          << "nothing here is uncertain";
      return;
    }
    ++(now                                ? tally.now
       : !is_set(said)                    ? tally.never
       : certainty == Certainty::Promised ? tally.promised
                                          : tally.by_limits);
    EXPECT_TRUE(now || !state_.murky || certainty == Certainty::Promised) << "nobody can know that";
    // A promise is the planner's word; what else may come it does not know.
    if (!now && (state_.murky || (state_.shaky && certainty == Certainty::Promised))) return;
    const Time until = is_set(said) ? said : now_ + hours(4);
    EXPECT_EQ(NaiveFuture(std::move(cluster), params_).start_of(job, now_, until), said)
        << (said - now_) / minutes(1) << " minutes from now";
  }

  const RandomState& state_;
  Params params_;
  Time now_;
};

void holds_on_random_states(const Params& params) {
  const auto [first, last] = seeds(60);
  Tally tally;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const RandomState state(seed, params);
    Trial trial(state, params);
    for (const auto& [id, job] : state.cluster.jobs()) {
      if (job->state != model::JobState::Pending) continue;
      SCOPED_TRACE(fmt::format("seed {} job {}", seed, id.value));
      trial.run(id, tally);
    }
    if (testing::Test::HasFailure()) return;
  }
  const std::uint64_t states = last - first + 1;
  EXPECT_GT(tally.blocked, states / 2);
  EXPECT_GT(tally.changes, states / 2);
  fmt::print("{} states, {} jobs with blockers; they start {}; with {} changes {}\n", states, tally.blocked,
             tally.as_it_is.text(), tally.changes, tally.with_changes.text());
}

TEST(Explain, HoldsWithDeepPromises) {
  holds_on_random_states(kDeepPromises);
}
TEST(Explain, HoldsWhereTheSmallestPassFirst) {
  holds_on_random_states(kDefault);
}

}  // namespace
}  // namespace spur::sched
