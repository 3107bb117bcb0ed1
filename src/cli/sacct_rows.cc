// SPDX-License-Identifier: Apache-2.0
#include "cli/sacct_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "model/step_end.h"
#include "text/hostlist.h"
#include "wire/accounting_codec.h"
#include "wire/accounting_query.h"

namespace spur::cli {
namespace {

using Key = std::tuple<std::uint32_t, std::int64_t, std::uint32_t>;  // job, submitted, epoch

Key key_of(const v1::AcctJob& job) {
  return {job.job(), job.submitted_us(), job.epoch()};
}

wire::JobFilter filter_of(const v1::AcctJobQuery& query) {
  wire::JobFilter filter;
  filter.all_states = true;
  for (const auto& target : query.jobs()) filter.jobs.push_back({JobId{target.job()}, {}});
  for (const auto uid : query.uids()) filter.users.push_back(Uid{uid});
  return filter;
}

// The script of a job that runs is a step that runs; the database gets steps when they end.
void add_live_batch(const model::Job& job, v1::AcctJobRow* row) {
  const bool runs = job.state == model::JobState::Running || job.state == model::JobState::Suspended;
  if (!runs || job.spec->kind != model::JobKind::Batch || !job.allocation || job.allocation->nodes.empty()) return;
  const auto& first = job.allocation->nodes.front();
  auto* step = row->add_steps();
  step->set_job(job.id.value);
  step->set_epoch(job.epoch.value);
  step->set_submitted_us(to_micros(job.submitted));
  step->set_step(model::kBatchStep);
  step->set_name("batch");
  step->set_state(static_cast<std::uint32_t>(job.state));
  step->set_started_us(to_micros(job.started));
  const auto nodes = text::expand_hostlist(row->job().nodes());
  if (nodes && !nodes->empty()) step->set_nodes(nodes->front());
  step->set_node_count(1);
  step->set_tasks(1);
  step->set_cpus(static_cast<std::uint32_t>(first.cpus.size()));
  const auto add = [&](const char* name, std::uint64_t count) {
    auto* tres = step->add_allocated();
    tres->set_name(name);
    tres->set_count(count);
  };
  add("cpu", first.cpus.size());
  if (first.memory_mib > 0) add("mem", first.memory_mib);
  add("node", 1);
}

// The controller's own jobs of this cluster that may be meant.
std::vector<v1::AcctJobRow> live_rows(Context& context, const std::string& cluster, const v1::AcctJobQuery& query) {
  std::vector<v1::AcctJobRow> out;
  const auto& clusters = query.clusters();
  if (!clusters.empty() && std::ranges::find(clusters, cluster) == clusters.end()) return out;
  const auto controller = context.controller();
  if (!controller) return out;
  const auto table = (*controller)->jobs(filter_of(query));
  if (!table) return out;
  for (const auto& job : table->jobs) {
    v1::AcctJobRow row;
    row.set_cluster(cluster);
    wire::to_proto(*job, row.mutable_job());
    if (query.with_steps()) add_live_batch(*job, &row);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace

Result<std::vector<v1::AcctJobRow>> sacct_rows(Context& context, Accounting& accounting,
                                               const v1::AcctJobQuery& query) {
  SPUR_ASSIGN(const auto wanted, wire::AccountingQuery::make(query));
  std::vector<v1::AcctJobRow> rows;
  const Status status = accounting.jobs(query, [&](v1::AcctJobRow row) { rows.push_back(std::move(row)); });
  auto live = live_rows(context, accounting.cluster(), query);
  if (!status && (query.jobs().empty() || live.empty())) return std::unexpected(status.error());

  std::map<Key, std::size_t> places;
  std::map<std::uint32_t, std::size_t> last_run;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].cluster() != accounting.cluster()) continue;
    places[key_of(rows[i].job())] = i;
    last_run[rows[i].job().job()] = i;
  }
  // A row of the database that the controller knows better may no longer be meant.
  std::set<std::size_t> outdated;
  for (auto& row : live) {
    const bool meant = wanted.matches(row.job());
    if (const auto at = places.find(key_of(row.job())); at != places.end()) {
      auto* known = rows[at->second].mutable_job();
      // The end is in the database, perhaps with what an administrator changed there since.
      if (known->ended_us() && row.job().ended_us()) continue;
      for (auto& step : *row.mutable_steps()) *rows[at->second].add_steps() = std::move(step);
      row.mutable_job()->set_user(known->user());
      row.mutable_job()->set_group(known->group());
      row.mutable_job()->set_script(known->script());
      row.mutable_job()->set_environment(known->environment());
      *known = std::move(*row.mutable_job());
      if (!meant) outdated.insert(at->second);
    } else if (!meant) {
      continue;
    } else if (const auto older = last_run.find(row.job().job()); older != last_run.end() && !query.duplicates()) {
      rows[older->second] = std::move(row);  // a later run of the same job
    } else {
      rows.push_back(std::move(row));
    }
  }
  for (auto at = outdated.rbegin(); at != outdated.rend(); ++at)
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(*at));
  // The tasks of an array in their order, whatever numbers they got as jobs.
  const auto place = [](const v1::AcctJobRow& row) {
    const auto& job = row.job();
    return std::tuple(std::string_view(row.cluster()), job.array_job() ? job.array_job() : job.job(),
                      job.has_array_task() ? job.array_task() : 0u, key_of(job));
  };
  std::ranges::stable_sort(rows, [&](const auto& a, const auto& b) { return place(a) < place(b); });
  // The script of a heterogeneous job runs in its first component.
  for (auto& row : rows) {
    if (row.job().het_offset() == 0) continue;
    auto* steps = row.mutable_steps();
    for (int i = steps->size() - 1; i >= 0; --i)
      if (steps->Get(i).step() == model::kBatchStep) steps->DeleteSubrange(i, 1);
  }
  return rows;
}

}  // namespace spur::cli
