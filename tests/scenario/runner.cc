// SPDX-License-Identifier: Apache-2.0
// spur_scenario_test FILE...: plays scenarios and compares what they tell with what the files expect. See README.md
// for the format. With SPUR_REWRITE=1 the expected parts are written anew; the diff is the review.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "scenario.h"

namespace {

using spur::scenario::Scenario;

std::vector<std::string> read_lines(const std::string& path, bool& ok) {
  std::ifstream in(path);
  ok = in.good();
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool is_text(const std::string& line) {  // not a directive
  const auto first = line.find_first_not_of(" \t");
  return first == std::string::npos || line[first] == '#';
}

// Line by line where they differ.
void print_difference(const std::string& expected, const std::string& got) {
  std::istringstream a(expected), b(got);
  std::string left, right;
  while (true) {
    const bool more_a = static_cast<bool>(std::getline(a, left)), more_b = static_cast<bool>(std::getline(b, right));
    if (!more_a && !more_b) return;
    if (more_a && more_b && left == right) {
      fmt::print("    {}\n", left);
      continue;
    }
    if (more_a) fmt::print("  - {}\n", left);
    if (more_b) fmt::print("  + {}\n", right);
  }
}

// True if the file is as expected (or was rewritten).
bool play_file(const std::string& path, bool rewrite) {
  bool ok = true;
  const auto lines = read_lines(path, ok);
  if (!ok) {
    fmt::print("{}: cannot be read\n", path);
    return false;
  }
  Scenario scenario;
  std::string out, written;
  std::size_t compared = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i] != "----") {
      written += lines[i] + '\n';
      if (is_text(lines[i])) continue;
      const auto told = scenario.play(lines[i]);
      if (!told) {
        fmt::print("{}:{}: {}\n  {}\n", path, i + 1, lines[i], told.error().message);
        return false;
      }
      out += *told;
      continue;
    }
    const std::size_t at = i + 1;
    std::string expected;
    while (i + 1 < lines.size() && !lines[i + 1].empty()) expected += lines[++i] + '\n';
    ++compared;
    if (!rewrite && expected != out) {
      fmt::print("{}:{}: not as expected (-), but (+)\n", path, at);
      print_difference(expected, out);
      ok = false;
    }
    written += "----\n" + out;
    out.clear();
  }
  if (compared == 0 || !out.empty()) {
    if (!rewrite) fmt::print("{}: no ---- after the last directives, so they test nothing\n", path);
    ok = rewrite;
    written += "----\n" + out;
  }
  if (rewrite) std::ofstream(path) << written;
  return ok;
}

}  // namespace

int main(int argc, char** argv) {
  const char* asked = std::getenv("SPUR_REWRITE");
  const bool rewrite = asked && std::string(asked) == "1";
  int failed = 0;
  for (int i = 1; i < argc; ++i) failed += !play_file(argv[i], rewrite);
  fmt::print("{} of {} scenarios as expected\n", argc - 1 - failed, argc - 1);
  return failed == 0 && argc > 1 ? 0 : 1;
}
