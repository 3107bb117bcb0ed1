// SPDX-License-Identifier: Apache-2.0
// Who may use the cluster, on whose account, and how much: accounts form a tree, users are its leaves. spurdbd owns
// these records and shows them as they were given; what it sends to a controller is resolved: limits of one job or
// one user (max_*), QOS lists and the default QOS are taken over from the parent where a row sets none. Limits of a
// group are not: those of every level up to the root hold at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/tres_counts.h"

namespace spur::model {

// Fairshare=parent: the user's usage counts as the account's, with no share of its own.
inline constexpr std::uint32_t kShareOfParent = 0x7fffffff;

// All jobs of the association (with everything below it) or of the QOS together.
struct GroupLimits {
  std::optional<std::uint32_t> jobs, jobs_accrue, submit, wall_minutes;
  TresCounts tres, tres_minutes, tres_run_minutes;
  friend bool operator==(const GroupLimits&, const GroupLimits&) = default;
};

enum AssociationFlag : std::uint32_t {
  kUsersAreCoordinators = 1u << 0,
};

struct Association {
  std::uint32_t id = 0;                  // spurdbd's, never given twice; the root's is the least
  std::uint32_t parent = 0;              // 0: the root
  std::string account, user, partition;  // no user: the account itself. Partition: only for jobs there
  std::optional<std::uint32_t> uid;      // of the user; set by the controller, who asks the name service
  bool is_default = false;               // the account of its user's jobs that name none
  std::uint32_t shares = 1;
  std::uint32_t flags = 0;  // AssociationFlag bits
  std::optional<std::uint32_t> priority;
  GroupLimits group;
  std::optional<std::uint32_t> max_jobs, max_jobs_accrue, max_submit, max_wall_minutes, min_priority;
  TresCounts max_tres_per_job, max_tres_per_node, max_tres_minutes_per_job, max_tres_run_minutes;
  std::vector<std::string> qos;  // that its jobs may have
  std::string default_qos;
  std::string comment;

  bool is_user() const { return !user.empty(); }
  friend bool operator==(const Association&, const Association&) = default;
};

enum class AdminLevel : std::uint8_t { None, Operator, Administrator };

// A user as accounting knows them, beyond their associations.
struct AccountUser {
  std::string name;
  std::optional<std::uint32_t> uid;  // set by the controller
  AdminLevel admin = AdminLevel::None;
  std::string default_account, default_wckey;
  std::vector<std::string> coordinates;  // accounts (with all below them) that the user may administer
  std::vector<std::string> wckeys;
  friend bool operator==(const AccountUser&, const AccountUser&) = default;
};

}  // namespace spur::model
