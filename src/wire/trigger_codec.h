// SPDX-License-Identifier: Apache-2.0
// Triggers of strigger, between the model and proto/spur/v1/trigger.proto.
#pragma once

#include "base/result.h"
#include "model/trigger.h"

namespace spur::v1 {
class Trigger;
}  // namespace spur::v1

namespace spur::wire {

void to_proto(const model::Trigger& m, v1::Trigger* p);
Status from_proto(const v1::Trigger& p, model::Trigger* m);

}  // namespace spur::wire
