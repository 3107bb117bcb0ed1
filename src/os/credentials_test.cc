// SPDX-License-Identifier: Apache-2.0
// Each way to be somebody else, tried.
#include "os/credentials.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "spur/v1/credential.pb.h"

namespace spur::os {
namespace {

using io::CredentialClaims;
using io::CredentialKind;
using io::Verified;

constexpr Time kNow = from_unix_seconds(1'800'000'000);
constexpr const char* kPrefix = "spur credential 1";

Ed25519Key key_of(char seed) {
  return Ed25519Key::from_seed(std::string(32, seed)).value();
}
CredentialClaims user(std::uint32_t uid) {
  return {.kind = CredentialKind::User,
          .uid = Uid(uid),
          .gid = Gid(uid),
          .node = {},
          .audience = "controller",
          .job = {},
          .epoch = {}};
}
CredentialClaims node(const std::string& name) {
  return {.kind = CredentialKind::Node,
          .uid = Uid(0),
          .gid = Gid(0),
          .node = name,
          .audience = "controller",
          .job = {},
          .epoch = {}};
}
CredentialClaims ticket(std::uint32_t uid) {
  return {.kind = CredentialKind::StepTicket,
          .uid = Uid(uid),
          .gid = Gid(uid),
          .node = {},
          .audience = "controller",
          .job = JobId(7),
          .epoch = Epoch(2)};
}

class Credentials : public ::testing::Test {
 protected:
  static TrustedKeyVerifier::Options options() {
    return {.cluster = "alpha",
            .audience = "controller",
            .accepts = {CredentialKind::User, CredentialKind::Node, CredentialKind::StepTicket},
            .user_on_node = [](const std::string& name, Uid uid) { return name == "n1" && uid == Uid(1000); }};
  }
  Credentials() : verifier_(options()) {
    verifier_.trust(login_.public_key(), {.any_user = true, .step_tickets = false, .node = {}});
    verifier_.trust(n1_.public_key(), {.any_user = false, .step_tickets = false, .node = "n1"});
    verifier_.trust(controller_.public_key(), {.any_user = false, .step_tickets = true, .node = {}});
  }
  void expect_refused(const std::string& bytes, std::string_view why, Time now = kNow) {
    const Result<Verified> result = verifier_.verify(bytes, now);
    ASSERT_FALSE(result) << why;
    EXPECT_EQ(result.error().code, ErrorCode::Unauthenticated);
    EXPECT_NE(result.error().message.find(why), std::string::npos) << result.error().message;
  }
  // A credential with a payload of the attacker's choice, rightly signed with `key`.
  static std::string hand_made(const Ed25519Key& key, const std::function<void(v1::CredentialPayload&)>& change) {
    v1::CredentialPayload payload;
    payload.set_uid(1000);
    payload.set_gid(1000);
    payload.set_host("login");
    payload.set_cluster("alpha");
    payload.set_audience("controller");
    payload.set_issued_us(to_micros(kNow));
    payload.set_expires_us(to_micros(kNow + seconds(60)));
    payload.set_kind(v1::CredentialPayload::KIND_USER);
    change(payload);
    v1::Credential credential;
    credential.set_payload(payload.SerializeAsString());
    credential.set_signature(key.sign(std::string(kPrefix) + '\0' + credential.payload()).value());
    credential.set_public_key(key.public_key());
    return credential.SerializeAsString();
  }

  HostCredentialSigner login_{key_of('L'), "alpha", "login"};
  HostCredentialSigner n1_{key_of('1'), "alpha", "host1"};
  HostCredentialSigner controller_{key_of('C'), "alpha", "ctl"};
  TrustedKeyVerifier verifier_;
};

TEST_F(Credentials, GoodOnes) {
  Verified got = verifier_.verify(login_.sign(user(1000), kNow).value(), kNow).value();
  EXPECT_EQ(got.kind, CredentialKind::User);
  EXPECT_EQ(got.uid, Uid(1000));
  EXPECT_EQ(got.gid, Gid(1000));
  EXPECT_EQ(got.host, "login");
  EXPECT_EQ(got.node, "");
  EXPECT_EQ(got.public_key, login_.public_key());
  EXPECT_EQ(got.expires, kNow + seconds(60));

  got = verifier_.verify(login_.sign(user(0), kNow).value(), kNow).value();
  EXPECT_EQ(got.uid, kRootUid);

  got = verifier_.verify(n1_.sign(node("n1"), kNow).value(), kNow).value();
  EXPECT_EQ(got.kind, CredentialKind::Node);
  EXPECT_EQ(got.node, "n1");

  got = verifier_.verify(controller_.sign(ticket(1000), kNow).value(), kNow + seconds(599)).value();
  EXPECT_EQ(got.kind, CredentialKind::StepTicket);
  EXPECT_EQ(got.job, JobId(7));
  EXPECT_EQ(got.epoch, Epoch(2));
}

TEST_F(Credentials, HandMadeOneIsGoodUnlessChanged) {
  EXPECT_TRUE(verifier_.verify(hand_made(key_of('L'), [](auto&) {}), kNow));
}

TEST_F(Credentials, Times) {
  const std::string bytes = login_.sign(user(1000), kNow).value();
  EXPECT_TRUE(verifier_.verify(bytes, kNow + seconds(60) - Duration(1)));
  expect_refused(bytes, "expired", kNow + seconds(60));
  expect_refused(bytes, "expired", kNow + hours(24));
  EXPECT_TRUE(verifier_.verify(bytes, kNow - seconds(5)));
  expect_refused(bytes, "future", kNow - seconds(5) - Duration(1));
  expect_refused(bytes, "future", kNow - hours(24));
  const auto with_times = [&](std::int64_t issued, std::int64_t expires) {
    return hand_made(key_of('L'), [&](auto& p) { p.set_issued_us(issued), p.set_expires_us(expires); });
  };
  const std::int64_t now = to_micros(kNow), second = 1'000'000;
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min(),
                         kMax = std::numeric_limits<std::int64_t>::max();
  // A key may not make its word last longer than the rule.
  expect_refused(with_times(now, now + 61 * second), "impossible");
  expect_refused(with_times(now, kMax), "impossible");
  expect_refused(with_times(kMin, kMax), "impossible");
  expect_refused(with_times(kMin, now + second), "impossible");
  expect_refused(with_times(now, now), "impossible");
  expect_refused(with_times(now, now - second), "impossible");
  expect_refused(with_times(0, second), "impossible");
  expect_refused(with_times(kMax - second, kMax), "future");
}

TEST_F(Credentials, OtherClusterAudienceKey) {
  HostCredentialSigner beta(key_of('L'), "beta", "login");
  expect_refused(beta.sign(user(1000), kNow).value(), "another cluster");
  HostCredentialSigner prefix(key_of('L'), "alpha2", "login");
  expect_refused(prefix.sign(user(1000), kNow).value(), "another cluster");
  CredentialClaims for_node = user(1000);
  for_node.audience = "node:n1";
  expect_refused(login_.sign(for_node, kNow).value(), "not for controller");
  HostCredentialSigner stranger(key_of('X'), "alpha", "login");
  expect_refused(stranger.sign(user(1000), kNow).value(), "not trusted");
  // A stranger's signature under a trusted key's name.
  v1::Credential credential;
  ASSERT_TRUE(credential.ParseFromString(stranger.sign(user(1000), kNow).value()));
  credential.set_public_key(login_.public_key());
  expect_refused(credential.SerializeAsString(), "signature");
  credential.set_public_key("");
  expect_refused(credential.SerializeAsString(), "not trusted");
}

TEST_F(Credentials, ForgedPayload) {
  v1::Credential credential;
  ASSERT_TRUE(credential.ParseFromString(login_.sign(user(1000), kNow).value()));
  v1::CredentialPayload payload;
  ASSERT_TRUE(payload.ParseFromString(credential.payload()));
  payload.set_uid(0);
  credential.set_payload(payload.SerializeAsString());
  expect_refused(credential.SerializeAsString(), "signature");
  credential.clear_signature();
  expect_refused(credential.SerializeAsString(), "signature");
  // Signed, but not as a credential: the prefix is missing.
  const Ed25519Key key = key_of('L');
  credential.set_signature(key.sign(credential.payload()).value());
  expect_refused(credential.SerializeAsString(), "signature");
}

TEST_F(Credentials, EveryTruncationAndEveryFlippedBit) {
  const std::string good = login_.sign(user(1000), kNow).value();
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(verifier_.verify(good.substr(0, size), kNow)) << size;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(verifier_.verify(bytes, kNow)) << bit;
  }
}

TEST_F(Credentials, Garbage) {
  expect_refused(std::string(5000, 'x'), "longer than");
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(1 + random() % 300, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    EXPECT_FALSE(verifier_.verify(bytes, kNow));
  }
  EXPECT_EQ(verifier_.verify("", kNow).error().message, "no credential was given");
}

TEST_F(Credentials, NodeKeyActsOnlyForItself) {
  expect_refused(n1_.sign(node("n10"), kNow).value(), "may not speak for node n10");
  expect_refused(n1_.sign(node("n"), kNow).value(), "may not speak for node n");
  expect_refused(n1_.sign(ticket(1000), kNow).value(), "step tickets");
  expect_refused(n1_.sign(user(0), kNow).value(), "root");
  expect_refused(n1_.sign(user(1001), kNow).value(), "has no job there");
  // A user with a job there, and marked as attested by the node, not by a login host.
  const Verified got = verifier_.verify(n1_.sign(user(1000), kNow).value(), kNow).value();
  EXPECT_EQ(got.node, "n1");
  // The node in a user's payload does not count.
  expect_refused(hand_made(key_of('1'), [](auto& p) { p.set_node("n2"); }), "names no job and no node");
  // Without a rule, a node attests no user at all.
  TrustedKeyVerifier::Options strict = options();
  strict.user_on_node = nullptr;
  TrustedKeyVerifier verifier(strict);
  verifier.trust(n1_.public_key(), {.any_user = false, .step_tickets = false, .node = "n1"});
  EXPECT_FALSE(verifier.verify(n1_.sign(user(1000), kNow).value(), kNow));
}

TEST_F(Credentials, OtherKeysDoOnlyTheirOwnThing) {
  expect_refused(login_.sign(node("n1"), kNow).value(), "may not speak for node");
  expect_refused(login_.sign(ticket(1000), kNow).value(), "step tickets");
  expect_refused(controller_.sign(user(1000), kNow).value(), "may not attest users");
  expect_refused(controller_.sign(node("n1"), kNow).value(), "may not speak for node");
}

TEST_F(Credentials, KindConfusion) {
  using P = v1::CredentialPayload;
  expect_refused(hand_made(key_of('L'), [](P& p) { p.set_kind(P::KIND_NONE); }), "unknown kind");
  expect_refused(hand_made(key_of('L'), [](P& p) { p.set_kind(static_cast<P::Kind>(99)); }), "unknown kind");
  expect_refused(hand_made(key_of('L'), [](P& p) { p.set_job(5); }), "names no job");
  expect_refused(hand_made(key_of('C'), [](P& p) { p.set_kind(P::KIND_STEP_TICKET); }), "needs a job");
  expect_refused(hand_made(key_of('1'), [](P& p) { p.set_kind(P::KIND_NODE); }), "needs the node's name");
  // A step ticket where only users are taken, and the other way round.
  TrustedKeyVerifier::Options users_only = options();
  users_only.accepts = {CredentialKind::User};
  TrustedKeyVerifier verifier(users_only);
  verifier.trust(controller_.public_key(), {.any_user = true, .step_tickets = true, .node = "n1"});
  EXPECT_TRUE(verifier.verify(controller_.sign(user(1000), kNow).value(), kNow));
  EXPECT_FALSE(verifier.verify(controller_.sign(ticket(1000), kNow).value(), kNow));
  EXPECT_FALSE(verifier.verify(controller_.sign(node("n1"), kNow).value(), kNow));
}

TEST_F(Credentials, ImpossibleIds) {
  expect_refused(hand_made(key_of('L'), [](auto& p) { p.set_uid(0xffffffffu); }), "4294967295");
  expect_refused(hand_made(key_of('L'), [](auto& p) { p.set_gid(0xffffffffu); }), "4294967295");
  EXPECT_FALSE(login_.sign(user(0xffffffffu), kNow));
  CredentialClaims no_audience = user(1);
  no_audience.audience.clear();
  EXPECT_FALSE(login_.sign(no_audience, kNow));
  EXPECT_FALSE(login_.sign(CredentialClaims{}, kNow));  // nothing filled in
  CredentialClaims huge = user(1);
  huge.audience.assign(10'000, 'a');
  EXPECT_FALSE(login_.sign(huge, kNow));
}

TEST_F(Credentials, EachIsDifferent) {
  EXPECT_NE(login_.sign(user(1000), kNow).value(), login_.sign(user(1000), kNow).value());
}

TEST_F(Credentials, RevocationReachesWhatIsCached) {
  const std::string bytes = login_.sign(user(1000), kNow).value();
  EXPECT_TRUE(verifier_.verify(bytes, kNow));
  EXPECT_TRUE(verifier_.verify(bytes, kNow));
  verifier_.distrust(login_.public_key());
  expect_refused(bytes, "not trusted");
  verifier_.trust(login_.public_key(), {.any_user = true, .step_tickets = false, .node = {}});
  EXPECT_TRUE(verifier_.verify(bytes, kNow));
  verifier_.replace_all({{login_.public_key(), {.any_user = false, .step_tickets = true, .node = {}}}});
  expect_refused(bytes, "may not attest users");
  verifier_.replace_all({});
  expect_refused(bytes, "not trusted");
}

TEST_F(Credentials, EnrolmentTakesOverNobodysKey) {
  // A node that names the key of the controller, of a login host or of another node gets nothing and breaks nothing.
  for (const std::string& key :
       {login_.public_key(), controller_.public_key(), n1_.public_key(), std::string("short")})
    EXPECT_FALSE(verifier_.trust_node(key, "n2"));
  EXPECT_TRUE(verifier_.verify(login_.sign(user(1000), kNow).value(), kNow));
  EXPECT_TRUE(verifier_.verify(controller_.sign(ticket(1000), kNow).value(), kNow));
  EXPECT_TRUE(verifier_.verify(n1_.sign(node("n1"), kNow).value(), kNow));
  EXPECT_TRUE(verifier_.trust_node(n1_.public_key(), "n1"));  // again, as it is
  // A new key of the same node puts the old one out of use.
  HostCredentialSigner fresh(key_of('2'), "alpha", "host1");
  const std::string old = n1_.sign(user(1000), kNow).value();
  EXPECT_TRUE(verifier_.verify(old, kNow));
  EXPECT_TRUE(verifier_.trust_node(fresh.public_key(), "n1"));
  EXPECT_TRUE(verifier_.verify(fresh.sign(node("n1"), kNow).value(), kNow));
  expect_refused(old, "not trusted");
  expect_refused(n1_.sign(node("n1"), kNow).value(), "not trusted");
}

TEST_F(Credentials, NodePolicyIsAskedEachTime) {
  bool has_job = true;
  TrustedKeyVerifier::Options changing = options();
  changing.user_on_node = [&](const std::string&, Uid) { return has_job; };
  TrustedKeyVerifier verifier(changing);
  verifier.trust(n1_.public_key(), {.any_user = false, .step_tickets = false, .node = "n1"});
  const std::string bytes = n1_.sign(user(1000), kNow).value();
  EXPECT_TRUE(verifier.verify(bytes, kNow));
  has_job = false;
  EXPECT_FALSE(verifier.verify(bytes, kNow));
}

TEST_F(Credentials, CacheIsBoundedAndTransparent) {
  for (const std::size_t entries : {0u, 1u, 4u}) {
    TrustedKeyVerifier::Options small = options();
    small.cache_entries = entries;
    TrustedKeyVerifier verifier(small);
    verifier.trust(login_.public_key(), {.any_user = true, .step_tickets = false, .node = {}});
    std::vector<std::string> all;
    for (std::uint32_t uid = 1; uid <= 20; ++uid) all.push_back(login_.sign(user(uid), kNow).value());
    for (int round = 0; round < 3; ++round)
      for (std::uint32_t uid = 1; uid <= 20; ++uid) EXPECT_EQ(verifier.verify(all[uid - 1], kNow)->uid, Uid(uid));
  }
}

TEST_F(Credentials, ThreadsAndRevocations) {
  const std::string bytes = login_.sign(user(1000), kNow).value();
  std::atomic<bool> stop = false;
  std::atomic<int> good = 0, refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!stop) (verifier_.verify(bytes, kNow) ? good : refused)++;
    });
  for (int i = 0; i < 50; ++i) {
    verifier_.distrust(login_.public_key());
    EXPECT_FALSE(verifier_.verify(bytes, kNow));  // at once, whatever the others have in hand
    verifier_.trust(login_.public_key(), {.any_user = true, .step_tickets = false, .node = {}});
    EXPECT_TRUE(verifier_.verify(bytes, kNow));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(good, 0);
}

}  // namespace
}  // namespace spur::os
