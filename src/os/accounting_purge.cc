// SPDX-License-Identifier: Apache-2.0
// What leaves AccountingDatabase by itself when it is old, kind by kind, and comes back from an archive. Jobs are in
// accounting_queries.cc.
#include <fmt/format.h>

#include <limits>

#include "os/accounting_database.h"
#include "os/accounting_schema.h"

namespace spur::os {
namespace {

constexpr std::int64_t kAtOnce = 2000;
constexpr std::int64_t kNotYet = std::numeric_limits<std::int64_t>::max();

constexpr const char* kOldSteps =
    "SELECT s.job, s.submitted, s.epoch, s.step, s.record FROM step s JOIN job j ON j.cluster = s.cluster AND j.job = s.job "
    "AND j.submitted = s.submitted AND j.epoch = s.epoch WHERE s.cluster = $1 AND j.ended < $2 LIMIT $3";

}  // namespace

Result<io::AccountingStore::OldRows> AccountingDatabase::oldest_rows(OldKind kind, const std::string& cluster_name,
                                                                     Time before) {
  OldRows out;
  SPUR_TRY(read([&](SqlConnection& connection) -> Status {
    out = {};
    SPUR_ASSIGN(const std::int64_t cluster, cluster_id(connection, cluster_name));
    const SqlValue values[] = {cluster, to_micros(before), kAtOnce};
    switch (kind) {
      case OldKind::Steps:
        return connection.query(kOldSteps, values, [&](const SqlRow& row) {
          out.steps.push_back({static_cast<std::uint32_t>(row.number(0)), static_cast<std::uint32_t>(row.number(2)),
                               from_micros(row.number(1)), static_cast<std::uint32_t>(row.number(3)),
                               std::string(row.bytes(4))});
          return true;
        });
      case OldKind::Events:
        return connection.query("SELECT node, started, ended, record FROM event WHERE cluster = $1 AND ended < $2 LIMIT $3",
                                values, [&](const SqlRow& row) {
                                  out.events.push_back({std::string(row.bytes(0)), from_micros(row.number(1)),
                                                        from_micros(row.number(2)), false, std::string(row.bytes(3))});
                                  return true;
                                });
      case OldKind::Reservations:
        return connection.query(
            "SELECT name, started, ended, record FROM reservation WHERE cluster = $1 AND ended < $2 LIMIT $3", values,
            [&](const SqlRow& row) {
              out.reservations.push_back({std::string(row.bytes(0)), from_micros(row.number(1)),
                                          from_micros(row.number(2)), std::string(row.bytes(3))});
              return true;
            });
      case OldKind::Transactions:
        return connection.query(
            "SELECT id, at, action, actor, cluster, target, info FROM transactions WHERE at < $1 ORDER BY id LIMIT $2",
            std::span(values).subspan(1), [&](const SqlRow& row) {
              out.transactions.push_back({row.number(0), from_micros(row.number(1)),
                                          static_cast<std::uint32_t>(row.number(2)), std::string(row.bytes(3)),
                                          std::string(row.bytes(4)), std::string(row.bytes(5)),
                                          std::string(row.bytes(6))});
              return true;
            });
    }
    return {};
  }));
  return out;
}

Status AccountingDatabase::erase_rows(const std::string& cluster_name, const OldRows& rows) {
  return write([&](SqlConnection& connection) -> Status {
    SPUR_ASSIGN(const std::int64_t cluster, cluster_id(connection, cluster_name));
    for (const auto& step : rows.steps) {
      const SqlValue key[] = {cluster, std::int64_t{step.job}, to_micros(step.submitted), std::int64_t{step.epoch},
                              std::int64_t{step.step}};
      SPUR_TRY(connection.run(
          "DELETE FROM step WHERE cluster = $1 AND job = $2 AND submitted = $3 AND epoch = $4 AND step = $5", key));
    }
    for (const auto& event : rows.events) {
      const SqlValue key[] = {cluster, std::string_view(event.node), to_micros(event.started)};
      SPUR_TRY(connection.run("DELETE FROM event WHERE cluster = $1 AND node = $2 AND started = $3", key));
    }
    for (const auto& reservation : rows.reservations) {
      const SqlValue key[] = {cluster, std::string_view(reservation.name), to_micros(reservation.started)};
      SPUR_TRY(connection.run("DELETE FROM reservation WHERE cluster = $1 AND name = $2 AND started = $3", key));
    }
    for (const auto& transaction : rows.transactions) {
      const SqlValue key[] = {transaction.id};
      SPUR_TRY(connection.run("DELETE FROM transactions WHERE id = $1", key));
    }
    return {};
  });
}

Result<std::uint64_t> AccountingDatabase::purge_rows(OldKind kind, const std::string& cluster, Time before,
                                                     const std::function<Status(const OldRows&)>& archive) {
  std::uint64_t gone = 0;
  while (true) {
    SPUR_ASSIGN(const OldRows rows, oldest_rows(kind, cluster, before));
    if (rows.size() == 0) return gone;
    SPUR_TRY(archive(rows));
    SPUR_TRY(erase_rows(cluster, rows));
    gone += rows.size();
  }
}

Status AccountingDatabase::restore_rows(const std::string& cluster_name, const OldRows& rows) {
  // Makes the cluster known, and brings steps back the way they came.
  if (!cluster_name.empty()) {
    io::AcctChunk steps;
    steps.steps = rows.steps;
    SPUR_TRY(put_back(cluster_name, steps));
  }
  return write([&](SqlConnection& connection) -> Status {
    SPUR_ASSIGN(const std::int64_t cluster, cluster_id(connection, cluster_name));
    for (const auto& event : rows.events) {
      const SqlValue row[] = {cluster, std::string_view(event.node), to_micros(event.started),
                              is_set(event.ended) ? to_micros(event.ended) : kNotYet, std::string_view(event.record)};
      SPUR_TRY(connection.upsert(event_table(), row));
    }
    for (const auto& reservation : rows.reservations) {
      const SqlValue row[] = {cluster, std::string_view(reservation.name), to_micros(reservation.started),
                              is_set(reservation.ended) ? to_micros(reservation.ended) : kNotYet,
                              std::string_view(reservation.record)};
      SPUR_TRY(connection.upsert(reservation_table(), row));
    }
    for (const auto& t : rows.transactions) {
      const SqlValue row[] = {t.id,
                              to_micros(t.at),
                              std::int64_t{t.action},
                              std::string_view(t.actor),
                              std::string_view(t.cluster),
                              std::string_view(t.target),
                              std::string_view(t.info)};
      SPUR_TRY(connection.run("INSERT INTO transactions (id, at, action, actor, cluster, target, info) VALUES ($1, $2, $3, "
                              "$4, $5, $6, $7) ON CONFLICT (id) DO NOTHING",
                              row));
    }
    return {};
  });
}

}  // namespace spur::os
