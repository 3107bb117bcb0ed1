// SPDX-License-Identifier: Apache-2.0
// reservation_info, license and controller_ping: scontrol show reservation|license --json, scontrol ping --json.
#include "cli/api_documents.h"
#include "cli/api_values.h"
#include "cli/scontrol_records.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using Words = std::vector<std::string>;

const model::Reservation& reservation(const ReservationOf& of) {
  return of.row->reservation;
}

std::string names(const model::ReservationNames& list) {
  std::string out;
  for (const std::string& name : list.names)
    out += fmt::format("{}{}{}", out.empty() ? "" : ",", list.denied ? "-" : "", name);
  return out;
}

std::string license_list(const std::vector<model::LicenseRequest>& list) {
  std::string out;
  for (const auto& license : list) out += fmt::format("{}{}:{}", out.empty() ? "" : ",", license.name, license.count);
  return out;
}

Words flag_words(const model::Reservation& r) {
  Words words;
  const std::string all = model::flags_text(r);
  if (all.empty()) return words;
  for (const std::string_view word : text::split(all, ',')) words.emplace_back(word.substr(0, word.find('=')));
  return words;
}

void add_cores(Document& to, std::string_view key, const ReservationOf& of) {
  to.open_array(key);
  for (const auto& [node, cores] : of.row->partial)
    to.open_object().field("node", node).field("core", cores).close_object();
  to.close_array();
}

std::optional<std::uint64_t> purge(const model::Reservation& r) {
  if (!r.has(model::kResvPurgeComp)) return std::nullopt;
  return static_cast<std::uint64_t>(r.purge_after.count());
}

// clang-format off
constexpr ApiField<ReservationOf> kReservation[] = {
    {"accounts", API_VALUE(names(reservation(of).accounts))},
    {"burst_buffer", API_VALUE(reservation(of).burst_buffer)},
    {"core_count", API_VALUE(of.row->core_count)},
    {"core_specializations", SPUR_API_ADD(add_cores(to, key, of))},
    {"end_time", API_MOMENT(model::occurrence(reservation(of), of.now).end)},
    {"features", API_VALUE(reservation(of).features)},
    {"flags", API_VALUE(flag_words(reservation(of)))},
    {"groups", API_VALUE(names(reservation(of).groups))},
    {"licenses", API_VALUE(license_list(reservation(of).licenses))},
    {"max_start_delay", API_VALUE(reservation(of).max_start_delay.count())},
    {"name", API_VALUE(reservation(of).name)},
    {"node_count", API_VALUE(of.row->node_count)},
    {"node_list", API_VALUE(of.row->nodes)},
    {"partition", API_VALUE(reservation(of).partition)},
    {"purge_completed.time", API_NUMBER(purge(reservation(of)))},
    {"start_time", API_MOMENT(model::occurrence(reservation(of), of.now).start)},
    {"watts", API_UNSET},
    {"tres", API_VALUE(reservation_tres(*of.row))},
    {"users", API_VALUE(names(reservation(of).users))},
};
constexpr ApiField<LicenseOf> kLicense[] = {
    {"LicenseName", API_VALUE(of.name)},
    {"Total", API_VALUE(of.total)},
    {"Used", API_VALUE(of.used)},
    {"Free", API_VALUE(of.total - std::min(of.used, of.total))},
    {"Remote", API_VALUE(false)},
    {"Reserved", API_VALUE(of.reserved)},
    {"LastConsumed", API_VALUE(0)},
    {"LastDeficit", API_VALUE(0)},
    {"LastUpdate", API_VALUE(0)},
};
constexpr ApiField<PingOf> kPing[] = {
    {"hostname", API_VALUE(of.host)},
    {"pinged", API_VALUE(of.responding ? "UP" : "DOWN")},
    {"responding", API_VALUE(of.responding), 42},
    {"latency", API_VALUE(of.latency_us)},
    {"mode", API_VALUE(of.primary ? "primary" : "backup")},
    {"primary", API_VALUE(of.primary), 42},
};
// clang-format on

}  // namespace

std::span<const ApiField<ReservationOf>> reservation_fields() {
  return kReservation;
}
std::span<const ApiField<LicenseOf>> license_fields() {
  return kLicense;
}
std::span<const ApiField<PingOf>> ping_fields() {
  return kPing;
}

}  // namespace spur::cli
