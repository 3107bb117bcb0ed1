// SPDX-License-Identifier: Apache-2.0
#include "os/accounting_schema.h"

#include <fmt/format.h>

#include <chrono>

namespace spur::os {
namespace {

// {blob} and {serial} are the two words on which the databases differ. Times are microseconds since 1970; `ended` of
// what lasts is the largest number, so that "not ended before" is one range.
constexpr const char* kCommon = R"(
CREATE TABLE cluster (
  id {serial},
  name {blob} NOT NULL UNIQUE,
  control_host {blob} NOT NULL,
  control_port BIGINT NOT NULL,
  born BIGINT NOT NULL,
  have BIGINT NOT NULL,
  heard BIGINT NOT NULL
);
CREATE TABLE event (
  cluster BIGINT NOT NULL,
  node {blob} NOT NULL,
  started BIGINT NOT NULL,
  ended BIGINT NOT NULL,
  record {blob} NOT NULL,
  PRIMARY KEY (cluster, node, started)
);
CREATE INDEX event_ended ON event (cluster, ended);
CREATE TABLE reservation (
  cluster BIGINT NOT NULL,
  name {blob} NOT NULL,
  started BIGINT NOT NULL,
  ended BIGINT NOT NULL,
  record {blob} NOT NULL,
  PRIMARY KEY (cluster, name, started)
);
CREATE TABLE entity (
  kind {blob} NOT NULL,
  key {blob} NOT NULL,
  body {blob} NOT NULL,
  PRIMARY KEY (kind, key)
);
CREATE TABLE transactions (
  id {serial},
  at BIGINT NOT NULL,
  action BIGINT NOT NULL,
  actor {blob} NOT NULL,
  cluster {blob} NOT NULL,
  target {blob} NOT NULL,
  info {blob} NOT NULL
);
CREATE INDEX transactions_at ON transactions (at);
CREATE TABLE job (
  cluster BIGINT NOT NULL,
  job BIGINT NOT NULL,
  submitted BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  array_job BIGINT NOT NULL,
  het_job BIGINT NOT NULL,
  uid BIGINT NOT NULL,
  account {blob} NOT NULL,
  state BIGINT NOT NULL,
  started BIGINT NOT NULL,
  ended BIGINT NOT NULL,
  record {blob} NOT NULL,
  PRIMARY KEY (cluster, job, submitted, epoch)
){parts};
CREATE INDEX job_user ON job (cluster, uid, ended);
CREATE INDEX job_ended ON job (cluster, ended);
CREATE INDEX job_account ON job (cluster, account, ended);
CREATE INDEX job_array ON job (cluster, array_job) WHERE array_job <> 0;
CREATE INDEX job_het ON job (cluster, het_job) WHERE het_job <> 0;
CREATE TABLE step (
  cluster BIGINT NOT NULL,
  job BIGINT NOT NULL,
  submitted BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  step BIGINT NOT NULL,
  record {blob} NOT NULL,
  PRIMARY KEY (cluster, job, submitted, epoch, step)
){parts};
)";

// Those that are there count as older than any age that matters.
constexpr const char* kEntityTimes[] = {
    "ALTER TABLE entity ADD COLUMN created BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE entity ADD COLUMN deleted BIGINT NOT NULL DEFAULT 0",
};

const SchemaStep kSteps[] = {
    {1, "create the tables of clusters, jobs, steps, events, reservations, accounts and transactions"},
    {2, "keep when accounts, users, associations, QOS and the like were made, and those that were deleted"},
};

Status run_step(SqlConnection& connection, int version) {
  if (version == 2) {
    for (const char* statement : kEntityTimes) SPUR_TRY(connection.execute(statement));
    return {};
  }
  if (version != 1) return fail(ErrorCode::Internal, "a schema step without statements");
  const bool postgres = connection.is_postgres();
  return connection.execute(
      fmt::format(fmt::runtime(kCommon), fmt::arg("blob", postgres ? "BYTEA" : "BLOB"),
                  fmt::arg("serial", postgres ? "BIGSERIAL PRIMARY KEY" : "INTEGER PRIMARY KEY"),
                  fmt::arg("parts", postgres ? " PARTITION BY RANGE (submitted)" : "")));
}

}  // namespace

Result<int> schema_version(SqlConnection& connection) {
  bool there = false;
  SPUR_TRY(connection.query(
      connection.is_postgres() ? "SELECT 1::BIGINT FROM pg_catalog.pg_tables WHERE schemaname = current_schema() AND "
                                 "tablename = 'spur_schema'"
                               : "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'spur_schema'",
      {}, [&](const SqlRow&) { return there = true; }));
  if (!there) return 0;
  int version = 0;
  SPUR_TRY(connection.query("SELECT version FROM spur_schema", {}, [&](const SqlRow& row) {
    version = static_cast<int>(row.number(0));
    return true;
  }));
  return version;
}

std::vector<SchemaStep> steps_from(int version) {
  std::vector<SchemaStep> out;
  for (const auto& step : kSteps)
    if (step.version > version) out.push_back(step);
  return out;
}

Status check_not_newer(int version) {
  if (version <= kAccountingSchema) return {};
  return fail(
      ErrorCode::VersionMismatch,
      fmt::format("the database has schema version {}, this program knows versions up to {}: it was written by "
                  "a newer spurdbd and is left alone",
                  version, kAccountingSchema));
}

Status migrate(SqlConnection& connection) {
  SPUR_ASSIGN(const int version, schema_version(connection));
  SPUR_TRY(check_not_newer(version));
  for (const auto& step : steps_from(version)) {
    SPUR_ASSIGN(auto transaction, SqlTransaction::begin(connection));
    SPUR_TRY(run_step(connection, step.version));
    if (step.version == 1) {
      SPUR_TRY(connection.execute("CREATE TABLE spur_schema (version BIGINT NOT NULL)"));
      SPUR_TRY(connection.execute("INSERT INTO spur_schema VALUES (1)"));
    } else {
      SPUR_TRY(connection.execute(fmt::format("UPDATE spur_schema SET version = {}", step.version)));
    }
    SPUR_TRY(transaction.commit());
  }
  return {};
}

const SqlTable& job_table() {
  static const SqlTable table{"job",
                              {{"cluster"},
                               {"job"},
                               {"submitted"},
                               {"epoch"},
                               {"array_job"},
                               {"het_job"},
                               {"uid"},
                               {"account", true},
                               {"state"},
                               {"started"},
                               {"ended"},
                               {"record", true}},
                              4};
  return table;
}

const SqlTable& step_table() {
  static const SqlTable table{
      "step", {{"cluster"}, {"job"}, {"submitted"}, {"epoch"}, {"step"}, {"record", true}}, 5};
  return table;
}

const SqlTable& event_table() {
  static const SqlTable table{"event", {{"cluster"}, {"node", true}, {"started"}, {"ended"}, {"record", true}}, 3};
  return table;
}

const SqlTable& reservation_table() {
  static const SqlTable table{
      "reservation", {{"cluster"}, {"name", true}, {"started"}, {"ended"}, {"record", true}}, 3};
  return table;
}

const SqlTable& entity_table() {
  static const SqlTable table{
      "entity", {{"kind", true}, {"key", true}, {"body", true}, {"created"}, {"deleted"}}, 2};
  return table;
}

SchemaMonth month_of(std::int64_t submitted_us) {
  using namespace std::chrono;
  const sys_time<microseconds> at{microseconds(submitted_us)};
  const year_month_day day(floor<days>(at));
  const sys_days first{day.year() / day.month() / 1};
  const sys_days next{day.year() / day.month() / 1 + months(1)};
  return {fmt::format("{:04}_{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month())),
          sys_time<microseconds>(first).time_since_epoch().count(),
          sys_time<microseconds>(next).time_since_epoch().count()};
}

Status make_month(SqlConnection& connection, const SchemaMonth& month) {
  if (!connection.is_postgres()) return {};
  for (const char* table : {"job", "step"})
    SPUR_TRY(connection.execute(
        fmt::format("CREATE TABLE IF NOT EXISTS {}_{} PARTITION OF {} FOR VALUES FROM ({}) TO ({})", table,
                    month.name, table, month.from_us, month.until_us)));
  return {};
}

}  // namespace spur::os
