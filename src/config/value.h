// SPDX-License-Identifier: Apache-2.0
// The value of one key, checked against the key's kind and independent of the file format it came from. spur_conf.cc
// makes Values from TOML values, slurm_conf.cc from text; the setters in keys.cc see no difference.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace spur::config {

enum class Type : std::uint8_t {
  Text,     // anything
  Path,     // absolute path
  Flag,     // true/false; in slurm.conf yes/no, up/down, 1/0
  Number,   // within Kind::min and max; in slurm.conf also 4k (times 1024) and, where Kind::infinite, UNLIMITED
  Time,     // a time limit in Slurm's grammar
  Span,     // a duration in Slurm's grammar, kept in seconds
  Word,     // one of Kind::words, in any case
  List,     // array of strings, or one string with commas
  Counts,   // table of numbers; in slurm.conf name:number with commas
  Address,  // host:port
  Ports,    // a port, or a hostlist of ports
};

struct Kind {
  Type type = Type::Text;
  std::uint64_t min = 0, max = std::numeric_limits<std::uint64_t>::max();
  bool infinite = false;
  std::string_view words = {};  // "a|b|c"; of a Number: one more word for infinite
  std::uint64_t slurm_min = 0;  // of a Number in slurm.conf, where Slurm refuses what would do here
};

struct Value {
  std::string text;  // as written, a list joined with commas
  bool flag = false;
  bool infinite = false;
  std::uint64_t number = 0;  // Number; Span in seconds; Word: its place in Kind::words
  TimeLimit time;
  std::vector<std::string> list;
  std::vector<std::pair<std::string, std::uint64_t>> counts;
};

// From text: all of slurm.conf, and the strings of spur.conf. `key` is only for the error, whose words are
// Slurm's where Slurm refuses the same.
Result<Value> check_text(const Kind& kind, std::string_view key, std::string_view text);
// From values that TOML has typed already.
Result<Value> check_number(const Kind& kind, std::string_view key, std::uint64_t number, std::string text);
Result<Value> check_list(std::vector<std::string> list);

// "1h30m", "2d", "90s": the short form that spur.conf takes besides Slurm's grammar. False if it is none.
bool parse_short_duration(std::string_view text, std::uint64_t* out_seconds);

// The trimmed parts between commas without the empty ones.
std::vector<std::string> split_list(std::string_view text);

// The words of a kind, for messages: "a, b or c".
std::string words_for_people(std::string_view words);

}  // namespace spur::config
