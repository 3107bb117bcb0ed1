// SPDX-License-Identifier: Apache-2.0
#include "model/job_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace spur::model {
namespace {

using enum JobState;

const std::vector<JobState> kFinal{Completed, Cancelled, Failed,   Timeout,    NodeFail,
                                   Preempted, BootFail,  Deadline, OutOfMemory};

// The arrows of the drawing in job_state.h, one by one.
std::set<std::pair<JobState, JobState>> arrows() {
  std::set<std::pair<JobState, JobState>> out{
      {Pending, Running},    // start
      {Pending, Cancelled},  // cancel before the start
      {Pending, Deadline},   //
      {Running, Suspended},  // suspend
      {Suspended, Running},  // resume
      {Running, Pending},    // requeue
      {Suspended, Pending},  //
  };
  for (const JobState end : kFinal) {
    out.insert({Running, end});
    out.insert({Suspended, end});
    out.insert({end, Pending});  // requeue of a finished job
  }
  return out;
}

TEST(JobState, MovesAsDrawn) {
  const auto drawn = arrows();
  for (int from = 0; from <= static_cast<int>(OutOfMemory); ++from)
    for (int to = 0; to <= static_cast<int>(OutOfMemory); ++to) {
      const auto move = std::make_pair(static_cast<JobState>(from), static_cast<JobState>(to));
      EXPECT_EQ(may_follow(move.first, move.second), drawn.contains(move))
          << base_name(move.first) << " to " << base_name(move.second);
    }
}

TEST(JobState, FinalAndActive) {
  for (int s = 0; s <= static_cast<int>(OutOfMemory); ++s) {
    const auto state = static_cast<JobState>(s);
    EXPECT_EQ(is_final(state), std::find(kFinal.begin(), kFinal.end(), state) != kFinal.end());
    EXPECT_EQ(is_active(state), state == Running || state == Suspended);
  }
}

TEST(JobState, Names) {
  struct Row {
    JobState state;
    std::uint32_t flags;
    const char *full, *brief;
  };
  const Row rows[] = {
      {Pending, 0, "PENDING", "PD"},
      {Running, 0, "RUNNING", "R"},
      {Suspended, 0, "SUSPENDED", "S"},
      {Completed, 0, "COMPLETED", "CD"},
      {Cancelled, 0, "CANCELLED", "CA"},
      {Failed, 0, "FAILED", "F"},
      {Timeout, 0, "TIMEOUT", "TO"},
      {NodeFail, 0, "NODE_FAIL", "NF"},
      {Preempted, 0, "PREEMPTED", "PR"},
      {BootFail, 0, "BOOT_FAIL", "BF"},
      {Deadline, 0, "DEADLINE", "DL"},
      {OutOfMemory, 0, "OUT_OF_MEMORY", "OOM"},
      {Failed, kCompleting, "COMPLETING", "CG"},
      {Running, kConfiguring, "CONFIGURING", "CF"},
      {Pending, kCompleting | kRequeued, "COMPLETING", "CG"},
      {Cancelled, kCompleting | kSignaling, "COMPLETING", "CG"},
      {Pending, kRequeued, "REQUEUED", "RQ"},
      {Pending, kRequeueHold, "REQUEUE_HOLD", "RH"},
      {Pending, kSpecialExit, "SPECIAL_EXIT", "SE"},
      {Running, kStopped, "STOPPED", "ST"},
      {Running, kSignaling, "SIGNALING", "SI"},
      {Completed, kStageOut, "STAGE_OUT", "SO"},
      {Running, kResizing, "RESIZING", "RS"},
      {Pending, kResvDelHold, "RESV_DEL_HOLD", "RD"},
      {Pending, kRevoked, "REVOKED", "RV"},
      {Pending, kRequeueFed, "REQUEUE_FED", "RF"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(long_name(row.state, row.flags), row.full);
    EXPECT_EQ(short_name(row.state, row.flags), row.brief);
  }
}

TEST(JobState, Filters) {
  struct Row {
    const char* word;
    JobState state;
    std::uint32_t flags;
    bool matches;
  };
  const Row rows[] = {
      {"PD", Pending, 0, true},
      {"pending", Pending, 0, true},
      {"Pending", Running, 0, false},
      {"cg", Failed, kCompleting, true},
      {"CG", Failed, 0, false},
      {"F", Failed, kCompleting, true},
      {"completing", Completed, 0, false},
      {"OOM", OutOfMemory, 0, true},
      {"special_exit", Pending, kSpecialExit, true},
  };
  for (const Row& row : rows) {
    const auto filter = parse_state(row.word);
    ASSERT_TRUE(filter) << row.word;
    EXPECT_EQ(filter->matches(row.state, row.flags), row.matches) << row.word;
  }
  for (const char* word : {"", "BOGUS", "PENDIN", "PENDINGS", "P", " PD"}) EXPECT_FALSE(parse_state(word)) << word;
}

TEST(JobState, ListForTheErrorMessage) {
  EXPECT_EQ(valid_state_names(),
            "PENDING,RUNNING,SUSPENDED,COMPLETED,CANCELLED,FAILED,TIMEOUT,NODE_FAIL,PREEMPTED,BOOT_FAIL,DEADLINE,"
            "OUT_OF_MEMORY,COMPLETING,CONFIGURING,RESIZING,RESV_DEL_HOLD,REQUEUED,REQUEUE_FED,REQUEUE_HOLD,REVOKED,"
            "SIGNALING,SPECIAL_EXIT,STAGE_OUT,STOPPED");
}

}  // namespace
}  // namespace spur::model
