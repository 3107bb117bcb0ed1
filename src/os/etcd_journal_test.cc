// SPDX-License-Identifier: Apache-2.0
// Against a real etcd. Nothing here depends on how fast it is: what is waited for is an event, never a time.
#include "os/etcd_journal.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "os/etcd_test_server.h"
#include "os/system_clock.h"

namespace spur::os {
namespace {

// A controller without the controller: notes what its journal tells it.
class Member {
 public:
  Member(const EtcdTestServer& server, std::string name, EtcdJournal::Options options = {})
      : name_(std::move(name)), options_(std::move(options)) {
    options_.membership = {
        .cluster = "test", .member = name_, .members = {{"a", ""}, {"b", ""}, {"c", ""}}, .directory = directory_.path()};
    auto client = server.client();
    EXPECT_TRUE(join_cluster(*client, EtcdKeys("test"), options_.membership));
    journal_ = std::make_unique<EtcdJournal>(std::move(client), clock_, options_);
  }
  Result<std::uint64_t> recover() {
    SPUR_ASSIGN(const auto recovery, journal_->recover());
    snapshot = recovery.snapshot;
    last_ = recovery.snapshot_index;
    return last_;
  }
  void start() {
    ASSERT_TRUE(recover());
    follow();
  }
  void follow() {
    {
      const std::lock_guard lock(mutex_);
      leads_ = deposed_ = false;
    }
    journal_->follow(last_, {.on_entry =
                                 [this](std::uint64_t index, std::string entry) {
                                   const std::lock_guard lock(mutex_);
                                   EXPECT_EQ(index, last_ + 1);
                                   last_ = index;
                                   entries_.push_back(std::move(entry));
                                   changed_.notify_all();
                                 },
                             .on_lead = [this](bool) { set(&leads_); },
                             .on_follow = [this](const Error&) { set(&deposed_); },
                             .on_failed = [this](const Error& error) { failure_ = error, set(&failed_); }});
  }
  Status append(std::string entry) {
    const std::uint64_t index = last_ + 1;
    Status status = append_and_wait(index, entry);
    if (!status) return status;
    const std::lock_guard lock(mutex_);
    last_ = index;
    entries_.push_back(std::move(entry));
    return {};
  }
  Status save(std::uint64_t index, std::string bytes) {
    std::promise<Status> done;
    journal_->save_snapshot(index, std::move(bytes), [&](Status status) { done.set_value(std::move(status)); });
    return done.get_future().get();
  }
  void wait_lead() {
    wait([this] { return leads_; });
  }
  void wait_deposed() {
    wait([this] { return deposed_; });
  }
  void wait_failed() {
    wait([this] { return failed_; });
  }
  void wait_entries(std::size_t count) {
    wait([this, count] { return entries_.size() >= count; });
  }
  std::vector<std::string> entries() {
    const std::lock_guard lock(mutex_);
    return entries_;
  }
  void stop() { journal_.reset(); }
  EtcdJournal& journal() { return *journal_; }
  const std::string& directory() const { return directory_.path(); }
  std::string snapshot;
  Error failure_;

 private:
  Status append_and_wait(std::uint64_t index, const std::string& entry) {
    std::promise<Status> done;
    journal_->append(index, entry, [&](Status status) { done.set_value(std::move(status)); });
    return done.get_future().get();
  }
  void set(bool* flag) {
    const std::lock_guard lock(mutex_);
    *flag = true;
    changed_.notify_all();
  }
  template <class Condition>
  void wait(Condition condition) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), condition)) << name_;
  }

  TestDirectory directory_;
  SystemClock clock_;
  std::string name_;
  EtcdJournal::Options options_;
  std::unique_ptr<EtcdJournal> journal_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> entries_;
  std::uint64_t last_ = 0;
  bool leads_ = false, deposed_ = false, failed_ = false;
};

// Long enough that a busy machine does not change the leader unasked.
EtcdJournal::Options patient() {
  EtcdJournal::Options options;
  options.failover = seconds(5);
  return options;
}

Status catch_up(Member& member) {
  std::promise<Status> done;
  member.journal().catch_up([&](Status status) { done.set_value(std::move(status)); });
  return done.get_future().get();
}

TEST(EtcdJournal, WhoLooksAtAFollowerFindsWhatTheLeaderHasAppended) {
  const EtcdTestServer server;
  EtcdJournal::Options slow;
  slow.failover = minutes(10);  // follows on its own account twice in a hundred seconds
  Member a(server, "a", slow), b(server, "b", slow);
  a.start();
  a.wait_lead();
  b.start();
  EXPECT_TRUE(a.journal().is_current());
  EXPECT_FALSE(b.journal().is_current());
  for (int i = 1; i <= 20; ++i) {
    ASSERT_TRUE(a.append("entry " + std::to_string(i)));
    ASSERT_TRUE(catch_up(b));
    EXPECT_EQ(b.entries(), a.entries());
    ASSERT_TRUE(catch_up(a));
  }
}

TEST(EtcdJournal, WhoLooksIsAnsweredAfterALongSilenceAndNotWithoutEtcd) {
  auto server = std::make_unique<EtcdTestServer>();
  Member a(*server, "a", patient()), b(*server, "b", patient());
  a.start();
  a.wait_lead();
  b.start();
  ASSERT_TRUE(catch_up(b));
  server.reset();
  const Status status = catch_up(b);  // there was a word of the leader just now
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::Unreachable);
  while (!b.journal().is_current()) std::this_thread::sleep_for(milliseconds(20));
  EXPECT_GE(b.journal().standing().silence, patient().failover);
  EXPECT_TRUE(catch_up(b));
}

TEST(EtcdJournal, WaitsAtItsStartForAnEtcdThatDoesNotAnswerYet) {
  const EtcdTestServer server;
  EtcdJournal::Options options = patient();
  Member hasty(server, "a", options);
  options.patience = minutes(1);
  Member a(server, "a", options);
  server.signal(SIGSTOP);
  EXPECT_FALSE(hasty.recover());
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(700));  // longer than a call may take
    server.signal(SIGCONT);
  });
  EXPECT_TRUE(a.recover());
  later.join();
}

TEST(EtcdJournal, AFollowerGetsWhatTheLeaderAppends) {
  const EtcdTestServer server;
  Member a(server, "a", patient()), b(server, "b", patient());
  a.start();
  a.wait_lead();
  b.start();
  ASSERT_TRUE(a.append("one"));
  ASSERT_TRUE(a.append(""));
  ASSERT_TRUE(a.append("three"));
  b.wait_entries(3);
  EXPECT_EQ(b.entries(), a.entries());
  EXPECT_TRUE(a.journal().standing().leads);
  EXPECT_FALSE(b.journal().standing().leads);
  EXPECT_EQ(b.journal().standing().leader, "a");
}

TEST(EtcdJournal, EntriesBeyondEtcdsLimitArriveWhole) {
  const EtcdTestServer server;
  Member a(server, "a", patient()), b(server, "b", patient());
  a.start();
  a.wait_lead();
  b.start();
  std::string large;
  for (std::uint32_t i = 0; large.size() < (7u << 20); ++i) large += std::to_string(i * 2654435761u);
  ASSERT_TRUE(a.append(large));
  ASSERT_TRUE(a.append(std::string(512u << 10, 'x')));  // exactly one piece
  ASSERT_TRUE(a.append("after"));
  b.wait_entries(3);
  EXPECT_TRUE(b.entries() == a.entries());
}

TEST(EtcdJournal, AnotherLeadsWhenTheLeaderGoes) {
  const EtcdTestServer server;
  Member a(server, "a", patient()), b(server, "b", patient());
  a.start();
  a.wait_lead();
  ASSERT_TRUE(a.append("one"));
  b.start();
  a.stop();
  b.wait_lead();
  EXPECT_EQ(b.entries(), std::vector<std::string>{"one"});
  ASSERT_TRUE(b.append("two"));
}

// Whoever has not led since another took the term cannot write, however little it knows of that.
TEST(EtcdJournal, ADeposedLeaderCannotWrite) {
  const EtcdTestServer server;
  Member a(server, "a", patient());
  a.start();
  a.wait_lead();
  ASSERT_TRUE(a.append("one"));
  const EtcdKeys keys("test");
  ASSERT_TRUE(server.client()->commit({.unchanged = {}, .puts = {{keys.term(), "b\nhost"}}, .deletes = {}}));
  const Status refused = a.append("two");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::NotLeader);
  a.wait_deposed();
  const auto log = server.client()->range(keys.log(0), keys.log_end(), 0, false);
  ASSERT_TRUE(log);
  EXPECT_EQ(log->values.size(), 1u);
  // "b" never beats, so in time it is a's turn again.
  a.follow();
  a.wait_lead();
  ASSERT_TRUE(a.append("three"));
  EXPECT_EQ(a.entries(), (std::vector<std::string>{"one", "three"}));
}

// Loses the answers to claims, which are writes of the term.
class Forgetful final : public io::KvStore {
 public:
  Forgetful(std::unique_ptr<io::KvStore> store, std::atomic<int>* claims) : store_(std::move(store)), claims_(claims) {}
  Result<io::KvRange> range(const std::string& from, const std::string& to, std::int64_t limit, bool local) override {
    return store_->range(from, to, limit, local);
  }
  Result<io::KvCommit> commit(const io::KvTransaction& transaction) override {
    auto commit = store_->commit(transaction);
    if (transaction.puts.empty() || transaction.puts.front().first != EtcdKeys("test").term()) return commit;
    ++*claims_;
    return fail(ErrorCode::TimedOut, "lost");
  }

 private:
  std::unique_ptr<io::KvStore> store_;
  std::atomic<int>* claims_;
};

TEST(EtcdJournal, AClaimWhoseAnswerWasLostCounts) {
  const EtcdTestServer server;
  TestDirectory directory;
  SystemClock clock;
  EtcdJournal::Options options = patient();
  options.membership = {.cluster = "test", .member = "a", .members = {{"a", ""}}, .directory = directory.path()};
  std::atomic<int> claims = 0;
  for (int life = 1; life <= 2; ++life) {
    auto client = server.client();
    ASSERT_TRUE(join_cluster(*client, EtcdKeys("test"), options.membership));
    EtcdJournal journal(std::make_unique<Forgetful>(std::move(client), &claims), clock, options);
    const auto recovery = journal.recover();
    ASSERT_TRUE(recovery);
    std::promise<void> leads;
    journal.follow(life == 1 ? 0 : 1, {.on_entry = [](std::uint64_t, const std::string&) {},
                                       .on_lead = [&](bool) { leads.set_value(); },
                                       .on_follow = [](const Error&) {},
                                       .on_failed = [](const Error&) {}});
    leads.get_future().get();
    EXPECT_EQ(claims, 2 * life - 1);  // resigning writes the term as well
    std::promise<Status> done;
    journal.append(static_cast<std::uint64_t>(life), "x", [&](Status status) { done.set_value(std::move(status)); });
    EXPECT_TRUE(done.get_future().get());
  }
}

// etcd stands still for longer than a leader may be silent: what was under way is there afterwards, or it is not, and
// the next entry comes after it either way.
TEST(EtcdJournal, AnAppendOfUnknownOutcomeIsResolvedByTheLog) {
  const EtcdTestServer server;
  EtcdJournal::Options options;
  options.failover = milliseconds(300);
  Member a(server, "a", options);
  a.start();
  a.wait_lead();
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(a.append("before"));
    const std::size_t before = a.entries().size();
    server.signal(SIGSTOP);
    const Status status = a.append("perhaps");
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::NotLeader);
    a.wait_deposed();
    server.signal(SIGCONT);
    a.follow();
    a.wait_lead();
    const auto entries = a.entries();
    ASSERT_LE(entries.size(), before + 1);
    if (entries.size() > before) {
      EXPECT_EQ(entries.back(), "perhaps");
    }
  }
  Member b(server, "b", options);
  b.start();
  b.wait_entries(a.entries().size());
  EXPECT_EQ(b.entries(), a.entries());
}

TEST(EtcdJournal, TheLogIsCutOnceAllHaveASnapshotAndALateOneAsksForTheState) {
  const EtcdTestServer server;
  Member a(server, "a", patient()), b(server, "b", patient()), c(server, "c", patient());
  a.start();
  a.wait_lead();
  b.start();
  for (int i = 1; i <= 20; ++i) ASSERT_TRUE(a.append("entry " + std::to_string(i)));
  b.wait_entries(20);
  const EtcdKeys keys("test");
  const auto first = [&] {
    const auto range = server.client()->range(keys.log(0), keys.log_end(), 1, false);
    return keys.log_index(range->values.front().key);
  };
  ASSERT_TRUE(b.save(15, "state at 15"));
  ASSERT_TRUE(a.save(10, "state at 10"));
  EXPECT_EQ(first(), 1u) << "c has no snapshot yet";
  ASSERT_TRUE(c.save(12, "state at 12"));  // as if it had been there
  ASSERT_TRUE(a.save(14, "state at 14"));
  EXPECT_EQ(first(), 12u);

  EtcdJournal::Options options = patient();
  options.fetch = [] { return StoredSnapshot{14, "state at 14"}; };
  std::filesystem::remove(c.directory() + "/snapshot.bin");
  Member late(server, "c", options);
  const auto from = late.recover();
  ASSERT_TRUE(from) << from.error().message;
  EXPECT_EQ(*from, 14u);
  EXPECT_EQ(late.snapshot, "state at 14");
  late.follow();
  late.wait_entries(6);
  EXPECT_EQ(late.entries().front(), "entry 15");
}

TEST(EtcdJournal, AFollowerThatMissedTheCutSaysSo) {
  const EtcdTestServer server;
  Member a(server, "a", patient()), b(server, "b", patient());
  a.start();
  a.wait_lead();
  for (int i = 1; i <= 5; ++i) ASSERT_TRUE(a.append("entry"));
  ASSERT_TRUE(b.recover());
  const EtcdKeys keys("test");
  ASSERT_TRUE(server.client()->commit({.unchanged = {}, .puts = {}, .deletes = {{keys.log(0), keys.log(4)}}}));
  b.follow();
  b.wait_failed();
  EXPECT_NE(b.failure_.message.find("has been cut"), std::string::npos) << b.failure_.message;
}

TEST(EtcdJournal, AFullEtcdRefusesAndGoesOn) {
  const EtcdTestServer server({"--quota-backend-bytes=2000000"});
  Member a(server, "a", patient());
  a.start();
  a.wait_lead();
  Status status;
  for (int i = 0; i < 100 && status; ++i) status = a.append(std::string(200'000, 'x'));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::OutOfSpace);
  EXPECT_NE(status.error().message.find("quota"), std::string::npos);
  EXPECT_TRUE(a.journal().standing().leads);
}

TEST(EtcdMembership, OtherClustersAreRefused) {
  const EtcdTestServer server;
  const auto client = server.client();
  const EtcdKeys keys("test");
  const TestDirectory one, two;
  const EtcdMembership member{.cluster = "test", .member = "a", .members = {{"a", "h1"}, {"b", "h2"}}, .directory = one.path()};
  ASSERT_TRUE(join_cluster(*client, keys, member));
  ASSERT_TRUE(join_cluster(*client, keys, member)) << "a second start";
  const auto refused = [&](EtcdMembership other, std::string_view why) {
    const auto status = join_cluster(*client, keys, other);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::ConfigInvalid);
    EXPECT_NE(status.error().message.find(why), std::string::npos) << status.error().message;
  };
  refused({"test", "x", {{"x", ""}, {"y", ""}}, two.path()}, "whose controllers are a, b, not x, y");
  refused({"test", "z", {{"a", ""}, {"b", ""}}, two.path()}, "none of the controllers");
  ASSERT_TRUE(store_cluster_id(two.path(), "another"));
  refused({"test", "b", {{"a", ""}, {"b", ""}}, two.path()}, "belongs to another cluster");
  EXPECT_FALSE(join_cluster(*client, EtcdKeys("empty"), {"empty", "b", {{"a", ""}, {"b", ""}}, two.path()}));
}

TEST(EtcdMembership, TheSetMayChange) {
  const EtcdTestServer server;
  const auto client = server.client();
  const EtcdKeys keys("test");
  const TestDirectory one, two;
  const EtcdMembership a{.cluster = "test", .member = "a", .members = {{"a", "h1"}, {"b", "h2"}}, .directory = one.path()};
  EtcdMembership b = a;
  b.member = "b";
  b.directory = two.path();
  EXPECT_EQ(join_cluster(*client, keys, b).error().code, ErrorCode::Busy) << "the first one begins";
  ASSERT_TRUE(join_cluster(*client, keys, a));
  auto identity = join_cluster(*client, keys, b);
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->controllers, a.members);
  EtcdIdentity changed = *identity;
  changed.controllers.push_back({"c", "h3"});
  ASSERT_TRUE(write_identity(*client, keys, changed));
  EXPECT_EQ(write_identity(*client, keys, changed).error().code, ErrorCode::Busy) << "it is not what it was";
  ASSERT_TRUE(join_cluster(*client, keys, b)) << "one that was here may have an old list";
  const TestDirectory three;
  EtcdMembership c = a;
  c.member = "c";
  c.directory = three.path();
  EXPECT_FALSE(join_cluster(*client, keys, c)) << "a new one must know all";
  c.members.push_back({"c", "h3"});
  EXPECT_TRUE(join_cluster(*client, keys, c));
  auto now = read_identity(*client, keys, false);
  ASSERT_TRUE(now);
  now->controllers.pop_back();
  now->reserved_for = "a";
  ASSERT_TRUE(write_identity(*client, keys, *now));
  EXPECT_NE(join_cluster(*client, keys, c).error().message.find("none of the controllers of cluster test (a, b)"),
            std::string::npos);
  now = read_identity(*client, keys, true);
  EXPECT_TRUE(now->may_lead("a"));
  EXPECT_FALSE(now->may_lead("b"));
}

TEST(EtcdMembership, AConvertedStateBeginsTheLogWhereItWas) {
  const EtcdTestServer server;
  const auto client = server.client();
  const EtcdKeys keys("test");
  const TestDirectory one;
  const EtcdMembership a{.cluster = "test", .member = "a", .members = {{"a", "h1"}}, .directory = one.path()};
  const EtcdBeginning beginning{.id = "feed", .index = 41, .secrets = {{"k", "mine"}}};
  auto identity = join_cluster(*client, keys, a, beginning);
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->id, "feed");
  EXPECT_TRUE(join_cluster(*client, keys, a, beginning)) << "after a crash";
  EXPECT_EQ(agree_on_secret(*client, keys, "k", "yours"), "mine");
  const auto log = client->range(keys.log(0), keys.log_end(), 1, false);
  ASSERT_EQ(log->values.size(), 1u);
  EXPECT_EQ(keys.log_index(log->values.front().key), 41u);
  EXPECT_EQ(decode_etcd_entry(log->values.front().value)->parts, EtcdEntry::kBeginning);
  EXPECT_NE(join_cluster(*client, keys, a, {.id = "other", .index = 3, .secrets = {}})
                .error()
                .message.find("has a cluster test already"),
            std::string::npos);
}

TEST(EtcdMembership, TheFirstSecretCounts) {
  const EtcdTestServer server;
  const auto client = server.client();
  EXPECT_EQ(agree_on_secret(*client, EtcdKeys("test"), "k", "mine"), "mine");
  EXPECT_EQ(agree_on_secret(*client, EtcdKeys("test"), "k", "yours"), "mine");
  EXPECT_TRUE(check_etcd_version(*client));
}

TEST(EtcdSnapshot, DamageIsFound) {
  const TestDirectory directory;
  EXPECT_EQ(load_snapshot_file(directory.path())->index, 0u);
  ASSERT_TRUE(store_snapshot_file(directory.path(), 77, "the state"));
  const auto whole = load_snapshot_file(directory.path());
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->index, 77u);
  EXPECT_EQ(whole->bytes, "the state");
  const std::string path = directory / "snapshot.bin";
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size - 1);
  EXPECT_EQ(load_snapshot_file(directory.path()).error().code, ErrorCode::Corrupt);
  std::filesystem::resize_file(path, 3);
  EXPECT_EQ(load_snapshot_file(directory.path()).error().code, ErrorCode::Corrupt);
}

TEST(EtcdKeys, EntriesComeBackAsTheyWere) {
  const std::string value =
      encode_etcd_entry({.term = 1234567890123, .parts = 7, .checksum = 0xdeadbeef, .last = "rest"});
  const auto entry = decode_etcd_entry(value);
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->term, 1234567890123);
  EXPECT_EQ(entry->parts, 7u);
  EXPECT_EQ(entry->checksum, 0xdeadbeef);
  EXPECT_EQ(entry->last, "rest");
  EXPECT_FALSE(decode_etcd_entry(value.substr(0, 19)));
  EXPECT_FALSE(decode_etcd_entry("SPJ2" + value.substr(4)));
  const auto term = decode_etcd_term(encode_etcd_term({"c1", "host:1", "5f"}));
  EXPECT_EQ(term.member + " " + term.address + " " + term.life, "c1 host:1 5f");
  EXPECT_EQ(decode_etcd_term("\n").member, "");
  const EtcdKeys keys("c");
  EXPECT_EQ(keys.log_index(keys.log(255)), 255u);
  EXPECT_FALSE(keys.log_index(keys.term()));
  EXPECT_LT(keys.log(255), keys.log(256));
  EXPECT_LT(keys.log(~0ull), keys.term());
  EXPECT_LT(keys.term(), keys.replicated_end());
  EXPECT_LT(keys.tick(), keys.replicated_end());
}

}  // namespace
}  // namespace spur::os
