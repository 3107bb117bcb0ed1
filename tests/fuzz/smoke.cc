// SPDX-License-Identifier: Apache-2.0
// Runs every fuzz target on mutated samples, the same ones each time: a fuzzer for machines without clang and for
// every test run. Meant for a build with -fsanitize=address,undefined, of use without.
//   spur_fuzz_smoke [iterations per target] [seed] [target]
// On a failed check the input is printed, so that it can become a test.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>

#include <unistd.h>

#include "fuzz.h"

namespace spur::fuzz {

std::vector<Target>& targets() {
  static std::vector<Target> all;
  return all;
}

namespace {

class XorShift {
 public:
  explicit XorShift(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(next() % n); }

 private:
  std::uint64_t state_;
};

constexpr std::size_t kMaxInput = 4096;

// What parsers trip over.
constexpr std::array<std::string_view, 40> kMorsels = {
    "0",
    "-1",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "2147483648",
    "999999999999",
    "00",
    "-",
    ":",
    ",",
    "[",
    "]",
    "%",
    "?",
    "=",
    "+",
    "@",
    "/",
    "\\",
    "\"",
    "'",
    "#",
    " ",
    "\n",
    "\t",
    "\r\n",
    "_",
    "*",
    "(",
    ")",
    ".",
    "T",
    "K",
    "\x7f",
    "\xff",
    "\xc3\xa4",
    "\x1b[0m",
    ";",
};

std::string mutate(const Target& target, XorShift& random) {
  const auto sample = [&] { return target.seeds[random.below(target.seeds.size())]; };
  std::string s(sample());
  for (std::size_t n = 1 + random.below(6); n > 0; --n) {
    const std::size_t at = random.below(s.size() + 1);
    const std::size_t length = std::min(random.below(16) + 1, s.size() - at);
    switch (random.below(9)) {
      case 0:
        if (at < s.size()) s[at] = static_cast<char>(s[at] ^ (1u << random.below(8)));
        break;
      case 1:
        s.insert(at, kMorsels[random.below(kMorsels.size())]);
        break;
      case 2:
        s.erase(at, length);
        break;
      case 3:
        s.insert(random.below(s.size() + 1), s.substr(at, length));
        break;
      case 4:
        s.replace(at, length, kMorsels[random.below(kMorsels.size())]);
        break;
      case 5:
        s.insert(at, 1, static_cast<char>(random.next()));
        break;
      case 6: {
        const std::string_view other = sample();
        const std::size_t from = random.below(other.size() + 1);
        s = s.substr(0, at) + std::string(other.substr(from));
        break;
      }
      case 7: {
        const std::string piece = s.substr(at, length);
        for (std::size_t k = random.below(40); k > 0; --k) s.insert(at, piece);
        break;
      }
      default:
        if (at < s.size()) s[at] = static_cast<char>('0' + random.below(10));
        break;
    }
    if (s.size() > kMaxInput) s.resize(kMaxInput);
  }
  return s;
}

// What ran last, for the signal handler: plain memory, no allocation.
struct {
  char name[64];
  char input[kMaxInput];
  std::size_t size;
} running;

void say(const char* text, std::size_t size) {
  (void)!write(STDERR_FILENO, text, size);
}

extern "C" void on_abort(int signal) {
  say("fuzz target ", 12), say(running.name, std::strlen(running.name)), say(", input in hex: ", 16);
  for (std::size_t i = 0; i < running.size; ++i) {
    const auto byte = static_cast<unsigned char>(running.input[i]);
    const char hex[2] = {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
    say(hex, 2);
  }
  say("\n", 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void run_one(const Target& target, const std::string& input) {
  running.size = std::min(input.size(), kMaxInput);
  std::memcpy(running.input, input.data(), running.size);
  // Exactly as large as the text and without a NUL behind it: one byte too far is an error the sanitizer sees.
  const auto bytes = std::make_unique<char[]>(input.size());
  std::memcpy(bytes.get(), input.data(), input.size());
  target.run(std::string_view(bytes.get(), input.size()));
}

}  // namespace
}  // namespace spur::fuzz

int main(int argc, char** argv) {
  using namespace spur::fuzz;
  const unsigned long iterations = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20'000;
  const unsigned long seed = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  const std::string_view only = argc > 3 ? argv[3] : "";
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS}) std::signal(signal, on_abort);
  setenv("TZ", "America/New_York", 1);  // a zone whose clocks jump
  tzset();
  std::sort(targets().begin(), targets().end(), [](const Target& a, const Target& b) { return a.name < b.name; });
  int ran = 0;
  for (const Target& target : targets()) {
    if (!only.empty() && target.name != only) continue;
    std::snprintf(running.name, sizeof running.name, "%.*s", static_cast<int>(target.name.size()),
                  target.name.data());
    const std::clock_t start = std::clock();
    for (const std::string_view sample : target.seeds) run_one(target, std::string(sample));
    run_one(target, "");
    XorShift random(seed);
    for (unsigned long i = 0; i < iterations; ++i) run_one(target, mutate(target, random));
    std::printf("%-14s %lu inputs, %.2f s\n", running.name, iterations,
                static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    ++ran;
  }
  if (ran == 0) std::fprintf(stderr, "no such target: %s\n", argc > 3 ? argv[3] : "(none built)");
  return ran == 0;
}
