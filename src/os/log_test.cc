// SPDX-License-Identifier: Apache-2.0
#include "os/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <vector>

#include "os/files.h"
#include "os/test_directory.h"

namespace spur::os {
namespace {

struct FixedClock final : io::Clock {
  Time value = from_micros(1'794'770'418'123'456);
  Time now() override { return value; }
  Duration monotonic() override { return {}; }
};

class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  std::string content(const std::string& name = "log") const { return read_file(dir_ / name, 1 << 20).value_or("?"); }
  Log::Targets to_file() const {
    return {.level = LogLevel::Info, .json = false, .file = dir_ / "log", .to_stderr = false, .to_syslog = false};
  }
  TestDirectory dir_;
  FixedClock clock_;
  Log log_{"spurctld", clock_};
};

TEST_F(LogTest, LinesLookLikeSlurms) {
  Log::Targets targets = to_file();
  targets.level = LogLevel::Debug5;
  ASSERT_TRUE(log_.set_targets(targets));
  log_.fatal("no {}", "way");
  log_.error("bad node {}", 7);
  log_.warning("careful");
  log_.info("Running as primary controller");
  log_.write(LogLevel::Verbose, "v");
  log_.debug("d");
  log_.write(LogLevel::Debug2, "d2");
  log_.write(LogLevel::Debug5, "d5");
  EXPECT_EQ(content(),
            "[2026-11-15T19:20:18.123] fatal: no way\n"
            "[2026-11-15T19:20:18.123] error: bad node 7\n"
            "[2026-11-15T19:20:18.123] warning: careful\n"
            "[2026-11-15T19:20:18.123] Running as primary controller\n"
            "[2026-11-15T19:20:18.123] v\n"
            "[2026-11-15T19:20:18.123] debug:  d\n"
            "[2026-11-15T19:20:18.123] debug2: d2\n"
            "[2026-11-15T19:20:18.123] debug5: d5\n");
  struct stat info{};
  ASSERT_EQ(::stat((dir_ / "log").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 077, 0u);
}

TEST_F(LogTest, LevelsFilter) {
  const std::pair<LogLevel, std::string> cases[] = {{LogLevel::Quiet, ""},       {LogLevel::Fatal, "f"},
                                                    {LogLevel::Error, "fe"},     {LogLevel::Info, "fei"},
                                                    {LogLevel::Verbose, "feiv"}, {LogLevel::Debug3, "feivd"}};
  for (const auto& [level, expected] : cases) {
    std::filesystem::remove(dir_ / "log");
    Log::Targets targets = to_file();
    targets.level = level;
    ASSERT_TRUE(log_.set_targets(targets));
    log_.fatal("f");
    log_.error("e");
    log_.info("i");
    log_.write(LogLevel::Verbose, "v");
    log_.debug("d");
    log_.write(LogLevel::Debug4, "x");
    std::string letters, line;
    std::istringstream lines(content());
    while (std::getline(lines, line)) letters += line.back();
    EXPECT_EQ(letters, expected);
  }
}

TEST_F(LogTest, NothingForgesALineOrTalksToATerminal) {
  const std::pair<std::string, std::string> cases[] = {
      {"plain", "plain"},
      {"two\nlines", "two\\nlines"},
      {"tab\there\r", "tab\\there\\r"},
      {"\x1b[31mred\x07", "\\x1b[31mred\\x07"},
      {std::string("nul\0x", 5), "nul\\x00x"},
      {"\x7f", "\\x7f"},
      {"\xc2\x9b"
       "31m",
       "\\xc2\\x9b31m"},
      {"\x9b", "\\x9b"},
      {"cut \xe6\x97", "cut \\xe6\\x97"},
      {"\xc0\xaf\xed\xa0\x80\xf5", "\\xc0\\xaf\\xed\\xa0\\x80\\xf5"},
      {"\U0001F600", "\U0001F600"},
      {"Grüße 日本", "Grüße 日本"},
      {"100% %s %n", "100% %s %n"},
  };
  for (const auto& [in, out] : cases) EXPECT_EQ(escape_control(in), out);
  ASSERT_TRUE(log_.set_targets(to_file()));
  log_.info("job name {}", "x\n[2026-11-15T19:20:18.123] error: forged");
  EXPECT_EQ(content(), "[2026-11-15T19:20:18.123] job name x\\n[2026-11-15T19:20:18.123] error: forged\n");
}

TEST_F(LogTest, Json) {
  Log::Targets targets = to_file();
  targets.json = true;
  ASSERT_TRUE(log_.set_targets(targets));
  const std::string nasty = "say \"hi\"\\ \x01\n\xff{}";
  log_.write(LogLevel::Error, nasty);
  const auto parsed = nlohmann::json::parse(content());
  EXPECT_EQ(parsed["level"], "error");
  EXPECT_EQ(parsed["program"], "spurctld");
  EXPECT_EQ(parsed["time"], "2026-11-15T19:20:18.123");
  EXPECT_EQ(parsed["message"], escape_control(nasty));
}

TEST_F(LogTest, ReopenAfterRotation) {
  ASSERT_TRUE(log_.set_targets(to_file()));
  log_.info("one");
  std::filesystem::rename(dir_ / "log", dir_ / "log.1");
  log_.info("two");
  ASSERT_TRUE(log_.reopen());
  log_.info("three");
  EXPECT_NE(content("log.1").find("two"), std::string::npos);
  EXPECT_EQ(content(), "[2026-11-15T19:20:18.123] three\n");
}

TEST_F(LogTest, BadFileChangesNothing) {
  ASSERT_TRUE(log_.set_targets(to_file()));
  Log::Targets bad = to_file();
  bad.file = "/no/such/dir/log";
  bad.level = LogLevel::Debug5;
  const Status status = log_.set_targets(bad);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("/no/such/dir/log"), std::string::npos);
  log_.info("still here");
  log_.debug("still not");
  EXPECT_EQ(content(), "[2026-11-15T19:20:18.123] still here\n");
}

TEST_F(LogTest, StderrFormAndCapture) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int err = ::open((dir_ / "err").c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(err, STDERR_FILENO);
    Log::Targets targets = to_file();
    targets.to_stderr = true;
    Log log("spurd", clock_);
    log.error("before");
    if (!log.set_targets(targets) || !log.capture_stderr()) ::_exit(1);
    log.error("after");
    targets.to_stderr = false;
    if (!log.set_targets(targets)) ::_exit(1);
    log.error("later");
    ::_exit(::write(STDERR_FILENO, "raw\n", 4) == 4 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content("err"), "spurd: error: before\nspurd: error: after\n");
  EXPECT_EQ(content(), "[2026-11-15T19:20:18.123] error: after\n[2026-11-15T19:20:18.123] error: later\nraw\n");
}

TEST_F(LogTest, CaptureWithoutAFileAndTheLevelOfStderr) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int err = ::open((dir_ / "err").c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(err, STDERR_FILENO);
    Log log("spurd", clock_);
    Log::Targets targets;
    targets.stderr_level = LogLevel::Warning;
    if (!log.set_targets(targets) || !log.capture_stderr()) ::_exit(1);
    log.info("not grave");
    log.warning("grave");
    ::_exit(::write(STDERR_FILENO, "raw\n", 4) == 4 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content("err"), "spurd: warning: grave\n");
}

TEST_F(LogTest, ThreadsDoNotMixLines) {
  ASSERT_TRUE(log_.set_targets(to_file()));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i)
        log_.info("thread {} line {} {}", t, i, std::string(100, static_cast<char>('a' + t)));
    });
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(log_.reopen());
  for (std::thread& thread : threads) thread.join();
  std::istringstream lines(content());
  std::string line;
  int count = 0;
  for (; std::getline(lines, line); ++count) {
    ASSERT_TRUE(line.starts_with("[2026-11-15T19:20:18.123] thread ")) << line;
    ASSERT_EQ(line.substr(line.size() - 100), std::string(100, line.back()));
  }
  EXPECT_EQ(count, 2000);
}

TEST_F(LogTest, LostLinesAreCounted) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    Log log("spurd", clock_);
    if (!log.set_targets(to_file())) ::_exit(1);
    const rlimit limit{500, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 20; ++i) log.info("line {:02} {}", i, std::string(50, '.'));
    const rlimit more{RLIM_INFINITY, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &more);
    log.info("room again");
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(content().find("lines of this log could not be written"), std::string::npos) << content();
  EXPECT_NE(content().find("room again"), std::string::npos);
}

TEST_F(LogTest, MomentsAsTheSiteWantsThem) {
  const Time at = clock_.value;
  for (const auto& [format, text] : {std::pair{LogTime::Iso, "2026-11-15T19:20:18"},
                                     {LogTime::IsoMs, "2026-11-15T19:20:18.123"},
                                     {LogTime::Rfc5424, "2026-11-15T19:20:18+00:00"},
                                     {LogTime::Rfc5424Ms, "2026-11-15T19:20:18.123+00:00"},
                                     {LogTime::Rfc3339, "2026-11-15T19:20:18+00:00"},
                                     {LogTime::Short, "Nov 15 19:20:18"}})
    EXPECT_EQ(log_time(at, format), text);
  EXPECT_TRUE(log_time(at, LogTime::ThreadId).starts_with("Nov 15 19:20:18.123456 "));
  Log::Targets targets = to_file();
  targets.time = LogTime::Short;
  ASSERT_TRUE(log_.set_targets(targets));
  log_.info("hello");
  EXPECT_EQ(content(), "[Nov 15 19:20:18] hello\n");
}

TEST_F(LogTest, SyslogMayHaveMoreThanTheFile) {
  Log::Targets targets = to_file();
  targets.level = LogLevel::Error;
  targets.to_syslog = true;
  targets.syslog_level = LogLevel::Info;
  ASSERT_TRUE(log_.set_targets(targets));
  EXPECT_TRUE(log_.wants(LogLevel::Info));
  EXPECT_FALSE(log_.wants(LogLevel::Debug));
  log_.info("for syslog");
  log_.error("for both");
  EXPECT_EQ(content(), "[2026-11-15T19:20:18.123] error: for both\n");
}

// DebugFlags: what a line is about may matter more than its level.
TEST_F(LogTest, SubjectsThatAreWantedAreInformation) {
  ASSERT_TRUE(log_.set_targets(to_file()));
  log_.about(text::debug::kSteps, "unwanted");
  log_.set_subjects(text::debug::kSteps | text::debug::kAgent);
  EXPECT_TRUE(log_.traces(text::debug::kSteps));
  EXPECT_FALSE(log_.traces(text::debug::kPower));
  log_.about(text::debug::kSteps, "begins");
  log_.about(text::debug::kPower, "unwanted");
  EXPECT_EQ(content(), "[2026-11-15T19:20:18.123] STEPS: begins\n");
}

}  // namespace
}  // namespace spur::os
