// SPDX-License-Identifier: Apache-2.0
#include "cli/squeue_sort.h"

#include <algorithm>
#include <expected>
#include <numeric>

namespace spur::cli {
namespace {

using Line = const JobLine&;
using Number = std::int64_t (*)(Line line);

std::int64_t limit_number(TimeLimit limit) {
  return limit.is_finite() ? limit.minutes_value() : limit.is_unlimited() ? INT64_MAX : 0;
}

// The columns that are numbers, with the number.
Number number_of(char letter) {
  switch (letter) {
    case 'i':
      return [](Line l) -> std::int64_t { return l.job->array_job ? l.job->array_job.value : l.job->id.value; };
    case 'c':
      return [](Line l) -> std::int64_t { return l.job->spec->cpus_per_task; };
    case 'C':
      return [](Line l) -> std::int64_t { return job_cpu_count(*l.job); };
    case 'd':
      return [](Line l) { return static_cast<std::int64_t>(l.job->spec->tmp_disk_mib); };
    case 'D':
      return [](Line l) -> std::int64_t { return job_node_count(*l.job); };
    case 'e':
      return [](Line l) { return to_micros(shown_end(*l.job, l.expected_start).at); };
    case 'G':
      return [](Line l) -> std::int64_t { return l.job->spec->gid.value; };
    case 'l':
      return [](Line l) { return limit_number(l.job->time_limit); };
    case 'L':
      return [](Line l) -> std::int64_t {
        if (!l.job->time_limit.is_finite()) return INT64_MAX;
        return (l.job->time_limit.duration() - model::run_time(*l.job, l.table->as_of)).count();
      };
    case 'm':
      return [](Line l) {
        const model::JobSpec& spec = *l.job->spec;
        return static_cast<std::int64_t>(
            (spec.memory_per_cpu_mib ? spec.memory_per_cpu_mib : spec.memory_per_node_mib).value_or(0));
      };
    case 'M':
      return [](Line l) { return static_cast<std::int64_t>(model::run_time(*l.job, l.table->as_of).count()); };
    case 'p':
    case 'Q':
      return [](Line l) -> std::int64_t { return l.job->priority; };
    case 'S':
      return [](Line l) {
        const Time start = shown_start(*l.job, l.expected_start);
        return is_set(start) ? to_micros(start) : INT64_MAX;
      };
    case 'U':
      return [](Line l) -> std::int64_t { return l.job->spec->uid.value; };
    case 'V':
      return [](Line l) { return to_micros(l.job->submitted); };
    default:
      return nullptr;
  }
}

// The letters that Slurm sorts by; the others are columns only.
constexpr std::string_view kSortable = "BcCdDefgGhHiIjJlLmMnNOpPQStTuUvVz";

struct Key {
  Number number = nullptr;
  const JobColumn* column = nullptr;
  bool descending = false;
};

// Tasks of an array come in order, and what is left of it behind those that are named.
std::int64_t task_of(Line line) {
  if (line.task) return *line.task;
  if (line.job->array_task) return *line.job->array_task;
  if (const auto last = last_task(*line.job)) return *last;
  return line.job->is_array_rest() ? INT64_MAX : 0;
}

// Each line's place by one key, so that sorting compares numbers only.
std::vector<std::int64_t> places(const std::vector<JobLine>& lines, const Key& key) {
  std::vector<std::int64_t> result;
  result.reserve(lines.size());
  if (key.number != nullptr) {
    for (Line line : lines) result.push_back(key.number(line));
  } else {
    std::vector<std::string> texts, distinct;
    texts.reserve(lines.size());
    for (Line line : lines) texts.push_back(key.column->value(line));
    if (key.column->letter == 'N')  // who has no nodes comes last
      for (std::string& text : texts)
        if (text.empty()) text.push_back('\x7f');
    for (const std::string& text : texts)
      if (distinct.empty() || distinct.back() != text) distinct.push_back(text);
    std::ranges::sort(distinct);
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (const std::string& text : texts)
      result.push_back(std::ranges::lower_bound(distinct, text) - distinct.begin());
  }
  if (key.descending)
    for (std::int64_t& place : result) place = ~place;  // reverses the order without overflow
  return result;
}

// The keys of "P,t,-p", or the letter that names none. Every letter is a key: commas only please the eye.
std::expected<std::vector<Key>, char> parse_keys(std::string_view text) {
  std::vector<Key> keys;
  bool descending = false;
  for (const char c : text) {
    if (c == ',') descending = false;
    if (c == '-') descending = true;
    if (c == ',' || c == '-' || c == '+') continue;
    const Key key{.number = number_of(c), .column = find_job_column(c), .descending = descending};
    if (key.column == nullptr || kSortable.find(c) == std::string_view::npos) return std::unexpected(c);
    keys.push_back(key);
    descending = false;
  }
  return keys;
}

}  // namespace

char sort_lines(std::vector<JobLine>& lines, std::string_view text) {
  const auto keys = parse_keys(text);
  if (!keys) return keys.error();
  std::vector<std::vector<std::int64_t>> by_key;
  for (const Key& key : *keys) by_key.push_back(places(lines, key));
  by_key.push_back(places(lines, {.number = number_of('i')}));
  by_key.push_back(places(lines, {.number = task_of}));
  std::vector<std::size_t> order(lines.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    for (const auto& place : by_key)
      if (place[a] != place[b]) return place[a] < place[b];
    return a < b;
  });
  std::vector<JobLine> sorted;
  sorted.reserve(lines.size());
  for (const std::size_t index : order) sorted.push_back(lines[index]);
  lines = std::move(sorted);
  return 0;
}

}  // namespace spur::cli
