// SPDX-License-Identifier: Apache-2.0
// What a decision about limits costs, by the number of jobs that count for the same account: one look at whether a job
// may start, and the books when it does. Prints "decision_ns_JOBS value" lines, which bench/run reads.
#include <chrono>
#include <cstdio>

#include "model/limits.h"

using namespace spur;

namespace {

// An account of 1,000 users below three others, with limits of every kind that none of the jobs reaches.
model::View make_view() {
  model::View view;
  model::ClusterConfig config;
  config.accounting.limits = true;
  config.gres_types = {"gpu"};
  model::PartitionConfig partition;
  partition.name = "p";
  partition.is_default = true;
  config.partitions.push_back(partition);
  view.config = std::make_shared<const model::ClusterConfig>(config);
  view.partitions = std::make_shared<const std::vector<model::Partition>>(
      std::vector<model::Partition>{model::Partition{partition, {NodeIndex{0}}}});
  view.tres = std::make_shared<const model::TresTable>(config);
  const std::uint64_t plenty = std::uint64_t{1} << 40;
  std::vector<model::AssociationPtr> rows;
  for (std::uint32_t id = 1; id <= 1004; ++id) {
    model::Association row;
    row.id = id;
    row.parent = id <= 4 ? id - 1 : 4;
    row.account = "a" + std::to_string(std::min(id, 4u));
    if (id > 4) {
      row.user = "u" + std::to_string(id);
      row.uid = id;
      row.max_jobs = 1u << 30;
      row.max_tres_per_job = {{"cpu", plenty}, {"mem", plenty}};
    }
    row.group.jobs = 1u << 30;
    row.group.tres = {{"cpu", plenty}, {"gres/gpu", plenty}};
    row.group.tres_minutes = {{"cpu", plenty}};
    row.group.tres_run_minutes = {{"cpu", plenty}};
    rows.push_back(std::make_shared<const model::Association>(std::move(row)));
  }
  view.accounts = *model::AccountBook::make(1, std::move(rows), {});
  model::Qos qos;
  qos.name = "normal";
  qos.id = 1;
  qos.max_jobs_per_user = 1u << 30;
  qos.max_tres_per_user = {{"cpu", plenty}};
  view.qos = std::make_shared<const std::vector<model::Qos>>(std::vector<model::Qos>{qos});
  return view;
}

model::JobSpec spec_of(std::uint32_t nth) {
  model::JobSpec spec;
  spec.uid = Uid{5 + nth % 1000};
  spec.account = "a4";
  spec.qos = "normal";
  spec.tasks = 4;
  spec.gres = {{"gpu", "", 1, model::GresRequest::Per::Node}};
  return spec;
}

// One more job starts, if it may.
bool start(model::View& view, std::uint32_t nth, Time now) {
  const model::JobSpec spec = spec_of(nth);
  const TimeLimit limit = TimeLimit::of_minutes(60);
  const auto question = model::limit_question(view, spec, spec.uid.value, view.partitions->front(), limit);
  if (model::limit_at_start(view, view.tallies, question, now) != model::Reason::None) return false;
  model::recount(view.tallies, view, question.where, {},
                 model::part_of_start(view, spec, question.tres, limit, now, nullptr), now);
  return true;
}

}  // namespace

int main() {
  model::View view = make_view();
  std::uint32_t jobs = 0;
  for (const std::uint32_t size : {1'000u, 10'000u, 100'000u, 1'000'000u}) {
    for (; jobs < size; ++jobs)
      if (!start(view, jobs, Time(seconds(1000 + jobs)))) return 1;
    constexpr std::uint32_t kTries = 20'000;
    const model::View published = view;  // as the state does: somebody looks at the last picture
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint32_t i = 0; i < kTries; ++i)
      if (!start(view, i, Time(seconds(5'000'000)))) return 1;
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    view = published;
    std::printf("decision_ns_%u %.0f\n", size, took.count() / kTries);
  }
  return 0;
}
