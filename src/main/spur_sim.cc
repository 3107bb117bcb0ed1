// SPDX-License-Identifier: Apache-2.0
// spur-sim: runs the control plane in virtual time from a seed, with faults, and says which invariant broke.
//   spur-sim --seed N [--steps M] [--trace]      one world
//   spur-sim --seeds A-B [--steps M]             many; the last line is "N passed, M failed"
#include <getopt.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sim/world.h"

namespace {

void usage() {
  std::puts(
      "Usage: spur-sim --seed N [--steps M] [--trace]\n"
      "       spur-sim --seeds A-B [--steps M]\n"
      "Simulates a cluster (controller, agents, clients, faults) and checks its invariants.\n"
      "Exit status: 0 all held, 1 a violation, 2 wrong arguments.");
}

bool parse_range(const char* text, std::uint64_t& first, std::uint64_t& last) {
  char* end = nullptr;
  first = std::strtoull(text, &end, 10);
  if (end == text) return false;
  last = first;
  if (*end == '-') {
    const char* second = end + 1;
    last = std::strtoull(second, &end, 10);
    if (end == second) return false;
  }
  return *end == '\0' && first <= last;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t first = 1, last = 1;
  spur::sim::Options options;
  static const option kOptions[] = {{"seed", required_argument, nullptr, 's'},  {"seeds", required_argument, nullptr, 'S'},
                                    {"steps", required_argument, nullptr, 'n'}, {"trace", no_argument, nullptr, 't'},
                                    {"help", no_argument, nullptr, 'h'},        {nullptr, 0, nullptr, 0}};
  for (int c; (c = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    if (c == 's' || c == 'S') {
      if (!parse_range(optarg, first, last)) return std::fprintf(stderr, "spur-sim: bad seed \"%s\"\n", optarg), 2;
    } else if (c == 'n') {
      options.steps = static_cast<std::uint32_t>(std::strtoul(optarg, nullptr, 10));
      if (options.steps == 0) return std::fprintf(stderr, "spur-sim: bad number of steps \"%s\"\n", optarg), 2;
    } else if (c == 't') {
      options.trace = stdout;
    } else {
      usage();
      return c == 'h' ? 0 : 2;
    }
  }
  std::uint64_t failed = 0, events = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    options.seed = seed;
    const auto outcome = spur::sim::World(options).run();
    events += outcome.events;
    if (!outcome.violation.empty()) {
      ++failed;
      std::printf("seed %" PRIu64 ": %s\n", seed, outcome.violation.c_str());
    } else if (first == last) {
      std::printf("seed %" PRIu64 ": held; %" PRIu64 " events, %u jobs, %u controller crashes, trace %016" PRIx64 "\n",
                  seed, outcome.events, outcome.jobs, outcome.crashes, outcome.trace_digest);
    }
  }
  std::printf("%" PRIu64 " passed, %" PRIu64 " failed\n", last - first + 1 - failed, failed);
  return failed ? 1 : 0;
}
