// SPDX-License-Identifier: Apache-2.0
// squeue: the jobs there are. Filters go to the controller as far as it knows them; what is left (qos, reservation,
// licences) is sorted out here. Formats, columns and order are tables beside this file.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <set>

#include "cli/api_documents.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/job_target.h"
#include "cli/look_back.h"
#include "cli/options.h"
#include "cli/squeue_columns.h"
#include "cli/squeue_combine.h"
#include "cli/squeue_report.h"
#include "cli/squeue_sort.h"
#include "cli/squeue_steps.h"
#include "cli/squeue_watch.h"
#include "cli/terminal.h"
#include "cli/users.h"
#include "text/columns.h"
#include "text/decimal.h"
#include "text/hostlist.h"
#include "text/printable.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::cli {
namespace {

struct Squeue {
  bool show_steps = false;
  std::vector<StepPick> steps;
  wire::JobFilter filter;
  std::vector<std::string> qos, reservations, licenses;
  std::vector<std::string> unknown_users;
  bool users_given = false, no_header = false, long_form = false, start = false, expand_arrays = false;
  std::optional<DocumentStyle> document;  // --json, --yaml
  ClusterList clusters;
  bool all = false, by_partition = false;
  bool consistent = false, no_convert = false, me = false, not_me = false, only_state = false;
  std::optional<std::string> format, long_format, sort, at;
  std::optional<std::uint32_t> iterate;
  bool watch = false, changes = false;  // changes: as lines, not on a screen
  bool help = false, usage = false, version = false;
  int verbose = 0;
};
using Value = std::string_view;

template <bool Squeue::* Field>
OptionStatus flag(Squeue& s, Value) {
  s.*Field = true;
  return {};
}
void take_words(std::vector<std::string>& words, Value v) {
  words.clear();
  for (const std::string_view word : text::split(v, ','))
    if (!word.empty()) words.emplace_back(word);
}
template <std::vector<std::string> wire::JobFilter::* Field>
OptionStatus filter_words(Squeue& s, Value v) {
  take_words(s.filter.*Field, v);
  return {};
}
template <std::vector<std::string> Squeue::* Field>
OptionStatus own_words(Squeue& s, Value v) {
  take_words(s.*Field, v);
  return {};
}

template <DocumentStyle::Kind Kind>
OptionStatus set_document(Squeue& s, Value v) {
  auto style = parse_document_style(Kind, v);
  if (!style) return std::unexpected(std::move(style).error());
  s.document = *style;
  return {};
}
OptionStatus set_clusters(Squeue& s, Value v) {
  s.clusters = parse_clusters(v);
  return {};
}
OptionStatus set_hide(Squeue& s, Value) {
  s.all = false;
  return {};
}

OptionStatus set_jobs(Squeue& s, Value v) {
  s.filter.jobs.clear();
  for (const std::string& word : split_job_list(v)) {
    const auto target = parse_job_target(word);
    if (!target) return bad_option(fmt::format("Invalid job id: {}", word), 1);
    s.filter.jobs.push_back(*target);
    s.filter.jobs.back().het_offset.reset();  // Slurm shows the whole job
  }
  return {};
}

OptionStatus set_users(Squeue& s, Value v) {
  s.filter.users.clear();
  s.users_given = true;
  std::vector<std::string> words;
  take_words(words, v);
  for (const std::string& word : words) {
    if (const auto uid = find_user(word)) {
      s.filter.users.push_back(*uid);
    } else {
      s.unknown_users.push_back(word);
    }
  }
  return {};
}

OptionStatus set_states(Squeue& s, Value v) {
  s.filter.states.clear();
  s.filter.all_states = false;
  for (const std::string_view word : text::split(v, ',')) {
    if (text::equal_ignoring_case(word, "all")) {
      s.filter.all_states = true;
      continue;
    }
    const auto state = model::parse_state(word);
    if (!state) {
      return bad_option(fmt::format("Invalid job state specified: {}\nValid job states include: {}\n", word,
                                    model::valid_state_names()),
                        1);
    }
    s.filter.states.push_back(*state);
  }
  return {};
}

OptionStatus set_nodes(Squeue& s, Value v) {
  const auto hosts = text::expand_hostlist(v);
  if (!hosts) return bad_option(fmt::format("Invalid node name {}", v), 1);
  s.filter.nodes = *hosts;
  return {};
}

OptionStatus set_format(Squeue& s, Value v) {
  s.format = std::string(v);
  s.long_format.reset();
  return {};
}
OptionStatus set_long_format(Squeue& s, Value v) {
  s.long_format = std::string(v);
  s.format.reset();
  return {};
}
OptionStatus set_steps(Squeue& s, Value v) {
  s.show_steps = true;
  if (v.empty() || v == "ALL") return {};
  for (const std::string_view name : text::split(v, ',')) {
    const auto pick = parse_step_pick(name);
    if (name.find('.') == std::string_view::npos)
      return bad_option(fmt::format("Invalid job_step id: {}.??", name), 1);
    if (!pick) return bad_option(fmt::format("Invalid job_step id: {}", name), 1);
    s.steps.push_back(*pick);
  }
  return {};
}
OptionStatus set_sort(Squeue& s, Value v) {
  s.sort = std::string(v);
  return {};
}
OptionStatus set_at(Squeue& s, Value v) {
  s.at = std::string(v);
  return {};
}
OptionStatus set_iterate(Squeue& s, Value v) {
  const auto value = text::parse_decimal32(v);
  if (!value || *value == 0) return bad_option(fmt::format("--iterate={}\n", v), 1);
  s.iterate = *value;
  return {};
}
OptionStatus set_verbose(Squeue& s, Value) {
  ++s.verbose;
  return {};
}
OptionStatus accept(Squeue&, Value) {
  return {};
}

constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
constexpr auto M = Takes::Maybe;
// clang-format off
constexpr Option<Squeue> kOptions[] = {
    {{"account", 'A', V, "account(s)", "comma separated list of accounts\nto view, default is all accounts"}, filter_words<&wire::JobFilter::accounts>, "SQUEUE_ACCOUNT"},
    {{"all", 'a', N, nullptr, "display jobs in hidden partitions"}, flag<&Squeue::all>, "SQUEUE_ALL"},
    {{"at", 0, V, "time", "show the jobs as they were at that time"}, set_at},
    {{"array-unique", 0, N, nullptr, "display one unique pending job array\nelement per line (always done)"}, accept, "SQUEUE_ARRAY_UNIQUE"},
    {{"clusters", 'M', V, "cluster_name", "cluster to issue commands to: this one's name, or all", "cluster"}, set_clusters, "SLURM_CLUSTERS"},
    {{"consistent", 0, N, nullptr, "ask the controller that leads"}, flag<&Squeue::consistent>, "SPUR_CONSISTENT"},
    {{"expand-patterns", 0, N, nullptr, "expand file name patterns (always done)"}, accept, "SQUEUE_EXPAND_PATTERNS"},
    {{"federation", 0, N, nullptr, "report federated information if a member\nof one (there is none)"}, accept, "SQUEUE_FEDERATION"},
    {{"noheader", 'h', N, nullptr, "no headers on output"}, flag<&Squeue::no_header>},
    {{"hide", 0, N, nullptr, "do not display jobs in hidden partitions"}, set_hide},
    {{"iterate", 'i', V, "seconds", "specify an iteration period"}, set_iterate},
    {{"jobs", 'j', V, "job(s)", "comma separated list of jobs IDs\nto view, default is all"}, set_jobs},
    {{"json", 0, M, "data_parser", "produce JSON output"}, set_document<DocumentStyle::Kind::Json>},
    {{"local", 0, N, nullptr, "report information only about the local cluster"}, accept, "SQUEUE_LOCAL"},
    {{"long", 'l', N, nullptr, "long report"}, flag<&Squeue::long_form>},
    {{"licenses", 'L', V, "(license names)", "comma separated list of license names to view"}, own_words<&Squeue::licenses>, "SQUEUE_LICENSES"},
    {{"me", 0, N, nullptr, "only jobs of the calling user"}, flag<&Squeue::me>},
    {{"name", 'n', V, "job_name(s)", "comma separated list of job names to view"}, filter_words<&wire::JobFilter::names>, "SQUEUE_NAMES"},
    {{"noconvert", 0, N, nullptr, "don't convert units from their original type\n(e.g. 2048M won't be converted to 2G)"}, flag<&Squeue::no_convert>},
    {{"nodelist", 'w', V, "hostlist", "list of nodes to view, default is\nall nodes", "nodes"}, set_nodes},
    {{"notme", 0, N, nullptr, "only jobs of other users"}, flag<&Squeue::not_me>},
    {{"only-job-state", 0, N, nullptr, "only query job states"}, flag<&Squeue::only_state>},
    {{"format", 'o', V, "format", "format specification"}, set_format},
    {{"Format", 'O', V, "format", "format specification"}, set_long_format},
    {{"partition", 'p', V, "partition(s)", "comma separated list of partitions\nto view, default is all partitions"}, filter_words<&wire::JobFilter::partitions>, "SQUEUE_PARTITION"},
    {{"priority", 'P', N, nullptr, "a line for each partition that a pending job names"}, flag<&Squeue::by_partition>, "SQUEUE_PRIORITY"},
    {{"qos", 'q', V, "qos(s)", "comma separated list of qos's\nto view, default is all qos's"}, own_words<&Squeue::qos>, "SQUEUE_QOS"},
    {{"reservation", 'R', V, "name", "reservation to view, default is all"}, own_words<&Squeue::reservations>},
    {{"array", 'r', N, nullptr, "display one job array element per line"}, flag<&Squeue::expand_arrays>, "SQUEUE_ARRAY"},
    {{"sibling", 0, N, nullptr, "report on each cluster of a federation (there is none)"}, accept, "SQUEUE_SIBLING"},
    {{"steps", 's', M, "step(s)", "comma separated list of job steps\nto view, default is all"}, set_steps},
    {{"sort", 'S', V, "fields", "comma separated list of fields to sort on"}, set_sort, "SQUEUE_SORT"},
    {{"start", 0, N, nullptr, "print expected start times of pending jobs"}, flag<&Squeue::start>},
    {{"states", 't', V, "states", "comma separated list of states to view,\ndefault is pending and running,\n'--states=all' reports all states"}, set_states, "SQUEUE_STATES"},
    {{"user", 'u', V, "user_name(s)", "comma separated list of users to view", "users"}, set_users, "SQUEUE_USERS"},
    {{"verbose", 'v', N, nullptr, "verbosity level"}, set_verbose},
    {{"watch", 0, N, nullptr, "show the list as it changes, until interrupted;\nwhere it is no terminal, a line for each change"}, flag<&Squeue::watch>},
    {{"version", 'V', N, nullptr, "output version information and exit"}, flag<&Squeue::version>},
    {{"yaml", 0, M, "data_parser", "produce YAML output"}, set_document<DocumentStyle::Kind::Yaml>},
    {{"help", 0, N, nullptr, "show this help message"}, flag<&Squeue::help>},
    {{"usage", 0, N, nullptr, "display a brief summary of squeue options"}, flag<&Squeue::usage>},
};
// clang-format on

constexpr std::string_view kUsage =
    "Usage: squeue [-A account] [-i seconds] [--job jobid]\n"
    "              [-n name] [-o format] [-p partitions] [--qos qos]\n"
    "              [--reservation reservation] [--sort fields] [--start]\n"
    "              [-t states] [-u user_name] [--usage]\n"
    "              [-L licenses] [-w nodes] [--local]\n"
    "              [-ahjlrv]\n";

constexpr std::string_view kDefaultFormat = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
constexpr std::string_view kLongFormat = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
constexpr std::string_view kStartFormat = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R";
constexpr std::string_view kChangeFormat = "%i|%T|%P|%u|%j|%D|%R";  // --watch where it is no terminal
constexpr std::string_view kStateFormat = "%.18i %.2t";

// "%all" stands for every letter, with bars between.
std::string with_all(std::string format) {
  const std::size_t at = format.find("%all");
  if (at == std::string::npos) return format;
  std::string all;
  for (const JobColumn& column : job_columns())
    if (column.letter != 0) all.append(all.empty() ? "%" : "|%").push_back(column.letter);
  return format.replace(at, 4, all);
}

text::Format parse_format(const Squeue& options) {
  std::vector<text::ColumnKey> keys;
  keys.reserve(job_columns().size());
  for (const JobColumn& column : job_columns()) keys.push_back({column.letter, column.name, 20});
  if (options.long_format) return text::parse_long_format(*options.long_format, keys);
  const std::string_view standard = options.only_state  ? kStateFormat
                                    : options.changes   ? kChangeFormat
                                    : options.start     ? kStartFormat
                                    : options.long_form ? kLongFormat
                                                        : kDefaultFormat;
  return text::parse_short_format(with_all(options.format.value_or(std::string(standard))), keys);
}

bool has_word(const std::vector<std::string>& words, const std::string& word) {
  return words.empty() || std::ranges::find(words, word) != words.end();
}

bool wanted(const model::Job& job, const Squeue& options) {
  const model::JobSpec& spec = *job.spec;
  if (!has_word(options.qos, spec.qos) || !has_word(options.reservations, spec.reservation)) return false;
  if (options.not_me && spec.uid.value == geteuid()) return false;
  if (options.licenses.empty()) return true;
  return std::ranges::any_of(spec.licenses,
                             [&](const auto& license) { return has_word(options.licenses, license.name); });
}

// The tasks of an array's rest that were asked for by id, or all of them.
IndexSet tasks_asked_for(const model::Job& job, const wire::JobFilter& filter) {
  IndexSet asked;
  for (const state::JobTarget& target : filter.jobs) {
    if (target.id != job.array_job) continue;
    if (!target.tasks) return *job.array_pending;
    for (const auto& range : target.tasks->ranges()) asked.insert_range(range.first, range.last);
  }
  return filter.jobs.empty() ? *job.array_pending : asked.intersect(*job.array_pending);
}

// -P: a pending job once for each of its partitions (that was asked for).
void add_by_partition(JobLine line, const Squeue& options, std::vector<JobLine>& lines) {
  const auto& partitions = line.job->spec->partitions;
  if (line.job->state != model::JobState::Pending || partitions.size() < 2) return lines.push_back(line);
  for (const std::string& partition : partitions) {
    if (!has_word(options.filter.partitions, partition)) continue;
    line.partition = &partition;
    lines.push_back(line);
  }
}

std::vector<JobLine> lines_of(const wire::JobTable& table, const Squeue& options, std::size_t longest_array) {
  std::vector<JobLine> lines;
  lines.reserve(table.jobs.size());
  for (std::size_t i = 0; i < table.jobs.size(); ++i) {
    const model::Job& job = *table.jobs[i];
    if (!wanted(job, options)) continue;
    JobLine line{.job = &job,
                 .table = &table,
                 .expected_start = i < table.expected_starts.size() ? table.expected_starts[i] : Time{},
                 .preemptable = i < table.preemptable.size() ? table.preemptable[i] : Time{},
                 .planned_nodes = i < table.planned_nodes.size() ? &table.planned_nodes[i] : nullptr,
                 .task = std::nullopt,
                 .convert = !options.no_convert,
                 .longest_array = longest_array};
    const auto add = [&] { options.by_partition ? add_by_partition(line, options, lines) : lines.push_back(line); };
    if (!job.is_array_rest()) {
      add();
      continue;
    }
    const IndexSet tasks = tasks_asked_for(job, options.filter);
    if (!options.expand_arrays && tasks == *job.array_pending) {
      add();
      continue;
    }
    for (auto task = tasks.lowest(); task; task = tasks.next_after(*task)) {
      line.task = *task;
      add();
    }
  }
  return lines;
}

void print_lines(Context& context, const text::Format& format, const std::vector<JobLine>& lines) {
  std::string text;
  for (const JobLine& job : lines) {
    text.clear();
    append_line(format, job, context.style, text);
    context.out.write(text.append("\n"));
  }
}

// Names of nodes that do not exist are an error; only then is the controller asked for its nodes.
int check_nodes(Context& context, Controller& controller, const Squeue& options) {
  if (options.filter.nodes.empty()) return 0;
  const auto cluster = controller.cluster();
  if (!cluster) {
    context.plain("slurm_load_node error: {}", words(cluster.error()));
    return 1;
  }
  for (const std::string& name : options.filter.nodes) {
    if (std::ranges::any_of(cluster->nodes, [&](const model::NodePtr& node) { return node->name == name; })) continue;
    context.error("Invalid node name {}", name);
    return 1;
  }
  return 0;
}

std::size_t longest_array(const Context& context) {
  const auto given = context.env("SLURM_BITSTR_LEN");
  return given ? text::parse_decimal32(*given).value_or(64) : 64;
}

std::string sort_keys(const Squeue& options) {
  return options.sort.value_or(options.start ? "S" : "P,t,-p");
}

// What is looked at between the controller's answer and the last line: columns, order, and what is sorted out here.
wire::JobFields fields_of(const Context& context, const Squeue& options, const text::Format& format) {
  using J = wire::JobField;
  using S = wire::SpecField;
  wire::JobFields fields = kLineFields | sort_fields(sort_keys(options));
  for (const text::FormatPiece& piece : format.pieces)
    if (piece.column != text::FormatPiece::kText) fields.add(job_columns()[piece.column].reads);
  if (!options.qos.empty()) fields.add(S::qos);
  if (!options.reservations.empty()) fields.add(S::reservation);
  if (!options.licenses.empty()) fields.add(S::licenses);
  if (options.not_me) fields.add(S::uid);
  if (options.by_partition) fields.add({J::state, S::partitions});
  if (context.style.colors) fields.add({J::state, J::flags, J::priority});
  return fields;
}

// The exit status, if it is over with an answer like that.
std::optional<int> refused(Context& context, const Squeue& options, const Status& got, bool unknown_job) {
  const bool gone = got ? unknown_job : got.error().code == ErrorCode::InvalidJobId;
  if (gone && options.filter.jobs.size() == 1 && !options.only_state) {
    context.plain("slurm_load_jobs error: {}", slurm_message(ErrorCode::InvalidJobId));
    return 1;
  }
  if (got || gone) return std::nullopt;
  context.plain("slurm_load_jobs error: {}", words(got.error()));
  return 1;
}

// Only names of users that nobody has: there is nothing to ask.
bool asks_for_nobody(const Squeue& options) {
  return options.users_given && options.filter.users.empty();
}

void print_header(Context& context, const Squeue& options, const text::Format& format, const std::string& cluster) {
  print_cluster_line(context, options.clusters, cluster);
  if (!options.no_header) context.out.write(header_text(format) + "\n");
}

// --json and --yaml; where tasks of arrays have records of their own; and for people, who see how far arrays are.
int show_whole(Context& context, Controller& controller, const Squeue& options, const text::Format& format) {
  wire::JobTable table;
  if (!asks_for_nobody(options)) {
    auto answer = controller.jobs(options.filter);
    const Status got = answer ? Status{} : std::unexpected(answer.error());
    if (const auto status = refused(context, options, got, answer && answer->unknown_job)) return *status;
    if (answer) table = *std::move(answer);
  }
  if (!options.document && !options.expand_arrays) table = with_tasks_combined(std::move(table));
  std::vector<JobLine> lines = lines_of(table, options, longest_array(context));
  if (options.document) {
    context.out.write(jobs_document(lines, table, *options.document, context));
    return 0;
  }
  print_header(context, options, format, table.cluster_name);
  if (const char bad = sort_lines(lines, sort_keys(options))) {
    context.error("Invalid sort specification: {}", bad);
    return 1;
  }
  const auto arrays = context.style.people ? progress_of(table) : std::map<std::uint32_t, ArrayProgress>{};
  show_progress(lines, arrays);
  print_lines(context, format, lines);
  return 0;
}

int show_once(Context& context, Controller& controller, const Squeue& options, const text::Format& format) {
  if (options.long_form || options.iterate) context.out.print("{}\n", date_line(context.now()));
  if (options.document || context.style.people) return show_whole(context, controller, options, format);
  auto order = LineOrder::parse(sort_keys(options));
  wire::JobFilter filter = options.filter;
  filter.fields = fields_of(context, options, format);
  QueueReport report(format, context.style, order ? &*order : nullptr);
  std::string cluster;
  bool unknown_job = false, split = false;
  if (!asks_for_nobody(options)) {
    const Status got = controller.jobs_in_pieces(filter, [&](const wire::JobTable& piece) -> Status {
      cluster = piece.cluster_name;
      unknown_job = piece.unknown_job;
      split = split || (!options.expand_arrays && has_split_tasks(piece));
      if (!split) report.take(lines_of(piece, options, longest_array(context)));
      return {};
    });
    // Which seldom is so: all must be there before the first line is made.
    if (got && split) return show_whole(context, controller, options, format);
    if (const auto status = refused(context, options, got, unknown_job)) return *status;
  }
  print_header(context, options, format, cluster);
  if (!order) {
    context.error("Invalid sort specification: {}", order.error());
    return 1;
  }
  report.write(context.out);
  return 0;
}

int watch(Context& context, Controller& controller, const Squeue& options, const text::Format& format) {
  if (options.iterate || options.document || options.show_steps) {
    context.error("--watch cannot be used with --iterate, --steps, --json or --yaml");
    return 1;
  }
  std::vector<JobLine> none;
  if (const char bad = sort_lines(none, sort_keys(options))) {
    context.error("Invalid sort specification: {}", bad);
    return 1;
  }
  QueueView view{.filter = options.filter,
                 .any_state = options.filter.states.empty() && !options.filter.all_states,
                 .header = options.no_header ? std::string() : header_text(format),
                 .lines = [&](const wire::JobTable& given) {
                   const wire::JobTable table = options.expand_arrays ? given : with_tasks_combined(given);
                   std::vector<JobLine> lines = lines_of(table, options, longest_array(context));
                   sort_lines(lines, sort_keys(options));
                   const auto arrays =
                       context.style.people ? progress_of(table) : std::map<std::uint32_t, ArrayProgress>{};
                   show_progress(lines, arrays);
                   std::vector<QueueLine> shown;
                   shown.reserve(lines.size());
                   for (const JobLine& line : lines) {
                     const std::string part = line_id(line) + (line.partition ? "/" + *line.partition : "");
                     append_line(format, line, context.style, shown.emplace_back(line.job->id, part, "").text);
                   }
                   return shown;
                 }};
  if (options.users_given && view.filter.users.empty()) view.filter.users = {Uid(~0u)};  // only names that nobody has
  return watch_queue(context, controller, view);
}

int show_steps(Context& context, Controller& controller, const Squeue& options) {
  wire::JobFilter filter = options.filter;
  if (options.users_given && filter.users.empty()) filter.users = {Uid(~0u)};  // only names that nobody has
  if (options.document) return show_steps_document(context, controller, filter, options.steps, *options.document);
  for (;;) {
    const int status = show_steps(context, controller, filter,
                                  {.picks = options.steps,
                                   .format = options.format,
                                   .long_format = options.long_format,
                                   .sort = options.sort,
                                   .no_header = options.no_header,
                                   .with_date = options.long_form || options.iterate});
    if (!options.iterate || status != 0) return status;
    context.out.write("\n");
    context.out.flush();
    context.pause(seconds(*options.iterate));
  }
}

// What the environment says about columns gives way to -l as well.
void take_format(const Context& context, Squeue& options) {
  if (options.format || options.long_format || options.long_form) return;
  if (const auto format = context.env("SQUEUE_FORMAT")) {
    options.format = std::string(*format);
  } else if (const auto names = context.env("SQUEUE_FORMAT2")) {
    options.long_format = std::string(*names);
  }
}

}  // namespace

int cmd_squeue(Context& context) {
  Squeue options;
  auto rest = read_line<Squeue>(context, kOptions, options, Order::Anywhere, 1);
  if (!rest) return rest.error();
  context.consistent |= options.consistent;
  // "-s 5.0": a value that may be left out must be glued to its letter, but Slurm takes this one, too.
  if (options.show_steps && options.steps.empty() && !rest->empty()) {
    if (auto done = set_steps(options, rest->front()); !done) return report(context, done.error());
    rest->erase(rest->begin());
  }
  if (options.version) return print_version(context);
  if (options.help || options.usage) {
    context.out.write(options.usage ? std::string(kUsage)
                                    : "Usage: squeue [OPTIONS]\n" + help_text(rows_of<Squeue>(kOptions)));
    return 0;
  }
  if (!rest->empty()) {
    context.error("Unrecognized option: {}", rest->front());
    context.out.write(kUsage);
    return 1;
  }
  for (const std::string& name : options.unknown_users)
    report(context, BadOption{.message = fmt::format("Invalid user: {}\n", name), .before = {}});
  take_format(context, options);
  if (options.me) {
    options.filter.users = {Uid(geteuid())};
    options.users_given = true;
  }
  if (options.start) options.filter.states = {{model::JobState::Pending, 0}};
  // Who names a partition or a job sees it.
  options.filter.hide =
      !options.all && !context.is_root && options.filter.partitions.empty() && options.filter.jobs.empty();
  if (options.document && options.document->list) return list_document_styles(context);
  if (options.at) {
    if (options.show_steps || options.iterate) {
      context.error("--at with --{} is not supported yet", options.show_steps ? "steps" : "iterate");
      return 1;
    }
    const auto then = context.controller();
    if (then)
      if (const int status = look_back(context, **then, *options.at); status != 0) return status;
  }
  set_time_format(context.env("SLURM_TIME_FORMAT").value_or(""), context.now());

  if (options.show_steps && !options.watch) {
    const auto of_steps = context.controller();
    if (of_steps) return show_steps(context, **of_steps, options);
    context.plain("slurm_get_job_steps error: {}", words(of_steps.error()));
    return 1;
  }
  options.changes = options.watch && !is_terminal(context.out);
  const text::Format format = parse_format(options);
  for (const std::string& unknown : format.unknown) context.error("Invalid job format specification: {}", unknown);
  const auto controller = context.controller();
  if (!controller) {
    context.plain("slurm_load_jobs error: {}", words(controller.error()));
    return 1;
  }
  if (!is_this_cluster(context, **controller, options.clusters)) return 1;
  if (const int status = check_nodes(context, **controller, options); status != 0) return status;
  if (options.watch) return watch(context, **controller, options, format);
  for (;;) {
    const int status = show_once(context, **controller, options, format);
    if (!options.iterate || status != 0) return status;
    context.out.write("\n");
    context.out.flush();
    context.pause(seconds(*options.iterate));
  }
}

}  // namespace spur::cli
