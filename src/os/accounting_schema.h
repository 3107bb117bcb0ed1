// SPDX-License-Identifier: Apache-2.0
// The tables of the accounting database and how they came to be: one step per version, forward only. Called by
// accounting_database.cc and, for `spurdbd --migrate`, by its main.
#pragma once

#include <string>
#include <vector>

#include "os/sql.h"

namespace spur::os {

inline constexpr int kAccountingSchema = 2;

struct SchemaStep {
  int version;
  std::string what;
};

// 0: an empty database.
Result<int> schema_version(SqlConnection& connection);
// What migrate() would do.
std::vector<SchemaStep> steps_from(int version);
// Every step in a transaction of its own.
Status migrate(SqlConnection& connection);
// VersionMismatch if the database was written by a newer version of the program.
Status check_not_newer(int version);

const SqlTable& job_table();
const SqlTable& step_table();
const SqlTable& event_table();
const SqlTable& reservation_table();
const SqlTable& entity_table();

// On PostgreSQL jobs and steps lie in a part for each month of their submit time. The statement that makes the one in
// which `submitted_us` falls, and its name.
struct SchemaMonth {
  std::string name;  // "2026_11"
  std::int64_t from_us = 0, until_us = 0;
};
SchemaMonth month_of(std::int64_t submitted_us);
Status make_month(SqlConnection& connection, const SchemaMonth& month);

}  // namespace spur::os
