// SPDX-License-Identifier: Apache-2.0
#include "ctld/partition_access.h"

#include <gtest/gtest.h>

#include <optional>

namespace spur::ctld {
namespace {

class PartitionAccess : public testing::Test {
 protected:
  PartitionAccess() {
    view_.config = config_;
    view_.partitions = partitions_;
  }

  model::PartitionConfig& add(const char* name) {
    partitions_->emplace_back().config.name = name;
    return partitions_->back().config;
  }

  // "ok", or the error of a job that wants these partitions.
  std::string code(std::vector<std::string> names, const std::function<void(model::JobSpec&)>& change = {}) {
    model::JobSpec spec;
    spec.uid = Uid{1001};
    spec.submit_host = "login3";
    spec.partitions = std::move(names);
    if (change) change(spec);
    const auto groups_of = [this](Uid uid, Gid) {
      ++asked_;
      return uid == Uid{1000} ? std::vector<std::string>{"x", "users"} : std::vector<std::string>{"x"};
    };
    const Status status = check_partition_access(view_, spec, groups_of);
    return status ? std::string("ok") : std::string(name_of(status.error().code));
  }

  std::shared_ptr<model::ClusterConfig> config_ = std::make_shared<model::ClusterConfig>();
  std::shared_ptr<std::vector<model::Partition>> partitions_ = std::make_shared<std::vector<model::Partition>>();
  model::View view_;
  int asked_ = 0;  // for groups
};

TEST_F(PartitionAccess, DeniesWithSlurmsErrors) {
  add("open");
  add("group").allow_groups = {"wheel", "users"};
  add("acct").allow_accounts = {"a1"};
  add("no_acct").deny_accounts = {"bad"};
  add("qos").allow_qos = {"high"};
  add("no_qos").deny_qos = {"low"};
  add("host").alloc_nodes = {"login[1-2]"};

  EXPECT_EQ(code({"open"}), "ok");
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(code({"group"}), "PartitionGroupDenied");
  EXPECT_EQ(code({"group"}, [](auto& s) { s.uid = Uid{1000}; }), "ok");
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(code({"group"}, [](auto& s) { s.uid = kRootUid; }), "ok");
  EXPECT_EQ(code({"acct"}), "InvalidAccount");
  EXPECT_EQ(code({"acct"}, [](auto& s) { s.account = "a1"; }), "ok");
  EXPECT_EQ(code({"no_acct"}, [](auto& s) { s.account = "bad"; }), "InvalidAccount");
  EXPECT_EQ(code({"no_acct"}), "ok");
  EXPECT_EQ(code({"qos"}), "InvalidQos");
  EXPECT_EQ(code({"qos"}, [](auto& s) { s.qos = "high"; }), "ok");
  EXPECT_EQ(code({"no_qos"}, [](auto& s) { s.qos = "low"; }), "InvalidQos");
  EXPECT_EQ(code({"host"}), "PermissionDenied");
  EXPECT_EQ(code({"host"}, [](auto& s) { s.submit_host = "login2"; }), "ok");
  EXPECT_EQ(code({"group", "open"}), "ok");  // one is enough
  EXPECT_EQ(code({"nosuch"}), "ok");         // not for this check to say
  config_->enforce_partition_limits = model::EnforcePartitionLimits::All;
  EXPECT_EQ(code({"group", "open"}), "PartitionGroupDenied");
}

// A user of one account, which is below another: what a list of accounts or QOS is compared with is what the job gets.
TEST_F(PartitionAccess, CountsDefaultsAndAccountsBelow) {
  add("mine").allow_accounts = {"lab"};
  add("above").allow_accounts = {"dept"};
  add("others").allow_accounts = {"other"};
  add("not_above").deny_accounts = {"dept"};
  auto& both = add("both");
  both.allow_accounts = {"lab"};
  both.deny_accounts = {"lab"};  // not looked at beside the other
  add("quick").allow_qos = {"quick"};
  add("slow").deny_qos = {"quick"};
  const auto row = [](std::uint32_t id, const char* account, std::optional<std::uint32_t> uid) {
    auto made = std::make_shared<model::Association>();
    made->id = id;
    made->parent = id - 1;
    made->account = account;
    if (uid) {
      made->user = "ann";
      made->uid = *uid;
      made->is_default = true;
      made->default_qos = "quick";
    }
    return made;
  };
  model::AccountUser ann;
  ann.name = "ann";
  ann.uid = 1001;
  ann.default_account = "lab";
  view_.accounts = *model::AccountBook::make(
      1, {row(1, "root", {}), row(2, "dept", {}), row(3, "lab", {}), row(4, "lab", 1001)}, {ann});
  auto qos = std::make_shared<std::vector<model::Qos>>();
  qos->emplace_back().name = "quick";
  view_.qos = qos;

  EXPECT_EQ(code({"mine"}), "ok");
  EXPECT_EQ(code({"above"}), "ok");
  EXPECT_EQ(code({"others"}), "InvalidAccount");
  EXPECT_EQ(code({"not_above"}), "InvalidAccount");
  EXPECT_EQ(code({"both"}), "ok");
  EXPECT_EQ(code({"quick"}), "ok");
  EXPECT_EQ(code({"slow"}), "InvalidQos");
}

}  // namespace
}  // namespace spur::ctld
