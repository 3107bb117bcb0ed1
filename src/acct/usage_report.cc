// SPDX-License-Identifier: Apache-2.0
#include "acct/usage_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "spur/v1/accounting.pb.h"

namespace spur::acct {
namespace {

struct Window {
  Time from, until, now;
  // Seconds of [begin, end) that lie in it; `end` not set: it lasts.
  std::uint64_t overlap(Time begin, Time end) const {
    if (!is_set(begin)) return 0;
    const Time last = std::min({is_set(end) ? end : now, until, now});
    const Time first = std::max(begin, from);
    return last > first ? static_cast<std::uint64_t>(std::chrono::duration_cast<seconds>(last - first).count()) : 0;
  }
};

using UserKey = std::tuple<std::string, std::uint32_t, std::string>;  // account, uid, wckey

struct Sums {
  std::map<UserKey, std::map<std::string, std::uint64_t>> users;
  std::map<UserKey, std::string> names;
  std::map<std::string, std::uint64_t> allocated;
  std::uint64_t planned = 0;  // CPU seconds that jobs waited for which could have run
};

void add_wait(const v1::AcctJob& job, const Window& window, Sums& sums) {
  const Time until = from_micros(job.started_us() ? job.started_us() : job.ended_us());
  sums.planned += window.overlap(from_micros(job.eligible_us()), until) * job.cpus_requested();
}

void add_job(const v1::AcctJob& job, const Window& window, Sums& sums) {
  std::uint64_t span = window.overlap(from_micros(job.started_us()), from_micros(job.ended_us()));
  const auto idle = static_cast<std::uint64_t>(job.suspended_total_us() / 1'000'000);
  span -= std::min(span, idle);
  if (span == 0) return;
  const UserKey key{job.account(), job.uid(), job.wckey()};
  sums.names[key] = job.user();
  for (const auto& tres : job.allocated()) {
    sums.users[key][tres.name()] += span * tres.count();
    sums.allocated[tres.name()] += span * tres.count();
  }
}

struct Spent {
  std::uint64_t count = 0, total = 0, down = 0, planned_down = 0;
};

// What there was, and what of it was out of order: drained is planned.
Status add_events(io::AccountingStore& store, const std::string& cluster, const Window& window,
                  std::map<std::string, Spent>& spent) {
  return store.events(cluster, window.from, window.until, [&](const io::AcctEventRow& event) {
    const std::uint64_t span = window.overlap(event.started, event.ended);
    if (event.node.empty()) {
      v1::AcctClusterTres had;
      if (!had.ParseFromString(event.record)) return true;
      for (const auto& tres : had.tres()) {
        spent[tres.name()].count = tres.count();
        spent[tres.name()].total += span * tres.count();
      }
      return true;
    }
    v1::AcctNodeEvent node;
    if (!node.ParseFromString(event.record)) return true;
    const bool planned = node.state().find("DRAIN") != std::string::npos;
    for (const auto& tres : node.tres())
      (planned ? spent[tres.name()].planned_down : spent[tres.name()].down) += span * tres.count();
    return true;
  });
}

}  // namespace

Status add_usage(io::AccountingStore& store, const std::string& cluster, Time from, Time until, Time now,
                 v1::AcctUsageReply* reply) {
  const Window window{from, until, now};
  Sums sums;
  io::AcctJobWish wish;
  wish.cluster = cluster;
  wish.from = from;
  wish.until = until;
  SPUR_TRY(store.jobs(wish, [&](const io::AcctJobRow& row) {
    v1::AcctJob job;
    if (!job.ParseFromString(row.record)) return true;
    add_wait(job, window, sums);
    if (is_set(row.started)) add_job(job, window, sums);
    return true;
  }));
  for (const auto& [key, list] : sums.users)
    for (const auto& [tres, amount] : list) {
      auto* row = reply->add_rows();
      row->set_cluster(cluster);
      row->set_account(std::get<0>(key));
      row->set_uid(std::get<1>(key));
      row->set_wckey(std::get<2>(key));
      row->set_user(sums.names[key]);
      row->set_tres(tres);
      row->set_seconds(amount);
    }
  std::map<std::string, Spent> spent;
  SPUR_TRY(add_events(store, cluster, window, spent));
  for (const auto& [tres, amount] : spent) {
    auto* row = reply->add_clusters();
    row->set_cluster(cluster);
    row->set_tres(tres);
    row->set_count(amount.count);
    const std::uint64_t allocated = sums.allocated[tres];
    row->set_allocated(allocated);
    // A node that drains still runs jobs: what they use is not lost.
    const std::uint64_t planned = std::min(amount.planned_down, amount.total - std::min(amount.total, allocated));
    const std::uint64_t busy = allocated + planned;
    const std::uint64_t down = std::min(amount.down, amount.total - std::min(amount.total, busy));
    row->set_down(down);
    row->set_planned_down(planned);
    // As in Slurm only processors are planned for, and no more of them than were left.
    const std::uint64_t left = amount.total - std::min(amount.total, busy + down);
    const std::uint64_t waited = tres == "cpu" ? std::min(sums.planned, left) : 0;
    row->set_reserved(waited);
    row->set_idle(left - waited);
    row->set_over(allocated - std::min(allocated, amount.total));
  }
  return {};
}

}  // namespace spur::acct
