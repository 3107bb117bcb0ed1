// SPDX-License-Identifier: Apache-2.0
// The limits of associations, by the names that add, modify and format= know them by.
#include <algorithm>

#include "cli/sacctmgr_limits.h"
#include "text/decimal.h"
#include "text/memory_size.h"
#include "text/time_limit.h"
#include "text/tres.h"
#include "text/words.h"

namespace spur::cli {

void LimitValue::apply(model::TresCounts* to) const {
  std::erase_if(*to, [&](const model::TresCount& t) {
    return is_in(tres_gone, t.tres) || model::find_tres(tres, t.tres) != nullptr;
  });
  to->insert(to->end(), tres.begin(), tres.end());
}

namespace {

std::optional<LimitValue> parse_tres_limit(Sacctmgr& s, std::string_view value) {
  LimitValue out;
  for (const std::string_view word : text::split(value, ',')) {
    if (word.empty()) continue;
    const std::size_t at = word.rfind('=');
    const std::string name = text::lower(word.substr(0, at));
    const std::string_view amount = at == word.npos ? std::string_view() : word.substr(at + 1);
    const auto known = [&](const model::TresRecord& r) {
      return name == (r.name.empty() ? r.type : r.type + "/" + r.name);
    };
    if (std::ranges::none_of(s.records().tres, known)) {
      s.context.error("slurmdb_format_tres_str: no TRES known by type {}", name);
      return std::nullopt;
    }
    if (at == word.npos) {
      s.context.error("slurmdb_format_tres_str: no TRES id found for {}", name);
      return std::nullopt;
    }
    if (amount == "-1") {
      out.tres_gone.push_back(name);
      continue;
    }
    const auto count =
        text::counts_mib(name.substr(0, name.find('/'))) ? text::parse_memory_mib(amount) : text::parse_count(amount);
    if (!count) {
      s.context.error("Invalid value for {} ({})", name, amount);
      return std::nullopt;
    }
    out.tres.push_back({name, *count});
  }
  return out;
}

using Row = model::Association;
struct LimitRow {
  std::string_view name;
  std::size_t least;
  std::string_view label;  // empty: shown under another one
  LimitKind kind;
  std::optional<std::uint32_t>& (*number)(Row&);
  model::TresCounts& (*tres)(Row&);
  std::string_view one = {};  // of `tres`
  int label_width = 14;
};
using N = std::optional<std::uint32_t>&;
using T = model::TresCounts&;
constexpr auto kNumber = LimitKind::Number;
constexpr auto kMinutes = LimitKind::Minutes;
constexpr auto kTres = LimitKind::Tres;

// In the order in which they are shown; of two names with the same beginning the shorter first.
constexpr LimitRow kLimits[] = {
    {"GrpJobs", 4, "GrpJobs", kNumber, [](Row& r) -> N { return r.group.jobs; }, nullptr},
    {"GrpJobsAccrue", 8, "GrpJobsAccrue", kNumber, [](Row& r) -> N { return r.group.jobs_accrue; }, nullptr, {}, 25},
    {"GrpSubmitJobs", 4, "GrpSubmitJobs", kNumber, [](Row& r) -> N { return r.group.submit; }, nullptr},
    {"GrpTRES", 7, "GrpTRES", kTres, nullptr, [](Row& r) -> T { return r.group.tres; }},
    {"GrpTRESMins", 8, "GrpTRESMins", kTres, nullptr, [](Row& r) -> T { return r.group.tres_minutes; }},
    {"GrpTRESRunMins", 8, "GrpTRESRunMins", kTres, nullptr, [](Row& r) -> T { return r.group.tres_run_minutes; }},
    {"GrpCPUs", 6, "", kTres, nullptr, [](Row& r) -> T { return r.group.tres; }, "cpu"},
    {"GrpNodes", 4, "", kTres, nullptr, [](Row& r) -> T { return r.group.tres; }, "node"},
    {"GrpMemory", 4, "", kTres, nullptr, [](Row& r) -> T { return r.group.tres; }, "mem"},
    {"GrpCPUMins", 7, "", kTres, nullptr, [](Row& r) -> T { return r.group.tres_minutes; }, "cpu"},
    {"GrpCPURunMins", 7, "", kTres, nullptr, [](Row& r) -> T { return r.group.tres_run_minutes; }, "cpu"},
    {"GrpWall", 4, "GrpWall", kMinutes, [](Row& r) -> N { return r.group.wall_minutes; }, nullptr},
    {"MaxJobs", 4, "MaxJobs", kNumber, [](Row& r) -> N { return r.max_jobs; }, nullptr},
    {"MaxJobsAccrue", 8, "MaxJobsPrioAcc", kNumber, [](Row& r) -> N { return r.max_jobs_accrue; }, nullptr},
    {"MaxSubmitJobs", 4, "MaxSubmitJobs", kNumber, [](Row& r) -> N { return r.max_submit; }, nullptr},
    {"MaxTRES", 7, "MaxTRES", kTres, nullptr, [](Row& r) -> T { return r.max_tres_per_job; }},
    {"MaxTRESPerJob", 11, "", kTres, nullptr, [](Row& r) -> T { return r.max_tres_per_job; }},
    {"MaxTRESPerNode", 11, "MaxTRESPerNode", kTres, nullptr, [](Row& r) -> T { return r.max_tres_per_node; }},
    {"MaxTRESMinsPerJob", 8, "MaxTRESMins", kTres, nullptr, [](Row& r) -> T { return r.max_tres_minutes_per_job; }},
    {"MaxTRESRunMins", 8, "MaxTRESRUNMins", kTres, nullptr, [](Row& r) -> T { return r.max_tres_run_minutes; }},
    {"MaxCPUsPerJob", 7, "", kTres, nullptr, [](Row& r) -> T { return r.max_tres_per_job; }, "cpu"},
    {"MaxNodesPerJob", 4, "", kTres, nullptr, [](Row& r) -> T { return r.max_tres_per_job; }, "node"},
    {"MaxCPUMinsPerJob", 7, "", kTres, nullptr, [](Row& r) -> T { return r.max_tres_minutes_per_job; }, "cpu"},
    {"MaxCPURunMins", 7, "", kTres, nullptr, [](Row& r) -> T { return r.max_tres_run_minutes; }, "cpu"},
    {"MaxWallDurationPerJob", 4, "MaxWall", kMinutes, [](Row& r) -> N { return r.max_wall_minutes; }, nullptr},
    {"MinPrioThreshold", 4, "MinPrioThresh", kNumber, [](Row& r) -> N { return r.min_priority; }, nullptr},
    {"Priority", 3, "Priority", kNumber, [](Row& r) -> N { return r.priority; }, nullptr},
};

// Adds the step, and does it to the sample.
void add_step(AssociationEdit* edit, std::function<void(model::AssociationRecord&)> step) {
  step(edit->sample);
  edit->steps.push_back(std::move(step));
}

Parsed parse_share(Sacctmgr& s, const Word& word, AssociationEdit* edit) {
  std::uint32_t shares = 1;
  if (text::equal_ignoring_case(word.value, "parent")) {
    shares = model::kShareOfParent;
  } else if (word.value != "-1") {
    const auto number = text::parse_decimal32(word.value);
    if (!number) {
      s.context.error("Invalid value for FairShare ({})", word.value);
      return Parsed::NotMine;
    }
    shares = *number;
  }
  edit->none.insert("Fairshare");  // given: shown even where it is the default
  add_step(edit, [shares](model::AssociationRecord& r) { r.row.shares = shares; });
  return Parsed::Taken;
}

Parsed parse_qos(Sacctmgr& s, const Word& given, AssociationEdit* edit) {
  const Word word = with_sign_in_front(given);
  const auto names = parse_qos_list(s, word.value);
  if (!names) return Parsed::NotMine;
  edit->none.insert("QOS");
  if (word.how == '=') {
    add_step(edit, [list = *names](model::AssociationRecord& r) {
      r.row.qos = list;
      r.qos_added.clear();
      r.qos_removed.clear();
    });
    return Parsed::Taken;
  }
  const bool adds = word.how == '+';
  add_step(edit, [list = *names, adds](model::AssociationRecord& r) {
    const auto put = [](std::vector<std::string>& to, const std::string& name) {
      if (!is_in(to, name)) to.push_back(name);
    };
    for (const std::string& name : list) {
      // A list of its own is changed; else it is what is different from the parent's.
      if (!r.row.qos.empty()) {
        std::erase(r.row.qos, name);
        if (adds) r.row.qos.push_back(name);
        continue;
      }
      std::erase(adds ? r.qos_removed : r.qos_added, name);
      put(adds ? r.qos_added : r.qos_removed, name);
    }
  });
  return Parsed::Taken;
}

}  // namespace

std::optional<LimitValue> parse_limit(Sacctmgr& s, const Word& word, LimitKind kind, std::string_view name,
                                      std::string_view one, Parsed* how) {
  *how = Parsed::Bad;
  LimitValue out;
  if (kind == LimitKind::Tres) {
    return parse_tres_limit(s, one.empty() ? word.value : fmt::format("{}={}", one, word.value));
  }
  if (word.value == "-1") return out;
  if (kind == LimitKind::Minutes) {
    const auto limit = text::parse_time_limit(word.value);
    if (!limit) {
      s.plain(" Bad {} time format: {}", name.starts_with("MaxWall") ? "MaxWall" : name, word.text);
      return std::nullopt;
    }
    if (limit->is_finite()) out.number = limit->minutes_value();
    return out;
  }
  out.number = text::parse_decimal32(word.value);
  if (!out.number) {
    s.context.error("Invalid value for {} ({})", name, word.value);
    *how = Parsed::NotMine;
    return std::nullopt;
  }
  return out;
}

Word with_sign_in_front(Word word) {
  if (word.value.empty() || (word.value[0] != '+' && word.value[0] != '-')) return word;
  if (word.how == '=') word.how = word.value[0];
  std::string names;
  for (std::string_view name : text::split(word.value, ',')) {
    if (name.starts_with('+') || name.starts_with('-')) name.remove_prefix(1);
    names += (names.empty() ? "" : ",") + std::string(name);
  }
  word.value = names;
  return word;
}

std::optional<std::vector<std::string>> parse_qos_list(Sacctmgr& s, std::string_view value) {
  std::vector<std::string> names;
  for (const std::string& name : names_in(value)) {
    if (name.empty()) continue;
    const auto& all = s.records().qos;
    if (std::ranges::find(all, name, &model::Qos::name) == all.end()) {
      std::string valid;
      for (const model::Qos& qos : all) valid += (valid.empty() ? "" : ",") + qos.name;
      s.context.error("You gave a bad qos '{}'. Valid QOS's are {}", name, valid);
      return std::nullopt;
    }
    names.push_back(name);
  }
  return names;
}

Parsed parse_association_edit(Sacctmgr& s, const Word& word, AssociationEdit* edit) {
  if (!word.has_key) return Parsed::NotMine;
  if (word.is("FairShare", 1) || word.is("Shares", 1)) return parse_share(s, word, edit);
  if (word.is("QOSLevel", 1)) return parse_qos(s, word, edit);
  if (word.is("DefaultQOS", 8)) {
    const std::string name = text::lower(word.value == "-1" ? "" : word.value);
    if (!name.empty() && std::ranges::find(s.records().qos, name, &model::Qos::name) == s.records().qos.end()) {
      s.plain("You gave a bad default qos '{}'.  Use 'list qos' to get complete list.", name);
      return Parsed::Bad;
    }
    add_step(edit, [name](model::AssociationRecord& r) { r.row.default_qos = name; });
    return Parsed::Taken;
  }
  if (word.is("Parent", 4)) {
    edit->parent = names_in(word.value).front();
    return Parsed::Taken;
  }
  for (const LimitRow& limit : kLimits) {
    if (!word.is(limit.name, limit.least)) continue;
    Parsed how = Parsed::Bad;
    if (limit.kind == LimitKind::Tres && word.value.empty()) return Parsed::NotMine;
    const auto value = parse_limit(s, word, limit.kind, limit.name, limit.one, &how);
    if (!value) return Parsed::NotMine;  // which is said besides
    if (limit.kind == LimitKind::Tres) {
      add_step(edit, [value = *value, get = limit.tres](model::AssociationRecord& r) { value.apply(&get(r.row)); });
    } else {
      if (!value->number) edit->none.insert(std::string(limit.label));
      add_step(edit, [value = *value, get = limit.number](model::AssociationRecord& r) { value.apply(&get(r.row)); });
    }
    return Parsed::Taken;
  }
  return Parsed::NotMine;
}

void print_association_edit(Sacctmgr& s, const AssociationEdit& edit) {
  const auto print = [&](std::string_view label, std::string_view value, int width = 14) {
    s.context.out.print("  {:<{}}= {}\n", label, width, value);
  };
  model::Association row = edit.sample.row;
  if (edit.none.contains("Fairshare"))
    print("Fairshare", row.shares == model::kShareOfParent ? "parent" : std::to_string(row.shares));
  for (const LimitRow& limit : kLimits) {
    if (limit.label.empty()) continue;
    if (limit.name == "Priority" && edit.parent) print("Parent", *edit.parent);
    if (limit.kind == LimitKind::Tres) {
      if (!limit.tres(row).empty()) print(limit.label, tres_text(limit.tres(row)), limit.label_width);
      continue;
    }
    const auto& value = limit.number(row);
    if (edit.none.contains(std::string(limit.label)) && !value) print(limit.label, "NONE", limit.label_width);
    if (value)
      print(limit.label, limit.kind == kMinutes ? minutes_text(value) : number_text(value), limit.label_width);
  }
  if (edit.none.contains("QOS") && edit.sample.qos_removed.empty())
    print("QOS", list_text(edit.sample.row.qos.empty() ? edit.sample.qos_added : edit.sample.row.qos));
  if (!row.default_qos.empty()) print("DefQOS", row.default_qos);
}

std::optional<Cell> association_cell(std::string_view field, const model::Association& given) {
  model::Association row = given;
  if (field == "FairShare" || field == "Shares")
    return Cell{row.shares == model::kShareOfParent ? "parent" : std::to_string(row.shares), true};
  if (field == "QOSLevel" || field == "QOSRAWLevel") return Cell{list_text(row.qos)};
  if (field == "DefaultQOS") return Cell{row.default_qos};
  if (field == "MaxTRESRunMinsPerUser" || field == "MaxTRESRunMinsPU") field = "MaxTRESRunMins";
  for (const LimitRow& limit : kLimits) {
    if (limit.name != field) continue;
    if (limit.kind == LimitKind::Minutes) return Cell{minutes_text(limit.number(row))};
    if (limit.kind == LimitKind::Number) return Cell{number_text(limit.number(row)), true};
    if (limit.one.empty()) return Cell{tres_text(limit.tres(row))};
    const model::TresCount* found = model::find_tres(limit.tres(row), limit.one);
    return Cell{found ? std::to_string(found->count) : "", true};
  }
  return std::nullopt;
}

std::optional<model::AdminLevel> parse_admin(std::string_view text) {
  const std::string word = text::lower(text);
  if (word.starts_with("n")) return model::AdminLevel::None;
  if (word.starts_with("o")) return model::AdminLevel::Operator;
  if (word.starts_with("ad") || word.starts_with("sup")) return model::AdminLevel::Administrator;
  return std::nullopt;
}

std::string_view admin_word(model::AdminLevel level) {
  return level == model::AdminLevel::Administrator ? "Administrator"
         : level == model::AdminLevel::Operator    ? "Operator"
                                                   : "None";
}

}  // namespace spur::cli
