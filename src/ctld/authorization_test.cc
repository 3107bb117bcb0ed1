// SPDX-License-Identifier: Apache-2.0
#include "ctld/authorization.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace spur::ctld {
namespace {

using model::Role;

// The methods that the service's description declares: what a client can call.
std::set<std::string> declared_methods() {
  std::set<std::string> out;
  const std::regex rpc(R"(^\s*rpc\s+(\w+)\s*\()");
  std::smatch match;
  for (const char* name : {"configless", "controller", "replica"}) {
    std::ifstream in(std::string(SPUR_SOURCE_DIR) + "/proto/spur/v1/" + name + ".proto");
    for (std::string line; std::getline(in, line);)
      if (std::regex_search(line, match, rpc)) out.insert(match[1]);
  }
  return out;
}

model::Caller caller_of(Role role, Uid uid = Uid{1000}) {
  model::Caller caller;
  caller.role = role;
  caller.uid = uid;
  return caller;
}

TEST(Authorization, EveryMethodHasExactlyOneRow) {
  const auto declared = declared_methods();
  ASSERT_GE(declared.size(), 19u);
  std::set<std::string> rows;
  for (const Row& row : authorization_table())
    EXPECT_TRUE(rows.emplace(row.method).second) << row.method << " has two rows";
  EXPECT_EQ(rows, declared);
}

// Who gets in, spelled out once more: A anonymous, U user, R administrator, N agent.
TEST(Authorization, EveryMethodAndEveryRole) {
  const std::map<std::string, std::string> expected = {
      {"Ping", "AURN"},
      {"SubmitJob", "UR"},
      {"WillRun", "UR"},
      {"ExplainJob", "UR"},
      {"ListJobs", "UR"},
      {"WatchJobs", "UR"},
      {"GetCluster", "UR"},
      {"GetConfig", "UR"},
      {"WaitJob", "UR"},
      {"CancelJob", "UR"},
      {"CancelJobs", "UR"},
      {"HoldJob", "UR"},
      {"ReleaseJob", "UR"},
      {"RequeueJob", "UR"},
      {"SuspendJob", "R"},
      {"UpdateJob", "UR"},
      {"StepTicket", "UR"},
      {"UpdateNode", "R"},
      {"CreateNodes", "R"},
      {"DeleteNodes", "R"},
      {"CompleteAllocation", "UR"},
      {"Reconfigure", "R"},
      {"Shutdown", "R"},
      {"Takeover", "R"},
      {"FetchSnapshot", "R"},
      {"FetchOutbox", "R"},
      {"FetchConfig", "AURN"},
      {"Connect", "N"},
      {"Join", "N"},
      {"GetReservations", "UR"},
      {"CreateReservation", "R"},
      {"UpdateReservation", "R"},
      {"DeleteReservation", "UR"},
      {"GetPriorities", "UR"},
      {"GetShares", "UR"},
      {"GetAccountBook", "UR"},
      {"GetToken", "UR"},
      {"NotifyJob", "UR"},
      {"UpdatePartition", "R"},
      {"GetStatistics", "UR"},
      {"SetDebug", "R"},
      {"ResetUsage", "R"},
      {"TopJobs", "UR"},
      {"SetCrontab", "UR"},
      {"GetCrontab", "UR"},
      {"RemoveCrontab", "UR"},
      {"CronJobs", "UR"},
      {"SetTrigger", "UR"},
      {"ClearTriggers", "UR"},
      {"GetTriggers", "UR"},
      {"JobEvents", "UR"},
      {"ListControllers", "AURN"},
      {"AddController", "R"},
      {"RemoveController", "R"},
  };
  const std::map<char, Role> roles = {
      {'A', Role::Anonymous}, {'U', Role::User}, {'R', Role::Admin}, {'N', Role::NodeAgent}};
  for (const auto& method : declared_methods()) {
    const auto row = expected.find(method);
    ASSERT_NE(row, expected.end()) << method << " is new: say here, too, who may call it";
    for (const auto& [letter, role] : roles) {
      const auto answer = authorize(method, caller_of(role));
      const bool wanted = row->second.find(letter) != std::string::npos;
      EXPECT_EQ(answer.has_value(), wanted) << method << " " << letter;
      if (!answer) {
        EXPECT_EQ(answer.error().code, letter == 'A' ? ErrorCode::Unauthenticated : ErrorCode::PermissionDenied)
            << method << " " << letter;
      }
    }
  }
}

TEST(Authorization, WithoutARowNobodyGetsIn) {
  for (const char* method : {"", "submitjob", "SubmitJob2", "/spur.v1.Controller/SubmitJob"})
    for (const Role role : {Role::Anonymous, Role::User, Role::Admin, Role::NodeAgent})
      EXPECT_EQ(authorize(method, caller_of(role)).error().code, ErrorCode::PermissionDenied) << method;
}

TEST(Authorization, OnesOwnJobs) {
  auto spec = std::make_shared<model::JobSpec>();
  spec->uid = Uid{1000};
  model::Job job;
  job.spec = spec;
  EXPECT_TRUE(may_touch(caller_of(Role::User), job));
  EXPECT_FALSE(may_touch(caller_of(Role::User, Uid{1001}), job));
  EXPECT_FALSE(may_touch(caller_of(Role::User, kRootUid), job)) << "the role counts, not the number";
  EXPECT_TRUE(may_touch(caller_of(Role::Admin, Uid{7}), job));
  EXPECT_FALSE(may_touch(caller_of(Role::NodeAgent), job));
  EXPECT_FALSE(may_touch(caller_of(Role::Anonymous), job));
}

}  // namespace
}  // namespace spur::ctld
