// SPDX-License-Identifier: Apache-2.0
#include "cli/sacct_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options.h"
#include "cli/users.h"
#include "model/job_state.h"
#include "model/step_end.h"
#include "text/decimal.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using Value = std::string_view;

constexpr std::uint32_t kNoState = 0xff;  // that no job is in

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
    return std::unexpected(BadOption{"Invalid unit type", 1,
                                     fmt::format("sacct: error: Invalid unit type '{}'. Possible options are 'KMGTP'", value),
                                     true});
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
    {{"completion", 'c', N, nullptr, "From the log of completed jobs (JobCompType=jobcomp/filetxt)."}, flag<&Sacct::completion>},
    {{"constraints", 'C', V, "list", "Only jobs that asked for these features."}, set_features},
    {{"delimiter", 0, V, "characters", "What stands between the fields of -p and -P."}, set_delimiter},
    {{"duplicates", 'D', N, nullptr, "Show all runs of a job, and all jobs with the same id."}, [](Sacct& s, Value) -> OptionStatus { s.query.set_duplicates(true); return {}; }},
    {{"endtime", 'E', V, "time", "Select jobs eligible before this time."}, set_until},
    {{"env-vars", 0, N, nullptr, "Print the environment of the jobs of -j."}, flag<&Sacct::environment>},
    {{"federation", 0, N, nullptr, "There are no federations: jobs of this cluster."}, ignore},
    {{"file", 'f', V, "file", "The same, from this file."}, set_file},
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

}  // namespace

std::expected<std::vector<std::string>, int> read_sacct_line(Context& context, Sacct& options) {
  return read_line<Sacct>(context, kOptions, options, Order::Anywhere, 1);
}
std::string sacct_help() {
  return "Usage: sacct [OPTION]\n" + help_text(rows_of<Sacct>(kOptions));
}

}  // namespace spur::cli
