// SPDX-License-Identifier: Apache-2.0
// The records of accounts.proto as messages.
#pragma once

#include "base/result.h"
#include "model/account_records.h"

namespace spur::v1 {
class AccountRecord;
class AccountRecords;
class AccountsChange;
class AssociationRecord;
class ClusterRecord;
class CoordinatorRecord;
class RecordKey;
class ResourceRecord;
class ResourceShare;
class TransactionRecord;
class TresRecord;
class UserRecord;
class WckeyRecord;
}  // namespace spur::v1

namespace spur::wire {

void to_proto(const model::ClusterRecord& from, v1::ClusterRecord* to);
Status from_proto(const v1::ClusterRecord& from, model::ClusterRecord* to);
void to_proto(const model::AccountRecord& from, v1::AccountRecord* to);
Status from_proto(const v1::AccountRecord& from, model::AccountRecord* to);
void to_proto(const model::UserRecord& from, v1::UserRecord* to);
Status from_proto(const v1::UserRecord& from, model::UserRecord* to);
void to_proto(const model::AssociationRecord& from, v1::AssociationRecord* to);
Status from_proto(const v1::AssociationRecord& from, model::AssociationRecord* to);
void to_proto(const model::CoordinatorRecord& from, v1::CoordinatorRecord* to);
Status from_proto(const v1::CoordinatorRecord& from, model::CoordinatorRecord* to);
void to_proto(const model::WckeyRecord& from, v1::WckeyRecord* to);
Status from_proto(const v1::WckeyRecord& from, model::WckeyRecord* to);
void to_proto(const model::TresRecord& from, v1::TresRecord* to);
Status from_proto(const v1::TresRecord& from, model::TresRecord* to);
void to_proto(const model::ResourceRecord& from, v1::ResourceRecord* to);
Status from_proto(const v1::ResourceRecord& from, model::ResourceRecord* to);
void to_proto(const model::AccountRecords& from, v1::AccountRecords* to);
Status from_proto(const v1::AccountRecords& from, model::AccountRecords* to);
void to_proto(const model::AccountsChange& from, v1::AccountsChange* to);
Status from_proto(const v1::AccountsChange& from, model::AccountsChange* to);
void to_proto(const model::TransactionRecord& from, v1::TransactionRecord* to);
Status from_proto(const v1::TransactionRecord& from, model::TransactionRecord* to);

}  // namespace spur::wire
