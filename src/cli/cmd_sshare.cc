// SPDX-License-Identifier: Apache-2.0
// sshare: shares and usage of accounts and users. Columns, widths and wordings are those of Slurm 22.05.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/display.h"
#include "cli/options.h"
#include "cli/users.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using Value = std::string_view;

struct Sshare {
  bool all = false, long_form = false, no_header = false, parsable = false, parsable2 = false, partitions = false,
       users_only = false, help = false, help_format = false, usage = false, version = false;
  int verbose = 0;
  std::vector<std::string> accounts, users;
  std::optional<std::string> format;
  ClusterList clusters;
};

template <bool Sshare::* Field>
OptionStatus flag(Sshare& s, Value) {
  s.*Field = true;
  return {};
}
OptionStatus set_verbose(Sshare& s, Value) {
  ++s.verbose;
  return {};
}
OptionStatus set_accounts(Sshare& s, Value value) {
  for (const auto word : text::split(value, ','))
    if (!word.empty()) s.accounts.push_back(text::lower(std::string(word)));
  return {};
}
OptionStatus set_users(Sshare& s, Value value) {
  for (const auto word : text::split(value, ','))
    if (!word.empty()) s.users.emplace_back(word);
  return {};
}
OptionStatus set_clusters(Sshare& s, Value value) {
  s.clusters = parse_clusters(value);
  return {};
}
OptionStatus set_format(Sshare& s, Value value) {
  s.format = std::string(value);
  return {};
}

constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
// clang-format off
constexpr Option<Sshare> kOptions[] = {
    {{"all", 'a', N, nullptr, "list all users"}, flag<&Sshare::all>},
    {{"accounts", 'A', V, "account(s)", "display specific accounts (comma separated list)"}, set_accounts},
    {{"helpformat", 'e', N, nullptr, "print a list of fields that can be specified with the '--format' option"}, flag<&Sshare::help_format>},
    {{"long", 'l', N, nullptr, "include normalized usage in output"}, flag<&Sshare::long_form>},
    {{"partition", 'm', N, nullptr, "print the partition part of the association"}, flag<&Sshare::partitions>},
    {{"clusters", 'M', V, "cluster_name", "clusters to ask: this one's name, or all", "cluster"}, set_clusters},
    {{"noheader", 'n', N, nullptr, "omit header from output", "noheader"}, flag<&Sshare::no_header>},
    {{"format", 'o', V, "format", "comma separated list of fields"}, set_format},
    {{"parsable", 'p', N, nullptr, "'|' delimited output with a trailing '|'"}, flag<&Sshare::parsable>},
    {{"parsable2", 'P', N, nullptr, "'|' delimited output without a trailing '|'"}, flag<&Sshare::parsable2>},
    {{"users", 'u', V, "user(s)", "display specific users (comma separated list)", "uid"}, set_users},
    {{"Users", 'U', N, nullptr, "display only user information"}, flag<&Sshare::users_only>},
    {{"verbose", 'v', N, nullptr, "display more information"}, set_verbose},
    {{"version", 'V', N, nullptr, "display tool version number"}, flag<&Sshare::version>},
    {{"help", 'h', N, nullptr, "display this help"}, flag<&Sshare::help>},
    {{"usage", 0, N, nullptr, "display this help"}, flag<&Sshare::usage>},
};
// clang-format on

constexpr std::string_view kUsage =
    "Usage:  sshare [OPTION]\n"
    "  Valid OPTIONs are:\n";

// ---- columns

struct Line {
  const wire::ShareTable& table;
  const wire::ShareRow& row;
  const Sshare& options;
};

std::string fixed(double value) {
  return std::isinf(value) ? "inf" : fmt::format("{:.6f}", value);
}

// The tree shows by blanks; the name of a user's row is its account's.
std::string account(const Line& l) {
  return std::string(l.row.depth, ' ') + l.row.association.account;
}
std::string shares(const Line& l) {
  if (l.row.association.parent == 0) return "";
  if (l.row.association.shares == model::kShareOfParent) return "parent";
  return fmt::format("{}", l.row.association.shares);
}
bool stands(const Line& l) {
  return l.row.association.shares != model::kShareOfParent;
}
std::string norm_shares(const Line& l) {
  return l.table.multifactor ? fixed(l.row.norm_shares) : "";
}
std::string norm_usage(const Line& l) {
  return l.table.multifactor && l.row.association.parent ? fixed(l.row.norm_usage) : "";
}
std::string level(const Line& l) {
  if (!l.table.multifactor) return stands(l) ? fixed(0) : "";
  if (!l.table.fair_tree) return fixed(0);
  if (l.row.association.parent == 0 || !stands(l)) return "";
  return fixed(l.row.level_fs);
}
std::string factor(const Line& l) {
  if (!l.row.association.is_user() && (l.table.fair_tree || !l.table.multifactor)) return "";
  return fixed(l.table.multifactor ? l.row.factor : 0);
}
std::string tres_minutes(const Line& l, const std::vector<std::uint64_t>& amounts) {
  std::string out;
  for (std::size_t i = 0; i < l.table.tres.size() && i < amounts.size(); ++i)
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", l.table.tres[i], amounts[i] / 60);
  return out;
}
std::string group_minutes(const Line& l) {
  std::string out;
  for (const model::TresCount& one : l.row.association.group.tres_minutes)
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", one.tres, one.count);
  return out;
}

struct ShareColumn {
  std::string_view name;
  int width;  // negative: to the left
  std::string (*value)(const Line&);
};
constexpr ShareColumn kColumns[] = {
    {"Account", -20, account},
    {"Cluster", 10, [](const Line& l) { return l.table.cluster; }},
    {"EffectvUsage", 13, [](const Line& l) { return fixed(l.table.multifactor ? l.row.effective_usage : 0); }},
    {"FairShare", 10, factor},
    {"GrpTRESMins", 30, group_minutes},
    {"GrpTRESRaw", 30, [](const Line& l) { return tres_minutes(l, l.row.used_seconds); }},
    {"ID", 6, [](const Line& l) { return fmt::format("{}", l.row.association.id); }},
    {"LevelFS", 10, level},
    {"NormShares", 11, norm_shares},
    {"NormUsage", 11, norm_usage},
    {"Partition", 12, [](const Line& l) { return l.row.association.partition; }},
    {"RawShares", 10, shares},
    {"RawUsage", 11, [](const Line& l) { return fmt::format("{}", l.row.raw_usage); }},
    {"TRESRunMins", 30, [](const Line& l) { return tres_minutes(l, l.row.run_seconds); }},
    {"User", 10, [](const Line& l) { return l.row.association.user; }},
};

struct Chosen {
  const ShareColumn* column;
  int width;
};

// "account,user%20": a beginning of a name will do. The word that names nothing otherwise.
std::expected<std::vector<Chosen>, std::string> choose(std::string_view format) {
  std::vector<Chosen> out;
  for (const std::string_view item : text::split(format, ',')) {
    if (item.empty()) continue;
    const std::size_t percent = item.find('%');
    const std::string_view name = item.substr(0, percent);
    const auto column = std::ranges::find_if(kColumns, [&](const ShareColumn& one) {
      return !name.empty() && name.size() <= one.name.size() &&
             text::equal_ignoring_case(one.name.substr(0, name.size()), name);
    });
    if (column == std::end(kColumns)) return std::unexpected(std::string(item));
    int width = column->width;
    if (percent != std::string_view::npos) width = std::atoi(std::string(item.substr(percent + 1)).c_str());
    out.push_back({column, width == 0 ? column->width : width});
  }
  return out;
}

std::string_view standard_format(const Sshare& options, const wire::ShareTable& table) {
  if (!options.long_form)
    return options.partitions ? "Account,User,Partition,RawShares,NormShares,RawUsage,EffectvUsage,FairShare"
                              : "Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare";
  if (!table.fair_tree && table.multifactor)
    return options.partitions
               ? "Account,User,Partition,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,"
                 "GrpTRESMins,TRESRunMins"
               : "Account,User,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,"
                 "GrpTRESMins,TRESRunMins";
  return options.partitions ? "Account,User,Partition,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,"
                              "LevelFS,GrpTRESMins,TRESRunMins"
                            : "Account,User,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,LevelFS,"
                              "GrpTRESMins,TRESRunMins";
}

std::string cell(std::string text, int width) {
  text = text::printable(text);
  const auto most = static_cast<std::size_t>(std::abs(width));
  if (text.size() > most) text = text.substr(0, most - 1) + "+";
  const std::string fill(most - text.size(), ' ');
  return width < 0 ? text + fill : fill + text;
}

void print(Context& context, const Sshare& options, const std::vector<Chosen>& columns,
           const std::function<std::string(const Chosen&)>& value) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (options.parsable || options.parsable2) {
      line += text::printable(value(columns[i]));
      if (options.parsable || i + 1 < columns.size()) line += '|';
    } else {
      line += cell(value(columns[i]), columns[i].width) + " ";
    }
  }
  context.out.write(line + "\n");
}

// Accounts always, users if they are asked for: all, some, or the caller.
bool is_shown(const Sshare& options, const model::Association& row, const std::string& me) {
  if (!options.accounts.empty() && std::ranges::find(options.accounts, row.account) == options.accounts.end())
    return false;
  if (!row.is_user()) return !options.users_only;
  if (options.all) return true;
  if (!options.users.empty()) return std::ranges::find(options.users, row.user) != options.users.end();
  return row.user == me;
}

int show(Context& context, const Sshare& options, const wire::ShareTable& table) {
  if (options.verbose > 0) {
    const std::vector<std::string> me_alone = {user_name(Uid{::getuid()})}, everybody = {"all"};
    const auto& users = options.all ? everybody : options.users.empty() ? me_alone : options.users;
    const auto list = [&](std::string_view what, const std::vector<std::string>& names) {
      context.plain("{} requested:", what);
      for (const std::string& name : names) context.plain("\t: {}", name);
    };
    list("Users", users);
    list("Accounts", options.accounts.empty() ? everybody : options.accounts);
  }
  const auto columns = choose(options.format.value_or(std::string(standard_format(options, table))));
  if (!columns) {
    context.error("Invalid field requested: \"{}\"", columns.error());
    return 1;
  }
  print_cluster_line(context, options.clusters, table.cluster);
  const bool delimited = options.parsable || options.parsable2;
  if (!options.no_header) {
    // A title that is too long is cut without a mark.
    print(context, options, *columns, [delimited](const Chosen& c) {
      const auto width = static_cast<std::size_t>(std::abs(c.width));
      return std::string(delimited ? c.column->name : c.column->name.substr(0, width));
    });
    if (!delimited)
      print(context, options, *columns,
            [](const Chosen& c) { return std::string(static_cast<std::size_t>(std::abs(c.width)), '-'); });
  }
  const std::string me = user_name(Uid{::getuid()});
  std::vector<std::uint32_t> above;  // depths of the shown rows that this one is below of: what is not shown indents nothing
  for (const wire::ShareRow& row : table.rows) {
    if (!is_shown(options, row.association, me)) continue;
    while (!above.empty() && above.back() >= row.depth) above.pop_back();
    wire::ShareRow placed = row;
    placed.depth = static_cast<std::uint32_t>(above.size());
    above.push_back(row.depth);
    print(context, options, *columns, [&](const Chosen& c) { return c.column->value({table, placed, options}); });
  }
  return 0;
}

int help_format(Context& context) {
  std::size_t n = 0;
  for (const ShareColumn& column : kColumns) {
    if (n > 0) context.out.write(n % 4 == 0 ? "\n" : " ");
    context.out.write(fmt::format("{:<17}", column.name));
    ++n;
  }
  context.out.write("\n");
  return 0;
}

}  // namespace

int cmd_sshare(Context& context) {
  Sshare options;
  const auto rest = read_line<Sshare>(context, kOptions, options, Order::Anywhere, 1);
  if (!rest) return rest.error();
  if (options.version) return print_version(context);
  if (options.help_format) return help_format(context);
  if (options.help || options.usage) {
    context.out.write(std::string(kUsage) + help_text(rows_of<Sshare>(kOptions)));
    return 0;
  }
  const auto controller = context.controller();
  if (controller && !is_this_cluster(context, **controller, options.clusters)) return 1;
  const auto table = controller ? (*controller)->shares() : std::unexpected(controller.error());
  if (!table) {
    context.error("Couldn't get shares from controller: {}", words(table.error()));
    return 1;
  }
  return show(context, options, *table);
}

}  // namespace spur::cli
