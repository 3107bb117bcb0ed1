// SPDX-License-Identifier: Apache-2.0
// sreport: sums over a time window. Reports, titles and widths are those of Slurm 22.05; the sums are of the jobs
// themselves, to the second, so the current hour counts as well where it is asked for.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "cli/commands.h"
#include "cli/display.h"
#include "cli/options.h"
#include "cli/users.h"
#include "spur/v1/accounting.pb.h"
#include "text/date.h"
#include "text/decimal.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using Value = std::string_view;

enum class Unit : unsigned char { Seconds, Minutes, Hours, Percent, SecPer, MinPer, HourPer };

struct Sreport {
  bool all_clusters = false, no_header = false, parsable = false, parsable2 = false, help = false, version = false,
       usage = false;
  Unit unit = Unit::Minutes;
  std::string tres = "cpu";
  // behind the report's name
  std::optional<std::string> start, end;
  std::vector<std::string> clusters, accounts, users;
  std::size_t top = 10;
  std::vector<std::uint32_t> sizes{50, 250, 500, 1000};
  bool print_count = false, flat = false;
};

template <bool Sreport::* Field>
OptionStatus flag(Sreport& s, Value) {
  s.*Field = true;
  return {};
}
OptionStatus ignore(Sreport&, Value) {
  return {};
}
OptionStatus set_unit(Sreport& s, Value value) {
  // Slurm takes beginnings; the ones of percentages are asked for first.
  static constexpr std::pair<std::string_view, Unit> kUnits[] = {
      {"secper", Unit::SecPer},   {"minper", Unit::MinPer},   {"hourper", Unit::HourPer}, {"percent", Unit::Percent},
      {"seconds", Unit::Seconds}, {"minutes", Unit::Minutes}, {"hours", Unit::Hours}};
  for (const auto& [name, unit] : kUnits)
    if (!value.empty() && value.size() <= name.size() &&
        text::equal_ignoring_case(name.substr(0, value.size()), value)) {
      const bool short_form = value.size() <= 3 || (value.size() <= 4 && name.starts_with("hour"));
      if (short_form && (unit == Unit::SecPer || unit == Unit::MinPer || unit == Unit::HourPer)) continue;
      s.unit = unit;
      return {};
    }
  return bad_option(fmt::format("unknown time format {}", value), 1);
}
OptionStatus set_tres(Sreport& s, Value value) {
  s.tres = std::string(value);
  return {};
}

constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
// clang-format off
constexpr Option<Sreport> kOptions[] = {
    {{"all_clusters", 'a', N, nullptr, "Use all clusters instead of current"}, flag<&Sreport::all_clusters>},
    {{"federation", 0, N, nullptr, nullptr}, nullptr},
    {{"help", 'h', N, nullptr, "Print this description of use."}, flag<&Sreport::help>},
    {{"local", 0, N, nullptr, "Report local cluster, as always"}, ignore},
    {{"noheader", 'n', N, nullptr, "No header"}, flag<&Sreport::no_header>},
    {{"parsable", 'p', N, nullptr, "output will be '|' delimited with a '|' at the end"}, flag<&Sreport::parsable>},
    {{"parsable2", 'P', N, nullptr, "output will be '|' delimited without a '|' at the end"}, flag<&Sreport::parsable2>},
    {{"quiet", 'Q', N, nullptr, "Print no messages other than error messages"}, ignore},
    {{"time", 't', V, "time_format", "Second, Minute, Hour, Percent, SecPer, MinPer, HourPer"}, set_unit},
    {{"tres", 'T', V, "list", "comma separated list of TRES, or 'ALL' for all TRES"}, set_tres},
    {{"usage", 0, N, nullptr, "Print this description of use."}, flag<&Sreport::usage>},
    {{"verbose", 'v', N, nullptr, "More messages"}, ignore},
    {{"version", 'V', N, nullptr, "Print version"}, flag<&Sreport::version>},
};
// clang-format on

// ---- printing

struct Column {
  std::string_view name;
  int width;
};
using Cells = std::vector<std::string>;

void print_line(Context& context, const Sreport& options, const std::vector<Column>& columns, const Cells& cells,
                bool title = false) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::string value = cells[i];
    if (options.parsable || options.parsable2) {
      line += value;
      if (options.parsable || i + 1 < columns.size()) line += '|';
      continue;
    }
    const auto width = static_cast<std::size_t>(std::abs(columns[i].width));
    if (value.size() > width) {
      value.resize(title ? width : width - 1);
      if (!title) value += '+';
    }
    line += columns[i].width < 0 ? fmt::format("{:<{}} ", value, width) : fmt::format("{:>{}} ", value, width);
  }
  context.out.write(text::printable(line) + "\n");
}

std::string unit_words(Unit unit) {
  switch (unit) {
    case Unit::Seconds:
      return "Seconds";
    case Unit::Minutes:
      return "Minutes";
    case Unit::Hours:
      return "Hours";
    case Unit::Percent:
      return "Percentage of Total";
    case Unit::SecPer:
      return "Seconds/Percentage of Total";
    case Unit::MinPer:
      return "Minutes/Percentage of Total";
    case Unit::HourPer:
      return "Hours/Percentage of Total";
  }
  return "";
}

std::string amount(Unit unit, std::uint64_t secs, std::uint64_t total) {
  const double share = total ? 100.0 * static_cast<double>(secs) / static_cast<double>(total) : 0.0;
  switch (unit) {
    case Unit::Seconds:
      return fmt::format("{}", secs);
    case Unit::Minutes:
      return fmt::format("{}", secs / 60);
    case Unit::Hours:
      return fmt::format("{}", secs / 3600);
    case Unit::Percent:
      return fmt::format("{:.2f}%", share);
    case Unit::SecPer:
      return fmt::format("{}({:.2f}%)", secs, share);
    case Unit::MinPer:
      return fmt::format("{}({:.2f}%)", secs / 60, share);
    case Unit::HourPer:
      return fmt::format("{}({:.2f}%)", secs / 3600, share);
  }
  return "";
}
int amount_width(Unit unit) {
  return unit >= Unit::SecPer ? 18 : unit == Unit::Percent ? 10 : 8;
}

// ---- one report

class Report {
 public:
  Report(Context& context, const Sreport& options, Accounting& accounting)
      : context_(context), options_(options), accounting_(accounting) {}

  // The window in whole hours; yesterday unless said otherwise.
  Status set_window() {
    const Time now = context_.now();
    const Time today = text::parse_date("00:00:00", now, text::DateSense::Past).value_or(now);
    from_ = today - hours(24);
    until_ = today;
    if (options_.start) {
      SPUR_ASSIGN(from_, text::parse_date(*options_.start, now, text::DateSense::Past));
      until_ = std::max(until_, Time(std::chrono::floor<hours>(now)));
    }
    if (options_.end) {
      SPUR_ASSIGN(until_, text::parse_date(*options_.end, now, text::DateSense::Past));
    }
    from_ = std::chrono::floor<hours>(from_);
    until_ = std::chrono::floor<hours>(until_);
    if (until_ <= from_) until_ = from_ + hours(1);
    return {};
  }

  Status load() {
    v1::AcctUsageQuery query;
    if (!options_.all_clusters) {
      for (const auto& name : options_.clusters) query.add_clusters(name);
      if (options_.clusters.empty()) query.add_clusters(accounting_.cluster());
    }
    query.set_from_us(to_micros(from_));
    query.set_until_us(to_micros(until_));
    SPUR_TRY(accounting_.usage(query, &reply_));
    for (const auto& row : reply_.clusters()) totals_[row.cluster() + "\n" + row.tres()] = total_of(row);
    return {};
  }

  void cluster_utilization() {
    title("Cluster Utilization", false);
    const int width = amount_width(options_.unit);
    std::vector<Column> columns{{"Cluster", 9}};
    const bool named = show_tres_name();
    if (named) columns.push_back({"TRES Name", 14});
    for (const char* name : {"Allocated", "Down", "PLND Down", "Idle", "Planned", "Reported"})
      columns.push_back({name, width});
    header(columns);
    for (const auto& tres : wanted_tres())
      for (const auto& row : reply_.clusters()) {
        if (row.tres() != tres) continue;
        const std::uint64_t all = total_of(row);
        Cells cells{row.cluster()};
        if (named) cells.push_back(tres);
        for (const std::uint64_t part :
             {row.allocated(), row.down(), row.planned_down(), row.idle(), row.reserved(), all})
          cells.push_back(amount(options_.unit, part, all));
        print_line(context_, options_, columns, cells);
      }
  }

  // by_account: accounts with their users; else users with their accounts.
  void users(bool by_account) {
    title(by_account ? "Cluster/Account/User Utilization" : "Cluster/User/Account Utilization", true);
    std::vector<Column> columns{{"Cluster", 9}};
    const Column account{"Account", 15}, login{"Login", 9}, name{"Proper Name", 15};
    if (by_account)
      columns.insert(columns.end(), {account, login, name});
    else
      columns.insert(columns.end(), {login, name, account});
    used_columns(columns);
    header(columns);
    for (const auto& tres : wanted_tres()) by_account ? account_rows(columns, tres) : user_rows(columns, tres, 0);
  }

  void top_users() {
    title(fmt::format("Top {} Users", options_.top), true);
    std::vector<Column> columns{{"Cluster", 9}, {"Login", 9}, {"Proper Name", 15}, {"Account", 15}};
    used_columns(columns);
    header(columns);
    for (const auto& tres : wanted_tres()) user_rows(columns, tres, options_.top);
  }

  // Jobs of some sizes, by account; the rows come from the jobs themselves.
  Status sizes() {
    if (!options_.no_header)
      context_.out.write(fmt::format("{0}\nJob Sizes {1} - {2} ({3} secs)\n{4}\n{0}\n", std::string(80, '-'),
                                     moment(from_, ""), moment(until_ - seconds(1), ""), span(),
                                     options_.print_count ? "Units are in number of jobs ran"
                                                          : "Time reported in " + unit_words(options_.unit)));
    std::vector<std::string> names;
    std::uint32_t low = 0;
    for (const auto bound : options_.sizes) {
      names.push_back(fmt::format("{}-{} CPUs", low, bound - 1));
      low = bound;
    }
    names.push_back(fmt::format(">= {} CPUs", low));
    std::vector<Column> columns{{"Cluster", 9}, {"Account", 9}};
    for (const auto& name : names) columns.push_back({name, 13});
    columns.push_back({"% of cluster", 12});
    header(columns);
    std::map<std::pair<std::string, std::string>, std::vector<std::uint64_t>> sums;
    SPUR_TRY(collect_sizes(names.size(), sums));
    std::map<std::string, std::uint64_t> all;
    for (const auto& [key, parts] : sums)
      for (const auto part : parts) all[key.first] += part;
    for (const auto& [key, parts] : sums) {
      Cells cells{key.first, key.second};
      std::uint64_t sum = 0;
      for (const auto part : parts) {
        sum += part;
        cells.push_back(options_.print_count ? fmt::format("{}", part) : amount(options_.unit, part, all[key.first]));
      }
      cells.push_back(amount(Unit::Percent, sum, all[key.first]));
      print_line(context_, options_, columns, cells);
    }
    return {};
  }

 private:
  static std::uint64_t total_of(const v1::AcctClusterUsageRow& row) {
    return row.allocated() + row.down() + row.planned_down() + row.idle() + row.reserved();
  }
  std::int64_t span() const { return std::chrono::duration_cast<seconds>(until_ - from_).count(); }
  bool show_tres_name() const { return options_.tres != "cpu"; }

  std::vector<std::string> wanted_tres() const {
    std::vector<std::string> out;
    if (text::equal_ignoring_case(options_.tres, "ALL")) {
      std::set<std::string> names;
      for (const auto& row : reply_.clusters()) names.insert(row.tres());
      for (const auto& row : reply_.rows()) names.insert(row.tres());
      return {names.begin(), names.end()};
    }
    for (const auto word : text::split(options_.tres, ','))
      if (!word.empty()) out.emplace_back(word);
    return out;
  }

  void title(const std::string& words, bool with_seconds) {
    if (options_.no_header) return;
    const std::string what = show_tres_name() ? "TRES" : "CPU";
    context_.out.write(fmt::format("{0}\n{1} {2} - {3}{4}\nUsage reported in {5} {6}\n{0}\n", std::string(80, '-'),
                                   words, moment(from_, ""), moment(until_ - seconds(1), ""),
                                   with_seconds ? fmt::format(" ({} secs)", span()) : "", what,
                                   unit_words(options_.unit)));
  }
  void header(const std::vector<Column>& columns) {
    if (options_.no_header) return;
    Cells names, lines;
    for (const auto& column : columns) {
      names.emplace_back(column.name);
      lines.emplace_back(static_cast<std::size_t>(std::abs(column.width)), '-');
    }
    print_line(context_, options_, columns, names, true);
    if (!options_.parsable && !options_.parsable2) print_line(context_, options_, columns, lines);
  }
  void used_columns(std::vector<Column>& columns) const {
    if (show_tres_name()) columns.push_back({"TRES Name", 14});
    columns.push_back({"Used", amount_width(options_.unit)});
    if (!show_tres_name()) columns.push_back({"Energy", amount_width(options_.unit)});
  }
  void add_used(Cells& cells, const std::string& cluster, const std::string& tres, std::uint64_t secs) const {
    if (show_tres_name()) cells.push_back(tres);
    const auto total = totals_.find(cluster + "\n" + tres);
    cells.push_back(amount(options_.unit, secs, total == totals_.end() ? 0 : total->second));
    if (!show_tres_name()) cells.push_back(amount(options_.unit, 0, 1));
  }
  bool is_wanted(const v1::AcctUsageRow& row) const {
    const auto holds = [](const auto& list, const std::string& value) {
      return list.empty() || std::ranges::find(list, value) != list.end();
    };
    return holds(options_.accounts, row.account()) && holds(options_.users, login_of(row));
  }
  static std::string login_of(const v1::AcctUsageRow& row) {
    return row.user().empty() ? user_name(Uid{row.uid()}) : row.user();
  }

  void account_rows(const std::vector<Column>& columns, const std::string& tres) {
    std::map<std::pair<std::string, std::string>, std::map<std::string, std::uint64_t>> accounts;
    for (const auto& row : reply_.rows())
      if (row.tres() == tres && is_wanted(row))
        accounts[{row.cluster(), row.account()}][login_of(row)] += row.seconds();
    for (const auto& [key, logins] : accounts) {
      std::uint64_t sum = 0;
      for (const auto& [login, secs] : logins) sum += secs;
      Cells whole{key.first, key.second, "", ""};
      add_used(whole, key.first, tres, sum);
      print_line(context_, options_, columns, whole);
      for (const auto& [login, secs] : logins) {
        Cells cells{key.first, key.second, login, login};
        add_used(cells, key.first, tres, secs);
        print_line(context_, options_, columns, cells);
      }
    }
  }

  // The largest first; `limit` 0: all of them, by name.
  void user_rows(const std::vector<Column>& columns, const std::string& tres, std::size_t limit) {
    struct Row {
      std::string cluster, login, account;
      std::uint64_t secs = 0;
    };
    std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> sums;
    for (const auto& row : reply_.rows())
      if (row.tres() == tres && is_wanted(row)) sums[{row.cluster(), login_of(row), row.account()}] += row.seconds();
    std::vector<Row> rows;
    for (const auto& [key, secs] : sums) rows.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), secs});
    if (limit > 0) {
      std::ranges::stable_sort(rows, std::greater{}, &Row::secs);
      if (rows.size() > limit) rows.resize(limit);
    }
    for (const auto& row : rows) {
      Cells cells{row.cluster, row.login, row.login, row.account};
      add_used(cells, row.cluster, tres, row.secs);
      print_line(context_, options_, columns, cells);
    }
  }

  Status collect_sizes(std::size_t classes,
                       std::map<std::pair<std::string, std::string>, std::vector<std::uint64_t>>& sums) {
    v1::AcctJobQuery query;
    if (!options_.all_clusters) query.add_clusters(accounting_.cluster());
    query.set_from_us(to_micros(from_));
    query.set_until_us(to_micros(until_));
    query.set_duplicates(true);
    const Time now = context_.now();
    return accounting_.jobs(query, [&](const v1::AcctJobRow& row) {
      const auto& job = row.job();
      if (!job.started_us()) return;
      const Time end = std::min({job.ended_us() ? from_micros(job.ended_us()) : now, until_, now});
      const Duration ran = end - std::max(from_micros(job.started_us()), from_);
      if (ran <= Duration(0)) return;
      const auto at = std::ranges::upper_bound(options_.sizes, job.cpus_allocated()) - options_.sizes.begin();
      auto& list = sums[{row.cluster(), job.account()}];
      list.resize(classes);
      list[static_cast<std::size_t>(at)] +=
          options_.print_count
              ? 1
              : static_cast<std::uint64_t>(std::chrono::duration_cast<seconds>(ran).count()) * job.cpus_allocated();
    });
  }

  Context& context_;
  const Sreport& options_;
  Accounting& accounting_;
  Time from_, until_;
  v1::AcctUsageReply reply_;
  std::map<std::string, std::uint64_t> totals_;
};

// "start=...", "accounts=a,b", "topcount=5", "grouping=10,100", "printjobcount".
Status take_words(Sreport& options, const std::vector<std::string>& words) {
  const auto list = [](std::string_view text) {
    std::vector<std::string> out;
    for (const auto word : text::split(text, ','))
      if (!word.empty()) out.emplace_back(word);
    return out;
  };
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const auto equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    const auto is = [&](std::string_view whole, std::size_t least) {
      return name.size() >= least && name.size() <= whole.size() &&
             text::equal_ignoring_case(whole.substr(0, name.size()), name);
    };
    if (is("start", 1))
      options.start = std::string(value);
    else if (is("end", 2))
      options.end = std::string(value);
    else if (is("clusters", 2))
      options.clusters = list(value);
    else if (is("accounts", 2))
      options.accounts = list(value);
    else if (is("users", 1))
      options.users = list(value);
    else if (is("all_clusters", 3))
      options.all_clusters = true;
    else if (is("printjobcount", 2))
      options.print_count = true;
    else if (is("flatview", 2))
      options.flat = true;
    else if (is("topcount", 2)) {
      const auto count = text::parse_decimal32(value);
      if (!count || *count == 0) return fail(ErrorCode::InvalidArgument, fmt::format("Bad TopCount: {}", value));
      options.top = *count;
    } else if (is("grouping", 2)) {
      options.sizes.clear();
      for (const auto& size : list(value)) {
        const auto number = text::parse_decimal32(size);
        if (!number || (!options.sizes.empty() && *number <= options.sizes.back()))
          return fail(ErrorCode::InvalidArgument, fmt::format("Bad grouping: {}", value));
        options.sizes.push_back(*number);
      }
    } else {
      return fail(ErrorCode::NotSupported, fmt::format("{} is not supported yet", word));
    }
  }
  return {};
}

int run(Context& context, Sreport& options, const std::vector<std::string>& words) {
  const auto like = [](std::string_view given, std::string_view whole, std::size_t least) {
    return given.size() >= least && given.size() <= whole.size() &&
           text::equal_ignoring_case(whole.substr(0, given.size()), given);
  };
  const std::string &kind = words[0], report = words.size() > 1 ? words[1] : std::string();
  const bool cluster = like(kind, "cluster", 1), job = like(kind, "job", 1), user = like(kind, "user", 1);
  if (!cluster && !job && !user) {
    context.plain("invalid keyword: {}", kind);
    return 1;
  }
  auto accounting = context.connect_accounting();
  if (!accounting) {
    context.plain("{}", accounting.error().message);
    return 1;
  }
  Report out(context, options, **accounting);
  const auto ready = [&]() -> Status {
    SPUR_TRY(take_words(options, words));
    SPUR_TRY(out.set_window());
    return out.load();
  };
  const auto done = [&](const Status& status) {
    if (!status) context.error("{}", cli::words(status.error()));
    return status ? 0 : 1;
  };
  if (cluster && like(report, "Utilization", 2)) {
    const Status ok = ready();
    if (ok) out.cluster_utilization();
    return done(ok);
  }
  if (cluster && (like(report, "AccountUtilizationByUser", 1) || like(report, "UserUtilizationByAccount", 16))) {
    const Status ok = ready();
    if (ok) out.users(like(report, "AccountUtilizationByUser", 1));
    return done(ok);
  }
  if (job && (report.empty() || text::equal_ignoring_case(report, "SizesByAccount"))) {
    Status ok = ready();
    if (ok) ok = out.sizes();
    return done(ok);
  }
  if (user && like(report, "TopUsage", 1)) {
    const Status ok = ready();
    if (ok) out.top_users();
    return done(ok);
  }
  const bool known = like(report, "UserUtilizationByWckey", 16) || like(report, "WCKeyUtilizationByUser", 1) ||
                     like(report, "SizesByAccountAndWckey", 15) || like(report, "SizesByWckey", 7);
  if (known) return context.error("{} {} is not supported yet", kind, report), 1;
  context.plain("Not valid report {}", report);
  if (cluster)
    context.plain(
        "Valid cluster reports are, \"AccountUtilizationByUser\", \"UserUtilizationByAccount\", "
        "\"UserUtilizationByWckey\", \"Utilization\", and \"WCKeyUtilizationByUser\"");
  else if (job)
    context.plain("Valid job reports are, \"SizesByAccount, SizesByAccountAndWcKey, and SizesByWckey\"");
  else
    context.plain("Valid user reports are, \"Top\"");
  return 1;
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
  if (rest->empty()) {
    context.error("reading commands from standard input is not supported yet; name a report");
    return 1;
  }
  set_time_format(context.env("SLURM_TIME_FORMAT").value_or(""), context.now());
  return run(context, options, *rest);
}

}  // namespace spur::cli
