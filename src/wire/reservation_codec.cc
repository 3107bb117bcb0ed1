// SPDX-License-Identifier: Apache-2.0
#include "wire/reservation_codec.h"

#include "spur/v1/types.pb.h"
#include "wire/accounts_codec.h"
#include "wire/fields.h"
#include "wire/id_codec.h"
#include "wire/job_codec.h"
#include "wire/spec_codec.h"

namespace spur::wire {

#define SPUR_RESERVED_NODE_FIELDS(F) F(ID, node) F(RUNS, cores) F(MSGS, devices)
static void to_proto(const model::ReservedNode& m, v1::ReservedNode* p) {
  SPUR_RESERVED_NODE_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::ReservedNode& p, model::ReservedNode* m) {
  SPUR_RESERVED_NODE_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_RESERVATION_NAMES_FIELDS(F) F(TEXTS, names) F(PLAIN, denied)
static void to_proto(const model::ReservationNames& m, v1::ReservationNames* p) {
  SPUR_RESERVATION_NAMES_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::ReservationNames& p, model::ReservationNames* m) {
  SPUR_RESERVATION_NAMES_FIELDS(SPUR_FROM)
  return {};
}

// clang-format off
#define SPUR_RESERVATION_FIELDS(F) \
  F(PLAIN, name) F(PLAIN, flags) F(TIME, start) F(TIME, end) F(SECONDS, float_ahead) F(SECONDS, utc_offset) \
  F(PLAIN, active) F(MSGS, nodes) F(NUMBERS, node_counts) F(NUMBERS, core_counts) F(MSGS, tres) F(PLAIN, features) \
  F(PLAIN, partition) F(MSGS, licenses) F(PLAIN, burst_buffer) F(MSG, users) F(MSG, groups) F(MSG, accounts) \
  F(MSG, qos) F(IDS, user_ids) F(SECONDS, purge_after) F(TIME, idle_since) F(SECONDS, max_start_delay) \
  F(PLAIN, comment) F(ID, created_by)
// clang-format on
void to_proto(const model::Reservation& m, v1::Reservation* p){SPUR_RESERVATION_FIELDS(SPUR_TO)} Status
    from_proto(const v1::Reservation& p, model::Reservation* m) {
  SPUR_RESERVATION_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_NAMES_EDIT_FIELDS(F) F(ENUM, how) F(TEXTS, names)
static void to_proto(const model::NamesEdit& m, v1::NamesEdit* p) {
  SPUR_NAMES_EDIT_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::NamesEdit& p, model::NamesEdit* m) {
  SPUR_NAMES_EDIT_FIELDS(SPUR_FROM)
  return {};
}

// An optional struct, or an optional span of time: present or not.
#define SPUR_TO_OPT_MSG(f) \
  if (m.f) to_proto(*m.f, p->mutable_##f());
#define SPUR_FROM_OPT_MSG(f) \
  if (p.has_##f()) SPUR_TRY(from_proto(p.f(), &m->f.emplace()));
#define SPUR_TO_OPT_SECONDS(f) \
  if (m.f) p->set_##f##_seconds(m.f->count());
#define SPUR_FROM_OPT_SECONDS(f) \
  if (p.has_##f##_seconds()) m->f = seconds(p.f##_seconds());

// clang-format off
#define SPUR_RESERVATION_CHANGE_FIELDS(F) \
  F(PLAIN, name) F(TIME, start) F(TIME, end) F(OPT_SECONDS, duration) F(ENUM, duration_how) F(OPT, nodes) \
  F(NUMBERS, node_counts) F(NUMBERS, core_counts) F(MSGS, tres) F(OPT, features) F(OPT, partition) \
  F(OPT, burst_buffer) F(OPT, comment) F(OPT_MSG, users) F(OPT_MSG, groups) F(OPT_MSG, accounts) F(OPT_MSG, qos) \
  F(PLAIN, flags_on) F(PLAIN, flags_off) F(OPT_SECONDS, purge_after) F(OPT_SECONDS, max_start_delay) \
  F(SECONDS, utc_offset)
// clang-format on
void to_proto(const model::ReservationChange& m, v1::ReservationChange* p) {
  SPUR_RESERVATION_CHANGE_FIELDS(SPUR_TO)
  if (m.licenses)
    for (const auto& license : *m.licenses) to_proto(license, p->mutable_licenses()->add_licenses());
  if (m.licenses) p->mutable_licenses();
}
Status from_proto(const v1::ReservationChange& p, model::ReservationChange* m) {
  SPUR_RESERVATION_CHANGE_FIELDS(SPUR_FROM)
  if (!p.has_licenses()) return {};
  m->licenses.emplace();
  for (const auto& license : p.licenses().licenses()) SPUR_TRY(from_proto(license, &m->licenses->emplace_back()));
  return {};
}

}  // namespace spur::wire
