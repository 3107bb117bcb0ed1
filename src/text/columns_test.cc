// SPDX-License-Identifier: Apache-2.0
#include "text/columns.h"

#include <gtest/gtest.h>

namespace spur::text {
namespace {

struct Job {
  std::string id, name, partition;
};

std::span<const Column<Job>> columns() {
  static const std::vector<Column<Job>> table = {
      {{'i', "JobArrayID", 20}, "JOBID", [](const Job& j, std::string& out) { out += j.id; }},
      {{'j', "Name", 20}, "NAME", [](const Job& j, std::string& out) { out += j.name; }},
      {{'P', "Partition", 12}, "PARTITION", [](const Job& j, std::string& out) { out += j.partition; }},
      {{0, "JobID", 20}, "JOBID", [](const Job& j, std::string& out) { out += j.id; }},
  };
  return table;
}

const Job kJob{"137", "averylongjobname", "debug"};

struct Output {
  std::string header, row;
  std::vector<std::string> unknown;
};
Output show(const Format& format, const Job& job = kJob) {
  Output out;
  append_header(format, columns(), out.header);
  append_row(format, columns(), job, out.row);
  out.unknown = format.unknown;
  return out;
}
Output show_short(std::string_view text, const Job& job = kJob) {
  return show(parse_short_format(text, keys_of(columns())), job);
}
Output show_long(std::string_view text) {
  return show(parse_long_format(text, keys_of(columns())));
}

// Each row as squeue 22.05 printed it for such a job.
TEST(Columns, ShortFormatsLookLikeSlurms) {
  const struct {
    const char *format, *header, *row;
    std::vector<std::string> unknown;
  } rows[] = {
      {"%i|%j text %P", "JOBID|NAME text PARTITION", "137|averylongjobname text debug", {}},
      {"abc %i", "abc JOBID", "abc 137", {}},
      {"abc", "abc", "abc", {}},
      {"", "", "", {}},
      {"%", "", "", {}},
      {"%%i", "JOBID", "137", {}},
      {"%i%", "JOBID", "137", {}},
      {"%i%%j", "JOBIDNAME", "137averylongjobname", {}},
      {"%.5i", "JOBID", "  137", {}},
      {"%5i|", "JOBID|", "137  |", {}},
      {"%.3j|", "NAM|", "ave|", {}},
      {"%3j|", "NAM|", "ave|", {}},
      {"%.20j|", "                NAME|", "    averylongjobname|", {}},
      {"%20j|", "NAME                |", "averylongjobname    |", {}},
      {"%0j|", "NAME|", "averylongjobname|", {}},
      {"%.j|", "NAME|", "averylongjobname|", {}},
      {"%i\\x1f%j", "JOBID\\x1fNAME", "137\\x1faverylongjobname", {}},
      {"%-5i|", "%-5i|", "%-5i|", {"-"}},
      {"%5.3i|", "%5.3i|", "%5.3i|", {"."}},
      {"%..5i|", "%..5i|", "%..5i|", {"."}},
      {"%5|i", "%5|i", "%5|i", {"|"}},
      {"%5", "%5", "%5", {""}},
      {"%!%i", "%!JOBID", "%!137", {"!"}},
  };
  for (const auto& row : rows) {
    const Output out = show_short(row.format);
    EXPECT_EQ(out.header, row.header) << row.format;
    EXPECT_EQ(out.row, row.row) << row.format;
    EXPECT_EQ(out.unknown, row.unknown) << row.format;
  }
}

TEST(Columns, LongFormatsLookLikeSlurms) {
  const struct {
    const char *format, *header, *row;
    std::vector<std::string> unknown;
  } rows[] = {
      {"jobid,name", "JOBID               NAME                ", "137                 averylongjobname    ", {}},
      {"JOBID:10,Name:.10", "JOBID           NAME", "137       averylongj", {}},
      {"jobid:|,name:-", "JOBID|NAME-", "137|averylongjobname-", {}},
      {"name:5,jobid:5", "NAME JOBID", "avery137  ", {}},
      {"jobid:3,,name:4", "JOBNAME", "137aver", {}},
      {"jobid:5,", "JOBID", "137  ", {}},
      {"partition", "PARTITION   ", "debug       ", {}},
      {"jobid:5abc,name:.5xyz", "JOBIDabc NAMExyz", "137  abcaveryxyz", {}},
      {"jobid:.x,name:4", "JOBIDxNAME", "137xaver", {}},
      {"jobid:0,name:4", "JOBIDNAME", "137aver", {}},
      {"jobid:,name:4", "JOBIDNAME", "137aver", {}},
      {"jobid:5:6,name:4", "JOBID:6NAME", "137  :6aver", {}},
      {"jobid:###a###,name:###a###", "JOBID###a###NAME###a###", "137###a###averylongjobname###a###", {}},
      {"jobid:\x1f,name:\x1f",
       "JOBID\x1fNAME\x1f",
       "137\x1f"
       "averylongjobname\x1f",
       {}},
      {"nosuch,jobid:5", "JOBID", "137  ", {"nosuch"}},
      {"jobid ,name:4", "NAME", "aver", {"jobid "}},
      {":5", "", "", {""}},
      {"", "", "", {}},
  };
  for (const auto& row : rows) {
    const Output out = show_long(row.format);
    EXPECT_EQ(out.header, row.header) << row.format;
    EXPECT_EQ(out.row, row.row) << row.format;
    EXPECT_EQ(out.unknown, row.unknown) << row.format;
  }
}

TEST(Columns, CellsCannotHarmATerminal) {
  const Job evil{"1", "a\x1b[2Jb\nc", "p"};
  EXPECT_EQ(show_short("%j|", evil).row, "a\\x1b[2Jb\\nc|");
  EXPECT_EQ(show_short("%6j|", evil).row, "a\\x1b[|");
}

TEST(Columns, NeverCutsACharacterInTwo) {
  const Job job{"1", "\xc3\xa4\xc3\xb6\xc3\xbc", "p"};  // three letters of two bytes
  EXPECT_EQ(show_short("%4j|", job).row, "\xc3\xa4\xc3\xb6|");
  EXPECT_EQ(show_short("%3j|", job).row, "\xc3\xa4 |");
  EXPECT_EQ(show_short("%.3j|", job).row, " \xc3\xa4|");
}

TEST(Columns, AbsurdWidthsAreCut) {
  EXPECT_LT(show_short("%99999999999999999999j").row.size(), 10'000u);
  EXPECT_LT(show_long("name:99999999999999999999").row.size(), 10'000u);
}

}  // namespace
}  // namespace spur::text
