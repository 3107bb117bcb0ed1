// SPDX-License-Identifier: Apache-2.0
#include "ctld/allocation_holders.h"

#include <gtest/gtest.h>

#include "state/test_world.h"

namespace spur::ctld {
namespace {

class Holders : public testing::Test {
 protected:
  Holders() {
    model::JobSpec spec = state::spec("shell");
    spec.kind = model::JobKind::Interactive;
    held_ = world_.submit(spec);
    world_.start(held_, state::World::on(0, {0}));
    limit(seconds(6));
  }
  void limit(seconds value) {
    model::ClusterConfig config = *world_.view().config;
    config.inactive_limit = value;
    world_.must(state::SetConfig{config});
  }
  std::vector<JobId> look(int second) { return holders_.take_abandoned(world_.view(), seconds(second)); }
  using Jobs = std::vector<JobId>;

  state::World world_{2, 4};
  std::uint32_t held_ = 0;
  AllocationHolders holders_;
  bool gone_ = false;
};

TEST_F(Holders, WhoIsGoneForSoLongLosesTheAllocation) {
  EXPECT_TRUE(look(1).empty()) << "nobody held it: salloc --no-shell";
  holders_.attend(JobId{held_}, [this] { return gone_; }, seconds(10));
  EXPECT_TRUE(look(60).empty());
  gone_ = true;
  EXPECT_TRUE(look(61).empty());
  EXPECT_TRUE(look(65).empty());
  EXPECT_EQ(look(66), Jobs{JobId{held_}});
  EXPECT_TRUE(look(67).empty()) << "told once";
}

TEST_F(Holders, WhoComesBackInTimeKeepsIt) {
  holders_.attend(JobId{held_}, [this] { return gone_; }, seconds(10));
  gone_ = true;
  EXPECT_TRUE(look(14).empty());
  holders_.attend(JobId{held_}, [] { return false; }, seconds(15));
  EXPECT_TRUE(look(100).empty());
}

TEST_F(Holders, WithoutALimitOrInARootOnlyPartitionNobodyLosesAnything) {
  limit(seconds(0));
  gone_ = true;
  holders_.attend(JobId{held_}, [this] { return gone_; }, seconds(10));
  EXPECT_EQ(holders_.next(world_.view()), Duration::max());
  EXPECT_TRUE(look(1000).empty());
  limit(seconds(6));
  EXPECT_LT(holders_.next(world_.view()), Duration::max());
  model::ClusterConfig config = *world_.view().config;
  for (model::PartitionConfig& partition : config.partitions) partition.root_only = true;
  world_.must(state::SetConfig{config});
  EXPECT_TRUE(look(2000).empty());
}

TEST_F(Holders, AJobThatIsOverIsForgotten) {
  gone_ = true;
  holders_.attend(JobId{held_}, [this] { return gone_; }, seconds(10));
  world_.must(state::CancelJob{.target = {JobId{held_}, {}},
                               .final_state = model::JobState::Cancelled,
                               .reason = model::Reason::None,
                               .by_user = true,
                               .by = {},
                               .exit = {}});
  EXPECT_TRUE(look(100).empty());
  EXPECT_EQ(holders_.next(world_.view()), Duration::max());
}

}  // namespace
}  // namespace spur::ctld
