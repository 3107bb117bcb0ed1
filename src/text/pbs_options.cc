// SPDX-License-Identifier: Apache-2.0
#include "text/pbs_options.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "text/decimal.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::text {
namespace {

using PbsWords = std::vector<std::string>;
constexpr std::uint64_t kMaxCount = 1'000'000;

std::unexpected<Error> bad_value(std::string_view option, std::string_view value) {
  return fail(ErrorCode::InvalidArgument, fmt::format("Invalid PBS option {} {}", option, shown(value)));
}

// "name=value" cut at the first '='; no value if there is none.
struct Attribute {
  std::string_view name;
  std::optional<std::string_view> value;
};
Attribute cut_attribute(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// What nodes= and select= add up to.
struct Size {
  std::uint64_t nodes = 0, tasks = 0;
  std::optional<std::uint64_t> tasks_per_node, cpus_per_task, gpus;
  std::vector<std::string_view> hosts;
  std::string_view memory;
};

void add_size(const Size& size, PbsWords& out) {
  out.push_back(fmt::format("--nodes={}", size.nodes));
  out.push_back(fmt::format("--ntasks={}", size.tasks));
  if (size.tasks_per_node) out.push_back(fmt::format("--ntasks-per-node={}", *size.tasks_per_node));
  if (size.cpus_per_task) out.push_back(fmt::format("--cpus-per-task={}", *size.cpus_per_task));
  if (size.gpus) out.push_back(fmt::format("--gres=gpu:{}", *size.gpus));
  if (!size.memory.empty()) out.push_back(fmt::format("--mem={}", size.memory));
  if (!size.hosts.empty()) out.push_back(fmt::format("--nodelist={}", fmt::join(size.hosts, ",")));
}

// nodes=2:ppn=4, nodes=n1:ppn=2+n2:ppn=2, nodes=4:ppn=2+1:ppn=3
Status translate_nodes(std::string_view value, PbsWords& out) {
  Size size;
  bool same = true;
  for (const auto chunk : split(value, '+')) {
    std::uint64_t count = 1, per_node = 1;
    const auto fields = split(chunk, ':');
    if (const auto given = parse_decimal(fields[0], kMaxCount)) {
      count = *given;
    } else if (!fields[0].empty()) {
      size.hosts.push_back(fields[0]);
    }
    if (fields[0].empty() || count == 0) return bad_value("-l nodes", value);
    for (std::size_t i = 1; i < fields.size(); ++i) {
      const Attribute a = cut_attribute(fields[i]);
      const auto number = parse_decimal(a.value.value_or(""), kMaxCount);
      if (!number || *number == 0) return bad_value("-l nodes", value);
      if (a.name == "ppn") {
        per_node = *number;
      } else if (a.name == "gpus" && (!size.gpus || *size.gpus == *number)) {
        size.gpus = *number;
      } else {
        return bad_value("-l nodes", value);
      }
    }
    size.nodes += count;
    size.tasks += count * per_node;  // at most 10^12 a chunk
    same = same && per_node == size.tasks_per_node.value_or(per_node);
    size.tasks_per_node = per_node;
    if (size.nodes > kMaxCount || size.tasks > kMaxCount) return bad_value("-l nodes", value);
  }
  if (!same || size.tasks_per_node == 1) size.tasks_per_node.reset();
  add_size(size, out);
  return {};
}

// select=2:ncpus=8:mpiprocs=4:mem=4gb:ngpus=1. Chunks of different kinds would be a heterogeneous job.
Status translate_select(std::string_view value, PbsWords& out) {
  if (value.find('+') != std::string_view::npos)
    return fail(ErrorCode::NotSupported,
                fmt::format("PBS option -l select={} with several kinds of chunks is not supported", shown(value)));
  Size size;
  size.nodes = 1;
  std::uint64_t cpus = 1, processes = 1;
  const auto fields = split(value, ':');
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Attribute a = cut_attribute(fields[i]);
    if (a.name == "mem" && a.value && !a.value->empty()) {
      size.memory = *a.value;
      continue;
    }
    const auto number = parse_decimal(a.value.value_or(a.name), kMaxCount);
    if (!number || *number == 0 || (!a.value && i > 0)) return bad_value("-l select", value);
    if (!a.value) {
      size.nodes = *number;
    } else if (a.name == "ncpus") {
      cpus = *number;
    } else if (a.name == "mpiprocs") {
      processes = *number;
    } else if (a.name == "ngpus") {
      size.gpus = *number;
    } else {
      return bad_value("-l select", value);
    }
  }
  size.tasks = size.nodes * processes;
  if (size.tasks > kMaxCount) return bad_value("-l select", value);
  if (processes > 1) size.tasks_per_node = processes;
  if (cpus > processes) size.cpus_per_task = (cpus + processes - 1) / processes;
  add_size(size, out);
  return {};
}

// -l a=1,b=2
Status translate_resources(std::string_view list, PbsWords& out) {
  constexpr struct {
    std::string_view name, option;
  } kPlain[] = {
      {"walltime", "--time"},    {"cput", "--time"},    {"mem", "--mem"},
      {"pmem", "--mem-per-cpu"}, {"procs", "--ntasks"}, {"ncpus", "--cpus-per-task"},
      {"file", "--tmp"},         {"nice", "--nice"},    {"host", "--nodelist"},
  };
  for (const auto item : split(list, ',')) {
    const Attribute a = cut_attribute(trim(item));
    if (!a.value || a.value->empty()) return bad_value("-l", list);
    if (a.name == "nodes") {
      SPUR_TRY(translate_nodes(*a.value, out));
    } else if (a.name == "select") {
      SPUR_TRY(translate_select(*a.value, out));
    } else if (a.name == "place" && *a.value == "excl") {
      out.push_back("--exclusive");
    } else {
      const auto row =
          std::find_if(std::begin(kPlain), std::end(kPlain), [&](const auto& r) { return r.name == a.name; });
      if (row == std::end(kPlain)) return bad_value("-l", item);
      out.push_back(fmt::format("{}={}", row->option, *a.value));
    }
  }
  return {};
}

// [[CC]YY]MMDDhhmm[.SS] becomes an ISO date; any other form is left for --begin to judge.
std::string translate_date(std::string_view value) {
  std::string_view digits = value, second = "00";
  if (const auto dot = digits.find('.'); dot != std::string_view::npos) {
    second = digits.substr(dot + 1);
    digits = digits.substr(0, dot);
  }
  const bool numeric = parse_decimal(digits).has_value() && parse_decimal(second).has_value() && second.size() == 2;
  if (!numeric || (digits.size() != 8 && digits.size() != 10 && digits.size() != 12)) return std::string(value);
  const std::string_view tail = digits.substr(digits.size() - 8);
  const std::string clock = fmt::format("{}:{}:{}", tail.substr(4, 2), tail.substr(6, 2), second);
  if (digits.size() == 8) return fmt::format("{}/{}-{}", tail.substr(0, 2), tail.substr(2, 2), clock);
  const std::string year = (digits.size() == 10 ? "20" : "") + std::string(digits.substr(0, digits.size() - 8));
  return fmt::format("{}-{}-{}T{}", year, tail.substr(0, 2), tail.substr(2, 2), clock);
}

Status translate_mail(std::string_view value, PbsWords& out) {
  std::vector<std::string_view> types;
  for (const char c : value) {
    switch (c) {
      case 'a':
      case 'f':
        types.push_back("FAIL");
        break;
      case 'b':
        types.push_back("BEGIN");
        break;
      case 'e':
        types.push_back("END");
        break;
      case 'n':
        types.push_back("NONE");
        break;
      default:
        return bad_value("-m", value);
    }
  }
  if (types.empty()) return bad_value("-m", value);
  out.push_back(fmt::format("--mail-type={}", fmt::join(types, ",")));
  return {};
}

// -W depend=afterok:1:2 or block=true. A depend list has commas of its own, so it must come last.
Status translate_attributes(std::string_view value, PbsWords& out) {
  std::string_view rest = value;
  while (!rest.empty()) {
    if (rest.starts_with("depend=")) {
      out.push_back(fmt::format("--dependency={}", rest.substr(7)));
      return {};
    }
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    if (item == "block=true") {
      out.push_back("--wait");
    } else {
      return bad_value("-W", value);
    }
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return {};
}

constexpr std::string_view kWithValue = "NqAoejmMtJarvdWlckpSu";
constexpr std::string_view kWithoutValue = "hVz";

// What does not become a word at once: files and variables depend on several options.
struct Collected {
  std::string output, error, join, exported;
  bool export_all = false;
};

Status translate_option(char option, std::string_view value, Collected& c, PbsWords& out) {
  switch (option) {
    case 'N':
      out.push_back(fmt::format("--job-name={}", value));
      return {};
    case 'q':
      out.push_back(fmt::format("--partition={}", value.substr(0, value.find('@'))));
      return {};
    case 'A':
      out.push_back(fmt::format("--account={}", value));
      return {};
    case 'M':
      out.push_back(fmt::format("--mail-user={}", value));
      return {};
    case 't':
    case 'J':
      out.push_back(fmt::format("--array={}", value));
      return {};
    case 'a':
      out.push_back(fmt::format("--begin={}", translate_date(value)));
      return {};
    case 'd':
      out.push_back(fmt::format("--chdir={}", value));
      return {};
    case 'h':
      out.push_back("--hold");
      return {};
    case 'o':
      c.output = value;
      return {};
    case 'e':
      c.error = value;
      return {};
    case 'j':
      if (value != "oe" && value != "eo" && value != "n") return bad_value("-j", value);
      c.join = value;
      return {};
    case 'm':
      return translate_mail(value, out);
    case 'r':
      if (value != "y" && value != "n") return bad_value("-r", value);
      out.push_back(value == "y" ? "--requeue" : "--no-requeue");
      return {};
    case 'v':
      c.exported.append(c.exported.empty() ? "" : ",").append(value);
      return {};
    case 'V':
      c.export_all = true;
      return {};
    case 'W':
      return translate_attributes(value, out);
    case 'l':
      return translate_resources(value, out);
    default:
      return {};  // -c -k -p -S -u -z: nothing to say in sbatch's words
  }
}

void add_collected(const Collected& c, PbsWords& out) {
  const std::string_view output = c.join == "eo" && !c.error.empty() ? c.error : c.output;
  if (!output.empty()) out.push_back(fmt::format("--output={}", output));
  if (!c.error.empty() && c.join != "oe" && c.join != "eo") out.push_back(fmt::format("--error={}", c.error));
  if (c.export_all || !c.exported.empty())
    out.push_back(fmt::format("--export={}{}{}", c.export_all ? "ALL" : "",
                              c.export_all && !c.exported.empty() ? "," : "", c.exported));
}

}  // namespace

Result<PbsWords> translate_pbs_options(const PbsWords& words) {
  PbsWords out;
  Collected collected;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word.size() < 2 || word[0] != '-')
      return fail(ErrorCode::InvalidArgument, fmt::format("Invalid argument: {}", shown(word)));
    const char option = word[1];
    std::string_view value = word.substr(2);
    const bool takes_value = kWithValue.find(option) != std::string_view::npos;
    if (!takes_value && (kWithoutValue.find(option) == std::string_view::npos || !value.empty()))
      return fail(ErrorCode::InvalidArgument, fmt::format("invalid option -- '{}'", shown(word.substr(1))));
    if (takes_value && value.empty()) {
      if (i + 1 == words.size())
        return fail(ErrorCode::InvalidArgument, fmt::format("option requires an argument -- '{}'", option));
      value = words[++i];
    }
    SPUR_TRY(translate_option(option, value, collected, out));
  }
  add_collected(collected, out);
  return out;
}

}  // namespace spur::text
