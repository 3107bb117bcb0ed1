// SPDX-License-Identifier: Apache-2.0
#include "ctld/job_watches.h"

#include <gtest/gtest.h>

#include <set>

#include "ctld/test_doors.h"
#include "state/test_world.h"
#include "wire/job_list_codec.h"

namespace spur::ctld {
namespace {

using state::World;
using IdSet = std::set<std::uint32_t>;

// A watcher who takes what is sent when he likes.
struct TestSink final : WatchSink {
  wire::JobChangesDecoder decoder;
  std::vector<wire::JobChanges> told;
  std::optional<Status> ended;
  bool reads = true, hung_up = false, full = false;
  bool gone() const override { return hung_up || ended; }
  bool drained() const override { return !full; }
  void send(const v1::JobChanges& changes) override {
    EXPECT_FALSE(full) << "sent to somebody who has not taken the last message";
    wire::JobChanges taken;
    const Status status = decoder.take(changes.SerializeAsString(), &taken);
    EXPECT_TRUE(status);
    told.push_back(std::move(taken));
    full = !reads;
  }
  void end(const Status& status) override { ended = status; }

  static IdSet ids(const wire::JobChanges& changes) {
    IdSet out;
    for (const auto& job : changes.table.jobs) out.insert(job->id.value);
    return out;
  }
  IdSet last() const { return ids(told.back()); }
};

class JobWatchesTest : public testing::Test {
 protected:
  JobWatchesTest() {
    clock_.pass(seconds(1));
    publish();
  }
  void publish(std::shared_ptr<const ExpectedStarts> starts = nullptr) {
    if (starts) starts_ = std::move(starts);
    picture_ = std::make_shared<const Picture>(Picture{world_.view(), starts_, leading_});
  }
  std::shared_ptr<TestSink> watch(const std::function<void(JobWatches::Wish&)>& change = {}) {
    JobWatches::Wish wish;
    wish.caller.role = model::Role::User;
    wish.caller.uid = Uid{1000};
    if (change) change(wish);
    auto sink = std::make_shared<TestSink>();
    EXPECT_TRUE(watches_.add(std::move(wish), sink));
    watches_.round();
    return sink;
  }
  void submit(std::uint32_t uid = 1000) {
    model::JobSpec spec = state::spec();
    spec.uid = Uid{uid};
    spec.partitions = {"main"};
    spec.name = "job" + std::to_string(++submitted_);
    world_.submit(std::move(spec));
  }
  void round() {
    publish();
    watches_.round();
  }

  World world_{2};
  TestClock clock_;
  bool leading_ = true;
  int submitted_ = 0;
  std::shared_ptr<const ExpectedStarts> starts_ = std::make_shared<ExpectedStarts>();
  std::shared_ptr<const Picture> picture_;
  JobWatches watches_{{.picture = [this] { return picture_; }, .clock = clock_}};
};

TEST_F(JobWatchesTest, TellsTheListAndThenWhatChanges) {
  submit();
  submit();
  publish();
  const auto sink = watch();
  ASSERT_EQ(sink->told.size(), 1u);
  EXPECT_TRUE(sink->told[0].resync && sink->told[0].current);
  EXPECT_EQ(sink->last(), (IdSet{1, 2}));
  round();
  EXPECT_EQ(sink->told.size(), 1u) << "nothing has changed";

  submit();
  world_.start(1, World::on(0, {0}));
  round();
  ASSERT_EQ(sink->told.size(), 2u);
  EXPECT_FALSE(sink->told[1].resync);
  EXPECT_EQ(sink->last(), (IdSet{1, 3}));
  EXPECT_EQ(sink->told[1].table.jobs[0]->state, model::JobState::Running);
  EXPECT_EQ(sink->told[1].table.node_names.at(0), "n1");

  world_.done(1, "n1");  // what is over is not among what is shown by default
  round();
  ASSERT_EQ(sink->told.size(), 3u);
  EXPECT_EQ(sink->told[2].gone, std::vector{JobId{1}});
  EXPECT_EQ(sink->last(), IdSet{});
}

TEST_F(JobWatchesTest, EachHearsOfWhatHeAskedFor) {
  const auto own = watch([](auto& wish) { wish.filter.users = {Uid{1000}}; });
  const auto one = watch([](auto& wish) { wish.filter.jobs = {state::target(2)}, wish.filter.all_states = true; });
  submit(1000);
  submit(2000);
  round();
  EXPECT_EQ(own->last(), IdSet{1});
  EXPECT_EQ(one->last(), IdSet{2});
  world_.start(2, World::on(0, {0}));
  round();
  EXPECT_EQ(own->told.size(), 2u) << "not his job";
  EXPECT_EQ(one->told.size(), 3u);
  world_.done(2, "n1");
  round();
  EXPECT_EQ(one->told.back().table.jobs.at(0)->state, model::JobState::Completed);
}

TEST_F(JobWatchesTest, TextsAreNotTold) {
  model::JobSpec spec = state::spec();
  spec.environment = std::make_shared<const std::string>("SECRET=1");
  world_.submit(std::move(spec));
  publish();
  const auto sink = watch([](auto& wish) { wish.filter.with_script = true; });
  EXPECT_EQ(sink->last(), IdSet{1});
  EXPECT_FALSE(sink->told[0].table.jobs[0]->spec->environment);
}

TEST_F(JobWatchesTest, HiddenPartitionsStayHidden) {
  submit();
  publish();
  const auto sink =
      watch([](auto& wish) { wish.hidden = [](const model::View&) { return std::vector<std::string>{"main"}; }; });
  EXPECT_EQ(sink->last(), IdSet{});
  submit();
  round();
  EXPECT_EQ(sink->told.size(), 1u);
}

TEST_F(JobWatchesTest, WhoReadsSlowlyHearsLessOften) {
  submit();
  publish();
  const auto sink = watch([](auto&) {});
  sink->reads = false;
  submit();
  round();
  ASSERT_EQ(sink->told.size(), 2u);
  submit();
  round();
  submit();
  round();
  EXPECT_EQ(sink->told.size(), 2u) << "he has not taken the last one";
  sink->full = false;
  round();
  ASSERT_EQ(sink->told.size(), 3u);
  EXPECT_FALSE(sink->told[2].resync);
  EXPECT_EQ(sink->last(), (IdSet{3, 4})) << "all that he missed, in one";
}

TEST_F(JobWatchesTest, WhoReadsNothingStartsAnew) {
  submit();
  publish();
  const auto sink = watch();
  sink->reads = false;
  submit();
  round();
  const std::weak_ptr<const Picture> old = picture_;
  round();  // it is seen that he does not read
  clock_.pass(seconds(11));
  submit();
  round();
  EXPECT_TRUE(old.expired()) << "a picture is kept alive for somebody who does not read";
  sink->full = false;
  round();
  ASSERT_EQ(sink->told.size(), 3u);
  EXPECT_TRUE(sink->told[2].resync);
  EXPECT_EQ(sink->last(), (IdSet{1, 2, 3}));
}

TEST_F(JobWatchesTest, LongListsComeInPieces) {
  for (int i = 0; i < 1100; ++i) submit();
  publish();
  const auto sink = watch();
  ASSERT_EQ(sink->told.size(), 3u);
  EXPECT_TRUE(sink->told[0].resync);
  EXPECT_FALSE(sink->told[0].current || sink->told[1].resync);
  EXPECT_TRUE(sink->told[2].current);
  std::size_t jobs = 0;
  for (const auto& message : sink->told) jobs += message.table.jobs.size();
  EXPECT_EQ(jobs, 1100u);
  EXPECT_EQ(sink->told[2].table.jobs.back()->spec->name, "job1100");
}

TEST_F(JobWatchesTest, SaysThatItIsThere) {
  const auto sink = watch();
  clock_.pass(seconds(2));
  EXPECT_EQ(watches_.round(), Duration(seconds(3)));
  EXPECT_EQ(sink->told.size(), 1u);
  clock_.pass(seconds(3));
  watches_.round();
  ASSERT_EQ(sink->told.size(), 2u);
  EXPECT_TRUE(sink->told[1].current);
  EXPECT_FALSE(sink->told[1].resync);
}

TEST_F(JobWatchesTest, NewExpectationsAreChangesForWhoWantsThem) {
  submit();
  submit();
  publish();
  const auto plain = watch();
  const auto wants = watch([](auto& wish) { wish.expected_starts = true; });
  auto starts = std::make_shared<ExpectedStarts>();
  const auto nodes = std::make_shared<std::vector<NodeIndex>>(std::vector{NodeIndex{1}});
  starts->emplace(JobId{2}, Expected{from_unix_seconds(4711), nodes});
  clock_.pass(seconds(1));
  publish(starts);
  watches_.round();
  EXPECT_EQ(plain->told.size(), 1u);
  ASSERT_EQ(wants->told.size(), 2u);
  EXPECT_EQ(wants->last(), IdSet{2});
  EXPECT_EQ(wants->told[1].table.expected_starts.at(0), from_unix_seconds(4711));
  EXPECT_EQ(wants->told[1].table.planned_nodes.at(0), "n2");
}

TEST_F(JobWatchesTest, EndsWhereAnotherLeads) {
  const auto sink = watch();
  leading_ = false;
  round();
  ASSERT_TRUE(sink->ended);
  EXPECT_EQ(sink->ended->error().code, ErrorCode::NotLeader);
}

TEST_F(JobWatchesTest, NobodyTakesAllThePlaces) {
  JobWatches few({.picture = [this] { return picture_; }, .clock = clock_, .most = 3, .most_per_user = 2});
  const auto add = [&](std::uint32_t uid, bool admin = false) {
    JobWatches::Wish wish;
    wish.caller.uid = Uid{uid};
    wish.caller.role = admin ? model::Role::Admin : model::Role::User;
    auto sink = std::make_shared<TestSink>();
    const Status status = few.add(std::move(wish), sink);
    return std::pair(status ? ErrorCode::Internal : status.error().code, sink);
  };
  const auto first = add(1).second;
  const auto second = add(1).second;
  EXPECT_EQ(add(1).first, ErrorCode::Busy);
  const auto third = add(2).second;
  EXPECT_EQ(add(3).first, ErrorCode::Busy);
  first->hung_up = true;
  few.round();
  EXPECT_EQ(add(1).first, ErrorCode::Internal) << "there is room again";
  few.stop();
  EXPECT_TRUE(second->ended && third->ended);
  EXPECT_EQ(add(4).first, ErrorCode::Unreachable);
}

TEST(UserJobs, FollowWhatChanges) {
  World world{2};
  UserJobs users;
  const auto ids = [&](std::uint32_t uid) {
    IdSet out;
    users.of(world.view(), Uid{uid}).for_each([&](std::uint32_t id, const model::JobPtr& job) {
      EXPECT_EQ(*world.view().jobs.find(id), job);
      out.insert(id);
    });
    return out;
  };
  const auto submit = [&](std::uint32_t uid) {
    model::JobSpec spec = state::spec();
    spec.uid = Uid{uid};
    world.submit(std::move(spec));
  };
  EXPECT_EQ(ids(1), IdSet{});
  submit(1), submit(2), submit(1);
  const model::View before = world.view();
  EXPECT_EQ(ids(1), (IdSet{1, 3}));
  world.start(1, World::on(0, {0}));
  submit(2);
  EXPECT_EQ(ids(1), (IdSet{1, 3}));
  EXPECT_EQ(ids(2), (IdSet{2, 4}));
  // Somebody has an older view.
  EXPECT_EQ(users.of(before, Uid{2}).size(), 1u);
  EXPECT_EQ(ids(2), (IdSet{2, 4}));
  users.forget_unused();
  users.forget_unused();
  EXPECT_EQ(ids(2), (IdSet{2, 4}));
}

TEST(UserJobs, OfNowIsNoLongWork) {
  World world{2};
  UserJobs users;
  const auto submit = [&](int count) {
    for (int i = 0; i < count; ++i) {
      model::JobSpec spec = state::spec();
      spec.uid = Uid{static_cast<std::uint32_t>(i % 10)};
      world.submit(std::move(spec));
    }
  };
  const auto count = [&]() -> std::optional<std::size_t> {
    const auto found = users.of_now(world.view(), Uid{1});
    return found ? std::optional(found->size()) : std::nullopt;
  };
  submit(100);
  EXPECT_EQ(count(), 10u) << "there are few";
  world.now += minutes(1);
  submit(1900);
  EXPECT_EQ(count(), std::nullopt) << "too much has happened, perhaps";
  EXPECT_EQ(users.of(world.view(), Uid{1}).size(), 200u);
  EXPECT_EQ(count(), 200u) << "somebody asked a moment ago";
  submit(10);  // each takes a second here
  EXPECT_EQ(count(), std::nullopt);
  EXPECT_EQ(users.of(world.view(), Uid{1}).size(), 201u);
  EXPECT_EQ(count(), 201u);
}

}  // namespace
}  // namespace spur::ctld
