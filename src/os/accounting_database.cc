// SPDX-License-Identifier: Apache-2.0
// Connections, clusters and what is written. The questions are in accounting_queries.cc.
#include "os/accounting_database.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <utility>

#include "os/accounting_schema.h"

namespace spur::os {
namespace {

constexpr std::int64_t kNotYet = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kPoolSize = 8;

std::int64_t end_of(Time ended) {
  return is_set(ended) ? to_micros(ended) : kNotYet;
}

bool is_postgres_url(std::string_view url) {
  return url.starts_with("postgresql://") || url.starts_with("postgres://");
}

std::int64_t as_number(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

}  // namespace

AccountingDatabase::AccountingDatabase(std::string url) : url_(std::move(url)), postgres_(is_postgres_url(url_)) {}

Result<std::unique_ptr<SqlConnection>> AccountingDatabase::connect(const std::string& url, bool reader) {
  if (is_postgres_url(url)) return open_postgres(url);
  std::string_view path(url);
  if (path.starts_with("sqlite:")) path.remove_prefix(7);
  if (path.starts_with("//")) path.remove_prefix(2);
  if (!path.starts_with('/'))
    return fail(ErrorCode::ConfigInvalid,
                fmt::format("\"{}\" is no database: give sqlite:/path or postgresql://user@host/name", path));
  return open_sqlite(std::string(path), reader);
}

Result<std::unique_ptr<AccountingDatabase>> AccountingDatabase::open(const std::string& url) {
  std::unique_ptr<AccountingDatabase> out(new AccountingDatabase(url));
  SPUR_ASSIGN(out->writer_, connect(url, false));
  SPUR_TRY(migrate(*out->writer_));
  return out;
}

int AccountingDatabase::schema() const {
  return kAccountingSchema;
}

Status AccountingDatabase::write(const std::function<Status(SqlConnection&)>& work) {
  const std::lock_guard lock(write_mutex_);
  if (!writer_ || writer_->broken()) {
    writer_.reset();
    months_.clear();
    SPUR_ASSIGN(auto fresh, connect(url_, false));
    // Another version may have been at work meanwhile.
    SPUR_ASSIGN(const int version, schema_version(*fresh));
    SPUR_TRY(check_not_newer(version));
    writer_ = std::move(fresh);
  }
  const auto run = [&]() -> Status {
    SPUR_ASSIGN(auto transaction, SqlTransaction::begin(*writer_));
    SPUR_TRY(work(*writer_));
    return transaction.commit();
  };
  Status status = run();
  if (!status) months_.clear();  // those that were made in it are gone
  return status;
}

Status AccountingDatabase::read(const std::function<Status(SqlConnection&)>& work) {
  std::unique_ptr<SqlConnection> connection;
  {
    const std::lock_guard lock(pool_mutex_);
    if (!pool_.empty()) {
      connection = std::move(pool_.back());
      pool_.pop_back();
    }
  }
  if (!connection || connection->broken()) {
    SPUR_ASSIGN(connection, connect(url_, true));
  }
  Status status = work(*connection);
  const std::lock_guard lock(pool_mutex_);
  if (!connection->broken() && pool_.size() < kPoolSize) pool_.push_back(std::move(connection));
  // One that was idle while the database restarted: those in the pool are like it.
  if (!status && status.error().code == ErrorCode::Unreachable) pool_.clear();
  return status;
}

Result<std::vector<io::AcctCluster>> AccountingDatabase::clusters() {
  std::vector<io::AcctCluster> out;
  SPUR_TRY(read([&](SqlConnection& connection) {
    out.clear();
    return connection.query("SELECT name, control_host, control_port, born, have, heard FROM cluster ORDER BY name",
                            {}, [&](const SqlRow& row) {
                              out.push_back({std::string(row.bytes(0)), std::string(row.bytes(1)),
                                             static_cast<std::uint32_t>(row.number(2)), from_micros(row.number(3)),
                                             static_cast<std::uint64_t>(row.number(4)), from_micros(row.number(5))});
                              return true;
                            });
  }));
  return out;
}

Result<std::int64_t> AccountingDatabase::cluster_id(SqlConnection& connection, const std::string& name) {
  std::int64_t id = 0;
  const SqlValue values[] = {std::string_view(name)};
  SPUR_TRY(connection.query("SELECT id FROM cluster WHERE name = $1", values, [&](const SqlRow& row) {
    id = row.number(0);
    return true;
  }));
  return id;
}

Result<io::AcctCluster> AccountingDatabase::hello(const io::AcctCluster& cluster) {
  io::AcctCluster out = cluster;
  const Status status = write([&](SqlConnection& connection) -> Status {
    const SqlValue fresh[] = {std::string_view(cluster.name),
                              std::string_view(cluster.control_host),
                              std::int64_t{cluster.control_port},
                              to_micros(cluster.born),
                              std::int64_t{0},
                              to_micros(cluster.heard)};
    SPUR_TRY(
        connection.run("INSERT INTO cluster (name, control_host, control_port, born, have, heard) "
                       "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name) DO NOTHING",
                       fresh));
    const SqlValue now[] = {std::string_view(cluster.control_host), std::int64_t{cluster.control_port},
                            to_micros(cluster.heard), std::string_view(cluster.name)};
    SPUR_TRY(
        connection.run("UPDATE cluster SET control_host = $1, control_port = $2, heard = $3 WHERE name = $4", now));
    // Another outbox: its numbers have nothing to do with those before.
    const SqlValue born[] = {to_micros(cluster.born), std::string_view(cluster.name)};
    SPUR_TRY(connection.run("UPDATE cluster SET have = 0, born = $1 WHERE name = $2 AND born <> $1", born));
    const SqlValue name[] = {std::string_view(cluster.name)};
    return connection.query("SELECT have FROM cluster WHERE name = $1", name, [&](const SqlRow& row) {
      out.have = static_cast<std::uint64_t>(row.number(0));
      return true;
    });
  });
  if (!status) return std::unexpected(status.error());
  return out;
}

Status AccountingDatabase::make_months(SqlConnection& connection, const io::AcctChunk& chunk) {
  if (!postgres_) return {};
  std::map<std::string, SchemaMonth> wanted;
  const auto want = [&](Time submitted) {
    auto month = month_of(to_micros(submitted));
    if (!months_.contains(month.name)) wanted.emplace(month.name, std::move(month));
  };
  for (const auto& job : chunk.jobs) want(job.submitted);
  for (const auto& step : chunk.steps) want(step.submitted);
  for (const auto& [name, month] : wanted) {
    SPUR_TRY(make_month(connection, month));
    months_.insert(name);
  }
  return {};
}

Status AccountingDatabase::put_rows(SqlConnection& connection, std::int64_t cluster, const io::AcctChunk& chunk) {
  SPUR_TRY(make_months(connection, chunk));
  std::vector<SqlValue> values;
  values.reserve(chunk.jobs.size() * job_table().columns.size());
  for (const auto& job : chunk.jobs)
    values.insert(values.end(), {cluster, std::int64_t{job.job}, to_micros(job.submitted), std::int64_t{job.epoch},
                                 std::int64_t{job.array_job}, std::int64_t{job.het_job}, std::int64_t{job.uid},
                                 std::string_view(job.account), std::int64_t{job.state}, to_micros(job.started),
                                 end_of(job.ended), std::string_view(job.record)});
  SPUR_TRY(connection.upsert(job_table(), values));
  values.clear();
  for (const auto& step : chunk.steps)
    values.insert(values.end(), {cluster, std::int64_t{step.job}, to_micros(step.submitted), std::int64_t{step.epoch},
                                 std::int64_t{step.step}, std::string_view(step.record)});
  return connection.upsert(step_table(), values);
}

Status AccountingDatabase::put_events(SqlConnection& connection, std::int64_t cluster, const io::AcctChunk& chunk) {
  for (const auto& event : chunk.events) {
    const SqlValue over[] = {to_micros(event.started), cluster, std::string_view(event.node), kNotYet};
    SPUR_TRY(connection.run(
        "UPDATE event SET ended = $1 WHERE cluster = $2 AND node = $3 AND ended = $4 AND started <= $1", over));
    if (event.in_order) continue;
    const SqlValue row[] = {cluster, std::string_view(event.node), to_micros(event.started), end_of(event.ended),
                            std::string_view(event.record)};
    SPUR_TRY(connection.upsert(event_table(), row));
  }
  for (const auto& reservation : chunk.reservations) {
    const SqlValue row[] = {cluster, std::string_view(reservation.name), to_micros(reservation.started),
                            end_of(reservation.ended), std::string_view(reservation.record)};
    SPUR_TRY(connection.upsert(reservation_table(), row));
  }
  return {};
}

Status AccountingDatabase::ingest(const io::AcctChunk& chunk) {
  return write([&](SqlConnection& connection) -> Status {
    std::int64_t cluster = 0, born = 0;
    std::uint64_t have = 0;
    const SqlValue name[] = {std::string_view(chunk.cluster)};
    SPUR_TRY(connection.query(postgres_ ? "SELECT id, have, born FROM cluster WHERE name = $1 FOR UPDATE"
                                        : "SELECT id, have, born FROM cluster WHERE name = $1",
                              name, [&](const SqlRow& row) {
                                cluster = row.number(0);
                                have = static_cast<std::uint64_t>(row.number(1));
                                born = row.number(2);
                                return true;
                              }));
    if (cluster == 0 || born != to_micros(chunk.born))
      return fail(ErrorCode::NotFound, "the database does not know this cluster's outbox");
    if (chunk.last <= have) return {};
    if (chunk.first <= have)
      return fail(ErrorCode::Internal,
                  fmt::format("records {} to {} overlap what is here, up to {}", chunk.first, chunk.last, have));
    SPUR_TRY(put_rows(connection, cluster, chunk));
    SPUR_TRY(put_events(connection, cluster, chunk));
    const SqlValue done[] = {as_number(chunk.last), cluster};
    return connection.run("UPDATE cluster SET have = $1 WHERE id = $2", done);
  });
}

Status AccountingDatabase::restore(const std::string& cluster_name, const std::vector<Old>& jobs) {
  io::AcctChunk rows;
  for (const auto& old : jobs) {
    rows.jobs.push_back(old.job);
    rows.steps.insert(rows.steps.end(), old.steps.begin(), old.steps.end());
  }
  return put_back(cluster_name, rows);
}

Status AccountingDatabase::put_back(const std::string& cluster_name, const io::AcctChunk& rows) {
  return write([&](SqlConnection& connection) -> Status {
    const SqlValue fresh[] = {std::string_view(cluster_name), std::string_view(), std::int64_t{0}};
    SPUR_TRY(
        connection.run("INSERT INTO cluster (name, control_host, control_port, born, have, heard) "
                       "VALUES ($1, $2, $3, $3, $3, $3) ON CONFLICT (name) DO NOTHING",
                       fresh));
    SPUR_ASSIGN(const std::int64_t cluster, cluster_id(connection, cluster_name));
    return put_rows(connection, cluster, rows);
  });
}

Status AccountingDatabase::change(const io::AcctEntityChange& change) {
  return write([&](SqlConnection& connection) -> Status {
    for (const auto& [kind, key] : change.erase) {
      const SqlValue values[] = {std::string_view(kind), std::string_view(key)};
      SPUR_TRY(connection.run("DELETE FROM entity WHERE kind = $1 AND key = $2", values));
    }
    std::map<std::pair<std::string_view, std::string_view>, const io::AcctEntity*> last;  // no key twice
    for (const auto& entity : change.put) last[{entity.kind, entity.key}] = &entity;
    std::vector<SqlValue> values;
    for (const auto& [key, entity] : last)
      values.insert(values.end(), {key.first, key.second, std::string_view(entity->body),
                                   to_micros(entity->created), to_micros(entity->deleted)});
    SPUR_TRY(connection.upsert(entity_table(), values));
    for (const auto& transaction : change.transactions) {
      const SqlValue row[] = {to_micros(transaction.at),
                              std::int64_t{transaction.action},
                              std::string_view(transaction.actor),
                              std::string_view(transaction.cluster),
                              std::string_view(transaction.target),
                              std::string_view(transaction.info)};
      SPUR_TRY(
          connection.run("INSERT INTO transactions (at, action, actor, cluster, target, info) "
                         "VALUES ($1, $2, $3, $4, $5, $6)",
                         row));
    }
    return {};
  });
}

}  // namespace spur::os
