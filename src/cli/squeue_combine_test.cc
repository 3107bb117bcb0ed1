// SPDX-License-Identifier: Apache-2.0
#include "cli/squeue_combine.h"

#include <gtest/gtest.h>

#include "model/job.h"

namespace spur::cli {
namespace {

struct Queue {
  wire::JobTable table;
  std::shared_ptr<model::JobSpec> spec = std::make_shared<model::JobSpec>();
  Queue() {
    spec->name = "a";
    spec->partitions = {"debug"};
    spec->array.emplace().max_running = 2;
  }
  model::Job& add(std::uint32_t id, model::JobState state = model::JobState::Pending) {
    auto job = std::make_shared<model::Job>();
    job->id = JobId{id};
    job->spec = spec;
    job->state = state;
    job->reason = model::Reason::JobHeldUser;
    table.jobs.push_back(job);
    table.planned_nodes.push_back("n" + std::to_string(id));
    return *job;
  }
  void add_rest(std::uint32_t id, std::uint32_t first, std::uint32_t last) {
    auto tasks = std::make_shared<IndexSet>();
    tasks->insert_range(first, last);
    model::Job& job = add(id);
    job.array_job = JobId{id};
    job.array_max_running = 2;
    job.array_pending = std::move(tasks);
  }
  model::Job& add_task(std::uint32_t id, std::uint32_t array, std::uint32_t task) {
    model::Job& job = add(id);
    job.array_job = JobId{array};
    job.array_task = task;
    return job;
  }
};

TEST(SqueueCombine, TasksThatWaitGoWithTheirArray) {
  Queue queue;
  queue.add_rest(5, 3, 6);
  queue.add(6);
  queue.add_task(7, 5, 1).reason = model::Reason::None;
  queue.add_task(8, 5, 2);
  queue.add_task(9, 5, 0).state = model::JobState::Running;
  EXPECT_TRUE(has_split_tasks(queue.table));
  const wire::JobTable table = with_tasks_combined(queue.table);
  ASSERT_EQ(table.jobs.size(), 3u);
  EXPECT_EQ(table.jobs[0]->array_pending->to_string(), "1-6");
  EXPECT_EQ(table.jobs[0]->spec->array->max_running, 0u);
  EXPECT_EQ(table.jobs[0]->array_max_running, 0u);
  EXPECT_EQ(table.jobs[0]->reason_detail, "JobHeldUser,None");
  EXPECT_EQ(table.jobs[1]->id, JobId{6});
  EXPECT_EQ(table.jobs[2]->id, JobId{9});
  EXPECT_EQ(table.planned_nodes, (std::vector<std::string>{"n5", "n6", "n9"}));
  EXPECT_FALSE(has_split_tasks(table));
}

TEST(SqueueCombine, ThoseThatDifferStayAlone) {
  Queue queue;
  queue.add_rest(5, 3, 6);
  auto other = std::make_shared<model::JobSpec>(*queue.spec);
  other->name = "b";
  queue.add_task(7, 5, 1).spec = other;
  queue.add_task(8, 9, 1);  // of an array of which nothing else is in the list
  const wire::JobTable table = with_tasks_combined(queue.table);
  ASSERT_EQ(table.jobs.size(), 3u);
  EXPECT_EQ(table.jobs[0], queue.table.jobs[0]) << "nothing is copied";
}

}  // namespace
}  // namespace spur::cli
