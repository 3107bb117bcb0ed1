// SPDX-License-Identifier: Apache-2.0
// Entries of passwd and group. The commands are linked statically, so that one costs half a millisecond less; a
// static program cannot load the host's name service modules safely. What /etc/passwd and /etc/group say is read
// here; where /etc/nsswitch.conf names further sources (sss, ldap, systemd), `getent` is asked for the rest.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spur::cli {

class NameService {
 public:
  struct Files {
    std::string passwd = "/etc/passwd", group = "/etc/group", nsswitch = "/etc/nsswitch.conf",
                getent = "/usr/bin/getent";
  };
  explicit NameService(Files files) : files_(std::move(files)) {}
  NameService() : NameService(Files{}) {}

  enum class Database : std::uint8_t { Passwd, Group };
  // The colon-separated fields of the entry with this name, or with this id where `by_id`; of passwd at least four,
  // of group at least three.
  std::optional<std::vector<std::string>> find(Database database, std::string_view key, bool by_id) const;

 private:
  std::optional<std::vector<std::string>> ask_getent(Database database, std::string_view key, bool by_id) const;
  Files files_;
};

}  // namespace spur::cli
