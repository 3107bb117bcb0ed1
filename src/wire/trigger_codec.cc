// SPDX-License-Identifier: Apache-2.0
#include "wire/trigger_codec.h"

#include "spur/v1/trigger.pb.h"
#include "wire/fields.h"

namespace spur::wire {

// clang-format off
#define SPUR_TRIGGER_FIELDS(F) \
  F(PLAIN, id) F(ID, user) F(ID, group) F(ENUM, source) F(PLAIN, events) F(ID, job) F(PLAIN, nodes) F(PLAIN, offset) \
  F(PLAIN, permanent) F(PLAIN, program) F(TIME, set_at) F(TIME, due) F(PLAIN, argument)
// clang-format on
void to_proto(const model::Trigger& m, v1::Trigger* p) {
  SPUR_TRIGGER_FIELDS(SPUR_TO)
}
Status from_proto(const v1::Trigger& p, model::Trigger* m) {
  SPUR_TRIGGER_FIELDS(SPUR_FROM)
  return {};
}

}  // namespace spur::wire
