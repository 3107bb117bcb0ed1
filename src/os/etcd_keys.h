// SPDX-License-Identifier: Apache-2.0
// Where a cluster's journal is in etcd, and the form of its entries (docs/decisions/0011 has the table).
//
// The keys below r/ are one range for followers: the entries from a number on, then the term, then the heartbeat.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spur::os {

class EtcdKeys {
 public:
  explicit EtcdKeys(const std::string& cluster) : root_("/spur/" + cluster + "/") {}

  std::string identity() const { return root_ + "identity"; }
  std::string secret(const std::string& name) const { return root_ + name; }
  std::string member(const std::string& name) const { return root_ + "member/" + name; }
  std::string members_end() const { return root_ + "member0"; }  // '0' follows '/'
  std::string log(std::uint64_t index) const;
  std::string log_end() const { return root_ + "r/log0"; }
  std::string term() const { return root_ + "r/term"; }
  std::string tick() const { return root_ + "r/tick"; }
  std::string replicated_end() const { return root_ + "r0"; }
  std::string part(std::uint64_t index, std::int64_t term, std::uint32_t number) const;
  std::string parts(std::uint64_t index) const;  // of this entry and those behind it
  std::string parts(std::uint64_t index, std::int64_t term) const;
  std::string parts_end(std::uint64_t index, std::int64_t term) const;
  // The number of the entry under a key; nothing for other keys.
  std::optional<std::uint64_t> log_index(std::string_view key) const;

 private:
  std::string root_;
};

// The value under r/log/: who wrote it, how many pieces lie under part/, and the last piece.
struct EtcdEntry {
  // As `parts`: nothing is in it; the state up to here came from elsewhere, as a snapshot.
  static constexpr std::uint32_t kBeginning = 0xffffffff;
  std::int64_t term = 0;
  std::uint32_t parts = 0;
  std::uint32_t checksum = 0;  // of the whole entry
  std::string_view last;
};
std::string encode_etcd_entry(const EtcdEntry& entry);
// Views into `value`.
std::optional<EtcdEntry> decode_etcd_entry(std::string_view value);

// The value under r/term, a line each: who leads, where clients reach it, and in which of its lives it claimed that.
// Empty: the last one has gone, and may have said who is to be next, or, behind a '-', who is not.
struct EtcdTerm {
  std::string member, address, life, successor{};
};
std::string encode_etcd_term(const EtcdTerm& term);
EtcdTerm decode_etcd_term(std::string_view value);

}  // namespace spur::os
