// SPDX-License-Identifier: Apache-2.0
// What somebody wants a reservation to be: scontrol create and update. ctld/reservation_request.cc makes a
// Reservation of it, with nodes chosen and users looked up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/job_spec.h"
#include "model/reservation.h"

namespace spur::model {

enum class EditKind : std::uint8_t { Set, Add, Remove };  // = += -=

struct NamesEdit {
  EditKind how = EditKind::Set;
  std::vector<std::string> names;  // "-name": everybody but him
  friend bool operator==(const NamesEdit&, const NamesEdit&) = default;
};

struct ReservationChange {
  std::string name;  // may be empty when it is to be created
  Time start, end;   // not set: unchanged
  std::optional<seconds> duration;
  EditKind duration_how = EditKind::Set;
  std::optional<std::string> nodes;  // hostlist or ALL
  std::vector<std::uint32_t> node_counts, core_counts;
  std::vector<TresCount> tres;
  std::optional<std::string> features, partition, burst_buffer, comment;
  std::optional<std::vector<LicenseRequest>> licenses;
  std::optional<NamesEdit> users, groups, accounts, qos;
  std::uint64_t flags_on = 0, flags_off = 0;
  std::optional<seconds> purge_after, max_start_delay;
  seconds utc_offset{0};  // of the clock whose times these are
  friend bool operator==(const ReservationChange&, const ReservationChange&) = default;
};

}  // namespace spur::model
