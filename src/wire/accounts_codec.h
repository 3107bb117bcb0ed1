// SPDX-License-Identifier: Apache-2.0
// Associations, QOS, users and shares as messages.
#pragma once

#include "base/result.h"
#include "model/account_book.h"
#include "model/association.h"
#include "model/fair_share.h"
#include "model/qos.h"

namespace spur::v1 {
class AccountsUpdate;
class AccountUser;
class Association;
class FairShare;
class GroupLimits;
class PastUsage;
class Qos;
class TresCount;
}  // namespace spur::v1

namespace spur::wire {

void to_proto(const model::TresCount& from, v1::TresCount* to);
Status from_proto(const v1::TresCount& from, model::TresCount* to);
void to_proto(const model::GroupLimits& from, v1::GroupLimits* to);
Status from_proto(const v1::GroupLimits& from, model::GroupLimits* to);
void to_proto(const model::Qos& from, v1::Qos* to);
Status from_proto(const v1::Qos& from, model::Qos* to);
void to_proto(const model::Association& from, v1::Association* to);
Status from_proto(const v1::Association& from, model::Association* to);
void to_proto(const model::AccountUser& from, v1::AccountUser* to);
Status from_proto(const v1::AccountUser& from, model::AccountUser* to);
void to_proto(const model::AccountsUpdate& from, v1::AccountsUpdate* to);
Status from_proto(const v1::AccountsUpdate& from, model::AccountsUpdate* to);
void to_proto(const model::FairShare& from, v1::FairShare* to);
Status from_proto(const v1::FairShare& from, model::FairShare* to);
void to_proto(const model::PastUsage& from, v1::PastUsage* to);
Status from_proto(const v1::PastUsage& from, model::PastUsage* to);

}  // namespace spur::wire
