// SPDX-License-Identifier: Apache-2.0
#include "ctld/identify.h"

#include <gtest/gtest.h>

#include <map>

#include "ctld/test_doors.h"
#include "state/test_world.h"

namespace spur::ctld {
namespace {

using io::CredentialKind;
using model::Role;

// Believes exactly the words that it was taught.
struct TestVerifier final : io::CredentialVerifier {
  std::map<std::string, io::Verified, std::less<>> known;
  Result<io::Verified> verify(std::string_view bytes, Time) override {
    const auto it = known.find(bytes);
    if (it == known.end()) return fail(ErrorCode::Unauthenticated, "not signed by anybody we know");
    return it->second;
  }
  void user(const std::string& word, std::uint32_t uid, const std::string& by_node = {}) {
    known[word] = {.kind = CredentialKind::User,
                   .uid = Uid{uid},
                   .gid = Gid{uid},
                   .host = "h",
                   .node = by_node,
                   .audience = "controller",
                   .job = {},
                   .epoch = {},
                   .public_key = {},
                   .expires = {}};
  }
  void node(const std::string& word, const std::string& name, const std::string& key) {
    user(word, 0, name);
    known[word].kind = CredentialKind::Node;
    known[word].public_key = key;
  }
};

class IdentifyTest : public testing::Test {
 protected:
  IdentifyTest() {
    model::ClusterConfig config;
    config.admin_uids = {77};
    for (const char* name : {"n1", "n2"})
      config.nodes.push_back(state::node_config([&](auto& c) { c.name = name, c.cpus = 1; }));
    world_.must(state::SetConfig{config});
    auto registration = state::World::registration("n1", 1);
    registration.public_key = "key1";
    world_.must(registration);
  }
  const model::View& view() const { return world_.view(); }

  state::World world_;
  TestClock clock_;
  TestVerifier verifier_;
  std::vector<std::string> enrolled_;
  Identify identify_{
      clock_,
      verifier_,
      {.daemon_uid = Uid{42}, .join_token = "secret", .enrol = [this](const auto& node, const auto& key) {
         enrolled_.push_back(node + "=" + key);
         return key != "stolen";
       }}};
};

TEST_F(IdentifyTest, UsersOfThisHost) {
  struct Row {
    std::uint32_t uid;
    Role role;
  };
  for (const Row& row : {Row{0, Role::Admin}, Row{42, Role::Admin}, Row{77, Role::Admin}, Row{1000, Role::User}}) {
    const auto caller = identify_.local(Uid{row.uid}, Gid{5}, view());
    ASSERT_TRUE(caller) << row.uid;
    EXPECT_EQ(caller->role, row.role) << row.uid;
    EXPECT_EQ(caller->uid, Uid{row.uid});
    EXPECT_EQ(caller->gid, Gid{5});
  }
  const auto nobody = identify_.local(kNobodyUid, Gid{5}, view());
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::Unauthenticated);
}

TEST_F(IdentifyTest, Users) {
  struct Row {
    std::uint32_t uid;
    const char* by_node;
    Role role;
  };
  for (const Row& row : {Row{0, "", Role::Admin}, Row{42, "", Role::Admin}, Row{77, "", Role::Admin},
                         Row{1000, "", Role::User}, Row{0, "n1", Role::User}, Row{42, "n1", Role::User},
                         Row{77, "n1", Role::User}, Row{1000, "n1", Role::User}}) {
    verifier_.user("word", row.uid, row.by_node);
    const auto caller = identify_.user("word", view());
    ASSERT_TRUE(caller);
    EXPECT_EQ(caller->role, row.role) << row.uid << " by " << row.by_node;
    EXPECT_EQ(caller->uid, Uid{row.uid});
  }
  EXPECT_EQ(identify_.user("", view())->role, Role::Anonymous);
  EXPECT_EQ(identify_.user("forged", view()).error().code, ErrorCode::Unauthenticated);
  verifier_.node("node word", "n1", "key1");
  EXPECT_EQ(identify_.user("node word", view()).error().code, ErrorCode::Unauthenticated);
}

TEST_F(IdentifyTest, Agents) {
  verifier_.user("root", 0);
  verifier_.user("root of a node", 0, "n1");
  verifier_.user("somebody", 1000);
  verifier_.node("n1", "n1", "key1");
  verifier_.node("n1 with a new key", "n1", "key9");
  verifier_.node("n2", "n2", "key2");
  struct Row {
    const char *credential, *token, *node, *key;
    bool in, enrols;
  };
  const Row rows[] = {
      {"n1", "", "n1", "key1", true, false},
      {"n1", "", "n2", "key1", false, false},                 // for another node
      {"n1", "", "n1", "key9", false, false},                 // shows another key than it signed with
      {"n1 with a new key", "", "n1", "key9", false, false},  // not the one that was enrolled
      {"n2", "", "n2", "key2", false, false},                 // never enrolled
      {"root", "", "n2", "key2", true, true},
      {"root", "", "n2", "stolen", false, true},
      {"root of a node", "", "n2", "key2", false, false},
      {"somebody", "", "n2", "key2", false, false},
      {"", "secret", "n2", "key2", true, true},
      {"", "secret", "n2", "stolen", false, true},
      {"", "secre", "n2", "key2", false, false},
      {"", "secret2", "n2", "key2", false, false},
      {"", "", "n2", "key2", false, false},
      {"forged", "", "n1", "key1", false, false},
  };
  for (const Row& row : rows) {
    enrolled_.clear();
    const auto caller = identify_.agent(row.credential, row.token, row.node, row.key, view());
    EXPECT_EQ(caller.has_value(), row.in) << row.credential << "/" << row.token << " for " << row.node;
    EXPECT_EQ(!enrolled_.empty(), row.enrols) << row.credential << "/" << row.token << " for " << row.node;
    if (!caller) continue;
    EXPECT_EQ(caller->role, Role::NodeAgent);
    EXPECT_EQ(caller->node, row.node);
  }
  const Identify closed(clock_, verifier_, {.daemon_uid = Uid{42}, .join_token = "", .enrol = {}});
  EXPECT_FALSE(closed.agent("", "", "n2", "key2", view())) << "no token is no token, not an empty one";
}

}  // namespace
}  // namespace spur::ctld
