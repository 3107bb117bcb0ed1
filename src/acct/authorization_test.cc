// SPDX-License-Identifier: Apache-2.0
#include "acct/authorization.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

namespace spur::acct {
namespace {

model::Caller caller(model::Role role) {
  model::Caller out;
  out.role = role;
  return out;
}

TEST(Authorization, EveryMethodHasARow) {
  std::ifstream file(SPUR_SOURCE_DIR "/proto/spur/v1/accounting.proto");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const std::regex method("rpc ([A-Za-z]+)\\(");
  int methods = 0;
  for (std::sregex_iterator it(all.begin(), all.end(), method), end; it != end; ++it, ++methods) {
    const std::string name = (*it)[1];
    EXPECT_TRUE(authorize(name, caller(model::Role::Admin))) << name;
  }
  EXPECT_GE(methods, 5);
}

TEST(Authorization, Rules) {
  using enum model::Role;
  EXPECT_TRUE(authorize("Ping", caller(Anonymous)));
  EXPECT_EQ(authorize("QueryJobs", caller(Anonymous)).error().code, ErrorCode::Unauthenticated);
  EXPECT_TRUE(authorize("QueryJobs", caller(User)));
  EXPECT_EQ(authorize("Attach", caller(User)).error().code, ErrorCode::PermissionDenied);
  EXPECT_EQ(authorize("Attach", caller(NodeAgent)).error().code, ErrorCode::PermissionDenied);
  EXPECT_TRUE(authorize("Attach", caller(Admin)));
  EXPECT_EQ(authorize("NoSuchCall", caller(Admin)).error().code, ErrorCode::PermissionDenied);
}

}  // namespace
}  // namespace spur::acct
