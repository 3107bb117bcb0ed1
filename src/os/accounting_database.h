// SPDX-License-Identifier: Apache-2.0
// io::AccountingStore on SQLite ("sqlite:/path") or PostgreSQL ("postgresql://..."). One connection writes, under a
// lock; questions take one from a pool. A connection that broke is replaced at the next call, so a database that was
// away is simply there again.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "io/accounting_store.h"
#include "os/sql.h"

namespace spur::os {

class AccountingDatabase final : public io::AccountingStore {
 public:
  // Connects, and brings the schema up to date where it is an older one. VersionMismatch for a newer one.
  static Result<std::unique_ptr<AccountingDatabase>> open(const std::string& url);
  // A connection that may write, whatever the schema is (--migrate).
  static Result<std::unique_ptr<SqlConnection>> connect(const std::string& url, bool reader);

  std::string kind() const override { return postgres_ ? "postgresql" : "sqlite"; }
  int schema() const override;
  Result<std::vector<io::AcctCluster>> clusters() override;
  Result<io::AcctCluster> hello(const io::AcctCluster& cluster) override;
  Status ingest(const io::AcctChunk& chunk) override;
  Status jobs(const io::AcctJobWish& wish, const std::function<bool(const io::AcctJobRow&)>& each) override;
  Status steps(const std::string& cluster, std::span<const io::AcctJobRow> jobs,
               const std::function<bool(const io::AcctStepRow&)>& each) override;
  Status events(const std::string& cluster, Time from, Time until,
                const std::function<bool(const io::AcctEventRow&)>& each) override;
  Status reservations(const std::string& cluster, Time from, Time until,
                      const std::function<bool(const io::AcctReservationRow&)>& each) override;
  Result<std::vector<io::AcctEntity>> entities() override;
  Status change(const io::AcctEntityChange& change) override;
  Status transactions(Time from, Time until, const std::function<bool(const io::AcctTransaction&)>& each) override;
  Result<std::uint64_t> purge_jobs(const std::string& cluster, Time ended_before,
                                   const std::function<Status(const std::vector<Old>&)>& archive) override;
  Status restore(const std::string& cluster, const std::vector<Old>& jobs) override;
  Result<std::uint64_t> purge_rows(OldKind kind, const std::string& cluster, Time before,
                                   const std::function<Status(const OldRows&)>& archive) override;
  Status restore_rows(const std::string& cluster, const OldRows& rows) override;

 private:
  explicit AccountingDatabase(std::string url);
  // Runs `work` in a transaction on the writing connection.
  Status write(const std::function<Status(SqlConnection&)>& work);
  Status read(const std::function<Status(SqlConnection&)>& work);
  Result<std::int64_t> cluster_id(SqlConnection& connection, const std::string& name);
  Result<std::vector<io::AcctJobRow>> oldest_jobs(const std::string& cluster, Time ended_before, std::size_t limit);
  Status put_back(const std::string& cluster, const io::AcctChunk& rows);
  Result<OldRows> oldest_rows(OldKind kind, const std::string& cluster, Time before);
  Status erase_rows(const std::string& cluster, const OldRows& rows);
  Status erase_jobs(const std::string& cluster, const std::vector<io::AcctJobRow>& rows);
  Status make_months(SqlConnection& connection, const io::AcctChunk& chunk);
  Status put_rows(SqlConnection& connection, std::int64_t cluster, const io::AcctChunk& chunk);
  Status put_events(SqlConnection& connection, std::int64_t cluster, const io::AcctChunk& chunk);

  const std::string url_;
  const bool postgres_;
  std::mutex write_mutex_;
  std::unique_ptr<SqlConnection> writer_;
  std::set<std::string> months_;  // that there are; the writer's
  std::mutex pool_mutex_;
  std::vector<std::unique_ptr<SqlConnection>> pool_;
};

}  // namespace spur::os
