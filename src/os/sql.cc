// SPDX-License-Identifier: Apache-2.0
#include "os/sql.h"

namespace spur::os {

Result<SqlTransaction> SqlTransaction::begin(SqlConnection& connection) {
  SPUR_TRY(connection.execute(connection.is_postgres() ? "BEGIN" : "BEGIN IMMEDIATE"));
  return SqlTransaction(connection);
}

SqlTransaction::~SqlTransaction() {
  if (connection_) static_cast<void>(connection_->execute("ROLLBACK"));
}

Status SqlTransaction::commit() {
  SPUR_TRY(connection_->execute("COMMIT"));
  connection_ = nullptr;
  return {};
}

}  // namespace spur::os
