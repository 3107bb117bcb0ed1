// SPDX-License-Identifier: Apache-2.0
#include "stepd/job_message.h"

#include <gtest/gtest.h>
#include <time.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "os/test_directory.h"

namespace spur::stepd {
namespace {

TEST(JobMessage, EndsInSlurmsWords) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  const Time at = from_unix_seconds(1794766786);
  using model::JobState;
  struct Row {
    JobState why;
    const char* text;
  };
  for (const Row& row :
       {Row{JobState::Cancelled, "*** JOB 1 ON n1 CANCELLED AT 2026-11-15T18:19:46 ***"},
        Row{JobState::Timeout, "*** JOB 1 ON n1 CANCELLED AT 2026-11-15T18:19:46 DUE TO TIME LIMIT ***"},
        Row{JobState::Preempted, "*** JOB 1 ON n1 CANCELLED AT 2026-11-15T18:19:46 DUE TO PREEMPTION ***"},
        Row{JobState::Pending, "*** JOB 1 ON n1 CANCELLED AT 2026-11-15T18:19:46 DUE TO JOB REQUEUE ***"},
        Row{JobState::NodeFail,
            "*** JOB 1 ON n1 CANCELLED AT 2026-11-15T18:19:46 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS "
            "***"},
        Row{JobState::Failed, "*** JOB 1 ON n1 FAILED (non-zero exit code or other failure mode) ***"}})
    EXPECT_EQ(end_message("JOB 1", "n1", at, row.why), row.text);
  EXPECT_EQ(message_prefix(), "slurmstepd: error: ");
  EXPECT_EQ(message_prefix("n1"), "slurmstepd-n1: error: ");
}

TEST(JobMessage, ExecFailures) {
  const os::TestDirectory dir;
  std::ofstream(dir / "script") << "#! /nonexistent/sh -x\necho hi\n";
  std::ofstream(dir / "plain") << "echo hi\n";
  EXPECT_EQ(exec_message(dir / "script", ENOENT),
            "execve(): bad interpreter(/nonexistent/sh): No such file or directory");
  EXPECT_EQ(exec_message(dir / "plain", ENOEXEC), "execve(): " + (dir / "plain") + ": Exec format error");
  EXPECT_EQ(exec_message("/nonexistent", ENOENT), "execve(): /nonexistent: No such file or directory");
  EXPECT_EQ(exec_message("/etc/passwd", EACCES), "execve(): /etc/passwd: Permission denied");
}

}  // namespace
}  // namespace spur::stepd
