// SPDX-License-Identifier: Apache-2.0
#include "os/usage_sample.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "os/test_directory.h"

namespace spur::os {
namespace {

TEST(UsageSample, AddsUpLivingProcesses) {
  const TestDirectory dir;
  const auto process = [&](int pid, const char* name, int user, int resident) {
    const std::string path = (dir / "") + "/proc/" + std::to_string(pid);
    std::filesystem::create_directories(path);
    std::ofstream(path + "/stat") << pid << " (" << name << ") S 1 1 1 0 -1 4194304 100 0 7 0 " << user
                                  << " 50 0 0 20 0 1 0 123 2048000 " << resident << " 18446744073709551615 1\n";
    std::ofstream(path + "/io") << "rchar: 1000\nwchar: 2000\nsyscr: 5\n";
  };
  process(10, "a) b (c", 100, 10);
  process(11, "x", 200, 20);
  const auto usage = usage_of_processes({10, 11, 12}, dir / "");
  const auto tick = 1'000'000u / static_cast<unsigned>(::sysconf(_SC_CLK_TCK));
  const auto page = static_cast<unsigned>(::sysconf(_SC_PAGESIZE)) / 1024;
  EXPECT_EQ(usage.user_cpu_us, 300u * tick);
  EXPECT_EQ(usage.system_cpu_us, 100u * tick);
  EXPECT_EQ(usage.max_rss_kib, 30u * page);
  EXPECT_EQ(usage.max_vsize_kib, 4000u);
  EXPECT_EQ(usage.major_faults, 14u);
  EXPECT_EQ(usage.read_bytes, 2000u);
  EXPECT_EQ(usage.write_bytes, 4000u);
}

TEST(UsageSample, OfThisProcess) {
  const auto usage = usage_of_processes({::getpid()});
  EXPECT_GT(usage.max_rss_kib, 100u);
  EXPECT_GT(usage.max_vsize_kib, usage.max_rss_kib);
  EXPECT_EQ(usage_of_processes({}), model::Usage{});
}

TEST(UsageSample, TravelsAsText) {
  const StepSample sample{"7", {{0, 100, {.user_cpu_us = 1, .max_rss_kib = 2}}, {1, 101, {.major_faults = 9}}}};
  const auto back = decode_sample(encode_sample(sample));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, sample);
  EXPECT_FALSE(decode_sample(""));
  EXPECT_FALSE(decode_sample("step 1\n"));  // cut short
  EXPECT_FALSE(decode_sample("step 1\ntask 1 2\nend\n"));
  EXPECT_FALSE(decode_sample("what\nend\n"));
}

TEST(UsageSample, PeaksStay) {
  model::Usage peaks{.user_cpu_us = 5, .max_rss_kib = 100};
  keep_peaks(peaks, {.user_cpu_us = 7, .max_rss_kib = 50});
  EXPECT_EQ(peaks, (model::Usage{.user_cpu_us = 7, .max_rss_kib = 100}));
}

}  // namespace
}  // namespace spur::os
