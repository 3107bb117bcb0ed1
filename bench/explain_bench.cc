// SPDX-License-Identifier: Apache-2.0
// What one answer of `spur explain` costs: a full cluster of 64-CPU nodes, many pending jobs, and questions about
// some of them from the front of the queue to its end.
//   explain_bench [--nodes N] [--jobs N] [--questions N] [--plans N --work N]
// Prints one JSON line per question: CPU time in all and without plays forward, and how certain the answer is.
#include <fmt/format.h>
#include <time.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "replay/one_partition.h"
#include "sched/explain.h"
#include "sched/forward.h"
#include "sched/plan.h"
#include "sched/test_dice.h"
#include "sched/world.h"

namespace spur {
namespace {

constexpr Time kNow = from_unix_seconds(2'000'000'000);
constexpr const char* kWords[] = {"expected", "limits", "promised"};

double cpu_millis() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

model::View empty_cluster(std::uint32_t nodes) {
  std::vector<std::shared_ptr<model::Node>> made;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    auto& node = *made.emplace_back(std::make_shared<model::Node>());
    node.hardware.cpus = node.hardware.cores_per_socket = 64;
    node.hardware.memory_mib = 256'000;
    if (n % 4 == 0) node.features = node.active_features = {"big"};
  }
  return replay::one_partition(std::make_shared<model::ClusterConfig>(), std::move(made));
}

std::vector<std::shared_ptr<const model::JobSpec>> shapes(sched::Dice& dice) {
  std::vector<std::shared_ptr<const model::JobSpec>> made;
  for (std::uint32_t i = 0; i < 300; ++i) {
    model::JobSpec spec;
    spec.time_limit = TimeLimit::of_minutes(10 * dice.between(1, 144));
    if (dice.one_in(3)) {
      spec.min_nodes = dice.between(1, 64);
      spec.max_nodes = spec.min_nodes;
      spec.nodes_given = true;
      spec.exclusive = model::Exclusive::Node;
    } else {
      spec.tasks = dice.between(1, 128);
    }
    if (dice.one_in(6)) spec.features = "big";
    made.push_back(std::make_shared<const model::JobSpec>(std::move(spec)));
  }
  return made;
}

// More than can start comes until as many wait as are asked for.
model::View full_cluster(std::uint32_t nodes, std::uint32_t jobs) {
  sched::Dice dice(1);
  const auto specs = shapes(dice);
  sched::World world(empty_cluster(nodes));
  std::uint32_t id = 1;
  std::vector<Time> times{kNow - hours(3), kNow - hours(2), kNow - hours(1), kNow};
  for (const Time at : times) {
    while (world.view().pending.size() < jobs)
      world.submit(JobId(id++), specs[dice.below(static_cast<std::uint32_t>(specs.size()))], at);
    const sched::Plan made = sched::plan(world.view(), {.max_starts = 0xffffffffu}, at);
    for (const auto& start : made.starts) world.start(start, at);
    world.note(made.waits);
    if (at == kNow) break;
    std::vector<JobId> over;
    world.view().active.for_each([&](std::uint32_t, const model::JobPtr& job) {
      if (model::limit_end(*job) <= at + hours(1)) over.push_back(job->id);
    });
    for (const JobId job : over) world.finish(job);
  }
  return world.view();
}

// The whole future, or its first thousand plans.
void play(const model::View& view) {
  const double at = cpu_millis();
  sched::Forward forward(view, {.max_starts = 0xffffffffu}, kNow);
  const double built = cpu_millis();
  while (is_set(forward.next()) && forward.plans() < 1000) forward.play([](const auto&, JobId) { return true; });
  const double done = cpu_millis();
  fmt::print("{{\"play_begins_ms\": {:.1f}, \"plans\": {}, \"ms_per_plan\": {:.3f}, \"work_per_plan\": {:.0f}, ",
             built - at, forward.plans(), (done - built) / forward.plans(),
             static_cast<double>(forward.work()) / forward.plans());
  fmt::print("\"us_per_work\": {:.2f}}}\n", 1e3 * (done - built) / static_cast<double>(forward.work()));
}

void ask(const model::View& view, JobId job, std::size_t place, const sched::ExplainLimits& limits) {
  sched::ExplainLimits without;
  without.outlook.most_work = 0;
  double at = cpu_millis();
  (void)sched::explain(view, {}, job, kNow, without);
  const double searching = cpu_millis() - at;
  at = cpu_millis();
  const auto told = sched::explain(view, {}, job, kNow, limits);
  const double all = cpu_millis() - at;
  fmt::print("{{\"place\": {}, \"ms\": {:.0f}, \"without_plays_ms\": {:.0f}, \"certainty\": \"{}\", \"in_s\": {}, ",
             place, all, searching, told->starts_now ? "now" : kWords[static_cast<int>(told->certainty)],
             is_set(told->start) ? (told->start - kNow) / seconds(1) : -1);
  fmt::print("\"blockers\": {}, \"changes\": [", told->blockers.size());
  for (std::size_t i = 0; i < told->changes.size(); ++i)
    fmt::print("{}\"{}\"", i ? ", " : "", kWords[static_cast<int>(told->changes[i].certainty)]);
  fmt::print("]}}\n");
}

}  // namespace
}  // namespace spur

int main(int argc, char** argv) {
  std::uint32_t nodes = 1000, jobs = 10'000, questions = 5;
  spur::sched::ExplainLimits limits;
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto value = static_cast<std::uint32_t>(std::strtoul(argv[i + 1], nullptr, 10));
    if (!std::strcmp(argv[i], "--nodes")) nodes = value;
    if (!std::strcmp(argv[i], "--jobs")) jobs = value;
    if (!std::strcmp(argv[i], "--questions")) questions = value;
    if (!std::strcmp(argv[i], "--plans")) limits.outlook.most_plans = value;
    if (!std::strcmp(argv[i], "--work")) limits.outlook.most_work = value;
  }
  const spur::model::View view = spur::full_cluster(nodes, jobs);
  std::vector<spur::JobId> pending;
  view.pending.for_each([&](std::uint32_t id, const spur::model::JobPtr&) { pending.push_back(spur::JobId(id)); });
  fmt::print("{{\"nodes\": {}, \"running\": {}, \"pending\": {}}}\n", nodes, view.active.size(), pending.size());
  spur::play(view);
  for (std::uint32_t q = 0; q < questions; ++q) {
    const std::size_t place = (pending.size() - 1) * q / std::max(1u, questions - 1);
    spur::ask(view, pending[place], place, limits);
  }
  return 0;
}
