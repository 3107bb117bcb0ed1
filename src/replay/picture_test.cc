// SPDX-License-Identifier: Apache-2.0
#include "replay/picture.h"

#include <gtest/gtest.h>

#include <random>

#include "replay/lanes.h"
#include "replay/reference.h"

namespace spur::replay {
namespace {

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Picture, EveryJobIsABox) {
  SwfTrace trace;
  trace.computer = "a <b> & c";
  trace.max_processors = 4;
  trace.jobs = {{1, 0, 100, 3, 120}, {2, 0, 60, 4, 60}, {3, 5, 30, 1, 30}};
  const Workload work = *make_workload(trace, {});
  const std::string svg = draw(work, replay_reference(work, {}));
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(count(svg, "<title>job "), 3u);
  EXPECT_NE(svg.find("<title>job 2, 4 processors, waited 1:40, ran 1:00</title>"), std::string::npos);
  EXPECT_NE(svg.find("a &lt;b&gt; &amp; c"), std::string::npos);
  EXPECT_EQ(count(svg, "nan") + count(svg, "inf"), 0u);
}

TEST(Picture, OfNothing) {
  const std::string svg = draw(Workload{}, Outcome{});
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(count(draw(GpuFill{}), "nan"), 0u);
}

TEST(Lanes, NobodyIsDrawnOverAnother) {
  std::mt19937 random(3);
  Lanes lanes(100);
  std::vector<bool> used(100);
  std::vector<std::vector<Piece>> jobs;
  std::uint32_t free = 100;
  for (int round = 0; round < 2000; ++round) {
    const std::uint32_t wanted = 1 + static_cast<std::uint32_t>(random() % 30);
    if (wanted <= free) {
      jobs.push_back(lanes.take(wanted));
      std::uint32_t got = 0;
      for (const Piece& piece : jobs.back())
        for (std::uint32_t p = piece.first; p < piece.first + piece.count; ++p, ++got) {
          ASSERT_FALSE(used[p]);
          used[p] = true;
        }
      ASSERT_EQ(got, wanted);
      free -= wanted;
      continue;
    }
    const std::size_t which = random() % jobs.size();
    for (const Piece& piece : jobs[which])
      for (std::uint32_t p = piece.first; p < piece.first + piece.count; ++p, ++free) used[p] = false;
    lanes.give_back(jobs[which]);
    jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(which));
  }
}

}  // namespace
}  // namespace spur::replay
