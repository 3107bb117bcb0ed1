// SPDX-License-Identifier: Apache-2.0
// sreport: sums over a time window. Without a report's name it reads lines from its input until quit.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/display.h"
#include "cli/options.h"
#include "cli/sreport.h"
#include "text/decimal.h"
#include "text/directives.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using Value = std::string_view;
using Words = std::vector<std::string>;

struct Sreport {
  ReportStyle style;
  bool help = false, version = false, usage = false, tres_given = false;
};

template <bool ReportStyle::* Field>
OptionStatus style(Sreport& s, Value) {
  s.style.*Field = true;
  return {};
}
template <bool Sreport::* Field>
OptionStatus flag(Sreport& s, Value) {
  s.*Field = true;
  return {};
}
OptionStatus ignore(Sreport&, Value) {
  return {};
}

bool set_time_unit(ReportStyle& style, Value value) {
  // Slurm takes beginnings; the ones of percentages only where they are longer than those of the units.
  static constexpr struct {
    std::string_view name;
    std::size_t least;
    ReportUnit unit;
  } kUnits[] = {{"SecPer", 6, ReportUnit::SecPer},   {"MinPer", 6, ReportUnit::MinPer},
                {"HourPer", 6, ReportUnit::HourPer}, {"Percent", 1, ReportUnit::Percent},
                {"Seconds", 1, ReportUnit::Seconds}, {"Minutes", 1, ReportUnit::Minutes},
                {"Hours", 1, ReportUnit::Hours}};
  for (const auto& known : kUnits)
    if (value.size() >= known.least && text::starts_with_ignoring_case(known.name, value)) {
      style.unit = known.unit;
      return true;
    }
  return false;
}
// An unknown unit is complained of and does not count, as in Slurm.
OptionStatus set_unit(Sreport& s, Value value) {
  if (!set_time_unit(s.style, value)) return bad_option(fmt::format("unknown time format {}", value), 1);
  return {};
}
OptionStatus set_tres(Sreport& s, Value value) {
  s.style.tres = std::string(value);
  return {};
}

OptionStatus set_clusters(Sreport& s, Value value) {
  for (const auto word : text::split(value, ','))
    if (!word.empty()) s.style.clusters.push_back(text::lower(std::string(word)));
  return {};
}

constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
// clang-format off
constexpr Option<Sreport> kOptions[] = {
    {{"all_clusters", 'a', N, nullptr, "Use all clusters instead of current"}, style<&ReportStyle::all_clusters>},
    {{"cluster", 'M', V, "list", "Report these clusters instead of the current one", "clusters"}, set_clusters},
    {{"federation", 0, N, nullptr, "There are no federations: as --local"}, ignore},
    {{"help", 'h', N, nullptr, "Print this description of use."}, flag<&Sreport::help>},
    {{"local", 0, N, nullptr, "Report local cluster, as always"}, ignore},
    {{"noheader", 'n', N, nullptr, "No header"}, style<&ReportStyle::no_header>},
    {{"parsable", 'p', N, nullptr, "output will be '|' delimited with a '|' at the end"}, style<&ReportStyle::parsable>},
    {{"parsable2", 'P', N, nullptr, "output will be '|' delimited without a '|' at the end"}, style<&ReportStyle::parsable2>},
    {{"quiet", 'Q', N, nullptr, "Print no messages other than error messages"}, style<&ReportStyle::quiet>},
    {{"time", 't', V, "time_format", "Second, Minute, Hour, Percent, SecPer, MinPer, HourPer"}, set_unit},
    {{"tres", 'T', V, "list", "comma separated list of TRES, or 'ALL' for all TRES"}, set_tres},
    {{"usage", 0, N, nullptr, "Print this description of use."}, flag<&Sreport::usage>},
    {{"verbose", 'v', N, nullptr, "More messages"}, ignore},
    {{"version", 'V', N, nullptr, "Print version"}, flag<&Sreport::version>},
};
// clang-format on

bool is(std::string_view typed, std::string_view name, std::size_t least) {
  return typed.size() >= least && text::starts_with_ignoring_case(name, typed);
}

std::vector<std::string> list_in(std::string_view text) {
  std::vector<std::string> out;
  for (const auto word : text::split(text, ','))
    if (!word.empty()) out.emplace_back(word);
  return out;
}

// ---- words behind the report's name

struct Condition {
  std::string_view name;
  std::size_t least;
  void (*set)(ReportWish& wish, std::string_view value);
};
template <std::vector<std::string> ReportWish::* Field>
void into_list(ReportWish& wish, std::string_view value) {
  wish.*Field = list_in(value);
}
template <bool ReportWish::* Field>
void into_flag(ReportWish& wish, std::string_view) {
  wish.*Field = true;
}
constexpr Condition kConditions[] = {
    {"accounts", 2, into_list<&ReportWish::accounts>},
    {"acctasparent", 3, into_flag<&ReportWish::as_parent>},
    {"all_clusters", 2, into_flag<&ReportWish::all_clusters>},
    {"clusters", 1, into_list<&ReportWish::clusters>},
    {"end", 1, [](ReportWish& wish, std::string_view value) { wish.end = std::string(value); }},
    {"flatview", 2, into_flag<&ReportWish::flat>},
    {"format", 1, [](ReportWish& wish, std::string_view value) { wish.format = std::string(value); }},
    {"gid", 2, into_list<&ReportWish::groups>},
    {"group", 5, into_flag<&ReportWish::grouped>},
    {"jobs", 1, into_list<&ReportWish::jobs>},
    {"names", 2, into_list<&ReportWish::names>},
    {"nodes", 2, [](ReportWish& wish, std::string_view value) { wish.nodes = std::string(value); }},
    {"partitions", 2, into_list<&ReportWish::partitions>},
    {"printjobcount", 2, into_flag<&ReportWish::count_jobs>},
    {"start", 1, [](ReportWish& wish, std::string_view value) { wish.start = std::string(value); }},
    {"tree", 2, into_flag<&ReportWish::tree>},
    {"users", 1, into_list<&ReportWish::users>},
    {"wckeys", 2, into_list<&ReportWish::wckeys>},
};

void take_grouping(Context& context, ReportWish& wish, std::string_view value) {
  if (text::equal_ignoring_case(value, "individual")) {
    wish.individual = true;
    return;
  }
  std::vector<std::uint32_t> sizes;
  for (const auto& word : list_in(value)) {
    const auto number = text::parse_decimal32(word);
    if (!number || *number == 0 || (!sizes.empty() && *number <= sizes.back())) {
      context.error("Invalid value for Grouping ({})", value);
      wish.bad = true;
      return;
    }
    sizes.push_back(*number);
  }
  wish.sizes = std::move(sizes);
}

void take_word(Context& context, ReportWish& wish, std::string_view word) {
  const auto equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
  if (is(name, "where", 5) || is(name, "set", 3)) return;
  if (is(name, "grouping", 2) && equals != std::string_view::npos) return take_grouping(context, wish, value);
  if (is(name, "topcount", 2)) {
    const auto count = text::parse_decimal32(value);
    if (count) {
      wish.top = *count;
      return;
    }
    context.error("Invalid value for TopCount ({})", value);
    wish.bad = true;
    return;
  }
  const auto known =
      std::ranges::find_if(kConditions, [&](const Condition& c) { return is(name, c.name, c.least); });
  if (known != std::end(kConditions)) return known->set(wish, value);
  context.plain(" Unknown condition: {}", word);
  context.plain("Use keyword set to modify value");
  wish.bad = true;
}

// ---- reports

struct ReportRow {
  std::string_view name;
  std::size_t least;
  Status (*run)(Report& report);
};
constexpr ReportRow kClusterReports[] = {{"AccountUtilizationByUser", 1, report_accounts_by_user},
                                         {"UserUtilizationByAccount", 18, report_users_by_account},
                                         {"UserUtilizationByWckey", 18, report_users_by_wckey},
                                         {"Utilization", 2, report_cluster_utilization},
                                         {"WCKeyUtilizationByUser", 1, report_wckeys_by_user}};
constexpr ReportRow kJobReports[] = {{"SizesByAccount", 1, report_sizes_by_account},
                                     {"SizesByAccountAndWcKey", 15, report_sizes_by_account_and_wckey},
                                     {"SizesByWcKey", 8, report_sizes_by_wckey}};
constexpr ReportRow kReservationReports[] = {{"Utilization", 1, report_reservations}};
constexpr ReportRow kUserReports[] = {{"TopUsage", 1, report_top_users}};

struct Kind {
  std::string_view name;
  std::size_t least;
  std::span<const ReportRow> reports;
  std::string_view valid;
};
constexpr Kind kKinds[] = {
    {"cluster", 2, kClusterReports,
     "Valid cluster reports are, \"AccountUtilizationByUser\", \"UserUtilizationByAccount\", "
     "\"UserUtilizationByWckey\", \"Utilization\", and \"WCKeyUtilizationByUser\""},
    {"job", 1, kJobReports, "Valid job reports are, \"SizesByAccount, SizesByAccountAndWcKey, and  SizesByWckey\""},
    {"reservation", 2, kReservationReports, "Valid reservation reports are, \"Utilization\""},
    {"user", 1, kUserReports, "Valid user reports are, \"Top\""},
};

int run_report(Context& context, const ReportStyle& style, const ReportRow& row, std::span<const std::string> words) {
  ReportWish wish;
  for (const auto& word : words) take_word(context, wish, word);
  const auto run = [&]() -> Status {
    SPUR_ASSIGN(const auto accounting, context.connect_accounting());
    SPUR_ASSIGN(const auto accounts, context.connect_accounts());
    Report report{.context = context, .style = style, .wish = wish, .accounting = *accounting, .from = {}, .until = {}};
    SPUR_ASSIGN(auto known, accounts->read(true));  // what was deleted since is still where it was
    report.records = std::move(known.records);
    if (const auto tres = report.wanted_tres(); !tres) return std::unexpected(tres.error());
    SPUR_TRY(report.set_window());
    SPUR_TRY(report.load());
    return row.run(report);
  };
  if (const Status status = run(); !status) {
    if (status.error().code == ErrorCode::NotFound)
      context.fatal("{}", status.error().message);
    else if (status.error().code == ErrorCode::RequestDisabled)
      context.plain("{}", status.error().message);
    else
      context.error("{}", cli::words(status.error()));
    return 1;
  }
  return wish.bad ? 1 : 0;
}

struct Session {
  Context& context;
  ReportStyle style;
  int status = 0;
  bool quit = false;
};

// "parsable", "time minutes" and the like.
bool run_setting(Session& session, const Words& words) {
  const std::string& word = words.front();
  const auto lone = [&](std::string_view name, std::size_t least) { return is(word, name, least); };
  if (lone("exit", 1) || lone("quit", 4) || lone("\\q", 2)) return session.quit = true;
  if (lone("quiet", 5)) return session.style.quiet = true;
  if (lone("noheader", 2)) return session.style.no_header = true;
  if (lone("nonparsable", 2)) return session.style.parsable = session.style.parsable2 = false, true;
  if (lone("parsable", 2)) return session.style.parsable = true;
  if (lone("local", 2)) return session.style.all_clusters = false, true;
  if (lone("help", 2))
    return session.context.out.write("sreport [<OPTION>] [<COMMAND>]\n" + help_text(rows_of<Sreport>(kOptions))), true;
  if (lone("version", 4)) return print_version(session.context), true;
  if (lone("verbose", 4)) return true;
  if (lone("time", 1)) {
    if (words.size() < 2) {
      session.context.plain("too few arguments for keyword:{}", word);
      session.status = 1;
    } else if (!set_time_unit(session.style, words[1])) {
      session.context.plain("unknown time format {}", words[1]);
    }
    return true;
  }
  return false;
}

void run_words(Session& session, const Words& words) {
  if (words.empty()) return;
  const auto fail = [&](const std::string& line) { session.context.plain("{}", line), session.status = 1; };
  const auto kind = std::ranges::find_if(kKinds, [&](const Kind& k) { return is(words.front(), k.name, k.least); });
  if (kind == std::end(kKinds)) {
    if (!run_setting(session, words)) fail(fmt::format("invalid keyword: {}", words.front()));
    return;
  }
  if (words.size() < 2) return fail(fmt::format("too few arguments for keyword:{}", words.front()));
  // The longer name is meant where both begin alike.
  const ReportRow* found = nullptr;
  for (const ReportRow& row : kind->reports)
    if (is(words[1], row.name, row.least) && (!found || text::equal_ignoring_case(words[1], row.name))) found = &row;
  if (!found) {
    fail(fmt::format("Not valid report {}", words[1]));
    return fail(std::string(kind->valid));
  }
  const int status = run_report(session.context, session.style, *found, std::span(words).subspan(2));
  if (status) session.status = status;
}

// Lines from standard input until its end or "quit"; "!!" repeats the line before.
void run_session(Session& session) {
  Words last;
  std::string line;
  const bool typed = ::isatty(session.context.input);
  bool more = true;
  while (more && !session.quit) {
    session.context.out.write("sreport: ");
    session.context.out.flush();
    line.clear();
    char c = 0;
    while ((more = ::read(session.context.input, &c, 1) == 1) && c != '\n') line.push_back(c);
    // A line that does not come from a terminal is shown behind the prompt, as if it had been typed.
    if (!typed) session.context.out.write(line + "\n");
    auto words = text::split_directive(line);
    if (!words) {
      session.context.plain("{}", words.error().message);
      session.status = 1;
    } else if (*words == Words{"!!"}) {
      run_words(session, last);
    } else if (!words->empty()) {
      last = *words;
      run_words(session, last);
    }
  }
}

}  // namespace

int cmd_sreport(Context& context) {
  Sreport options;
  const auto rest = read_line<Sreport>(context, kOptions, options, Order::Anywhere, 1);
  if (!rest) return rest.error();
  if (options.version) return print_version(context);
  if (options.help || options.usage) {
    context.out.write("Usage: sreport [OPTION] REPORT_TYPE REPORT [OPTIONS]\n" +
                      (options.usage ? std::string() : help_text(rows_of<Sreport>(kOptions))));
    return 0;
  }
  set_time_format(context.env("SLURM_TIME_FORMAT").value_or(""), context.now());
  Session session{context, options.style};
  if (rest->empty())
    run_session(session);
  else
    run_words(session, *rest);
  return session.status;
}

}  // namespace spur::cli
