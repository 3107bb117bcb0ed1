// SPDX-License-Identifier: Apache-2.0
// What a job's account and QOS come to, by what is enforced. Whole ways from sacctmgr to the scheduler are in
// tests/e2e/test_limits.py.
#include "ctld/job_account.h"

#include <gtest/gtest.h>

namespace spur::ctld {
namespace {

class JobAccount : public ::testing::Test {
 protected:
  JobAccount() {
    const auto row = [](std::uint32_t id, const char* account, const char* user) {
      auto made = std::make_shared<model::Association>();
      made->id = id;
      made->parent = id - 1;
      made->account = account;
      made->user = user;
      return made;
    };
    const auto of_user = row(3, "lab", "ann");
    of_user->uid = 1000;
    of_user->is_default = true;
    of_user->qos = {"high", "normal"};
    const std::vector<model::AssociationPtr> rows{row(1, "root", ""), row(2, "lab", ""), of_user};
    model::AccountUser ann;
    ann.name = "ann";
    ann.uid = 1000;
    ann.default_account = "lab";
    view_.accounts = *model::AccountBook::make(1, rows, {ann});
    view_.config = config_;
    auto list = std::make_shared<std::vector<model::Qos>>();
    for (const char* name : {"high", "low", "normal"}) list->emplace_back().name = name;
    view_.qos = list;
    view_.partitions = std::make_shared<const std::vector<model::Partition>>();
  }

  // The QOS that a job gets which asks for this one, or the error.
  std::string qos_of(std::string asked) const {
    auto spec = std::make_shared<model::JobSpec>();
    spec->uid = Uid{1000};
    spec->qos = std::move(asked);
    const auto settled = with_account(view_, spec);
    return settled ? (*settled)->qos : std::string(name_of(settled.error().code));
  }

  std::shared_ptr<model::ClusterConfig> config_ = std::make_shared<model::ClusterConfig>();
  model::View view_;
};

TEST_F(JobAccount, WithoutAQosItIsTheDefault) {
  EXPECT_EQ(qos_of(""), "normal");
  EXPECT_EQ(qos_of("high"), "high");
}

TEST_F(JobAccount, WhereQosAreEnforcedItMustBeOneOfTheUsers) {
  config_->accounting.qos = true;
  EXPECT_EQ(qos_of("high"), "high");
  EXPECT_EQ(qos_of("low"), "InvalidQos");
  EXPECT_EQ(qos_of("nosuch"), "InvalidQos");
}

// As Slurm 22.05 with and without associations and limits.
TEST_F(JobAccount, WhereQosAreNotEnforcedAnyWordIsTaken) {
  for (const bool associations : {false, true}) {
    config_->accounting.associations = config_->accounting.limits = associations;
    EXPECT_EQ(qos_of("low"), "low");
    EXPECT_EQ(qos_of("nosuch"), "");
  }
}

}  // namespace
}  // namespace spur::ctld
