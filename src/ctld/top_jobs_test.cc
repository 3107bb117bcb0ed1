// SPDX-License-Identifier: Apache-2.0
#include "ctld/top_jobs.h"

#include <gtest/gtest.h>

namespace spur::ctld {
namespace {

class TopJobs : public testing::Test {
 protected:
  void add(std::uint32_t id, std::uint32_t priority, std::int32_t nice = 0, std::uint32_t uid = 5) {
    auto spec = std::make_shared<model::JobSpec>();
    spec->uid = Uid{uid};
    spec->partitions = {"p"};
    spec->nice = nice;
    auto job = std::make_shared<model::Job>();
    job->id = JobId{id};
    job->spec = spec;
    job->priority = priority;
    if (priority == 0) job->hold = model::Hold::User;
    view_.jobs.set(id, job);
    view_.pending.set(id, job);
  }
  // "3:0 1:1": the new nice values.
  std::string top(std::vector<std::uint32_t> ids) {
    std::vector<JobId> jobs;
    for (const auto id : ids) jobs.emplace_back(id);
    const auto updates = top_jobs(view_, jobs, [](const model::Job& job) { return job.priority; });
    if (!updates) return updates.error().message;
    std::string out;
    for (const auto& update : *updates)
      out +=
          (out.empty() ? "" : " ") + std::to_string(update.target.id.value) + ":" + std::to_string(update.spec->nice);
    return out;
  }
  model::View view_;
};

TEST_F(TopJobs, DealsTheSamePrioritiesOutAnew) {  // as Slurm 22.05 was seen to do
  add(1, 100), add(2, 90, 10), add(3, 100), add(9, 500, 0, 6), add(8, 0);
  EXPECT_EQ(top({3}), "1:1 2:9");
  view_ = {};
  add(1, 99, 1), add(2, 91, 9), add(3, 100);
  EXPECT_EQ(top({2, 1}), "2:0 3:9");
}

TEST_F(TopJobs, LeavesAloneWhatIsInFront) {
  add(1, 100), add(2, 90);
  EXPECT_EQ(top({1}), "");
  add(3, 7, 0, 6);
  EXPECT_EQ(top({3}), "");
}

TEST_F(TopJobs, Refuses) {
  add(1, 100), add(2, 0), add(3, 50, 0, 6);
  EXPECT_EQ(top({7}), "Invalid job id specified");
  EXPECT_EQ(top({2}), "Job is in held state, pending scheduler release");
  EXPECT_EQ(top({1, 3}), "the jobs are not of one user, account, QOS and partition");
}

}  // namespace
}  // namespace spur::ctld
