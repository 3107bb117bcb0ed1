// SPDX-License-Identifier: Apache-2.0
#include "acct/catalog_deleted.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace spur::acct {
namespace {

using model::AccountsChange;
using model::RecordKind;

constexpr Time kBirth = from_unix_seconds(1'800'000'000);
const Actor kRootActor{"root", true};

// A cluster with account "lab" below "dept", "ann" and "ben" in "lab", a QOS, a wckey and a resource.
struct DeletedWorld {
  Catalog catalog = Catalog::fresh();
  Catalog::Step last{catalog, {}, {}, {}};
  Time now = kBirth;
  std::vector<std::string> used;  // who or what had jobs: "account", "account/user", "qos", "wckey"

  DeletedWorld() {
    model::ClusterRecord cluster;
    cluster.name = "c";
    catalog = (*catalog.plan_register(cluster, now))->next;
    add();
  }
  static model::AssociationRecord row(std::string account, std::string parent, std::string user = "") {
    model::AssociationRecord r;
    r.cluster = "c";
    r.parent = std::move(parent);
    r.row.account = std::move(account);
    r.row.user = std::move(user);
    return r;
  }
  void add() {
    AccountsChange change;
    change.put.accounts = {{"dept", "d", "o"}, {"lab", "l", "o"}};
    change.put.users = {{"ann", {}}, {"ben", {}}};
    change.put.associations = {row("dept", "root"), row("lab", "dept"), row("lab", "lab", "ann"),
                               row("lab", "lab", "ben")};
    change.put.associations[2].row.is_default = true;
    change.put.associations[2].row.max_jobs = 5;
    change.put.qos.emplace_back().name = "gold";
    change.put.qos[0].priority = 9;
    change.put.wckeys = {{0, "key", "ann", "c", true}};
    change.put.resources = {{0, "matlab", "flex", "", "", 10, {{"c", 50}}}};
    make(change);
  }
  void make(AccountsChange change) {
    change.based_on = catalog.revision();
    const auto had = [&](const InUse& q, Time since) {
      EXPECT_LE(since, now);
      const std::string name = !q.qos.empty()     ? q.qos
                               : !q.wckey.empty() ? q.wckey
                               : q.user.empty()   ? q.account
                                                  : q.account + "/" + q.user;
      return std::ranges::find(used, name) != used.end();
    };
    auto step = catalog.plan(change, kRootActor, now, {}, nullptr, had);
    ASSERT_TRUE(step) << step.error().message;
    last = *step;
    catalog = std::move(step->next);
  }
  // Everything that add() made.
  void remove_all() {
    AccountsChange change;
    for (const auto& r : catalog.records().associations)
      if (r.row.account != "root") change.remove.push_back({RecordKind::Association, model::key_of(r)});
    for (const char* name : {"dept", "lab"}) change.remove.push_back({RecordKind::Account, name});
    for (const char* name : {"ann", "ben"}) change.remove.push_back({RecordKind::User, name});
    change.remove.push_back({RecordKind::Qos, "gold"});
    for (const auto& r : catalog.records().wckeys) change.remove.push_back({RecordKind::Wckey, model::key_of(r)});
    for (const auto& r : catalog.records().resources)
      change.remove.push_back({RecordKind::Resource, model::key_of(r)});
    make(change);
  }
  // A user with all he has.
  void remove_all_of(const std::string& user) {
    AccountsChange change;
    change.remove = {{RecordKind::User, user}};
    for (const auto& r : catalog.records().associations)
      if (r.row.user == user) change.remove.push_back({RecordKind::Association, model::key_of(r)});
    for (const auto& r : catalog.records().wckeys)
      if (r.user == user) change.remove.push_back({RecordKind::Wckey, model::key_of(r)});
    make(change);
  }
  std::string kept() const {
    const auto& d = catalog.deleted();
    std::string out;
    for (const auto& r : d.accounts) out += r.name + " ";
    for (const auto& r : d.users) out += r.name + " ";
    for (const auto& r : d.associations) out += r.row.account + "/" + r.row.user + " ";
    for (const auto& r : d.qos) out += r.name + " ";
    for (const auto& r : d.wckeys) out += r.name + " ";
    for (const auto& r : d.resources) out += r.name + " ";
    return out;
  }
};

constexpr const char* kEverything = "dept lab ann ben dept/ lab/ lab/ann lab/ben gold key matlab ";

TEST(CatalogDeleted, WhatWasMadeTodayAndNeverUsedIsGone) {
  DeletedWorld w;
  w.now += hours(23);
  w.remove_all();
  EXPECT_EQ(w.kept(), "");
  EXPECT_FALSE(w.last.erase.empty());
}

TEST(CatalogDeleted, WhatIsOlderThanADayIsKept) {
  DeletedWorld w;
  w.now += hours(25);
  w.remove_all();
  EXPECT_EQ(w.kept(), kEverything);
  EXPECT_TRUE(w.last.erase.empty());
  EXPECT_EQ(w.catalog.records().associations.size(), 2u) << "only the root's are in force";
  EXPECT_EQ(w.catalog.whole("c").associations.size(), 2u);
  EXPECT_TRUE(std::ranges::none_of(w.catalog.whole("c").users, [](const auto& u) { return u.name == "ann"; }));
}

TEST(CatalogDeleted, OneJobKeepsWhatIsRemovedTogether) {
  DeletedWorld w;
  w.used = {"lab/ben"};
  w.remove_all();
  EXPECT_EQ(w.kept(), "dept lab ann ben dept/ lab/ lab/ann lab/ben ");
  DeletedWorld q;
  q.used = {"gold"};
  q.remove_all();
  EXPECT_EQ(q.kept(), "gold ");
  DeletedWorld k;
  k.used = {"key"};
  k.remove_all();
  EXPECT_EQ(k.kept(), "key ");
}

TEST(CatalogDeleted, AKeptAssociationHasNoLimits) {
  DeletedWorld w;
  w.used = {"lab"};
  w.remove_all();
  const auto& all = w.catalog.deleted().associations;
  const auto ann = std::ranges::find(all, "ann", [](const auto& r) { return r.row.user; });
  ASSERT_NE(ann, all.end());
  EXPECT_FALSE(ann->row.max_jobs);
  EXPECT_FALSE(ann->row.is_default);
  EXPECT_EQ(ann->parent, "lab");
  DeletedWorld q;
  q.used = {"gold"};
  q.remove_all();
  ASSERT_EQ(q.catalog.deleted().qos.size(), 1u);
  EXPECT_EQ(q.catalog.deleted().qos[0].id, 2u);
  EXPECT_EQ(q.catalog.deleted().qos[0].priority, 0u);
}

TEST(CatalogDeleted, WhatComesBackHasItsNumberAndAge) {
  DeletedWorld w;
  const model::AccountRecords before = w.catalog.records();
  w.now += hours(25);
  w.remove_all();
  AccountsChange other;  // takes the next numbers
  other.put.accounts = {{"else", "", ""}};
  other.put.associations = {DeletedWorld::row("else", "root")};
  other.put.qos.emplace_back().name = "iron";
  w.make(other);
  w.add();
  EXPECT_EQ(w.kept(), "");
  const auto number = [](const model::AccountRecords& all, std::string_view user) {
    return std::ranges::find(all.associations, user, [](const auto& r) { return r.row.user; })->row.id;
  };
  EXPECT_EQ(number(w.catalog.records(), "ann"), number(before, "ann"));
  EXPECT_EQ(number(w.catalog.records(), "ben"), number(before, "ben"));
  const auto& qos = w.catalog.records().qos;
  EXPECT_EQ(std::ranges::find(qos, "gold", &model::Qos::name)->id, 2u);
  EXPECT_EQ(w.catalog.records().wckeys[0].id, before.wckeys[0].id);
  EXPECT_EQ(w.catalog.records().resources[0].id, before.resources[0].id);
  w.remove_all();  // young as it is this time, it was made long ago
  EXPECT_EQ(w.kept(), kEverything);
}

TEST(CatalogDeleted, ItIsThereAfterARestart) {
  DeletedWorld w;
  w.now += hours(25);
  w.remove_all();
  const auto loaded = Catalog::load(w.catalog.all_rows());
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->records(), w.catalog.records());
  EXPECT_EQ(loaded->deleted(), w.catalog.deleted());
  EXPECT_EQ(loaded->counters(), w.catalog.counters());
  w.catalog = *loaded;
  w.add();
  EXPECT_EQ(w.kept(), "");
}

TEST(CatalogDeleted, WhoGetsAnotherNameIsNotDeleted) {
  DeletedWorld w;
  w.now += hours(25);
  AccountsChange change;
  change.put.users = {{"anna", {}}};
  change.remove = {{RecordKind::User, "ann"}};
  for (auto r : w.catalog.records().associations)
    if (r.row.user == "ann") r.row.user = "anna", change.put.associations.push_back(r);
  for (auto r : w.catalog.records().wckeys) r.user = "anna", change.put.wckeys.push_back(r);
  w.make(change);
  EXPECT_EQ(w.kept(), "");
  w.remove_all_of("anna");
  EXPECT_EQ(w.kept(), "lab/anna key ") << "the new name is of today";
}

TEST(CatalogDeleted, NumbersAreThoseOfTheSameThing) {
  model::AccountRecords gone;
  gone.associations = {DeletedWorld::row("lab", "lab", "ann"), DeletedWorld::row("lab", "lab", "ann"), DeletedWorld::row("lab", "dept")};
  gone.associations[0].row.id = 4;
  gone.associations[1].row.id = 5, gone.associations[1].row.partition = "debug";
  gone.associations[2].row.id = 6;
  gone.wckeys = {{7, "", "ann", "c", true}, {8, "*", "ann", "c", false}};
  gone.resources = {{9, "matlab", "flex", "", "", 10, {}}};
  const DeletedNumbers numbers(gone);
  for (const auto& r : gone.associations) EXPECT_EQ(numbers.of(r), r.row.id);
  for (const auto& r : gone.wckeys) EXPECT_EQ(numbers.of(r), r.id);
  EXPECT_EQ(numbers.of(gone.resources[0]), 9u);
  EXPECT_EQ(numbers.of(DeletedWorld::row("lab", "lab", "ben")), 0u);
  EXPECT_EQ(numbers.of(model::WckeyRecord{0, "*", "ann", "d", false}), 0u);
  EXPECT_EQ(numbers.of(model::ResourceRecord{0, "flex", "matlab", "", "", 1, {}}), 0u);
}

TEST(CatalogDeleted, AClusterComesBackWithItsRoot) {
  DeletedWorld w;
  w.now += hours(25);
  w.remove_all();
  const model::AccountRecords before = w.catalog.records();
  AccountsChange change;
  change.remove = {{RecordKind::Cluster, "c"}};
  for (const auto& r : before.associations) change.remove.push_back({RecordKind::Association, model::key_of(r)});
  w.make(change);
  EXPECT_EQ(w.catalog.cluster_deleted("c"), w.now);
  model::ClusterRecord cluster;
  cluster.name = "c";
  const auto step = w.catalog.plan_register(cluster, w.now);
  ASSERT_TRUE(step && *step);
  w.catalog = (*step)->next;
  EXPECT_FALSE(w.catalog.cluster_deleted("c"));
  ASSERT_EQ(w.catalog.records().associations.size(), 2u);
  EXPECT_EQ(w.catalog.records().associations[0].row.id, before.associations[0].row.id);
  EXPECT_EQ(w.catalog.records().associations[1].row.id, before.associations[1].row.id);
}

}  // namespace
}  // namespace spur::acct
