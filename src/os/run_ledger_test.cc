// SPDX-License-Identifier: Apache-2.0
#include "os/run_ledger.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "os/test_directory.h"

namespace spur::os {
namespace {

model::JobRun run_of(std::uint32_t job, std::uint32_t epoch = 1) {
  return {JobId{job}, Epoch{epoch}};
}

class Ledger : public testing::Test {
 protected:
  void SetUp() override {
    loop_ = *EventLoop::open();
    open();
  }
  void open() {
    ledger_.reset();
    auto opened = RunLedger::open(*loop_, dir_ / "ledger");
    ASSERT_TRUE(opened) << opened.error().message;
    ledger_ = std::move(*opened);
  }
  void note(model::JobRun run, bool is_batch_host = true) {
    bool done = false;
    ledger_->note(run, is_batch_host, [&](const Status& status) {
      EXPECT_TRUE(status);
      done = true;
    });
    while (!done) loop_->run_once(milliseconds(10));
  }
  TestDirectory dir_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<RunLedger> ledger_;
};

TEST_F(Ledger, RemembersRunsAndEnds) {
  note(run_of(5));
  note(run_of(3, 2), false);
  note(run_of(4));
  EndRecord end;
  end.exit = {3, 0};
  end.launch_failed = true;
  end.error = std::string(1000, 'e');
  end.usage.max_rss_kib = 77;
  ledger_->note_end(run_of(5), end);
  ledger_->note_end(run_of(99), end);  // never heard of
  ledger_->forget(run_of(4));
  ledger_->forget(run_of(98));
  open();
  const auto& found = ledger_->found();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].run, run_of(3, 2));
  EXPECT_FALSE(found[0].is_batch_host);
  EXPECT_FALSE(found[0].end);
  EXPECT_EQ(found[1].run, run_of(5));
  EXPECT_TRUE(found[1].is_batch_host);
  ASSERT_TRUE(found[1].end);
  EXPECT_EQ(found[1].end->exit, (model::ExitStatus{3, 0}));
  EXPECT_TRUE(found[1].end->launch_failed);
  EXPECT_EQ(found[1].end->error, std::string(400, 'e'));
  EXPECT_EQ(found[1].end->usage.max_rss_kib, 77u);
  EXPECT_TRUE(ledger_->knows(run_of(5)));
  EXPECT_FALSE(ledger_->knows(run_of(4)));
}

TEST_F(Ledger, AnswersManyWithFewSyncs) {
  int done = 0;
  for (std::uint32_t i = 1; i <= 1000; ++i)
    ledger_->note(run_of(i), true, [&](const Status& s) { done += s.has_value(); });
  while (done < 1000) loop_->run_once(milliseconds(10));
  open();
  EXPECT_EQ(ledger_->found().size(), 1000u);
}

TEST_F(Ledger, GrowsAndReusesItsPlace) {
  const auto size = std::filesystem::file_size(dir_ / "ledger");
  int done = 0;
  for (std::uint32_t i = 1; i <= 3000; ++i)
    ledger_->note(run_of(i), true, [&](const Status& s) { done += s.has_value(); });
  while (done < 3000) loop_->run_once(milliseconds(10));
  EXPECT_EQ(std::filesystem::file_size(dir_ / "ledger"), 2 * size);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 1; i <= 3000; ++i) ledger_->forget(run_of(i, static_cast<std::uint32_t>(round + 1)));
    for (std::uint32_t i = 1; i <= 3000; ++i)
      ledger_->note(run_of(i, static_cast<std::uint32_t>(round + 2)), true, {});
  }
  open();
  EXPECT_EQ(ledger_->found().size(), 3000u);
  EXPECT_EQ(ledger_->found()[0].run, run_of(1, 4));
  EXPECT_EQ(std::filesystem::file_size(dir_ / "ledger"), 2 * size);
}

TEST_F(Ledger, DamagedSlotsAreFree) {
  note(run_of(1));
  note(run_of(2));
  ledger_.reset();
  const UniqueFd file(::open((dir_ / "ledger").c_str(), O_RDWR));
  ASSERT_EQ(::pwrite(file.get(), "#", 1, 20), 1);  // in the first slot
  open();
  ASSERT_EQ(ledger_->found().size(), 1u);
  note(run_of(3));
  open();
  EXPECT_EQ(ledger_->found().size(), 2u);
}

TEST_F(Ledger, AHalfWrittenFileIsCompleted) {
  note(run_of(1));
  ledger_.reset();
  std::filesystem::resize_file(dir_ / "ledger", 512 * 3 + 100);
  open();
  EXPECT_EQ(ledger_->found().size(), 1u);
  int done = 0;
  for (std::uint32_t i = 1; i <= 100; ++i)
    ledger_->note(run_of(i), true, [&](const Status& s) { done += s.has_value(); });
  while (done < 100) loop_->run_once(milliseconds(10));
}

TEST_F(Ledger, WhoGoesIsNotToldAnyMore) {
  ledger_->note(run_of(1), true, [](const Status&) { FAIL(); });
  ledger_.reset();
  loop_->run_once(milliseconds(10));
  open();
  EXPECT_EQ(ledger_->found().size(), 1u) << "written all the same";
}

}  // namespace
}  // namespace spur::os
