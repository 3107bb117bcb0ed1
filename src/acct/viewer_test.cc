// SPDX-License-Identifier: Apache-2.0
#include "acct/viewer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "text/private_data.h"

namespace spur::acct {
namespace {

constexpr Time kThen = from_unix_seconds(1'800'000'000);

model::AssociationRecord row(std::string account, std::string parent, std::string user = "") {
  model::AssociationRecord r;
  r.cluster = "c1";
  r.parent = std::move(parent);
  r.row.account = std::move(account);
  r.row.user = std::move(user);
  return r;
}

// root -> lab -> (ann, team -> bob); root -> other -> eve. Ann coordinates the lab, Olga operates.
Catalog catalog() {
  Catalog out = Catalog::fresh();
  model::ClusterRecord cluster;
  cluster.name = "c1";
  out = (*out.plan_register(cluster, kThen))->next;
  model::AccountsChange change;
  change.based_on = out.revision();
  for (const char* name : {"lab", "team", "other"}) change.put.accounts.push_back({name, "", ""});
  for (const char* name : {"ann", "bob", "eve"}) change.put.users.push_back({name, model::AdminLevel::None});
  change.put.users.push_back({"olga", model::AdminLevel::Operator});
  change.put.associations = {row("lab", "root"),        row("team", "lab"),          row("other", "root"),
                             row("lab", "lab", "ann"),  row("team", "team", "bob"),  row("other", "other", "eve"),
                             row("other", "other", "olga")};
  change.put.coordinators = {{"lab", "ann"}};
  auto step = out.plan(change, {"root", true}, kThen);
  EXPECT_TRUE(step) << (step ? "" : step.error().message);
  return step ? step->next : out;
}

std::vector<std::string> users_of(const model::AccountRecords& records) {
  std::vector<std::string> out;
  for (const auto& r : records.users) out.push_back(r.name);
  std::ranges::sort(out);
  return out;
}
// "account/user" of the rows.
std::vector<std::string> rows_of(const model::AccountRecords& records) {
  std::vector<std::string> out;
  for (const auto& r : records.associations) out.push_back(r.row.account + "/" + r.row.user);
  std::ranges::sort(out);
  return out;
}
using Names = std::vector<std::string>;

TEST(Viewer, JobsAndUsage) {
  const Catalog all = catalog();
  const std::uint32_t hidden = text::kPrivateJobs | text::kPrivateUsage;
  const Viewer bob = viewer_of(all, hidden, "bob", Uid{11}, false);
  EXPECT_TRUE(bob.sees_job("c1", 11, "team"));
  EXPECT_FALSE(bob.sees_job("c1", 10, "lab"));
  EXPECT_FALSE(bob.sees_usage("c1", 10, "team"));
  const Viewer ann = viewer_of(all, hidden, "ann", Uid{10}, false);
  EXPECT_TRUE(ann.sees_job("c1", 11, "team"));  // below what she coordinates
  EXPECT_TRUE(ann.sees_usage("c1", 11, "team"));
  EXPECT_FALSE(ann.sees_job("c1", 12, "other"));
  EXPECT_FALSE(ann.sees_job("c2", 11, "team"));
  EXPECT_TRUE(viewer_of(all, hidden, "olga", Uid{13}, false).sees_job("c1", 11, "team"));
  EXPECT_TRUE(viewer_of(all, hidden, "", Uid{0}, true).sees_job("c1", 11, "team"));
  EXPECT_TRUE(viewer_of(all, 0, "eve", Uid{12}, false).sees_job("c1", 11, "team"));
}

TEST(Viewer, Records) {
  const Catalog all = catalog();
  const auto seen = [&](const char* who, std::uint32_t hidden) {
    return visible_records(all.records(), viewer_of(all, hidden, who, Uid{1}, false));
  };
  EXPECT_EQ(seen("bob", text::kPrivateJobs), all.records());
  const auto bob = seen("bob", text::kPrivateUsers);
  EXPECT_EQ(users_of(bob), Names{"bob"});
  EXPECT_EQ(rows_of(bob), (Names{"lab/", "root/", "team/", "team/bob"}));
  EXPECT_TRUE(bob.coordinators.empty());
  EXPECT_EQ(bob.accounts.size(), all.records().accounts.size());
  const auto ann = seen("ann", text::kPrivateUsers | text::kPrivateAccounts);
  EXPECT_EQ(users_of(ann), Names{"ann"});  // as in Slurm: of users she lists herself alone
  EXPECT_EQ(rows_of(ann), (Names{"lab/", "lab/ann", "root/", "team/", "team/bob"}));
  EXPECT_EQ(ann.accounts.size(), 2u);
  EXPECT_TRUE(seen("eve", text::kPrivateAccounts).accounts.empty());
  EXPECT_EQ(seen("olga", ~0u), all.records());
}

}  // namespace
}  // namespace spur::acct
