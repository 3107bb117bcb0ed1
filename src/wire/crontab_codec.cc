// SPDX-License-Identifier: Apache-2.0
#include "wire/crontab_codec.h"

#include "spur/v1/crontab.pb.h"
#include "wire/fields.h"

namespace spur::wire {

#define SPUR_CRON_ENTRY_FIELDS(F) F(PLAIN, schedule) F(PLAIN, first_line) F(PLAIN, last_line) F(ID, job)
void to_proto(const model::CronEntry& m, v1::CronEntry* p) {
  SPUR_CRON_ENTRY_FIELDS(SPUR_TO)
}
Status from_proto(const v1::CronEntry& p, model::CronEntry* m) {
  SPUR_CRON_ENTRY_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_CRONTAB_FIELDS(F) F(ID, user) F(PLAIN, text) F(MSGS, entries)
void to_proto(const model::Crontab& m, v1::Crontab* p) {
  SPUR_CRONTAB_FIELDS(SPUR_TO)
}
Status from_proto(const v1::Crontab& p, model::Crontab* m) {
  SPUR_CRONTAB_FIELDS(SPUR_FROM)
  return {};
}

}  // namespace spur::wire
