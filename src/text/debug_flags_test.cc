// SPDX-License-Identifier: Apache-2.0
#include "text/debug_flags.h"

#include <gtest/gtest.h>

namespace spur::text {
namespace {

TEST(DebugFlags, AreKnownByNameInAnyCase) {
  EXPECT_EQ(find_debug_flag("backfill"), debug::kBackfill);
  EXPECT_EQ(find_debug_flag("BackfillMap") == debug::kBackfill, false);
  EXPECT_EQ(find_debug_flag("tracejobs"), debug::kTraceJobs);
  EXPECT_EQ(find_debug_flag("wibble"), std::nullopt);
  EXPECT_EQ(find_debug_flag(""), std::nullopt);
}

TEST(DebugFlags, AreAListBothWays) {
  EXPECT_EQ(parse_debug_flags("steps, AGENT,,Backfill"), debug::kSteps | debug::kAgent | debug::kBackfill);
  EXPECT_EQ(parse_debug_flags(""), 0u);
  EXPECT_EQ(parse_debug_flags("Steps,wibble"), std::nullopt);
  EXPECT_EQ(debug_flags_text(debug::kSteps | debug::kAgent), "Agent,Steps");
  EXPECT_EQ(debug_flags_text(0), "(null)");
}

}  // namespace
}  // namespace spur::text
