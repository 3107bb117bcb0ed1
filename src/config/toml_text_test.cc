// SPDX-License-Identifier: Apache-2.0
#include "config/toml_text.h"

#include <gtest/gtest.h>

#include "config/load.h"

namespace spur::config {
namespace {

TEST(TomlText, ShieldAndBack) {
  for (const char* text : {"", "plain", "K\xc3\xb6ln", "\xe2\x82\xac 5", "\xf0\x9f\x98\x80", "\xf3\xb0\x82\x84",
                           "a\xc3\xa4\n\xc3\xa4"}) {
    const std::string shielded = shield(text);
    EXPECT_EQ(unshield(shielded), text);
    EXPECT_EQ(line_of_bad_utf8(shielded), 0u);
    EXPECT_EQ(shielded == text, is_ascii(text));
  }
}

TEST(TomlText, BadUtf8) {
  const struct {
    const char* text;
    std::uint32_t line;
  } kCases[] = {{"", 0},
                {"a\n\xc3\xa4\n", 0},
                {"\xf4\x8f\xbf\xbf", 0},
                {"\xc3", 1},
                {"a\n\n\xff", 3},
                {"\xc0\x80", 1},  // overlong
                {"\xe0\x80\x80", 1},
                {"\n\xed\xa0\x80", 2},    // surrogate
                {"\xf4\x90\x80\x80", 1},  // beyond the last character
                {"\x80", 1},
                {"\xe2\x82", 1}};
  for (const auto& c : kCases) EXPECT_EQ(line_of_bad_utf8(c.text), c.line) << c.text;
}

TEST(TomlText, LettersInFiles) {
  const auto loaded = load_text(
      "# f\xc3\xbcr alle\n[[nodes]]\nnames = \"a\"\ncomment = \"K\xc3\xb6ln \xe2\x82\xac\"\nreason = 'literal "
      "\xc3\xa4'\n",
      "spur.conf");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->cluster.nodes[0].comment, "K\xc3\xb6ln \xe2\x82\xac");
  EXPECT_EQ(loaded->cluster.nodes[0].reason, "literal \xc3\xa4");

  const auto mark = load_text(
      "\xef\xbb\xbf"
      "cluster_name = \"x\"\n",
      "spur.conf");
  ASSERT_TRUE(mark) << mark.error().message;
  EXPECT_EQ(mark->cluster.cluster_name, "x");

  const auto name = [](const char* text) {
    const auto result = load_text(text, "spur.conf");
    return result ? "loaded" : result.error().message;
  };
  EXPECT_EQ(name("\n\xc3 = 1"), "spur.conf:2: this is not UTF-8");
  EXPECT_EQ(name("\"k\xc3\xb6ln\" = 1"), "spur.conf:1: unknown key \"k\xc3\xb6ln\"");
  EXPECT_EQ(name("k\xc3\xb6ln = 1").substr(0, 13), "spur.conf:1: ");
}

}  // namespace
}  // namespace spur::config
