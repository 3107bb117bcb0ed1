// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "sched/plan.h"
#include "sched/submit_check.h"
#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

using model::JobSpec;

class SubmitCheck : public testing::Test {
 protected:
  SubmitCheck() {
    cluster_.add_nodes(4, 4);
    cluster_.node(0).features = cluster_.node(0).active_features = {"red"};
    cluster_.node(1).hardware.gres = {{"gpu", "a", 2, ""}};
    cluster_.config->licenses = {{"lic", 2}};
    cluster_.config->max_array_size = 1001;
    cluster_.config->max_script_bytes = 10;
    cluster_.add_partition("main");
    auto& small = cluster_.add_partition("small", {2, 3});
    small.max_time = TimeLimit::of_minutes(10);
    small.max_nodes = 1;
    small.max_memory_per_node_mib = 500;
    cluster_.add_partition("down").state = model::PartitionState::Down;
    cluster_.add_partition("drain").state = model::PartitionState::Drain;
    cluster_.add_partition("inactive").state = model::PartitionState::Inactive;
    cluster_.add_partition("root").root_only = true;
  }
  std::optional<Error> refusal(const std::function<void(JobSpec&)>& edit) {
    JobSpec spec;
    spec.uid = Uid(1000);
    edit(spec);
    model::View view = cluster_.view();
    view.as_of = at_minute(100);
    const Status status = check_submit(view, spec);
    // One who remembers says the same.
    SubmitChecker checker;
    for (int i = 0; i < 2; ++i) EXPECT_EQ(checker.check(view, spec).has_value(), status.has_value());
    if (status) return std::nullopt;
    return status.error();
  }
  TestCluster cluster_;
};

TEST_F(SubmitCheck, Refuses) {
  using Per = model::GresRequest::Per;
  using enum ErrorCode;
  const struct {
    const char* what;
    std::function<void(JobSpec&)> edit;
    ErrorCode code;
  } rows[] = {
      {"unknown partition", [](auto& s) { s.partitions = {"nosuch"}; }, InvalidPartition},
      {"one unknown of two", [](auto& s) { s.partitions = {"main", "nosuch"}; }, InvalidPartition},
      {"drained partition", [](auto& s) { s.partitions = {"drain"}; }, PartitionUnavailable},
      {"inactive partition", [](auto& s) { s.partitions = {"inactive"}; }, PartitionUnavailable},
      {"root only", [](auto& s) { s.partitions = {"root"}; }, PermissionDenied},
      {"unknown node", [](auto& s) { s.required_nodes = "n9"; }, InvalidNode},
      {"unknown excluded node", [](auto& s) { s.excluded_nodes = "n9"; }, InvalidNode},
      {"bad hostlist", [](auto& s) { s.required_nodes = "n[1-"; }, InvalidNode},
      {"required and excluded", [](auto& s) { s.required_nodes = "n1", s.excluded_nodes = "n1"; }, InvalidNode},
      {"node of another partition", [](auto& s) { s.partitions = {"small"}, s.required_nodes = "n1"; },
       NodeConfigUnavailable},
      {"more names than nodes", [](auto& s) { s.required_nodes = "n[1-3]", s.max_nodes = 2; }, InvalidNodeCount},
      {"all excluded", [](auto& s) { s.excluded_nodes = "n[1-4]"; }, NodeConfigUnavailable},
      {"unknown feature", [](auto& s) { s.features = "blue"; }, InvalidFeature},
      {"one unknown feature", [](auto& s) { s.features = "red|blue"; }, InvalidFeature},
      {"feature grammar", [](auto& s) { s.features = "red&"; }, InvalidFeature},
      {"feature of too few nodes", [](auto& s) { s.features = "red", s.min_nodes = 2; }, NodeConfigUnavailable},
      {"unknown gres", [](auto& s) { s.gres = {{"disk", "", 1, Per::Node}}; }, InvalidGres},
      {"unknown type", [](auto& s) { s.gres = {{"gpu", "b", 1, Per::Node}}; }, NodeConfigUnavailable},
      {"too many GPUs", [](auto& s) { s.gres = {{"gpu", "", 3, Per::Node}}; }, NodeConfigUnavailable},
      {"unknown license", [](auto& s) { s.licenses = {{"foo", 1}}; }, InvalidLicense},
      {"too many licenses", [](auto& s) { s.licenses = {{"lic", 3}}; }, InvalidLicense},
      {"too much memory", [](auto& s) { s.memory_per_node_mib = 1001; }, NodeConfigUnavailable},
      {"too much per CPU", [](auto& s) { s.memory_per_cpu_mib = 1001; }, NodeConfigUnavailable},
      {"over MaxMemPerNode", [](auto& s) { s.partitions = {"small"}, s.memory_per_node_mib = 600; }, InvalidMemory},
      {"deadline in the past", [](auto& s) { s.deadline = at_minute(99); }, InvalidTimeLimit},
      {"deadline before begin", [](auto& s) { s.deadline = at_minute(150), s.begin = at_minute(160); },
       InvalidTimeLimit},
      {"minimum over limit",
       [](auto& s) { s.time_min = TimeLimit::of_minutes(9), s.time_limit = TimeLimit::of_minutes(8); },
       InvalidTimeMin},
      {"array too large", [](auto& s) { s.array.emplace().tasks.insert(1001); }, InvalidArray},
      {"empty array", [](auto& s) { s.array.emplace(); }, InvalidArray},
      {"large script", [](auto& s) { s.script = std::make_shared<std::string>("#!/bin/sh\n\n"); }, JobScriptTooLarge},
      {"long name", [](auto& s) { s.name.assign(1025, 'x'); }, JobScriptTooLarge},
      {"long comment", [](auto& s) { s.comment.assign(1025, 'x'); }, JobScriptTooLarge},
      {"long output file", [](auto& s) { s.std_out.assign(4097, 'x'); }, JobScriptTooLarge},
      {"long node list", [](auto& s) { s.required_nodes.assign(65537, 'x'); }, JobScriptTooLarge},
      {"long list of partitions", [](auto& s) { s.partitions.assign(300, "main"); }, JobScriptTooLarge},
      {"no tasks", [](auto& s) { s.tasks = 0; }, TooManyTasks},
      {"nodes upside down", [](auto& s) { s.min_nodes = 3, s.max_nodes = 2; }, InvalidNodeCount},
      {"reservation", [](auto& s) { s.reservation = "r"; }, InvalidReservation},
      {"exclusive=mcs", [](auto& s) { s.exclusive = model::Exclusive::Mcs; }, NotSupported},
  };
  for (const auto& row : rows) {
    const auto error = refusal(row.edit);
    ASSERT_TRUE(error) << row.what;
    EXPECT_EQ(name_of(error->code), name_of(row.code)) << row.what << ": " << error->message;
    EXPECT_FALSE(error->message.empty()) << row.what;
  }
  EXPECT_EQ(refusal([](auto& s) { s.partitions = {"nosuch"}; })->message, "invalid partition specified: nosuch");
  EXPECT_EQ(refusal([](auto& s) { s.memory_per_node_mib = 1001; })->message,
            "Memory specification can not be satisfied");
  // What no node can ever do, though the partition has as much in all.
  EXPECT_EQ(refusal([](auto& s) { s.cpus_per_task = 5; })->message, "CPU count per node can not be satisfied");
  EXPECT_EQ(refusal([](auto& s) { s.tasks_per_node = 5; })->message, "CPU count per node can not be satisfied");
  EXPECT_EQ(refusal([](auto& s) { s.sockets_per_node = 9; })->message,
            "Socket, core and/or thread specification can not be satisfied");
  // Who does not wait is told at once what others would wait for.
  EXPECT_EQ(refusal([](auto& s) { s.tasks = 999, s.immediate_seconds = 1; })->code, PartitionConfigUnavailable);
  EXPECT_EQ(refusal([](auto& s) { s.partitions = {"small"}, s.min_nodes = 2, s.immediate_seconds = 1; })->code,
            PartitionConfigUnavailable);
}

// Slurm takes these and lets them wait.
TEST_F(SubmitCheck, Accepts) {
  using Per = model::GresRequest::Per;
  const struct {
    const char* what;
    std::function<void(JobSpec&)> edit;
  } rows[] = {
      {"plain", [](auto&) {}},
      {"too many nodes", [](auto& s) { s.min_nodes = 99; }},
      {"too many tasks", [](auto& s) { s.tasks = 999; }},
      {"too many CPUs", [](auto& s) { s.cpus_per_task = 99; }},
      {"too many nodes for the partition", [](auto& s) { s.partitions = {"small"}, s.min_nodes = 2; }},
      {"too long for the partition",
       [](auto& s) { s.partitions = {"small"}, s.time_limit = TimeLimit::of_minutes(11); }},
      {"partition down", [](auto& s) { s.partitions = {"down"}; }},
      {"one open partition of two", [](auto& s) { s.partitions = {"drain", "main"}; }},
      {"root in the root-only one", [](auto& s) { s.partitions = {"root"}, s.uid = kRootUid; }},
      {"a GPU", [](auto& s) { s.gres = {{"gpu", "a", 2, Per::Node}}; }},
      {"a feature", [](auto& s) { s.features = "red"; }},
      {"all memory of a node", [](auto& s) { s.memory_per_node_mib = 1000; }},
      {"licenses", [](auto& s) { s.licenses = {{"lic", 2}}; }},
      {"last index", [](auto& s) { s.array.emplace().tasks.insert_range(0, 1000); }},
      {"a limit over the deadline",
       [](auto& s) { s.deadline = at_minute(110), s.time_limit = TimeLimit::of_minutes(20); }},
  };
  for (const auto& row : rows) {
    const auto error = refusal(row.edit);
    EXPECT_FALSE(error) << row.what << ": " << error->message;
  }
  // A node that is down now will be back.
  for (std::uint32_t n = 0; n < 4; ++n) cluster_.node(n).down = true;
  EXPECT_FALSE(refusal([](auto& s) { s.features = "red"; }));
}

TEST_F(SubmitCheck, EnforcedLimits) {
  const auto code = [&](const std::function<void(JobSpec&)>& edit) {
    const auto error = refusal(edit);
    return error ? std::string(name_of(error->code)) : "";
  };
  const auto both_but_too_long = [](auto& s) {
    s.partitions = {"small", "main"}, s.time_limit = TimeLimit::of_minutes(11);
  };
  for (const auto enforce : {model::EnforcePartitionLimits::Any, model::EnforcePartitionLimits::All}) {
    cluster_.config->enforce_partition_limits = enforce;
    EXPECT_EQ(code([](auto&) {}), "");
    EXPECT_EQ(code([](auto& s) { s.min_nodes = 99; }), "NodeConfigUnavailable");
    EXPECT_EQ(code([](auto& s) { s.tasks = 999; }), "NodeConfigUnavailable");
    EXPECT_EQ(code([](auto& s) { s.partitions = {"small"}, s.min_nodes = 2; }), "InvalidNodeCount");
    EXPECT_EQ(code([](auto& s) { s.partitions = {"small"}, s.time_limit = TimeLimit::of_minutes(11); }),
              "InvalidTimeLimit");
    EXPECT_EQ(code([](auto& s) { s.partitions = {"small"}, s.time_limit = TimeLimit::of_minutes(10); }), "");
    EXPECT_EQ(code([](auto& s) { s.partitions = {"down"}; }), "");
    const bool all = enforce == model::EnforcePartitionLimits::All;
    EXPECT_EQ(code(both_but_too_long), all ? "InvalidTimeLimit" : "");
    EXPECT_EQ(code([](auto& s) { s.partitions = {"drain", "main"}; }), all ? "PartitionUnavailable" : "");
  }
}

TEST_F(SubmitCheck, NoDefaultPartition) {
  TestCluster cluster;
  cluster.add_nodes(1, 1);
  cluster.add_partition("p").is_default = false;
  const Status status = check_submit(cluster.view(), {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::DefaultPartitionMissing);
}

// What was possible once is not for ever.
TEST_F(SubmitCheck, RememberedWishesEndWithTheirNodes) {
  JobSpec gpus, longer;
  gpus.gres = {{"gpu", "a", 2, model::GresRequest::Per::Node}};
  longer.partitions = {"small"};
  longer.time_limit = TimeLimit::of_minutes(20);
  longer.exclusive = model::Exclusive::Node;
  SubmitChecker checker;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(checker.check(cluster_.view(), gpus));
    EXPECT_TRUE(checker.check(cluster_.view(), longer));
  }
  cluster_.node(1).hardware.gres[0].count = 1;
  EXPECT_FALSE(check_submit(cluster_.view(), gpus));
  EXPECT_FALSE(checker.check(cluster_.view(), gpus));
  cluster_.config->enforce_partition_limits = model::EnforcePartitionLimits::All;
  EXPECT_FALSE(checker.check(cluster_.view(), longer));
  longer.time_limit = TimeLimit::of_minutes(10);
  EXPECT_TRUE(checker.check(cluster_.view(), longer));
  longer.time_limit = TimeLimit::of_minutes(11);
  EXPECT_FALSE(checker.check(cluster_.view(), longer));
}

}  // namespace
}  // namespace spur::sched
