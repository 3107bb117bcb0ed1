// SPDX-License-Identifier: Apache-2.0
// sprio: what the priority of waiting jobs is made of. Columns, widths and wordings are those of Slurm 22.05; numbers
// are of this moment, where Slurm's are of its last PriorityCalcPeriod.
#include <algorithm>
#include <cmath>

#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/display.h"
#include "cli/job_target.h"
#include "cli/options.h"
#include "cli/users.h"
#include "text/columns.h"
#include "text/decimal.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using Value = std::string_view;

struct Sprio {
  bool no_header = false, long_form = false, normal = false, weights = false, help = false, usage = false,
       version = false;
  int verbose = 0;
  std::vector<std::uint32_t> jobs;
  bool jobs_given = false, users_given = false;
  std::vector<Uid> users;
  std::vector<std::string> unknown_users, partitions;
  std::optional<std::string> format, sort;
  ClusterList clusters;
};

template <bool Sprio::* Field>
OptionStatus flag(Sprio& s, Value) {
  s.*Field = true;
  return {};
}
OptionStatus set_clusters(Sprio& s, Value value) {
  s.clusters = parse_clusters(value);
  return {};
}
OptionStatus accept(Sprio&, Value) {
  return {};
}
OptionStatus set_verbose(Sprio& s, Value) {
  ++s.verbose;
  return {};
}
OptionStatus set_jobs(Sprio& s, Value value) {
  s.jobs_given = true;
  for (const std::string_view word : text::split(value, ',')) {
    if (word.empty()) continue;
    const auto id = text::parse_decimal32(word);
    if (!id || *id == 0) return bad_option(fmt::format("Invalid job id: {}", word), 1);
    s.jobs.push_back(*id);
  }
  return {};
}
OptionStatus set_users(Sprio& s, Value value) {
  s.users_given = true;
  for (const std::string_view word : text::split(value, ',')) {
    if (word.empty()) continue;
    if (const auto uid = find_user(word)) {
      s.users.push_back(*uid);
    } else {
      s.unknown_users.emplace_back(word);
    }
  }
  return {};
}
OptionStatus set_partitions(Sprio& s, Value value) {
  for (const std::string_view word : text::split(value, ','))
    if (!word.empty()) s.partitions.emplace_back(word);
  return {};
}
OptionStatus set_format(Sprio& s, Value value) {
  s.format = std::string(value);
  return {};
}
OptionStatus set_sort(Sprio& s, Value value) {
  s.sort = std::string(value);
  return {};
}

constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
// clang-format off
constexpr Option<Sprio> kOptions[] = {
    {{"federation", 0, N, nullptr, "display jobs in federation if a member of one (there is none)"}, accept, "SPRIO_FEDERATION"},
    {{"noheader", 'h', N, nullptr, "no headers on output"}, flag<&Sprio::no_header>},
    {{"jobs", 'j', V, "job(s)", "comma separated list of jobs\nto view, default is all"}, set_jobs},
    {{"local", 0, N, nullptr, "display jobs on local cluster only"}, accept, "SPRIO_LOCAL"},
    {{"long", 'l', N, nullptr, "long report"}, flag<&Sprio::long_form>},
    {{"cluster", 'M', V, "name", "cluster to ask: this one's name", "clusters"}, set_clusters, "SLURM_CLUSTERS"},
    {{"norm", 'n', N, nullptr, "display normalized values"}, flag<&Sprio::normal>},
    {{"format", 'o', V, "format", "format specification"}, set_format, "SPRIO_FORMAT"},
    {{"sibling", 0, N, nullptr, "display job records separately for each federation cluster (there is one)"}, accept, "SPRIO_SIBLING"},
    {{"sort", 'S', V, "fields", "comma separated list of fields to sort on"}, set_sort},
    {{"partition", 'p', V, "partition_name", "comma separated list of partitions"}, set_partitions},
    {{"user", 'u', V, "user_name", "comma separated list of users to view", "users"}, set_users},
    {{"verbose", 'v', N, nullptr, "verbosity level"}, set_verbose},
    {{"version", 'V', N, nullptr, "output version information and exit"}, flag<&Sprio::version>},
    {{"weights", 'w', N, nullptr, "show the weights for each priority factor"}, flag<&Sprio::weights>},
    {{"help", 0, N, nullptr, "show this help message"}, flag<&Sprio::help>},
    {{"usage", 0, N, nullptr, "display a brief summary of sprio options"}, flag<&Sprio::usage>},
};
// clang-format on

constexpr std::string_view kUsage =
    "Usage: sprio [-j jid[s]] [-u user_name[s]] [-o format] [-p partitions]\n"
    "   [--federation] [--local] [--sibling] [--usage] [-hlnvVw]\n";

// ---- columns

// A line: a job, or (row null) the weights.
struct PriorityLine {
  const wire::PriorityRow* row = nullptr;
  const wire::PriorityTable* table = nullptr;
};
using Line = const PriorityLine&;

// Slurm prints points with %.0f, which rounds halves to the even neighbour.
std::string points(std::int64_t factor, std::uint32_t weight) {
  return fmt::format("{:.0f}", static_cast<double>(factor) / 1e9 * weight);
}
std::string normal(std::int64_t factor) {
  return fmt::format("{:.7f}", static_cast<double>(factor) / 1e9);
}

using Weight = std::uint32_t wire::PriorityTable::*;
using Factor = std::int64_t wire::PriorityRow::*;
template <Factor factor, Weight weight>
std::string weighted(Line l) {
  return l.row ? points(l.row->*factor, l.table->*weight) : fmt::format("{}", l.table->*weight);
}
template <Factor factor, Weight weight>
std::string normalized(Line l) {
  return l.row ? normal(l.row->*factor) : fmt::format("{}", l.table->*weight);
}

std::string tres_list(Line l, bool as_points) {
  std::string out;
  for (std::size_t i = 0; i < l.table->tres.size(); ++i) {
    const model::TresWeight& weight = l.table->tres[i];
    const double full = static_cast<double>(weight.thousandths) / 1000;
    std::string value = fmt::format("{:.0f}", full);
    if (l.row) {
      if (i >= l.row->tres.size() || l.row->tres[i] == 0) continue;
      const double factor = static_cast<double>(l.row->tres[i]) / 1e9;
      value = as_points ? fmt::format("{:.0f}", factor * full) : fmt::format("{:.2f}", factor);
    }
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", weight.tres, value);
  }
  return out;
}

std::string job_id(Line l) {
  return l.row ? fmt::format("{}", l.row->job.value) : "Weights";
}
std::string partition(Line l) {
  return l.row ? l.row->partition : "";
}
std::string user(Line l) {
  return l.row ? user_name(l.row->user) : "";
}
std::string cluster(Line l) {
  return l.row ? "(null)" : "";  // Slurm: only in a federation
}
std::string priority(Line l) {
  return l.row ? fmt::format("{}", l.row->priority) : "";
}
// Of one that was set by hand Slurm shows the number itself.
std::string normal_priority(Line l) {
  if (!l.row) return "";
  const bool by_hand = l.row->tres.empty() && l.row->site == 0 && !l.table->tres.empty();
  return fmt::format("{:.14f}", by_hand ? l.row->priority : l.row->priority / 4294967295.0);
}
std::string nice(Line l) {
  return l.row ? fmt::format("{}", l.row->nice) : "";
}
std::string site(Line l) {
  return l.row ? fmt::format("{}", l.row->site) : "1";
}
std::string tres(Line l) {
  return tres_list(l, true);
}
std::string normal_tres(Line l) {
  return l.row ? tres_list(l, false) : "";
}

struct PriorityColumn {
  char letter;
  std::string_view title;
  std::string (*value)(Line);
  bool is_number;  // for -S
};
using Row = wire::PriorityRow;
using PriorityTable = wire::PriorityTable;
constexpr PriorityColumn kColumns[] = {
    {'a', "AGE", normalized<&Row::age, &PriorityTable::age_weight>, true},
    {'A', "AGE", weighted<&Row::age, &PriorityTable::age_weight>, true},
    {'b', "ASSOC", normalized<&Row::assoc, &PriorityTable::assoc_weight>, true},
    {'B', "ASSOC", weighted<&Row::assoc, &PriorityTable::assoc_weight>, true},
    {'c', "CLUSTER", cluster, false},
    {'f', "FAIRSHARE", normalized<&Row::fairshare, &PriorityTable::fairshare_weight>, true},
    {'F', "FAIRSHARE", weighted<&Row::fairshare, &PriorityTable::fairshare_weight>, true},
    {'i', "JOBID", job_id, true},
    {'j', "JOBSIZE", normalized<&Row::job_size, &PriorityTable::job_size_weight>, true},
    {'J', "JOBSIZE", weighted<&Row::job_size, &PriorityTable::job_size_weight>, true},
    {'N', "NICE", nice, true},
    {'p', "PARTITION", normalized<&Row::partition_factor, &PriorityTable::partition_weight>, true},
    {'P', "PARTITION", weighted<&Row::partition_factor, &PriorityTable::partition_weight>, true},
    {'q', "QOS", normalized<&Row::qos_factor, &PriorityTable::qos_weight>, true},
    {'Q', "QOS", weighted<&Row::qos_factor, &PriorityTable::qos_weight>, true},
    {'r', "PARTITION", partition, false},
    {'S', "SITE", site, true},
    {'t', "TRES", normal_tres, false},
    {'T', "TRES", tres, false},
    {'u', "USER", user, false},
    {'y', "PRIORITY", normal_priority, true},
    {'Y', "PRIORITY", priority, true},
};

// What has no weight has no column.
std::string standard_format(const Sprio& options, const wire::PriorityTable& table) {
  struct Part {
    bool shown;
    std::string_view points, normal;
  };
  const bool all = options.long_form;
  const Part parts[] = {
      {true, "%.15i %9r", "%.15i %9r"},
      {all || options.users_given, " %.8u", " %.8u"},
      {true, " %.10Y %.10S", " %10y"},
      {all || table.age_weight > 0, " %.10A", " %10a"},
      {all || table.assoc_weight > 0, " %.10B", " %10b"},
      {all || table.fairshare_weight > 0, " %.10F", " %10f"},
      {all || table.job_size_weight > 0, " %.10J", " %10j"},
      {all || table.partition_weight > 0, " %.10P", " %10p"},
      {all || table.qos_weight > 0, " %.10Q", " %10q"},
      {all, " %.11N", ""},
      {all || !table.tres.empty(), " %.20T", " %20t"},
  };
  std::string out;
  for (const Part& part : parts)
    if (part.shown) out += options.normal ? part.normal : part.points;
  return out;
}

void print_line(Context& context, const text::Format& format, Line line, bool header) {
  std::string text;
  for (const text::FormatPiece& piece : format.pieces) {
    const std::size_t start = text.size();
    if (piece.column != text::FormatPiece::kText)
      text.append(header ? std::string(kColumns[piece.column].title) : kColumns[piece.column].value(line));
    text::finish_cell(text, start, piece);
  }
  context.out.write(text.append("\n"));
}

// ---- sorting

struct SortKey {
  const PriorityColumn* column;
  bool descending;
};

// The keys of "-Y,i", or the letter that names none.
std::expected<std::vector<SortKey>, char> parse_sort(std::string_view text) {
  std::vector<SortKey> keys;
  bool descending = false;
  char bad = 0;
  for (const char c : text) {
    if (c == '-') descending = true;
    if (c == '+' || c == ',') descending = false;
    if (c == ',' || c == '-' || c == '+') continue;
    const auto column = std::ranges::find(kColumns, c, &PriorityColumn::letter);
    if (column == std::end(kColumns)) {
      bad = c;  // Slurm reads from the end and complains about the first it meets
      continue;
    }
    keys.push_back({column, descending});
    descending = false;
  }
  if (bad != 0) return std::unexpected(bad);
  // As Slurm: the key written first counts most.
  return keys;
}

void sort_lines(std::vector<PriorityLine>& lines, const std::vector<SortKey>& keys) {
  std::ranges::stable_sort(lines, [&](Line a, Line b) {
    for (const SortKey& key : keys) {
      const std::string x = key.column->value(a), y = key.column->value(b);
      if (x == y) continue;
      const bool less = key.column->is_number ? std::stod(x) < std::stod(y) : x < y;
      return less != key.descending;
    }
    return false;
  });
}

template <class T>
bool among(const std::vector<T>& wanted, const T& value) {
  return wanted.empty() || std::ranges::find(wanted, value) != wanted.end();
}

std::vector<PriorityLine> lines_of(const Sprio& options, const wire::PriorityTable& table) {
  std::vector<PriorityLine> lines;
  for (const wire::PriorityRow& row : table.rows) {
    const bool of_user = !options.users_given || (!options.users.empty() && among(options.users, row.user));
    if (of_user && among(options.jobs, row.job.value) && among(options.partitions, row.partition))
      lines.push_back({&row, &table});
  }
  return lines;
}

int show(Context& context, const Sprio& options, const wire::PriorityTable& table) {
  if (!table.multifactor) {
    context.plain(
        "You are not running a supported priority plugin\n(priority/basic).\n"
        "Only 'priority/multifactor' is supported.");
    return 1;
  }
  std::vector<text::ColumnKey> keys;
  for (const PriorityColumn& column : kColumns) keys.push_back({column.letter, {}, 0});
  const auto format = text::parse_short_format(options.format.value_or(standard_format(options, table)), keys);
  for (const std::string& unknown : format.unknown) context.error("Invalid job format specification: {}", unknown);
  std::vector<PriorityLine> lines = lines_of(options, table);
  const bool by_job = options.jobs_given || (options.users_given && !options.users.empty());
  if (by_job && lines.empty() && !options.weights) {
    context.out.write("Unable to find jobs matching user/id(s) specified\n");
    return 0;
  }
  if (!options.no_header) print_line(context, format, {}, true);
  const auto sort = parse_sort(options.sort.value_or("i"));
  if (!sort) {
    context.error("Invalid sort specification: {}", sort.error());
    return 1;
  }
  for (const std::string& name : options.unknown_users)
    report(context, BadOption{.message = fmt::format("Invalid user: {}\n", name), .before = {}});
  if (options.weights) {
    print_line(context, format, {nullptr, &table}, false);
    return 0;
  }
  sort_lines(lines, *sort);
  for (const PriorityLine& line : lines) print_line(context, format, line, false);
  return 0;
}

}  // namespace

int cmd_sprio(Context& context) {
  Sprio options;
  const auto rest = read_line<Sprio>(context, kOptions, options, Order::Anywhere, 1);
  if (!rest) return rest.error();
  if (options.version) return print_version(context);
  if (options.help || options.usage) {
    context.out.write(options.usage ? std::string(kUsage)
                                    : "Usage: sprio [OPTIONS]\n" + help_text(rows_of<Sprio>(kOptions)));
    return 0;
  }
  if (!rest->empty()) {
    context.error("Unrecognized option: {}", rest->front());
    context.err.write(kUsage);
    return 1;
  }
  const auto controller = context.controller();
  if (controller && !is_this_cluster(context, **controller, options.clusters)) return 1;
  const auto table = controller ? (*controller)->priorities() : std::unexpected(controller.error());
  if (!table) {
    context.plain("Couldn't get priority factors from controller: {}", words(table.error()));
    return 1;
  }
  return show(context, options, *table);
}

}  // namespace spur::cli
