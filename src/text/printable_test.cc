// SPDX-License-Identifier: Apache-2.0
#include "text/printable.h"

#include <gtest/gtest.h>

namespace spur::text {
namespace {

TEST(Printable, DisarmsControlCharacters) {
  const struct {
    std::string_view text;
    const char* printed;
  } rows[] = {
      {"plain text", "plain text"},
      {"", ""},
      {"\x1b[31mred", "\\x1b[31mred"},
      {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
      {std::string_view("a\0b", 3), "a\\x00b"},
      {"\x7f", "\\x7f"},
      {"\xc3\xa4", "\xc3\xa4"},
      {"\xf0\x9f\x9a\x80", "\xf0\x9f\x9a\x80"},
      {"\xc2\x9b", "\\xc2\\x9b"},  // U+009B, a control sequence introducer
      {"\xff\xfe", "\\xff\\xfe"},
      {"\xc3", "\\xc3"},           // cut short
      {"\xc0\xaf", "\\xc0\\xaf"},  // overlong
      {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // a surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // beyond U+10FFFF
      {"a\\b", "a\\b"},
  };
  for (const auto& row : rows) EXPECT_EQ(printable(row.text), row.printed);
}

TEST(Printable, ShortensForMessages) {
  EXPECT_EQ(shown("abc"), "abc");
  EXPECT_EQ(shown("abcdef", 3), "abc...");
  EXPECT_EQ(shown("abc", 3), "abc");
  EXPECT_EQ(shown("\xc3\xa4\xc3\xa4", 3), "\xc3\xa4\xc3\xa4");
  EXPECT_LT(shown(std::string(1'000'000, '\n')).size(), 200u);
}

TEST(Printable, EscapesForJson) {
  EXPECT_EQ(json_escape("a\"b\\c/d"), "a\\\"b\\\\c/d");
  EXPECT_EQ(json_escape("\b\f\n\r\t"), "\\b\\f\\n\\r\\t");
  EXPECT_EQ(json_escape(std::string_view("\0\x1f\x7f", 3)), "\\u0000\\u001f\\u007f");
  EXPECT_EQ(json_escape("\xc3\xa4"), "\xc3\xa4");
  EXPECT_EQ(json_escape("a\xff"
                        "b"),
            "a\xef\xbf\xbd"
            "b");
}

}  // namespace
}  // namespace spur::text
