// SPDX-License-Identifier: Apache-2.0
#include "wire/account_records_codec.h"

#include "spur/v1/accounts.pb.h"
#include "wire/accounts_codec.h"
#include "wire/fields.h"

namespace spur::wire {

// clang-format off
#define SPUR_CODEC(Name, FIELDS) \
  void to_proto(const model::Name& m, v1::Name* p) { FIELDS(SPUR_TO) } \
  Status from_proto(const v1::Name& p, model::Name* m) { FIELDS(SPUR_FROM) return {}; }

#define SPUR_CLUSTER_FIELDS(F) \
  F(PLAIN, name) F(PLAIN, control_host) F(PLAIN, control_port) F(PLAIN, rpc_version) F(PLAIN, classification) \
  F(PLAIN, nodes) F(MSGS, tres)
SPUR_CODEC(ClusterRecord, SPUR_CLUSTER_FIELDS)

#define SPUR_ACCOUNT_FIELDS(F) F(PLAIN, name) F(PLAIN, description) F(PLAIN, organization)
SPUR_CODEC(AccountRecord, SPUR_ACCOUNT_FIELDS)

#define SPUR_USER_FIELDS(F) F(PLAIN, name) F(ENUM, admin)
SPUR_CODEC(UserRecord, SPUR_USER_FIELDS)

#define SPUR_ASSOCIATION_RECORD_FIELDS(F) \
  F(PLAIN, cluster) F(PLAIN, parent) F(MSG, row) F(TEXTS, qos_added) F(TEXTS, qos_removed) F(PLAIN, order)
SPUR_CODEC(AssociationRecord, SPUR_ASSOCIATION_RECORD_FIELDS)

#define SPUR_COORDINATOR_FIELDS(F) F(PLAIN, account) F(PLAIN, user)
SPUR_CODEC(CoordinatorRecord, SPUR_COORDINATOR_FIELDS)

#define SPUR_WCKEY_FIELDS(F) F(PLAIN, id) F(PLAIN, name) F(PLAIN, user) F(PLAIN, cluster) F(PLAIN, is_default)
SPUR_CODEC(WckeyRecord, SPUR_WCKEY_FIELDS)

#define SPUR_TRES_FIELDS(F) F(PLAIN, id) F(PLAIN, type) F(PLAIN, name)
SPUR_CODEC(TresRecord, SPUR_TRES_FIELDS)

#define SPUR_SHARE_FIELDS(F) F(PLAIN, cluster) F(PLAIN, percent)
static void to_proto(const model::ResourceRecord::Share& m, v1::ResourceShare* p) { SPUR_SHARE_FIELDS(SPUR_TO) }
static Status from_proto(const v1::ResourceShare& p, model::ResourceRecord::Share* m) {
  SPUR_SHARE_FIELDS(SPUR_FROM)
  return {};
}
#define SPUR_RESOURCE_FIELDS(F) \
  F(PLAIN, id) F(PLAIN, name) F(PLAIN, server) F(PLAIN, server_type) F(PLAIN, description) F(PLAIN, count) F(MSGS, shares)
SPUR_CODEC(ResourceRecord, SPUR_RESOURCE_FIELDS)

#define SPUR_RECORDS_FIELDS(F) \
  F(PLAIN, revision) F(MSGS, clusters) F(MSGS, accounts) F(MSGS, users) F(MSGS, associations) F(MSGS, qos) \
  F(MSGS, coordinators) F(MSGS, wckeys) F(MSGS, tres) F(MSGS, resources) F(PLAIN, may_lack_default) \
  F(PLAIN, keeps_case)
SPUR_CODEC(AccountRecords, SPUR_RECORDS_FIELDS)

static void to_proto(const model::RecordKey& m, v1::RecordKey* p) {
  p->set_kind(static_cast<v1::RecordKind>(m.kind));
  p->set_key(m.key);
}
static Status from_proto(const v1::RecordKey& p, model::RecordKey* m) {
  if (p.kind() < 0 || p.kind() > static_cast<int>(model::RecordKind::Resource)) return bad_field("kind");
  m->kind = static_cast<model::RecordKind>(p.kind());
  m->key = p.key();
  return {};
}
#define SPUR_CHANGE_FIELDS(F) F(PLAIN, based_on) F(MSG, put) F(MSGS, remove) F(PLAIN, only_check)
SPUR_CODEC(AccountsChange, SPUR_CHANGE_FIELDS)

#define SPUR_TRANSACTION_FIELDS(F) \
  F(PLAIN, id) F(TIME, at) F(PLAIN, action) F(PLAIN, actor) F(PLAIN, cluster) F(PLAIN, target) F(PLAIN, info)
SPUR_CODEC(TransactionRecord, SPUR_TRANSACTION_FIELDS)
// clang-format on

}  // namespace spur::wire
