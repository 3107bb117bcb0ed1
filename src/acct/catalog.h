// SPDX-License-Identifier: Apache-2.0
// What spurdbd knows of clusters, accounts, users, associations, QOS, coordinators, wckeys, TRES and resources. Pure:
// a change is first planned (checked whole, with the rows for the database and the transactions that tell of it),
// written by the caller, and only then made. What must stay true:
//   - the associations of a cluster are a tree below its root account; an id is never given to something else;
//   - what was deleted is no part of records(), so it counts nowhere (catalog_deleted.h says what is kept);
//   - nothing refers to what is not there (accounts, users, QOS, TRES, clusters);
//   - names are UTF-8 without control characters, at most 255 bytes, and lower case but for partitions' and servers'
//     (and users', where that is configured).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/account_records.h"

namespace spur::acct {

// A row of the database: the record as a message.
struct CatalogRow {
  std::string kind, key, body;
  Time created = {}, deleted = {};  // as in io::AcctEntity
  friend bool operator==(const CatalogRow&, const CatalogRow&) = default;
};

// Who makes a change, and what he may do beyond what he coordinates.
struct Actor {
  std::string name;
  bool is_super = false;  // root or the daemon's own user: whatever the catalogue says of them
};

// Jobs that have not ended and use what is to be removed; empty fields say "any". Lines for the user.
struct InUse {
  std::string cluster, account, user, qos;
  std::optional<std::string> partition = {};
  std::string wckey = {};
};
// A job of the user named this workload key; "*" in front of the name, or alone: it was the user's default.
struct WckeyUse {
  std::string user, wckey;
  friend auto operator<=>(const WckeyUse&, const WckeyUse&) = default;
};
// Whether there was a job of that kind since.
using HadJobs = std::function<bool(const InUse& question, Time since)>;
using ActiveJobs = std::function<std::vector<std::string>(const InUse& question)>;

class Catalog {
 public:
  struct Counters {
    std::uint32_t next_association = 1, next_qos = 1, next_wckey = 1, next_resource = 1, next_tres = 1001;
    friend bool operator==(const Counters&, const Counters&) = default;
  };
  // With what a new database has: TRES that every cluster has, the QOS "normal", the account and user "root".
  static Catalog fresh();
  // From here on names of users are kept as they come.
  void keep_case_of_users() { keeps_case_ = true; }
  // And coordinators change no more than other users.
  void disable_coordinators() { no_coordinators_ = true; }
  bool lets_coordinators_change() const { return !no_coordinators_; }
  // The QOS of the root account of new clusters.
  void use_for_new_clusters(std::string qos) { default_qos_ = std::move(qos); }
  static Result<Catalog> load(const std::vector<CatalogRow>& rows);

  const model::AccountRecords& records() const { return records_; }
  // What was deleted and is kept; the revision is not used.
  const model::AccountRecords& deleted() const { return deleted_; }
  std::optional<Time> cluster_deleted(std::string_view name) const;
  std::uint64_t revision() const { return records_.revision; }
  const Counters& counters() const { return counters_; }
  // What the database has of all this.
  std::vector<CatalogRow> all_rows() const;

  struct Step;
  // Busy: one of the records has changed since the revision that the change was made from. On `active` being asked
  // and answering, the error is TransitionNotAllowed and `lines` gets the answers.
  Result<Step> plan(const model::AccountsChange& change, const Actor& actor, Time now, const ActiveJobs& active = {},
                    std::vector<std::string>* lines = nullptr, const HadJobs& had_jobs = {}) const;
  // What a controller says of its cluster when it connects: a new cluster gets its root account and user.
  // Nothing if nothing is new.
  Result<std::optional<Step>> plan_register(const model::ClusterRecord& cluster, Time now) const;

  // Keys that jobs of the cluster have named: those that are not known are added. A user who has no default key gets
  // one without a name, as in Slurm. Nothing if nothing is new; what users do is only noted for those who are known.
  Result<std::optional<Step>> plan_wckeys(const std::string& cluster, const std::set<WckeyUse>& used, Time now) const;

  // What the user may do: of the catalogue alone.
  model::AdminLevel admin_level(std::string_view user) const;
  bool coordinates(std::string_view user, std::string_view cluster, std::string_view account) const;

  // For a controller: resolved (model/association.h).
  model::AccountsUpdate whole(std::string_view cluster) const;

 private:
  Status check_current(const model::AccountsChange& change) const;
  void note_changes(const Step& step);
  // What step->next.records_ has become of ours, as rows, transactions and deleted records.
  void finish(Step* step, std::string_view actor, Time now, const HadJobs& had_jobs) const;

  struct Times {
    Time created, deleted;
  };
  model::AccountRecords records_, deleted_;
  std::map<std::pair<std::string, std::string>, Times> times_;  // by kind and key, of what is there or was deleted
  Counters counters_;
  bool keeps_case_ = false, no_coordinators_ = false;
  std::string default_qos_ = "normal";
  // When records changed last (also those that are gone), as far as that was after `since_`.
  std::map<std::pair<std::string, std::string>, std::uint64_t> changed_;
  std::uint64_t since_ = 0;
};

// What has to be told to a controller that has `before`; nothing if that is nothing.
std::optional<model::AccountsUpdate> difference(const model::AccountsUpdate& before,
                                                const model::AccountsUpdate& after);

struct Catalog::Step {
  Catalog next;
  std::vector<CatalogRow> put;
  std::vector<std::pair<std::string, std::string>> erase;  // kind, key
  std::vector<model::TransactionRecord> transactions;
};

// A name that may be given, in the case that it is kept in. InvalidArgument says what is wrong.
Result<std::string> checked_name(std::string_view what, std::string_view name, bool keep_case = false);

}  // namespace spur::acct
