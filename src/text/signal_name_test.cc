// SPDX-License-Identifier: Apache-2.0
#include "text/signal_name.h"

#include <csignal>
#include <cstring>

#include <gtest/gtest.h>

namespace spur::text {
namespace {

TEST(SignalName, ParsesNamesAndNumbers) {
  const struct {
    const char* text;
    int signal;
  } rows[] = {
      {"USR1", SIGUSR1}, {"SIGUSR1", SIGUSR1}, {"usr1", SIGUSR1}, {"sigusr1", SIGUSR1},
      {"10", 10},        {"KILL", 9},          {"9", 9},          {"INT", 2},
      {"64", 64},        {"RTMIN", 34},        {"RTMIN+1", 35},   {"SIGRTMAX-1", 63},
      {"POLL", SIGIO},   {"CHLD", SIGCHLD},    {"CLD", SIGCHLD},  {"Stop", SIGSTOP},
  };
  for (const auto& row : rows) EXPECT_EQ(parse_signal(row.text), row.signal) << row.text;
  for (const char* text : {"", "foo", "0", "65", "-9", "9a", " 9", "SIGSIGKILL", "SIG", "KILLx", "RTMIN+31",
                           "RTMIN-1", "RTMAX+1", "RTMIN+", "99999999999999999999"}) {
    const auto signal = parse_signal(text);
    ASSERT_FALSE(signal) << text;
    EXPECT_NE(signal.error().message.find(text), std::string::npos);
  }
}

TEST(SignalName, EveryNumberHasANameThatReadsBack) {
  for (int signal = 1; signal <= 64; ++signal) EXPECT_EQ(parse_signal(signal_name(signal)), signal) << signal;
  EXPECT_EQ(signal_name(9), "KILL");
  EXPECT_EQ(signal_name(32), "32");
  EXPECT_EQ(signal_name(36), "RTMIN+2");
}

// srun prints strsignal()'s words; ours must be the same without depending on the locale.
TEST(SignalName, SaysWhatTheSystemSays) {
  for (int signal = 1; signal <= 31; ++signal) EXPECT_EQ(signal_words(signal), strsignal(signal)) << signal;
  EXPECT_EQ(signal_words(35), strsignal(35));
  EXPECT_EQ(signal_words(99), "Unknown signal 99");
}

TEST(SignalName, ParsesTheSignalOption) {
  const struct {
    const char* text;
    SignalOption option;
    const char* printed;
  } rows[] = {
      {"USR1", {10, 60, false, false}, "10@60"},       {"USR1@60", {10, 60, false, false}, "10@60"},
      {"B:USR1@30", {10, 30, true, false}, "B:10@30"}, {"R:10", {10, 60, false, true}, "R:10@60"},
      {"RB:USR2@5", {12, 5, true, true}, "RB:12@5"},   {"br:USR2@5", {12, 5, true, true}, "RB:12@5"},
      {"SIGUSR1@0", {10, 0, false, false}, "10@0"},    {"USR2@65535", {12, 65535, false, false}, "12@65535"},
      {"B:INT@30", {2, 30, true, false}, "B:2@30"},
  };
  for (const auto& row : rows) {
    const auto option = parse_signal_option(row.text);
    ASSERT_TRUE(option) << row.text;
    EXPECT_EQ(*option, row.option) << row.text;
    EXPECT_EQ(format_signal_option(*option), row.printed);
    EXPECT_EQ(parse_signal_option(row.printed), *option);
  }
  for (const char* text : {"", "foo", "foo@60", "USR1@65536", "USR1@-1", "USR1@", "USR1@x", "@60", "B:", ":USR1",
                           "X:USR1", "BB:USR1", "RR:USR1", "0", "0@60", "USR1@60@60", "B:USR1@60:"})
    EXPECT_FALSE(parse_signal_option(text)) << text;
}

}  // namespace
}  // namespace spur::text
