// SPDX-License-Identifier: Apache-2.0
// The door to the accounting database. Real: os/accounting_database.h, on SQLite or PostgreSQL. A row has columns for
// what questions choose by; all else of it is in `record`, which the database only keeps (a message of
// proto/spur/v1/accounting.proto). Every call may be made from any thread and may block.
//
// Errors: Unreachable (the database is away: try again), OutOfSpace, PermissionDenied, VersionMismatch, Corrupt.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace spur::io {

// Key: cluster, job, submitted, epoch.
struct AcctJobRow {
  std::uint32_t job = 0, epoch = 0;
  Time submitted;
  std::uint32_t array_job = 0, het_job = 0;  // 0: none
  std::uint32_t uid = 0;
  std::string account;
  std::uint32_t state = 0;
  Time started, ended;  // not set: not yet
  std::string record;
};
// Key: the job's, and the step's number.
struct AcctStepRow {
  std::uint32_t job = 0, epoch = 0;
  Time submitted;
  std::uint32_t step = 0;
  std::string record;
};
// A time in which a node was not in order (or, without a node's name, in which the cluster had certain resources). A
// row ends the one of the same node before it; one that is in order has only that effect.
struct AcctEventRow {
  std::string node;
  Time started, ended;
  bool in_order = false;
  std::string record;
};
struct AcctReservationRow {
  std::string name;
  Time started, ended;
  std::string record;
};

// Records first..last of one outbox; of several of the same thing only the last needs to be here, but events in
// order.
struct AcctChunk {
  std::string cluster;
  Time born;  // of the outbox
  std::uint64_t first = 0, last = 0;
  std::vector<AcctJobRow> jobs;
  std::vector<AcctStepRow> steps;
  std::vector<AcctEventRow> events;
  std::vector<AcctReservationRow> reservations;
};

struct AcctCluster {
  std::string name, control_host;
  std::uint32_t control_port = 0;
  Time born;
  std::uint64_t have = 0;
  Time heard;
};

// All given conditions must hold; empty lists ask for nothing.
struct AcctJobWish {
  std::string cluster;
  std::vector<std::uint32_t> jobs;  // also as array or heterogeneous job
  std::vector<std::uint32_t> uids;
  std::vector<std::string> accounts;
  Time from;   // not ended before; not set: no such condition
  Time until;  // submitted before; likewise
};

// Whatever the catalogue of accounts keeps: `body` is its own affair.
struct AcctEntity {
  std::string kind, key, body;
  Time created = {};  // not set: before such times were kept
  Time deleted = {};  // not set: it is in force. What was deleted is only kept to be shown, and for its key
  friend bool operator==(const AcctEntity&, const AcctEntity&) = default;
};
// Who changed what; `id` is given by the database.
struct AcctTransaction {
  std::int64_t id = 0;
  Time at;
  std::uint32_t action = 0;
  std::string actor, cluster, target, info;
};
// All of it, or nothing.
struct AcctEntityChange {
  std::vector<AcctEntity> put;
  std::vector<std::pair<std::string, std::string>> erase;  // kind, key
  std::vector<AcctTransaction> transactions;
};

class AccountingStore {
 public:
  virtual ~AccountingStore() = default;

  virtual std::string kind() const = 0;  // "sqlite", "postgresql"
  virtual int schema() const = 0;

  // ---- clusters and what comes from their controllers
  virtual Result<std::vector<AcctCluster>> clusters() = 0;
  // Makes the cluster known. An outbox that is not the one of before starts at nothing.
  virtual Result<AcctCluster> hello(const AcctCluster& cluster) = 0;
  // In one transaction with the number of the last record. One that is here already changes nothing.
  virtual Status ingest(const AcctChunk& chunk) = 0;

  // ---- questions. `each` returns false when it has enough.
  // By id, then submit time.
  virtual Status jobs(const AcctJobWish& wish, const std::function<bool(const AcctJobRow&)>& each) = 0;
  // Of all these runs, by job, submit time, run and number.
  virtual Status steps(const std::string& cluster, std::span<const AcctJobRow> jobs,
                       const std::function<bool(const AcctStepRow&)>& each) = 0;
  virtual Status events(const std::string& cluster, Time from, Time until,
                        const std::function<bool(const AcctEventRow&)>& each) = 0;
  virtual Status reservations(const std::string& cluster, Time from, Time until,
                              const std::function<bool(const AcctReservationRow&)>& each) = 0;

  // ---- accounts, users, associations, QOS ...
  virtual Result<std::vector<AcctEntity>> entities() = 0;  // by kind and key
  virtual Status change(const AcctEntityChange& change) = 0;
  // Oldest first; within [from, until).
  virtual Status transactions(Time from, Time until, const std::function<bool(const AcctTransaction&)>& each) = 0;

  // ---- keeping house. How many jobs went; `archive` gets them, some hundred at a time, before they go, and must
  // have them safe when it returns.
  struct Old {
    AcctJobRow job;
    std::vector<AcctStepRow> steps;
  };
  virtual Result<std::uint64_t> purge_jobs(const std::string& cluster, Time ended_before,
                                           const std::function<Status(const std::vector<Old>&)>& archive) = 0;
  // Back from an archive. Makes the cluster known if it is not.
  virtual Status restore(const std::string& cluster, const std::vector<Old>& jobs) = 0;

  // What else leaves, and comes back: one kind at a time. Of `Old`, a step purge fills the steps alone.
  struct OldRows {
    std::vector<AcctStepRow> steps;
    std::vector<AcctEventRow> events;
    std::vector<AcctReservationRow> reservations;
    std::vector<AcctTransaction> transactions;
    std::size_t size() const { return steps.size() + events.size() + reservations.size() + transactions.size(); }
  };
  enum class OldKind : unsigned char { Steps, Events, Reservations, Transactions };
  // Steps of jobs that ended, events and reservations that ended, transactions that were made before that moment. How
  // many rows went. Transactions belong to no cluster: any name will do.
  virtual Result<std::uint64_t> purge_rows(OldKind kind, const std::string& cluster, Time before,
                                           const std::function<Status(const OldRows&)>& archive) = 0;
  virtual Status restore_rows(const std::string& cluster, const OldRows& rows) = 0;
};

}  // namespace spur::io
