// SPDX-License-Identifier: Apache-2.0
#include "ctld/sight.h"

#include <gtest/gtest.h>

#include "ctld/list_jobs.h"
#include "state/test_world.h"
#include "text/private_data.h"

namespace spur::ctld {
namespace {

using state::World;

constexpr std::uint32_t kOwner = 1000, kCoordinator = 1001, kOperator = 1002, kStranger = 1003;

model::Association association(std::uint32_t id, std::uint32_t parent, std::string account, std::string user = "",
                               std::optional<std::uint32_t> uid = {}) {
  model::Association out;
  out.id = id;
  out.parent = parent;
  out.account = std::move(account);
  out.user = std::move(user);
  out.uid = uid;
  return out;
}
model::AccountUser user(std::string name, std::uint32_t uid) {
  model::AccountUser out;
  out.name = std::move(name);
  out.uid = uid;
  return out;
}
model::Caller caller(std::uint32_t uid, model::Role role = model::Role::User) {
  model::Caller out;
  out.role = role;
  out.uid = Uid{uid};
  return out;
}

struct Private : World {
  explicit Private(std::string words) : World(2, 4, 0, config(std::move(words))) {
    state::SetAccounts command;
    command.update.revision = 1;
    command.update.all = true;
    command.update.associations = {association(1, 0, "root"), association(2, 1, "lab"),
                                   association(3, 2, "lab", "owner", kOwner)};
    auto coordinator = user("coordinator", kCoordinator);
    coordinator.coordinates = {"lab"};
    auto operates = user("operator", kOperator);
    operates.admin = model::AdminLevel::Operator;
    command.update.users = {coordinator, operates, user("owner", kOwner), user("stranger", kStranger)};
    must(command);
    auto spec = state::spec();
    spec.uid = Uid{kOwner};
    spec.account = "lab";
    submit(spec);
  }
  static model::ClusterConfig config(std::string words) {
    model::ClusterConfig out;
    out.shown = {{"ClusterName", "c"}, {"PrivateData", std::move(words)}};
    return out;
  }
  Sight of(std::uint32_t uid, model::Role role = model::Role::User) const { return {view(), caller(uid, role)}; }
};

TEST(Sight, Jobs) {
  const Private w("jobs");
  EXPECT_TRUE(w.of(kOwner).sees(w.job(1)));
  EXPECT_TRUE(w.of(kCoordinator).sees(w.job(1)));
  EXPECT_TRUE(w.of(kOperator).sees(w.job(1)));
  EXPECT_TRUE(w.of(kStranger, model::Role::Admin).sees(w.job(1)));
  EXPECT_FALSE(w.of(kStranger).sees(w.job(1)));
  EXPECT_FALSE(w.of(4711).sees(w.job(1)));  // whom accounting does not know
  EXPECT_TRUE(w.of(kStranger).sees(*w.view().accounts->find(3)));
  EXPECT_FALSE(w.of(kStranger).lacks(text::kPrivateNodes));
  const Private open("none");
  EXPECT_TRUE(open.of(kStranger).sees(open.job(1)));
  EXPECT_FALSE(open.of(kStranger).of_jobs());
}

TEST(Sight, WhatIsNotSeenIsNotThere) {
  const Private w("jobs");
  const auto picture = std::make_shared<const Picture>(Picture{w.view(), std::make_shared<ExpectedStarts>()});
  const auto listed = [&](const wire::JobFilter& filter) {
    v1::JobChunk chunk;
    EXPECT_TRUE(JobChunks(picture, filter, {}).next(&chunk));
    return chunk;
  };
  wire::JobFilter filter;
  filter.may_see = w.of(kStranger).of_jobs();
  EXPECT_EQ(listed(filter).jobs_size(), 0);
  EXPECT_FALSE(listed(filter).unknown_job());
  filter.jobs = {state::target(1)};
  EXPECT_EQ(listed(filter).jobs_size(), 0);
  EXPECT_TRUE(listed(filter).unknown_job());
  filter.may_see = w.of(kOwner).of_jobs();
  EXPECT_EQ(listed(filter).jobs_size(), 1);
}

TEST(Sight, UsageOfOnesOwn) {
  const Private w("usage");
  const auto& lab = *w.view().accounts->find(2);
  const auto& row = *w.view().accounts->find(3);
  EXPECT_TRUE(w.of(kOwner).sees(row));
  EXPECT_FALSE(w.of(kOwner).sees(lab));
  EXPECT_TRUE(w.of(kCoordinator).sees(lab));
  EXPECT_TRUE(w.of(kCoordinator).sees(row));
  EXPECT_FALSE(w.of(kCoordinator).sees(*w.view().accounts->find(1)));
  EXPECT_FALSE(w.of(kStranger).sees(row));
  EXPECT_TRUE(w.of(kStranger).sees(w.job(1)));
}

TEST(Sight, ReservationsThatOneMayUse) {
  const Private w("reservations");
  model::Reservation by_user, by_account;
  by_user.users.names = {"stranger"};
  by_user.user_ids = {Uid{kStranger}};
  by_account.accounts.names = {"lab"};
  EXPECT_TRUE(w.of(kStranger).sees(by_user));
  EXPECT_FALSE(w.of(kOwner).sees(by_user));
  EXPECT_TRUE(w.of(kOwner).sees(by_account));
  EXPECT_FALSE(w.of(kStranger).sees(by_account));
  EXPECT_TRUE(w.of(kOperator).sees(by_account));
}

}  // namespace
}  // namespace spur::ctld
