// SPDX-License-Identifier: Apache-2.0
#include "sched/placement.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace spur::sched {
namespace {

Offer offer(NodeNumber node, std::uint32_t tasks, std::int32_t cpus, std::uint32_t weight = 1,
            std::int32_t gres = 0) {
  Offer made;
  made.node = node;
  made.tasks = tasks;
  made.cpus = cpus;
  made.weight = weight;
  made.gres = gres;
  made.job_gres[0] = gres;
  return made;
}

// "node:tasks[+gres]" joined by blanks.
std::string chosen(const Request& request, const std::vector<Offer>& offers) {
  std::string out;
  for (const auto& share : choose(request, offers)) {
    if (!out.empty()) out += ' ';
    out += fmt::format("{}:{}", share.node, share.tasks);
    if (share.job_gres[0]) out += fmt::format("+{}", share.job_gres[0]);
  }
  return out;
}

Request nodes(std::uint32_t least, std::uint32_t most = kNoLimit) {
  Request request;
  request.min_nodes = least;
  request.max_nodes = most;
  request.tasks = request.tasks_per_node = 1;
  return request;
}
Request tasks(std::uint32_t count, std::uint32_t least_nodes = 1, std::uint32_t most_nodes = kNoLimit) {
  Request request = nodes(least_nodes, most_nodes);
  request.tasks_fixed = true;
  request.tasks = count;
  request.tasks_per_node = 0;
  return request;
}

TEST(Placement, OneNode) {
  EXPECT_EQ(chosen(nodes(1), {}), "");
  EXPECT_EQ(chosen(nodes(1), {offer(0, 1, 8), offer(1, 1, 2), offer(2, 1, 2)}), "1:1");  // best fit, then number
  EXPECT_EQ(chosen(nodes(1), {offer(0, 1, 1, 5), offer(1, 1, 8, 1)}), "1:1");            // weight first
  EXPECT_EQ(chosen(nodes(1), {offer(0, 1, 1, 1, 4), offer(1, 1, 8, 1, 0)}), "1:1");      // spare the GPUs
  Request least_loaded = nodes(1);
  least_loaded.least_loaded = true;
  EXPECT_EQ(chosen(least_loaded, {offer(0, 1, 2), offer(1, 1, 8)}), "1:1");
}

TEST(Placement, AsFewNodesAsTheTasksNeed) {
  EXPECT_EQ(chosen(tasks(4), {offer(0, 2, 2), offer(1, 4, 8), offer(2, 4, 4)}), "2:4");
  EXPECT_EQ(chosen(tasks(6), {offer(0, 2, 2), offer(1, 3, 3), offer(2, 4, 4)}),
            "0:2 2:4");  // roomiest, then best fit
  EXPECT_EQ(chosen(tasks(9), {offer(0, 2, 2), offer(1, 3, 3), offer(2, 4, 4)}), "0:2 1:3 2:4");
  EXPECT_EQ(chosen(tasks(10), {offer(0, 2, 2), offer(1, 3, 3), offer(2, 4, 4)}), "");
  EXPECT_EQ(chosen(tasks(6, 1, 1), {offer(0, 4, 4), offer(1, 5, 5)}), "");  // at most one node
  EXPECT_EQ(chosen(tasks(6, 1, 2), {offer(0, 4, 4), offer(1, 1, 1), offer(2, 2, 2)}), "0:4 2:2");
}

TEST(Placement, SoManyNodes) {
  EXPECT_EQ(chosen(nodes(2), {offer(0, 1, 8), offer(1, 1, 4), offer(2, 1, 2)}), "1:1 2:1");
  EXPECT_EQ(chosen(nodes(4), {offer(0, 1, 8), offer(1, 1, 4), offer(2, 1, 2)}), "");
  EXPECT_EQ(chosen(tasks(6, 3), {offer(0, 4, 4), offer(1, 4, 4), offer(2, 4, 4)}), "0:4 1:1 2:1");
  EXPECT_EQ(chosen(tasks(2, 3), {offer(0, 4, 4), offer(1, 4, 4), offer(2, 4, 4)}), "0:1 1:1 2:0");
  Request even = tasks(6, 3);
  even.exclusive = true;
  EXPECT_EQ(chosen(even, {offer(0, 4, 4), offer(1, 4, 4), offer(2, 4, 4)}), "0:2 1:2 2:2");
  EXPECT_EQ(chosen(even, {offer(0, 1, 4), offer(1, 4, 4), offer(2, 4, 4)}), "0:1 1:3 2:2");
}

TEST(Placement, RangeOfNodes) {
  Request range = nodes(1, 3);
  range.spread = true;
  EXPECT_EQ(chosen(range, {offer(0, 1, 4), offer(1, 1, 4), offer(2, 1, 4), offer(3, 1, 4)}), "0:1 1:1 2:1");
  EXPECT_EQ(chosen(range, {offer(0, 1, 4), offer(3, 1, 4)}), "0:1 3:1");
  Request with_tasks = tasks(2, 1, 3);
  with_tasks.spread = true;
  EXPECT_EQ(chosen(with_tasks, {offer(0, 2, 4), offer(1, 2, 4), offer(2, 2, 4)}),
            "0:1 1:1");  // not more nodes than tasks
}

TEST(Placement, WeightsBeforeFewerNodes) {
  EXPECT_EQ(chosen(tasks(4), {offer(0, 2, 2, 1), offer(1, 2, 2, 1), offer(2, 8, 8, 9)}), "0:2 1:2");
  EXPECT_EQ(chosen(tasks(5), {offer(0, 2, 2, 1), offer(1, 2, 2, 1), offer(2, 8, 8, 9)}), "2:5");
}

TEST(Placement, RequiredNodes) {
  Request request = tasks(3);
  request.required = {2};
  EXPECT_EQ(chosen(request, {offer(0, 4, 4), offer(1, 4, 4)}), "");
  EXPECT_EQ(chosen(request, {offer(0, 4, 4), offer(1, 2, 2), offer(2, 1, 1)}), "1:2 2:1");
  EXPECT_EQ(chosen(request, {offer(0, 4, 4, 1), offer(2, 4, 4, 9)}), "2:3");  // whatever its weight
}

TEST(Placement, GresPerJob) {
  Request request = nodes(1);
  request.gres_per_job.push_back({{2}, 6});
  EXPECT_EQ(chosen(request, {offer(0, 1, 4, 1, 4), offer(1, 1, 4, 1, 2), offer(2, 1, 4, 1, 3)}), "0:1+4 1:1+2");
  EXPECT_EQ(chosen(request, {offer(0, 1, 4, 1, 8), offer(1, 1, 4, 1, 6)}), "1:1+6");
  EXPECT_EQ(chosen(request, {offer(0, 1, 4, 1, 2), offer(1, 1, 4, 1, 3)}), "");
  request.min_nodes = 3;
  EXPECT_EQ(chosen(request, {offer(0, 1, 4, 1, 8), offer(1, 1, 4, 1, 8), offer(2, 1, 4, 1, 8)}), "0:1+4 1:1+1 2:1+1");
}

TEST(Placement, PrefersOneNode) {
  EXPECT_TRUE(prefers_one_node(nodes(1), false));
  EXPECT_TRUE(prefers_one_node(tasks(1), false));
  EXPECT_TRUE(prefers_one_node(tasks(4, 1, 1), false));
  EXPECT_TRUE(prefers_one_node(tasks(4), true));
  EXPECT_FALSE(prefers_one_node(tasks(4), false));  // several light nodes go before a heavy one
  EXPECT_FALSE(prefers_one_node(nodes(2), true));
}

}  // namespace
}  // namespace spur::sched
