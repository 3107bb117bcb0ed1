// SPDX-License-Identifier: Apache-2.0
// Inside of sreport: the line that was typed, tables of fields, and the reports. Titles, widths and rounding are those of
// Slurm 22.05; the sums are of the jobs themselves, to the second.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"
#include "model/account_records.h"
#include "spur/v1/accounting.pb.h"

namespace spur::cli {

enum class ReportUnit : unsigned char { Seconds, Minutes, Hours, Percent, SecPer, MinPer, HourPer };
constexpr bool with_percentage(ReportUnit unit) { return unit >= ReportUnit::SecPer; }

// Options of the command; "commands" of a session change them.
struct ReportStyle {
  bool all_clusters = false, no_header = false, parsable = false, parsable2 = false, quiet = false;
  ReportUnit unit = ReportUnit::Minutes;
  std::string tres;  // of -T; empty: cpu, without naming it
  std::vector<std::string> clusters;  // of -M, unless the report names some itself
};

// What stands behind the report's name.
struct ReportWish {
  std::optional<std::string> start, end;
  std::vector<std::string> clusters, accounts, users, wckeys, partitions, groups, jobs, names;
  std::string nodes, format;
  std::size_t top = 10;
  std::vector<std::uint32_t> sizes{50, 250, 500, 1000};
  bool individual = false, count_jobs = false, flat = false, as_parent = false, tree = false, grouped = false,
       all_clusters = false;
  bool bad = false;  // something was not understood, and said so: the exit status
};

struct ReportField {
  std::string_view name;  // in format=; any beginning of `least` letters
  std::size_t least;
  std::string_view title;
  int width;             // negative: to the left
  bool is_usage = false;  // as wide as its largest value, and at least as this
};

// One table: fields, then rows of cells by field name. Widths of amounts are known only when all rows are.
class ReportTable {
 public:
  struct Column {
    const ReportField* field = nullptr;
    std::string title;
    int width = 0;
  };
  using Cells = std::map<std::string_view, std::string>;

  ReportTable(Context& context, const ReportStyle& style) : context_(context), style_(style) {}
  // False if a word names no field, which is said.
  bool choose(std::span<const ReportField> fields, std::string_view format);
  void add_column(std::string title, int width);  // its cells are found by its title
  void widen(std::string_view field, std::uint64_t seconds);
  void row(Cells cells) { rows_.push_back(std::move(cells)); }
  void print();

 private:
  void line(const std::vector<std::string>& cells, bool title);
  Context& context_;
  const ReportStyle& style_;
  std::vector<Column> columns_;
  std::vector<Cells> rows_;
};

// "12", "0.20%", "12(0.20%)".
std::string report_amount(ReportUnit unit, std::uint64_t seconds, std::uint64_t total);
std::string_view report_unit_words(ReportUnit unit);

// What a report works with: the window, the sums, the accounts.
struct Report {
  Context& context;
  const ReportStyle& style;
  ReportWish& wish;
  Accounting& accounting;
  model::AccountRecords records = {};
  Time from, until;
  v1::AcctUsageReply usage = {};
  std::map<std::string, std::uint64_t> totals = {};  // "cluster\ntres": seconds that were reported

  Status set_window();
  Status load();
  std::int64_t span() const { return std::chrono::duration_cast<seconds>(until - from).count(); }
  bool names_tres() const { return !style.tres.empty(); }
  // In the order they were given, or of their numbers. NotFound: none of the words is one.
  Result<std::vector<std::string>> wanted_tres() const;
  std::vector<std::string> wanted_clusters() const;  // empty: all
  void title(std::string_view words, bool with_seconds, bool tres_anyway = false) const;
};

// A report prints itself and says whether all went well.
Status report_cluster_utilization(Report& report);
Status report_accounts_by_user(Report& report);
Status report_users_by_account(Report& report);
Status report_users_by_wckey(Report& report);
Status report_wckeys_by_user(Report& report);
Status report_top_users(Report& report);
Status report_reservations(Report& report);
Status report_sizes_by_account(Report& report);
Status report_sizes_by_wckey(Report& report);
Status report_sizes_by_account_and_wckey(Report& report);

}  // namespace spur::cli
