// SPDX-License-Identifier: Apache-2.0
// Tables of scrontab, between the model and proto/spur/v1/crontab.proto.
#pragma once

#include "base/result.h"
#include "model/crontab.h"

namespace spur::v1 {
class CronEntry;
class Crontab;
}  // namespace spur::v1

namespace spur::wire {

void to_proto(const model::CronEntry& m, v1::CronEntry* p);
Status from_proto(const v1::CronEntry& p, model::CronEntry* m);
void to_proto(const model::Crontab& m, v1::Crontab* p);
Status from_proto(const v1::Crontab& p, model::Crontab* m);

}  // namespace spur::wire
