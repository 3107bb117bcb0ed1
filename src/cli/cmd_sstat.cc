// SPDX-License-Identifier: Apache-2.0
// sstat: what running steps use. The controller only hands out a ticket; the agents of the job's nodes tell the rest.
// Fields, widths and wordings are those of Slurm 22.05.
#include <algorithm>
#include <map>

#include "cli/commands.h"
#include "cli/options.h"
#include "text/decimal.h"
#include "text/hostlist.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using Value = std::string_view;

struct Sstat {
  bool all_steps = false, no_header = false, parsable = false, parsable2 = false, pids = false, no_convert = false,
       help = false, usage = false, version = false, help_format = false;
  int verbose = 0;
  std::string jobs;
  std::optional<std::string> format;
};

template <bool Sstat::* Field>
OptionStatus flag(Sstat& s, Value) {
  s.*Field = true;
  return {};
}
OptionStatus set_verbose(Sstat& s, Value) {
  ++s.verbose;
  return {};
}
OptionStatus set_jobs(Sstat& s, Value value) {
  if (!s.jobs.empty()) s.jobs += ",";
  s.jobs += value;
  return {};
}
OptionStatus set_format(Sstat& s, Value value) {
  s.format = std::string(value);
  return {};
}

constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
// clang-format off
constexpr Option<Sstat> kOptions[] = {
    {{"allsteps", 'a', N, nullptr, "Print all steps for the given job(s) when no step is specified."}, flag<&Sstat::all_steps>},
    {{"helpformat", 'e', N, nullptr, "Print a list of fields that can be specified with the '--format' option"}, flag<&Sstat::help_format>},
    {{"help", 'h', N, nullptr, "Print this description of use."}, flag<&Sstat::help>},
    {{"pidformat", 'i', N, nullptr, "Predefined format to list the pids running for each job step. (JobId,Nodes,Pids)"}, flag<&Sstat::pids>},
    {{"jobs", 'j', V, "job(.step)", "Format is <job(.step)>. Stat this job step or comma-separated list of job steps."}, set_jobs},
    {{"noheader", 'n', N, nullptr, "No header will be added to the beginning of output."}, flag<&Sstat::no_header>},
    {{"noconvert", 0, N, nullptr, "Don't convert units from their original type"}, flag<&Sstat::no_convert>},
    {{"format", 'o', V, "fields", "Comma separated list of fields (use '--helpformat' for a list of available fields)."}, set_format},
    {{"fields", 0, V, "fields", "The same."}, set_format},
    {{"parsable", 'p', N, nullptr, "output will be '|' delimited with a '|' at the end"}, flag<&Sstat::parsable>},
    {{"parsable2", 'P', N, nullptr, "output will be '|' delimited without a '|' at the end"}, flag<&Sstat::parsable2>},
    {{"verbose", 'v', N, nullptr, "Primarily for debugging purposes"}, set_verbose},
    {{"version", 'V', N, nullptr, "Print version"}, flag<&Sstat::version>},
    {{"usage", 0, N, nullptr, "Display brief usage message"}, flag<&Sstat::usage>},
};
// clang-format on

constexpr std::string_view kUsage = "Usage: sstat [<OPTION>] -j <job(.stepid)>\n";

// ---- what is shown: one step, over all of its nodes

struct StepLine {
  std::string id;  // "12.batch"
  bool no_convert = false;
  struct Task {
    std::string node;
    wire::NodeUsage::Task of;
  };
  std::vector<Task> tasks;
};
using Line = const StepLine&;
using Field = std::uint64_t (*)(const model::Usage&);

std::uint64_t cpu_us(const model::Usage& u) {
  return u.user_cpu_us + u.system_cpu_us;
}
std::uint64_t rss(const model::Usage& u) {
  return u.max_rss_kib * 1024;
}
std::uint64_t vsize(const model::Usage& u) {
  return u.max_vsize_kib * 1024;
}
std::uint64_t faults(const model::Usage& u) {
  return u.major_faults;
}
std::uint64_t bytes_read(const model::Usage& u) {
  return u.read_bytes;
}
std::uint64_t bytes_written(const model::Usage& u) {
  return u.write_bytes;
}

const StepLine::Task& extreme(Line line, Field field, bool least) {
  const auto less = [&](const auto& a, const auto& b) { return field(a.of.usage) < field(b.of.usage); };
  return least ? *std::ranges::min_element(line.tasks, less) : *std::ranges::max_element(line.tasks, less);
}

// Slurm's: the largest unit of which there is more than one, two digits if it is no whole number.
std::string size_text(Line line, double bytes) {
  if (line.no_convert) return fmt::format("{:.0f}", bytes);
  static constexpr char kUnits[] = {0, 'K', 'M', 'G', 'T', 'P'};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  if (unit == 0) return fmt::format("{:.0f}", bytes);
  const bool whole = bytes == static_cast<double>(static_cast<std::uint64_t>(bytes));
  return whole ? fmt::format("{:.0f}{}", bytes, kUnits[unit]) : fmt::format("{:.2f}{}", bytes, kUnits[unit]);
}
std::string count_text(Line, double count) {
  return fmt::format("{:.0f}", count);
}
std::string time_text(Line, double micros) {
  const auto all = static_cast<std::uint64_t>(micros / 1e6);
  const auto days = all / 86400;
  const std::string clock = fmt::format("{:02}:{:02}:{:02}", all / 3600 % 24, all / 60 % 60, all % 60);
  return days > 0 ? fmt::format("{}-{}", days, clock) : clock;
}

using Text = std::string (*)(Line, double);
template <Field field, Text text, bool least = false>
std::string peak(Line l) {
  return text(l, static_cast<double>(field(extreme(l, field, least).of.usage)));
}
template <Field field, bool least = false>
std::string peak_node(Line l) {
  return extreme(l, field, least).node;
}
template <Field field, bool least = false>
std::string peak_task(Line l) {
  return fmt::format("{}", extreme(l, field, least).of.rank);
}
template <Field field, Text text>
std::string average(Line l) {
  double sum = 0;
  for (const auto& task : l.tasks) sum += static_cast<double>(field(task.of.usage));
  return text(l, sum / static_cast<double>(l.tasks.size()));
}
std::string step_id(Line l) {
  return l.id;
}
std::string task_count(Line l) {
  return fmt::format("{}", l.tasks.size());
}
std::string node_list(Line l) {
  std::vector<std::string> names;
  for (const auto& task : l.tasks)
    if (std::ranges::find(names, task.node) == names.end()) names.push_back(task.node);
  return text::compress_hostlist(names);
}
std::string pid_list(Line l) {
  std::string out;
  for (const auto& task : l.tasks) out += fmt::format("{}{}", out.empty() ? "" : ",", task.of.pid);
  return out;
}
std::string unknown(Line) {
  return "0";
}

struct StepColumn {
  std::string_view name;
  int width;
  std::string (*value)(Line);
};
constexpr StepColumn kColumns[] = {
    {"AveCPU", 10, average<cpu_us, time_text>},
    {"AveCPUFreq", 10, unknown},
    {"AveDiskRead", 14, average<bytes_read, size_text>},
    {"AveDiskWrite", 14, average<bytes_written, size_text>},
    {"AvePages", 10, average<faults, count_text>},
    {"AveRSS", 10, average<rss, size_text>},
    {"AveVMSize", 10, average<vsize, size_text>},
    {"ConsumedEnergy", 14, unknown},
    {"ConsumedEnergyRaw", 17, unknown},
    {"JobID", -12, step_id},
    {"MaxDiskRead", 12, peak<bytes_read, size_text>},
    {"MaxDiskReadNode", 15, peak_node<bytes_read>},
    {"MaxDiskReadTask", 15, peak_task<bytes_read>},
    {"MaxDiskWrite", 12, peak<bytes_written, size_text>},
    {"MaxDiskWriteNode", 16, peak_node<bytes_written>},
    {"MaxDiskWriteTask", 16, peak_task<bytes_written>},
    {"MaxPages", 8, peak<faults, count_text>},
    {"MaxPagesNode", 12, peak_node<faults>},
    {"MaxPagesTask", 14, peak_task<faults>},
    {"MaxRSS", 10, peak<rss, size_text>},
    {"MaxRSSNode", 10, peak_node<rss>},
    {"MaxRSSTask", 10, peak_task<rss>},
    {"MaxVMSize", 10, peak<vsize, size_text>},
    {"MaxVMSizeNode", 14, peak_node<vsize>},
    {"MaxVMSizeTask", 14, peak_task<vsize>},
    {"MinCPU", 10, peak<cpu_us, time_text, true>},
    {"MinCPUNode", 10, peak_node<cpu_us, true>},
    {"MinCPUTask", 10, peak_task<cpu_us, true>},
    {"Nodelist", 20, node_list},
    {"NTasks", 8, task_count},
    {"Pids", 20, pid_list},
};
constexpr std::string_view kStandard =
    "jobid,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,maxrsstask,averss,maxpages,maxpagesnode,"
    "maxpagestask,avepages,mincpu,mincpunode,mincputask,avecpu,ntasks,avecpufreq,consumedenergy,maxdiskread,"
    "maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite";

struct Chosen {
  const StepColumn* column;
  int width;
};

// Slurm takes unambiguous beginnings of names, and a width behind '%'.
std::expected<std::vector<Chosen>, std::string> choose(std::string_view format) {
  std::vector<Chosen> out;
  for (const std::string_view word : text::split(format, ',')) {
    if (word.empty()) continue;
    const auto percent = word.find('%');
    const std::string_view name = word.substr(0, percent);
    const StepColumn* found = nullptr;
    for (const StepColumn& column : kColumns)
      if (name.size() <= column.name.size() && text::equal_ignoring_case(column.name.substr(0, name.size()), name) &&
          (!found || column.name.size() == name.size()))
        found = &column;
    if (!found || name.empty()) return std::unexpected(std::string(word));
    int width = found->width;
    if (percent != std::string_view::npos) {
      std::string_view digits = word.substr(percent + 1);
      const bool left = digits.starts_with('-');
      if (left) digits.remove_prefix(1);
      const auto number = text::parse_decimal32(digits);
      if (!number || *number > 10'000) return std::unexpected(std::string(word));
      width = static_cast<int>(*number) * (left ? -1 : 1);
    }
    out.push_back({found, width});
  }
  return out;
}

void print_cells(Context& context, const Sstat& options, const std::vector<Chosen>& columns,
                 const std::function<std::string(const Chosen&)>& cell) {
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::string value = cell(columns[i]);
    if (options.parsable || options.parsable2) {
      text += value;
      if (options.parsable || i + 1 < columns.size()) text += '|';
      continue;
    }
    const auto width = static_cast<std::size_t>(std::abs(columns[i].width));
    if (value.size() > width) {
      value.resize(width > 0 ? width - 1 : 0);
      value += '+';
    }
    text += columns[i].width < 0 ? fmt::format("{:<{}} ", value, width) : fmt::format("{:>{}} ", value, width);
  }
  context.out.write(text + "\n");
}

void print_header(Context& context, const Sstat& options, const std::vector<Chosen>& columns) {
  print_cells(context, options, columns, [](const Chosen& c) { return std::string(c.column->name); });
  if (options.parsable || options.parsable2) return;
  print_cells(context, options, columns,
              [](const Chosen& c) { return std::string(static_cast<std::size_t>(std::abs(c.width)), '-'); });
}

// ---- which steps

struct Wanted {
  JobId job;
  std::string step;  // empty: the lowest one, or all
};

std::optional<Wanted> parse_wanted(std::string_view word) {
  const auto dot = word.find('.');
  const auto job = text::parse_decimal32(word.substr(0, dot));
  if (!job || *job == 0) return std::nullopt;
  return Wanted{JobId{*job}, dot == std::string_view::npos ? "" : std::string(word.substr(dot + 1))};
}

bool is_step_name(std::string_view step) {
  return step.empty() || step == "batch" || step == "extern" || step == "interactive" || text::parse_decimal32(step);
}

// Steps of the job by their numbers; batch and the like behind them.
std::vector<StepLine> lines_of(const Wanted& wanted, const Sstat& options,
                               const std::vector<wire::NodeUsage>& nodes) {
  std::map<std::pair<std::uint64_t, std::string>, StepLine> steps;
  for (const auto& node : nodes)
    for (const auto& step : node.steps) {
      const auto number = text::parse_decimal32(step.name);
      StepLine& line = steps[{number ? *number : ~0ull, step.name}];
      line.id = fmt::format("{}.{}", wanted.job.value, step.name);
      line.no_convert = options.no_convert;
      for (const auto& task : step.tasks) line.tasks.push_back({node.node, task});
    }
  std::vector<StepLine> out;
  for (auto& [key, line] : steps) {
    if (line.tasks.empty() || (!wanted.step.empty() && key.second != wanted.step)) continue;
    if (wanted.step.empty() && !options.all_steps && (key.first == ~0ull || !out.empty())) continue;
    out.push_back(std::move(line));
  }
  return out;
}

int show(Context& context, const Sstat& options, const std::vector<Chosen>& columns) {
  const auto controller = context.controller();
  if (!controller) {
    context.error("{}", words(controller.error()));
    return 1;
  }
  std::vector<std::pair<std::string_view, Wanted>> list;
  for (const std::string_view word : text::split(options.jobs, ',')) {
    if (word.empty()) continue;
    auto wanted = parse_wanted(word);
    if (!wanted) return context.fatal("Bad job/step specified: {}", word), 1;
    if (!is_step_name(wanted->step)) return context.fatal("Bad step specified: {}", wanted->job.value), 1;
    list.emplace_back(word, *std::move(wanted));
  }
  if (!options.no_header) print_header(context, options, columns);
  int status = 0;
  for (const auto& [word, wanted] : list) {
    const auto nodes = (*controller)->job_usage(wanted.job);
    if (!nodes && nodes.error().code == ErrorCode::InvalidJobId) {  // Slurm ends with 0 then, and where there are no steps
      context.error("couldn't get steps for job {}", wanted.job.value);
      continue;
    }
    const bool idle = !nodes && (nodes.error().code == ErrorCode::JobAlreadyDone || nodes.error().code == ErrorCode::JobPending);
    if (!nodes && !idle) {
      context.error("couldn't get steps for job {}: {}", wanted.job.value, words(nodes.error()));
      status = 1;
      continue;
    }
    const auto lines = idle ? std::vector<StepLine>() : lines_of(wanted, options, *nodes);
    if (lines.empty() && wanted.step.empty()) context.error("No steps running for job {}", word);
    if (lines.empty() && !wanted.step.empty()) context.error("StepId={} not found running.", word);
    for (const StepLine& line : lines)
      print_cells(context, options, columns, [&](const Chosen& c) { return c.column->value(line); });
  }
  return status;
}

}  // namespace

int cmd_sstat(Context& context) {
  Sstat options;
  const auto rest = read_line<Sstat>(context, kOptions, options, Order::Anywhere, 1);
  if (!rest) return rest.error();
  if (options.version) return print_version(context);
  if (options.usage)
    return context.out.write("Usage: sstat [options] -j <job(.stepid)>\n\tUse --help for help\n"), 0;
  if (options.help) return context.out.write(std::string(kUsage) + help_text(rows_of<Sstat>(kOptions))), 0;
  if (options.help_format) {
    std::string text;
    for (std::size_t i = 0; i < std::size(kColumns); ++i)
      text += fmt::format("{:<20}{}", kColumns[i].name, i % 4 == 3 || i + 1 == std::size(kColumns) ? "\n" : "");
    context.out.write(text);
    return 0;
  }
  for (const std::string& word : *rest) options.jobs += (options.jobs.empty() ? "" : ",") + word;
  if (options.jobs.empty()) {
    context.error("You didn't give me any jobs to stat.");
    return 1;
  }
  const auto columns = choose(options.pids ? "jobid,nodelist,pids" : options.format.value_or(std::string(kStandard)));
  if (!columns) {
    context.error("Invalid field requested: \"{}\"", columns.error());
    return 1;
  }
  return show(context, options, *columns);
}

}  // namespace spur::cli
