// SPDX-License-Identifier: Apache-2.0
#include "cli/squeue_sort.h"

#include <algorithm>
#include <numeric>

#include "cli/squeue_alike.h"

namespace spur::cli {
namespace {

using Line = const JobLine&;
using Number = LineOrder::Number;

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

// Tasks of an array come in order, and what is left of it behind those that are named.
std::int64_t task_of(Line line) {
  if (line.task) return *line.task;
  if (line.job->array_task) return *line.job->array_task;
  if (const auto last = last_task(*line.job)) return *last;
  return line.job->is_array_rest() ? INT64_MAX : 0;
}

}  // namespace

// ---- LineOrder

// The keys of "P,t,-p". Every letter is a key: commas only please the eye.
std::expected<LineOrder, char> LineOrder::parse(std::string_view text) {
  LineOrder order;
  bool descending = false;
  for (const char c : text) {
    if (c == ',') descending = false;
    if (c == '-') descending = true;
    if (c == ',' || c == '-' || c == '+') continue;
    const JobColumn* column = find_job_column(c);
    if (column == nullptr || kSortable.find(c) == std::string_view::npos) return std::unexpected(c);
    order.fields_.add(column->reads);
    order.keys_.push_back({.number = number_of(c), .column = column, .descending = descending, .texts = {}, .last = {}});
    descending = false;
  }
  order.keys_.push_back({.number = number_of('i'), .column = nullptr, .texts = {}, .last = {}});
  order.keys_.push_back({.number = task_of, .column = nullptr, .texts = {}, .last = {}});
  return order;
}

void LineOrder::add(const JobLine& line, const wire::JobFields& in_common) {
  for (Key& key : keys_) {
    if (key.number != nullptr) {
      places_.push_back(key.number(line));
      continue;
    }
    if (key.last != nullptr && is_alike(*key.column, in_common)) {
      places_.push_back(key.last->second);
      continue;
    }
    std::string text = key.column->value(line);
    if (text.empty() && key.column->letter == 'N') text.push_back('\x7f');  // who has no nodes comes last
    // Lines that follow each other mostly say the same.
    if (key.last == nullptr || key.last->first != text)
      key.last = &*key.texts.try_emplace(std::move(text), static_cast<std::int64_t>(key.texts.size())).first;
    places_.push_back(key.last->second);
  }
}

std::vector<std::int64_t> LineOrder::Key::ranks() const {
  std::vector<const std::pair<const std::string, std::int64_t>*> sorted;
  sorted.reserve(texts.size());
  for (const auto& entry : texts) sorted.push_back(&entry);
  std::ranges::sort(sorted, {}, [](const auto* entry) -> const std::string& { return entry->first; });
  std::vector<std::int64_t> ranks(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    ranks[static_cast<std::size_t>(sorted[i]->second)] = static_cast<std::int64_t>(i);
  return ranks;
}

std::vector<std::size_t> LineOrder::order() {
  const std::size_t width = keys_.size(), lines = places_.size() / width;
  std::vector<std::int64_t> places = std::move(places_);
  for (std::size_t k = 0; k < width; ++k) {
    const Key& key = keys_[k];
    const auto ranks = key.number == nullptr ? key.ranks() : std::vector<std::int64_t>();
    for (std::size_t at = k; at < places.size(); at += width) {
      if (key.number == nullptr) places[at] = ranks[static_cast<std::size_t>(places[at])];
      if (key.descending) places[at] = ~places[at];  // reverses the order without overflow
    }
  }
  std::vector<std::size_t> order(lines);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto before = [&](std::size_t a, std::size_t b) {
    const auto *x = &places[a * width], *y = &places[b * width];
    for (std::size_t k = 0; k < width; ++k)
      if (x[k] != y[k]) return x[k] < y[k];
    return a < b;
  };
  // The controller's order, by id, is often the one that is asked for.
  if (!std::ranges::is_sorted(order, before)) std::ranges::sort(order, before);
  return order;
}

wire::JobFields sort_fields(std::string_view text) {
  const auto order = LineOrder::parse(text);
  return order ? order->fields() : wire::JobFields{};
}

char sort_lines(std::vector<JobLine>& lines, std::string_view text) {
  auto order = LineOrder::parse(text);
  if (!order) return order.error();
  for (Line line : lines) order->add(line);
  std::vector<JobLine> sorted;
  sorted.reserve(lines.size());
  for (const std::size_t index : order->order()) sorted.push_back(lines[index]);
  lines = std::move(sorted);
  return 0;
}

}  // namespace spur::cli
