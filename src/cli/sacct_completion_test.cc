// SPDX-License-Identifier: Apache-2.0
#include "cli/sacct_completion.h"

#include <gtest/gtest.h>

#include <fstream>

namespace spur::cli {
namespace {

constexpr std::string_view kLine =
    "JobId=5004 UserId=games(5) GroupId=users(60) Name=my job JobState=x JobState=COMPLETED Partition=short TimeLimit=10 "
    "StartTime=2026-11-19T21:31:15 EndTime=2026-11-19T22:31:18 NodeList=n[1-2] NodeCnt=2 ProcCnt=4 WorkDir=/a b "
    "ReservationName= Tres=cpu=4,mem=2000M,node=2,billing=4 Account=aa QOS=normal WcKey=* Cluster=diff "
    "SubmitTime=2026-11-19T21:31:12 EligibleTime=2026-11-19T21:31:12 ArrayJobId=5003 ArrayTaskId=2 DerivedExitCode=0:0 "
    "ExitCode=3:0 ";

TEST(SacctCompletion, FieldsOfALine) {
  const CompletedJob job = parse_completion(kLine);
  const std::pair<const char*, const char*> kWant[] = {
      {"JobID", "5004"}, {"User", "games(5)"}, {"UID", "5"}, {"GID", "60"}, {"Group", "users"}, {"JobName", "my job JobState=x"},
      {"State", "COMPLETED"}, {"Timelimit", "10"}, {"Elapsed", "01:00:03"}, {"ElapsedRaw", "3603"}, {"NodeList", "n[1-2]"},
      {"NNodes", "2"}, {"NCPUS", "4"}, {"WorkDir", "/a b"}, {"Reservation", ""}, {"AllocTRES", "cpu=4,mem=2000M,node=2,billing=4"},
      {"Account", "aa"}, {"WCKey", "*"}, {"Eligible", "2026-11-19T21:31:12"}, {"DerivedExitCode", "0:0"}, {"ExitCode", "3:0"},
      {"MaxRSS", ""}};
  for (const auto& [field, value] : kWant) EXPECT_EQ(completion_field(job, field), value) << field;
  EXPECT_TRUE(parse_completion("something else").empty());
  EXPECT_TRUE(parse_completion("").empty());
}

TEST(SacctCompletion, JobsOfAFile) {
  const std::string path = ::testing::TempDir() + "sacct_completion_log";
  std::ofstream(path) << kLine << "\nnoise\nJobId=7 UserId=a(1) GroupId=b(2) Name=n JobState=FAILED Partition=long TimeLimit=1\n";
  const auto count = [&](std::vector<std::uint32_t> jobs, std::vector<std::string> partitions) {
    const auto read = read_completions(path, jobs, partitions);
    return read ? static_cast<int>(read->size()) : -1;
  };
  EXPECT_EQ(count({}, {}), 2);
  EXPECT_EQ(count({7, 9}, {}), 1);
  EXPECT_EQ(count({}, {"short"}), 1);
  EXPECT_EQ(count({7}, {"short"}), 0);
  const auto missing = read_completions(path + ".none", {}, {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "open " + path + ".none: No such file or directory");
}

}  // namespace
}  // namespace spur::cli
