// SPDX-License-Identifier: Apache-2.0
// What is kept, for how long and how often: texts and specifications once, tokens beyond their job, finished jobs
// until they are purged, a large array as one record, and all of it over a snapshot.
#include <malloc.h>

#include "state/interner.h"
#include "state/test_world.h"

namespace spur::state {
namespace {

Outcome submit_with(World& w, const std::string& token, std::uint32_t uid = 1000) {
  auto s = spec();
  s.uid = Uid{uid};
  return w.must(SubmitJob{std::make_shared<const model::JobSpec>(s), token});
}

TEST(Keeping, EqualTextsAndSpecificationsAreKeptOnce) {
  Interner interner;
  const auto text = [](const char* t) { return std::make_shared<const std::string>(t); };
  const auto first = interner.intern(text("#!/bin/sh\n"));
  EXPECT_EQ(interner.intern(text("#!/bin/sh\n")), first);
  EXPECT_NE(interner.intern(text("#!/bin/bash\n")), first);
  EXPECT_EQ(interner.intern(model::Blob()), nullptr);
  auto a = spec("a");
  a.script = text("#!/bin/sh\n");
  const auto kept = interner.intern(std::make_shared<const model::JobSpec>(a));
  EXPECT_EQ(interner.intern(std::make_shared<const model::JobSpec>(a)), kept);
  EXPECT_EQ(kept->script, first);
  a.nice = 7;
  EXPECT_NE(interner.intern(std::make_shared<const model::JobSpec>(a)), kept);
}

TEST(Keeping, WhatNobodyUsesGoesAway) {
  Interner interner;
  for (int i = 0; i < 20'000; ++i) interner.intern(std::make_shared<const std::string>(std::to_string(i)));
  EXPECT_LT(interner.blobs(), 3'000u);
}

TEST(Keeping, JobsOfOneLoopShareTheirSpecification) {
  World w(1);
  const auto first = w.submit(spec()), second = w.submit(spec()), other = w.submit(spec("other"));
  EXPECT_EQ(w.job(first).spec, w.job(second).spec);
  EXPECT_NE(w.job(first).spec, w.job(other).spec);
}

TEST(Keeping, ATokenGivesItsJobForEverybodyItsOwn) {
  World w(1);
  const auto first = submit_with(w, "t");
  const auto again = submit_with(w, "t");
  EXPECT_EQ(again.job, first.job);
  EXPECT_TRUE(again.repeated);
  const auto other = submit_with(w, "t", 2000);
  EXPECT_NE(other.job, first.job);
  EXPECT_FALSE(other.repeated);
  EXPECT_FALSE(submit_with(w, "").repeated);
  EXPECT_FALSE(submit_with(w, "").repeated);
}

TEST(Keeping, ATokenOutlivesItsPurgedJobAndASnapshot) {
  World w(1);
  const auto job = submit_with(w, "t").job;
  w.must(cancel(target(job.value)));
  EXPECT_EQ(w.must(PurgeJobs{{job}}).jobs, std::vector<JobId>{job});
  EXPECT_FALSE(w.has(job.value));
  EXPECT_EQ(submit_with(w, "t").job, job);
  auto again = Cluster::from_image(w.cluster.image());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->state_hash(), w.cluster.state_hash());
  auto s = spec();
  const Batch batch{w.now + seconds(1), {SubmitJob{std::make_shared<const model::JobSpec>(s), "t"}}};
  const auto outcome = (*again)->apply((*again)->index() + 1, batch, nullptr).at(0);
  EXPECT_TRUE(outcome.repeated);
  EXPECT_EQ(outcome.job, job);
}

TEST(Keeping, OnlyWhatIsOverIsPurged) {
  World w(1);
  const auto waiting = w.submit(spec()), running = w.submit(spec()), over = w.submit(spec()), back = w.submit(spec());
  w.start(running, World::on(0, {0}));
  w.start(over, World::on(0, {1}));
  w.done(over, "n1");
  w.start(back, World::on(0, {2}));
  w.done(back, "n1");
  w.must(RequeueJob{.target = target(back)});  // requeued since the leader looked
  const auto gone = w.must(PurgeJobs{{JobId{waiting}, JobId{running}, JobId{over}, JobId{back}, JobId{99}}}).jobs;
  EXPECT_EQ(gone, std::vector<JobId>{JobId{over}});
  EXPECT_TRUE(w.has(waiting) && w.has(running) && w.has(back));
  EXPECT_EQ(w.submit(spec()), back + 1) << "a purged id is not given out again";
}

TEST(Keeping, AnImageIsTheWholeState) {
  World w(2, 4, 2);
  const auto running = w.submit(spec()), array = w.submit(array_spec(1, 9, 3)), held = w.submit(spec("held"));
  w.start(running, World::on({0, 1}, {0}));
  w.start(array, World::on(0, {1}), 4);
  w.must(HoldJob{.target = target(held)});
  w.done(running, "n2");
  auto again = Cluster::from_image(w.cluster.image());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->state_hash(), w.cluster.state_hash());
  EXPECT_EQ((*again)->index(), w.cluster.index());
  EXPECT_EQ((*again)->pending_effects().size(), w.cluster.pending_effects().size());
  // And it goes on the same.
  const Batch batch{w.now + seconds(1), {w.done_report(running, "n1"), StartJob{JobId{array}, 5, World::on(1, {3})}}};
  (*again)->apply((*again)->index() + 1, batch, nullptr);
  w.cluster.apply(w.cluster.index() + 1, batch, nullptr);
  EXPECT_EQ((*again)->state_hash(), w.cluster.state_hash());
}

TEST(Keeping, AnImageThatDoesNotFitTogetherIsRefused) {
  World w(1);
  const auto id = w.submit(spec());
  w.start(id, World::on(0));
  const auto break_it = [&](auto&& how) {
    auto image = w.cluster.image();
    how(image);
    const auto loaded = Cluster::from_image(std::move(image));
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, ErrorCode::Corrupt) << loaded.error().message;
  };
  break_it([](auto& image) { image.nodes.clear(); });
  break_it([](auto& image) { image.jobs.push_back(image.jobs[0]); });
  break_it([](auto& image) { image.jobs.push_back(nullptr); });
  break_it([](auto& image) { image.tokens.emplace_back("1000:t", JobId{1}); });  // its record knows of none
  break_it([](auto& image) { image.tokens = {{"1000:t", JobId{7}}, {"1000:u", JobId{7}}}; });
  break_it([](auto& image) {  // the books of the node say otherwise
    auto job = *image.jobs[0];
    job.allocation = World::on(0, {3});
    image.jobs[0] = std::make_shared<const model::Job>(job);
  });
}

TEST(Keeping, AnArrayOfAMillionTasksIsOneRecord) {
  model::ClusterConfig config;
  config.max_array_size = 2'000'000;
  World w(1, 4, 0, config);
  auto submitted = std::make_shared<const model::JobSpec>(array_spec(1, 1'000'000));
  const std::size_t before = ::mallinfo2().uordblks;
  const auto id = w.must(SubmitJob{submitted, {}}).job.value;
  const std::size_t after = ::mallinfo2().uordblks;
  EXPECT_LT(after > before ? after - before : 0, 64u << 10);
  EXPECT_EQ(w.view().jobs.size(), 1u);
  EXPECT_EQ(w.job(id).array_pending->size(), 1'000'000u);
  w.start(id, World::on(0, {0}), 500'000);  // a hole in the middle costs one more record
  EXPECT_EQ(w.view().jobs.size(), 2u);
  w.must(cancel(tasks_of(id, 1, 400'000)));
  EXPECT_LE(w.view().jobs.size(), 4u) << "tasks that end together stay together";
}

}  // namespace
}  // namespace spur::state
