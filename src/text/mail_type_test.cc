// SPDX-License-Identifier: Apache-2.0
#include "text/mail_type.h"

#include <gtest/gtest.h>

namespace spur::text {
namespace {

TEST(MailType, ParsesAndPrints) {
  const struct {
    const char* text;
    std::uint32_t bits;
    const char* printed;
  } rows[] = {
      {"NONE", 0, "NONE"},
      {"BEGIN", 0x1, "BEGIN"},
      {"END", 0x2, "END"},
      {"FAIL", 0x4, "FAIL"},
      {"REQUEUE", 0x8, "REQUEUE"},
      {"TIME_LIMIT", 0x10, "TIME_LIMIT"},
      {"TIME_LIMIT_90", 0x20, "TIME_LIMIT_90"},
      {"TIME_LIMIT_80", 0x40, "TIME_LIMIT_80"},
      {"TIME_LIMIT_50", 0x80, "TIME_LIMIT_50"},
      {"STAGE_OUT", 0x100, "STAGE_OUT"},
      {"ARRAY_TASKS", 0x200, "ARRAY_TASKS"},
      {"INVALID_DEPEND", 0x400, "INVALID_DEPEND"},
      {"ALL", 0x50f, "INVALID_DEPEND,BEGIN,END,FAIL,REQUEUE,STAGE_OUT"},
      {"all,ARRAY_TASKS", 0x70f, "ARRAY_TASKS,INVALID_DEPEND,BEGIN,END,FAIL,REQUEUE,STAGE_OUT"},
      {"begin,end", 0x3, "BEGIN,END"},
      {"BEGIN,NONE", 0, "NONE"},
      {"BEGIN,", 0x1, "BEGIN"},
      {"BEGIN,SOMETIMES", 0x1, "BEGIN"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(parse_mail_types(row.text), row.bits) << row.text;
    EXPECT_EQ(format_mail_types(row.bits), row.printed);
  }
  for (const char* text : {"", ",", "SOMETIMES", " BEGIN"}) EXPECT_FALSE(parse_mail_types(text)) << text;
}

}  // namespace
}  // namespace spur::text
