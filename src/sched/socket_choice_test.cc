// SPDX-License-Identifier: Apache-2.0
#include "sched/socket_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "sched/feasibility.h"
#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

using Per = model::GresRequest::Per;

// One node of two sockets with four CPUs each; GPUs 0 and 1 are near the first, 2 and 3 near the second.
struct TwoSockets {
  TwoSockets() {
    auto& node = cluster.add_node("n1", 8);
    node.hardware.sockets = 2;
    node.hardware.cores_per_socket = 4;
    node.hardware.gres = {{"gpu", "", 2, "", "0-3"}, {"gpu", "", 2, "", "4-7"}};
    cluster.add_partition("p");
    view = cluster.view();
  }
  TestCluster cluster;
  model::View view;
};

// "tasks: CPUs by socket / GPUs" of what a request gets on the empty node but for the GPUs and CPUs that are taken
// away.
std::string given(const std::function<void(model::JobSpec&)>& edit, const std::vector<int>& gone_gpus = {},
                  Amount gone_cpus_of_first = 0) {
  TwoSockets two;
  const Capacity capacity(two.view);
  const NodeLayout& layout = capacity.layout(0);
  model::JobSpec spec;
  edit(spec);
  const auto request = make_request(two.view, capacity.columns(), spec, 0, {});
  if (!request) return request.error().message;
  std::vector<Amount> row(capacity.free(0), capacity.free(0) + capacity.width());
  for (const int gpu : gone_gpus) row[layout.groups[0].devices[static_cast<std::size_t>(gpu)].column] = 0;
  row[layout.first_socket] -= gone_cpus_of_first;
  row[Columns::kCpu] -= gone_cpus_of_first;
  const Offer offer = make_offer(*request, capacity, 0, row.data());
  if (offer.tasks == 0) return "nothing";
  JobGres job_gres{};
  for (std::size_t i = 0; i < request->gres_per_job.size(); ++i)
    job_gres[i] = static_cast<std::int32_t>(std::min<Amount>(offer.job_gres[i], request->gres_per_job[i].count));
  std::vector<Amount> take(capacity.width());
  take_of_share(*request, capacity, {0, offer.tasks, job_gres}, kAllRails, row.data(), take.data());
  std::vector<int> gpus;
  for (std::size_t d = 0; d < 4; ++d)
    if (take[layout.groups[0].devices[d].column] > 0) gpus.push_back(static_cast<int>(d));
  return fmt::format("{}: {}+{} / {}", offer.tasks, take[layout.first_socket], take[layout.first_socket + 1],
                     fmt::join(gpus, ","));
}

void bound(model::JobSpec& spec, std::uint32_t tasks, std::uint64_t gpus, Per per) {
  spec.tasks = tasks;
  spec.gres = {{"gpu", "", gpus, per}};
  spec.gres_flags = model::kGresEnforceBinding;
}

TEST(SocketChoice, CpusOnlyNearTheGpus) {
  EXPECT_EQ(given([](auto& s) { bound(s, 1, 1, Per::Node); }), "1: 1+0 / 0");
  EXPECT_EQ(given([](auto& s) { bound(s, 6, 1, Per::Node); }), "4: 4+0 / 0") << "no more than one socket has";
  EXPECT_EQ(given([](auto& s) { bound(s, 6, 3, Per::Node); }), "6: 3+3 / 0,1,2");
  EXPECT_EQ(given([](auto& s) { bound(s, 1, 1, Per::Node); }, {}, 4), "1: 0+1 / 2") << "a GPU that has CPUs near it";
  EXPECT_EQ(given([](auto& s) { bound(s, 4, 2, Per::Job); }), "4: 4+0 / 0,1");
  EXPECT_EQ(given([](auto& s) { bound(s, 2, 1, Per::Task); }, {0, 2}), "2: 1+1 / 1,3");
}

TEST(SocketChoice, NoGpuWithoutACpuNearIt) {
  EXPECT_EQ(given([](auto& s) { bound(s, 1, 2, Per::Node); }, {0, 2}), "nothing") << "one core cannot be near both";
  EXPECT_EQ(given([](auto& s) { bound(s, 2, 2, Per::Node); }, {0, 2}), "2: 1+1 / 1,3");
  EXPECT_EQ(given([](auto& s) { bound(s, 1, 2, Per::Node); }, {0}), "1: 0+1 / 2,3");
  EXPECT_EQ(given([](auto& s) { s.tasks = 1, s.gres = {{"gpu", "", 2, Per::Node}}; }, {0, 2}), "1: 1+0 / 1,3")
      << "unless that is not asked for";
}

TEST(SocketChoice, GpusOfEachSocket) {
  const auto per_socket = [](std::uint64_t gpus, std::uint32_t sockets, std::uint32_t tasks) {
    return [=](model::JobSpec& spec) {
      spec.tasks = tasks;
      spec.sockets_per_node = sockets;
      spec.gres = {{"gpu", "", gpus, Per::Socket}};
    };
  };
  EXPECT_EQ(given(per_socket(1, 2, 1)), "1: 1+0 / 0,2");
  EXPECT_EQ(given(per_socket(2, 2, 4)), "4: 2+2 / 0,1,2,3");
  EXPECT_EQ(given(per_socket(2, 1, 2)), "2: 2+0 / 0,1");
  EXPECT_EQ(given(per_socket(2, 1, 2), {1}), "2: 0+2 / 2,3");
  EXPECT_EQ(given(per_socket(2, 2, 2), {1}), "nothing");
  EXPECT_EQ(given(per_socket(3, 1, 1)), "nothing");
  EXPECT_EQ(given([](auto& s) { s.gres = {{"gpu", "", 1, Per::Socket}}; }), "gres gpu per socket of how many?");
}

}  // namespace
}  // namespace spur::sched
