// SPDX-License-Identifier: Apache-2.0
// spur-sim: runs the control plane in virtual time from a seed, with faults, and says which invariant broke.
//   spur-sim --seed N [--steps M] [--trace]        one world
//   spur-sim --seeds A-B [--steps M] [--jobs P]    many, in P processes; the last line is "N passed, M failed"
//   spur-sim --seed N --print-story                what would happen in that world, as text
//   spur-sim --story FILE... [--trace]             worlds that were kept as text
#include <getopt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "os/files.h"
#include "sim/world.h"

namespace {

void usage() {
  std::puts(
      "Usage: spur-sim --seed N [--steps M] [--trace | --print-story]\n"
      "       spur-sim --seeds A-B [--steps M] [--jobs P]\n"
      "       spur-sim --story FILE [--trace]\n"
      "Simulates a cluster (controllers, agents, clients, faults) and checks its invariants.\n"
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

// A broken SPUR_CHECK ends the program; it must still be said in which world.
char doomed[64];
void on_abort(int) {
  if (::write(STDOUT_FILENO, doomed, std::strlen(doomed)) < 0) std::_Exit(3);
  std::_Exit(1);
}

// What became of one world; true if all held.
bool run_world(const char* name, const spur::sim::Story& story, std::FILE* trace, bool verbose) {
  std::snprintf(doomed, sizeof doomed, "%s: check: the program aborted\n", name);
  const auto outcome = spur::sim::World(story, trace).run();
  if (!outcome.violation.empty()) {
    std::printf("%s: %s\n", name, outcome.violation.c_str());
    std::fflush(stdout);
  } else if (verbose) {
    std::printf("%s: held; %" PRIu64 " events, %u jobs, %u controller crashes, %u times a new leader, trace %016" PRIx64 "\n",
                name, outcome.events, outcome.jobs, outcome.crashes, outcome.leaders, outcome.trace_digest);
  }
  return outcome.violation.empty();
}

std::uint64_t run_seeds(std::uint64_t first, std::uint64_t last, std::uint64_t stride, std::uint64_t steps, std::FILE* trace,
                        bool verbose) {
  std::uint64_t failed = 0;
  for (std::uint64_t seed = first; seed <= last; seed += stride)
    failed += !run_world(("seed " + std::to_string(seed)).c_str(), spur::sim::make_story(seed, steps), trace, verbose);
  return failed;
}

// Every process takes each P-th seed, and leaves its number of failures in a pipe.
std::uint64_t run_in_processes(std::uint64_t first, std::uint64_t last, std::uint64_t steps, std::uint64_t jobs) {
  struct Child {
    pid_t pid;
    int pipe;
    std::uint64_t seeds;
  };
  std::vector<Child> children;
  std::fflush(stdout);
  for (std::uint64_t i = 0; i < jobs && first + i <= last; ++i) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    const pid_t pid = ::fork();
    if (pid == 0) {
      const std::uint64_t failed = run_seeds(first + i, last, jobs, steps, nullptr, false);
      std::fflush(stdout);
      std::_Exit(::write(ends[1], &failed, sizeof failed) == sizeof failed ? 0 : 3);
    }
    ::close(ends[1]);
    children.push_back({pid, ends[0], (last - first - i) / jobs + 1});
  }
  std::uint64_t failed = 0;
  for (const Child& child : children) {
    std::uint64_t its = 0;
    // One that died took the rest of its seeds with it: none of them has passed.
    if (child.pid < 0 || ::read(child.pipe, &its, sizeof its) != sizeof its) its = child.seeds;
    failed += its;
    ::close(child.pipe);
    if (child.pid > 0) ::waitpid(child.pid, nullptr, 0);
  }
  return failed;
}

int run_story(const char* path, std::FILE* trace) {
  const auto text = spur::os::read_file(path, std::size_t{1} << 20);
  if (!text) return std::fprintf(stderr, "spur-sim: %s\n", text.error().message.c_str()), 2;
  const auto story = spur::sim::parse_story(*text);
  if (!story) return std::fprintf(stderr, "spur-sim: %s: %s\n", path, story.error().message.c_str()), 2;
  return run_world(path, *story, trace, true) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t first = 1, last = 1, steps = 0, jobs = 1;
  bool print = false;
  std::FILE* trace = nullptr;
  const char* story = nullptr;
  static const option kOptions[] = {
      {"seed", required_argument, nullptr, 's'},  {"seeds", required_argument, nullptr, 'S'},
      {"steps", required_argument, nullptr, 'n'}, {"jobs", required_argument, nullptr, 'j'},
      {"story", required_argument, nullptr, 'f'}, {"print-story", no_argument, nullptr, 'p'},
      {"trace", no_argument, nullptr, 't'},       {"help", no_argument, nullptr, 'h'},
      {nullptr, 0, nullptr, 0}};
  for (int c; (c = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    if (c == 's' || c == 'S') {
      if (!parse_range(optarg, first, last)) return std::fprintf(stderr, "spur-sim: bad seed \"%s\"\n", optarg), 2;
    } else if (c == 'n' || c == 'j') {
      std::uint64_t& number = c == 'n' ? steps : jobs;
      std::uint64_t end = 0;
      if (!parse_range(optarg, number, end) || number != end || number == 0 || number > 1'000'000)
        return std::fprintf(stderr, "spur-sim: bad number \"%s\"\n", optarg), 2;
    } else if (c == 'f') {
      story = optarg;
    } else if (c == 'p') {
      print = true;
    } else if (c == 't') {
      trace = stdout;
    } else {
      usage();
      return c == 'h' ? 0 : 2;
    }
  }
  if (optind < argc) return std::fprintf(stderr, "spur-sim: unexpected \"%s\"\n", argv[optind]), 2;
  std::signal(SIGABRT, on_abort);
  if (story) return run_story(story, trace);
  if (print) return std::fputs(spur::sim::print_story(spur::sim::make_story(first, steps)).c_str(), stdout) < 0 ? 1 : 0;
  const std::uint64_t failed = jobs > 1 && !trace ? run_in_processes(first, last, steps, jobs)
                                                  : run_seeds(first, last, 1, steps, trace, first == last);
  std::printf("%" PRIu64 " passed, %" PRIu64 " failed\n", last - first + 1 - failed, failed);
  return failed ? 1 : 0;
}
