// SPDX-License-Identifier: Apache-2.0
// sinfo: nodes and partitions. Columns, grouping and state words are tables beside this file; here they meet options,
// filters and the controller's answer.
#include <algorithm>

#include "cli/api_documents.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/display.h"
#include "cli/look_back.h"
#include "cli/node_filter.h"
#include "cli/options.h"
#include "cli/sinfo_groups.h"
#include "cli/terminal.h"
#include "text/decimal.h"
#include "text/hostlist.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::cli {
namespace {

struct Sinfo {
  bool consistent = false, future = false, all = false, dead = false, exact = false, responding = false, no_header = false, long_form = false,
       by_node = false, reservations = false;
  bool reasons = false, summarize = false, no_convert = false, help = false, usage = false, version = false;
  std::vector<std::string> partitions, nodes;
  bool nodes_given = false;
  std::optional<NodeStateFilter> states;
  std::optional<std::string> format, long_format, sort, at;
  std::optional<std::uint32_t> iterate;
  int verbose = 0;
  std::optional<DocumentStyle> document;  // --json, --yaml
  ClusterList clusters;
};
using Value = std::string_view;

template <bool Sinfo::* Field>
OptionStatus flag(Sinfo& s, Value) {
  s.*Field = true;
  return {};
}
OptionStatus set_partitions(Sinfo& s, Value v) {
  s.partitions.clear();
  for (const std::string_view name : text::split(v, ','))
    if (!name.empty()) s.partitions.emplace_back(name);
  return {};
}
OptionStatus set_nodes(Sinfo& s, Value v) {
  const auto hosts = text::expand_hostlist(v);
  if (!hosts) return bad_option(fmt::format("Invalid node name {}", v), 1);
  s.nodes = *hosts;
  s.nodes_given = true;
  return {};
}
OptionStatus set_at(Sinfo& s, Value v) {
  s.at = std::string(v);
  return {};
}
OptionStatus set_states(Sinfo& s, Value v) {
  auto filter = NodeStateFilter::parse(v);
  if (!filter) {
    return bad_option(
        fmt::format("Bad state string: \"{}\"\nvalid states: {}", filter.error(), NodeStateFilter::valid_words()), 1);
  }
  s.states = *std::move(filter);
  return {};
}
OptionStatus set_format(Sinfo& s, Value v) {
  s.format = std::string(v);
  s.long_format.reset();
  return {};
}
OptionStatus set_long_format(Sinfo& s, Value v) {
  s.long_format = std::string(v);
  s.format.reset();
  return {};
}
OptionStatus set_sort(Sinfo& s, Value v) {
  s.sort = std::string(v);
  return {};
}
template <DocumentStyle::Kind Kind>
OptionStatus set_document(Sinfo& s, Value v) {
  auto style = parse_document_style(Kind, v);
  if (!style) return std::unexpected(std::move(style).error());
  s.document = *style;
  return {};
}
OptionStatus set_clusters(Sinfo& s, Value v) {
  s.clusters = parse_clusters(v);
  return {};
}
OptionStatus set_iterate(Sinfo& s, Value v) {
  const auto value = text::parse_decimal32(v);
  if (!value || *value == 0) return bad_option(fmt::format("Error: invalid entry for --iterate={}", v), 1);
  s.iterate = *value;
  return {};
}
OptionStatus set_verbose(Sinfo& s, Value) {
  ++s.verbose;
  return {};
}
OptionStatus accept(Sinfo&, Value) {
  return {};
}

constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
constexpr auto M = Takes::Maybe;
// clang-format off
constexpr Option<Sinfo> kOptions[] = {
    {{"at", 0, V, "time", "show nodes and partitions as they were at that time"}, set_at},
    {{"all", 'a', N, nullptr, "show all partitions (including hidden and those\nnot accessible)"}, flag<&Sinfo::all>, "SINFO_ALL"},
    {{"clusters", 'M', V, "names", "clusters to issue commands to: this one's name, or all", "cluster"}, set_clusters, "SLURM_CLUSTERS"},
    {{"consistent", 0, N, nullptr, "ask the controller that leads"}, flag<&Sinfo::consistent>, "SPUR_CONSISTENT"},
    {{"dead", 'd', N, nullptr, "show only non-responding nodes"}, flag<&Sinfo::dead>},
    {{"exact", 'e', N, nullptr, "group nodes only on exact match of configuration"}, flag<&Sinfo::exact>},
    {{"federation", 0, N, nullptr, "report federated information if a member\nof one (there is none)"}, accept, "SINFO_FEDERATION"},
    {{"future", 'F', N, nullptr, "report information about nodes in FUTURE state"}, flag<&Sinfo::future>},
    {{"noheader", 'h', N, nullptr, "no headers on output"}, flag<&Sinfo::no_header>},
    {{"hide", 0, N, nullptr, "do not show hidden or non-accessible partitions"}, accept},
    {{"iterate", 'i', V, "seconds", "specify an iteration period"}, set_iterate},
    {{"json", 0, M, "data_parser", "produce JSON output"}, set_document<DocumentStyle::Kind::Json>},
    {{"list-reasons", 'R', N, nullptr, "list reason nodes are down or drained"}, flag<&Sinfo::reasons>},
    {{"local", 0, N, nullptr, "show only local cluster"}, accept, "SINFO_LOCAL"},
    {{"long", 'l', N, nullptr, "long output - displays more information"}, flag<&Sinfo::long_form>},
    {{"noconvert", 0, N, nullptr, "don't convert units from their original type"}, flag<&Sinfo::no_convert>},
    {{"Node", 'N', N, nullptr, "Node-centric format"}, flag<&Sinfo::by_node>},
    {{"nodes", 'n', V, "NODES", "report on specific node(s)"}, set_nodes},
    {{"format", 'o', V, "format", "format specification"}, set_format, "SINFO_FORMAT"},
    {{"Format", 'O', V, "format", "long format specification"}, set_long_format, "SINFO_FORMAT2"},
    {{"partition", 'p', V, "PARTITION", "report on specific partition"}, set_partitions, "SINFO_PARTITION"},
    {{"reservation", 'T', N, nullptr, "show only reservation information"}, flag<&Sinfo::reservations>},
    {{"responding", 'r', N, nullptr, "report only responding nodes"}, flag<&Sinfo::responding>},
    {{"sort", 'S', V, "fields", "comma separated list of fields to sort on"}, set_sort, "SINFO_SORT"},
    {{"states", 't', V, "node_state", "specify the what states of nodes to view"}, set_states},
    {{"summarize", 's', N, nullptr, "report state summary only"}, flag<&Sinfo::summarize>},
    {{"verbose", 'v', N, nullptr, "verbosity level"}, set_verbose},
    {{"version", 'V', N, nullptr, "output version information and exit"}, flag<&Sinfo::version>},
    {{"yaml", 0, M, "data_parser", "produce YAML output"}, set_document<DocumentStyle::Kind::Yaml>},
    {{"help", 0, N, nullptr, "show this help message"}, flag<&Sinfo::help>},
    {{"usage", 0, N, nullptr, "display brief usage message"}, flag<&Sinfo::usage>},
};
// clang-format on

constexpr std::string_view kUsage =
    "Usage: sinfo [-adelNRrsv] [-i seconds] [-t states] [-p partition] [-n nodes]\n"
    "             [-S fields] [-o format] [-O Format] [--local]\n";

// The default formats; {0} is the width of the partition column, {1} that of the node column.
std::string standard_format(const Sinfo& options, std::size_t partition_width, std::size_t node_width) {
  if (options.reasons && !options.by_node) return options.long_form ? "%20E %12U %19H %6t %N" : "%20E %9u %19H %N";
  if (options.by_node && options.long_form)
    return fmt::format("%{}N %.6D %.{}P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E", node_width, partition_width);
  if (options.by_node) return fmt::format("%{}N %.6D %.{}P %6t", node_width, partition_width);
  if (options.summarize) return fmt::format("%{}P %.5a %.10l %.16F %N", partition_width);
  if (options.long_form) return fmt::format("%{}P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N", partition_width);
  return fmt::format("%{}P %.5a %.10l %.6D %.6t %N", partition_width);
}

std::string with_all(std::string format) {
  const std::size_t at = format.find("%all");
  if (at == std::string::npos) return format;
  std::string all;
  for (const NodeColumn& column : node_columns())
    if (column.letter != 0) all.append(all.empty() ? "%" : "|%").push_back(column.letter);
  return format.replace(at, 4, all);
}

text::Format parse_format(const Sinfo& options, const wire::ClusterTable& table) {
  std::vector<text::ColumnKey> keys;
  for (const NodeColumn& column : node_columns()) keys.push_back({column.letter, column.name, 20});
  if (options.long_format) return text::parse_long_format(*options.long_format, keys);
  if (options.format) return text::parse_short_format(with_all(*options.format), keys);
  std::size_t partition_width = 9, node_width = 9;
  for (const model::Partition& partition : table.partitions)
    partition_width = std::max(partition_width, partition_title(partition).size());
  for (const model::NodePtr& node : table.nodes) node_width = std::max(node_width, node->name.size());
  return text::parse_short_format(standard_format(options, partition_width, node_width), keys);
}

std::vector<bool> matching_nodes(const Sinfo& options, const wire::ClusterTable& table) {
  std::vector<std::string> names = options.nodes;
  std::ranges::sort(names);
  std::vector<bool> matches;
  matches.reserve(table.nodes.size());
  for (const model::NodePtr& node : table.nodes) {
    const bool silent = (node->flags & model::kNodeNoResponse) != 0;
    bool wanted = !options.nodes_given || std::ranges::binary_search(names, node->name);
    if (options.dead && !silent) wanted = false;
    if (options.responding && silent) wanted = false;
    if (options.states && !options.states->matches(*node)) wanted = false;
    matches.push_back(wanted);
  }
  return matches;
}

std::vector<const model::Partition*> shown_partitions(const Sinfo& options, const wire::ClusterTable& table,
                                                      bool all) {
  std::vector<const model::Partition*> partitions;
  for (const model::Partition& partition : table.partitions) {
    const bool named = std::ranges::find(options.partitions, partition.config.name) != options.partitions.end();
    if (options.partitions.empty() ? !all && !is_visible(partition) : !named) continue;
    partitions.push_back(&partition);
  }
  return partitions;
}

// A cell of %P is cut before its star, not through it.
std::string cell_text(const NodeColumn& column, const text::FormatPiece& piece, const NodeGroup& group) {
  std::string text = column.of_group(group);
  if (column.letter == 'P' && piece.width > 0 && text.size() > piece.width && text.ends_with('*')) {
    text.resize(piece.width - 1);
    text.push_back('*');
  }
  return text;
}

// Of a node by its state's words; what is wrong comes before what it does.
Color state_color(std::string_view words) {
  struct Row {
    std::string_view word;
    Color color;
  };
  static constexpr Row kColors[] = {{"down", Color::Red},    {"fail", Color::Red},     {"inval", Color::Red},
                                    {"unk", Color::Red},     {"*", Color::Red},        {"drain", Color::Yellow},
                                    {"drng", Color::Yellow}, {"maint", Color::Yellow}, {"resv", Color::Blue},
                                    {"reserved", Color::Blue}, {"idle", Color::Green}, {"mix", Color::Cyan},
                                    {"alloc", Color::Cyan}};
  for (const Row& row : kColors)
    if (words.find(row.word) != std::string_view::npos) return row.color;
  return Color::Plain;
}

template <class Cell>
void print_line(Context& context, const text::Format& format, bool is_title, Cell cell) {
  std::string line;
  for (const text::FormatPiece& piece : format.pieces) {
    const std::size_t start = line.size();
    if (piece.column == text::FormatPiece::kText) {
      text::finish_cell(line, start, piece);
      continue;
    }
    const NodeColumn& column = node_columns()[piece.column];
    line.append(cell(column, piece));
    // Titles of names are never cut, as in Slurm.
    const bool whole = is_title && (column.letter == 'n' || column.letter == 'N' || column.letter == 'o');
    text::finish_cell(line, start, piece, !whole);
    if (context.style.colors && !is_title && (column.letter == 't' || column.letter == 'T'))
      line.replace(start, std::string::npos, colored(std::string_view(line).substr(start), state_color(line.substr(start))));
  }
  context.out.write(line.append("\n"));
}

// Rows by partition and state, whatever columns were asked for; -N: by node.
int show_document(Context& context, const wire::ClusterTable& table, const Sinfo& options) {
  Sinfo plain;
  plain.by_node = options.by_node;
  const text::Format format = parse_format(plain, table);
  GroupRules rules;
  for (const text::FormatPiece& piece : format.pieces)
    if (piece.column != text::FormatPiece::kText) rules.columns.push_back(&node_columns()[piece.column]);
  rules.exact = options.exact;
  rules.by_node = options.by_node;
  rules.reasons_only = options.reasons;
  std::vector<NodeGroup> groups = group_nodes(table, shown_partitions(options, table, options.all || context.is_root),
                                              matching_nodes(options, table), rules);
  sort_groups(groups, table, options.by_node ? "N" : "#P,-t");
  context.out.write(sinfo_document(table, groups, *options.document, context));
  return 0;
}

int show_once(Context& context, Controller& controller, const Sinfo& options) {
  const auto table = controller.cluster();
  if (!table) {
    context.plain("slurm_load_partitions: {}", words(table.error()));
    return 1;
  }
  if (table->partitions_denied || table->nodes_denied) {
    context.plain("{}: {}", table->partitions_denied ? "slurm_load_partitions" : "slurm_load_node",
                  slurm_message(ErrorCode::PermissionDenied));
    return 1;
  }
  if (options.document) return show_document(context, *table, options);
  if (!options.no_header) print_cluster_line(context, options.clusters, table->cluster_name);
  if (options.long_form || options.iterate) context.out.print("{}\n", date_line(context.now()));
  const text::Format format = parse_format(options, *table);
  for (const std::string& unknown : format.unknown) {
    if (options.long_format) {
      context.error("Invalid job format specification: {}", unknown);
    } else {
      context.plain("Invalid node format specification: {}", unknown);
    }
  }
  GroupRules rules;
  for (const text::FormatPiece& piece : format.pieces)
    if (piece.column != text::FormatPiece::kText) rules.columns.push_back(&node_columns()[piece.column]);
  rules.exact = options.exact;
  rules.by_node = options.by_node;
  rules.reasons_only = options.reasons;
  // A partition without a matching node shows where partitions are named, and nowhere else.
  rules.empty_lines = std::ranges::any_of(
      rules.columns, [](const NodeColumn* column) { return column->letter == 'P' || column->letter == 'R'; });
  std::vector<NodeGroup> groups =
      group_nodes(*table, shown_partitions(options, *table, options.all || context.is_root),
                  matching_nodes(options, *table), rules);
  sort_groups(groups, *table, options.sort.value_or(options.by_node ? "N" : options.reasons ? "-t,N" : "#P,-t"));
  if (!options.no_header)
    print_line(context, format, true,
               [](const NodeColumn& column, const text::FormatPiece&) { return std::string(column.title); });
  for (const NodeGroup& group : groups) {
    print_line(context, format, false, [&](const NodeColumn& column, const text::FormatPiece& piece) {
      return cell_text(column, piece, group);
    });
  }
  return 0;
}

// -T
int show_reservations(Context& context, Controller& controller, const Sinfo& options) {
  const auto table = controller.reservations();
  if (!table) {
    context.plain("slurm_load_reservations: {}", words(table.error()));
    return 1;
  }
  if (table->rows.empty()) {
    context.out.write("No reservations in the system\n");
    return 0;
  }
  std::size_t width = 9;
  for (const wire::ReservationRow& row : table->rows) width = std::max(width, row.reservation.name.size());
  if (!options.no_header)
    context.out.print("{:<{}}  {:>8}  {:>19}  {:>19}  {:>11}  {}\n", "RESV_NAME", width, "STATE", "START_TIME",
                      "END_TIME", "DURATION", "NODELIST");
  for (const wire::ReservationRow& row : table->rows) {
    const model::Occurrence at = model::occurrence(row.reservation, table->as_of);
    const bool active = at.start <= table->as_of && table->as_of < at.end;
    context.out.print("{:<{}}  {:>8}  {:>19}  {:>19}  {:>11}  {}\n", row.reservation.name, width,
                      active ? "ACTIVE" : "INACTIVE", moment(at.start, "Unknown"), moment(at.end, "Unknown"),
                      text::format_clock(std::chrono::floor<seconds>(at.end - at.start)), or_null(row.nodes));
  }
  return 0;
}

}  // namespace

int cmd_sinfo(Context& context) {
  Sinfo options;
  const auto rest = read_line<Sinfo>(context, kOptions, options, Order::Anywhere, 1);
  if (!rest) return rest.error();
  context.consistent |= options.consistent;
  if (options.version) return print_version(context);
  if (options.help || options.usage) {
    context.out.write(options.usage ? std::string(kUsage)
                                    : "Usage: sinfo [OPTIONS]\n" + help_text(rows_of<Sinfo>(kOptions)));
    return 0;
  }
  if (options.all && !options.partitions.empty()) {
    context.error("Conflicting options, -a and -p, specified. Please choose one or the other.");
    return 1;
  }
  if (options.document && options.document->list) return list_document_styles(context);
  if (options.at) {
    if (options.iterate) {
      context.error("--at with --iterate is not supported yet");
      return 1;
    }
    const auto then = context.controller();
    if (then)
      if (const int status = look_back(context, **then, *options.at); status != 0) return status;
  }
  set_time_format(context.env("SLURM_TIME_FORMAT").value_or(""), context.now());
  const auto controller = context.controller();
  if (!controller) {
    context.plain("slurm_load_partitions: {}", words(controller.error()));
    return 1;
  }
  if (!is_this_cluster(context, **controller, options.clusters)) return 1;
  if (options.future) (*controller)->see_future_nodes();
  for (;;) {
    const int status = options.reservations ? show_reservations(context, **controller, options)
                                            : show_once(context, **controller, options);
    if (!options.iterate || status != 0) return status;
    context.out.write("\n");
    context.out.flush();
    context.pause(seconds(*options.iterate));
  }
}

}  // namespace spur::cli
