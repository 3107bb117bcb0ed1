// SPDX-License-Identifier: Apache-2.0
// A reservation by an administrator: nodes (or cores and devices of them) and licenses that for a while are there
// for some users only, or for nobody. state/apply_*_reservation.cc are the only writers.
//
//   created --start--> active --end--> gone                     (jobs in it: TIMEOUT after ResvOverRun)
//                        |  ^   |
//                        |  +---+ recurring: waits for its next date
//                        +--> gone, when idle for PURGE_COMP's time
//
// A floating one (TIME_FLOAT) never begins: its start stays the same time ahead of now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/allocation.h"
#include "model/job_spec.h"
#include "model/tres_counts.h"

namespace spur::model {

enum ReservationFlag : std::uint64_t {
  kResvMaint = 1u << 0,
  kResvIgnoreJobs = 1u << 1,
  kResvHourly = 1u << 2,
  kResvDaily = 1u << 3,
  kResvWeekday = 1u << 4,  // Monday to Friday
  kResvWeekend = 1u << 5,  // Saturday and Sunday
  kResvWeekly = 1u << 6,
  kResvFlex = 1u << 7,  // its jobs may start before it, and on other nodes too
  kResvOverlap = 1u << 8,
  kResvReplace = 1u << 9,       // nodes that get busy or go down are replaced
  kResvReplaceDown = 1u << 10,  // only those that go down
  kResvSpecNodes = 1u << 11,    // the nodes were named
  kResvAnyNodes = 1u << 12,     // licenses or burst buffers on whatever nodes
  kResvAllNodes = 1u << 13,     // nodes ALL
  kResvPartNodes = 1u << 14,    // nodes ALL of its partition, also those that join later
  kResvStaticAlloc = 1u << 15,  // never replaced
  kResvFirstCores = 1u << 16,   // the lowest numbered cores
  kResvTimeFloat = 1u << 17,
  kResvPurgeComp = 1u << 18,
  kResvNoHoldJobs = 1u << 19,  // when it goes, its waiting jobs go on without it
  kResvMagnetic = 1u << 20,    // jobs that may use it need not ask
  kResvUserDelete = 1u << 21,  // its users may delete it
  kResvSkip = 1u << 22,        // of a change: on to the next occurrence; no reservation has it
  kResvNamedEnd = 1u << 23,    // not its length but its end was given: another start does not move it
};
inline constexpr std::uint64_t kResvRecurring = kResvHourly | kResvDaily | kResvWeekday | kResvWeekend | kResvWeekly;

// What of a node is reserved. Neither cores nor devices: all of it.
struct ReservedNode {
  NodeIndex node;
  std::vector<std::uint16_t> cores{};  // in the node's abstract numbering, ascending
  std::vector<DeviceGrant> devices{};
  bool whole() const { return cores.empty() && devices.empty(); }
  friend bool operator==(const ReservedNode&, const ReservedNode&) = default;
};

// Whom a list lets in: those it names, or with `denied` everybody else. Empty: everybody.
struct ReservationNames {
  std::vector<std::string> names;
  bool denied = false;
  friend bool operator==(const ReservationNames&, const ReservationNames&) = default;
};

struct Reservation {
  std::string name;
  std::uint64_t flags = 0;  // ReservationFlag bits
  Time start, end;          // of the present occurrence, or the next one
  seconds float_ahead{0};   // TIME_FLOAT: how far ahead of now it starts; start and end are then as of its creation
  seconds utc_offset{0};    // of the clock it was made by: tells which days are weekdays
  bool active = false;      // began and has not ended

  std::vector<ReservedNode> nodes;  // ascending by index
  // How they were asked for, so that others can take their place.
  std::vector<std::uint32_t> node_counts, core_counts;
  std::vector<TresCount> tres;
  std::string features, partition;
  std::vector<LicenseRequest> licenses;
  std::string burst_buffer;

  // A job must pass all lists. Users and groups are one list by two names; the ids were looked up when it was made.
  ReservationNames users, groups, accounts, qos;
  std::vector<Uid> user_ids;  // ascending: the users, or the members of the groups

  seconds purge_after{300};    // PURGE_COMP
  Time idle_since;             // no job has asked for it since; not set: it has not begun
  seconds max_start_delay{0};  // 0: none
  std::string comment;
  Uid created_by;

  bool has(std::uint64_t flag) const { return (flags & flag) != 0; }
  friend bool operator==(const Reservation&, const Reservation&) = default;
};

// "DAILY,SPEC_NODES": as scontrol shows them, PURGE_COMP with its time.
std::string flags_text(const Reservation& reservation);
// One flag of scontrol's list, or its beginning, any case; 0: no such flag. `purge_comp=TIME` is the caller's to take apart.
std::uint64_t parse_reservation_flag(std::string_view word);

// Whether `list` ("a" or "a,b", as --reservation takes it) names the reservation.
bool names_reservation(std::string_view list, std::string_view name);

struct Occurrence {
  Time start, end;
  friend bool operator==(const Occurrence&, const Occurrence&) = default;
};
// The present occurrence; a floating one's as of `now`.
Occurrence occurrence(const Reservation& reservation, Time now);
// The one that follows `of`: the same hours in the next hour, day, weekday, day of a weekend, or week. A day has 24
// hours: where clocks are changed, the hours shift. Not set for a reservation that does not recur.
Occurrence next_occurrence(const Reservation& reservation, const Occurrence& of);
// The first one that ends after `now`; not set if there is none.
Occurrence occurrence_after(const Reservation& reservation, Time now);

// Whether any two of their occurrences within a year from `now` meet.
bool meet(const Reservation& a, const Reservation& b, Time now);
// Whether both want the same part of a node at the same time, in any occurrence within a year from `now`.
bool collide(const Reservation& a, const Reservation& b, Time now);

// Whether a job of this user, account and QOS may run in it.
bool lets_in(const Reservation& reservation, Uid user, std::string_view account, std::string_view qos);

}  // namespace spur::model
