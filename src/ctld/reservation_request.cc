// SPDX-License-Identifier: Apache-2.0
#include "ctld/reservation_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "sched/reservation_choice.h"

namespace spur::ctld {

using model::EditKind;
using model::NamesEdit;
using model::Reservation;
using model::ReservationChange;
using model::ReservationNames;

namespace {

constexpr auto kLatestStart = minutes(10);  // how far in the past a start may lie: Slurm's MAX_RESV_DELAY
constexpr auto kYear = hours(24 * 365);     // a reservation without an end lasts this long

std::string bare(const std::string& name) {
  return name.starts_with('-') ? name.substr(1) : name;
}

// "-a,-b" is a list of those who are kept out. A list of both kinds means nothing.
Result<ReservationNames> take_names(const std::vector<std::string>& names, ErrorCode error) {
  ReservationNames out;
  for (const std::string& name : names) {
    const bool denied = name.starts_with('-');
    if (!out.names.empty() && denied != out.denied)
      return fail(error, fmt::format("'{}' cannot be mixed with names of the other kind", name));
    out.denied = denied;
    out.names.push_back(bare(name));
  }
  return out;
}

Result<ReservationNames> edited(const ReservationNames& old, const NamesEdit& edit, ErrorCode error) {
  if (edit.how == EditKind::Set) return take_names(edit.names, error);
  ReservationNames out = old;
  for (const std::string& given : edit.names) {
    const std::string name = bare(given);
    const auto at = std::ranges::find(out.names, name);
    if (edit.how == EditKind::Add) {
      if (out.names.empty()) out.denied = given.starts_with('-');
      if (at == out.names.end()) out.names.push_back(name);
    } else {
      if (at == out.names.end()) return fail(error, fmt::format("'{}' is not in the list", name));
      out.names.erase(at);
    }
  }
  return out;
}

Status edit(ReservationNames& list, const std::optional<NamesEdit>& edit, ErrorCode error) {
  if (!edit) return {};
  SPUR_ASSIGN(list, edited(list, *edit, error));
  return {};
}

Status take_people(const ReservationChange& change, const KnownIds& ids, Reservation& r) {
  SPUR_TRY(edit(r.users, change.users, ErrorCode::InvalidUser));
  SPUR_TRY(edit(r.groups, change.groups, ErrorCode::InvalidGroup));
  SPUR_TRY(edit(r.accounts, change.accounts, ErrorCode::InvalidAccount));
  SPUR_TRY(edit(r.qos, change.qos, ErrorCode::InvalidQos));
  r.user_ids.clear();
  for (const auto* list : {&r.users, &r.groups})
    for (const std::string& name : list->names) {
      const auto found = ids.find((list == &r.groups ? "@" : "") + name);
      if (found == ids.end()) return fail(ErrorCode::InvalidUser, fmt::format("there is no user {}", name));
      r.user_ids.insert(r.user_ids.end(), found->second.begin(), found->second.end());
    }
  std::ranges::sort(r.user_ids);
  r.user_ids.erase(std::unique(r.user_ids.begin(), r.user_ids.end()), r.user_ids.end());
  return {};
}

Status take_times(const ReservationChange& change, Time now, Reservation& r) {
  // Before any sum: what a client sends may be anything.
  const auto too_far = [](auto span) { return span > seconds(100 * kYear) || span < -seconds(100 * kYear); };
  const seconds longest = std::max(change.duration.value_or(seconds(0)), change.purge_after.value_or(seconds(0)));
  const seconds shortest = std::min(change.duration.value_or(seconds(0)), change.purge_after.value_or(seconds(0)));
  if (change.start > now + 100 * kYear || change.end > now + 200 * kYear || too_far(longest) ||
      shortest < seconds(0) || change.utc_offset > hours(24) || change.utc_offset < -hours(24))
    return fail(ErrorCode::InvalidTime, "a time is too far away");
  const seconds old_length = std::chrono::duration_cast<seconds>(r.end - r.start);
  const bool existed = is_set(r.start);
  if (is_set(change.start)) {
    if (change.start < now - kLatestStart) return fail(ErrorCode::InvalidTime, "the start is in the past");
    r.start = change.start;
    if (existed && !r.has(model::kResvNamedEnd)) r.end = r.start + old_length;
  }
  if (is_set(change.end)) {
    r.end = change.end;
    r.flags |= model::kResvNamedEnd;
  }
  if (change.duration) {
    r.flags &= ~std::uint64_t{model::kResvNamedEnd};
    seconds length = *change.duration;
    if (change.duration_how == EditKind::Add) length = old_length + length;
    if (change.duration_how == EditKind::Remove) length = old_length - length;
    r.end = r.start + length;
  }
  if (!is_set(r.start) || !is_set(r.end)) return fail(ErrorCode::InvalidTime, "a start and an end are needed");
  if (r.end <= r.start || r.end <= now) return fail(ErrorCode::InvalidTime, "the end is in the past");
  if (r.has(model::kResvTimeFloat))
    r.float_ahead = std::chrono::duration_cast<seconds>(std::max(Duration{0}, r.start - now));
  if (change.utc_offset != seconds(0) || !existed) r.utc_offset = change.utc_offset;
  return {};
}

void take_plain(const ReservationChange& change, Reservation& r) {
  r.flags = (r.flags | (change.flags_on & ~std::uint64_t{model::kResvSkip})) & ~change.flags_off;
  if (change.features) r.features = *change.features;
  if (change.partition) r.partition = *change.partition;
  if (change.burst_buffer) r.burst_buffer = *change.burst_buffer;
  if (change.comment) r.comment = *change.comment;
  if (change.licenses) r.licenses = *change.licenses;
  if (change.purge_after) r.purge_after = *change.purge_after;
  if (change.max_start_delay) r.max_start_delay = *change.max_start_delay;
}

}  // namespace

Result<KnownIds> look_up(const model::View& view, const ReservationChange& change, const NameLookup& lookup) {
  KnownIds ids;
  const auto users = [&](const std::vector<std::string>& names) -> Status {
    for (const std::string& given : names) {
      const std::string name = bare(given);
      SPUR_ASSIGN(const Uid uid, lookup.user(name));
      ids[name] = {uid};
    }
    return {};
  };
  const auto groups = [&](const std::vector<std::string>& names) -> Status {
    for (const std::string& given : names) {
      const std::string name = bare(given);
      SPUR_ASSIGN(ids["@" + name], lookup.members(name));
    }
    return {};
  };
  if (change.users) SPUR_TRY(users(change.users->names));
  if (change.groups) SPUR_TRY(groups(change.groups->names));
  const Reservation* old = model::find_reservation(view, change.name);
  if (!old) return ids;
  // A user of an old list may be gone by now: nobody needs him then.
  for (const std::string& name : old->users.names)
    if (const auto uid = lookup.user(name); uid && !ids.contains(name)) ids[name] = {*uid};
  for (const std::string& name : old->users.names) ids.try_emplace(name);
  for (const std::string& name : old->groups.names) {
    auto members = lookup.members(name);
    ids.try_emplace("@" + name, members ? *std::move(members) : std::vector<Uid>{});
  }
  return ids;
}

Result<Reservation> make_reservation(const model::View& view, const ReservationChange& change, const KnownIds& ids,
                                     Time now) {
  if (!change.name.empty() && model::find_reservation(view, change.name))
    return fail(ErrorCode::ReservationNameTaken, fmt::format("there is a reservation {}", change.name));
  Reservation r;
  r.name = change.name;
  take_plain(change, r);
  SPUR_TRY(take_times(change, now, r));
  SPUR_TRY(take_people(change, ids, r));
  r.node_counts = change.node_counts;
  r.core_counts = change.core_counts;
  r.tres = change.tres;
  SPUR_TRY(sched::choose_reserved_nodes(view, {change.nodes}, now, r));
  return r;
}

Result<Reservation> change_reservation(const model::View& view, const ReservationChange& change, const KnownIds& ids,
                                       Time now) {
  const Reservation* old = model::find_reservation(view, change.name);
  if (!old) return fail(ErrorCode::InvalidReservation, fmt::format("there is no reservation {}", change.name));
  if (is_set(change.start) && old->active)
    return fail(ErrorCode::ReservationStarted, fmt::format("reservation {} has begun", change.name));
  if (!change.core_counts.empty())
    return fail(ErrorCode::CoreReservationUpdate, "the cores of a reservation cannot be changed");
  if (change.features) return fail(ErrorCode::NotSupported);
  if (change.partition && !change.partition->empty() && !model::find_partition(view, *change.partition))
    return fail(ErrorCode::InvalidPartition, fmt::format("there is no partition {}", *change.partition));
  Reservation r = *old;
  take_plain(change, r);
  SPUR_TRY(take_times(change, now, r));
  SPUR_TRY(take_people(change, ids, r));
  if (change.flags_on & model::kResvSkip) {
    if (!old->has(model::kResvRecurring)) return fail(ErrorCode::ReservationNoSkip);
    const model::Occurrence next = model::next_occurrence(*old, model::occurrence(*old, now));
    r.start = next.start, r.end = next.end;
  }
  const bool other_number = !change.node_counts.empty() && !change.nodes && change.tres.empty();
  if (other_number && !r.nodes.empty() && std::ranges::all_of(r.nodes, &model::ReservedNode::whole)) {
    r.node_counts = change.node_counts;
    SPUR_TRY(sched::resize_reservation(view, now, r));
  } else if (change.nodes || other_number || !change.tres.empty()) {
    r.node_counts = change.node_counts;
    r.core_counts.clear();
    r.tres = change.tres;
    SPUR_TRY(sched::choose_reserved_nodes(view, {change.nodes}, now, r));
  }
  return r;
}

}  // namespace spur::ctld
