// SPDX-License-Identifier: Apache-2.0
// sacct: jobs and steps of the past and of now. Fields, widths, defaults and wordings are those of Slurm 22.05.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "cli/commands.h"
#include "cli/display.h"
#include "cli/sacct_columns.h"
#include "cli/sacct_completion.h"
#include "cli/sacct_json.h"
#include "cli/sacct_options.h"
#include "cli/sacct_rows.h"
#include "cli/users.h"
#include "model/job_state.h"
#include "model/step_end.h"
#include "text/date.h"
#include "text/decimal.h"
#include "text/printable.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::cli {
namespace {

constexpr std::string_view kDefault = "jobid,jobname,partition,account,alloccpus,state,exitcode";
constexpr std::string_view kBrief = "jobid,state,exitcode";
constexpr std::string_view kLong =
    "jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,maxrsstask,"
    "averss,maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,mincputask,avecpu,ntasks,alloccpus,elapsed,"
    "state,exitcode,avecpufreq,reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,reqmem,consumedenergy,maxdiskread,"
    "maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite,reqtres,"
    "alloctres,tresusageinave,tresusageinmax,tresusageinmaxnode,tresusageinmaxtask,tresusageinmin,tresusageinminnode,"
    "tresusageinmintask,tresusageintot,tresusageoutmax,tresusageoutmaxnode,tresusageoutmaxtask,tresusageoutave,"
    "tresusageouttot";

Time midnight_of(Time now) {
  return text::parse_date("00:00:00", now, text::DateSense::Past).value_or(now);
}

// Slurm's DEFAULT TIME WINDOW.
Status set_window(Sacct& options, Time now) {
  const bool jobs = options.query.jobs_size() > 0, states = options.query.states_size() > 0;
  Time from = jobs ? Time{} : states ? now : midnight_of(now), until = now;
  if (options.from) {
    SPUR_ASSIGN(from, text::parse_date(*options.from, now, text::DateSense::Past));
    if (states) until = from;
  }
  if (options.until) {
    SPUR_ASSIGN(until, text::parse_date(*options.until, now, text::DateSense::Past));
  }
  if (from > until)
    return fail(ErrorCode::InvalidTime, fmt::format("Start time ({}) requested is after end time ({}).", moment(from, ""),
                                                    moment(until, "")));
  options.query.set_from_us(to_micros(from));
  // Whoever asks until now means also what is submitted while he asks.
  const bool now_is_end = !options.until && until == now;
  options.query.set_until_us(now_is_end ? 0 : to_micros(until));
  return {};
}

void print_cells(Context& context, const Sacct& options, const std::vector<ChosenSacctColumn>& columns,
                 const std::function<std::string(const ChosenSacctColumn&)>& cell) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::string value = text::printable(cell(columns[i]));  // the delimiter may be any byte
    if (options.parsable || options.parsable2) {
      line += value;
      if (options.parsable || i + 1 < columns.size()) line += options.delimiter;
      continue;
    }
    const auto width = static_cast<std::size_t>(std::abs(columns[i].width));
    if (value.size() > width) {
      value.resize(width > 0 ? width - 1 : 0);
      value += '+';
    }
    line += columns[i].width < 0 ? fmt::format("{:<{}} ", value, width) : fmt::format("{:>{}} ", value, width);
  }
  context.out.write(line + "\n");
}

// A title that is too long is cut without a mark.
void print_header(Context& context, const Sacct& options, const std::vector<ChosenSacctColumn>& columns) {
  const bool cut = !options.parsable && !options.parsable2;
  print_cells(context, options, columns, [cut](const auto& c) {
    const auto width = static_cast<std::size_t>(std::abs(c.width));
    return std::string(cut ? c.column->name.substr(0, width) : c.column->name);
  });
  if (options.parsable || options.parsable2) return;
  print_cells(context, options, columns,
              [](const auto& c) { return std::string(static_cast<std::size_t>(std::abs(c.width)), '-'); });
}

// Which lines of a job are wanted: with -j 5.batch only that one.
struct Lines {
  bool job = true, all_steps = true;
  std::vector<std::uint32_t> steps;
};
Lines lines_of(const v1::AcctJobQuery& query, const v1::AcctJob& job) {
  Lines out;
  if (query.jobs().empty()) return out;
  out.job = out.all_steps = false;
  for (const auto& target : query.jobs()) {
    const bool meant =
        target.has_array_task() ? job.array_job() == target.job() && job.array_task() == target.array_task()
        : target.has_het_offset()
            ? job.het_job() == target.job() && job.het_offset() == target.het_offset()
            : job.job() == target.job() || job.array_job() == target.job() || job.het_job() == target.job();
    if (!meant) continue;
    if (target.has_step())
      out.steps.push_back(target.step());
    else
      out.job = out.all_steps = true;
  }
  return out;
}

void print_rows(Context& context, const Sacct& options, const std::vector<ChosenSacctColumn>& columns,
                std::vector<v1::AcctJobRow>& rows, SacctStyle style) {
  for (auto& row : rows) {
    style.cluster = row.cluster();
    const Lines lines = lines_of(options.query, row.job());
    if (lines.job)
      print_cells(context, options, columns,
                  [&](const auto& c) { return c.column->value({row.job(), nullptr, style}); });
    if (options.allocations) continue;
    auto* steps = row.mutable_steps();
    // Slurm's numbers are signed: batch and extern come first.
    std::sort(steps->begin(), steps->end(), [](const auto& a, const auto& b) {
      return static_cast<std::int32_t>(a.step()) < static_cast<std::int32_t>(b.step());
    });
    for (const auto& step : *steps) {
      if (!lines.all_steps && std::ranges::find(lines.steps, step.step()) == lines.steps.end()) continue;
      print_cells(context, options, columns,
                  [&](const auto& c) { return c.column->value({row.job(), &step, style}); });
    }
  }
}

void print_texts(Context& context, const Sacct& options, const std::vector<v1::AcctJobRow>& rows) {
  const std::string_view what = options.script ? "Batch Script" : "Environment used";
  for (const auto& row : rows) {
    std::string text = options.script ? row.job().script() : row.job().environment();
    if (!options.script) std::ranges::replace(text, '\0', '\n');
    if (text.empty()) text = "NONE\n";
    if (!text.ends_with('\n')) text += '\n';
    const std::string title =
        options.script ? fmt::format("{} for {}", what, sacct_job_id(row.job()))
                       : fmt::format("{} for {} (must be batch to display)", what, sacct_job_id(row.job()));
    if (!context.is_root && row.job().uid() != ::geteuid()) continue;  // not his to read
    context.out.write(fmt::format("{}\n{}\n{}\n", title, std::string(80, '-'), text));
  }
}

int print_help_format(Context& context) {
  std::string text;
  int i = 0;
  for (const auto& column : sacct_columns()) {
    if (i > 0) text += i % 4 == 0 ? "\n" : " ";
    text += fmt::format("{:<19}", column.name);
    ++i;
  }
  context.out.write(text + "\n");
  return 0;
}

bool load_ids(Context& context, SacctIds& ids) {
  const auto accounts = context.connect_accounts();
  // Also of what was deleted since: its jobs are still there.
  const auto read = accounts ? (*accounts)->read(true) : std::unexpected(accounts.error());
  if (!read) {
    context.error("Problem talking to the database: {}", words(read.error()));
    return false;
  }
  const model::AccountRecords* records = &read->records;
  for (const auto& record : records->associations)
    if (record.cluster == (*accounts)->cluster())
      ids.associations[{record.row.account, record.row.user, record.row.partition}] = record.row.id;
  for (const auto& qos : records->qos) ids.qos[qos.name] = qos.id;
  for (const auto& wckey : records->wckeys)
    if (wckey.cluster == (*accounts)->cluster()) ids.wckeys[{wckey.name, wckey.user}] = wckey.id;
  return true;
}

bool check_qos(Context& context, const Sacct& options) {
  SacctIds ids;
  if (!load_ids(context, ids)) return false;
  for (const auto& name : options.query.qos()) {
    if (ids.qos.contains(name)) continue;
    std::map<std::uint32_t, std::string> by_id;
    for (const auto& [known, id] : ids.qos) by_id[id] = known;
    std::string all;
    for (const auto& [id, known] : by_id) all += (all.empty() ? "" : ",") + known;
    context.error("You gave a bad qos '{}'. Valid QOS's are {}", name, all);
    context.fatal("problem processing qos list");
    return false;
  }
  return true;
}

// What spurdbd does not choose by.
bool is_chosen(const Sacct& options, const SacctIds& ids, const v1::AcctJob& job, Time now) {
  if (options.query.jobs().empty() && from_micros(job.eligible_us()) > now) return false;
  if (!options.associations.empty() &&
      std::ranges::find(options.associations, ids.association(job)) == options.associations.end())
    return false;
  if (options.job_flags.empty()) return true;
  const std::string has = sacct_flags(job);
  return std::ranges::any_of(options.job_flags, [&](const auto& flag) { return has.find(flag) != std::string::npos; });
}

int show(Context& context, Sacct& options, const std::vector<ChosenSacctColumn>& columns) {
  auto accounting = context.connect_accounting();
  if (!accounting) {
    accounting.error().code == ErrorCode::RequestDisabled ? context.plain("{}", accounting.error().message)
                                                          : context.error("{}", words(accounting.error()));
    return 1;
  }
  const bool restricted = options.query.uids_size() > 0 || options.all_users || options.query.jobs_size() > 0;
  if (!restricted && !context.is_root) options.query.add_uids(::geteuid());
  if (options.all_clusters)
    options.query.clear_clusters();
  else if (options.query.clusters().empty())
    options.query.add_clusters((*accounting)->cluster());
  options.query.set_with_steps(!options.allocations);
  options.query.set_with_script(options.script);
  options.query.set_with_environment(options.environment);
  if (!options.query.qos().empty() && !check_qos(context, options)) return 1;
  auto rows = sacct_rows(context, **accounting, options.query);
  if (!rows && rows.error().message == "Too wide of a date range in query") {  // MaxQueryTimeRange
    if (!options.no_header && !options.document) print_header(context, options, columns);
    context.error("{}", rows.error().message);
    return 7007 & 0xff;  // Slurm's number of it
  }
  if (!rows) {
    context.error("Problem talking to the database: {}", words(rows.error()));
    return 1;
  }
  SacctIds ids;
  const bool with_ids = !options.associations.empty() || std::ranges::any_of(columns, [](const auto& c) {
    return c.column->name == "AssocID" || c.column->name == "QOSRAW" || c.column->name == "WCKeyID";
  });
  if (with_ids && !load_ids(context, ids)) return 1;
  std::erase_if(*rows, [&](const v1::AcctJobRow& row) { return !is_chosen(options, ids, row.job(), context.now()); });
  if (options.script || options.environment) return print_texts(context, options, *rows), 0;
  SacctStyle style{.now = context.now(),
                   .no_convert = options.no_convert,
                   .unit = options.unit,
                   .allocations = options.allocations,
                   .cut_from = {},
                   .cut_until = {},
                   .ids = with_ids ? &ids : nullptr};
  if (options.truncate) {
    style.cut_from = from_micros(options.query.from_us());
    style.cut_until = options.query.until_us() ? from_micros(options.query.until_us()) : style.now;
  }
  if (options.document) return context.out.write(sacct_document(context, *rows, style, *options.document)), 0;
  if (!options.no_header) print_header(context, options, columns);
  print_rows(context, options, columns, *rows, style);
  return 0;
}

// With -c or -f: the file to read. Not 0: there is none, which has been said.
int find_log(Context& context, const Sacct& options, std::string& log) {
  if (options.file.empty() && !options.completion) return 0;
  struct stat status{};
  log = options.file;
  if (log.empty()) {
    auto configured = completion_log();
    if (!configured) return context.fatal("{}", configured.error().message), 1;
    log = *std::move(configured);
    if (log.empty()) context.plain("Slurm job completion is disabled");
  } else if (::stat(log.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    context.plain("{} is not a valid file", log);
    return 1;
  }
  return log.empty() ? 1 : 0;
}

// As in Slurm only jobs and partitions are chosen by.
int show_completed(Context& context, const Sacct& options, const std::vector<ChosenSacctColumn>& columns,
                   const std::string& log) {
  std::vector<std::uint32_t> jobs;
  for (const auto& target : options.query.jobs()) jobs.push_back(target.job());
  const auto& wanted = options.query.partitions();
  if (options.document) return context.fatal("--json and --yaml do not go with -c and -f"), 1;
  const auto rows = read_completions(log, jobs, {wanted.begin(), wanted.end()});
  if (!rows) return context.fatal("{}", rows.error().message), 1;
  if (!options.no_header) print_header(context, options, columns);
  for (const CompletedJob& job : *rows)
    print_cells(context, options, columns, [&](const auto& c) { return completion_field(job, c.column->name); });
  return 0;
}

}  // namespace

int cmd_sacct(Context& context) {
  Sacct options;
  const auto rest = read_sacct_line(context, options);
  if (!rest) return rest.error();
  if (options.version) return print_version(context);
  if (options.usage) return context.out.write("Usage: sacct [options]\n\tUse --help for help\n"), 0;
  if (options.help) return context.out.write(sacct_help()), 0;
  if (options.help_format) return print_help_format(context);
  if (options.document && options.document->list) return list_document_styles(context);
  if (options.whole_het)
    for (auto& target : *options.query.mutable_jobs()) target.clear_het_offset();
  if (!rest->empty()) {
    context.error("Unknown arguments:");
    for (const auto& word : *rest) context.error(" {}", word);
    return 1;
  }
  const Time now = context.now();
  set_time_format(context.env("SLURM_TIME_FORMAT").value_or(""), now);
  if ((options.script || options.environment) && options.query.jobs().empty()) {
    context.fatal("When requesting {} you must also request specific jobs with the '-j' option.",
                  options.script ? "job scripts" : "job environment");
    return 1;
  }
  if (auto ok = set_window(options, now); !ok) {
    const bool crossed = ok.error().message.starts_with("Start time (");
    crossed ? context.error("{}", ok.error().message) : context.plain("{}", ok.error().message);
    return 1;
  }
  // One bound alone is meant exactly.
  if (options.query.has_min_limit() && !options.query.has_max_limit())
    options.query.set_max_limit(options.query.min_limit());
  if (options.verbose)
    context.info("Jobs eligible from {} - {}", moment(from_micros(options.query.from_us()), "Epoch 0"),
                 moment(from_micros(options.query.until_us()), "Now"));
  std::string log;  // of completed jobs, if that is asked
  if (const int status = find_log(context, options, log); status != 0) return status;
  std::string_view format = options.format;
  if (options.brief) format = log.empty() ? kBrief : kCompletionBrief;
  if (options.long_form) format = log.empty() ? kLong : kCompletionLong;
  if (format.empty()) format = log.empty() ? kDefault : kCompletionDefault;
  const auto columns = choose_sacct_columns(format);
  if (!columns) {
    const bool of_old = text::equal_ignoring_case(columns.error(), "AllocGRES") ||
                        text::equal_ignoring_case(columns.error(), "ReqGRES");
    if (of_old)
      context.plain("sacct: fatal: {0}GRES has been removed, please use {0}TRES",
                    text::equal_ignoring_case(columns.error(), "ReqGRES") ? "Req" : "Alloc");
    else
      context.error("Invalid field requested: \"{}\"", columns.error());
    return 1;
  }
  if (!log.empty()) return show_completed(context, options, *columns, log);
  return show(context, options, *columns);
}

}  // namespace spur::cli
