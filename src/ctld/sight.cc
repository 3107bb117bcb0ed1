// SPDX-License-Identifier: Apache-2.0
#include "ctld/sight.h"

#include <algorithm>

#include "model/reservation.h"
#include "model/shown_config.h"
#include "text/private_data.h"

namespace spur::ctld {

Sight::Sight(const model::View& present, const model::Caller& caller)
    : uid_(caller.uid), accounts_(present.accounts) {
  if (caller.is_admin()) return;
  private_ = text::parse_private_data(model::shown_value(*present.config, "PrivateData"));
  if (private_ == 0) return;
  const model::AccountUser* user = accounts_->user(uid_);
  if (user && user->admin >= model::AdminLevel::Operator) private_ = 0;
}

bool Sight::sees(const model::Job& job) const {
  return !lacks(text::kPrivateJobs) || job.spec->uid == uid_ || accounts_->coordinates(uid_, job.spec->account);
}

bool Sight::sees(const model::Reservation& reservation) const {
  if (!lacks(text::kPrivateReservations) || model::lets_in(reservation, uid_, "", "")) return true;
  return std::ranges::any_of(accounts_->associations(), [&](const model::AssociationPtr& association) {
    if (association->uid != uid_.value) return false;
    if (model::lets_in(reservation, uid_, association->account, association->default_qos)) return true;
    return std::ranges::any_of(association->qos, [&](const std::string& qos) {
      return model::lets_in(reservation, uid_, association->account, qos);
    });
  });
}

bool Sight::sees(const model::Association& association) const {
  return !lacks(text::kPrivateUsage) || association.uid == uid_.value ||
         accounts_->coordinates(uid_, association.account);
}

std::function<bool(const model::Job&)> Sight::of_jobs() const {
  if (!lacks(text::kPrivateJobs)) return {};
  return [sight = *this](const model::Job& job) { return sight.sees(job); };
}

}  // namespace spur::ctld
