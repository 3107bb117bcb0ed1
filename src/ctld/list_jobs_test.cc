// SPDX-License-Identifier: Apache-2.0
#include "ctld/list_jobs.h"

#include <gtest/gtest.h>

#include <functional>

#include "state/test_world.h"
#include "wire/job_list_codec.h"

namespace spur::ctld {
namespace {

using state::World;
using wire::JobFilter;
using Ids = std::vector<std::uint32_t>;

class ListJobsTest : public testing::Test {
 protected:
  // 1 pending, 2 running on n1, 3 running on n2 of another user, 4 done, 5 an array of which task 0 (job 6) runs on
  // n1.
  ListJobsTest() {
    submit([](auto& s) { s.name = "first", s.account = "blue"; });
    submit([](auto& s) { s.name = "second"; });
    submit([](auto& s) { s.uid = Uid{2000}; });
    submit([](auto&) {});
    world_.start(2, World::on(0, {0}));
    world_.start(3, World::on(1, {0}));
    world_.start(4, World::on(0, {1}));
    world_.done(4, "n1");
    world_.submit(state::array_spec(0, 3));
    world_.start(5, World::on(0, {2}), 0);
  }
  void submit(const std::function<void(model::JobSpec&)>& change) {
    model::JobSpec spec = state::spec();
    spec.script = std::make_shared<const std::string>("#!/bin/sh\n");
    spec.environment = std::make_shared<const std::string>("SECRET=1");
    spec.rlimits.push_back({.resource = 1, .soft = 2});
    spec.partitions = {"main"};
    change(spec);
    world_.submit(std::move(spec));
  }
  Ids selected(const JobFilter& filter, bool* unknown = nullptr) const {
    JobChunks chunks(picture(), filter, {});
    Ids out;
    for (v1::JobChunk chunk; chunks.next(&chunk); chunk.Clear()) {
      for (const auto& job : chunk.jobs()) out.push_back(job.id());
      if (unknown && chunk.as_of_us()) *unknown = chunk.unknown_job();
    }
    EXPECT_TRUE(chunks.at_end());
    return out;
  }
  std::shared_ptr<const Picture> picture() const {
    auto expected = std::make_shared<ExpectedStarts>();
    const std::vector<NodeIndex> nodes{NodeIndex{0}, NodeIndex{1}};
    expected->emplace(JobId{1}, Expected{from_unix_seconds(4711), std::make_shared<std::vector<NodeIndex>>(nodes)});
    return std::make_shared<const Picture>(Picture{world_.view(), expected});
  }
  World world_{2};
};

TEST_F(ListJobsTest, Filters) {
  const auto state_of = [](const char* word) { return *model::parse_state(word); };
  struct Row {
    const char* what;
    std::function<void(JobFilter&)> change;
    Ids ids;
  };
  const Row rows[] = {
      {"default: not what is over", [](auto&) {}, {1, 2, 3, 5, 6}},
      {"all states", [](auto& f) { f.all_states = true; }, {1, 2, 3, 4, 5, 6}},
      {"running", [&](auto& f) { f.states = {state_of("R")}; }, {2, 3, 6}},
      {"pending or completed", [&](auto& f) { f.states = {state_of("PD"), state_of("CD")}; }, {1, 4, 5}},
      {"a user", [](auto& f) { f.users = {Uid{2000}}; }, {3}},
      {"two users", [](auto& f) { f.users = {Uid{2000}, Uid{1000}}; }, {1, 2, 3, 5, 6}},
      {"nobody", [](auto& f) { f.users = {Uid{3}}; }, {}},
      {"a name", [](auto& f) { f.names = {"second"}; }, {2}},
      {"an account", [](auto& f) { f.accounts = {"blue"}; }, {1}},
      {"another partition", [](auto& f) { f.partitions = {"none"}; }, {}},
      {"a node", [](auto& f) { f.nodes = {"n1"}; }, {2, 6}},
      {"an unknown node", [](auto& f) { f.nodes = {"n9"}; }, {}},
      {"an array", [](auto& f) { f.jobs = {state::target(5)}; }, {5, 6}},
      {"a task that runs", [](auto& f) { f.jobs = {state::tasks_of(5, 0, 0)}; }, {6}},
      {"a task that waits", [](auto& f) { f.jobs = {state::tasks_of(5, 2, 2)}; }, {5}},
      {"twice the same", [](auto& f) { f.jobs = {state::target(2), state::target(2)}; }, {2}},
      {"by id and user", [](auto& f) { f.jobs = {state::target(2)}, f.users = {Uid{2000}}; }, {}},
  };
  for (const Row& row : rows) {
    JobFilter filter;
    row.change(filter);
    bool unknown = true;
    EXPECT_EQ(selected(filter, &unknown), row.ids) << row.what;
    EXPECT_FALSE(unknown) << row.what;
  }
  bool unknown = false;
  JobFilter filter;
  filter.jobs = {state::target(99)};
  EXPECT_EQ(selected(filter, &unknown), Ids{});
  EXPECT_TRUE(unknown);
  filter.jobs.push_back(state::target(1));
  EXPECT_EQ(selected(filter, &unknown), Ids{1});
  EXPECT_FALSE(unknown);
}

TEST_F(ListJobsTest, TextsAreTheOwnersBusiness) {
  struct Row {
    model::Role role;
    std::uint32_t uid;
    bool asked, own, others;  // which texts are shown
  };
  using model::Role;
  for (const Row& row : {Row{Role::User, 1000, true, true, false}, Row{Role::User, 1000, false, false, false},
                         Row{Role::User, 2000, true, false, true}, Row{Role::User, 5, true, false, false},
                         Row{Role::Admin, 0, true, true, true}, Row{Role::Admin, 0, false, false, false}}) {
    model::Caller caller;
    caller.role = row.role;
    caller.uid = Uid{row.uid};
    JobFilter filter;
    filter.with_script = row.asked;
    filter.jobs = {state::target(2), state::target(3)};
    JobChunks chunks(picture(), filter, caller);
    v1::JobChunk chunk;
    ASSERT_TRUE(chunks.next(&chunk));
    EXPECT_EQ(chunk.SerializeAsString().find("SECRET") != std::string::npos, row.own || row.others);
    wire::JobTable table;
    wire::JobListDecoder decoder;
    ASSERT_TRUE(decoder.take_chunk(chunk.SerializeAsString(), &table));
    ASSERT_EQ(table.jobs.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      const model::JobSpec& spec = *table.jobs[i]->spec;
      const bool shown = i == 0 ? row.own : row.others;
      EXPECT_EQ(spec.script && !spec.script->empty(), shown) << row.uid;
      EXPECT_EQ(spec.environment && !spec.environment->empty(), shown) << row.uid;
      EXPECT_EQ(!spec.rlimits.empty(), shown) << row.uid;
      EXPECT_EQ(spec.name, world_.job(static_cast<std::uint32_t>(i) + 2).spec->name);
    }
    EXPECT_FALSE(chunks.next(&chunk));
  }
}

TEST_F(ListJobsTest, ManyChunksAreOneTable) {
  for (int i = 0; i < 1100; ++i) submit([](auto&) {});
  model::Caller caller;
  caller.role = model::Role::User;
  JobChunks chunks(picture(), JobFilter{}, caller);
  wire::JobTable table;
  wire::JobListDecoder decoder;
  int count = 0;
  for (v1::JobChunk chunk; chunks.next(&chunk); chunk.Clear(), ++count)
    ASSERT_TRUE(decoder.take_chunk(chunk.SerializeAsString(), &table));
  EXPECT_EQ(count, 3);
  ASSERT_EQ(table.jobs.size(), 1105u);
  for (std::size_t i = 1; i < table.jobs.size(); ++i) EXPECT_LT(table.jobs[i - 1]->id, table.jobs[i]->id);
  EXPECT_EQ(table.expected_starts.at(0), from_unix_seconds(4711));
  EXPECT_EQ(table.planned_nodes.at(0), "n[1-2]");
  EXPECT_EQ(table.planned_nodes.at(1), "");
  EXPECT_EQ(table.node_names.at(0), "n1");
  EXPECT_EQ(table.as_of, world_.view().as_of);
}

TEST_F(ListJobsTest, ThePickedOnesAreFoundOnTheWay) {
  for (std::uint32_t i = 0; i < 1500; ++i) submit([&](auto& s) { s.account = i % 3 == 2 ? "green" : "blue"; });
  Ids expected;
  world_.view().jobs.for_each([&](std::uint32_t id, const auto& job) {
    if (job->spec->account == "green") expected.push_back(id);
  });
  JobFilter filter;
  filter.accounts = {"green"};
  EXPECT_EQ(selected(filter), expected);
  JobChunks chunks(picture(), filter, {});
  v1::JobChunk chunk;
  EXPECT_TRUE(chunks.next(&chunk) && chunk.jobs_size() == 500);
  EXPECT_TRUE(chunks.at_end()) << "what follows the last picked one was looked at";
}

TEST_F(ListJobsTest, WhatIsNotAskedForIsLeftOut) {
  using J = wire::JobField;
  submit([](auto& s) { s.name = "seventh", s.account = "red"; });
  JobFilter filter;
  filter.fields = wire::JobFields{J::id, J::state, wire::SpecField::name};
  JobChunks chunks(picture(), filter, {});
  v1::JobChunk chunk;
  ASSERT_TRUE(chunks.next(&chunk));
  EXPECT_EQ(chunk.nodes_size() + chunk.expected_starts_us_size() + chunk.planned_size(), 0);
  // Jobs that differ in nothing that is asked for share a specification.
  EXPECT_EQ(chunk.specs_size(), 5);
  wire::JobTable table;
  ASSERT_TRUE(wire::JobListDecoder(filter.fields).take_chunk(chunk.SerializeAsString(), &table));
  ASSERT_EQ(table.jobs.size(), 6u);
  for (const model::JobPtr& job : table.jobs) {
    const model::Job& whole = world_.job(job->id.value);
    EXPECT_EQ(job->state, whole.state);
    EXPECT_EQ(job->spec->name, whole.spec->name);
    EXPECT_EQ(job->spec->account + job->batch_host, "");
    EXPECT_FALSE(job->allocation || job->array_pending || is_set(job->submitted) || job->spec->uid.value != 0);
  }
  filter.fields.add(J::allocation);
  JobChunks with_nodes(picture(), filter, {});
  chunk.Clear();
  ASSERT_TRUE(with_nodes.next(&chunk));
  EXPECT_EQ(chunk.nodes_size(), 2);
}

TEST_F(ListJobsTest, AnEmptyAnswerIsAnAnswer) {
  JobFilter filter;
  filter.jobs = {state::target(99)};
  JobChunks chunks(picture(), filter, {});
  v1::JobChunk chunk;
  ASSERT_TRUE(chunks.next(&chunk));
  EXPECT_TRUE(chunk.unknown_job());
  EXPECT_EQ(chunk.jobs_size(), 0);
  EXPECT_FALSE(chunks.next(&chunk));
}

TEST(ListJobs, TheQuestionComesThrough) {
  JobFilter filter;
  filter.jobs = {state::tasks_of(5, 1, 2)};
  filter.users = {Uid{7}};
  filter.partitions = {"p"};
  filter.accounts = {"a"};
  filter.names = {"n"};
  filter.nodes = {"n1"};
  filter.states = {*model::parse_state("CG")};
  filter.all_states = filter.with_script = true;
  filter.fields = {wire::JobField::hold, wire::SpecField::hold, wire::SpecField::array};
  v1::ListJobsRequest request;
  wire::to_proto(filter, &request);
  JobFilter back;
  ASSERT_TRUE(wire::from_proto(request, &back));
  EXPECT_EQ(back.jobs, filter.jobs);
  EXPECT_EQ(back.users, filter.users);
  EXPECT_EQ(back.partitions, filter.partitions);
  EXPECT_EQ(back.accounts, filter.accounts);
  EXPECT_EQ(back.names, filter.names);
  EXPECT_EQ(back.nodes, filter.nodes);
  ASSERT_EQ(back.states.size(), 1u);
  EXPECT_EQ(back.states[0].flag, filter.states[0].flag);
  EXPECT_TRUE(back.all_states && back.with_script);
  EXPECT_EQ(back.fields, filter.fields);
  request.add_fields("of_a_later_version");
  ASSERT_TRUE(wire::from_proto(request, &back));
  EXPECT_EQ(back.fields, filter.fields);
  request.clear_fields();
  ASSERT_TRUE(wire::from_proto(request, &back));
  EXPECT_EQ(back.fields, wire::JobFields::everything());
}

}  // namespace
}  // namespace spur::ctld
