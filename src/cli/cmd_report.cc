// SPDX-License-Identifier: Apache-2.0
// spur report: what the cluster did in a time window, for people: hours and cost by account and user, times in the queue, what
// was idle, how well it was used. As text, CSV, JSON, or charts (SVG).
#include <fmt/format.h>

#include <algorithm>

#include "cli/cmd_report.h"
#include "cli/context.h"
#include "cli/display.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/report_sheets.h"
#include "cli/users.h"
#include "config/load.h"
#include "text/date.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using Value = std::string_view;
enum class Form : unsigned char { Text, Csv, Json, Svg };

struct Wish {
  std::string start, end;
  Form form = Form::Text;
  v1::AcctJobQuery query;
  bool help = false;
};
OptionStatus set_start(Wish& wish, Value value) {
  wish.start = std::string(value);
  return {};
}
OptionStatus set_end(Wish& wish, Value value) {
  wish.end = std::string(value);
  return {};
}
template <Form form>
OptionStatus set_form(Wish& wish, Value) {
  wish.form = form;
  return {};
}
OptionStatus set_accounts(Wish& wish, Value value) {
  for (const auto word : text::split(value, ','))
    if (!word.empty()) wish.query.add_accounts(std::string(word));
  return {};
}
OptionStatus set_partitions(Wish& wish, Value value) {
  for (const auto word : text::split(value, ','))
    if (!word.empty()) wish.query.add_partitions(std::string(word));
  return {};
}
OptionStatus set_users(Wish& wish, Value value) {
  for (const auto word : text::split(value, ',')) {
    if (word.empty()) continue;
    const auto uid = find_user(word);
    if (!uid) return bad_option(fmt::format("Invalid user id: {}", word), 1);
    wish.query.add_uids(uid->value);
  }
  return {};
}
OptionStatus set_help(Wish& wish, Value) {
  wish.help = true;
  return {};
}

constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
// clang-format off
constexpr Option<Wish> kOptions[] = {
    {{"accounts", 'A', V, "list", "only jobs of these accounts"}, set_accounts},
    {{"csv", 0, N, nullptr, "as CSV; one report must be named"}, set_form<Form::Csv>},
    {{"end", 'E', V, "time", "up to this moment; now unless given"}, set_end},
    {{"help", 'h', N, nullptr, "print this text"}, set_help},
    {{"json", 0, N, nullptr, "as JSON"}, set_form<Form::Json>},
    {{"partition", 'p', V, "list", "only jobs of these partitions"}, set_partitions},
    {{"start", 'S', V, "time", "from this moment on; 30 days ago unless given"}, set_start},
    {{"svg", 0, N, nullptr, "as charts"}, set_form<Form::Svg>},
    {{"user", 'u', V, "list", "only jobs of these users"}, set_users},
};
// clang-format on
constexpr std::string_view kUsage =
    "Usage: spur report [usage|waits|capacity|efficiency] [OPTIONS]\n"
    "Without a name: all of them.\n";
constexpr std::string_view kNames[] = {"usage", "waits", "capacity", "efficiency"};

Result<ReportWindow> window_of(const Wish& wish, Time now) {
  ReportWindow out{now - hours(24 * 30), now, now};
  if (!wish.start.empty()) {
    SPUR_ASSIGN(out.from, text::parse_date(wish.start, now, text::DateSense::Past));
  }
  if (!wish.end.empty()) {
    SPUR_ASSIGN(out.until, text::parse_date(wish.end, now, text::DateSense::Past));
  }
  if (out.from >= out.until) return fail(ErrorCode::InvalidTime, "Start time must be before end time.");
  return out;
}

// At most 40 parts, of whole days.
Result<std::vector<std::pair<Time, v1::AcctUsageReply>>> usage_parts(Accounting& accounting, const ReportWindow& window) {
  const auto days = std::chrono::ceil<std::chrono::days>(window.until - window.from).count();
  const auto step = hours(24) * ((days + 39) / 40);
  std::vector<std::pair<Time, v1::AcctUsageReply>> out;
  for (Time from = window.from; from < window.until; from += step) {
    v1::AcctUsageQuery query;
    query.add_clusters(accounting.cluster());
    query.set_from_us(to_micros(from));
    query.set_until_us(to_micros(std::min(Time(from + step), window.until)));
    v1::AcctUsageReply reply;
    SPUR_TRY(accounting.usage(query, &reply));
    out.emplace_back(from, std::move(reply));
  }
  return out;
}

Result<std::vector<Sheet>> make_sheets(Accounting& accounting, Wish& wish, const ReportWindow& window,
                                       const std::vector<std::string>& names) {
  SPUR_ASSIGN(const auto facts, config::accounting_options());
  ReportSums sums(window, report_prices(facts.prices), facts.currency);
  wish.query.add_clusters(accounting.cluster());
  wish.query.set_from_us(to_micros(window.from));
  wish.query.set_until_us(to_micros(window.until));
  wish.query.set_duplicates(true);
  SPUR_TRY(accounting.jobs(wish.query, [&](const v1::AcctJobRow& row) { sums.add(row); }));
  std::vector<Sheet> out;
  for (const auto& name : names) {
    if (name == "usage") out.push_back(sums.usage());
    if (name == "waits") out.push_back(sums.waits());
    if (name == "efficiency") out.push_back(sums.efficiency());
    if (name == "capacity") {
      SPUR_ASSIGN(const auto parts, usage_parts(accounting, window));
      out.push_back(sums.capacity(parts));
    }
  }
  return out;
}

void print(Context& context, Form form, const std::vector<Sheet>& sheets, const std::string& cluster,
           const ReportWindow& window) {
  const std::string heading =
      fmt::format("Cluster {}, {} to {}", cluster, moment(window.from, ""), moment(window.until, ""));
  if (form == Form::Svg) return context.out.write(sheets_svg(sheets, heading));
  if (form == Form::Csv) return context.out.write(sheet_csv(sheets.front()));
  if (form == Form::Json) {
    Json json;
    json.open_object().field("cluster", std::string_view(cluster));
    json.field("from", to_unix_seconds(window.from)).field("until", to_unix_seconds(window.until));
    for (const auto& sheet : sheets) sheet_json(sheet, json);
    json.close_object();
    return context.out.write(std::move(json).finish());
  }
  context.out.write(heading + "\n");
  for (const auto& sheet : sheets) context.out.write("\n" + sheet_text(sheet));
}

}  // namespace

int cmd_report(Context& context) {
  Wish wish;
  const auto rest = read_line<Wish>(context, kOptions, wish, Order::Anywhere, 1);
  if (!rest) return rest.error();
  if (wish.help) return context.out.write(std::string(kUsage) + help_text(rows_of<Wish>(kOptions))), 0;
  std::vector<std::string> names = *rest;
  for (const auto& name : names)
    if (std::ranges::find(kNames, name) == std::end(kNames)) {
      context.error("\"{}\" is no report: there are usage, waits, capacity and efficiency", name);
      return 1;
    }
  if (names.empty()) names.assign(std::begin(kNames), std::end(kNames));
  if (wish.form == Form::Csv && names.size() != 1) {
    context.error("--csv writes one report: name it");
    return 1;
  }
  const Time now = context.now();
  const auto run = [&]() -> Status {
    SPUR_ASSIGN(const auto window, window_of(wish, now));
    SPUR_ASSIGN(const auto accounting, context.connect_accounting());
    SPUR_ASSIGN(const auto sheets, make_sheets(*accounting, wish, window, names));
    print(context, wish.form, sheets, accounting->cluster(), window);
    return {};
  };
  if (const Status status = run(); !status) {
    context.error("{}", words(status.error()));
    return 1;
  }
  return 0;
}

}  // namespace spur::cli
