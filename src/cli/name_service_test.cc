// SPDX-License-Identifier: Apache-2.0
#include "cli/name_service.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace spur::cli {
namespace {

using Database = NameService::Database;

class NameServiceTest : public testing::Test {
 protected:
  NameServiceTest() {
    std::string pattern = testing::TempDir() + "names-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    files_ = {dir_ + "/passwd", dir_ + "/group", dir_ + "/nsswitch.conf", dir_ + "/getent"};
    write(files_.passwd,
          "root:x:0:0:root:/root:/bin/sh\n# ada:x:9:9\n+bob::7:7:::\nshort:x:8\nada:x:1001:1002:A:/h:/s\n");
    write(files_.group, "root:x:0:\nteam:x:1002:ada,root");
    write(files_.nsswitch, "passwd: files # ldap\ngroup:\tfiles [NOTFOUND=return] compat\n");
    // Says what it was asked, as an entry.
    write(files_.getent,
          "#!/bin/sh\n[ $# = 3 ] && [ \"$1\" = -- ] || exit 1\n"
          "case $3 in far) echo far:x:5000:5001:::;; 5000) echo far:x:5000:5001:::;; *) exit 2;; esac\n");
    ::chmod(files_.getent.c_str(), 0755);
  }
  ~NameServiceTest() override { std::filesystem::remove_all(dir_); }
  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  std::string find(Database database, const std::string& key, bool by_id) {
    const auto found = NameService(files_).find(database, key, by_id);
    return found ? found->at(0) + "/" + found->at(2) : "";
  }
  std::string dir_;
  NameService::Files files_;
};

TEST_F(NameServiceTest, Files) {
  EXPECT_EQ(find(Database::Passwd, "root", false), "root/0");
  EXPECT_EQ(find(Database::Passwd, "1001", true), "ada/1001");
  EXPECT_EQ(find(Database::Passwd, "1001", false), "");
  EXPECT_EQ(find(Database::Passwd, "ada", true), "");
  EXPECT_EQ(find(Database::Group, "team", false), "team/1002");
  EXPECT_EQ(find(Database::Group, "1002", true), "team/1002");
  for (const char* nobody : {"", "bob", "+bob", "short", "7", "8", "9", "ad", "ada:x", "ada\nroot", "far"}) {
    EXPECT_EQ(find(Database::Passwd, nobody, false), "") << nobody;
    EXPECT_EQ(find(Database::Passwd, nobody, true), "") << nobody;
  }
}

TEST_F(NameServiceTest, FurtherSourcesThroughGetent) {
  EXPECT_EQ(find(Database::Passwd, "far", false), "");  // only files are configured
  write(files_.nsswitch, " passwd:  files [UNAVAIL=return SUCCESS=continue] sss\ngroup: files\n");
  EXPECT_EQ(find(Database::Passwd, "far", false), "far/5000");
  EXPECT_EQ(find(Database::Passwd, "5000", true), "far/5000");
  EXPECT_EQ(find(Database::Passwd, "ada", false), "ada/1001");
  EXPECT_EQ(find(Database::Passwd, "--help", false), "");
  EXPECT_EQ(find(Database::Group, "far", false), "");
  files_.getent = dir_ + "/missing";
  EXPECT_EQ(find(Database::Passwd, "far", false), "");
}

}  // namespace
}  // namespace spur::cli
