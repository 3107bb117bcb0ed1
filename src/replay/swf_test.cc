// SPDX-License-Identifier: Apache-2.0
#include "replay/swf.h"

#include <gtest/gtest.h>

namespace spur::replay {
namespace {

TEST(Swf, ReadsHeaderAndJobs) {
  const SwfTrace trace = parse_swf(
      "; Computer: Linux cluster\n"
      ";MaxNodes: 12\n"
      "; MaxProcs:  96 in all\n"
      "; MaxProcs: 5\n"
      "; UnixStartTime: 1000\n"
      "\n"
      "  7 10 -1 60 8 1.5 -1 16 3600 -1 1 3 4 -1 2 1 -1 -1\r\n"
      "8\t11\t-1\t60\t-1\t-1\t-1\t16\t-1\t-1\t1\t-1\t-1\t-1\t-1\t-1\t-1\t-1\t0");
  EXPECT_EQ(trace.computer, "Linux cluster");
  EXPECT_EQ(trace.max_nodes, 12);
  EXPECT_EQ(trace.max_processors, 96);  // the first word wins
  EXPECT_EQ(trace.unix_start, 1000);
  EXPECT_EQ(trace.broken_lines, 0u);
  ASSERT_EQ(trace.jobs.size(), 2u);
  EXPECT_EQ(trace.jobs[0], (SwfJob{7, 10, 60, 8, 3600, 3, 4, 2, 1}));
  // Without what it was given, what it asked for counts.
  EXPECT_EQ(trace.jobs[1], (SwfJob{8, 11, 60, 16, -1, -1, -1, -1, -1}));
}

TEST(Swf, CountsBrokenLines) {
  const std::string good = "1 1 -1 60 8 -1 -1 8 60 -1 1 3 4 -1 2 1 -1 -1\n";
  for (const std::string bad : {
           "2 1 -1 60 8 -1 -1 8 60 -1 1 3 4 -1 2 1 -1\n",                       // 17 columns
           "2 1 -1 x 8 -1 -1 8 60 -1 1 3 4 -1 2 1 -1 -1\n",                     // no number
           "2 1 -1 99999999999999999999 8 -1 -1 8 60 -1 1 3 4 -1 2 1 -1 -1\n",  // overflow
           "2 9000000000000000 -1 6 8 -1 -1 8 60 -1 1 3 4 -1 2 1 -1 -1\n",      // beyond all time
           "2 -5 -1 60 8 -1 -1 8 60 -1 1 3 4 -1 2 1 -1 -1\n",                   // before the beginning
           "hello\n",
       }) {
    const SwfTrace trace = parse_swf("; x\n" + good + bad + bad + good);
    EXPECT_EQ(trace.jobs.size(), 2u) << bad;
    EXPECT_EQ(trace.broken_lines, 2u) << bad;
    EXPECT_EQ(trace.first_broken, 3u) << bad;
  }
  EXPECT_EQ(parse_swf("").jobs.size(), 0u);
}

}  // namespace
}  // namespace spur::replay
