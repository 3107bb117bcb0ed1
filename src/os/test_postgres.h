// SPDX-License-Identifier: Apache-2.0
// For tests: a PostgreSQL server of Debian's package in a directory of its own, on a unix socket only, gone with the
// object. Run as user postgres where the test is root, for the server refuses to be.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace spur::os {

class TestPostgres {
 public:
  TestPostgres() {
    std::string pattern = "/tmp/spur-pg-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    if (::geteuid() == 0) {
      EXPECT_TRUE(shell("chown postgres " + directory_));
    }
    EXPECT_TRUE(as_server(fmt::format("{}initdb -A trust -U spur -D {}/data", tools(), directory_)));
    start();
  }
  ~TestPostgres() {
    stop();
    std::filesystem::remove_all(directory_);
  }
  void start() {
    EXPECT_TRUE(as_server(
        fmt::format("{}pg_ctl -w -D {}/data -l {}/log -o \"-k {} -c listen_addresses= -c shared_buffers=32MB\" start",
                    tools(), directory_, directory_, directory_)));
  }
  void stop() { as_server(fmt::format("{}pg_ctl -w -D {}/data -m immediate stop", tools(), directory_)); }
  std::string url(const std::string& user = "spur") const {
    return fmt::format("postgresql://{}@/postgres?host={}", user, directory_);
  }
  bool sql(const std::string& text) const { return shell(fmt::format("psql -q '{}' -c \"{}\"", url(), text)); }

 private:
  static bool shell(const std::string& command) { return std::system((command + " > /dev/null 2>&1").c_str()) == 0; }
  static bool as_server(const std::string& command) {
    return shell(::geteuid() == 0
                     ? fmt::format("cd / && setpriv --reuid=postgres --regid=postgres --clear-groups {}", command)
                     : command);
  }
  static std::string tools() {
    const std::filesystem::path debian = "/usr/lib/postgresql";
    if (std::filesystem::exists(debian))
      for (const auto& version : std::filesystem::directory_iterator(debian))
        if (std::filesystem::exists(version.path() / "bin/initdb")) return version.path().string() + "/bin/";
    return "";
  }
  std::string directory_;
};

}  // namespace spur::os
