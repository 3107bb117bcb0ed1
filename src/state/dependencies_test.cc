// SPDX-License-Identifier: Apache-2.0
#include "state/test_world.h"

namespace spur::state {
namespace {

using model::Dependency;
using model::JobSpec;
using model::JobState;
using model::Reason;
using Kind = Dependency::Kind;

JobSpec after(Kind kind, std::uint32_t job, std::optional<std::uint32_t> task = {}, std::uint32_t delay = 0) {
  JobSpec out = spec("waits");
  out.dependencies.push_back({kind, JobId{job}, task, false, delay});
  return out;
}

enum class End { Ok, Fails, Cancelled, Timeout };

void end(World& w, std::uint32_t id, End how) {
  if (how == End::Cancelled) {
    w.must(cancel(target(id)));
    return;
  }
  w.start(id, World::on(0));
  if (how == End::Timeout) {
    auto kill = cancel(target(id));
    kill.final_state = JobState::Timeout;
    w.must(kill);
  }
  w.done(id, "n1", how == End::Fails ? 1 : 0);
}

TEST(Dependencies, KindsAgainstEnds) {
  struct Row {
    Kind kind;
    End how;
    Reason reason;
  };
  const Row rows[] = {
      {Kind::After, End::Ok, Reason::None},
      {Kind::After, End::Cancelled, Reason::None},
      {Kind::AfterAny, End::Ok, Reason::None},
      {Kind::AfterAny, End::Fails, Reason::None},
      {Kind::AfterAny, End::Cancelled, Reason::None},
      {Kind::AfterBurstBuffer, End::Fails, Reason::None},
      {Kind::AfterOk, End::Ok, Reason::None},
      {Kind::AfterOk, End::Fails, Reason::DependencyNeverSatisfied},
      {Kind::AfterOk, End::Timeout, Reason::DependencyNeverSatisfied},
      {Kind::AfterOk, End::Cancelled, Reason::DependencyNeverSatisfied},
      {Kind::AfterNotOk, End::Ok, Reason::DependencyNeverSatisfied},
      {Kind::AfterNotOk, End::Fails, Reason::None},
      {Kind::AfterNotOk, End::Timeout, Reason::None},
      {Kind::AfterCorr, End::Ok, Reason::None},
      {Kind::AfterCorr, End::Fails, Reason::DependencyNeverSatisfied},
  };
  for (const Row& row : rows) {
    World w(1);
    const auto first = w.submit(spec());
    const auto before = w.submit(after(row.kind, first));  // submitted while the first one waits
    EXPECT_EQ(w.job(before).reason, Reason::Dependency);
    EXPECT_FALSE(is_set(w.job(before).eligible));
    end(w, first, row.how);
    EXPECT_EQ(w.job(before).reason, row.reason);
    EXPECT_EQ(is_set(w.job(before).eligible), row.reason == Reason::None);
    const auto late = w.submit(after(row.kind, first));  // and when it is over
    EXPECT_EQ(w.job(late).reason, row.reason);
    w.must(PurgeJobs{{JobId{first}}});
    EXPECT_EQ(w.job(before).reason, row.reason);
    const auto later = w.submit(after(row.kind, first));  // and when nobody knows it any more
    EXPECT_EQ(w.job(later).reason, Reason::None);
  }
}

TEST(Dependencies, CompletingIsNotOver) {
  World w(2);
  const auto first = w.submit(spec()), waits = w.submit(after(Kind::AfterAny, first));
  w.start(first, World::on({0, 1}));
  w.done(first, "n1");
  EXPECT_EQ(w.job(waits).reason, Reason::Dependency);
  w.done(first, "n2");
  EXPECT_EQ(w.job(waits).reason, Reason::None);
}

TEST(Dependencies, RequeueIsNotAnEnd) {
  World w(1);
  const auto first = w.submit(spec()), waits = w.submit(after(Kind::AfterAny, first));
  w.start(first, World::on(0));
  w.must(RequeueJob{target(first)});
  w.done(first, "n1");
  EXPECT_EQ(w.job(waits).reason, Reason::Dependency);
}

TEST(Dependencies, AfterWithDelay) {
  World w(1);
  const auto first = w.submit(spec());
  auto s = after(Kind::After, first, {}, 10);
  s.dependencies.push_back({Kind::AfterAny, JobId{first}, {}, false, 0});
  const auto waits = w.submit(s);
  w.start(first, World::on(0));
  const Time started = w.now;
  EXPECT_EQ(w.job(waits).reason, Reason::Dependency);
  w.done(first, "n1");
  w.must(PurgeJobs{{JobId{first}}});
  EXPECT_EQ(w.job(waits).reason, Reason::BeginTime);
  EXPECT_EQ(w.job(waits).eligible, started + minutes(10));
  w.must(HoldJob{target(waits)});
  w.must(ReleaseJob{target(waits)});
  EXPECT_EQ(w.job(waits).eligible, started + minutes(10));
  EXPECT_EQ(w.refusal(StartJob{JobId{waits}, {}, World::on(0)}), ErrorCode::JobNotPending);
  w.now = started + minutes(10);
  w.start(waits, World::on(0));
}

TEST(Dependencies, AllOrAny) {
  struct Row {
    bool any;
    End first, second;
    Reason after_first, after_second;
  };
  const Row rows[] = {
      {false, End::Ok, End::Ok, Reason::Dependency, Reason::None},
      {false, End::Ok, End::Fails, Reason::Dependency, Reason::DependencyNeverSatisfied},
      {false, End::Fails, End::Ok, Reason::DependencyNeverSatisfied, Reason::DependencyNeverSatisfied},
      {true, End::Ok, End::Fails, Reason::None, Reason::None},
      {true, End::Fails, End::Ok, Reason::Dependency, Reason::None},
      {true, End::Fails, End::Fails, Reason::Dependency, Reason::DependencyNeverSatisfied},
  };
  for (const Row& row : rows) {
    World w(1);
    const auto a = w.submit(spec()), b = w.submit(spec());
    auto s = after(Kind::AfterOk, a);
    s.dependencies.push_back({Kind::AfterOk, JobId{b}, {}, false, 0});
    s.dependencies_any = row.any;
    const auto waits = w.submit(s);
    end(w, a, row.first);
    EXPECT_EQ(w.job(waits).reason, row.after_first);
    w.must(PurgeJobs{{JobId{a}}});
    end(w, b, row.second);
    EXPECT_EQ(w.job(waits).reason, row.after_second);
  }
}

TEST(Dependencies, KillOnInvalid) {
  struct Row {
    std::optional<bool> own;
    bool site;
    JobState expected;
  };
  const Row rows[] = {{{}, false, JobState::Pending},
                      {{}, true, JobState::Cancelled},
                      {true, false, JobState::Cancelled},
                      {false, true, JobState::Pending}};
  for (const Row& row : rows) {
    model::ClusterConfig config;
    config.kill_invalid_dependency = row.site;
    World w(1, 4, 0, config);
    const auto first = w.submit(spec());
    auto s = after(Kind::AfterOk, first);
    s.kill_on_invalid_dependency = row.own;
    const auto waits = w.submit(s);
    const auto next = w.submit(after(Kind::AfterAny, waits));
    end(w, first, End::Fails);
    EXPECT_EQ(w.job(waits).state, row.expected);
    EXPECT_EQ(w.job(waits).reason, Reason::DependencyNeverSatisfied);
    EXPECT_EQ(w.job(next).reason, row.expected == JobState::Cancelled ? Reason::None : Reason::Dependency);
    EXPECT_EQ(w.job(w.submit(s)).state, row.expected);  // too late already at submit
  }
}

TEST(Dependencies, LongChainFallsWithoutRecursion) {
  model::ClusterConfig config;
  config.kill_invalid_dependency = true;
  World w(1, 4, 0, config);
  Batch batch{w.now, {}};
  batch.commands.push_back(SubmitJob{std::make_shared<const JobSpec>(spec()), {}});
  constexpr std::uint32_t kLength = 50'000;
  for (std::uint32_t i = 1; i < kLength; ++i)
    batch.commands.push_back(SubmitJob{std::make_shared<const JobSpec>(after(Kind::AfterOk, i)), {}});
  w.cluster.apply(w.cluster.index() + 1, batch, nullptr);
  w.must(cancel(target(1)));
  EXPECT_EQ(w.job(kLength).state, JobState::Cancelled);
  EXPECT_TRUE(w.view().pending.empty());
}

TEST(Dependencies, WholeArrays) {
  struct Row {
    Kind kind;
    bool one_fails;
    Reason after_one, at_end;
  };
  const Row rows[] = {
      {Kind::AfterAny, true, Reason::Dependency, Reason::None},
      {Kind::AfterOk, false, Reason::Dependency, Reason::None},
      {Kind::AfterOk, true, Reason::DependencyNeverSatisfied, Reason::DependencyNeverSatisfied},
      {Kind::AfterNotOk, false, Reason::Dependency, Reason::DependencyNeverSatisfied},
      {Kind::AfterNotOk, true, Reason::Dependency, Reason::None},
  };
  for (const Row& row : rows) {
    World w(1);
    const auto array = w.submit(array_spec(1, 3));
    const auto waits = w.submit(after(row.kind, array));
    const auto one = w.start(array, World::on(0), 1);
    w.done(one, "n1", row.one_fails ? 1 : 0);
    EXPECT_EQ(w.job(waits).reason, row.after_one);
    const auto late = w.submit(after(row.kind, array));
    w.must(PurgeJobs{{JobId{one}}});
    const auto two = w.start(array, World::on(0), 2);
    w.done(two, "n1");
    EXPECT_EQ(w.job(waits).reason, row.after_one);
    w.start(array, World::on(0), 3);
    w.done(array, "n1");
    EXPECT_EQ(w.job(waits).reason, row.at_end);
    EXPECT_EQ(w.job(late).reason, row.at_end);
  }
}

TEST(Dependencies, AfterAnArrayMeansAllStarted) {
  World w(1);
  const auto array = w.submit(array_spec(1, 2));
  const auto waits = w.submit(after(Kind::After, array)), delayed = w.submit(after(Kind::After, array, {}, 5));
  w.start(array, World::on(0, {0}), 1);
  EXPECT_EQ(w.job(waits).reason, Reason::Dependency);
  w.start(array, World::on(0, {1}), 2);
  EXPECT_EQ(w.job(waits).reason, Reason::None);
  EXPECT_EQ(w.job(delayed).eligible, w.now + minutes(5));
  const auto gone = w.submit(array_spec(1, 2)), next = w.submit(after(Kind::After, gone, {}, 5));
  w.must(cancel(target(gone)));
  EXPECT_EQ(w.job(next).eligible, w.now + minutes(5));
}

TEST(Dependencies, OneTask) {
  World w(1);
  const auto array = w.submit(array_spec(1, 3));
  const auto waits = w.submit(after(Kind::AfterOk, array, 2)), none = w.submit(after(Kind::AfterOk, array, 9));
  EXPECT_EQ(w.job(none).reason, Reason::None);  // there is no such task
  const auto one = w.start(array, World::on(0), 1);
  w.done(one, "n1", 1);
  EXPECT_EQ(w.job(waits).reason, Reason::Dependency);
  const auto two = w.start(array, World::on(0), 2);
  const auto by_id = w.submit(after(Kind::AfterOk, two));
  w.done(two, "n1");
  EXPECT_EQ(w.job(waits).reason, Reason::None);
  EXPECT_EQ(w.job(by_id).reason, Reason::None);
}

TEST(Dependencies, AfterCorr) {
  World w(1);
  const auto a = w.submit(array_spec(1, 3));
  JobSpec s = array_spec(1, 4);
  s.dependencies.push_back({Kind::AfterCorr, JobId{a}, {}, false, 0});
  const auto b = w.submit(s);
  EXPECT_EQ(w.job(b).reason, Reason::Dependency);
  const auto task = [&](std::uint32_t t) { return model::find_array_task(w.view(), JobId{b}, t); };
  w.done(w.start(a, World::on(0), 2), "n1");
  EXPECT_EQ(task(2)->reason, Reason::None);
  EXPECT_EQ(task(2)->array_task, 2u);
  EXPECT_EQ(task(1), &w.job(b));
  w.done(w.start(a, World::on(0), 1), "n1", 1);
  EXPECT_EQ(task(1)->reason, Reason::DependencyNeverSatisfied);
  EXPECT_EQ(task(3)->reason, Reason::Dependency);
  // Another array that comes when some are over already.
  const auto c = w.submit(s);
  EXPECT_EQ(model::find_array_task(w.view(), JobId{c}, 2)->reason, Reason::None);
  EXPECT_EQ(model::find_array_task(w.view(), JobId{c}, 1)->reason, Reason::DependencyNeverSatisfied);
  EXPECT_EQ(model::find_array_task(w.view(), JobId{c}, 3)->reason, Reason::Dependency);
  w.start(a, World::on(0), 3);
  w.done(a, "n1");
  EXPECT_EQ(task(3)->reason, Reason::None);
  // 4 has no counterpart: it waited for the whole array, of which one task failed.
  EXPECT_EQ(task(4)->reason, Reason::DependencyNeverSatisfied);
}

TEST(Dependencies, Singleton) {
  World w(1);
  JobSpec single = spec("same");
  single.dependencies.push_back({Kind::Singleton, {}, {}, false, 0});
  const auto plain = w.submit(spec("same"));
  auto stranger = spec("same");
  stranger.uid = Uid{5};
  w.submit(stranger);
  w.submit(spec("other"));
  const auto a = w.submit(single), b = w.submit(single);
  EXPECT_EQ(w.job(a).reason, Reason::Dependency);
  w.must(cancel(target(plain)));
  EXPECT_EQ(w.job(a).reason, Reason::None);
  EXPECT_EQ(w.job(b).reason, Reason::Dependency);
  // A job of that name that is not a singleton starts first: what was met is not any more.
  const auto quick = w.submit(spec("same"));
  w.start(quick, World::on(0));
  EXPECT_EQ(w.job(a).reason, Reason::Dependency);
  w.done(quick, "n1");
  EXPECT_EQ(w.job(a).reason, Reason::None);
  w.start(a, World::on(0));
  EXPECT_EQ(w.job(b).reason, Reason::Dependency);
  w.done(a, "n1");
  EXPECT_EQ(w.job(b).reason, Reason::None);
  // An earlier one that comes back goes first again.
  w.must(RequeueJob{target(a)});
  EXPECT_EQ(w.job(a).reason, Reason::None);
  EXPECT_EQ(w.job(b).reason, Reason::Dependency);
}

TEST(Dependencies, SingletonArrayRunsOneTaskAtATime) {
  World w(1);
  JobSpec s = array_spec(1, 3);
  s.dependencies.push_back({Kind::Singleton, {}, {}, false, 0});
  const auto array = w.submit(s);
  const auto one = w.start(array, World::on(0), 1);
  EXPECT_EQ(w.job(array).reason, Reason::Dependency);
  w.done(one, "n1");
  EXPECT_EQ(w.job(array).reason, Reason::None);
  w.start(array, World::on(0), 2);
}

}  // namespace
}  // namespace spur::state
