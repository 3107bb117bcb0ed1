// SPDX-License-Identifier: Apache-2.0
// sacct: jobs and steps of the past and of now. Fields, widths, defaults and wordings are those of Slurm 22.05.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "cli/commands.h"
#include "cli/display.h"
#include "cli/options.h"
#include "cli/sacct_columns.h"
#include "cli/sacct_json.h"
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

using Value = std::string_view;

constexpr std::uint32_t kNoState = 0xff;  // that no job is in

struct Sacct {
  v1::AcctJobQuery query;
  bool all_users = false, all_clusters = false, allocations = false, brief = false, long_form = false,
       no_header = false, parsable = false, parsable2 = false, no_convert = false, truncate = false,
       script = false, environment = false, help = false, usage = false, version = false, help_format = false;
  int verbose = 0;
  char unit = 0;
  std::string delimiter = "|";
  std::string format;  // of several -o, joined
  std::optional<std::string> from, until;
  std::vector<std::uint32_t> associations;  // -x
  std::vector<std::string> job_flags;       // -F
  std::string file;
  bool completion = false, whole_het = false;
  std::optional<DocumentStyle> document;  // --json, --yaml
};

template <bool Sacct::* Field>
OptionStatus flag(Sacct& s, Value) {
  s.*Field = true;
  return {};
}
OptionStatus ignore(Sacct&, Value) {
  return {};
}
OptionStatus set_verbose(Sacct& s, Value) {
  ++s.verbose;
  return {};
}
template <DocumentStyle::Kind Kind>
OptionStatus set_document(Sacct& s, Value value) {
  auto style = parse_document_style(Kind, value);
  if (!style) return std::unexpected(std::move(style).error());
  s.document = *style;
  return {};
}
OptionStatus set_format(Sacct& s, Value value) {
  s.format += (s.format.empty() ? "" : ",") + std::string(value);
  return {};
}
OptionStatus set_delimiter(Sacct& s, Value value) {
  s.delimiter = std::string(value);
  return {};
}
OptionStatus set_from(Sacct& s, Value value) {
  s.from = std::string(value);
  return {};
}
OptionStatus set_until(Sacct& s, Value value) {
  s.until = std::string(value);
  return {};
}
OptionStatus set_accounts(Sacct& s, Value value) {
  for (const auto word : text::split(value, ','))
    if (!word.empty()) s.query.add_accounts(std::string(word));
  return {};
}
#define SPUR_LIST(name, add)                             \
  OptionStatus name(Sacct& s, Value value) {             \
    for (const auto word : text::split(value, ','))      \
      if (!word.empty()) s.query.add(std::string(word)); \
    return {};                                           \
  }
SPUR_LIST(set_partitions, add_partitions)
SPUR_LIST(set_qos, add_qos)
SPUR_LIST(set_names, add_names)
SPUR_LIST(set_wckeys, add_wckeys)
SPUR_LIST(set_features, add_features)
SPUR_LIST(set_reasons, add_reasons)
#undef SPUR_LIST

OptionStatus set_clusters(Sacct& s, Value value) {
  for (const auto word : text::split(value, ',')) {
    if (text::equal_ignoring_case(word, "all") || word == "-1")
      s.all_clusters = true;
    else if (!word.empty())
      s.query.add_clusters(std::string(word));
  }
  return {};
}

OptionStatus set_users(Sacct& s, Value value) {
  for (const auto word : text::split(value, ',')) {
    if (word.empty()) continue;
    const auto uid = find_user(word);
    if (!uid) return bad_option(fmt::format("Invalid user id: {}", word), 1);
    s.query.add_uids(uid->value);
  }
  return {};
}
OptionStatus set_groups(Sacct& s, Value value) {
  for (const auto word : text::split(value, ',')) {
    if (word.empty()) continue;
    const auto gid = find_group(word);
    if (!gid) return bad_option(fmt::format("Invalid group id: {}", word), 1);
    s.query.add_gids(gid->value);
  }
  return {};
}

OptionStatus set_states(Sacct& s, Value value) {
  for (const auto word : text::split(value, ',')) {
    if (word.empty()) continue;
    const auto filter = model::parse_state(word);
    if (!filter)
      return std::unexpected(BadOption{fmt::format("unrecognized job state value '{}'", word), 1, {}, true});
    if (filter->state) {
      s.query.add_states(static_cast<std::uint32_t>(*filter->state));
    } else {
      // Of the words that are no states of their own only REQUEUED is kept in the history; the others fit nothing.
      if (text::equal_ignoring_case(word, "RQ") || text::equal_ignoring_case(word, "REQUEUED")) s.query.set_requeued(true);
      s.query.add_states(kNoState);
    }
  }
  return {};
}

// "12", "12_3", "12+1", each with ".batch" or ".0" behind it.
bool parse_target(std::string_view word, v1::AcctJobQuery::Target* out) {
  const auto number = [](std::string_view digits) { return text::parse_decimal32(digits); };
  if (const auto dot = word.find('.'); dot != std::string_view::npos) {
    const auto step = word.substr(dot + 1);
    word = word.substr(0, dot);
    if (step == "batch")
      out->set_step(model::kBatchStep);
    else if (step == "extern")
      out->set_step(model::kExternStep);
    else if (step == "interactive")
      out->set_step(model::kBatchStep - 1);
    else if (const auto n = number(step))
      out->set_step(*n);
    else
      return false;
  }
  const auto mark = word.find_first_of("_+");
  const auto job = number(word.substr(0, mark));
  if (!job || *job == 0) return false;
  out->set_job(*job);
  if (mark == std::string_view::npos) return true;
  const auto rest = number(word.substr(mark + 1));
  if (!rest) return false;
  word[mark] == '_' ? out->set_array_task(*rest) : out->set_het_offset(*rest);
  return true;
}

OptionStatus set_associations(Sacct& s, Value value) {
  for (const auto word : text::split(value, ','))
    if (!word.empty()) s.associations.push_back(text::parse_decimal32(word).value_or(0));
  return {};
}
OptionStatus set_job_flags(Sacct& s, Value value) {
  static constexpr std::string_view kFlags[] = {"None", "SchedSubmit", "SchedMain", "SchedBackfill", "StartReceived"};
  for (const auto word : text::split(value, ',')) {
    if (word.empty()) continue;
    // 22.05 spells the last one in its own way.
    const std::string_view meant = text::equal_ignoring_case(word, "StartRecieved") ? "StartReceived" : word;
    const auto known = std::ranges::find_if(kFlags, [&](auto name) { return text::equal_ignoring_case(name, meant); });
    if (known == std::end(kFlags))
      return std::unexpected(BadOption{fmt::format("str_2_job_flags: Invalid job flag {}", word), 1, {}, false});
    s.job_flags.emplace_back(*known);
  }
  return {};
}
OptionStatus set_whole_het(Sacct& s, Value value) {
  if (!value.empty() && !text::equal_ignoring_case(value, "yes") && !text::equal_ignoring_case(value, "no"))
    return std::unexpected(
        BadOption{fmt::format("Invalid --whole-hetjob value \"{}\". Valid values: [yes|no].", value), 1, {}, true});
  s.whole_het = !text::equal_ignoring_case(value, "no");
  return {};
}
OptionStatus set_file(Sacct& s, Value value) {
  s.file = std::string(value);
  return {};
}

OptionStatus set_jobs(Sacct& s, Value value) {
  for (const auto word : text::split(value, ',')) {
    if (word.empty()) continue;
    if (parse_target(word, s.query.add_jobs())) continue;
    if (const auto dot = word.find('.'); dot != Value::npos && text::parse_decimal32(word.substr(0, dot)))
      return std::unexpected(BadOption{fmt::format("Bad step specified: {}", word.substr(0, dot)), 1, {}, true});
    return std::unexpected(BadOption{fmt::format("Bad job/step specified: {}", word), 1, {}, true});
  }
  return {};
}

// "4" or "2-8".
template <class Set>
bool set_range(Value value, Set set) {
  const auto dash = value.find('-');
  const auto low = text::parse_decimal32(value.substr(0, dash));
  const auto high = dash == Value::npos ? low : text::parse_decimal32(value.substr(dash + 1));
  if (!low || !high) return false;
  set(*low, *high);
  return true;
}
OptionStatus set_nodes_range(Sacct& s, Value value) {
  if (set_range(value, [&](auto low, auto high) { s.query.set_min_nodes(low), s.query.set_max_nodes(high); }))
    return {};
  return bad_option(fmt::format("Invalid node count: {}", value), 1);
}
OptionStatus set_cpus_range(Sacct& s, Value value) {
  if (set_range(value, [&](auto low, auto high) { s.query.set_min_cpus(low), s.query.set_max_cpus(high); }))
    return {};
  return bad_option(fmt::format("Invalid cpu count: {}", value), 1);
}
OptionStatus set_node_list(Sacct& s, Value value) {
  s.query.set_nodes(std::string(value));
  return {};
}
OptionStatus set_unit(Sacct& s, Value value) {
  if (value.size() != 1 || std::string_view("KMGTP").find(value[0]) == std::string_view::npos)
    return std::unexpected(BadOption{"Invalid unit type", 1, {}, true});
  s.unit = value[0];
  return {};
}
template <bool least>
OptionStatus set_limit(Sacct& s, Value value) {
  const auto limit = text::parse_time_limit(value);
  if (!limit) return bad_option("Invalid time limit specification", 1);
  least ? s.query.set_min_limit(limit->raw()) : s.query.set_max_limit(limit->raw());
  return {};
}

constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
// clang-format off
constexpr Option<Sacct> kOptions[] = {
    {{"accounts", 'A', V, "list", "Use this comma separated list of accounts to select jobs to display."}, set_accounts},
    {{"allclusters", 'L', N, nullptr, "Display jobs ran on all clusters."}, flag<&Sacct::all_clusters>},
    {{"allocations", 'X', N, nullptr, "Only show statistics relevant to the job allocation itself."}, flag<&Sacct::allocations>},
    {{"allusers", 'a', N, nullptr, "Display jobs for all users."}, flag<&Sacct::all_users>},
    {{"associations", 'x', V, "list", "Only jobs of the associations with these numbers."}, set_associations},
    {{"batch-script", 'B', N, nullptr, "Print the batch script of the jobs of -j."}, flag<&Sacct::script>},
    {{"brief", 'b', N, nullptr, "Equivalent to '--format=jobid,state,exitcode'."}, flag<&Sacct::brief>},
    {{"clusters", 'M', V, "list", "Only send data about these clusters; 'all' for all of them.", "cluster"}, set_clusters},
    {{"completion", 'c', N, nullptr, "From the log of completed jobs: there is none."}, flag<&Sacct::completion>},
    {{"constraints", 'C', V, "list", "Only jobs that asked for these features."}, set_features},
    {{"delimiter", 0, V, "characters", "What stands between the fields of -p and -P."}, set_delimiter},
    {{"duplicates", 'D', N, nullptr, "Show all runs of a job, and all jobs with the same id."}, [](Sacct& s, Value) -> OptionStatus { s.query.set_duplicates(true); return {}; }},
    {{"endtime", 'E', V, "time", "Select jobs eligible before this time."}, set_until},
    {{"env-vars", 0, N, nullptr, "Print the environment of the jobs of -j."}, flag<&Sacct::environment>},
    {{"federation", 0, N, nullptr, "There are no federations: jobs of this cluster."}, ignore},
    {{"file", 'f', V, "file", "Of completed jobs: there are none."}, set_file},
    {{"flags", 'F', V, "list", "Only jobs that were started this way: SchedMain, SchedBackfill, ..."}, set_job_flags},
    {{"format", 'o', V, "fields", "Comma separated list of fields, each with %width behind it. (use '--helpformat' for a list)"}, set_format, "SACCT_FORMAT"},
    {{"gid", 'g', V, "list", "Use this comma separated list of groups to select jobs to display.", "group"}, set_groups},
    {{"help", 'h', N, nullptr, "Print this description of use."}, flag<&Sacct::help>},
    {{"helpformat", 'e', N, nullptr, "Print a list of fields that can be specified with '--format'."}, flag<&Sacct::help_format>},
    {{"jobs", 'j', V, "job(.step)", "Format is <job(.step)>. Display information about this job or comma-separated list of jobs."}, set_jobs},
    {{"json", 0, Takes::Maybe, "data_parser", "Print job information as JSON."}, set_document<DocumentStyle::Kind::Json>},
    {{"local", 0, N, nullptr, "Jobs of this cluster only, as always."}, ignore},
    {{"long", 'l', N, nullptr, "Many fields at once."}, flag<&Sacct::long_form>},
    {{"name", 0, V, "list", "Only jobs with these names."}, set_names},
    {{"ncpus", 'I', V, "min[-max]", "Only jobs with this many cpus."}, set_cpus_range},
    {{"nnodes", 'i', V, "min[-max]", "Only jobs on this many nodes."}, set_nodes_range},
    {{"noconvert", 0, N, nullptr, "Don't convert units from their original type."}, flag<&Sacct::no_convert>},
    {{"nodelist", 'N', V, "nodes", "Only jobs that ran on any of these nodes."}, set_node_list},
    {{"noheader", 'n', N, nullptr, "No header will be added to the beginning of output."}, flag<&Sacct::no_header>},
    {{"parsable", 'p', N, nullptr, "output will be '|' delimited with a '|' at the end"}, flag<&Sacct::parsable>},
    {{"parsable2", 'P', N, nullptr, "output will be '|' delimited without a '|' at the end"}, flag<&Sacct::parsable2>},
    {{"partition", 'r', V, "list", "Only jobs of these partitions."}, set_partitions},
    {{"qos", 'q', V, "list", "Only jobs with these QOS."}, set_qos},
    {{"reason", 'R', V, "list", "Only jobs that waited for these reasons."}, set_reasons},
    {{"starttime", 'S', V, "time", "Select jobs eligible after this time."}, set_from},
    {{"state", 's', V, "list", "Select jobs based on their state during the time given.", "states"}, set_states},
    {{"timelimit-max", 'K', V, "time", "With --timelimit-min: up to this time limit."}, set_limit<false>},
    {{"timelimit-min", 'k', V, "time", "Only jobs with this time limit or more."}, set_limit<true>},
    {{"truncate", 'T', N, nullptr, "Cut times to the window of -S and -E."}, flag<&Sacct::truncate>},
    {{"uid", 'u', V, "list", "Use this comma separated list of users to select jobs to display.", "user"}, set_users},
    {{"units", 0, V, "KMGTP", "Display values in this unit."}, set_unit},
    {{"usage", 0, N, nullptr, "Display brief usage message."}, flag<&Sacct::usage>},
    {{"use-local-uid", 0, N, nullptr, "Users by their ids here, as always."}, ignore},
    {{"verbose", 'v', N, nullptr, "Say which time window is used."}, set_verbose},
    {{"version", 'V', N, nullptr, "Print version."}, flag<&Sacct::version>},
    {{"wckeys", 'W', V, "list", "Only jobs with these wckeys."}, set_wckeys},
    {{"whole-hetjob", 0, Takes::Maybe, "yes|no", "With one component of a heterogeneous job also the others."}, set_whole_het},
    {{"yaml", 0, Takes::Maybe, "data_parser", "Print job information as YAML."}, set_document<DocumentStyle::Kind::Yaml>},
};
// clang-format on

constexpr std::string_view kUsage = "Usage: sacct [OPTION]\n";
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

}  // namespace

int cmd_sacct(Context& context) {
  Sacct options;
  const auto rest = read_line<Sacct>(context, kOptions, options, Order::Anywhere, 1);
  if (!rest) return rest.error();
  if (options.version) return print_version(context);
  if (options.help || options.usage) {
    if (options.usage) return context.out.write("Usage: sacct [options]\n\tUse --help for help\n"), 0;
    context.out.write(std::string(kUsage) + (options.usage ? "" : help_text(rows_of<Sacct>(kOptions))));
    return 0;
  }
  if (options.help_format) return print_help_format(context);
  if (options.document && options.document->list) return list_document_styles(context);
  if (!options.file.empty() || options.completion) {
    struct stat status{};
    const bool missing =
        !options.file.empty() && (::stat(options.file.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
                                  ::access(options.file.c_str(), R_OK) != 0);
    context.plain("{}", missing ? options.file + " is not a valid file" : "Slurm job completion is disabled");
    return 1;
  }
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
  std::string format = options.format;
  if (options.brief) format = kBrief;
  if (options.long_form) format = kLong;
  const auto columns = choose_sacct_columns(format.empty() ? kDefault : std::string_view(format));
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
  return show(context, options, *columns);
}

}  // namespace spur::cli
