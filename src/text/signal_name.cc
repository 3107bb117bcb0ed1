// SPDX-License-Identifier: Apache-2.0
#include "text/signal_name.h"

#include <csignal>

#include <fmt/format.h>

#include "text/decimal.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::text {
namespace {

constexpr int kMaxSignal = 64;
// Fixed, not SIGRTMIN: glibc keeps 32 and 33 for itself, and a name must mean the same number on every node.
constexpr int kRtMin = 34, kRtMax = 64;

struct SignalRow {
  int number;
  std::string_view name, words;
};
constexpr SignalRow kSignals[] = {
    {SIGHUP, "HUP", "Hangup"},
    {SIGINT, "INT", "Interrupt"},
    {SIGQUIT, "QUIT", "Quit"},
    {SIGILL, "ILL", "Illegal instruction"},
    {SIGTRAP, "TRAP", "Trace/breakpoint trap"},
    {SIGABRT, "ABRT", "Aborted"},
    {SIGBUS, "BUS", "Bus error"},
    {SIGFPE, "FPE", "Floating point exception"},
    {SIGKILL, "KILL", "Killed"},
    {SIGUSR1, "USR1", "User defined signal 1"},
    {SIGSEGV, "SEGV", "Segmentation fault"},
    {SIGUSR2, "USR2", "User defined signal 2"},
    {SIGPIPE, "PIPE", "Broken pipe"},
    {SIGALRM, "ALRM", "Alarm clock"},
    {SIGTERM, "TERM", "Terminated"},
    {SIGSTKFLT, "STKFLT", "Stack fault"},
    {SIGCHLD, "CHLD", "Child exited"},
    {SIGCONT, "CONT", "Continued"},
    {SIGSTOP, "STOP", "Stopped (signal)"},
    {SIGTSTP, "TSTP", "Stopped"},
    {SIGTTIN, "TTIN", "Stopped (tty input)"},
    {SIGTTOU, "TTOU", "Stopped (tty output)"},
    {SIGURG, "URG", "Urgent I/O condition"},
    {SIGXCPU, "XCPU", "CPU time limit exceeded"},
    {SIGXFSZ, "XFSZ", "File size limit exceeded"},
    {SIGVTALRM, "VTALRM", "Virtual timer expired"},
    {SIGPROF, "PROF", "Profiling timer expired"},
    {SIGWINCH, "WINCH", "Window changed"},
    {SIGIO, "IO", "I/O possible"},
    {SIGPWR, "PWR", "Power failure"},
    {SIGSYS, "SYS", "Bad system call"},
    // Second names, after the ones that are printed.
    {SIGIO, "POLL", ""},
    {SIGABRT, "IOT", ""},
    {SIGCHLD, "CLD", ""},
};

// "RTMIN", "RTMIN+3", "RTMAX-1"; 0 if it is none.
int parse_realtime(std::string_view word) {
  int base = 0;
  char sign = 0;
  if (starts_with_ignoring_case(word, "RTMIN")) {
    base = kRtMin, sign = '+';
  } else if (starts_with_ignoring_case(word, "RTMAX")) {
    base = kRtMax, sign = '-';
  } else {
    return 0;
  }
  word.remove_prefix(5);
  if (word.empty()) return base;
  const auto offset = parse_decimal(word.substr(1), kRtMax - kRtMin);
  if (word.front() != sign || !offset) return 0;
  return sign == '+' ? base + static_cast<int>(*offset) : base - static_cast<int>(*offset);
}

}  // namespace

Result<int> parse_signal(std::string_view text) {
  if (const auto number = parse_decimal(text, kMaxSignal); number && *number > 0) return static_cast<int>(*number);
  const std::string_view word = starts_with_ignoring_case(text, "SIG") ? text.substr(3) : text;
  for (const SignalRow& row : kSignals)
    if (equal_ignoring_case(word, row.name)) return row.number;
  if (const int signal = parse_realtime(word)) return signal;
  return fail(ErrorCode::InvalidArgument, fmt::format("Invalid signal \"{}\"", shown(text)));
}

std::string signal_name(int signal) {
  for (const SignalRow& row : kSignals)
    if (row.number == signal) return std::string(row.name);
  if (signal == kRtMin) return "RTMIN";
  if (signal > kRtMin && signal <= kRtMax) return fmt::format("RTMIN+{}", signal - kRtMin);
  return fmt::format("{}", signal);
}

std::string signal_words(int signal) {
  for (const SignalRow& row : kSignals)
    if (row.number == signal) return std::string(row.words);
  if (signal >= kRtMin && signal <= kRtMax) return fmt::format("Real-time signal {}", signal - kRtMin);
  return fmt::format("Unknown signal {}", signal);
}

Result<SignalOption> parse_signal_option(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorCode::InvalidArgument, fmt::format("Invalid --signal specification \"{}\"", shown(text)));
  };
  SignalOption option;
  std::string_view rest = text;
  if (const auto colon = rest.find(':'); colon != std::string_view::npos) {
    for (const char flag : rest.substr(0, colon)) {
      bool& wanted = to_upper(flag) == 'B' ? option.batch_only : option.in_reservation;
      if ((to_upper(flag) != 'B' && to_upper(flag) != 'R') || wanted) return bad();
      wanted = true;
    }
    if (colon == 0) return bad();
    rest.remove_prefix(colon + 1);
  }
  if (const auto at = rest.find('@'); at != std::string_view::npos) {
    const auto before = parse_decimal(rest.substr(at + 1), 65535);
    if (!before) return bad();
    option.seconds_before = static_cast<std::uint32_t>(*before);
    rest = rest.substr(0, at);
  }
  const auto signal = parse_signal(rest);
  if (!signal) return bad();
  option.signal = *signal;
  return option;
}

std::string format_signal_option(const SignalOption& option) {
  std::string flags;
  if (option.in_reservation) flags += 'R';
  if (option.batch_only) flags += 'B';
  if (!flags.empty()) flags += ':';
  return fmt::format("{}{}@{}", flags, option.signal, option.seconds_before);
}

}  // namespace spur::text
