// SPDX-License-Identifier: Apache-2.0
#include "wire/accounts_codec.h"

#include "spur/v1/journal.pb.h"
#include "spur/v1/types.pb.h"
#include "wire/fields.h"

namespace spur::wire {

// clang-format off
#define SPUR_CODEC(Name, FIELDS) \
  void to_proto(const model::Name& m, v1::Name* p) { FIELDS(SPUR_TO) } \
  Status from_proto(const v1::Name& p, model::Name* m) { FIELDS(SPUR_FROM) return {}; }

#define SPUR_TRES_COUNT_FIELDS(F) F(PLAIN, tres) F(PLAIN, count)
SPUR_CODEC(TresCount, SPUR_TRES_COUNT_FIELDS)

#define SPUR_GROUP_LIMITS_FIELDS(F) \
  F(OPT, jobs) F(OPT, jobs_accrue) F(OPT, submit) F(OPT, wall_minutes) F(MSGS, tres) F(MSGS, tres_minutes) \
  F(MSGS, tres_run_minutes)
SPUR_CODEC(GroupLimits, SPUR_GROUP_LIMITS_FIELDS)

#define SPUR_QOS_FIELDS(F) \
  F(PLAIN, name) F(PLAIN, id) F(PLAIN, description) F(PLAIN, priority) F(TEXTS, preempts) F(ENUM, preempt_mode) \
  F(SECONDS, grace) F(PLAIN, flags) F(DEF, usage_factor_thousandths) F(OPT, usage_threshold_thousandths) \
  F(OPT, limit_factor_thousandths) F(MSG, group) F(OPT, max_jobs_per_user) F(OPT, max_jobs_per_account) \
  F(OPT, max_jobs_accrue_per_user) F(OPT, max_jobs_accrue_per_account) F(OPT, max_submit_per_user) \
  F(OPT, max_submit_per_account) F(OPT, max_wall_minutes) F(OPT, min_priority) F(MSGS, max_tres_per_job) \
  F(MSGS, max_tres_per_node) F(MSGS, max_tres_per_user) F(MSGS, max_tres_per_account) \
  F(MSGS, max_tres_minutes_per_job) F(MSGS, max_tres_run_minutes_per_user) \
  F(MSGS, max_tres_run_minutes_per_account) F(MSGS, min_tres_per_job)
void to_proto(const model::Qos& m, v1::Qos* p) {
  SPUR_QOS_FIELDS(SPUR_TO)
  if (m.exempt) p->set_exempt_seconds(m.exempt->count());
}
Status from_proto(const v1::Qos& p, model::Qos* m) {
  SPUR_QOS_FIELDS(SPUR_FROM)
  if (p.has_exempt_seconds()) m->exempt = seconds(p.exempt_seconds());
  return {};
}

#define SPUR_ASSOCIATION_FIELDS(F) \
  F(PLAIN, id) F(PLAIN, parent) F(PLAIN, account) F(PLAIN, user) F(PLAIN, partition) F(OPT, uid) F(PLAIN, is_default) \
  F(DEF, shares) F(PLAIN, flags) F(OPT, priority) F(MSG, group) F(OPT, max_jobs) F(OPT, max_jobs_accrue) \
  F(OPT, max_submit) F(OPT, max_wall_minutes) F(OPT, min_priority) F(MSGS, max_tres_per_job) \
  F(MSGS, max_tres_per_node) F(MSGS, max_tres_minutes_per_job) F(MSGS, max_tres_run_minutes) F(TEXTS, qos) \
  F(PLAIN, default_qos) F(PLAIN, comment)
SPUR_CODEC(Association, SPUR_ASSOCIATION_FIELDS)

#define SPUR_ACCOUNT_USER_FIELDS(F) \
  F(PLAIN, name) F(OPT, uid) F(ENUM, admin) F(PLAIN, default_account) F(PLAIN, default_wckey) F(TEXTS, coordinates) \
  F(TEXTS, wckeys)
SPUR_CODEC(AccountUser, SPUR_ACCOUNT_USER_FIELDS)

#define SPUR_ACCOUNTS_UPDATE_FIELDS(F) \
  F(PLAIN, revision) F(PLAIN, all) F(MSGS, associations) F(NUMBERS, associations_gone) F(MSGS, qos) F(TEXTS, qos_gone) \
  F(MSGS, users) F(TEXTS, users_gone)
SPUR_CODEC(AccountsUpdate, SPUR_ACCOUNTS_UPDATE_FIELDS)

#define SPUR_FAIR_SHARE_FIELDS(F) \
  F(PLAIN, account) F(ID, user) F(PLAIN, partition) F(PLAIN, factor) F(PLAIN, priority)
SPUR_CODEC(FairShare, SPUR_FAIR_SHARE_FIELDS)

#define SPUR_AMOUNT_FIELDS(F) F(PLAIN, tres) F(PLAIN, whole) F(PLAIN, fraction)
static void to_proto(const model::PastUsage::Amount& m, v1::PastUsage::Amount* p) { SPUR_AMOUNT_FIELDS(SPUR_TO) }
static Status from_proto(const v1::PastUsage::Amount& p, model::PastUsage::Amount* m) {
  SPUR_AMOUNT_FIELDS(SPUR_FROM)
  return {};
}
#define SPUR_PAST_USAGE_FIELDS(F) F(PLAIN, association) F(PLAIN, qos) F(MSGS, amounts)
SPUR_CODEC(PastUsage, SPUR_PAST_USAGE_FIELDS)
// clang-format on

}  // namespace spur::wire
