// SPDX-License-Identifier: Apache-2.0
#include "cli/squeue_steps.h"
#include "cli/api_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>

#include "cli/display.h"
#include "cli/users.h"
#include "text/columns.h"
#include "text/printable.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::cli {
namespace {

// A step at the moment at which it is shown.
struct StepLine {
  const RunningStep& step;
  Time now;
  const wire::StepInfo& info() const { return step.info; }
};

seconds elapsed(const StepLine& line) {
  return std::max(std::chrono::duration_cast<seconds>(line.now - line.info().started), seconds(0));
}

struct StepColumn {
  char letter;
  const char* name;
  const char* title;
  std::string (*value)(const StepLine& line);
};
constexpr auto kNull = [](const StepLine&) -> std::string { return "(null)"; };

// Order: that of %all, then those that only -O knows.
// clang-format off
constexpr StepColumn kColumns[] = {
    {'b', "gres", "TRES_PER_JOB", kNull},
    {'i', "stepid", "STEPID", [](const StepLine& l) { return l.step.id(); }},
    {'j', "stepname", "NAME", [](const StepLine& l) { return text::printable(l.info().name); }},
    {'l', "timelimit", "TIME_LIMIT", [](const StepLine& l) -> std::string {
       return l.info().time_limit.is_finite() ? text::format_time_limit(l.info().time_limit, text::LimitStyle::Squeue) : "UNLIMITED"; }},
    {'u', "username", "USER", [](const StepLine& l) { return user_name(l.info().uid); }},
    {'A', "numtasks", "TASKS", [](const StepLine& l) { return std::to_string(l.info().tasks); }},
    {'M', "timeused", "TIME", [](const StepLine& l) { return text::format_elapsed(elapsed(l)); }},
    {'N', "nodes", "NODELIST", [](const StepLine& l) { return l.info().nodes; }},
    {'P', "partition", "PARTITION", [](const StepLine& l) { return l.info().partition; }},
    {'S', "starttime", "START_TIME", [](const StepLine& l) { return moment(l.info().started, "N/A"); }},
    {'U', "userid", "UID", [](const StepLine& l) { return std::to_string(l.info().uid.value); }},
    {0, "arrayjobid", "ARRAY_JOB_ID", [](const StepLine& l) {
       return std::to_string(l.step.job && l.step.job->array_task ? l.step.job->array_job.value : 0); }},
    {0, "arraytaskid", "ARRAY_TASK_ID", [](const StepLine& l) -> std::string {
       return l.step.job && l.step.job->array_task ? std::to_string(*l.step.job->array_task) : "N/A"; }},
    {0, "container", "CONTAINER", kNull},
    {0, "containerid", "CONTAINER", kNull},
    {0, "cpufreq", "CPU_FREQ", [](const StepLine&) -> std::string { return "Unknown-Unknown:Unknown"; }},
    {0, "jobid", "JOB_ID", [](const StepLine& l) { return std::to_string(l.info().job.value); }},
    {0, "network", "NETWORK", kNull},
    {0, "numcpus", "NUM_CPUS", [](const StepLine& l) { return std::to_string(l.info().cpus); }},
    {0, "resvports", "RESERVED_PORTS", kNull},
    {0, "stepstate", "STATE", [](const StepLine& l) -> std::string {
       return l.step.job && l.step.job->state == model::JobState::Suspended ? "SUSPENDED" : "RUNNING"; }},
};
// clang-format on
constexpr std::string_view kStandard = "%.15i %.8j %.9P %.8u %.9M %N", kAll = "%b|%i|%j|%l|%u|%A|%M|%N|%P|%S|%U|";

text::Format format_of(const StepList& list) {
  std::vector<text::ColumnKey> keys;
  for (const StepColumn& column : kColumns) keys.push_back({column.letter, column.name, 20});
  if (list.long_format) return text::parse_long_format(*list.long_format, keys);
  const std::string_view format = list.format ? std::string_view(*list.format) : kStandard;
  return text::parse_short_format(format == "%all" ? kAll : format, keys);
}

// By value where a column is a number or a moment, else by its text.
std::strong_ordering compare(const StepLine& a, const StepLine& b, char letter) {
  switch (letter) {
    case 'i':
      return std::pair(a.info().job.value, a.info().step) <=> std::pair(b.info().job.value, b.info().step);
    case 'A':
      return a.info().tasks <=> b.info().tasks;
    case 'M':
      return elapsed(a) <=> elapsed(b);
    case 'S':
      return a.info().started <=> b.info().started;
    case 'U':
      return a.info().uid.value <=> b.info().uid.value;
    case 'l':
      return a.info().time_limit.raw() <=> b.info().time_limit.raw();
    default:
      break;
  }
  for (const StepColumn& column : kColumns)
    if (column.letter == letter) return column.value(a) <=> column.value(b);
  return std::strong_ordering::equal;  // Slurm, too, minds no letter that it does not know here
}

void sort_steps(std::vector<const StepLine*>& lines, std::string_view keys) {
  const auto words = text::split(keys, ',');
  std::ranges::stable_sort(lines, [&](const StepLine* a, const StepLine* b) {
    for (const auto key : words) {
      if (key.empty()) continue;
      const auto order = compare(*a, *b, key.back());
      if (order != 0) return key.front() == '-' ? order > 0 : order < 0;
    }
    return false;
  });
}

void print_line(Context& context, const text::Format& format, const StepLine* line) {
  std::string text;
  for (const text::FormatPiece& piece : format.pieces) {
    const std::size_t start = text.size();
    if (piece.column != text::FormatPiece::kText)
      text += line != nullptr ? kColumns[piece.column].value(*line) : kColumns[piece.column].title;
    text::finish_cell(text, start, piece);
  }
  context.out.write(text.append("\n"));
}

}  // namespace

int show_steps(Context& context, Controller& controller, const wire::JobFilter& filter, const StepList& list) {
  const text::Format format = format_of(list);
  for (const std::string& unknown : format.unknown)
    context.error("Invalid job step format specification: {}", unknown);
  const auto steps = running_steps(controller, filter);
  if (!steps) {
    context.plain("slurm_get_job_steps error: {}", words(steps.error()));
    return 1;
  }
  const Time now = context.now();
  std::vector<StepLine> lines;
  for (const RunningStep& step : *steps)
    if (among(step, list.picks)) lines.push_back({step, now});
  std::vector<const StepLine*> order;
  for (const StepLine& line : lines) order.push_back(&line);
  sort_steps(order, list.sort.value_or("P,i"));
  if (list.with_date) context.out.print("{}\n", date_line(now));
  if (!list.no_header) print_line(context, format, nullptr);
  for (const StepLine* line : order) print_line(context, format, line);
  return 0;
}

int show_steps_document(Context& context, Controller& controller, const wire::JobFilter& filter,
                        const std::vector<StepPick>& picks, DocumentStyle style) {
  const auto steps = running_steps(controller, filter);
  const auto reply = steps ? controller.ping(0) : Result<wire::PingReply>(std::unexpected(steps.error()));
  if (!steps) {
    context.plain("slurm_get_job_steps error: {}", words(steps.error()));
    return 1;
  }
  std::vector<StepOf> rows;
  for (const RunningStep& step : *steps)
    if (among(step, picks)) rows.push_back({&step, reply ? reply->cluster_name : std::string(), context.now()});
  context.out.write(steps_document(rows, reply ? reply->cluster_name : std::string(), context.now(), style, context));
  return 0;
}

}  // namespace spur::cli
