// SPDX-License-Identifier: Apache-2.0
// What a call of the scheduler costs on large clusters: a full cluster, many pending jobs of few shapes, one event at
// a time. Views are made by hand, with structure shared as the controller's state shares it.
//   spur-bench-sched [--nodes N --jobs N] [--classes N] [--events N] [--table]
// Prints one JSON line per figure; --table prints all sizes up to the given ones.
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "model/view.h"
#include "sched/engine.h"

namespace spur {
namespace {

// CPU time of this thread, in microseconds: it never waits, and on a busy machine the clock would tell of others.
double cpu_micros() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// A cluster that carries out plans, as far as the scheduler can see.
class Cluster {
 public:
  Cluster(std::uint32_t nodes, std::uint32_t classes, std::uint64_t seed) : random_(seed) {
    auto config = std::make_shared<model::ClusterConfig>();
    config->memory_as = model::MemoryAs::Consumable;
    config->age_weight = 1000;
    view.config = config;
    auto partitions = std::make_shared<std::vector<model::Partition>>(2);
    (*partitions)[0].config.name = "batch";
    (*partitions)[0].config.is_default = true;
    (*partitions)[1].config.name = "gpu";
    auto names = std::make_shared<std::map<std::string, NodeIndex, std::less<>>>();
    for (std::uint32_t n = 0; n < nodes; ++n) {
      auto node = make_node(n);
      names->emplace(node->name, node->index);
      (*partitions)[node->hardware.gres.empty() ? 0 : 1].nodes.push_back(node->index);
      view.nodes.set(n, std::move(node));
    }
    view.partitions = std::move(partitions);
    view.node_by_name = std::move(names);
    for (std::uint32_t c = 0; c < classes; ++c) specs_.push_back(make_spec(c));
    fill_up();
  }

  model::View view;
  Time now = from_unix_seconds(2'000'000'000);

  void submit() {
    auto job = std::make_shared<model::Job>();
    job->id = JobId(next_id_++);
    job->spec = specs_[below(static_cast<std::uint32_t>(specs_.size()))];
    job->time_limit = job->spec->time_limit;
    job->submitted = job->eligible = job->accrue = now;
    put(view.pending, std::move(job));
  }
  // One that has been in the queue for long, and was told why. The more there are, the younger they are: so the front
  // of the queue is the same however long it is.
  void submit_earlier() {
    auto job = std::make_shared<model::Job>();
    job->id = JobId(next_id_++);
    job->spec = specs_[below(static_cast<std::uint32_t>(specs_.size()))];
    job->time_limit = job->spec->time_limit;
    job->submitted = job->eligible = job->accrue =
        now - seconds(view.pending.size() < 5'000 ? 10'000 + below(100'000) : below(10'000));
    job->reason = model::Reason::Priority;
    put(view.pending, std::move(job));
  }

  void end_one() {
    const model::JobPtr* job = nullptr;
    std::uint32_t id = 0;
    while (!job) {
      id = running_[below(static_cast<std::uint32_t>(running_.size()))];
      job = view.active.find(id);
    }
    for (const auto& grant : (*job)->allocation->nodes) account((*job)->id, grant, false);
    view.active.erase(id);
    view.jobs.erase(id);
  }

  void carry_out(const sched::Plan& plan) {
    for (const auto& start : plan.starts) {
      auto job = std::make_shared<model::Job>(**view.pending.find(start.job.value));
      view.pending.erase(start.job.value);
      run(std::move(job), start.allocation, now);
    }
    for (const auto& wait : plan.waits) {
      const auto* job = view.pending.find(wait.job.value);
      if (!job || (*job)->reason == wait.reason) continue;
      auto told = std::make_shared<model::Job>(**job);
      told->reason = wait.reason;
      put(view.pending, std::move(told));
    }
  }
  std::size_t running() const { return view.active.size(); }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  std::shared_ptr<model::Node> make_node(std::uint32_t n) {
    auto node = std::make_shared<model::Node>();
    node->index = NodeIndex(n);
    node->name = "n" + std::to_string(n);
    node->registered = true;
    node->hardware.cpus = node->hardware.sockets = n % 4 == 1 ? 128 : 64;
    node->hardware.memory_mib = n % 4 == 1 ? 512'000 : 256'000;
    if (n % 16 == 0) node->hardware.gres.push_back({"gpu", "h100", 8, ""});
    node->cpus_in_use.resize(2);
    return node;
  }

  // 1 to 64 CPUs on one node, some on several, some with GPUs.
  std::shared_ptr<model::JobSpec> make_spec(std::uint32_t c) {
    auto spec = std::make_shared<model::JobSpec>();
    spec->name = "class" + std::to_string(c);
    spec->time_limit = TimeLimit::of_minutes(10 + 10 * below(140));
    spec->tasks = 1;
    spec->cpus_per_task = 1u << below(7);
    spec->memory_per_cpu_mib = 1000 + 500 * below(5);
    if (c % 8 == 3) {
      spec->min_nodes = 2 + below(15);
      if (c % 40 == 3) spec->min_nodes = 64;
      spec->max_nodes = spec->min_nodes;
      spec->tasks = spec->min_nodes;
      if (c % 3 == 0) spec->exclusive = model::Exclusive::Node;
    } else if (c % 8 == 5) {
      spec->partitions = {"gpu"};
      spec->cpus_per_task = 4;
      spec->gres.push_back({"gpu", "", 1u << below(4), model::GresRequest::Per::Node});
    } else if (c % 8 == 6) {
      spec->partitions = {"batch", "gpu"};
    }
    return spec;
  }

  // Every node full, or nearly: jobs of 1 to 64 CPUs, until nothing fits.
  void fill_up() {
    auto spec = std::make_shared<model::JobSpec>();
    spec->name = "running";
    for (std::uint32_t n = 0; n < view.nodes.size(); ++n) {
      for (int tries = 0; tries < 12; ++tries) {
        const model::Node& node = **view.nodes.find(n);
        const std::uint32_t left = node.hardware.cpus - node.cpus_allocated;
        const std::uint32_t cpus = std::min(64u, 1u + below(64));
        if (left == 0) break;
        if (cpus > left && tries < 8) continue;
        model::NodeGrant grant;
        grant.node = NodeIndex(n);
        grant.tasks = 1;
        for (std::uint32_t i = 0; i < std::min(cpus, left); ++i)
          grant.cpus.push_back(node.cpus_allocated + i);
        grant.memory_mib = grant.cpus.size() * (1000 + 500 * below(3));
        if (!node.hardware.gres.empty() && tries < 2) {
          const std::uint32_t first = tries == 0 ? 0 : 4;
          grant.devices.push_back({"gpu", "h100", {first, first + 1, first + 2, first + 3}});
        }
        auto allocation = std::make_shared<model::Allocation>();
        allocation->partition = node.hardware.gres.empty() ? "batch" : "gpu";
        allocation->nodes.push_back(std::move(grant));
        auto job = std::make_shared<model::Job>();
        job->id = JobId(next_id_++);
        job->spec = spec;
        job->time_limit = TimeLimit::of_minutes(60 + below(2880));
        const auto run_for = below(job->time_limit.minutes_value());
        run(std::move(job), std::move(allocation), now - minutes(run_for) + Duration(below(60'000'000)));
      }
    }
  }

  void run(std::shared_ptr<model::Job> job, std::shared_ptr<const model::Allocation> allocation, Time since) {
    job->state = model::JobState::Running;
    job->reason = model::Reason::None;
    job->started = since;
    job->allocation = std::move(allocation);
    for (const auto& grant : job->allocation->nodes) account(job->id, grant, true);
    running_.push_back(job->id.value);
    put(view.active, std::move(job));
  }

  void put(CowMap<model::JobPtr>& where, std::shared_ptr<model::Job> job) {
    const std::uint32_t id = job->id.value;
    model::JobPtr record = std::move(job);
    view.jobs.set(id, record);
    where.set(id, std::move(record));
  }

  void account(JobId job, const model::NodeGrant& grant, bool in_use) {
    auto node = std::make_shared<model::Node>(**view.nodes.find(grant.node.value));
    const auto flip = [&](std::vector<std::uint64_t>& bits, std::size_t i) {
      if (bits.size() <= i / 64) bits.resize(i / 64 + 1);
      bits[i / 64] ^= std::uint64_t{1} << (i % 64);
    };
    for (const auto cpu : grant.cpus) flip(node->cpus_in_use, cpu);
    for (const auto& devices : grant.devices) {
      if (node->devices_in_use.empty()) node->devices_in_use.push_back({"gpu", {0}});
      for (const auto index : devices.indices) flip(node->devices_in_use[0].bits, index);
    }
    const auto cpus = static_cast<std::uint32_t>(grant.cpus.size());
    node->cpus_allocated += in_use ? cpus : -cpus;
    node->memory_allocated_mib += in_use ? grant.memory_mib : -grant.memory_mib;
    if (in_use)
      node->jobs.insert(std::ranges::lower_bound(node->jobs, job), job);
    else
      std::erase(node->jobs, job);
    view.nodes.set(grant.node.value, std::move(node));
  }

  std::mt19937_64 random_;
  std::vector<std::shared_ptr<const model::JobSpec>> specs_;
  std::vector<std::uint32_t> running_;
  std::uint32_t next_id_ = 1;
};

struct Figures {
  double arrival = 0, arrival_slow = 0, end = 0, end_slow = 0, cycle = 0, cycle_slow = 0, first = 0;
  std::size_t starts = 0, holds = 0;
};

struct Times {
  std::vector<double> all;
  double median() {
    std::ranges::sort(all);
    return all[all.size() / 2];
  }
  // All but one in twenty are faster.
  double slow() {
    std::ranges::sort(all);
    return all[all.size() * 19 / 20];
  }
};

Figures measure(Cluster& cluster, sched::Engine& engine, int events) {
  Figures figures;
  const auto timed = [&](Times& times, auto&& call) {
    const model::View view = cluster.view;  // as the controller does: the picture is a copy
    const double begin = cpu_micros();
    engine.see(view);
    const sched::Plan plan = call();
    times.all.push_back(cpu_micros() - begin);
    figures.starts += plan.starts.size();
    cluster.carry_out(plan);
  };
  Times first, arrivals, ends, cycles;
  timed(first, [&] { return engine.plan(cluster.now); });
  // What the first answers set off is not what is to be measured.
  for (int i = 0; i < 3; ++i) {
    Times settling;
    timed(settling, [&] { return engine.plan(cluster.now); });
  }
  figures.starts = 0;
  for (int i = 0; i < events; ++i) {
    cluster.now += milliseconds(20);
    cluster.submit();
    timed(arrivals, [&] { return engine.respond(cluster.now); });
    cluster.now += milliseconds(20);
    cluster.end_one();
    timed(ends, [&] { return engine.respond(cluster.now); });
    if (i % 10 != 9) continue;
    cluster.now += milliseconds(20);
    timed(cycles, [&] { return engine.plan(cluster.now); });
  }
  figures.first = first.median();
  figures.arrival = arrivals.median();
  figures.arrival_slow = arrivals.slow();
  figures.end = ends.median();
  figures.end_slow = ends.slow();
  figures.cycle = cycles.median();
  figures.cycle_slow = cycles.slow();
  figures.holds = engine.planned().size();
  return figures;
}

double rss_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void print(const std::string& bench, double value, const std::string& unit) {
  fmt::print("{{\"bench\":\"{}\",\"spur\":{:.1f},\"slurm\":null,\"unit\":\"{}\"}}\n", bench, value, unit);
  std::fflush(stdout);
}

void print_all(const Figures& f, std::uint32_t nodes, std::uint32_t jobs) {
  const std::string size = fmt::format("{} nodes, {} pending", nodes, jobs);
  print("sched_scale_arrival", f.arrival, "us per arrival, " + size);
  print("sched_scale_arrival_slow", f.arrival_slow, "us, 95 of 100 arrivals are faster, " + size);
  print("sched_scale_end", f.end, "us per job end, " + size);
  print("sched_scale_end_slow", f.end_slow, "us, 95 of 100 ends are faster, " + size);
  print("sched_scale_cycle", f.cycle / 1000, "ms per full cycle, " + size);
  print("sched_scale_cycle_slow", f.cycle_slow / 1000, "ms, 95 of 100 cycles are faster, " + size);
  print("sched_scale_first", f.first / 1000, "ms for the first cycle of all, " + size);
}

std::uint32_t argument(int argc, char** argv, const char* name, std::uint32_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return static_cast<std::uint32_t>(std::strtoul(argv[i + 1], nullptr, 10));
  return otherwise;
}

}  // namespace
}  // namespace spur

int main(int argc, char** argv) {
  using namespace spur;
  const std::uint32_t most_nodes = argument(argc, argv, "--nodes", 100'000);
  const std::uint32_t most_jobs = argument(argc, argv, "--jobs", 1'000'000);
  const std::uint32_t classes = argument(argc, argv, "--classes", 500);
  const int events = static_cast<int>(argument(argc, argv, "--events", 100));
  const bool table = std::any_of(argv + 1, argv + argc, [](const char* a) { return std::strcmp(a, "--table") == 0; });
  for (std::uint32_t nodes : {1'000u, 10'000u, 100'000u}) {
    if (!table) nodes = most_nodes;
    if (nodes > most_nodes) break;
    Cluster cluster(nodes, classes, nodes);
    sched::Engine engine{{.forecasts = 100}};  // as a controller asks by default
    for (std::uint32_t jobs : {10'000u, 100'000u, 1'000'000u}) {
      if (!table) jobs = most_jobs;
      if (jobs > most_jobs) break;
      while (cluster.view.pending.size() < jobs) cluster.submit_earlier();
      const Figures f = measure(cluster, engine, events);
      print_all(f, nodes, jobs);
      fmt::print(stderr, "{} nodes, {} running, {} pending, {} holds, {} starts on the way, {:.0f} MiB\n", nodes,
                 cluster.running(), cluster.view.pending.size(), f.holds, f.starts, rss_mib());
      if (!table) break;
    }
    if (!table) break;
  }
  print("sched_scale_memory", rss_mib(), fmt::format("MiB at most, {} nodes, {} pending", most_nodes, most_jobs));
}
