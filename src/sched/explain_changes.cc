// SPDX-License-Identifier: Apache-2.0
#include "sched/explain_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "sched/request.h"
#include "text/time_limit.h"

namespace spur::sched {
namespace {

struct Rated {
  Change change;
  double cost = 0;  // 0: nothing given up, 1: everything
  bool now = false;
};

class Finder {
 public:
  Finder(Question& question, const Answer& as_it_is)
      : question_(question), as_it_is_(as_it_is), spec_(*question.job().spec) {}

  std::vector<Rated> run() {
    time_limit();
    if (spec_.max_nodes.value_or(spec_.min_nodes) > 1 || spec_.min_nodes > 1) nodes();
    numbers();
    for (std::size_t i = 0; i < spec_.gres.size(); ++i) gres(i);
    without();
    other_partitions();
    return std::move(found_);
  }

 private:
  using Set = std::function<void(model::JobSpec&, std::uint64_t)>;
  struct Try {
    std::shared_ptr<const model::JobSpec> spec;
    TimeLimit limit;
    Answer answer;
  };

  enum class Wanted : std::uint8_t { Now, Sooner };

  std::optional<Try> attempt(model::JobSpec spec, TimeLimit limit, Wanted wanted = Wanted::Sooner) {
    if (!question_.may_ask() || !check_submit(question_.base(), spec)) return std::nullopt;
    Try made{std::make_shared<const model::JobSpec>(std::move(spec)), limit, {}};
    const auto edit = [&](WhatIf& world) { world.ask(question_.job().id, made.spec, made.limit); };
    made.answer = wanted == Wanted::Now ? question_.answer_now(edit) : question_.answer(edit);
    return made;
  }

  void keep(const Try& made, std::string option, std::string now, std::string instead, double cost) {
    Rated rated;
    rated.change = {std::move(option),
                    std::move(now),
                    std::move(instead),
                    made.spec,
                    made.limit,
                    made.answer.start,
                    made.answer.starts_now || made.answer.promised ? Certainty::Promised : Certainty::Expected};
    rated.cost = cost;
    rated.now = made.answer.starts_now;
    found_.push_back(std::move(rated));
  }

  // The largest value below `value` (from 1) with which the answer is good enough.
  using Make = std::function<std::optional<Try>(std::uint64_t, Wanted)>;
  std::optional<std::pair<std::uint64_t, Try>> largest(std::uint64_t value, const Make& make, Wanted wanted) {
    const auto good = [&](const std::optional<Try>& made) {
      if (!made) return false;
      return wanted == Wanted::Now ? made->answer.starts_now : made->answer.sooner_than(as_it_is_);
    };
    if (value < 2) return std::nullopt;
    std::uint64_t low = 1, high = value;  // low helps, high does not
    auto best = make(low, wanted);
    if (!good(best)) return std::nullopt;
    while (high - low > 1 && question_.may_ask()) {
      const std::uint64_t middle = low + (high - low) / 2;
      auto made = make(middle, wanted);
      if (good(made)) {
        low = middle;
        best = std::move(made);
      } else {
        high = middle;
      }
    }
    return std::pair{low, *std::move(best)};
  }

  void number(std::uint64_t value, std::string option, const Set& set,
              const std::function<std::string(std::uint64_t)>& show) {
    const auto make = [&](std::uint64_t to, Wanted wanted) {
      model::JobSpec spec = spec_;
      set(spec, to);
      return attempt(std::move(spec), question_.job().time_limit, wanted);
    };
    auto found = largest(value, make, Wanted::Now);
    if (!found) found = largest(value, make, Wanted::Sooner);
    if (!found) return;
    const double given_up = 1.0 - static_cast<double>(found->first) / static_cast<double>(value);
    keep(found->second, std::move(option), show(value), show(found->first), given_up);
  }
  static std::string show(TimeLimit limit) { return text::format_time_limit(limit, text::LimitStyle::Squeue); }
  static std::string plain(std::uint64_t value) { return fmt::format("{}", value); }

  // The limit in force may come from the partition.
  void time_limit() {
    TimeLimit limit = question_.job().time_limit;
    if (!limit.is_set() && !question_.partitions().empty())
      limit = limit_in(question_.partitions().front()->config, limit);
    if (!limit.is_set()) return;
    constexpr std::uint32_t kYear = 365 * 24 * 60;
    const std::uint64_t minutes = limit.is_finite() ? limit.minutes_value() : kYear;
    const auto make = [&](std::uint64_t to, Wanted wanted) {
      const TimeLimit shorter = TimeLimit::of_minutes(static_cast<std::uint32_t>(to));
      model::JobSpec spec = spec_;
      spec.time_limit = shorter;
      return attempt(std::move(spec), shorter, wanted);
    };
    for (const Wanted wanted : {Wanted::Now, Wanted::Sooner}) {
      const auto found = largest(minutes, make, wanted);
      if (!found) continue;
      keep(found->second, "-t", show(limit), show(found->second.limit),
           1.0 - static_cast<double>(found->first) / static_cast<double>(minutes));
      return;
    }
  }

  void nodes() {
    const auto set = [](model::JobSpec& spec, std::uint64_t to) {
      const auto count = static_cast<std::uint32_t>(to);
      // As many tasks per node as before.
      if (spec.tasks && spec.min_nodes > 0)
        spec.tasks = std::max(1u, static_cast<std::uint32_t>(std::uint64_t{*spec.tasks} * count / spec.min_nodes));
      spec.min_nodes = count;
      if (spec.max_nodes) spec.max_nodes = std::max(count, std::min(*spec.max_nodes, count));
    };
    number(spec_.min_nodes, "-N", set, plain);
  }

  void numbers() {
    if (spec_.tasks && spec_.min_nodes <= 1)
      number(
          *spec_.tasks, "-n",
          [](model::JobSpec& spec, std::uint64_t to) { spec.tasks = static_cast<std::uint32_t>(to); }, plain);
    number(
        spec_.cpus_per_task, "-c",
        [](model::JobSpec& spec, std::uint64_t to) { spec.cpus_per_task = static_cast<std::uint32_t>(to); }, plain);
    const auto memory = [](std::uint64_t mib) { return fmt::format("{}M", mib); };
    if (spec_.memory_per_node_mib)
      number(
          *spec_.memory_per_node_mib, "--mem",
          [](model::JobSpec& spec, std::uint64_t to) { spec.memory_per_node_mib = to; }, memory);
    if (spec_.memory_per_cpu_mib)
      number(
          *spec_.memory_per_cpu_mib, "--mem-per-cpu",
          [](model::JobSpec& spec, std::uint64_t to) { spec.memory_per_cpu_mib = to; }, memory);
  }

  void gres(std::size_t i) {
    const auto& wish = spec_.gres[i];
    static constexpr const char* kPer[] = {"--gres", "--gpus", "--gpus-per-task", "--gpus-per-socket"};
    const std::string name = wish.type.empty() ? wish.name : wish.name + ":" + wish.type;
    const auto show = [&](std::uint64_t count) { return fmt::format("{}:{}", name, count); };
    const char* option = kPer[static_cast<std::size_t>(wish.per)];
    number(wish.count, option, [i](model::JobSpec& spec, std::uint64_t to) { spec.gres[i].count = to; }, show);
    if (wish.type.empty()) return;
    model::JobSpec spec = spec_;
    spec.gres[i].type.clear();
    const auto made = attempt(std::move(spec), question_.job().time_limit);
    if (made && made->answer.sooner_than(as_it_is_))
      keep(*made, option, show(wish.count), fmt::format("{}:{}", wish.name, wish.count), 0.3);
  }

  void without() {
    const auto drop = [&](const char* option, std::string now, auto set, double cost) {
      model::JobSpec spec = spec_;
      set(spec);
      const auto made = attempt(std::move(spec), question_.job().time_limit);
      if (made && made->answer.sooner_than(as_it_is_)) keep(*made, option, std::move(now), "", cost);
    };
    if (!spec_.features.empty()) drop("-C", spec_.features, [](model::JobSpec& spec) { spec.features.clear(); }, 0.5);
    if (!spec_.required_nodes.empty())
      drop("-w", spec_.required_nodes, [](model::JobSpec& spec) { spec.required_nodes.clear(); }, 0.4);
    if (!spec_.excluded_nodes.empty())
      drop("-x", spec_.excluded_nodes, [](model::JobSpec& spec) { spec.excluded_nodes.clear(); }, 0.4);
    if (spec_.exclusive != model::Exclusive::No)
      drop("--exclusive", "", [](model::JobSpec& spec) { spec.exclusive = model::Exclusive::No; }, 0.4);
    if (spec_.contiguous) drop("--contiguous", "", [](model::JobSpec& spec) { spec.contiguous = false; }, 0.2);
  }

  void other_partitions() {
    const auto own = question_.partitions();
    std::string now;
    for (const auto* partition : own) now += (now.empty() ? "" : ",") + partition->config.name;
    for (const auto& partition : *question_.base().partitions) {
      if (std::ranges::find(own, &partition) != own.end() || partition.config.hidden) continue;
      model::JobSpec spec = spec_;
      spec.partitions = {partition.config.name};
      const auto made = attempt(std::move(spec), question_.job().time_limit);
      if (made && made->answer.sooner_than(as_it_is_)) keep(*made, "-p", now, partition.config.name, 0.25);
    }
  }

  Question& question_;
  const Answer& as_it_is_;
  const model::JobSpec& spec_;
  std::vector<Rated> found_;
};

}  // namespace

std::vector<Change> find_changes(Question& question, const Answer& as_it_is) {
  // What the job waits for by itself no smaller wish takes away.
  auto found = Finder(question, as_it_is).run();
  std::ranges::stable_sort(found, [](const Rated& a, const Rated& b) {
    if (a.now != b.now) return a.now;
    return a.cost < b.cost;
  });
  std::vector<Change> changes;
  for (auto& rated : found) changes.push_back(std::move(rated.change));
  return changes;
}

void correct(const Seen& seen, Time* start, Certainty* certainty) {
  if (seen.how != Seen::How::Starts && seen.how != Seen::How::Never) return;
  const bool promised = *certainty == Certainty::Promised;
  if (!seen.sure && (promised || seen.how == Seen::How::Never)) return;
  if (!promised || seen.start != *start) *certainty = seen.sure ? Certainty::ByLimits : Certainty::Expected;
  *start = seen.start;
}

std::vector<Change> tried_out(std::vector<Change> changes, Outlook& outlook, JobId job, Time start, Time now,
                              std::size_t most) {
  std::vector<Change> kept;
  for (Change& change : changes) {
    if (kept.size() >= most) break;
    if (change.start > now) {
      const Seen seen = outlook.look([&](WhatIf& world) { world.ask(job, change.spec, change.limit); }, start);
      if (seen.how == Seen::How::NotBefore || seen.how == Seen::How::Never) continue;
      correct(seen, &change.start, &change.certainty);
    }
    if (!is_set(start) || change.start < start) kept.push_back(std::move(change));
  }
  return kept;
}

}  // namespace spur::sched
