// SPDX-License-Identifier: Apache-2.0
// Who may use the cluster, as one picture: associations as a tree, users, and look-ups. Immutable and shared between
// views; an update makes a new one. Empty until an accounting service has spoken.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/association.h"
#include "model/qos.h"

namespace spur::model {

// What spurdbd tells a controller of its cluster, resolved: all of it at first, then what changes.
struct AccountsUpdate {
  std::uint64_t revision = 0;             // of spurdbd's catalogue, with this applied
  bool all = false;                       // what is not named is gone
  std::vector<Association> associations;  // new or changed; parents before children
  std::vector<std::uint32_t> associations_gone;
  std::vector<Qos> qos;
  std::vector<std::string> qos_gone;
  std::vector<AccountUser> users;
  std::vector<std::string> users_gone;
  friend bool operator==(const AccountsUpdate&, const AccountsUpdate&) = default;
};

// What an association or a QOS has used in the past, faded, as it is kept in snapshots.
struct PastUsage {
  struct Amount {
    std::string tres;            // or "wall"
    std::uint64_t whole = 0;     // TRES seconds
    std::uint32_t fraction = 0;  // 2^-32
    friend bool operator==(const Amount&, const Amount&) = default;
  };
  std::uint32_t association = 0;  // 0: of a QOS
  std::string qos;
  std::vector<Amount> amounts;
  friend bool operator==(const PastUsage&, const PastUsage&) = default;
};

using AssociationPtr = std::shared_ptr<const Association>;

class AccountBook {
 public:
  AccountBook() = default;
  // Refused if an id is there twice or 0, a parent is missing, has a user, or is (indirectly) its own child.
  static Result<std::shared_ptr<const AccountBook>> make(std::uint64_t revision,
                                                         std::vector<AssociationPtr> associations,
                                                         std::vector<AccountUser> users);

  std::uint64_t revision() const { return revision_; }
  bool empty() const { return associations_.empty(); }
  const std::vector<AssociationPtr>& associations() const { return associations_; }  // by id
  const std::vector<AccountUser>& users() const { return users_; }                   // by name

  const Association* find(std::uint32_t id) const;
  const Association* parent(const Association& of) const { return of.parent ? find(of.parent) : nullptr; }
  // The children of each, by position in associations(); users before accounts, each in order of name.
  const std::vector<std::vector<std::uint32_t>>& children() const { return children_; }
  std::size_t position(std::uint32_t id) const;  // of one that is there

  // The association itself of an account, and the one that counts for the user's jobs on the account in the
  // partition: the row for that partition, else the one for any; else null.
  const Association* account(std::string_view name) const;
  const Association* find(std::string_view account, Uid user, std::string_view partition) const;
  // The account of the user's jobs that name none; empty if there is none.
  std::string_view default_account(Uid user) const;
  const AccountUser* user(Uid uid) const;
  // The user may administer the account: as its coordinator, or of one above.
  bool coordinates(Uid user, std::string_view account) const;

 private:
  Status link();

  std::uint64_t revision_ = 0;
  std::vector<AssociationPtr> associations_;
  std::vector<AccountUser> users_;
  std::vector<std::vector<std::uint32_t>> children_;
  std::unordered_map<std::uint32_t, std::uint32_t> position_;              // look-up only
  std::unordered_map<std::string, std::uint32_t> by_account_;              // look-up only
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> by_user_;  // look-up only; positions, ascending
  std::unordered_map<std::uint32_t, std::uint32_t> user_by_uid_;
};

}  // namespace spur::model
