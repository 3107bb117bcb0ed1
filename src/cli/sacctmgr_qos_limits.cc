// SPDX-License-Identifier: Apache-2.0
// The properties of a QOS, by the names that add, modify and format= know them by.
#include <algorithm>
#include <cmath>

#include "cli/sacctmgr_limits.h"
#include "text/decimal.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using model::Qos;

struct LimitRow {
  std::string_view name;
  std::size_t least;
  std::string_view label;
  LimitKind kind;
  std::optional<std::uint32_t>& (*number)(Qos&);
  model::TresCounts& (*tres)(Qos&);
  std::string_view one = {};
  int label_width = 25;
};
using N = std::optional<std::uint32_t>&;
using T = model::TresCounts&;
constexpr auto kNumber = LimitKind::Number;
constexpr auto kMinutes = LimitKind::Minutes;
constexpr auto kTres = LimitKind::Tres;

// In the order in which they are shown.
constexpr LimitRow kLimits[] = {
    {"GrpJobs", 4, "GrpJobs", kNumber, [](Qos& q) -> N { return q.group.jobs; }, nullptr},
    {"GrpJobsAccrue", 8, "GrpJobsAccrue", kNumber, [](Qos& q) -> N { return q.group.jobs_accrue; }, nullptr},
    {"GrpSubmitJobs", 4, "GrpSubmitJobs", kNumber, [](Qos& q) -> N { return q.group.submit; }, nullptr},
    {"GrpTRES", 7, "GrpTRES", kTres, nullptr, [](Qos& q) -> T { return q.group.tres; }},
    {"GrpTRESMins", 8, "GrpTRESMins", kTres, nullptr, [](Qos& q) -> T { return q.group.tres_minutes; }},
    {"GrpTRESRunMins", 8, "GrpTRESRunMins", kTres, nullptr, [](Qos& q) -> T { return q.group.tres_run_minutes; }},
    {"GrpCPUs", 6, "", kTres, nullptr, [](Qos& q) -> T { return q.group.tres; }, "cpu"},
    {"GrpNodes", 4, "", kTres, nullptr, [](Qos& q) -> T { return q.group.tres; }, "node"},
    {"GrpMemory", 4, "", kTres, nullptr, [](Qos& q) -> T { return q.group.tres; }, "mem"},
    {"GrpCPUMins", 7, "", kTres, nullptr, [](Qos& q) -> T { return q.group.tres_minutes; }, "cpu"},
    {"GrpCPURunMins", 7, "", kTres, nullptr, [](Qos& q) -> T { return q.group.tres_run_minutes; }, "cpu"},
    {"GrpWall", 4, "GrpWall", kMinutes, [](Qos& q) -> N { return q.group.wall_minutes; }, nullptr},
    {"MaxJobsAccruePerAccount", 17, "MaxJobsAccruePerAccount", kNumber,
     [](Qos& q) -> N { return q.max_jobs_accrue_per_account; }, nullptr},
    {"MaxJobsAccruePA", 15, "", kNumber, [](Qos& q) -> N { return q.max_jobs_accrue_per_account; }, nullptr},
    {"MaxJobsAccruePerUser", 8, "MaxJobsAccruePerUser", kNumber,
     [](Qos& q) -> N { return q.max_jobs_accrue_per_user; }, nullptr},
    {"MaxJobsAccruePU", 15, "", kNumber, [](Qos& q) -> N { return q.max_jobs_accrue_per_user; }, nullptr},
    {"MaxJobsPerAccount", 11, "MaxJobsPerAccount", kNumber, [](Qos& q) -> N { return q.max_jobs_per_account; },
     nullptr},
    {"MaxJobsPA", 9, "", kNumber, [](Qos& q) -> N { return q.max_jobs_per_account; }, nullptr},
    {"MaxJobsPerUser",
     4,
     "MaxJobsPerUser",
     kNumber,
     [](Qos& q) -> N { return q.max_jobs_per_user; },
     nullptr,
     {},
     15},
    {"MaxJobsPU", 9, "", kNumber, [](Qos& q) -> N { return q.max_jobs_per_user; }, nullptr},
    {"MaxSubmitJobsPerAccount", 17, "MaxSubmitJobsPerAccount", kNumber,
     [](Qos& q) -> N { return q.max_submit_per_account; }, nullptr},
    {"MaxSubmitPA", 11, "", kNumber, [](Qos& q) -> N { return q.max_submit_per_account; }, nullptr},
    {"MaxSubmitJobsPA", 15, "", kNumber, [](Qos& q) -> N { return q.max_submit_per_account; }, nullptr},
    {"MaxSubmitJobsPU", 15, "", kNumber, [](Qos& q) -> N { return q.max_submit_per_user; }, nullptr},
    {"MaxSubmitJobsPerUser", 4, "MaxSubmitJobsPerUser", kNumber, [](Qos& q) -> N { return q.max_submit_per_user; },
     nullptr},
    {"MaxSubmitPU", 11, "", kNumber, [](Qos& q) -> N { return q.max_submit_per_user; }, nullptr},
    {"MaxTRESPerAccount", 11, "MaxTRESPerAccount", kTres, nullptr,
     [](Qos& q) -> T { return q.max_tres_per_account; }},
    {"MaxTRESPA", 9, "", kTres, nullptr, [](Qos& q) -> T { return q.max_tres_per_account; }},
    {"MaxTRES", 7, "", kTres, nullptr, [](Qos& q) -> T { return q.max_tres_per_job; }},
    {"MaxTRESPerJob", 11, "MaxTRESPerJob", kTres, nullptr, [](Qos& q) -> T { return q.max_tres_per_job; }},
    {"MaxTRESPerNode", 11, "MaxTRESPerNode", kTres, nullptr, [](Qos& q) -> T { return q.max_tres_per_node; }},
    {"MaxTRESPerUser", 11, "MaxTRESPerUser", kTres, nullptr, [](Qos& q) -> T { return q.max_tres_per_user; }},
    {"MaxTRESPU", 9, "", kTres, nullptr, [](Qos& q) -> T { return q.max_tres_per_user; }},
    {"MaxCPUsPerJob", 7, "", kTres, nullptr, [](Qos& q) -> T { return q.max_tres_per_job; }, "cpu"},
    {"MaxCPUsPerUser", 11, "", kTres, nullptr, [](Qos& q) -> T { return q.max_tres_per_user; }, "cpu"},
    {"MaxCPUsPU", 9, "", kTres, nullptr, [](Qos& q) -> T { return q.max_tres_per_user; }, "cpu"},
    {"MaxNodesPerJob", 4, "", kTres, nullptr, [](Qos& q) -> T { return q.max_tres_per_job; }, "node"},
    {"MaxNodesPerUser", 12, "", kTres, nullptr, [](Qos& q) -> T { return q.max_tres_per_user; }, "node"},
    {"MaxNodesPU", 10, "", kTres, nullptr, [](Qos& q) -> T { return q.max_tres_per_user; }, "node"},
    {"MinPrioThreshold", 4, "MinPrioThresh", kNumber, [](Qos& q) -> N { return q.min_priority; }, nullptr},
    {"MinTRESPerJob", 7, "MinTRESPerJob", kTres, nullptr, [](Qos& q) -> T { return q.min_tres_per_job; }},
    {"MinCPUs", 7, "", kTres, nullptr, [](Qos& q) -> T { return q.min_tres_per_job; }, "cpu"},
    {"MaxTRESMinsPerJob", 8, "MaxTRESMins", kTres, nullptr, [](Qos& q) -> T { return q.max_tres_minutes_per_job; }},
    {"MaxCPUMinsPerJob", 7, "", kTres, nullptr, [](Qos& q) -> T { return q.max_tres_minutes_per_job; }, "cpu"},
    {"MaxTRESRunMinsPA", 16, "MaxTRESRUNMinsPerAccount", kTres, nullptr,
     [](Qos& q) -> T { return q.max_tres_run_minutes_per_account; }},
    {"MaxTRESRunMinsPU", 8, "MaxTRESRUNMinsPerUser", kTres, nullptr,
     [](Qos& q) -> T { return q.max_tres_run_minutes_per_user; }},
    {"MaxWallDurationPerJob", 4, "MaxWall", kMinutes, [](Qos& q) -> N { return q.max_wall_minutes; }, nullptr},
};

struct FlagRow {
  std::string_view name;
  std::uint32_t bit;
};
constexpr FlagRow kFlags[] = {
    {"DenyOnLimit", model::kQosDenyOnLimit},
    {"EnforceUsageThreshold", model::kQosEnforceUsageThreshold},
    {"NoReserve", model::kQosNoReserve},
    {"PartitionMaxNodes", model::kQosPartitionMaxNodes},
    {"PartitionMinNodes", model::kQosPartitionMinNodes},
    {"OverPartQOS", model::kQosOverPartitionQos},
    {"PartitionTimeLimit", model::kQosPartitionTimeLimit},
    {"RequiresReservation", model::kQosRequiresReservation},
    {"NoDecay", model::kQosNoDecay},
    {"UsageFactorSafe", model::kQosUsageFactorSafe},
    {"Relative", model::kQosRelative},
};

std::string flags_text(std::uint32_t flags) {
  std::string out;
  for (const FlagRow& flag : kFlags)
    if (flags & flag.bit) out += (out.empty() ? "" : ",") + std::string(flag.name);
  return out;
}

struct ModeRow {
  std::string_view name;
  model::PreemptHow how;
};
constexpr ModeRow kModes[] = {
    {"cluster", model::PreemptHow::Unset},   {"off", model::PreemptHow::Off},
    {"cancel", model::PreemptHow::Cancel},   {"requeue", model::PreemptHow::Requeue},
    {"suspend", model::PreemptHow::Suspend}, {"within", model::PreemptHow::Within},
};
std::string_view mode_text(model::PreemptHow how) {
  return std::ranges::find(kModes, how, &ModeRow::how)->name;
}

std::optional<std::int64_t> parse_thousandths(std::string_view value) {
  char* end = nullptr;
  const std::string text(value);
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(number) || number < 0 || number > 1e12) return std::nullopt;
  return std::llround(number * 1000);
}
std::string factor_text(std::int64_t thousandths, int digits) {
  return fmt::format("{:.{}f}", static_cast<double>(thousandths) / 1000, digits);
}

void add_step(QosEdit* edit, std::string_view label, std::function<void(Qos&)> step) {
  step(edit->sample);
  edit->given.insert(std::string(label));
  edit->steps.push_back(std::move(step));
}

Parsed parse_flags(Sacctmgr& s, const Word& word, QosEdit* edit) {
  std::uint32_t bits = 0;
  if (word.value != "-1") {
    for (const std::string_view name : text::split(word.value, ',')) {
      if (name.empty()) continue;
      const auto found = std::ranges::find_if(
          kFlags, [&](const FlagRow& f) { return text::starts_with_ignoring_case(f.name, name); });
      if (found != std::end(kFlags)) {
        bits |= found->bit;
        continue;
      }
      std::string all;
      for (const FlagRow& flag : kFlags) all += (all.empty() ? "" : ",") + std::string(flag.name);
      s.plain(" Unknown QOS flag used in:\n  '{}'\n Valid QOS flags are\n  '{}'", word.value, all);
      return Parsed::Bad;
    }
  }
  add_step(edit, "Flags", [bits, how = word.how](Qos& q) {
    q.flags = how == '+' ? q.flags | bits : how == '-' ? q.flags & ~bits : bits;
  });
  return Parsed::Taken;
}

Parsed parse_preempt(Sacctmgr& s, const Word& given, QosEdit* edit) {
  const Word word = with_sign_in_front(given);
  const auto names = parse_qos_list(s, word.value);
  if (!names) return Parsed::Bad;
  add_step(edit, "Preempt", [list = *names, how = word.how](Qos& q) {
    if (how == '=') q.preempts.clear();
    for (const std::string& name : list) {
      std::erase(q.preempts, name);
      if (how != '-') q.preempts.push_back(name);
    }
  });
  return Parsed::Taken;
}

// A time of preemption or grace; -1: none.
template <class Set>
Parsed parse_span(Sacctmgr& s, const Word& word, QosEdit* edit, std::string_view label, std::optional<seconds> span,
                  Set set) {
  if (!span) {
    s.plain(" Bad {} time format: {}", label, word.text);
    return Parsed::Bad;
  }
  add_step(edit, label, [value = *span, set](Qos& q) { set(q, value); });
  return Parsed::Taken;
}

Parsed parse_factor(Sacctmgr& s, const Word& word, QosEdit* edit, std::string_view label,
                    void (*set)(Qos&, std::optional<std::int64_t>)) {
  std::optional<std::int64_t> value;
  if (word.value != "-1") {
    value = parse_thousandths(word.value);
    if (!value) {
      s.context.error("Invalid value for {} ({})", label, word.value);
      return Parsed::Bad;
    }
  }
  add_step(edit, label, [value, set](Qos& q) { set(q, value); });
  return Parsed::Taken;
}

}  // namespace

Parsed parse_qos_edit(Sacctmgr& s, const Word& word, QosEdit* edit) {
  if (!word.has_key) return Parsed::NotMine;
  if (word.is("Description", 1)) {
    add_step(edit, "Description", [text = text::lower(word.value)](Qos& q) { q.description = text; });
    return Parsed::Taken;
  }
  if (word.is("Flags", 2)) return parse_flags(s, word, edit);
  if (word.is("GraceTime", 3)) {
    // Seconds; Slurm reads what has a colon as far as it is a number.
    std::optional<seconds> span;
    if (word.value == "-1") span = seconds(0);
    if (const auto number = text::parse_decimal32(std::string_view(word.value).substr(0, word.value.find(':'))))
      span = seconds(*number);
    return parse_span(s, word, edit, "GraceTime", span, [](Qos& q, seconds v) { q.grace = v; });
  }
  if (word.is("Preempt", 7)) return parse_preempt(s, word, edit);
  if (word.is("PreemptExemptTime", 8)) {
    std::optional<seconds> span;
    if (word.value == "-1") span = seconds(-1);
    if (const auto limit = text::parse_time_seconds(word.value); word.value != "-1" && limit && *limit)
      span = **limit;
    return parse_span(s, word, edit, "PreemptExemptTime", span,
                      [](Qos& q, seconds v) { q.exempt = v < seconds(0) ? std::nullopt : std::optional(v); });
  }
  if (word.is("PreemptMode", 8)) {
    const auto mode =
        std::ranges::find_if(kModes, [&](const ModeRow& m) { return text::equal_ignoring_case(m.name, word.value); });
    if (mode == std::end(kModes)) {
      s.plain(" Bad Preempt Mode given: {}", word.text);
      return Parsed::Bad;
    }
    add_step(edit, "PreemptMode", [how = mode->how](Qos& q) { q.preempt_mode = how; });
    return Parsed::Taken;
  }
  if (word.is("Priority", 3)) {
    Parsed how = Parsed::Bad;
    const auto value = parse_limit(s, word, LimitKind::Number, "Priority", {}, &how);
    if (!value) return how;
    add_step(edit, "Priority", [number = value->number.value_or(0)](Qos& q) { q.priority = number; });
    return Parsed::Taken;
  }
  if (word.is("UsageFactor", 6))
    return parse_factor(s, word, edit, "UsageFactor",
                        [](Qos& q, auto v) { q.usage_factor_thousandths = v.value_or(1000); });
  if (word.is("UsageThreshold", 6))
    return parse_factor(s, word, edit, "UsageThreshold", [](Qos& q, auto v) { q.usage_threshold_thousandths = v; });
  if (word.is("LimitFactor", 6))
    return parse_factor(s, word, edit, "LimitFactor", [](Qos& q, auto v) { q.limit_factor_thousandths = v; });
  for (const LimitRow& limit : kLimits) {
    if (!word.is(limit.name, limit.least)) continue;
    Parsed how = Parsed::Bad;
    const auto value = parse_limit(s, word, limit.kind, limit.name, limit.one, &how);
    // A bad number is complained about and otherwise as if it had not been given.
    if (!value) return how == Parsed::NotMine ? Parsed::Taken : how;
    if (limit.kind == LimitKind::Tres) {
      add_step(edit, limit.label, [value = *value, get = limit.tres](Qos& q) { value.apply(&get(q)); });
    } else {
      add_step(edit, limit.label, [value = *value, get = limit.number](Qos& q) { value.apply(&get(q)); });
    }
    return Parsed::Taken;
  }
  return Parsed::NotMine;
}

void print_qos_edit(Sacctmgr& s, const QosEdit& edit) {
  Qos q = edit.sample;
  const auto print = [&](std::string_view label, std::string_view value, int width = 25) {
    s.context.out.print("  {:<{}}= {}\n", label, width, value);
  };
  const auto given = [&](std::string_view label) { return edit.given.contains(std::string(label)); };
  if (q.flags != 0) print("Flags", flags_text(q.flags));
  if (given("GraceTime")) print("GraceTime", std::to_string(q.grace.count()));
  for (const LimitRow& limit : kLimits) {
    if (limit.label.empty()) continue;
    if (limit.kind == LimitKind::Tres) {
      if (!limit.tres(q).empty()) print(limit.label, tres_text(limit.tres(q)), limit.label_width);
    } else if (const auto& value = limit.number(q)) {
      print(limit.label, limit.kind == kMinutes ? minutes_text(value) : number_text(value), limit.label_width);
    } else if (given(limit.label)) {
      print(limit.label, "NONE", limit.label_width);
    }
  }
  if (!q.preempts.empty()) print("Preempt", list_text(q.preempts));
  if (given("PreemptMode") && q.preempt_mode != model::PreemptHow::Unset)
    print("PreemptMode", text::upper(mode_text(q.preempt_mode)));
  if (q.exempt) print("PreemptExemptTime", text::format_clock(*q.exempt));
  if (given("Priority")) print("Priority", std::to_string(q.priority));
  if (given("UsageFactor")) print("UsageFactor", factor_text(q.usage_factor_thousandths, 4));
  if (q.usage_threshold_thousandths) print("UsageThreshold", factor_text(*q.usage_threshold_thousandths, 4));
  if (q.limit_factor_thousandths) print("LimitFactor", factor_text(*q.limit_factor_thousandths, 4));
}

std::optional<Cell> qos_cell(std::string_view field, const Qos& given) {
  Qos q = given;
  if (field == "Name") return Cell{q.name};
  if (field == "ID") return Cell{std::to_string(q.id), true};
  if (field == "Description") return Cell{q.description};
  if (field == "Priority") return Cell{std::to_string(q.priority), true};
  if (field == "GraceTime") return Cell{text::format_clock(q.grace)};
  if (field == "Preempt") return Cell{list_text(q.preempts)};
  if (field == "PreemptExemptTime") return Cell{q.exempt ? text::format_clock(*q.exempt) : ""};
  if (field == "PreemptMode") return Cell{std::string(mode_text(q.preempt_mode))};
  if (field == "Flags") return Cell{flags_text(q.flags)};
  if (field == "UsageFactor") return Cell{factor_text(q.usage_factor_thousandths, 6), true};
  if (field == "UsageThreshold")
    return Cell{q.usage_threshold_thousandths ? factor_text(*q.usage_threshold_thousandths, 6) : "", true};
  if (field == "LimitFactor")
    return Cell{q.limit_factor_thousandths ? factor_text(*q.limit_factor_thousandths, 6) : "", true};
  if (field == "MaxTRESRunMinsPerUser") field = "MaxTRESRunMinsPU";
  if (field == "MaxTRESRunMinsPerAccount") field = "MaxTRESRunMinsPA";
  if (field == "MaxTRESPerAcct") field = "MaxTRESPerAccount";
  if (field == "MaxJobsPerAcct") field = "MaxJobsPerAccount";
  if (field == "MaxJobs") field = "MaxJobsPerUser";
  if (field == "MaxSubmitJobs") field = "MaxSubmitJobsPerUser";
  for (const LimitRow& limit : kLimits) {
    if (limit.name != field) continue;
    if (limit.kind == LimitKind::Minutes) return Cell{minutes_text(limit.number(q))};
    if (limit.kind == LimitKind::Number) return Cell{number_text(limit.number(q)), true};
    if (limit.one.empty()) return Cell{tres_text(limit.tres(q))};
    const model::TresCount* found = model::find_tres(limit.tres(q), limit.one);
    return Cell{found ? std::to_string(found->count) : "", true};
  }
  return std::nullopt;
}

}  // namespace spur::cli
