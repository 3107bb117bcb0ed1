// SPDX-License-Identifier: Apache-2.0
#include "wire/accounting_query.h"

#include <algorithm>
#include <limits>

#include "model/job_state.h"
#include "spur/v1/accounting.pb.h"
#include "text/hostlist.h"

namespace spur::wire {
namespace {

using model::JobState;

template <class List, class T>
bool holds(const List& list, const T& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

// "a,b": any of them is in the list.
bool any_of_words(const google::protobuf::RepeatedPtrField<std::string>& list, std::string_view words) {
  if (list.empty()) return true;
  while (true) {
    const auto comma = words.find(',');
    if (std::find(list.begin(), list.end(), words.substr(0, comma)) != list.end()) return true;
    if (comma == std::string_view::npos) return false;
    words.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<AccountingQuery> AccountingQuery::make(const v1::AcctJobQuery& query) {
  AccountingQuery out(query);
  if (!query.nodes().empty()) {
    SPUR_ASSIGN(const auto names, text::expand_hostlist(query.nodes()));
    out.nodes_.insert(names.begin(), names.end());
  }
  return out;
}

io::AcctJobWish AccountingQuery::wish(const std::string& cluster) const {
  io::AcctJobWish out;
  out.cluster = cluster;
  for (const auto& target : query_.jobs()) out.jobs.push_back(target.job());
  out.uids.assign(query_.uids().begin(), query_.uids().end());
  out.accounts.assign(query_.accounts().begin(), query_.accounts().end());
  out.from = from_micros(query_.from_us());
  out.until = from_micros(query_.until_us());
  return out;
}

bool AccountingQuery::is_target(const v1::AcctJob& job) const {
  if (query_.jobs().empty()) return true;
  return std::any_of(query_.jobs().begin(), query_.jobs().end(), [&](const auto& target) {
    if (target.has_array_task())
      return job.array_job() == target.job() && job.has_array_task() && job.array_task() == target.array_task();
    if (target.has_het_offset()) return job.het_job() == target.job() && job.het_offset() == target.het_offset();
    return job.job() == target.job() || job.array_job() == target.job() || job.het_job() == target.job();
  });
}

// Whether the job was in this state at some moment of the window.
bool AccountingQuery::was_in(std::uint32_t state, const v1::AcctJob& job) const {
  const std::int64_t from = query_.from_us();
  const std::int64_t until = query_.until_us() ? query_.until_us() : std::numeric_limits<std::int64_t>::max();
  const std::int64_t ended = job.ended_us() ? job.ended_us() : std::numeric_limits<std::int64_t>::max();
  switch (static_cast<JobState>(state)) {
    case JobState::Pending: {
      const std::int64_t since = job.eligible_us() ? job.eligible_us() : job.submitted_us();
      const std::int64_t to = job.started_us() ? job.started_us() : ended;
      return since <= until && to >= from;
    }
    case JobState::Running:
      return job.started_us() && job.started_us() <= until && ended >= from;
    case JobState::Suspended:
      return job.suspended_at_us() && job.suspended_at_us() <= until && ended >= from;
    default:
      return job.state() == state && job.ended_us() && job.ended_us() >= from && job.ended_us() <= until;
  }
}

// Who asks for no job in particular sees none that never could have started.
bool AccountingQuery::in_window(const v1::AcctJob& job) const {
  if (query_.jobs().empty() && !job.eligible_us()) return false;
  if (query_.states_size() > 0) {
    const bool requeued = job.flags() & v1::ACCT_JOB_REQUEUED;
    if (requeued && query_.requeued() && was_in(job.state(), job)) return true;
    return std::any_of(query_.states().begin(), query_.states().end(), [&](std::uint32_t state) {
      return !(requeued && static_cast<JobState>(state) == JobState::Cancelled) && was_in(state, job);
    });
  }
  if (query_.from_us() && job.ended_us() && job.ended_us() < query_.from_us()) return false;
  return !query_.until_us() || (job.eligible_us() ? job.eligible_us() : job.submitted_us()) < query_.until_us();
}

bool AccountingQuery::has_properties(const v1::AcctJob& job) const {
  const auto between = [](std::uint64_t value, bool has_min, std::uint64_t min, bool has_max, std::uint64_t max) {
    return (!has_min || value >= min) && (!has_max || value <= max);
  };
  const std::uint32_t cpus = job.cpus_allocated() ? job.cpus_allocated() : job.cpus_requested();
  const std::uint32_t nodes = job.node_count() ? job.node_count() : job.nodes_requested();
  return holds(query_.gids(), job.gid()) && any_of_words(query_.partitions(), job.partition()) &&
         holds(query_.qos(), job.qos()) && holds(query_.names(), job.name()) && holds(query_.wckeys(), job.wckey()) &&
         holds(query_.reservations(), job.reservation()) && holds(query_.reasons(), job.reason()) &&
         any_of_words(query_.features(), job.features()) &&
         between(cpus, query_.has_min_cpus(), query_.min_cpus(), query_.has_max_cpus(), query_.max_cpus()) &&
         between(nodes, query_.has_min_nodes(), query_.min_nodes(), query_.has_max_nodes(), query_.max_nodes()) &&
         between(job.time_limit(), query_.has_min_limit(), query_.min_limit(), query_.has_max_limit(),
                 query_.max_limit());
}

bool AccountingQuery::matches(const v1::AcctJob& job) const {
  if (!is_target(job) || !holds(query_.uids(), job.uid()) || !holds(query_.accounts(), job.account())) return false;
  if (!in_window(job) || !has_properties(job)) return false;
  if (nodes_.empty()) return true;
  const auto names = text::expand_hostlist(job.nodes());
  return names && std::any_of(names->begin(), names->end(), [&](const auto& name) { return nodes_.contains(name); });
}

}  // namespace spur::wire
