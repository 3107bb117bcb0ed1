// SPDX-License-Identifier: Apache-2.0
// Directives about reservations by administrators. Users are numbers here: a story has no databases.
#include <fmt/format.h>

#include "scenario.h"
#include "sched/reservation_choice.h"
#include "state/reservations.h"
#include "text/words.h"

namespace spur::scenario {
namespace {

std::vector<std::string> list_of(const std::string& value) {
  std::vector<std::string> out;
  for (const auto word : text::split(value, ','))
    if (!word.empty()) out.emplace_back(word);
  return out;
}

Status apply_option(const std::string& key, const std::string& value, Time zero, model::Reservation& r,
                    sched::NodeWish& wish) {
  const auto span = [&]() { return parse_span(value); };
  if (key == "start") {
    SPUR_ASSIGN(const Duration from, span());
    r.start = zero + from;
  } else if (key == "end") {
    SPUR_ASSIGN(const Duration to, span());
    r.end = zero + to;
  } else if (key == "nodes") {
    wish.names = value;
  } else if (key == "nodecnt" || key == "corecnt") {
    for (const auto& word : list_of(value)) {
      SPUR_ASSIGN(const std::uint64_t count, parse_number(word));
      (key == "nodecnt" ? r.node_counts : r.core_counts).push_back(static_cast<std::uint32_t>(count));
    }
  } else if (key == "users") {
    r.users.names = list_of(value);
    for (const auto& word : r.users.names) {
      SPUR_ASSIGN(const std::uint64_t uid, parse_number(word));
      r.user_ids.emplace_back(static_cast<std::uint32_t>(uid));
    }
  } else if (key == "accounts") {
    r.accounts.names = list_of(value);
  } else if (key == "partition") {
    r.partition = value;
  } else if (key == "features") {
    r.features = value;
  } else if (key == "purge") {
    SPUR_ASSIGN(const Duration after, span());
    r.purge_after = std::chrono::duration_cast<seconds>(after);
    r.flags |= model::kResvPurgeComp;
  } else if (key == "flags") {
    for (const auto& word : list_of(value)) {
      const std::uint64_t flag = model::parse_reservation_flag(word);
      if (flag == 0) return fail(ErrorCode::InvalidArgument, "no such flag: " + word);
      r.flags |= flag;
    }
  } else {
    return fail(ErrorCode::InvalidArgument, "unknown option " + key);
  }
  return {};
}

}  // namespace

Status Scenario::reserve(const Line& line) {
  if (line.words.size() != 1) return fail(ErrorCode::InvalidArgument, "reserve NAME start= end= nodes= users=");
  model::Reservation reservation;
  reservation.name = line.words[0];
  reservation.start = now_;
  sched::NodeWish wish;
  for (const auto& [key, value] : line.options) SPUR_TRY(apply_option(key, value, zero_, reservation, wish));
  if (auto ok = sched::choose_reserved_nodes(cluster_.view(), wish, now_, reservation); !ok) {
    say(fmt::format("refused: {} ({})", spur::name_of(ok.error().code), ok.error().message));
    return {};
  }
  apply(state::CreateReservation{reservation});
  return {};
}

Status Scenario::unreserve(const Line& line) {
  if (line.words.size() != 1) return fail(ErrorCode::InvalidArgument, "unreserve NAME");
  apply(state::DeleteReservation{line.words[0]});
  return {};
}

Status Scenario::show_reservations(const Line&) {
  for (const auto& r : *cluster_.view().reservations) {
    std::vector<NodeIndex> nodes;
    for (const auto& row : r.nodes) nodes.push_back(row.node);
    say(fmt::format("{} {} {}..{} on {}", r.name, r.active ? "active" : "inactive", show_time(r.start),
                    show_time(r.end), model::node_list(cluster_.view(), nodes)));
  }
  return {};
}

// What the leader's timer would have done by now.
void Scenario::let_reservations_be() {
  for (Time due = state::reservations_due(cluster_.view()); is_set(due) && due <= now_;
       due = state::reservations_due(cluster_.view())) {
    const Time later = std::exchange(now_, std::max(due, cluster_.view().as_of));
    apply(state::ReservationsDue{});
    now_ = later;
  }
}

}  // namespace spur::scenario
