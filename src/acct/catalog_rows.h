// SPDX-License-Identifier: Apache-2.0
// Records of the catalogue as rows of the database, and the differences between two catalogues as rows and as
// transactions.
#pragma once

#include <string_view>
#include <vector>

#include "acct/catalog.h"

namespace spur::acct {

std::string_view name_of(model::RecordKind kind);  // "cluster", ...
std::vector<CatalogRow> rows_of(const model::AccountRecords& records, const Catalog::Counters& counters);
// The same without the counters.
std::vector<CatalogRow> record_rows(const model::AccountRecords& records);
Status load_row(const CatalogRow& row, model::AccountRecords* records, Catalog::Counters* counters);

// Fills put, erase and transactions of the step from what is different in step->next.
void tell_difference(const model::AccountRecords& before, std::string_view actor, Time now, Catalog::Step* step);

}  // namespace spur::acct
