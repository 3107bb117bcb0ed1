// SPDX-License-Identifier: Apache-2.0
#include "acct/catalog.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "model/account_book.h"

namespace spur::acct {
namespace {

using model::AccountsChange;
using model::RecordKey;
using model::RecordKind;

constexpr Time kNow = from_unix_seconds(1'800'000'000);
const Actor kRoot{"root", true};

model::AssociationRecord account_row(std::string name, std::string parent = "root") {
  model::AssociationRecord r;
  r.cluster = "c1";
  r.parent = std::move(parent);
  r.row.account = std::move(name);
  return r;
}
model::AssociationRecord user_row(std::string user, std::string account, bool is_default = false) {
  model::AssociationRecord r;
  r.cluster = "c1";
  r.parent = account;
  r.row.account = std::move(account);
  r.row.user = std::move(user);
  r.row.is_default = is_default;
  return r;
}

struct World {
  Catalog catalog = Catalog::fresh();
  Time now = kNow;
  World() {
    model::ClusterRecord cluster;
    cluster.name = "c1";
    cluster.tres = {{"cpu", 64}, {"gres/gpu", 8}};
    auto step = catalog.plan_register(cluster, kNow);
    catalog = (*step)->next;
  }
  Result<Catalog::Step> plan(AccountsChange change, const Actor& actor = kRoot, const ActiveJobs& active = {},
                             std::vector<std::string>* lines = nullptr) {
    change.based_on = catalog.revision();
    return catalog.plan(change, actor, now, active, lines);
  }
  Status make(AccountsChange change, const Actor& actor = kRoot) {
    SPUR_ASSIGN(auto step, plan(std::move(change), actor));
    catalog = std::move(step.next);
    return {};
  }
  std::string refusal(AccountsChange change, const Actor& actor = kRoot) {
    const auto status = plan(std::move(change), actor);
    return status ? "" : status.error().message;
  }
  // physics with chem below it, and two users.
  void fill() {
    AccountsChange change;
    change.put.accounts = {{"physics", "p", "o"}, {"chem", "c", "o"}};
    change.put.users = {{"alice", model::AdminLevel::None}, {"bob", model::AdminLevel::None}};
    change.put.associations = {account_row("physics"), account_row("chem", "physics"),
                               user_row("alice", "chem", true), user_row("bob", "physics", true)};
    ASSERT_TRUE(make(change));
  }
  model::AssociationRecord find(std::string_view account, std::string_view user = "") {
    for (const auto& r : catalog.records().associations)
      if (r.row.account == account && r.row.user == user) return r;
    ADD_FAILURE() << account << "/" << user;
    return {};
  }
};

RecordKey gone(const model::AssociationRecord& r) {
  return {RecordKind::Association, model::key_of(r)};
}

TEST(Catalog, NewClusterHasItsRoot) {
  World w;
  const auto& all = w.catalog.records();
  ASSERT_EQ(all.associations.size(), 2u);
  EXPECT_EQ(all.associations[0].row.id, 1u);
  EXPECT_EQ(all.associations[0].row.account, "root");
  EXPECT_EQ(all.associations[0].row.qos, std::vector<std::string>{"normal"});
  EXPECT_EQ(all.associations[1].row.user, "root");
  EXPECT_EQ(all.tres.back(), (model::TresRecord{1001, "gres", "gpu"}));
  const auto again = w.catalog.plan_register(all.clusters[0], kNow);
  ASSERT_TRUE(again);
  EXPECT_FALSE(*again);
}

TEST(Catalog, RowsGiveTheSameCatalogAgain) {
  World w;
  w.fill();
  auto rows = w.catalog.all_rows();
  const auto loaded = Catalog::load(rows);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->records(), w.catalog.records());
  EXPECT_EQ(loaded->counters(), w.catalog.counters());
  rows.back().body = "\xff";
  EXPECT_FALSE(Catalog::load(rows));
}

TEST(Catalog, StepSaysWhatToWriteAndWhoDidIt) {
  World w;
  AccountsChange change;
  change.put.accounts = {{"physics", "p", "o"}};
  change.put.associations = {account_row("physics")};
  const auto step = w.plan(change, {"root", true});
  ASSERT_TRUE(step);
  ASSERT_EQ(step->put.size(), 3u);  // account, association, counters
  EXPECT_EQ(step->put[0].kind, "account");
  EXPECT_EQ(step->put[1].key, "3");
  ASSERT_EQ(step->transactions.size(), 2u);
  EXPECT_EQ(step->transactions[0].action, 1402u);
  EXPECT_EQ(step->transactions[0].target, "physics");
  EXPECT_EQ(step->transactions[1].target, "id_assoc=3");
  EXPECT_EQ(step->transactions[1].actor, "root");
}

TEST(Catalog, IdsAreNotGivenTwice) {
  World w;
  w.fill();
  const auto bob = w.find("physics", "bob");
  AccountsChange change;
  change.remove = {gone(bob)};
  ASSERT_TRUE(w.make(change));
  AccountsChange again;
  again.put.associations = {user_row("bob", "physics", true)};
  ASSERT_TRUE(w.make(again));
  EXPECT_GT(w.find("physics", "bob").row.id, bob.row.id);
}

TEST(Catalog, RefusesWhatDoesNotFitTogether) {
  World w;
  w.fill();
  AccountsChange change;
  change.put.associations = {user_row("alice", "nosuch")};
  EXPECT_EQ(w.refusal(change), "There is no account nosuch");
  change.put.associations = {account_row("chem", "nosuch")};
  change.put.associations[0].row.id = w.find("chem").row.id;
  EXPECT_EQ(w.refusal(change), "Parent account 'nosuch' of chem doesn't exist on cluster c1");
  change.put.associations = {user_row("carol", "chem")};
  EXPECT_EQ(w.refusal(change), "There is no user carol");
  change.put.associations = {user_row("alice", "chem")};
  EXPECT_EQ(w.refusal(change), "The association of account chem user 'alice' partition '' on c1 is there already");
  change.put.associations = {user_row("alice", "physics", true)};
  EXPECT_EQ(w.refusal(change), "User alice has two default accounts on c1");
  // A cycle.
  change.put.associations = {w.find("physics")};
  change.put.associations[0].parent = "chem";
  EXPECT_EQ(w.refusal(change), "An account cannot be below itself");
  // An account with something below it.
  change = {};
  change.remove = {gone(w.find("physics"))};
  EXPECT_EQ(w.refusal(change), "Parent account 'physics' of chem doesn't exist on cluster c1");
  change.remove = {{RecordKind::Account, "chem"}};
  EXPECT_EQ(w.refusal(change), "There is no account chem");
  change.remove = {{RecordKind::Account, "root"}};
  EXPECT_EQ(w.refusal(change), "You are not allowed to remove the root account");
  change.remove = {gone(w.find("root"))};
  EXPECT_NE(w.refusal(change), "");
  change.remove = {{RecordKind::User, "nosuch"}};
  EXPECT_EQ(w.refusal(change), "There is no user nosuch");
  change.remove = {{RecordKind::Qos, "normal"}};
  EXPECT_EQ(w.refusal(change), "There is no qos normal");  // the root account's list has it
}

TEST(Catalog, RefusesLimitsOnWhatNobodyCounts) {
  World w;
  AccountsChange change;
  change.put.qos.emplace_back().name = "big";
  change.put.qos[0].group.tres = {{"gres/nosuch", 3}};
  EXPECT_EQ(w.refusal(change), "no TRES known by type gres/nosuch");
}

TEST(Catalog, QosThatPreemptInACircle) {
  World w;
  AccountsChange change;
  change.put.qos.resize(2);
  change.put.qos[0].name = "a";
  change.put.qos[0].preempts = {"b", "normal"};
  change.put.qos[1].name = "b";
  EXPECT_EQ(w.refusal(change), "");
  change.put.qos[1].preempts = {"a"};
  EXPECT_EQ(w.refusal(change), "QOS Preemption loop detected");
}

TEST(Catalog, Names) {
  EXPECT_EQ(*checked_name("account", "Physics"), "physics");
  EXPECT_EQ(*checked_name("account", "Robert'); DROP TABLE entity;--"), "robert'); drop table entity;--");
  EXPECT_EQ(*checked_name("account", "größe"), "größe");
  EXPECT_FALSE(checked_name("account", ""));
  EXPECT_FALSE(checked_name("account", "a\nb"));
  EXPECT_FALSE(checked_name("account", "\xff\xfe"));
  EXPECT_FALSE(checked_name("account", std::string("a\0b", 3)));
  EXPECT_FALSE(checked_name("account", std::string(10'000, 'x')));
}

TEST(Catalog, NamesOfUsersAreInLowerCaseUnlessTheyAreToBeKept) {
  const auto users = [](World& world) {
    AccountsChange change;
    change.put.accounts = {{"Lab", "", ""}};
    change.put.users = {{"Ann", model::AdminLevel::None}};
    change.put.associations = {account_row("Lab"), user_row("Ann", "Lab", true)};
    change.put.coordinators = {{"Lab", "Ann"}};
    EXPECT_TRUE(world.make(change));
    const auto& all = world.catalog.records();
    return all.users.back().name + " " + all.associations.back().row.user + " " + all.associations.back().row.account +
           " " + all.coordinators.back().user;
  };
  World lower, kept;
  EXPECT_EQ(users(lower), "ann ann lab ann");
  kept.catalog.keep_case_of_users();
  EXPECT_EQ(users(kept), "Ann Ann lab Ann");
}

// As slurmdbd does it with TrackWCKey: "" is the default key of who has none.
TEST(Catalog, KeysThatJobsNameBecomeKnown) {
  World world;
  world.fill();
  const auto use = [&](std::set<WckeyUse> used) {
    const auto step = world.catalog.plan_wckeys("c1", used, kNow);
    ASSERT_TRUE(step) << step.error().message;
    if (*step) world.catalog = (*step)->next;
  };
  const auto keys = [&] {
    std::string out;
    for (const auto& r : world.catalog.records().wckeys)
      out += fmt::format("{} {}:'{}'{} ", r.id, r.user, r.name, r.is_default ? " default" : "");
    return out;
  };
  use({{"alice", "*"}, {"alice", "Tests"}, {"nobody", "x"}, {"bob", "two\nlines"}, {"bob", std::string(300, 'k')}});
  EXPECT_EQ(keys(), "1 alice:'' default 2 alice:'*' 3 alice:'tests' ");
  EXPECT_FALSE(*world.catalog.plan_wckeys("c1", {{"alice", "*"}, {"alice", "tests"}}, kNow)) << "nothing is new";
  EXPECT_FALSE(*world.catalog.plan_wckeys("c2", {{"alice", "new"}}, kNow)) << "no such cluster";
  AccountsChange change;
  change.put.wckeys = {{0, "own", "bob", "c1", true}};
  ASSERT_TRUE(world.make(change));
  use({{"bob", "*own"}});
  EXPECT_EQ(keys(), "1 alice:'' default 2 alice:'*' 3 alice:'tests' 4 bob:'own' default 5 bob:'*own' ");
  const auto whole = world.catalog.whole("c1");
  const auto alice = std::ranges::find(whole.users, "alice", &model::AccountUser::name);
  ASSERT_NE(alice, whole.users.end());
  EXPECT_EQ(alice->default_wckey, "");
}

TEST(Catalog, AnOldPictureIsRefused) {
  World w;
  w.fill();
  AccountsChange mine, other;
  mine.based_on = w.catalog.revision();
  mine.put.associations = {w.find("chem")};
  mine.put.associations[0].row.max_jobs = 3;
  other.put.associations = {w.find("physics")};
  other.put.associations[0].row.max_jobs = 4;
  ASSERT_TRUE(w.make(other));
  EXPECT_TRUE(w.catalog.plan(mine, kRoot, kNow)) << "of something else";
  other.put.associations = {w.find("chem")};
  other.put.associations[0].row.shares = 4;
  ASSERT_TRUE(w.make(other));
  const auto step = w.catalog.plan(mine, kRoot, kNow);
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().code, ErrorCode::Busy);
  mine.based_on = w.catalog.revision() + 1;
  EXPECT_FALSE(w.catalog.plan(mine, kRoot, kNow));
}

TEST(Catalog, RunningJobsKeepWhatTheyUse) {
  World w;
  w.fill();
  AccountsChange change;
  change.remove = {gone(w.find("chem", "alice"))};
  std::vector<std::string> lines;
  const auto active = [](const InUse& q) {
    return q.user == "alice" ? std::vector<std::string>{"JobId=7"} : std::vector<std::string>{};
  };
  const auto step = w.plan(change, kRoot, active, &lines);
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().message, "Job(s) active, cancel job(s) before remove");
  EXPECT_EQ(lines, std::vector<std::string>{"JobId=7"});
  change.remove = {gone(w.find("physics", "bob"))};
  EXPECT_TRUE(w.plan(change, kRoot, active));
}

TEST(Catalog, Rights) {
  World w;
  w.fill();
  const Actor bob{"bob", false}, alice{"alice", false};
  AccountsChange add;
  add.put.users = {{"carol", model::AdminLevel::None}};
  add.put.associations = {user_row("carol", "chem", true)};
  EXPECT_EQ(w.refusal(add, bob), "Only coordinators of account chem and operators may do that");

  AccountsChange make_bob;
  make_bob.put.coordinators = {{"physics", "bob"}};
  EXPECT_NE(w.refusal(make_bob, bob), "");
  ASSERT_TRUE(w.make(make_bob));
  EXPECT_TRUE(w.catalog.coordinates("bob", "c1", "chem"));
  EXPECT_EQ(w.refusal(add, bob), "");
  EXPECT_NE(w.refusal(add, alice), "");

  AccountsChange own;  // the account that he coordinates itself
  own.put.associations = {w.find("physics")};
  own.put.associations[0].row.shares = 100;
  EXPECT_NE(w.refusal(own, bob), "");
  own.put.associations = {w.find("chem")};
  own.put.associations[0].row.shares = 100;
  EXPECT_EQ(w.refusal(own, bob), "");

  AccountsChange admin;
  admin.put.users = {{"bob", model::AdminLevel::Operator}};
  EXPECT_EQ(w.refusal(admin, bob), "An admin level above your own is not yours to give or take");
  ASSERT_TRUE(w.make(admin));
  AccountsChange qos;
  qos.put.qos.emplace_back().name = "gold";
  EXPECT_EQ(w.refusal(qos, bob), "");
  EXPECT_EQ(w.refusal(qos, alice), "Only operators may do that");
  admin.put.users = {{"alice", model::AdminLevel::Administrator}};
  EXPECT_NE(w.refusal(admin, bob), "");
}

TEST(Catalog, CoordinatorsMayBeLikeOthers) {
  World w;
  AccountsChange change;
  change.put.accounts = {{"physics", "", ""}};
  change.put.users = {{"bob", model::AdminLevel::None}};
  change.put.associations = {account_row("physics"), user_row("bob", "physics", true)};
  change.put.coordinators = {{"physics", "bob"}};
  ASSERT_TRUE(w.make(change));
  const Actor bob{"bob", false};
  AccountsChange below;
  below.put.accounts = {{"lab", "", ""}};
  below.put.associations = {account_row("lab", "physics")};
  EXPECT_TRUE(w.plan(below, bob));
  w.catalog.disable_coordinators();
  EXPECT_EQ(w.refusal(below, bob), "Only coordinators of account lab and operators may do that");
  AccountsChange user = {};
  user.put.users = {{"carl", model::AdminLevel::None}};
  user.put.associations = {user_row("carl", "physics", true)};
  EXPECT_NE(w.refusal(user, bob), "");
  EXPECT_TRUE(w.plan(user));
}

TEST(Catalog, QosOfNewClusters) {
  World w;
  AccountsChange qos;
  qos.put.qos.emplace_back();
  qos.put.qos.back().name = "fast";
  ASSERT_TRUE(w.make(qos));
  w.catalog.use_for_new_clusters("fast");
  const auto qos_of = [&](const std::string& cluster) -> std::string {
    for (const auto& r : w.catalog.records().associations)
      if (r.cluster == cluster && r.row.account == "root" && !r.row.is_user()) return r.row.qos.empty() ? "" : r.row.qos[0];
    return "no root";
  };
  EXPECT_EQ(qos_of("c1"), "normal");
  AccountsChange added;  // with a root that has limits, as sacctmgr sends it
  added.put.clusters.emplace_back();
  added.put.clusters.back().name = "c2";
  model::AssociationRecord root = account_row("root", "");
  root.cluster = "c2";
  added.put.associations = {root};
  ASSERT_TRUE(w.make(added));
  EXPECT_EQ(qos_of("c2"), "fast");
  model::ClusterRecord cluster;
  cluster.name = "c3";
  auto step = w.catalog.plan_register(cluster, kNow);
  ASSERT_TRUE(step && *step);
  w.catalog = (*step)->next;
  EXPECT_EQ(qos_of("c3"), "fast");
}

TEST(Catalog, AnybodyMayChooseHisDefaultAccount) {
  World w;
  w.fill();
  AccountsChange more;
  more.put.associations = {user_row("alice", "physics")};
  ASSERT_TRUE(w.make(more));
  AccountsChange change;
  change.put.associations = {w.find("chem", "alice"), w.find("physics", "alice")};
  change.put.associations[0].row.is_default = false;
  change.put.associations[1].row.is_default = true;
  EXPECT_EQ(w.refusal(change, {"alice", false}), "");
  EXPECT_NE(w.refusal(change, {"bob", false}), "");
  change.put.associations[1].row.max_jobs = 1000;
  EXPECT_NE(w.refusal(change, {"alice", false}), "");
}

TEST(Catalog, ResolvedForAController) {
  World w;
  w.fill();
  AccountsChange change;
  change.put.qos.emplace_back().name = "gold";
  change.put.associations = {w.find("physics"), w.find("chem", "alice")};
  change.put.associations[0].row.max_jobs = 5;
  change.put.associations[0].row.group.jobs = 9;
  change.put.associations[0].row.max_tres_per_job = {{"cpu", 4}};
  change.put.associations[1].row.max_tres_per_job = {{"gres/gpu", 1}};
  change.put.associations[1].qos_added = {"gold"};
  ASSERT_TRUE(w.make(change));
  const auto update = w.catalog.whole("c1");
  const auto alice = std::ranges::find(update.associations, "alice", &model::Association::user);
  ASSERT_NE(alice, update.associations.end());
  EXPECT_EQ(alice->max_jobs, 5u);
  EXPECT_FALSE(alice->group.jobs);
  EXPECT_EQ(alice->max_tres_per_job, (model::TresCounts{{"gres/gpu", 1}, {"cpu", 4}}));
  EXPECT_EQ(alice->qos, (std::vector<std::string>{"normal", "gold"}));
  EXPECT_EQ(alice->parent, w.find("chem").row.id);
  const auto user = std::ranges::find(update.users, "alice", &model::AccountUser::name);
  ASSERT_NE(user, update.users.end());
  EXPECT_EQ(user->default_account, "chem");
  EXPECT_TRUE(w.catalog.whole("other").associations.empty());
}

// ---- random changes: the tree stays a tree, and a controller that got differences knows what a fresh one would.

struct Copy {  // as state::SetAccounts keeps it
  std::map<std::uint32_t, model::Association> rows;
  std::map<std::string, model::Qos> qos;
  std::map<std::string, model::AccountUser> users;
  void take(const model::AccountsUpdate& u) {
    if (u.all) *this = {};
    for (const auto id : u.associations_gone) rows.erase(id);
    for (const auto& name : u.qos_gone) qos.erase(name);
    for (const auto& name : u.users_gone) users.erase(name);
    for (const auto& r : u.associations) rows.insert_or_assign(r.id, r);
    for (const auto& r : u.qos) qos.insert_or_assign(r.name, r);
    for (const auto& r : u.users) users.insert_or_assign(r.name, r);
  }
  bool is_sound() const {
    std::vector<model::AssociationPtr> list;
    for (const auto& [id, r] : rows) list.push_back(std::make_shared<const model::Association>(r));
    return model::AccountBook::make(1, list, {}).has_value();
  }
  friend bool operator==(const Copy&, const Copy&) = default;
};

AccountsChange random_change(std::mt19937& dice, const model::AccountRecords& all) {
  const auto pick = [&](const auto& list) -> const auto& { return list[dice() % list.size()]; };
  const auto name = [&](const char* stem, unsigned n) { return stem + std::to_string(dice() % n); };
  AccountsChange change;
  switch (dice() % 8) {
    case 0: {
      const std::string account = name("a", 12);
      change.put.accounts = {{account, "", ""}};
      change.put.associations = {account_row(account, pick(all.accounts).name)};
      break;
    }
    case 1: {
      const std::string user = name("u", 10);
      change.put.users = {{user, model::AdminLevel::None}};
      change.put.associations = {user_row(user, pick(all.accounts).name, dice() % 2 == 0)};
      break;
    }
    case 2:  // moves, often into a circle
      change.put.associations = {pick(all.associations)};
      change.put.associations[0].parent = pick(all.accounts).name;
      break;
    case 3:
      change.remove = {gone(pick(all.associations))};
      break;
    case 4: {
      change.put.associations = {pick(all.associations)};
      auto& row = change.put.associations[0].row;
      row.max_jobs = dice() % 3 ? std::optional<std::uint32_t>(dice() % 9) : std::nullopt;
      if (dice() % 2) row.qos = {pick(all.qos).name};
      if (dice() % 2) change.put.associations[0].qos_removed = {pick(all.qos).name};
      break;
    }
    case 5: {
      model::Qos qos;
      qos.name = name("q", 5);
      if (dice() % 2) qos.preempts = {pick(all.qos).name};
      change.put.qos = {qos};
      break;
    }
    case 6:
      change.remove = {{RecordKind::Qos, pick(all.qos).name}};
      break;
    default:
      change.put.coordinators = {{pick(all.accounts).name, pick(all.users).name}};
  }
  return change;
}

TEST(Catalog, RandomChanges) {
  std::size_t made = 0, refused = 0, kept = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    std::mt19937 dice(seed);
    World w;
    Copy told;
    std::size_t deleted_before = 0;
    model::AccountsUpdate last = w.catalog.whole("c1");
    told.take(last);
    std::map<std::pair<std::string, std::string>, CatalogRow> rows;  // by kind and key, as a database has them
    for (const auto& row : w.catalog.all_rows()) rows[{row.kind, row.key}] = row;
    std::map<std::uint32_t, std::string> ever;  // whose number it was
    for (int i = 0; i < 150; ++i) {
      w.now += hours(dice() % 6);  // some of what is removed is old enough to be kept
      const auto step = w.plan(random_change(dice, w.catalog.records()));
      if (!step) {
        ++refused;
        continue;
      }
      ++made;
      w.catalog = step->next;
      for (const auto& key : step->erase) ASSERT_EQ(rows.erase(key), 1u);
      for (const auto& row : step->put) rows[{row.kind, row.key}] = row;
      for (const auto& r : w.catalog.records().associations) {
        const std::string owner = r.row.account + "/" + r.row.user;
        ASSERT_EQ(ever.emplace(r.row.id, owner).first->second, owner) << "given twice";
      }
      kept += w.catalog.deleted().associations.size() > deleted_before ? 1 : 0;
      deleted_before = w.catalog.deleted().associations.size();
      const auto fresh = w.catalog.whole("c1");
      ASSERT_EQ(fresh.associations.size(), w.catalog.records().associations.size()) << "all of it is one tree";
      if (const auto update = difference(last, fresh)) told.take(*update);
      last = fresh;
      Copy anew;
      anew.take(fresh);
      ASSERT_EQ(told, anew) << "seed " << seed << " step " << i;
      ASSERT_TRUE(told.is_sound());
    }
    std::vector<CatalogRow> list;
    for (const auto& [key, row] : rows) list.push_back(row);
    const auto loaded = Catalog::load(list);
    ASSERT_TRUE(loaded) << loaded.error().message;
    ASSERT_EQ(loaded->whole("c1"), w.catalog.whole("c1"));
    ASSERT_EQ(loaded->deleted().associations.size(), w.catalog.deleted().associations.size());
    ASSERT_EQ(loaded->deleted().qos.size(), w.catalog.deleted().qos.size());
  }
  EXPECT_GT(kept, 100u);
  EXPECT_GT(made, 1000u);
  EXPECT_GT(refused, 500u);
}

}  // namespace
}  // namespace spur::acct
