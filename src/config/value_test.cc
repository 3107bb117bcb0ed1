// SPDX-License-Identifier: Apache-2.0
#include "config/value.h"

#include <gtest/gtest.h>

namespace spur::config {
namespace {

// A value as one line, or "! message".
std::string show(const Result<Value>& value, Type type) {
  if (!value) return "! " + value.error().message;
  switch (type) {
    case Type::Flag:
      return value->flag ? "yes" : "no";
    case Type::Number:
    case Type::Span:
      return value->infinite ? "infinite" : std::to_string(value->number);
    case Type::Word:
      return std::to_string(value->number) + " " + value->text;
    case Type::Time:
      return value->time.is_unlimited() ? "unlimited" : std::to_string(value->time.minutes_value()) + " min";
    case Type::Address:
      return value->list[0] + " " + std::to_string(value->number);
    case Type::Counts: {
      std::string out;
      for (const auto& [name, count] : value->counts) out += name + "=" + std::to_string(count) + ";";
      return out;
    }
    case Type::List: {
      std::string out;
      for (const auto& item : value->list) out += item + ";";
      return out;
    }
    default:
      return value->text;
  }
}

TEST(Value, FromText) {
  const Kind small{Type::Number, 1, 65535}, limit{Type::Number, 0, 100, true},
      word{Type::Word, 0, 0, false, "UP|DOWN|DRAIN"};
  const Kind large{Type::Number};
  const struct {
    Kind kind;
    const char *text, *want;
  } kCases[] = {
      {{Type::Flag}, "YES", "yes"},
      {{Type::Flag}, "up", "yes"},
      {{Type::Flag}, "0", "no"},
      {{Type::Flag}, "False", "no"},
      {{Type::Flag}, "maybe", "! \"maybe\" is not a valid option for \"K\""},
      {small, "300", "300"},
      {small, "4k", "4096"},
      {small, "0", "! K value (0) is less than 1"},
      {small, "70000", "! K value (70000) is greater than 65535"},
      {small, "-5", "! K value (-5) is less than zero"},
      {small, "5x", "! K value (5x) is not a valid number"},
      {small, "", "! K value () is not a valid number"},
      {small, "99999999999999999999999", "! K value (99999999999999999999999) is greater than 65535"},
      {small, "UNLIMITED", "! K value (UNLIMITED) is not a valid number"},
      {limit, "UNLIMITED", "infinite"},
      {limit, "infinite", "infinite"},
      {limit, "101", "! K value (101) is greater than 100"},
      {large, "18446744073709551615", "18446744073709551615"},
      {large, "18446744073709551615k", "! K value (18446744073709551615k) is greater than 18446744073709551615"},
      {{Type::Time}, "24:00:00", "1440 min"},
      {{Type::Time}, "7-0", "10080 min"},
      {{Type::Time}, "30", "30 min"},
      {{Type::Time}, "INFINITE", "unlimited"},
      {{Type::Time}, "1h30m", "90 min"},
      {{Type::Time}, "2d", "2880 min"},
      {{Type::Time}, "90s", "2 min"},
      {{Type::Time}, "abc", "! Bad value \"abc\" for K"},
      {{Type::Time}, "", "! Bad value \"\" for K"},
      {{Type::Time}, "1m30h", "! Bad value \"1m30h\" for K"},
      {{Type::Time}, "99999999999d", "! Bad value \"99999999999d\" for K"},
      {{Type::Time}, "4000000000d", "! K value (4000000000d) is too large"},
      {{Type::Span, 0, 1000000}, "7-0", "604800"},
      {{Type::Span, 0, 1000000}, "1:30", "90"},
      {{Type::Span, 0, 1000000}, "90s", "90"},
      {{Type::Span, 0, 1000000}, "UNLIMITED", "! Bad value \"UNLIMITED\" for K"},
      {word, "down", "1 DOWN"},
      {word, "OFF", "! Bad value \"OFF\" for K: it is UP, DOWN or DRAIN"},
      {{Type::List}, "a, b,,c", "a;b;c;"},
      {{Type::List}, "", ""},
      {{Type::Counts, 0, 1000}, "fluent:30,matlab*2,simulink", "fluent=30;matlab=2;simulink=1;"},
      {{Type::Counts, 0, 1000}, "a:1001", "! Bad value \"a:1001\" for K"},
      {{Type::Counts, 0, 1000}, ":3", "! Bad value \":3\" for K"},
      {{Type::Counts, 0, 1000}, "a:x", "! Bad value \"a:x\" for K"},
      {{Type::Address}, "[::]:6817", "[::] 6817"},
      {{Type::Address}, "0.0.0.0:1", "0.0.0.0 1"},
      {{Type::Address}, "host:65535", "host 65535"},
      {{Type::Address}, "host", "! K: \"host\" is not host:port (an IPv6 address stands in brackets)"},
      {{Type::Address}, "host:0", "! K: \"host:0\" is not host:port (an IPv6 address stands in brackets)"},
      {{Type::Address}, ":6817", "! K: \":6817\" is not host:port (an IPv6 address stands in brackets)"},
      {{Type::Address}, "::1:6817", "! K: \"::1:6817\" is not host:port (an IPv6 address stands in brackets)"},
      {{Type::Address}, "host:65536", "! K: \"host:65536\" is not host:port (an IPv6 address stands in brackets)"},
      {{Type::Path}, "/var/spool", "/var/spool"},
      {{Type::Path}, "var/spool", "! K: \"var/spool\" is not an absolute path"},
      {{Type::Text}, "anything at all", "anything at all"},
  };
  for (const auto& c : kCases) EXPECT_EQ(show(check_text(c.kind, "K", c.text), c.kind.type), c.want) << c.text;
}

TEST(Value, ErrorsDoNotRepeatGarbage) {
  const auto value = check_text({Type::Number}, "K", std::string(1000, '\x1b') + "x");
  ASSERT_FALSE(value);
  EXPECT_LT(value.error().message.size(), 300u);
  EXPECT_EQ(value.error().message.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace spur::config
