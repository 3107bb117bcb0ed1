// SPDX-License-Identifier: Apache-2.0
// Load on the parts of accounting, for bench/run. Prints one number.
//   spur-acct-load absorb DIR JOBS PER_SECOND  records of job ends into the outbox's spool at that pace: how many of
//   them
//                                              per second were on disk, from the first to the last
//   spur-acct-load drain URL JOBS              the same records into the database, as spurdbd does: jobs per second
//   spur-acct-load fill URL JOBS USERS         a database with so many jobs over twelve months: jobs per second
#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include "acct/ingest.h"
#include "ctld/acct_outbox.h"
#include "os/accounting_database.h"
#include "os/outbox_file.h"
#include "spur/v1/accounting.pb.h"

namespace {

using namespace spur;
using Clock = std::chrono::steady_clock;

const Time kBorn = from_unix_seconds(1'700'000'000);
constexpr std::uint64_t kFirstDay = 1'731'000'000, kYear = 365 * 86400;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

[[noreturn]] void die(const Error& error) {
  fmt::print(stderr, "{}\n", error.message);
  std::exit(1);
}
template <class T>
T must(Result<T> result) {
  if (!result) die(result.error());
  return std::move(*result);
}
void must(const Status& status) {
  if (!status) die(status.error());
}

std::shared_ptr<const model::JobSpec> spec_of(std::uint32_t user) {
  auto spec = std::make_shared<model::JobSpec>();
  spec->name = fmt::format("train-{}", user);
  spec->uid = Uid{10'000 + user};
  spec->gid = Gid{100};
  spec->account = fmt::format("account{}", user % 50);
  spec->qos = "normal";
  spec->partitions = {"gpu"};
  spec->work_dir = fmt::format("/home/user{}/experiments", user);
  spec->submit_line = "sbatch --gres=gpu:8 -t 60 train.sh --config base.yaml";
  return spec;
}

model::JobPtr job_of(std::uint32_t id, std::uint32_t users, std::int64_t submitted,
                     const std::vector<std::shared_ptr<const model::JobSpec>>& specs) {
  auto job = std::make_shared<model::Job>();
  job->id = JobId{id};
  job->spec = specs[(id * 2654435761u >> 7) % users];
  job->state = model::JobState::Completed;
  job->submitted = job->eligible = from_unix_seconds(submitted);
  job->started = from_unix_seconds(submitted + 60);
  job->ended = from_unix_seconds(submitted + 60 + id % 7200);
  job->last_nodes = fmt::format("node{:04}", id % 2000);
  job->cpus_allocated = 8;
  auto allocation = std::make_shared<model::Allocation>();
  allocation->partition = "gpu";
  allocation->nodes.push_back({.node = NodeIndex{id % 2000},
                               .cpus = {0, 1, 2, 3, 4, 5, 6, 7},
                               .memory_mib = 64'000,
                               .tasks = 1,
                               .devices = {}});
  job->allocation = std::move(allocation);
  job->usage = std::make_shared<const model::Usage>(
      model::Usage{.user_cpu_us = id * 1000ull, .system_cpu_us = id, .max_rss_kib = 123'456});
  return job;
}

// What an ordinary job makes: submitted, started, ended, and the end of its batch step.
void notes_of(const model::JobPtr& job, std::uint64_t& number, std::vector<state::OutboxRecord>& out) {
  auto submitted = std::make_shared<model::Job>(*job);
  submitted->state = model::JobState::Pending;
  submitted->started = submitted->ended = {};
  submitted->allocation = nullptr;
  submitted->usage = nullptr;
  auto started = std::make_shared<model::Job>(*job);
  started->state = model::JobState::Running;
  started->ended = {};
  started->usage = nullptr;
  out.push_back({number++, job->submitted, state::JobNote{submitted, false}});
  out.push_back({number++, job->started, state::JobNote{started, false}});
  model::StepEnd step;
  step.step = model::kBatchStep;
  step.name = "batch";
  step.started = job->started;
  step.ended = job->ended;
  step.nodes = job->last_nodes;
  step.node_count = step.tasks = 1;
  step.cpus = 8;
  out.push_back({number++, job->ended, state::StepNote{job, step}});
  out.push_back({number++, job->ended, state::JobNote{job, false}});
}

double absorb(const std::string& directory, std::uint32_t jobs, std::uint32_t pace) {
  const auto spool = must(os::OutboxFile::open(directory));
  ctld::AcctOutbox outbox({.spool = *spool,
                           .address = "127.0.0.1:1",
                           .cluster = "bench",
                           .control_host = "bench",
                           .control_port = 0,
                           .credential = [] { return std::string(); },
                           .committed = [](std::uint64_t) {},
                           .catalogue = {},
                           .node_keys = {},
                           .log = [](const std::string&) {},
                           .names = {}});
  const std::vector specs{spec_of(1)};
  std::uint64_t number = 1;
  const auto begin = Clock::now();
  for (std::uint32_t id = 1; id <= jobs;) {
    std::vector<state::OutboxRecord> records;
    for (std::uint32_t i = 0; i < pace / 100 && id <= jobs; ++i, ++id)
      notes_of(job_of(id, 1, kFirstDay, specs), number, records);
    outbox.add(kBorn, std::move(records));
    std::this_thread::sleep_until(begin + std::chrono::microseconds(std::uint64_t{id} * 1'000'000 / pace));
  }
  std::mutex mutex;
  std::condition_variable wake;
  bool done = false;
  outbox.when_spooled(number - 1, [&] {
    const std::lock_guard lock(mutex);
    done = true;
    wake.notify_one();
  });
  std::unique_lock lock(mutex);
  wake.wait(lock, [&] { return done; });
  const double took = seconds_since(begin);
  if (must(spool->held()).count != number - 1) die({ErrorCode::Internal, "records are missing in the spool"});
  return jobs / took;
}

double into_database(const std::string& url, std::uint32_t jobs, std::uint32_t users, bool whole_life) {
  const auto store = must(os::AccountingDatabase::open(url));
  must(store->hello({"bench", "bench", 6817, kBorn, 0, kBorn}));
  std::vector<std::shared_ptr<const model::JobSpec>> specs;
  for (std::uint32_t user = 0; user < users; ++user) specs.push_back(spec_of(user));
  std::uint64_t number = 1;
  double took = 0;
  for (std::uint32_t id = 1; id <= jobs;) {
    std::vector<state::OutboxRecord> records;
    for (int i = 0; i < 2000 && id <= jobs; ++i, ++id) {
      const auto submitted = static_cast<std::int64_t>(kFirstDay + std::uint64_t{id} * kYear / jobs);
      const auto job = job_of(id, users, submitted, specs);
      if (whole_life)
        notes_of(job, number, records);
      else
        records.push_back({number++, job->ended, state::JobNote{job, false}});
    }
    std::vector<std::string> encoded;
    for (const auto& record : records) encoded.push_back(wire::encode_record(record, {}));
    // From here on it is spurdbd's work.
    const auto begin = Clock::now();
    const std::vector<std::string_view> views(encoded.begin(), encoded.end());
    must(store->ingest(must(acct::make_chunk("bench", kBorn, views))));
    took += seconds_since(begin);
  }
  return jobs / took;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 3 ? argv[1] : "";
  const auto number = [&](int at) { return static_cast<std::uint32_t>(argc > at ? std::atol(argv[at]) : 0); };
  double figure = 0;
  if (mode == "absorb" && number(4) >= 100)
    figure = absorb(argv[2], number(3), number(4));
  else if (mode == "drain" && number(3))
    figure = into_database(argv[2], number(3), 100, true);
  else if (mode == "fill" && number(3) && number(4))
    figure = into_database(argv[2], number(3), number(4), false);
  else
    return fmt::print(stderr, "usage: spur-acct-load absorb|drain|fill ...\n"), 2;
  fmt::print("{:.0f}\n", figure);
}
