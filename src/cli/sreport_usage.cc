// SPDX-License-Identifier: Apache-2.0
// The reports of clusters, accounts, users and wckeys: sums that spurdbd made.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "cli/name_service.h"
#include "cli/sreport.h"
#include "cli/users.h"

namespace spur::cli {
namespace {

using Cells = ReportTable::Cells;
using Amounts = std::map<std::string, std::uint64_t>;  // by TRES, seconds

constexpr ReportField kFields[] = {
    {"Accounts", 1, "Account", 15},
    {"Allocated", 2, "Allocated", 8, true},
    {"Cluster", 2, "Cluster", 9},
    {"CPUCount", 2, "TRES Count", 10},
    {"TRESCount", 5, "TRES Count", 10},
    {"Count", 2, "TRES Count", 10},
    {"Down", 1, "Down", 8, true},
    {"Energy", 1, "Energy", 8, true},
    {"Idle", 1, "Idle", 8, true},
    {"Login", 1, "Login", 9},
    {"Overcommitted", 1, "Over Comm", 9, true},
    {"PlannedDown", 2, "PLND Down", 8, true},
    {"ProperName", 2, "Proper Name", 15},
    {"Reported", 3, "Reported", 8, true},
    {"Reserved", 3, "Planned", 8, true},
    {"TRESName", 5, "TRES Name", 14},
    {"Used", 1, "Used", 8, true},
    {"WCKey", 1, "WCKey", 15},
};
// Of users alone there is nothing to say of wckeys.
constexpr ReportField kTopFields[] = {
    {"Accounts", 1, "Account", 15}, {"Cluster", 1, "Cluster", 9}, {"Energy", 1, "Energy", 8, true},
    {"Login", 1, "Login", 9},       {"ProperName", 1, "Proper Name", 15}, {"TRESName", 5, "TRES Name", 14},
    {"Used", 1, "Used", 8, true},
};

// What the name service says the user is called; empty where it does not say.
std::string full_name(const std::string& login) {
  const auto found = NameService().find(NameService::Database::Passwd, login, false);
  if (!found || found->size() < 5) return "";
  const std::string& gecos = (*found)[4];
  return gecos.substr(0, gecos.find(','));
}

std::string login_of(const v1::AcctUsageRow& row) {
  return row.user().empty() ? user_name(Uid{row.uid()}) : row.user();
}
bool holds(const std::vector<std::string>& list, const std::string& value) {
  return list.empty() || std::ranges::find(list, value) != list.end();
}
std::uint64_t amount_of(const Amounts& amounts, const std::string& tres) {
  const auto found = amounts.find(tres);
  return found == amounts.end() ? 0 : found->second;
}

// "Cluster,...,Used" with what -T adds in front of the last.
std::string usage_format(const Report& report, std::string_view fields, bool energy) {
  if (!report.wish.format.empty()) return report.wish.format;
  return fmt::format("{},{}", fields, report.names_tres() ? "TRESName,Used" : energy ? "Used,Energy" : "Used");
}

// One line per TRES of somebody's usage.
class UsageTable {
 public:
  static Result<UsageTable> make(const Report& report, std::span<const ReportField> fields, std::string_view format) {
    UsageTable out(report);
    SPUR_ASSIGN(out.tres_, report.wanted_tres());
    out.known_ = out.table_.choose(fields, format);
    return out;
  }
  void row(const std::string& cluster, const Cells& who, const Amounts& amounts) {
    for (const auto& tres : tres_) {
      Cells cells = who;
      const std::uint64_t used = amount_of(amounts, tres);
      const auto total = report_->totals.find(cluster + "\n" + tres);
      cells["Cluster"] = cluster;
      cells["TRESName"] = tres;
      cells["Used"] = report_amount(report_->style.unit, used, total == report_->totals.end() ? 0 : total->second);
      cells["Energy"] = report_amount(report_->style.unit, amount_of(amounts, "energy"), 0);
      table_.widen("Used", used);
      table_.row(std::move(cells));
    }
  }
  const std::vector<std::string>& tres() const { return tres_; }
  void print() {
    table_.print();
    if (!known_) report_->wish.bad = true;
  }

 private:
  explicit UsageTable(const Report& report) : report_(&report), table_(report.context, report.style) {}
  const Report* report_;
  ReportTable table_;
  std::vector<std::string> tres_;
  bool known_ = true;
};

// ---- accounts as a tree

struct AccountNode {
  Amounts own;                            // with those below
  std::map<std::string, Amounts> users;   // by login
  std::map<std::string, bool> children;   // by name
};
using AccountTree = std::map<std::string, AccountNode>;

void add(Amounts& to, const std::string& tres, std::uint64_t seconds) {
  to[tres] += seconds;
}

// Usage of one cluster at every account, and at all above it. An account that is gone counts below the root.
AccountTree tree_of_usage(const Report& report, const std::string& cluster) {
  std::map<std::string, std::string> parents;
  for (const auto& record : report.records.associations)
    if (record.cluster == cluster && record.row.user.empty()) parents[record.row.account] = record.parent;
  AccountTree tree;
  for (const auto& row : report.usage.rows()) {
    if (row.cluster() != cluster) continue;
    std::string account = row.account().empty() ? std::string(model::kRootAccount) : row.account();
    add(tree[account].users[login_of(row)], row.tres(), row.seconds());
    std::set<std::string> seen;
    while (seen.insert(account).second) {
      add(tree[account].own, row.tres(), row.seconds());
      if (account == model::kRootAccount) break;
      const auto parent = parents.find(account);
      std::string above = parent == parents.end() || parent->second.empty() ? std::string(model::kRootAccount)
                                                                             : parent->second;
      tree[above].children[account] = true;
      account = std::move(above);
    }
  }
  return tree;
}

struct AccountWalk {
  const Report& report;
  const std::string& cluster;
  const AccountTree& tree;
  UsageTable& table;

  std::string shown(const std::string& account, std::size_t depth) const {
    return report.wish.tree ? std::string(depth, ' ') + account : account;
  }
  void visit(const std::string& account, std::size_t depth) {
    const auto found = tree.find(account);
    if (found == tree.end()) return;
    const auto& [own, users, children] = found->second;
    if (report.wish.users.empty()) table.row(cluster, {{"Accounts", shown(account, depth)}}, own);
    for (const auto& [login, amounts] : users)
      if (holds(report.wish.users, login))
        table.row(cluster, {{"Accounts", shown(account, depth + 1)}, {"Login", login}, {"ProperName", full_name(login)}},
                  amounts);
    // Who asks for users of certain accounts means these accounts alone.
    if (!report.wish.users.empty() && !report.wish.accounts.empty()) return;
    for (const auto& [child, there] : children) visit(child, depth + 1);
  }
};

std::vector<std::string> clusters_with_usage(const Report& report) {
  std::set<std::string> names;
  for (const auto& row : report.usage.rows()) names.insert(row.cluster());
  return {names.begin(), names.end()};
}

// ---- users, the largest first

struct UserRow {
  std::string cluster, login, what;
  Amounts amounts;
};

// By user and `what`; the first of the wanted TRES decides the order.
std::vector<UserRow> user_rows(const Report& report, const std::vector<std::string>& tres,
                               const std::function<std::string(const v1::AcctUsageRow&)>& what) {
  std::map<std::tuple<std::string, std::string, std::string>, UserRow> sums;
  for (const auto& row : report.usage.rows()) {
    const std::string login = login_of(row);
    if (!holds(report.wish.users, login) || !holds(report.wish.accounts, row.account()) ||
        !holds(report.wish.wckeys, row.wckey()))
      continue;
    auto& sum = sums[{row.cluster(), login, what(row)}];
    sum.cluster = row.cluster();
    sum.login = login;
    sum.what = what(row);
    add(sum.amounts, row.tres(), row.seconds());
  }
  std::vector<UserRow> out;
  for (auto& [key, row] : sums) out.push_back(std::move(row));
  std::ranges::stable_sort(out, std::greater{}, [&](const UserRow& row) { return amount_of(row.amounts, tres.front()); });
  return out;
}

std::string account_of(const v1::AcctUsageRow& row) {
  return row.account();
}
// Slurm marks a default one with a star in front; where nobody named any, that is all there is of it.
std::string wckey_of(const v1::AcctUsageRow& row) {
  return row.wckey().empty() ? "*" : row.wckey();
}

}  // namespace

Status report_cluster_utilization(Report& report) {
  SPUR_ASSIGN(const auto tres, report.wanted_tres());
  report.title("Cluster Utilization", false);
  ReportTable table(report.context, report.style);
  const std::string format = !report.wish.format.empty() ? report.wish.format
                             : report.names_tres()       ? "Cluster,TRESName,Allocated,Down,PlannedDown,Idle,Reserved,Reported"
                                                         : "Cluster,Allocated,Down,PlannedDown,Idle,Reserved,Reported";
  if (!table.choose(kFields, format)) report.wish.bad = true;
  const ReportUnit unit = report.style.unit;
  for (const auto& cluster : clusters_with_usage(report).empty() && report.usage.clusters().empty()
                                 ? std::vector<std::string>{}
                                 : [&] {
                                     std::set<std::string> names;
                                     for (const auto& row : report.usage.clusters()) names.insert(row.cluster());
                                     return std::vector<std::string>(names.begin(), names.end());
                                   }())
    for (const auto& name : tres) {
      if (name == "node") continue;  // counted as machines, not as something that is used up
      v1::AcctClusterUsageRow row;
      for (const auto& known : report.usage.clusters())
        if (known.cluster() == cluster && known.tres() == name) row = known;
      const std::uint64_t reported = row.allocated() + row.down() + row.planned_down() + row.idle() + row.reserved();
      Cells cells{{"Cluster", cluster}, {"TRESName", name}};
      const std::pair<std::string_view, std::uint64_t> parts[] = {
          {"Allocated", row.allocated()}, {"Down", row.down()},         {"PlannedDown", row.planned_down()},
          {"Idle", row.idle()},           {"Reserved", row.reserved()}, {"Overcommitted", row.over()},
          {"Energy", 0}};
      for (const auto& [field, part] : parts) {
        cells[field] = report_amount(unit, part, reported);
        table.widen(field, part);
      }
      // How much of the window is known at all.
      cells["Reported"] = report_amount(unit, reported, row.count() * static_cast<std::uint64_t>(report.span()));
      table.widen("Reported", reported);
      for (const char* field : {"Count", "CPUCount", "TRESCount"}) cells[field] = fmt::format("{}", row.count());
      table.row(std::move(cells));
    }
  table.print();
  return {};
}

Status report_accounts_by_user(Report& report) {
  SPUR_ASSIGN(auto table, UsageTable::make(report, kFields,
                                           usage_format(report, report.wish.tree ? "Cluster,Accounts%-20,Login,ProperName"
                                                                                 : "Cluster,Accounts,Login,ProperName",
                                                        true)));
  report.title("Cluster/Account/User Utilization", true);
  for (const auto& cluster : clusters_with_usage(report)) {
    const AccountTree tree = tree_of_usage(report, cluster);
    AccountWalk walk{report, cluster, tree, table};
    if (report.wish.accounts.empty()) walk.visit(std::string(model::kRootAccount), 0);
    for (const auto& account : report.wish.accounts) walk.visit(account, 0);
  }
  table.print();
  return {};
}

Status report_users_by_account(Report& report) {
  SPUR_ASSIGN(auto table,
              UsageTable::make(report, kFields, usage_format(report, "Cluster,Login,ProperName,Accounts", true)));
  report.title("Cluster/User/Account Utilization", true);
  for (const auto& row : user_rows(report, table.tres(), account_of))
    table.row(row.cluster, {{"Login", row.login}, {"ProperName", full_name(row.login)}, {"Accounts", row.what}},
              row.amounts);
  table.print();
  return {};
}

Status report_users_by_wckey(Report& report) {
  SPUR_ASSIGN(auto table,
              UsageTable::make(report, kFields, usage_format(report, "Cluster,Login,ProperName,WCKey", false)));
  report.title("Cluster/User/WCKey Utilization", true);
  for (const auto& row : user_rows(report, table.tres(), wckey_of))
    table.row(row.cluster, {{"Login", row.login}, {"ProperName", full_name(row.login)}, {"WCKey", row.what}},
              row.amounts);
  table.print();
  return {};
}

Status report_wckeys_by_user(Report& report) {
  SPUR_ASSIGN(auto table,
              UsageTable::make(report, kFields, usage_format(report, "Cluster,WCKey,Login,ProperName", false)));
  report.title("Cluster/WCKey/User Utilization", true);
  std::map<std::pair<std::string, std::string>, std::map<std::string, Amounts>> keys;
  for (const auto& row : user_rows(report, table.tres(), wckey_of)) keys[{row.cluster, row.what}][row.login] = row.amounts;
  for (const auto& [key, users] : keys) {
    Amounts sum;
    for (const auto& [login, amounts] : users)
      for (const auto& [tres, seconds] : amounts) add(sum, tres, seconds);
    table.row(key.first, {{"WCKey", key.second}}, sum);
    for (const auto& [login, amounts] : users)
      table.row(key.first, {{"WCKey", key.second}, {"Login", login}, {"ProperName", full_name(login)}}, amounts);
  }
  table.print();
  return {};
}

Status report_top_users(Report& report) {
  SPUR_ASSIGN(auto table,
              UsageTable::make(report, kTopFields, usage_format(report, "Cluster,Login,ProperName,Accounts", true)));
  report.title(fmt::format("Top {} Users", report.wish.top), true);
  auto rows = user_rows(report, table.tres(), account_of);
  if (report.wish.grouped) {
    // The accounts of a user in one line: "chem, physics".
    std::map<std::pair<std::string, std::string>, std::set<std::string>> accounts;
    for (const auto& row : rows) accounts[{row.cluster, row.login}].insert(row.what);
    rows = user_rows(report, table.tres(), [](const v1::AcctUsageRow&) { return std::string(); });
    for (auto& row : rows)
      row.what = fmt::format("{}", fmt::join(accounts[{row.cluster, row.login}], ", "));
  }
  const std::size_t most = std::max<std::size_t>(report.wish.top, 1);  // Slurm shows one before it looks at the number
  if (rows.size() > most) rows.resize(most);
  for (const auto& row : rows)
    table.row(row.cluster, {{"Login", row.login}, {"ProperName", full_name(row.login)}, {"Accounts", row.what}},
              row.amounts);
  table.print();
  return {};
}

}  // namespace spur::cli
