// SPDX-License-Identifier: Apache-2.0
#include "cli/slurm_calls.h"

#include <algorithm>
#include <string_view>

#include "cli/users.h"

namespace spur::cli {
namespace {

struct Name {
  std::string_view method, name;
  std::uint32_t number;
};
// By the name of the method. Numbers as Slurm 22.05's sdiag shows them; what has none there is named after the
// method.
constexpr Name kNames[] = {
    {"CancelJob", "REQUEST_KILL_JOB", 5032},
    {"ClearTriggers", "REQUEST_TRIGGER_CLEAR", 2019},
    {"CompleteAllocation", "REQUEST_COMPLETE_JOB_ALLOCATION", 5017},
    {"CreateReservation", "REQUEST_CREATE_RESERVATION", 3006},
    {"DeleteReservation", "REQUEST_DELETE_RESERVATION", 3008},
    {"GetCluster", "REQUEST_NODE_INFO", 2007},
    {"GetConfig", "REQUEST_BUILD_INFO", 2001},
    {"GetCrontab", "REQUEST_CRONTAB", 2200},
    {"GetPriorities", "REQUEST_PRIORITY_FACTORS", 2026},
    {"GetReservations", "REQUEST_RESERVATION_INFO", 2024},
    {"GetStatistics", "REQUEST_STATS_INFO", 2035},
    {"GetTriggers", "REQUEST_TRIGGER_GET", 2018},
    {"ListJobs", "REQUEST_JOB_INFO", 2003},
    {"Ping", "REQUEST_PING", 1008},
    {"Reconfigure", "REQUEST_RECONFIGURE", 1003},
    {"RequeueJob", "REQUEST_JOB_REQUEUE", 5023},
    {"SetCrontab", "REQUEST_UPDATE_CRONTAB", 2202},
    {"SetDebug", "REQUEST_SET_DEBUG_LEVEL", 1010},
    {"SetTrigger", "REQUEST_TRIGGER_SET", 2017},
    {"StepTicket", "REQUEST_JOB_STEP_CREATE", 5001},
    {"SubmitJob", "REQUEST_SUBMIT_BATCH_JOB", 4003},
    {"SuspendJob", "REQUEST_SUSPEND", 5014},
    {"TopJobs", "REQUEST_TOP_JOB", 5038},
    {"UpdateJob", "REQUEST_UPDATE_JOB", 3001},
    {"UpdateNode", "REQUEST_UPDATE_NODE", 3002},
    {"UpdatePartition", "REQUEST_UPDATE_PARTITION", 3005},
    {"UpdateReservation", "REQUEST_UPDATE_RESERVATION", 3009},
    {"WaitJob", "REQUEST_JOB_READY", 4019},
    {"WillRun", "REQUEST_JOB_WILL_RUN", 4012},
};

std::string upper_words(std::string_view method) {
  std::string out = "REQUEST";
  for (const char c : method) {
    if (c >= 'A' && c <= 'Z') out.push_back('_');
    out.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
  }
  return out;
}

std::vector<NamedCalls> sorted(std::vector<NamedCalls> rows, CallOrder order) {
  const auto key = [order](const NamedCalls& row) -> std::uint64_t {
    switch (order) {
      case CallOrder::Count:
        return row.calls->count;
      case CallOrder::Total:
        return row.calls->total_us;
      case CallOrder::Average:
        return row.average_us();
      case CallOrder::Number:
        return 0;
    }
    return 0;
  };
  std::ranges::sort(rows, [&](const NamedCalls& a, const NamedCalls& b) {
    return key(a) != key(b) ? key(a) > key(b) : a.number != b.number ? a.number < b.number : a.name < b.name;
  });
  return rows;
}

}  // namespace

std::vector<NamedCalls> sorted_calls(const wire::ControllerStatistics& statistics, CallOrder order) {
  std::vector<NamedCalls> rows;
  for (const auto& calls : statistics.by_method) {
    const auto known = std::ranges::find(kNames, calls.method, &Name::method);
    rows.push_back(known == std::end(kNames) ? NamedCalls{upper_words(calls.method), 0, &calls}
                                             : NamedCalls{std::string(known->name), known->number, &calls});
  }
  return sorted(std::move(rows), order);
}

std::vector<NamedCalls> sorted_users(const wire::ControllerStatistics& statistics, CallOrder order) {
  std::vector<NamedCalls> rows;
  for (const auto& calls : statistics.by_user)
    rows.push_back(NamedCalls{user_name(calls.uid), calls.uid.value, &calls});
  return sorted(std::move(rows), order);
}

}  // namespace spur::cli
