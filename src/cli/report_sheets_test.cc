// SPDX-License-Identifier: Apache-2.0
#include "cli/report_sheets.h"

#include <gtest/gtest.h>

#include "cli/json.h"

namespace spur::cli {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

v1::AcctJobRow job(const char* account, const char* user, std::int64_t eligible, std::int64_t start, std::int64_t end,
                   std::uint32_t cpus, std::uint64_t gpus) {
  v1::AcctJobRow row;
  auto* job = row.mutable_job();
  job->set_account(account);
  job->set_user(user);
  job->set_partition("debug");
  job->set_eligible_us(eligible * kSecond);
  job->set_started_us(start * kSecond);
  job->set_ended_us(end * kSecond);
  job->set_cpus_allocated(cpus);
  const auto add = [&](const char* name, std::uint64_t count) {
    auto* tres = job->add_allocated();
    tres->set_name(name);
    tres->set_count(count);
  };
  add("cpu", cpus);
  add("mem", 2048);
  if (gpus) add("gres/gpu", gpus);
  job->mutable_usage()->set_user_cpu_us(900 * kSecond);
  job->mutable_usage()->set_memory_peak_kib(1024 * 1024);
  return row;
}

ReportSums sums() {
  const ReportWindow window{from_unix_seconds(1000), from_unix_seconds(100'000), from_unix_seconds(200'000)};
  return {window, report_prices({"gres/gpu=2.5", "mem=1", "bad"}), "EUR"};
}

double number(const Sheet& sheet, std::size_t row, std::size_t column) {
  return std::get<double>(sheet.rows.at(row).at(column));
}

TEST(Report, AddsHoursAndCost) {
  ReportSums all = sums();
  all.add(job("a", "x", 2000, 2000, 5600, 2, 4));  // an hour
  all.add(job("b", "y", 0, 400, 2800, 1, 1));      // half an hour of it lies in the window
  const Sheet sheet = all.usage();
  ASSERT_EQ(sheet.rows.size(), 2u);
  EXPECT_EQ(std::get<std::string>(sheet.rows[0][0]), "a");
  EXPECT_DOUBLE_EQ(number(sheet, 0, 3), 4);
  EXPECT_DOUBLE_EQ(number(sheet, 0, 4), 2);
  EXPECT_DOUBLE_EQ(number(sheet, 0, 6), 4 * 2.5 + 2);  // and 2 GiB
  EXPECT_DOUBLE_EQ(number(sheet, 1, 3), 0.5);
  EXPECT_NEAR(number(sheet, 0, 5), 100 * 4 / 4.5, 1e-9);
}

TEST(Report, SaysHowLongJobsWaited) {
  EXPECT_DOUBLE_EQ(percentile({1, 2, 3, 4}, 0.5), 2);
  EXPECT_DOUBLE_EQ(percentile({1, 2, 3, 4}, 0.9), 4);
  EXPECT_DOUBLE_EQ(percentile({}, 0.9), 0);
  ReportSums all = sums();
  for (int i = 1; i <= 10; ++i) all.add(job("a", "x", 2000, 2000 + 60 * i, 9000, 1, 0));
  all.add(job("a", "x", 0, 500, 9000, 1, 0));  // began before
  const Sheet sheet = all.waits();
  ASSERT_EQ(sheet.rows.size(), 1u);
  EXPECT_DOUBLE_EQ(number(sheet, 0, 1), 10);
  EXPECT_DOUBLE_EQ(number(sheet, 0, 3), 5);
  EXPECT_DOUBLE_EQ(number(sheet, 0, 4), 9);
  EXPECT_DOUBLE_EQ(number(sheet, 0, 6), 10);
}

TEST(Report, SaysHowWellItWasUsed) {
  ReportSums all = sums();
  all.add(job("a", "x", 2000, 2000, 2900, 2, 1));
  const Sheet sheet = all.efficiency();
  EXPECT_DOUBLE_EQ(number(sheet, 0, 3), 50);
  EXPECT_DOUBLE_EQ(number(sheet, 0, 4), 50);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(sheet.rows[0][5]));  // nobody looked at the GPUs
}

TEST(Report, IsTheSameInEveryForm) {
  Sheet sheet{.name = "s",
              .title = "T",
              .columns = {{"who", "Who"}, {"n", "Number", true, 1}},
              .rows = {{std::string("a,\"b\" <&>"), 1.5}, {std::string("c"), SheetCell{}}},
              .note = {},
              .labels = {0},
              .values = {1}};
  EXPECT_EQ(sheet_csv(sheet), "who,n\r\n\"a,\"\"b\"\" <&>\",1.5\r\nc,\r\n");
  EXPECT_EQ(sheet_text(sheet), "T\n\nWho        Number\n---------  ------\na,\"b\" <&>     1.5\nc               -\n");
  const std::string svg = sheets_svg({sheet}, "h");
  EXPECT_NE(svg.find("a,&quot;b&quot; &lt;&amp;&gt;"), std::string::npos);
  EXPECT_EQ(svg.find("<&>"), std::string::npos);
  Json json;
  json.open_object();
  sheet_json(sheet, json);
  json.close_object();
  EXPECT_NE(std::move(json).finish().find("\"n\": null"), std::string::npos);
}

}  // namespace
}  // namespace spur::cli
