// SPDX-License-Identifier: Apache-2.0
// The reports that are made from jobs: by their sizes, and what reservations were used for.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/accounting_books.h"
#include "cli/display.h"
#include "cli/sreport.h"
#include "cli/users.h"
#include "text/decimal.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using Cells = ReportTable::Cells;

std::uint64_t count_of(const v1::AcctJob& job, const std::string& tres) {
  if (tres == "cpu") return job.cpus_allocated();
  for (const auto& item : job.allocated())
    if (item.name() == tres) return item.count();
  return 0;
}

// Whole seconds that the job ran between two moments.
std::uint64_t seconds_between(const v1::AcctJob& job, Time from, Time until) {
  if (!job.started_us()) return 0;
  const Time end = std::min(job.ended_us() ? Time(std::chrono::floor<seconds>(from_micros(job.ended_us()))) : until, until);
  const Time begin = std::max(Time(std::chrono::floor<seconds>(from_micros(job.started_us()))), from);
  if (end <= begin) return 0;
  const auto ran = std::chrono::duration_cast<seconds>(end - begin - Duration(job.suspended_total_us())).count();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(ran, 0));
}

// ---- sizes

class Sizes {
 public:
  enum class By : unsigned char { Account, Wckey, Both };
  Sizes(Report& report, By by) : report_(report), by_(by) {}

  Status run() {
    SPUR_ASSIGN(const auto tres, report_.wanted_tres());
    tres_ = tres.front();
    SPUR_TRY(collect());
    title();
    print();
    return {};
  }

 private:
  using Row = std::map<std::uint64_t, std::uint64_t>;  // size class: seconds or jobs

  Status collect() {
    v1::AcctJobQuery query;
    for (const auto& name : report_.wanted_clusters()) query.add_clusters(name);
    query.set_from_us(to_micros(report_.from));
    query.set_until_us(to_micros(report_.until));
    query.set_duplicates(true);
    for (const auto& name : report_.wish.partitions) query.add_partitions(name);
    for (const auto& name : report_.wish.wckeys) query.add_wckeys(name);
    query.set_nodes(report_.wish.nodes);
    for (const auto& name : report_.wish.users)
      if (const auto uid = find_user(name)) query.add_uids(uid->value);
    for (const auto& name : report_.wish.groups)
      if (const auto gid = find_group(name)) query.add_gids(gid->value);
    for (const auto& word : report_.wish.jobs)
      if (const auto id = text::parse_decimal32(word)) query.add_jobs()->set_job(*id);
    return report_.accounting.jobs(query, [&](const v1::AcctJobRow& row) { add(row); });
  }

  void add(const v1::AcctJobRow& row) {
    const auto& job = row.job();
    const std::uint64_t ran = seconds_between(job, report_.from, std::min(report_.until, report_.context.now()));
    const std::uint64_t count = count_of(job, tres_);
    if (ran == 0) return;
    if (report_.wish.individual) found_.insert(count);  // also of jobs that count in no line
    for (const auto& name : names_of(row.cluster(), job)) {
      std::uint64_t size = count;
      if (!report_.wish.individual)
        size = static_cast<std::uint64_t>(std::ranges::upper_bound(report_.wish.sizes, count) - report_.wish.sizes.begin());
      rows_[{row.cluster(), name}][size] += report_.wish.count_jobs ? 1 : ran * count;
    }
  }

  // In which lines the job counts.
  std::vector<std::string> names_of(const std::string& cluster, const v1::AcctJob& job) {
    const std::string wckey = job.wckey().empty() ? "*" : job.wckey();
    if (by_ == By::Wckey) return {wckey};
    std::vector<std::string> out;
    for (const auto& account : accounts_of(cluster, job.account()))
      out.push_back(by_ == By::Both ? account + ":" + wckey : account);
    return out;
  }

  // Flat: its own. Else the wanted ones that it is below of (root, if none is wanted), or their children.
  std::vector<std::string> accounts_of(const std::string& cluster, const std::string& account) {
    const auto& wanted = report_.wish.accounts;
    if (report_.wish.flat) {
      const bool meant = wanted.empty() || std::ranges::find(wanted, account) != wanted.end();
      return meant ? std::vector<std::string>{account} : std::vector<std::string>{};
    }
    const std::vector<std::string> path = path_of(cluster, account);  // from the root down
    std::vector<std::string> out;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const bool meant = wanted.empty() ? path[i] == model::kRootAccount : std::ranges::find(wanted, path[i]) != wanted.end();
      if (!meant) continue;
      if (!report_.wish.as_parent)
        out.push_back(path[i]);
      else if (i + 1 < path.size())
        out.push_back(path[i + 1]);
      break;  // a job counts once, at the highest
    }
    return out;
  }

  std::vector<std::string> path_of(const std::string& cluster, std::string account) const {
    std::vector<std::string> path;
    while (!account.empty() && std::ranges::find(path, account) == path.end()) {
      path.push_back(account);
      const auto found = std::ranges::find_if(report_.records.associations, [&](const auto& record) {
        return record.cluster == cluster && record.row.user.empty() && record.row.account == account;
      });
      account = found == report_.records.associations.end() ? "" : found->parent;
    }
    if (path.empty() || path.back() != model::kRootAccount) path.emplace_back(model::kRootAccount);
    std::ranges::reverse(path);
    return path;
  }

  void title() const {
    if (report_.style.no_header) return;
    report_.context.out.write(fmt::format(
        "{0}\nJob Sizes{5} {1} - {2} ({3} secs)\n{6}{4}\n{0}\n", std::string(80, '-'), moment(report_.from, ""),
        moment(report_.until - seconds(1), ""), report_.span(),
        report_.wish.count_jobs ? "Units are in number of jobs ran"
                                : fmt::format("Time reported in {}", report_unit_words(report_.style.unit)),
        by_ == By::Wckey ? " by Wckey" : "", tres_ == "cpu" ? "" : fmt::format("TRES type is {}\n", tres_)));
  }

  std::vector<std::pair<std::uint64_t, std::string>> classes() const {
    const std::string_view unit = tres_ == "cpu" ? "CPUs" : "TRES";
    std::vector<std::pair<std::uint64_t, std::string>> out;
    if (report_.wish.individual) {
      for (const auto size : found_) out.emplace_back(size, fmt::format("{} {}", size, unit));
      return out;
    }
    std::uint32_t low = 0;
    for (const auto bound : report_.wish.sizes) {
      out.emplace_back(out.size(), fmt::format("{}-{} {}", low, bound - 1, unit));
      low = bound;
    }
    out.emplace_back(out.size(), fmt::format(">= {} {}", low, unit));
    return out;
  }

  void print() {
    static constexpr ReportField kFields[] = {{"Accounts", 1, "Account", 9},
                                              {"Cluster", 2, "Cluster", 9},
                                              {"Count", 2, "TRES Count", 10},
                                              {"Wckey", 1, "Wckey", 9}};
    ReportTable table(report_.context, report_.style);
    const std::string_view usual = by_ == By::Wckey  ? "Cluster,Wckey"
                                   : by_ == By::Both ? "Cluster,Accounts%-20"
                                                     : "Cluster,Accounts";
    if (!table.choose(kFields, report_.wish.format.empty() ? usual : std::string_view(report_.wish.format)))
      report_.wish.bad = true;
    const auto columns = classes();
    const bool per = with_percentage(report_.style.unit) && !report_.wish.count_jobs;
    for (const auto& [size, name] : columns) table.add_column(name, per ? 20 : 13);
    table.add_column("% of cluster", 12);
    std::map<std::string, std::uint64_t> all;
    for (const auto& [key, row] : rows_)
      for (const auto& [size, amount] : row) all[key.first] += amount;
    for (const auto& [key, row] : rows_) {
      Cells cells{{"Cluster", key.first}, {"Accounts", key.second}, {"Wckey", key.second}};
      std::uint64_t sum = 0;
      for (const auto& [size, name] : columns) {
        const auto at = row.find(size);
        const std::uint64_t amount = at == row.end() ? 0 : at->second;
        sum += amount;
        cells[name] = report_.wish.count_jobs ? fmt::format("{}", amount)
                                              : report_amount(report_.style.unit, amount, all[key.first]);
      }
      cells["% of cluster"] = report_amount(ReportUnit::Percent, sum, all[key.first]);
      table.row(std::move(cells));
    }
    table.print();
  }

  Report& report_;
  const By by_;
  std::string tres_;
  std::set<std::uint64_t> found_;
  std::map<std::pair<std::string, std::string>, Row> rows_;
};

// ---- reservations

constexpr ReportField kReservationFields[] = {
    {"Allocated", 2, "Allocated", 20},   {"Associations", 2, "Associations", 15}, {"Cluster", 2, "Cluster", 9},
    {"Count", 2, "TRES count", 10},      {"TRESCount", 5, "TRES count", 10},      {"End", 1, "End", 19},
    {"Flags", 1, "Flags", 20},           {"Idle", 1, "Idle", 20},                 {"Name", 2, "Name", 9},
    {"Nodes", 2, "Nodes", 15},           {"ReservationId", 1, "Id", 8},           {"Start", 1, "Start", 19},
    {"TotalTime", 2, "TotalTime", 9},    {"TRESName", 5, "TRES Name", 14},
};

// Seconds of the resource that the reservation's jobs had, while it was there.
Result<std::uint64_t> used_in(Report& report, const v1::AcctReservationRow& row, const std::string& tres, Time from,
                              Time until) {
  v1::AcctJobQuery query;
  query.add_clusters(row.cluster());
  query.add_reservations(row.reservation().name());
  query.set_from_us(to_micros(from));
  query.set_until_us(to_micros(until));
  query.set_duplicates(true);
  std::uint64_t sum = 0;
  SPUR_TRY(report.accounting.jobs(
      query, [&](const v1::AcctJobRow& job) { sum += seconds_between(job.job(), from, until) * count_of(job.job(), tres); }));
  return sum;
}

Status add_reservation(Report& report, const v1::AcctReservationRow& row, const std::vector<std::string>& tres,
                       ReportTable& table) {
  const auto& reservation = row.reservation();
  const Time from = std::chrono::floor<seconds>(std::max(from_micros(row.started_us()), report.from));
  const Time until = std::chrono::floor<seconds>(std::min({from_micros(row.ended_us()), report.until, report.context.now()}));
  const std::uint64_t lasted =
      until > from ? static_cast<std::uint64_t>(std::chrono::duration_cast<seconds>(until - from).count()) : 0;
  for (const auto& name : tres) {
    const auto of = std::ranges::find_if(reservation.tres(), [&](const auto& item) { return item.name() == name; });
    if (of == reservation.tres().end()) continue;
    const std::uint64_t total = lasted * of->count();
    SPUR_ASSIGN(const std::uint64_t all_used, used_in(report, row, name, from, until));
    const std::uint64_t used = std::min(all_used, total);
    table.row({{"Cluster", row.cluster()},
               {"Name", reservation.name()},
               {"Nodes", reservation.nodes()},
               {"Flags", reservation.flags()},
               {"Associations", reservation.accounts().empty() ? reservation.users() : reservation.accounts()},
               {"Start", moment(from_micros(row.started_us()), "Unknown")},
               {"End", moment(from_micros(row.ended_us()), "Unknown")},
               {"TRESName", name},
               {"Count", fmt::format("{}", of->count())},
               {"TRESCount", fmt::format("{}", of->count())},
               {"TotalTime", report_amount(report.style.unit, lasted, lasted)},
               {"Allocated", report_amount(report.style.unit, used, total)},
               {"Idle", report_amount(report.style.unit, total - used, total)}});
  }
  return {};
}

}  // namespace

Status report_sizes_by_account(Report& report) {
  return Sizes(report, Sizes::By::Account).run();
}
Status report_sizes_by_wckey(Report& report) {
  return Sizes(report, Sizes::By::Wckey).run();
}
Status report_sizes_by_account_and_wckey(Report& report) {
  return Sizes(report, Sizes::By::Both).run();
}

Status report_reservations(Report& report) {
  SPUR_ASSIGN(const auto tres, report.wanted_tres());
  report.title("Reservation Utilization", false, true);
  ReportTable table(report.context, report.style);
  const bool per = with_percentage(report.style.unit);
  const std::string usual = per ? "Cluster,Name,Start,End,TRESName,Allocated%29,Idle%29"
                                : "Cluster,Name,Start,End,TRESName,Allocated,Idle";
  if (!table.choose(kReservationFields, report.wish.format.empty() ? usual : report.wish.format)) report.wish.bad = true;
  v1::AcctReservationQuery query;
  for (const auto& name : report.wanted_clusters()) query.add_clusters(name);
  for (const auto& name : report.wish.names) query.add_names(name);
  query.set_from_us(to_micros(report.from));
  query.set_until_us(to_micros(report.until));
  std::vector<v1::AcctReservationRow> rows;
  AccountingBooks* books = books_of(report.accounting);
  if (!books) return fail(ErrorCode::NotSupported, "this accounting service keeps no reservations");
  SPUR_TRY(books->reservations(query, [&](v1::AcctReservationRow row) { rows.push_back(std::move(row)); }));
  for (const auto& row : rows) SPUR_TRY(add_reservation(report, row, tres, table));
  table.print();
  return {};
}

}  // namespace spur::cli
