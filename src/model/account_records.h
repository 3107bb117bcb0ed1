// SPDX-License-Identifier: Apache-2.0
// What an administrator says of accounts, users, associations, QOS and the like, as it was given: spurdbd keeps these
// records and sacctmgr shows and changes them. What a controller gets of them is resolved (see association.h):
// resolve() takes over from the parents what a record leaves open.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/account_book.h"
#include "model/association.h"
#include "model/qos.h"

namespace spur::model {

inline constexpr std::string_view kRootAccount = "root";

struct ClusterRecord {
  std::string name, control_host;
  std::uint32_t control_port = 0, rpc_version = 0;
  std::string classification, nodes;
  TresCounts tres;
  friend bool operator==(const ClusterRecord&, const ClusterRecord&) = default;
};

struct AccountRecord {
  std::string name, description, organization;
  friend bool operator==(const AccountRecord&, const AccountRecord&) = default;
};

struct UserRecord {
  std::string name;
  AdminLevel admin = AdminLevel::None;
  friend bool operator==(const UserRecord&, const UserRecord&) = default;
};

struct AssociationRecord {
  std::string cluster;
  std::string parent;  // account; of a user its own account. Empty: the root. row.parent is not used
  Association row;     // id 0: not known to spurdbd yet
  // To the list of the parent, where the row has no list of its own.
  std::vector<std::string> qos_added, qos_removed;
  std::int64_t order = 0;  // among its siblings: what came last is listed first
  friend bool operator==(const AssociationRecord&, const AssociationRecord&) = default;
};

struct CoordinatorRecord {
  std::string account, user;
  friend bool operator==(const CoordinatorRecord&, const CoordinatorRecord&) = default;
};

struct WckeyRecord {
  std::uint32_t id = 0;
  std::string name, user, cluster;
  bool is_default = false;
  friend bool operator==(const WckeyRecord&, const WckeyRecord&) = default;
};

struct TresRecord {
  std::uint32_t id = 0;
  std::string type, name;
  friend bool operator==(const TresRecord&, const TresRecord&) = default;
};

// What is shared by clusters, such as the licences of a server.
struct ResourceRecord {
  struct Share {
    std::string cluster;
    std::uint32_t percent = 0;
    friend bool operator==(const Share&, const Share&) = default;
  };
  std::uint32_t id = 0;
  std::string name, server, server_type, description;
  std::uint32_t count = 0;
  std::vector<Share> shares;
  friend bool operator==(const ResourceRecord&, const ResourceRecord&) = default;
};

struct AccountRecords {
  std::uint64_t revision = 0;
  std::vector<ClusterRecord> clusters;
  std::vector<AccountRecord> accounts;
  std::vector<UserRecord> users;
  std::vector<AssociationRecord> associations;
  std::vector<Qos> qos;
  std::vector<CoordinatorRecord> coordinators;
  std::vector<WckeyRecord> wckeys;
  std::vector<TresRecord> tres;
  std::vector<ResourceRecord> resources;
  bool may_lack_default = false;  // users need no default account, and new ones get none by themselves
  bool keeps_case = false;        // of users' names
  friend bool operator==(const AccountRecords&, const AccountRecords&) = default;
};

// Behind what is there; the revision stays.
void append(const AccountRecords& more, AccountRecords* to);

enum class RecordKind : std::uint8_t { Cluster, Account, User, Association, Qos, Coordinator, Wckey, Tres, Resource };

struct RecordKey {
  RecordKind kind = RecordKind::Cluster;
  std::string key;
  friend auto operator<=>(const RecordKey&, const RecordKey&) = default;
};
// Names, or numbers where names are not enough (associations, wckeys, TRES, resources).
std::string key_of(const ClusterRecord& record);
std::string key_of(const AccountRecord& record);
std::string key_of(const UserRecord& record);
std::string key_of(const AssociationRecord& record);
std::string key_of(const Qos& record);
std::string key_of(const CoordinatorRecord& record);
std::string key_of(const WckeyRecord& record);
std::string key_of(const TresRecord& record);
std::string key_of(const ResourceRecord& record);

struct AccountsChange {
  std::uint64_t based_on = 0;
  AccountRecords put;
  std::vector<RecordKey> remove;
  bool only_check = false;
  friend bool operator==(const AccountsChange&, const AccountsChange&) = default;
};

// Who changed what.
struct TransactionRecord {
  std::int64_t id = 0;
  Time at;
  std::uint32_t action = 0;  // Slurm's number of the request
  std::string actor, cluster, target, info;
  friend bool operator==(const TransactionRecord&, const TransactionRecord&) = default;
};

// The associations of one cluster as a tree, parents first; an account's children by `order`.
struct TreeRow {
  const AssociationRecord* record = nullptr;
  std::uint32_t depth = 0, left = 0, right = 0;  // as nested sets number them
  std::uint32_t parent = 0;                      // id
};
// Rows whose parents are missing or circular are left out.
std::vector<TreeRow> tree_of(const std::vector<AssociationRecord>& all, std::string_view cluster);

// The record with what it leaves open taken over from its parent, which is resolved already (null: it is a root).
Association resolve(const AssociationRecord& record, const Association* parent);
// All of the cluster, parents first.
std::vector<Association> resolve(const std::vector<AssociationRecord>& all, std::string_view cluster);

}  // namespace spur::model
