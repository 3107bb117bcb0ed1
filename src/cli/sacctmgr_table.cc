// SPDX-License-Identifier: Apache-2.0
// The columns of sacctmgr's tables: one list for all entities, as in Slurm, where format= finds a field by any
// beginning of its name that is long enough. Widths and headers are those that Slurm 22.05 prints.
#include <algorithm>

#include "cli/sacctmgr.h"
#include "text/decimal.h"
#include "text/memory_size.h"
#include "text/printable.h"
#include "text/time_limit.h"
#include "text/tres.h"
#include "text/words.h"

namespace spur::cli {
namespace {

// In the order in which they are tried.
constexpr FieldRow kFields[] = {
    {"Account", 3, "Account", 10},
    {"ActionRaw", 7, "ActionRaw", 10},
    {"Action", 4, "Action", 20},
    {"Actor", 4, "Actor", 10},
    {"AdminLevel", 2, "Admin", 9},
    {"Allowed", 2, "% Allowed", 10},
    {"Allocated", 7, "% Allocated", 11},
    {"Assoc", 2, "Assocs", 10},
    {"Classification", 3, "Class", 9},
    {"ClusterNodes", 8, "Cluster Nodes", 20},
    {"Cluster", 2, "Cluster", 10},
    {"Coordinators", 2, "Coord Accounts", 20},
    {"ControlHost", 8, "ControlHost", 15},
    {"ControlPort", 8, "ControlPort", 12},
    {"CountAllowed", 6, "# Allowed", 10},
    {"CountUsed", 6, "# Used", 10},
    {"Count", 3, "Count", 6},
    {"CPUCount", 2, "CPU Cnt", 7},
    {"DefaultAccount", 8, "Def Acct", 10},
    {"DefaultQOS", 8, "Def QOS", 9},
    {"DefaultWCKey", 8, "Def WCKey", 10},
    {"Description", 3, "Descr", 20},
    {"Duration", 2, "Duration", 13},
    {"End", 2, "TimeEnd", 19},
    {"EventRaw", 6, "EventRaw", 8},
    {"Event", 2, "Event", 7},
    {"FairShare", 2, "Share", 9},
    {"Features", 3, "Features", 20},
    {"FedStateRaw", 9, "FedStateRaw", 11},
    {"FedState", 4, "FedState", 12},
    {"Federation", 3, "Federation", 10},
    {"Flags", 2, "Flags", 20},
    {"GraceTime", 3, "GraceTime", 10},
    {"GrpCPUs", 6, "GrpCPUs", 8},
    {"GrpCPUMins", 7, "GrpCPUMins", 11},
    {"GrpCPURunMins", 7, "GrpCPURunMins", 13},
    {"GrpTRES", 7, "GrpTRES", 13},
    {"GrpTRESMins", 8, "GrpTRESMins", 13},
    {"GrpTRESRunMins", 8, "GrpTRESRunMins", 13},
    {"GrpJobs", 4, "GrpJobs", 7},
    {"GrpJobsAccrue", 8, "GrpJobsAccrue", 13},
    {"GrpMemory", 4, "GrpMem", 7},
    {"GrpNodes", 4, "GrpNodes", 8},
    {"GrpSubmitJobs", 4, "GrpSubmit", 9},
    {"GrpWall", 4, "GrpWall", 11},
    {"ID", 2, "ID", 6},
    {"Info", 2, "Info", 20},
    {"LFT", 1, "LFT", 6},
    {"LimitFactor", 6, "LimitFactor", 11},
    {"MaxCPUMinsPerJob", 7, "MaxCPUMins", 11},
    {"MaxCPURunMins", 7, "MaxCPURunMinsPU", 15},
    {"MaxCPUsPerJob", 7, "MaxCPUs", 8},
    {"MaxCPUsPerUser", 11, "MaxCPUsPU", 9},
    {"MaxCPUsPU", 9, "MaxCPUsPU", 9},
    {"MaxTRES", 7, "MaxTRES", 13},
    {"MaxTRESPerJob", 11, "MaxTRES", 13},
    {"MaxTRESPerNode", 11, "MaxTRESPerNode", 14},
    {"MaxTRESMinsPerJob", 8, "MaxTRESMins", 13},
    {"MaxTRESRunMinsPerAccount", 17, "MaxTRESRunMinsPA", 15},
    {"MaxTRESRunMinsPA", 16, "MaxTRESRunMinsPA", 15},
    {"MaxTRESRunMinsPerUser", 8, "MaxTRESRunMinsPU", 15},
    {"MaxTRESRunMinsPU", 8, "MaxTRESRunMinsPU", 15},
    {"MaxTRESPerAccount", 11, "MaxTRESPA", 13},
    {"MaxTRESPerAcct", 11, "MaxTRESPA", 13},
    {"MaxTRESPA", 9, "MaxTRESPA", 13},
    {"MaxTRESPerUser", 11, "MaxTRESPU", 13},
    {"MaxTRESPU", 9, "MaxTRESPU", 13},
    {"MaxJobs", 4, "MaxJobs", 7},
    {"MaxJobsAccruePerAccount", 17, "MaxJobsAccruePA", 15},
    {"MaxJobsAccruePA", 15, "MaxJobsAccruePA", 15},
    {"MaxJobsAccruePerUser", 17, "MaxJobsAccruePU", 15},
    {"MaxJobsAccruePU", 15, "MaxJobsAccruePU", 15},
    {"MaxJobsAccrue", 8, "MaxJobsAccrue", 13},
    {"MaxJobsPerAccount", 11, "MaxJobsPA", 9},
    {"MaxJobsPerAcct", 11, "MaxJobsPA", 9},
    {"MaxJobsPA", 9, "MaxJobsPA", 9},
    {"MaxJobsPerUser", 11, "MaxJobsPU", 9},
    {"MaxJobsPU", 9, "MaxJobsPU", 9},
    {"MaxNodesPerJob", 4, "MaxNodes", 8},
    {"MaxNodesPerUser", 12, "MaxNodesPU", 10},
    {"MaxNodesPU", 10, "MaxNodesPU", 10},
    {"MaxSubmitJobs", 4, "MaxSubmit", 9},
    {"MaxSubmitJobsPerUser", 14, "MaxSubmitPU", 11},
    {"MaxSubmitPU", 10, "MaxSubmitPU", 11},
    {"MaxSubmitJobsPerAccount", 17, "MaxSubmitPA", 11},
    {"MaxSubmitPA", 11, "MaxSubmitPA", 11},
    {"MaxWallDurationPerJob", 4, "MaxWall", 11},
    {"MinCPUs", 7, "MinCPUs", 8},
    {"MinPrioThreshold", 4, "MinPrioThres", 12},
    {"MinTRESPerJob", 7, "MinTRES", 13},
    {"Name", 2, "Name", 10},
    {"NodeCount", 5, "NodeCount", 9},
    {"NodeInx", 5, "NodeInx", 9},
    {"NodeNames", 5, "NodeName", -15},
    {"Organization", 1, "Org", 20},
    {"ParentID", 7, "ParentID", 8},
    {"ParentName", 7, "ParentName", 10},
    {"Partition", 4, "Partition", 10},
    {"PluginIDSelect", 2, "PluginIDSelect", 14},
    {"PreemptMode", 8, "PreemptMode", 11},
    {"PreemptExemptTime", 8, "PreemptExemptTime", 19},
    {"Preempt", 7, "Preempt", 10},
    {"Priority", 3, "Priority", 10},
    {"Problem", 1, "Problem", 40},
    {"QOSLevel", 3, "QOS", 20},
    {"QOSRAWLevel", 4, "QOS_RAW", 10},
    {"Reason", 1, "Reason", 30},
    {"RGT", 2, "RGT", 6},
    {"RPC", 2, "RPC", 5},
    {"ServerType", 10, "ServerType", 10},
    {"Server", 3, "Server", 10},
    {"Shares", 1, "Share", 9},
    {"Start", 4, "TimeStart", 19},
    {"StateRaw", 6, "StateRaw", 8},
    {"State", 2, "State", 6},
    {"TimeEligible", 6, "TimeEligible", 19},
    {"TimeEnd", 6, "TimeEnd", 19},
    {"TimeStamp", 2, "Time", 19},
    {"TimeStart", 8, "TimeStart", 19},
    {"TimeSubmit", 6, "TimeSubmit", 19},
    {"TRES", 2, "TRES", 20},
    {"Type", 2, "Type", 8},
    {"UnusedWall", 2, "UnusedWall", 10},
    {"UsageFactor", 6, "UsageFactor", 11},
    {"UsageThreshold", 6, "UsageThres", 10},
    {"User", 1, "User", 10},
    {"WCKeys", 2, "WCKeys", 20},
    {"Where", 2, "Where", 20},
};

std::string cut(std::string text, std::size_t width, bool mark) {
  if (text.size() <= width) return text;
  if (!mark) return text.substr(0, width);
  std::size_t end = width - 1;  // not inside a character
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "+" + std::string(width - 1 - end, ' ');
}

std::string padded(const std::string& text, int width) {
  const std::size_t size = static_cast<std::size_t>(std::abs(width));
  if (text.size() >= size) return text;
  const std::string blanks(size - text.size(), ' ');
  return width < 0 ? text + blanks : blanks + text;
}

}  // namespace

bool matches(std::string_view typed, std::string_view name, std::size_t least) {
  return typed.size() >= std::min(least, name.size()) && text::starts_with_ignoring_case(name, typed);
}

std::optional<Table> Table::make(Sacctmgr& s, std::string_view format) {
  Table table(s);
  for (std::string_view word : text::split(format, ',')) {
    if (word.empty()) continue;
    std::optional<int> width;
    if (const std::size_t at = word.find('%'); at != word.npos) {
      std::string_view digits = word.substr(at + 1);
      const bool left = digits.starts_with('-');
      if (left) digits.remove_prefix(1);
      if (const auto number = text::parse_decimal32(digits); number && *number > 0 && *number < 100'000)
        width = left ? -static_cast<int>(*number) : static_cast<int>(*number);
      word = word.substr(0, at);
    }
    const auto found =
        std::ranges::find_if(kFields, [&](const FieldRow& f) { return matches(word, f.name, f.least); });
    if (found == std::end(kFields)) {
      s.plain("Unknown field '{}'", text::lower(word));
      s.failed();
      return std::nullopt;
    }
    table.columns.push_back({found, width.value_or(found->width), std::string(found->header)});
  }
  return table;
}

bool Table::has(std::string_view field) const {
  return std::ranges::any_of(columns, [&](const Column& c) { return c.field->name == field; });
}

void Table::line(const std::vector<std::string>& cells) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    text += cells[i];
    if (s_->style == TableStyle::Padded) {
      text += ' ';
    } else if (s_->style == TableStyle::Parsable || i + 1 < cells.size()) {
      text += '|';
    }
  }
  s_->context.out.write(text + "\n");
}

void Table::header() {
  if (s_->no_header) return;
  std::vector<std::string> names, rule;
  for (const Column& c : columns) {
    const std::size_t size = static_cast<std::size_t>(std::abs(c.width));
    names.push_back(s_->style == TableStyle::Padded ? padded(cut(c.header, size, false), c.width) : c.header);
    rule.push_back(std::string(size, '-'));
  }
  line(names);
  if (s_->style == TableStyle::Padded) line(rule);
}

void Table::row(const Render& render) {
  std::vector<std::string> cells;
  for (const Column& c : columns) {
    Cell cell = render(c.field->name);
    cell.text = text::printable(cell.text);
    if (s_->style == TableStyle::Padded) {
      if (!cell.number) cell.text = cut(std::move(cell.text), static_cast<std::size_t>(std::abs(c.width)), true);
      cell.text = padded(cell.text, c.width);
    }
    cells.push_back(std::move(cell.text));
  }
  line(cells);
}

std::string tres_text(model::TresCounts list) {
  std::ranges::sort(list, {}, &model::TresCount::tres);
  std::string out;
  for (const model::TresCount& item : list) {
    if (!out.empty()) out += ',';
    out += item.tres + "=";
    out += text::counts_mib(item.tres.substr(0, item.tres.find('/'))) ? text::format_mib(item.count)
                                                                      : std::to_string(item.count);
  }
  return out;
}

std::string minutes_text(const std::optional<std::uint32_t>& minutes_value) {
  return minutes_value ? text::format_clock(minutes(*minutes_value)) : std::string();
}

std::string list_text(std::vector<std::string> names) {
  std::ranges::sort(names);
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ",") + name;
  return out;
}

std::string number_text(const std::optional<std::uint32_t>& number) {
  return number ? std::to_string(*number) : std::string();
}

}  // namespace spur::cli
