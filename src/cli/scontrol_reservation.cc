// SPDX-License-Identifier: Apache-2.0
// scontrol create, update, delete and show of reservations. Keys are a table: name, fewest letters, and how the value
// changes the request; wordings are those of Slurm 22.05.
#include <algorithm>
#include <ctime>
#include <optional>

#include "cli/api_documents.h"
#include "cli/display.h"
#include "cli/record.h"
#include "cli/scontrol.h"
#include "model/reservation_change.h"
#include "text/date.h"
#include "text/decimal.h"
#include "text/printable.h"
#include "text/time_limit.h"
#include "text/tres.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using model::EditKind;
using model::ReservationChange;
using Value = std::string_view;

constexpr auto kWithoutEnd = hours(24 * 365);  // Slurm: a reservation without an end lasts a year

// A key on its way: what was written, and for messages how it ends ("No reservation created").
struct Input {
  Scontrol& run;
  std::string_view word;  // "Duration=bogus"
  EditKind how;           // = += -=
  std::string_view aborted;
};

template <class... Args>
bool refuse(Input& in, fmt::format_string<Args...> format, Args&&... args) {
  in.run.fail("scontrol: error: {}.  {}.", fmt::format(format, std::forward<Args>(args)...), in.aborted);
  return false;
}

std::vector<std::string> list_of(Value value) {
  std::vector<std::string> out;
  for (const std::string_view word : text::split(value, ','))
    if (!word.empty()) out.emplace_back(word);
  return out;
}

// "2,1" or "1k"; false: no numbers.
bool numbers(Value value, std::vector<std::uint32_t>& out) {
  for (const std::string& word : list_of(value)) {
    std::string_view digits = word;
    std::uint64_t unit = 1;
    if (const char last = digits.empty() ? ' ' : text::to_lower(digits.back()); last == 'k' || last == 'm') {
      unit = last == 'k' ? 1024 : 1024 * 1024;
      digits.remove_suffix(1);
    }
    const auto number = text::parse_decimal32(digits);
    if (!number || *number * unit > 0xffffffffu) return false;
    out.push_back(static_cast<std::uint32_t>(*number * unit));
  }
  return !out.empty();
}

bool set_start(Input& in, ReservationChange& change, Value value) {
  const auto at = text::parse_date(value, in.run.context.now());
  if (!at) {
    in.run.fail("{}", at.error().message);
    return refuse(in, "Invalid start time {}", in.word);
  }
  change.start = *at;
  return true;
}
bool set_end(Input& in, ReservationChange& change, Value value) {
  const auto at = text::parse_date(value, in.run.context.now());
  if (!at) {
    in.run.fail("{}", at.error().message);
    return refuse(in, "Invalid end time {}", in.word);
  }
  change.end = *at;
  return true;
}
bool set_duration(Input& in, ReservationChange& change, Value value) {
  const auto limit = text::parse_time_limit(value);
  if (!limit || !limit->is_set()) return refuse(in, "Invalid duration {}", in.word);
  change.duration =
      limit->is_unlimited() ? seconds(kWithoutEnd) : std::chrono::duration_cast<seconds>(limit->duration());
  change.duration_how = in.how;
  return true;
}
bool set_nodes(Input& in, ReservationChange& change, Value value) {
  if (in.how != EditKind::Set) return refuse(in, "The +=/-= notation is not supported when updating nodes");
  change.nodes = std::string(value);
  return true;
}
bool set_node_count(Input& in, ReservationChange& change, Value value) {
  change.node_counts.clear();
  if (!numbers(value, change.node_counts)) return refuse(in, "Invalid node count {}", in.word);
  std::erase(change.node_counts, 0u);
  return true;
}
bool set_core_count(Input& in, ReservationChange& change, Value value) {
  change.core_counts.clear();
  if (!numbers(value, change.core_counts)) return refuse(in, "Invalid core count {}", in.word);
  return true;
}
bool set_tres(Input& in, ReservationChange& change, Value value) {
  const auto unknown = [&in](std::string_view name) {
    in.run.fail("scontrol: error: couldn't identify configured TRES '{}'", name);
    return false;
  };
  const auto items = text::parse_tres(value);
  if (!items) {
    for (const std::string& word : list_of(value))
      if (!text::parse_tres(word)) return unknown(std::string_view(word).substr(0, word.find('=')));
    return unknown(value);
  }
  for (const text::Tres& item : *items) {
    const std::string name = item.name.empty() ? item.type : item.type + "/" + item.name;
    const bool known =
        name == "cpu" || name == "node" || ((item.type == "gres" || item.type == "license") && !item.name.empty());
    if (!known) return unknown(name);
    change.tres.push_back({name, item.count});
  }
  return true;
}
bool set_licenses(Input& in, ReservationChange& change, Value value) {
  std::vector<model::LicenseRequest> list;
  for (const std::string& word : list_of(value)) {
    const std::size_t colon = word.find(':');
    model::LicenseRequest one{word.substr(0, colon), 1};
    if (colon != std::string::npos) {
      const auto count = text::parse_decimal32(std::string_view(word).substr(colon + 1));
      if (!count) return refuse(in, "Invalid licenses {}", in.word);
      one.count = *count;
    }
    list.push_back(std::move(one));
  }
  change.licenses = std::move(list);
  return true;
}

// One word of Flags=: the flag, with - in front to take it away, or PURGE_COMP=TIME.
bool take_flag(ReservationChange& change, std::string_view word, EditKind how) {
  bool off = how == EditKind::Remove;
  if (word.starts_with('-') || word.starts_with('+')) {
    off = word.front() == '-';
    word.remove_prefix(1);
  }
  const std::size_t equals = word.find('=');
  const std::uint64_t flag = model::parse_reservation_flag(word.substr(0, equals));
  if (equals != std::string_view::npos) {
    const auto time = text::parse_time_seconds(word.substr(equals + 1));
    if (flag != model::kResvPurgeComp || !time || !*time) return false;
    change.purge_after = **time;
  }
  (off ? change.flags_off : change.flags_on) |= flag;
  return flag != 0;
}
bool set_flags(Input& in, ReservationChange& change, Value value) {
  for (const std::string& word : list_of(value))
    if (!take_flag(change, word, in.how)) return refuse(in, "Error parsing flags {}", value);
  return true;
}

template <std::optional<std::string> ReservationChange::* Field>
bool set_text(Input&, ReservationChange& change, Value value) {
  change.*Field = std::string(value);
  return true;
}
template <std::optional<model::NamesEdit> ReservationChange::* Field>
bool set_names(Input& in, ReservationChange& change, Value value) {
  change.*Field = model::NamesEdit{in.how, list_of(value)};
  return true;
}
bool set_start_delay(Input& in, ReservationChange& change, Value value) {
  const auto time = text::parse_time_seconds(value);
  if (!time || !*time) return refuse(in, "Invalid MaxStartDelay {}", in.word);
  change.max_start_delay = **time;
  return true;
}
bool set_watts(Input& in, ReservationChange&, Value) {
  return refuse(in, "Watts cannot be reserved");
}

struct Key {
  const char* name;
  std::size_t letters;
  bool (*set)(Input& in, ReservationChange& change, Value value);  // false after the message
  bool edits = false;                                              // takes += and -=
};
constexpr Key kKeys[] = {
    {"StartTime", 1, set_start},
    {"EndTime", 1, set_end},
    {"Duration", 1, set_duration, true},
    {"NodeCnt", 5, set_node_count},
    {"NodeCount", 5, set_node_count},
    {"CoreCnt", 5, set_core_count},
    {"Nodes", 5, set_nodes, true},
    {"Features", 2, set_text<&ReservationChange::features>},
    {"Licenses", 1, set_licenses},
    {"PartitionName", 1, set_text<&ReservationChange::partition>},
    {"Users", 1, set_names<&ReservationChange::users>, true},
    {"Groups", 1, set_names<&ReservationChange::groups>, true},
    {"Accounts", 1, set_names<&ReservationChange::accounts>, true},
    {"QOS", 1, set_names<&ReservationChange::qos>, true},
    {"Flags", 2, set_flags, true},
    {"BurstBuffer", 1, set_text<&ReservationChange::burst_buffer>},
    {"MaxStartDelay", 1, set_start_delay},
    {"Comment", 4, set_text<&ReservationChange::comment>},
    {"TRES", 1, set_tres},
    {"Watts", 1, set_watts},
};

bool is_entity(std::string_view word) {
  return abbreviates(word, "ReservationName", 3);
}

// False after the message.
bool take_word(Scontrol& run, const std::string& word, std::string_view aborted, ReservationChange& change) {
  Input in{run, word, EditKind::Set, aborted};
  KeyValue pair = split_pair(word);
  if (!pair.has_value) {
    if (is_entity(word)) return true;  // "create reservation ..."
    return refuse(in, "Misformatted parameter '{}', most options have a parameter after '='", word);
  }
  if (pair.key.ends_with('+')) in.how = EditKind::Add;
  if (pair.key.ends_with('-')) in.how = EditKind::Remove;
  if (in.how != EditKind::Set) pair.key.remove_suffix(1);
  if (is_entity(pair.key)) {
    change.name = std::string(pair.value);
    return true;
  }
  const auto key =
      std::ranges::find_if(kKeys, [&](const Key& known) { return abbreviates(pair.key, known.name, known.letters); });
  if (key == std::end(kKeys) || (in.how != EditKind::Set && !key->edits))
    return refuse(in, "Unknown parameter {}", word);
  return key->set(in, change, pair.value);
}

bool take_words(Scontrol& run, const Words& words, std::string_view aborted, ReservationChange& change) {
  for (const std::string& word : words)
    if (!take_word(run, word, aborted, change)) return false;
  if ((change.flags_on & model::kResvPartNodes) && change.nodes &&
      !(change.partition && text::equal_ignoring_case(*change.nodes, "ALL"))) {
    run.fail("scontrol: error: PART_NODES flag requires specifying a Partition and ALL nodes.  {}.", aborted);
    return false;
  }
  if (is_set(change.start) && is_set(change.end) && change.start >= change.end) {
    run.fail("scontrol: error: Start time cannot be after end time.  {}.", aborted);
    return false;
  }
  const Time at = is_set(change.start) ? change.start : run.context.now();
  const std::time_t clock = static_cast<std::time_t>(to_unix_seconds(at));
  std::tm local{};
  if (::localtime_r(&clock, &local) != nullptr) change.utc_offset = seconds(local.tm_gmtoff);
  return true;
}

// What a new one must have; false after the message.
bool is_complete(Scontrol& run, const ReservationChange& change) {
  const auto lacks = [&run](std::string_view what) {
    run.fail("scontrol: error: {}.  No reservation created.", what);
    return false;
  };
  if (!is_set(change.start)) return lacks("A start time must be given");
  if (!is_set(change.end) && !change.duration) return lacks("An end time or duration must be given");
  if (change.core_counts.empty() && change.node_counts.empty() && !change.nodes && !change.licenses &&
      !change.burst_buffer && change.tres.empty())
    return lacks("CoreCnt, Nodes, NodeCnt, BurstBuffer, Licenses or Watts must be specified");
  if (!change.users && !change.groups && !change.accounts && !change.qos)
    return lacks("Either Users/Groups and/or Accounts must be specified");
  return true;
}

std::string names_text(const model::ReservationNames& list) {
  std::string out;
  for (const std::string& name : list.names)
    out += fmt::format("{}{}{}", out.empty() ? "" : ",", list.denied ? "-" : "", name);
  return or_null(text::printable(out));
}

std::string licenses_text(const std::vector<model::LicenseRequest>& list) {
  std::string out;
  for (const auto& license : list) out += fmt::format("{}{}:{}", out.empty() ? "" : ",", license.name, license.count);
  return or_null(out);
}

std::string record_of(const wire::ReservationRow& row, Time now, const RecordStyle& style) {
  const model::Reservation& r = row.reservation;
  const model::Occurrence at = model::occurrence(r, now);
  Record record(style.one_line);
  record.line("ReservationName={} StartTime={} EndTime={} Duration={}", text::printable(r.name),
              moment(at.start, "Unknown"), moment(at.end, "Unknown"),
              text::format_clock(std::chrono::floor<seconds>(at.end - at.start)));
  record.line("Nodes={} NodeCnt={} CoreCnt={} Features={} PartitionName={} Flags={}", or_null(row.nodes),
              row.node_count, row.core_count, or_null(text::printable(r.features)),
              or_null(text::printable(r.partition)), model::flags_text(r));
  const bool runs = at.start <= now && now < at.end;
  // As Slurm: of one that runs, and whose nodes were not named.
  if (runs && !r.has(model::kResvSpecNodes))
    for (const auto& [node, cores] : row.partial) record.line("  NodeName={} CoreIDs={}", node, cores);
  record.line("TRES={}", or_null(reservation_tres(row)));
  record.line("Users={} Groups={} Accounts={} Licenses={} State={} BurstBuffer={}", names_text(r.users),
              names_text(r.groups), names_text(r.accounts), licenses_text(r.licenses),
              runs ? "ACTIVE" : "INACTIVE", or_null(text::printable(r.burst_buffer)));
  if (!r.qos.names.empty()) record.line("QOS={}", names_text(r.qos));
  record.line("MaxStartDelay={}",
              r.max_start_delay > seconds(0) ? text::format_clock(r.max_start_delay) : std::string("(null)"));
  if (!r.comment.empty()) record.line("Comment={}", text::printable(r.comment));
  return std::move(record).finish();
}

}  // namespace

std::string reservation_tres(const wire::ReservationRow& row) {
  std::string out = row.cpu_count > 0 ? fmt::format("cpu={}", row.cpu_count) : "";
  std::vector<std::pair<std::string, std::size_t>> devices;
  for (const model::ReservedNode& node : row.reservation.nodes)
    for (const model::DeviceGrant& grant : node.devices) {
      const std::string name = grant.type.empty() ? grant.gres : grant.gres + ":" + grant.type;
      auto at = std::ranges::find(devices, name, &std::pair<std::string, std::size_t>::first);
      if (at == devices.end()) at = devices.insert(at, {name, 0});
      at->second += grant.indices.size();
    }
  for (const auto& [name, count] : devices) out += fmt::format("{}gres/{}={}", out.empty() ? "" : ",", name, count);
  return out;
}

void scontrol_create_reservation(Scontrol& run, const Words& words_given) {
  ReservationChange change;
  if (!take_words(run, words_given, "No reservation created", change) || !is_complete(run, change)) return;
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto name = controller->create_reservation(change);
  if (name) return run.context.out.print("Reservation created: {}\n", *name);
  const ErrorCode code = name.error().code;
  if (code == ErrorCode::NodesBusy || code == ErrorCode::NodeConfigUnavailable)
    run.context.out.write(
        "Note, unless nodes are directly requested a reservation must exist in a single partition.\n"
        "If no partition is requested the default partition is assumed.\n");
  run.fail("Error creating the reservation: {}", words_of_update(name.error()));
}

void scontrol_update_reservation(Scontrol& run, const KeyValue& entity, const Words& pairs) {
  ReservationChange change;
  change.name = std::string(entity.value);
  Words with_values = pairs;
  if (std::erase_if(with_values, [](const std::string& word) { return text::equal_ignoring_case(word, "skip"); }) > 0)
    change.flags_on |= model::kResvSkip;
  if (!take_words(run, with_values, "No reservation update", change)) return run.fail("slurm_update error: No error");
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const Status done = controller->update_reservation(change);
  if (done) return run.context.out.write("Reservation updated.\n");
  run.fail("Error updating the reservation: {}", words_of_update(done.error()));
  run.fail("slurm_update error: {}", words_of_update(done.error()));
}

void scontrol_show_reservation(Scontrol& run, const std::string& name) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto table = controller->reservations();
  if (!table) return run.fail("slurm_load_reservations error: {}", words(table.error()));
  std::vector<const wire::ReservationRow*> shown;
  for (const wire::ReservationRow& row : table->rows)
    if (name.empty() || row.reservation.name == name) shown.push_back(&row);
  if (run.document) {
    if (shown.empty() && !name.empty()) run.exit_status = 1;
    const auto reply = controller->ping(0);
    return run.context.out.write(reservations_document(*table, reply ? reply->cluster_name : std::string(), shown,
                                                       *run.document, run.context));
  }
  for (const wire::ReservationRow* row : shown) run.context.out.write(record_of(*row, table->as_of, run.style));
  if (!shown.empty()) return;
  if (!name.empty()) run.exit_status = 1;
  if (!run.quiet)
    run.context.out.write(name.empty() ? "No reservations in the system\n"
                                       : fmt::format("Reservation {} not found\n", name));
}

}  // namespace spur::cli
