// SPDX-License-Identifier: Apache-2.0
#include "sim/story.h"

#include <gtest/gtest.h>

#include <set>

namespace spur::sim {
namespace {

TEST(Story, IsWhatItsTextSays) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Story story = make_story(seed, 0);
    const auto again = parse_story(print_story(story));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, story);
  }
}

TEST(Story, SeedsMakeDifferentWorlds) {
  std::set<std::uint64_t> controllers, nodes, pieces;
  std::set<FaultKind> kinds;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Story story = make_story(seed, 0);
    controllers.insert(story.controllers);
    nodes.insert(story.nodes);
    pieces.insert(story.piece_bytes);
    for (const Fault& fault : story.faults) kinds.insert(fault.kind);
  }
  EXPECT_EQ(controllers, (std::set<std::uint64_t>{1, 3}));
  EXPECT_EQ(nodes.size(), 6u);
  EXPECT_GT(pieces.size(), 20u);
  EXPECT_EQ(kinds.size(), 20u) << "every fault comes up";
}

TEST(Story, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"sead 1\n", "seed x\n", "seed\n", "controllers 2\n", "nodes 0\n", "at 1 nonsense 0 0 lasts 1 amount 1\n",
                           "at 1 crash-controller 1 0 lasts 1 amount 0\n", "at 1 cut-node 1 0 lasts 1 amount 0\n",
                           "at 1 cut-node 0 0 lasts 1\n"})
    EXPECT_FALSE(parse_story(text)) << text;
  const auto some = parse_story("# why\nseed 7\nnodes 2\nat 5 cut-node 1 0 lasts 9 amount -3\n");
  ASSERT_TRUE(some);
  EXPECT_EQ(some->seed, 7u);
  ASSERT_EQ(some->faults.size(), 1u);
  EXPECT_EQ(some->faults[0].amount, -3);
}

}  // namespace
}  // namespace spur::sim
