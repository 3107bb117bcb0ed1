// SPDX-License-Identifier: Apache-2.0
// spur history: jobs of the past (sacct); with --events JOB, everything that was done to one job, and by whom.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/commands.h"
#include "cli/job_target.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/users.h"
#include "text/date.h"
#include "text/printable.h"

namespace spur::cli {
namespace {

struct Events {
  std::optional<std::string> job;
  bool json = false, no_header = false, help = false;
};
template <bool Events::* Field>
OptionStatus flag(Events& e, std::string_view) {
  e.*Field = true;
  return {};
}
OptionStatus set_job(Events& e, std::string_view v) {
  e.job = std::string(v);
  return {};
}
constexpr Option<Events> kOptions[] = {
    {{"events", 0, Takes::Value, "job[_task|+offset]", "show what was done to this job, and by whom"}, set_job},
    {{"json", 0, Takes::Nothing, nullptr, "write the answer as JSON"}, flag<&Events::json>},
    {{"noheader", 'n', Takes::Nothing, nullptr, "no headers on output"}, flag<&Events::no_header>},
    {{"help", 0, Takes::Nothing, nullptr, "show this help message"}, flag<&Events::help>},
};

std::string moment_text(Time at) {
  return fmt::format("{}.{:03}", text::format_date(at), to_micros(at) / 1000 % 1000);
}
std::string who(const wire::JobEvent& event) {
  return event.by ? user_name(*event.by) : event.source;
}

void print_json(Context& context, const wire::JobEventTable& table) {
  Json json;
  json.open_object().moment("since", table.since).field("more", table.more).open_array("events");
  for (const wire::JobEvent& event : table.events) {
    json.open_object().field("job_id", event.job.value).field("job", event.shown).field("entry", event.entry);
    json.field("time_us", to_micros(event.at)).field("event", event.what).field("who", who(event));
    if (event.by) json.field("uid", event.by->value);
    json.field("details", event.details).close_object();
  }
  json.close_array().close_object();
  context.out.write(std::move(json).finish());
}

void print_text(Context& context, const wire::JobEventTable& table, bool header) {
  std::size_t job_width = 5, who_width = 3, what_width = 5;
  for (const wire::JobEvent& event : table.events) {
    job_width = std::max(job_width, event.shown.size());
    who_width = std::max(who_width, who(event).size());
    what_width = std::max(what_width, event.what.size());
  }
  const auto line = [&](std::string_view at, std::string_view job, std::string_view by, std::string_view what,
                        std::string_view details) {
    std::string text = fmt::format("{:<23}  {:<{}}  {:<{}}  {:<{}}  {}", at, job, job_width, by, who_width, what,
                                   what_width, details);
    while (text.ends_with(' ')) text.pop_back();
    context.out.write(text::printable(text) + "\n");
  };
  if (header) line("TIME", "JOBID", "WHO", "EVENT", "DETAILS");
  for (const wire::JobEvent& event : table.events)
    line(moment_text(event.at), event.shown, who(event), event.what, event.details);
}

int show_events(Context& context) {
  Events options;
  const auto rest = read_line<Events>(context, kOptions, options, Order::Anywhere, 1);
  if (!rest) return rest.error();
  if (options.help) {
    context.out.write("Usage: spur history --events JOB[_TASK|+OFFSET] [--json] [-n]\n" +
                      help_text(rows_of<Events>(kOptions)));
    return 0;
  }
  if (!rest->empty()) {
    context.error("Unrecognized option: {}", rest->front());
    return 1;
  }
  const auto target = parse_job_target(*options.job);
  if (!target) {
    context.error("Invalid job id specified: {}", *options.job);
    return 1;
  }
  const auto controller = context.controller();
  if (!controller) {
    context.error("{}", words(controller.error()));
    return 1;
  }
  const auto table = (*controller)->job_events(*target);
  if (!table) {
    context.error("{}: {}", *options.job, words(table.error()));
    return 1;
  }
  options.json ? print_json(context, *table) : print_text(context, *table, !options.no_header);
  if (table->more) context.error("there are more events than are shown");
  return 0;
}

}  // namespace

int cmd_history(Context& context) {
  const bool events = std::ranges::any_of(
      context.arguments, [](const std::string& word) { return word == "--events" || word.starts_with("--events="); });
  return events ? show_events(context) : cmd_sacct(context);
}

}  // namespace spur::cli
