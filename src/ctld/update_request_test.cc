// SPDX-License-Identifier: Apache-2.0
#include "ctld/update_request.h"

#include <gtest/gtest.h>

#include "state/test_world.h"
#include "wire/spec_codec.h"

namespace spur::ctld {
namespace {

using state::World;

v1::UpdateJobRequest request(const model::JobSpec& wanted, const std::vector<std::string>& changed) {
  v1::UpdateJobRequest out;
  wire::to_proto(wanted, out.mutable_spec());
  for (const auto& name : changed) out.add_changed(name);
  return out;
}

TEST(UpdateRequest, WhatChangesTheJobAndWhatTheSpecification) {
  World w(1);
  model::JobSpec old = state::spec("old");
  old.comment = "kept";
  const auto id = w.submit(old);
  model::JobSpec wanted = state::spec("new");
  wanted.comment = "lost";
  wanted.time_limit = TimeLimit::of_minutes(5);
  wanted.priority = 99;
  struct Row {
    std::vector<std::string> changed;
    bool limit, priority, spec, dependencies;
  };
  for (const Row& row :
       {Row{{}, false, false, false, false}, Row{{"time_limit"}, true, false, false, false},
        Row{{"priority"}, false, true, false, false}, Row{{"name"}, false, false, true, false},
        Row{{"name", "time_limit"}, true, false, true, false}, Row{{"dependencies"}, false, false, true, true}}) {
    const auto update = update_request(w.view(), state::target(id), request(wanted, row.changed));
    ASSERT_TRUE(update) << update.error().message;
    EXPECT_EQ(update->time_limit.has_value(), row.limit);
    EXPECT_EQ(update->priority.has_value(), row.priority);
    EXPECT_EQ(update->spec != nullptr, row.spec);
    EXPECT_EQ(update->dependencies_changed, row.dependencies);
    if (!update->spec) continue;
    EXPECT_EQ(update->spec->comment, "kept") << "only what was named";
    EXPECT_EQ(update->spec->name, row.changed[0] == "name" ? "new" : "old");
  }
}

TEST(UpdateRequest, Arrays) {
  World w(1);
  const auto id = w.submit(state::array_spec(0, 9, 2));
  model::JobSpec wanted = state::array_spec(0, 9, 5);
  auto update = update_request(w.view(), state::target(id), request(wanted, {"array"}));
  ASSERT_TRUE(update);
  EXPECT_EQ(update->array_max_running, 5u);
  update = update_request(w.view(), state::tasks_of(id, 3, 3), request(wanted, {"name"}));
  ASSERT_TRUE(update) << "a task that still waits in the rest";
  EXPECT_EQ(update->target, state::tasks_of(id, 3, 3));
}

TEST(UpdateRequest, Refused) {
  World w(1);
  const auto id = w.submit(state::spec());
  EXPECT_EQ(update_request(w.view(), state::target(id + 1), request({}, {"name"})).error().code,
            ErrorCode::InvalidJobId);
  EXPECT_EQ(update_request(w.view(), state::tasks_of(id, 1, 1), request({}, {"name"})).error().code,
            ErrorCode::InvalidJobId);
  for (const char* name : {"uid", "gid", "kind", "nonsense", ""})
    EXPECT_EQ(update_request(w.view(), state::target(id), request({}, {name})).error().code,
              ErrorCode::InvalidArgument)
        << name;
}

}  // namespace
}  // namespace spur::ctld
