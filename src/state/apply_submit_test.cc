// SPDX-License-Identifier: Apache-2.0
#include "state/test_world.h"

namespace spur::state {
namespace {

using model::Hold;
using model::JobState;
using model::Reason;

TEST(Submit, FirstStates) {
  World w(1);
  EXPECT_EQ(w.submit(spec()), 1u);
  EXPECT_EQ(w.job(1).state, JobState::Pending);
  EXPECT_EQ(w.job(1).reason, Reason::None);
  EXPECT_EQ(w.job(1).eligible, w.now);
  EXPECT_EQ(w.job(1).submitted, w.now);
  EXPECT_EQ(w.job(1).priority, 1u);
  EXPECT_EQ(w.count<JobChanged>(), 1);

  auto held = spec();
  held.hold = true;
  const auto h = w.submit(held);
  EXPECT_EQ(w.job(h).reason, Reason::JobHeldUser);
  EXPECT_EQ(w.job(h).priority, 0u);
  EXPECT_FALSE(is_set(w.job(h).eligible));

  auto later = spec();
  later.begin = w.now + hours(1);
  const auto l = w.submit(later);
  EXPECT_EQ(w.job(l).reason, Reason::BeginTime);
  EXPECT_EQ(w.job(l).eligible, later.begin);

  auto ranked = spec();
  ranked.priority = 77;
  const auto r = w.submit(ranked);
  EXPECT_EQ(w.job(r).priority, 77u);
  EXPECT_TRUE(w.job(r).priority_by_hand);
}

TEST(Submit, TimeLimitInForce) {
  struct Row {
    TimeLimit own, standard, longest, expected;
  };
  const auto minutes_of = TimeLimit::of_minutes;
  const Row rows[] = {{minutes_of(5), minutes_of(10), minutes_of(20), minutes_of(5)},
                      {{}, minutes_of(10), minutes_of(20), minutes_of(10)},
                      {{}, {}, minutes_of(20), minutes_of(20)},
                      {{}, {}, TimeLimit::unlimited(), TimeLimit::unlimited()}};
  for (const Row& row : rows) {
    World w;
    model::ClusterConfig config;
    model::PartitionConfig p;
    p.name = "p", p.is_default = true, p.nodes = "ALL", p.default_time = row.standard, p.max_time = row.longest;
    config.partitions.push_back(p);
    w.must(SetConfig{config});
    auto s = spec();
    s.time_limit = row.own;
    EXPECT_EQ(w.job(w.submit(s)).time_limit, row.expected);
  }
}

TEST(Submit, SameTokenSameJob) {
  World w(1);
  const auto s = std::make_shared<const model::JobSpec>(spec());
  auto other = spec();
  other.uid = Uid{2};
  const auto o = std::make_shared<const model::JobSpec>(other);
  EXPECT_EQ(w.must(SubmitJob{s, "a"}).job, JobId{1});
  const Outcome again = w.must(SubmitJob{s, "a"});
  EXPECT_EQ(again.job, JobId{1});
  EXPECT_TRUE(again.repeated);
  EXPECT_EQ(w.must(SubmitJob{o, "a"}).job, JobId{2});
  EXPECT_EQ(w.must(SubmitJob{s, "b"}).job, JobId{3});
  EXPECT_EQ(w.must(SubmitJob{s, ""}).job, JobId{4});
  EXPECT_EQ(w.must(SubmitJob{s, ""}).job, JobId{5});
  // Also after the job is over and forgotten.
  w.must(cancel(target(1)));
  w.must(PurgeJobs{{JobId{1}}});
  EXPECT_FALSE(w.has(1));
  EXPECT_EQ(w.must(SubmitJob{s, "a"}).job, JobId{1});
  EXPECT_FALSE(w.has(1));
}

TEST(Submit, IdsWrapAroundAndSkipLiveOnes) {
  model::ClusterConfig config;
  config.first_job_id = 10;
  config.max_job_id = 13;
  World w(1, 4, 0, config);
  for (const std::uint32_t expected : {10u, 11u, 12u, 13u}) EXPECT_EQ(w.submit(spec()), expected);
  const auto s = std::make_shared<const model::JobSpec>(spec());
  EXPECT_EQ(w.refusal(SubmitJob{s, {}}), ErrorCode::TooManyJobs);
  w.must(cancel(target(12)));
  EXPECT_EQ(w.refusal(SubmitJob{s, {}}), ErrorCode::TooManyJobs);
  w.must(PurgeJobs{{JobId{12}}});
  EXPECT_EQ(w.submit(spec()), 12u);
}

TEST(Submit, ReusedIdEndsTheOldToken) {
  model::ClusterConfig config;
  config.max_job_id = 2;
  World w(1, 4, 0, config);
  const auto s = std::make_shared<const model::JobSpec>(spec());
  EXPECT_EQ(w.must(SubmitJob{s, "a"}).job, JobId{1});
  w.must(cancel(target(1)));
  w.must(PurgeJobs{{JobId{1}}});
  EXPECT_EQ(w.submit(spec()), 2u);
  EXPECT_EQ(w.submit(spec()), 1u);
  EXPECT_EQ(w.refusal(SubmitJob{s, "a"}), ErrorCode::TooManyJobs);  // not job 1, which is somebody else's
}

TEST(Submit, JobCountIsLimited) {
  model::ClusterConfig config;
  config.max_job_count = 2;
  World w(1, 4, 0, config);
  w.submit(spec());
  w.submit(array_spec(1, 1000));  // one record
  EXPECT_EQ(w.refusal(SubmitJob{std::make_shared<const model::JobSpec>(spec()), {}}), ErrorCode::TooManyJobs);
}

TEST(Submit, MillionTasksAreOneRecord) {
  World w(1);
  const auto id = w.submit(array_spec(0, 999'999, 5));
  EXPECT_EQ(w.view().jobs.size(), 1u);
  EXPECT_EQ(w.job(id).array_job, JobId{id});
  EXPECT_EQ(w.job(id).array_pending->size(), 1'000'000u);
  EXPECT_EQ(model::display_id(w.job(id)), "1_[0-999999%5]");
  EXPECT_EQ(model::find_array_task(w.view(), JobId{id}, 77), &w.job(id));
  EXPECT_EQ(model::find_array_task(w.view(), JobId{id}, 1'000'000), nullptr);
}

TEST(Submit, EqualTextsAndSpecificationsAreKeptOnce) {
  World w(1);
  auto a = spec(), b = spec();
  a.environment = std::make_shared<const std::string>(3000, 'x');
  b.environment = std::make_shared<const std::string>(3000, 'x');
  const auto i = w.submit(a), j = w.submit(b);
  EXPECT_EQ(w.job(i).spec, w.job(j).spec);
  b.name = "other";
  const auto k = w.submit(b);
  EXPECT_NE(w.job(i).spec, w.job(k).spec);
  EXPECT_EQ(w.job(i).spec->environment, w.job(k).spec->environment);
}

TEST(Submit, Refusals) {
  World w(1);
  EXPECT_EQ(w.refusal(SubmitJob{nullptr, {}}), ErrorCode::InvalidArgument);
  auto empty = spec();
  empty.array.emplace();
  EXPECT_EQ(w.refusal(SubmitJob{std::make_shared<const model::JobSpec>(empty), {}}), ErrorCode::InvalidArray);
  auto itself = spec();
  itself.dependencies.push_back({model::Dependency::Kind::AfterOk, JobId{1}, {}, false, 0});
  EXPECT_EQ(w.refusal(SubmitJob{std::make_shared<const model::JobSpec>(itself), {}}), ErrorCode::InvalidDependency);
  auto own_task = array_spec(1, 3);
  own_task.dependencies.push_back({model::Dependency::Kind::AfterOk, JobId{1}, 2, false, 0});
  EXPECT_EQ(w.refusal(SubmitJob{std::make_shared<const model::JobSpec>(own_task), {}}), ErrorCode::InvalidDependency);
  auto expand = spec();
  expand.dependencies.push_back({model::Dependency::Kind::Expand, JobId{9}, {}, false, 0});
  EXPECT_EQ(w.refusal(SubmitJob{std::make_shared<const model::JobSpec>(expand), {}}), ErrorCode::NotSupported);
}

}  // namespace
}  // namespace spur::state
