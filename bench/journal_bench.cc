// SPDX-License-Identifier: Apache-2.0
// How many 500-byte entries per second the embedded journal makes durable, with a given number in flight. Prints one
// JSON line per figure. Usage: journal_bench [directory]; the directory is created and left behind empty of
// everything else.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "os/sqlite_journal.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Figure {
  double entries_per_second = 0;
  double p50_us = 0, p99_us = 0;
};

// Keeps `in_flight` entries on their way for `how_long`.
spur::Result<Figure> measure(const std::string& directory, std::size_t in_flight,
                             std::chrono::milliseconds how_long) {
  std::filesystem::remove_all(directory);
  SPUR_ASSIGN(auto journal, spur::os::SqliteJournal::open(directory));
  SPUR_TRY(journal->recover());
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t flying = 0;
  std::vector<double> latencies;
  spur::Status status;
  const auto start = Clock::now(), end = start + how_long;
  const std::string entry(500, 'e');
  for (std::uint64_t index = 1;; ++index) {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return flying < in_flight; });
      if (!status || Clock::now() >= end) break;
      ++flying;
    }
    const auto sent = Clock::now();
    journal->append(index, entry, [&, sent](spur::Status done) {
      const std::lock_guard lock(mutex);
      latencies.push_back(std::chrono::duration<double, std::micro>(Clock::now() - sent).count());
      if (!done) status = std::move(done);
      --flying;
      changed.notify_one();
    });
  }
  journal.reset();  // completes what is in flight
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!status) return std::unexpected(status.error());
  std::sort(latencies.begin(), latencies.end());
  const auto at = [&](double part) {
    return latencies[static_cast<std::size_t>(part * double(latencies.size() - 1))];
  };
  return Figure{double(latencies.size()) / seconds, at(0.5), at(0.99)};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string base =
      argc > 1 ? argv[1] : (std::filesystem::temp_directory_path() / "spur-journal-bench").string();
  for (const std::size_t in_flight : {std::size_t{1}, std::size_t{64}, std::size_t{256}}) {
    const auto figure = measure(base, in_flight, std::chrono::seconds(3));
    if (!figure) {
      fmt::print(stderr, "journal_bench: {}\n", figure.error().message);
      return EXIT_FAILURE;
    }
    fmt::print(
        "{{\"bench\":\"journal_append_{}\",\"spur\":{:.0f},\"slurm\":null,\"ratio\":null,\"unit\":\"entries/s\","
        "\"p50_us\":{:.0f},\"p99_us\":{:.0f}}}\n",
        in_flight, figure->entries_per_second, figure->p50_us, figure->p99_us);
  }
  std::error_code ignored;
  std::filesystem::remove_all(base, ignored);
  return EXIT_SUCCESS;
}
