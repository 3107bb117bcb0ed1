// SPDX-License-Identifier: Apache-2.0
#include "os/accounting_database.h"

#include <gtest/gtest.h>

#include "os/accounting_schema.h"
#include "os/test_directory.h"
#include "os/test_postgres.h"

namespace spur::os {
namespace {

// One server for all tests, each with a database of its own.
TestPostgres& server() {
  static auto* one = new TestPostgres();
  static const bool registered = std::atexit([] { delete one; }) == 0;
  EXPECT_TRUE(registered);
  return *one;
}

class Database : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (postgres()) {
      static int count = 0;
      schema_ = fmt::format("t{}", ++count);
      ASSERT_TRUE(server().sql("CREATE SCHEMA " + schema_));
    }
    open();
  }
  bool postgres() const { return std::string(GetParam()) == "postgresql"; }
  std::string url() const {
    if (postgres()) return server().url() + "&options=-csearch_path%3D" + schema_;
    return "sqlite:" + directory_.path() + "/a.sqlite";
  }
  void open() {
    auto opened = AccountingDatabase::open(url());
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }
  static io::AcctJobRow job(std::uint32_t id, std::int64_t submitted, std::int64_t ended, std::string record) {
    io::AcctJobRow row;
    row.job = id;
    row.epoch = 1;
    row.submitted = from_unix_seconds(submitted);
    row.uid = id % 3;
    row.account = "a'; DROP TABLE job; --\n\xff";
    row.started = from_unix_seconds(submitted + 1);
    row.ended = ended ? from_unix_seconds(ended) : Time{};
    row.record = std::move(record);
    return row;
  }
  io::AcctChunk chunk(std::uint64_t first, std::uint64_t last, std::vector<io::AcctJobRow> jobs) const {
    io::AcctChunk out;
    out.cluster = "c";
    out.born = from_micros(7);
    out.first = first;
    out.last = last;
    out.jobs = std::move(jobs);
    return out;
  }
  std::vector<std::string> records(const io::AcctJobWish& wish) const {
    std::vector<std::string> out;
    const Status status = store_->jobs(wish, [&](const io::AcctJobRow& row) {
      out.push_back(row.record);
      return true;
    });
    EXPECT_TRUE(status) << status.error().message;
    return out;
  }

  TestDirectory directory_;
  std::string schema_;
  std::unique_ptr<AccountingDatabase> store_;
};

INSTANTIATE_TEST_SUITE_P(Both, Database, ::testing::Values("sqlite", "postgresql"),
                         [](const auto& test) { return test.param; });

using Strings = std::vector<std::string>;

TEST_P(Database, RecordsComeOnceAndInOrder) {
  const io::AcctCluster c{"c", "host", 6817, from_micros(7), 0, from_micros(1)};
  auto known = store_->hello(c);
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_EQ(known->have, 0u);
  auto taken = store_->ingest(chunk(1, 3, {job(1, 100, 0, "one"), job(2, 100, 200, "two")}));
  ASSERT_TRUE(taken) << taken.error().message;
  // The same again, as after a lost acknowledgement: nothing happens.
  EXPECT_TRUE(store_->ingest(chunk(1, 3, {job(1, 100, 0, "another")})));
  EXPECT_EQ(store_->hello(c)->have, 3u);
  EXPECT_FALSE(store_->ingest(chunk(3, 4, {})));
  EXPECT_EQ(records({.cluster = "c", .jobs = {}, .uids = {}, .accounts = {}, .from = {}, .until = {}}),
            (Strings{"one", "two"}));
  // A later record takes the place of the earlier one.
  EXPECT_TRUE(store_->ingest(chunk(4, 4, {job(1, 100, 300, "one, ended")})));
  EXPECT_EQ(records({.cluster = "c", .jobs = {1}, .uids = {}, .accounts = {}, .from = {}, .until = {}}),
            (Strings{"one, ended"}));
  // Of an outbox that is another one nothing is here.
  EXPECT_EQ(store_->hello({"c", "host", 6817, from_micros(8), 0, from_micros(1)})->have, 0u);
}

TEST_P(Database, JobsAreFoundByWhatTheyAre) {
  ASSERT_TRUE(store_->hello({"c", "host", 6817, from_micros(7), 0, {}}));
  const std::int64_t month = 31 * 86400;
  io::AcctJobRow task = job(10, 3 * month, 3 * month + 5, "task");
  task.array_job = 4;
  ASSERT_TRUE(store_->ingest(
      chunk(1, 9, {job(4, 100, 200, "4"), job(5, month, month + 9, "5"), job(7, 2 * month, 0, "7"), task})));
  const std::string account = "a'; DROP TABLE job; --\n\xff";
  const auto at = [](std::int64_t s) { return from_unix_seconds(s); };
  EXPECT_EQ(records({"c", {4}, {}, {}, {}, {}}), (Strings{"4", "task"}));
  EXPECT_EQ(records({"c", {}, {1}, {}, {}, {}}), (Strings{"4", "7", "task"}));
  EXPECT_EQ(records({"c", {}, {}, {account}, {}, {}}), (Strings{"4", "5", "7", "task"}));
  EXPECT_EQ(records({"c", {}, {}, {"a"}, {}, {}}), (Strings{}));
  EXPECT_EQ(records({"c", {}, {}, {}, at(month), {}}), (Strings{"5", "7", "task"}));
  EXPECT_EQ(records({"c", {}, {}, {}, at(month), at(2 * month)}), (Strings{"5", "7"}));
  EXPECT_EQ(records({"other", {}, {}, {}, {}, {}}), (Strings{}));
}

TEST_P(Database, StepsBelongToTheirRun) {
  ASSERT_TRUE(store_->hello({"c", "host", 6817, from_micros(7), 0, {}}));
  auto all = chunk(1, 5, {job(1, 100, 200, "first"), job(1, 300, 400, "second")});
  all.jobs[1].epoch = 2;
  all.steps = {{1, 1, from_unix_seconds(100), 0, "a"},
               {1, 2, from_unix_seconds(300), 0, "b"},
               {1, 2, from_unix_seconds(300), 0xfffffffbu, "c"}};
  ASSERT_TRUE(store_->ingest(all));
  Strings found;
  ASSERT_TRUE(store_->steps("c", {&all.jobs[1], 1}, [&](const io::AcctStepRow& step) {
    found.push_back(step.record);
    return true;
  }));
  EXPECT_EQ(found, (Strings{"b", "c"}));
}

TEST_P(Database, EventsEndWithTheNext) {
  ASSERT_TRUE(store_->hello({"c", "host", 6817, from_micros(7), 0, {}}));
  auto all = chunk(1, 3, {});
  const auto at = [](std::int64_t s) { return from_unix_seconds(s); };
  all.events = {{"n1", at(10), {}, false, "down"}, {"n2", at(11), {}, false, "drain"}, {"n1", at(20), {}, true, ""}};
  ASSERT_TRUE(store_->ingest(all));
  Strings found;
  ASSERT_TRUE(store_->events("c", at(0), {}, [&](const io::AcctEventRow& event) {
    found.push_back(fmt::format("{} {}-{} {}", event.node, to_unix_seconds(event.started),
                                to_unix_seconds(event.ended), event.record));
    return true;
  }));
  EXPECT_EQ(found, (Strings{"n1 10-20 down", "n2 11-0 drain"}));
}

TEST_P(Database, EntitiesChangeTogether) {
  const std::string nasty("\0x'\"\\\xff\n", 7);
  const std::string large(10'000, 'l');
  io::AcctEntityChange change;
  change.put = {{"user", nasty, large}, {"account", "a", "1"}, {"account", "a", "2"}};
  change.transactions = {{0, from_micros(5), 3, "root", "c", "name='x'", nasty}};
  auto done = store_->change(change);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(store_->entities().value(), (std::vector<io::AcctEntity>{{"account", "a", "2"}, {"user", nasty, large}}));
  ASSERT_TRUE(store_->change({{}, {{"account", "a"}}, {}}));
  open();  // as after a restart
  EXPECT_EQ(store_->entities().value(), (std::vector<io::AcctEntity>{{"user", nasty, large}}));
  int count = 0;
  ASSERT_TRUE(store_->transactions({}, {}, [&](const io::AcctTransaction& t) {
    EXPECT_EQ(t.info, nasty);
    EXPECT_EQ(t.actor, "root");
    return ++count > 0;
  }));
  EXPECT_EQ(count, 1);
}

TEST_P(Database, DeletedEntitiesKeepTheirTimes) {
  const std::vector<io::AcctEntity> both = {{"account", "a", "1", from_micros(5), {}},
                                            {"account", "b", "2", from_micros(6), from_micros(9)}};
  ASSERT_TRUE(store_->change({both, {}, {}}));
  open();
  EXPECT_EQ(store_->entities().value(), both);
  ASSERT_TRUE(store_->change({{{"account", "b", "3", from_micros(6), {}}}, {}, {}}));
  EXPECT_EQ(store_->entities().value()[1], (io::AcctEntity{"account", "b", "3", from_micros(6), {}}));
}

// As a program of the first version left it.
TEST_P(Database, AnOlderSchemaIsBroughtForward) {
  ASSERT_TRUE(store_->change({{{"account", "a", "1", from_micros(5), {}}}, {}, {}}));
  store_.reset();
  auto connection = AccountingDatabase::connect(url(), false);
  ASSERT_TRUE(connection);
  for (const char* statement : {"ALTER TABLE entity DROP COLUMN created", "ALTER TABLE entity DROP COLUMN deleted",
                                "UPDATE spur_schema SET version = 1"}) {
    const Status done = (*connection)->execute(statement);
    ASSERT_TRUE(done) << done.error().message;
  }
  EXPECT_EQ(schema_version(**connection).value(), 1);
  ASSERT_EQ(steps_from(1).size(), 1u);
  EXPECT_EQ(steps_from(1)[0].version, 2);
  connection->reset();
  open();
  EXPECT_EQ(store_->schema(), kAccountingSchema);
  EXPECT_EQ(store_->entities().value(), (std::vector<io::AcctEntity>{{"account", "a", "1"}}));
}

TEST_P(Database, OldJobsGoAfterTheyWereArchived) {
  ASSERT_TRUE(store_->hello({"c", "host", 6817, from_micros(7), 0, {}}));
  auto all = chunk(1, 9, {job(1, 100, 200, "old"), job(2, 100, 900, "new"), job(3, 100, 0, "runs")});
  all.steps = {{1, 1, from_unix_seconds(100), 0, "step"}};
  ASSERT_TRUE(store_->ingest(all));
  Strings kept;
  std::vector<io::AccountingStore::Old> archive;
  const auto gone = store_->purge_jobs("c", from_unix_seconds(500), [&](const auto& old) -> Status {
    archive = old;
    for (const auto& one : old) {
      kept.push_back(one.job.record);
      for (const auto& step : one.steps) kept.push_back(step.record);
    }
    return {};
  });
  ASSERT_TRUE(gone) << gone.error().message;
  EXPECT_EQ(*gone, 1u);
  EXPECT_EQ(kept, (Strings{"old", "step"}));
  EXPECT_EQ(records({"c", {}, {}, {}, {}, {}}), (Strings{"new", "runs"}));
  for (const char* cluster : {"c", "elsewhere"}) {
    const auto back = store_->restore(cluster, archive);
    ASSERT_TRUE(back) << back.error().message;
  }
  EXPECT_EQ(records({"c", {}, {}, {}, {}, {}}), (Strings{"old", "new", "runs"}));
  EXPECT_EQ(records({"elsewhere", {}, {}, {}, {}, {}}), (Strings{"old"}));
}

TEST_P(Database, EveryKindGoesWhenItIsOldAndComesBack) {
  using Kind = io::AccountingStore::OldKind;
  ASSERT_TRUE(store_->hello({"c", "host", 6817, from_micros(7), 0, {}}));
  auto all = chunk(1, 9, {job(1, 100, 200, "old"), job(2, 100, 900, "new")});
  all.steps = {{1, 1, from_unix_seconds(100), 0, "old step"}, {2, 1, from_unix_seconds(100), 0, "new step"}};
  all.events = {{"n1", from_unix_seconds(100), from_unix_seconds(200), false, "was down"},
                {"n2", from_unix_seconds(100), {}, false, "is down"}};
  all.reservations = {{"r1", from_unix_seconds(100), from_unix_seconds(200), "over"},
                      {"r2", from_unix_seconds(100), from_unix_seconds(900), "not over"}};
  ASSERT_TRUE(store_->ingest(all));
  io::AcctEntityChange change;
  change.transactions = {{0, from_unix_seconds(100), 1, "root", "c", "a", "old"},
                         {0, from_unix_seconds(900), 1, "root", "c", "a", "new"}};
  ASSERT_TRUE(store_->change(change));
  for (const Kind kind : {Kind::Steps, Kind::Events, Kind::Reservations, Kind::Transactions}) {
    io::AccountingStore::OldRows kept;
    const auto purge = [&] {
      return store_->purge_rows(kind, "c", from_unix_seconds(500), [&](const auto& rows) -> Status {
        kept = rows;
        return {};
      });
    };
    // What the archive does not take stays.
    ASSERT_FALSE(store_->purge_rows(kind, "c", from_unix_seconds(500),
                                    [](const auto&) -> Status { return fail(ErrorCode::OutOfSpace, "full"); }));
    const auto gone = purge();
    ASSERT_TRUE(gone) << gone.error().message;
    EXPECT_EQ(*gone, 1u) << static_cast<int>(kind);
    EXPECT_EQ(purge().value_or(99), 0u);
    const auto back = store_->restore_rows("c", kept);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(purge().value_or(99), 1u) << static_cast<int>(kind);
  }
}

TEST_P(Database, ANewerSchemaIsLeftAlone) {
  store_.reset();
  auto connection = AccountingDatabase::connect(url(), false);
  ASSERT_TRUE(connection);
  ASSERT_TRUE((*connection)->execute("UPDATE spur_schema SET version = 999"));
  connection->reset();
  const auto opened = AccountingDatabase::open(url());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::VersionMismatch);
  EXPECT_NE(opened.error().message.find("version 999"), std::string::npos) << opened.error().message;
}

TEST(Postgres, SurvivesARestartOfTheServer) {
  TestPostgres own;
  auto opened = AccountingDatabase::open(own.url());
  ASSERT_TRUE(opened) << opened.error().message;
  auto& store = **opened;
  ASSERT_TRUE(store.hello({"c", "host", 6817, from_micros(7), 0, {}}));
  ASSERT_TRUE(store.clusters());
  own.stop();
  const auto away = store.hello({"c", "host", 6817, from_micros(7), 0, {}});
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code, ErrorCode::Unreachable) << away.error().message;
  EXPECT_FALSE(store.clusters());
  own.start();
  EXPECT_TRUE(store.hello({"c", "host", 6817, from_micros(7), 0, {}}));
  EXPECT_TRUE(store.clusters());
}

TEST(Postgres, SaysWhyNot) {
  const auto nobody = AccountingDatabase::open(server().url("nobody_like_this"));
  ASSERT_FALSE(nobody);
  EXPECT_NE(nobody.error().message.find("nobody_like_this"), std::string::npos) << nobody.error().message;
  const auto nowhere = AccountingDatabase::open("postgresql://spur@127.0.0.1:1/x");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::Unreachable);
  EXPECT_EQ(AccountingDatabase::open("mysql://x").error().code, ErrorCode::ConfigInvalid);
}

}  // namespace
}  // namespace spur::os
