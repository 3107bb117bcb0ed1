// SPDX-License-Identifier: Apache-2.0
#include "ctld/partition_access.h"

#include <gtest/gtest.h>

namespace spur::ctld {
namespace {

TEST(PartitionAccess, DeniesWithSlurmsErrors) {
  model::View view;
  auto config = std::make_shared<model::ClusterConfig>();
  view.config = config;
  auto partitions = std::make_shared<std::vector<model::Partition>>();
  const auto add = [&](const char* name) -> model::PartitionConfig& {
    partitions->emplace_back().config.name = name;
    return partitions->back().config;
  };
  add("open");
  add("group").allow_groups = {"wheel", "users"};
  add("acct").allow_accounts = {"a1"};
  add("no_acct").deny_accounts = {"bad"};
  add("qos").allow_qos = {"high"};
  add("no_qos").deny_qos = {"low"};
  add("host").alloc_nodes = {"login[1-2]"};
  view.partitions = partitions;

  int asked = 0;
  const GroupsOf groups = [&](Uid uid, Gid) {
    ++asked;
    return uid == Uid{1000} ? std::vector<std::string>{"x", "users"} : std::vector<std::string>{"x"};
  };
  const auto code = [&](std::vector<std::string> names, auto change) {
    model::JobSpec spec;
    spec.uid = Uid{1001};
    spec.submit_host = "login3";
    spec.partitions = std::move(names);
    change(spec);
    const Status status = check_partition_access(view, spec, spec.uid, groups);
    return status ? std::string("ok") : std::string(name_of(status.error().code));
  };
  const auto plain = [](auto&) {};
  EXPECT_EQ(code({"open"}, plain), "ok");
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(code({"group"}, plain), "PartitionGroupDenied");
  EXPECT_EQ(code({"group"}, [](auto& s) { s.uid = Uid{1000}; }), "ok");
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(code({"group"}, [](auto& s) { s.uid = kRootUid; }), "ok");
  EXPECT_EQ(code({"acct"}, plain), "InvalidAccount");
  EXPECT_EQ(code({"acct"}, [](auto& s) { s.account = "a1"; }), "ok");
  EXPECT_EQ(code({"no_acct"}, [](auto& s) { s.account = "bad"; }), "InvalidAccount");
  EXPECT_EQ(code({"no_acct"}, plain), "ok");
  EXPECT_EQ(code({"qos"}, plain), "InvalidQos");
  EXPECT_EQ(code({"qos"}, [](auto& s) { s.qos = "high"; }), "ok");
  EXPECT_EQ(code({"no_qos"}, [](auto& s) { s.qos = "low"; }), "InvalidQos");
  EXPECT_EQ(code({"host"}, plain), "PermissionDenied");
  EXPECT_EQ(code({"host"}, [](auto& s) { s.submit_host = "login2"; }), "ok");
  EXPECT_EQ(code({"group", "open"}, plain), "ok");  // one is enough
  EXPECT_EQ(code({"nosuch"}, plain), "ok");         // not for this check to say
  config->enforce_partition_limits = model::EnforcePartitionLimits::All;
  EXPECT_EQ(code({"group", "open"}, plain), "PartitionGroupDenied");
}

// A user of one account, which is below another: what a list of accounts or QOS is compared with is what the job gets.
TEST(PartitionAccess, CountsDefaultsAndAccountsBelow) {
  model::View view;
  auto config = std::make_shared<model::ClusterConfig>();
  view.config = config;
  auto partitions = std::make_shared<std::vector<model::Partition>>();
  const auto add = [&](const char* name) -> model::PartitionConfig& {
    partitions->emplace_back().config.name = name;
    return partitions->back().config;
  };
  add("mine").allow_accounts = {"lab"};
  add("above").allow_accounts = {"dept"};
  add("others").allow_accounts = {"other"};
  add("not_above").deny_accounts = {"dept"};
  auto& both = add("both");
  both.allow_accounts = {"lab"};
  both.deny_accounts = {"lab"};  // not looked at beside the other
  add("quick").allow_qos = {"quick"};
  add("slow").deny_qos = {"quick"};
  view.partitions = partitions;
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
  ann.uid = 1000;
  ann.default_account = "lab";
  view.accounts = *model::AccountBook::make(1, {row(1, "root", {}), row(2, "dept", {}), row(3, "lab", {}), row(4, "lab", 1000)}, {ann});
  auto qos = std::make_shared<std::vector<model::Qos>>();
  qos->emplace_back().name = "quick";
  view.qos = qos;

  const auto code = [&](const char* name) {
    model::JobSpec spec;
    spec.uid = Uid{1000};
    spec.partitions = {name};
    const Status status = check_partition_access(view, spec, spec.uid, {});
    return status ? std::string("ok") : std::string(name_of(status.error().code));
  };
  EXPECT_EQ(code("mine"), "ok");
  EXPECT_EQ(code("above"), "ok");
  EXPECT_EQ(code("others"), "InvalidAccount");
  EXPECT_EQ(code("not_above"), "InvalidAccount");
  EXPECT_EQ(code("both"), "ok");
  EXPECT_EQ(code("quick"), "ok");
  EXPECT_EQ(code("slow"), "InvalidQos");
}

}  // namespace
}  // namespace spur::ctld
