// SPDX-License-Identifier: Apache-2.0
// From what an administrator asked for to the reservation that is proposed: names looked up, nodes chosen.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/reservation_change.h"
#include "model/view.h"

namespace spur::ctld {

// Users and groups as the controller's host knows them. May be slow.
struct NameLookup {
  std::function<Result<Uid>(const std::string& user)> user;
  std::function<Result<std::vector<Uid>>(const std::string& group)> members;
};
// Who the names of a request mean, for each name: the user, or the members of the group.
using KnownIds = std::map<std::string, std::vector<Uid>>;
// Looks up all that `change` will need, also of a reservation that exists. InvalidUser for a user that does not.
Result<KnownIds> look_up(const model::View& view, const model::ReservationChange& change, const NameLookup& lookup);

// A new one.
Result<model::Reservation> make_reservation(const model::View& view, const model::ReservationChange& change,
                                            const KnownIds& ids, Time now);
// `change` applied to one that exists. What Slurm cannot change is refused as Slurm does.
Result<model::Reservation> change_reservation(const model::View& view, const model::ReservationChange& change,
                                              const KnownIds& ids, Time now);

}  // namespace spur::ctld
