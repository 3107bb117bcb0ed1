// SPDX-License-Identifier: Apache-2.0
#include "cli/report_sheets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cli/display.h"
#include "cli/users.h"

namespace spur::cli {
namespace {

constexpr std::string_view kGpu = "gres/gpu";

double count_of(const v1::AcctJob& job, std::string_view tres) {
  for (const auto& item : job.allocated())
    if (item.name() == tres) return static_cast<double>(item.count());
  return 0;
}

double seconds_of(Duration span) {
  return std::max(std::chrono::duration<double>(span).count(), 0.0);
}

SheetCell part(double used, double granted) {
  if (granted <= 0) return {};
  return 100.0 * used / granted;
}

std::string user_of(const v1::AcctJob& job) {
  return job.user().empty() ? user_name(Uid{job.uid()}) : job.user();
}

}  // namespace

double percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto at = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(at, 1, sorted.size()) - 1];
}

std::map<std::string, double> report_prices(const std::vector<std::string>& words) {
  std::map<std::string, double> out;
  for (const auto& word : words) {
    const auto equals = word.find('=');
    if (equals != std::string::npos && equals > 0) out[word.substr(0, equals)] = std::atof(word.c_str() + equals + 1);
  }
  return out;
}

double ReportSums::cost_of(const v1::AcctJob& job, double hours) const {
  double sum = 0;
  for (const auto& [tres, price] : prices_) sum += price * hours * count_of(job, tres) / (tres == "mem" ? 1024 : 1);
  return sum;
}

bool ReportSums::has_gpus() const {
  return std::ranges::any_of(users_, [](const auto& entry) { return entry.second.gpu_hours > 0; });
}

void ReportSums::add(const v1::AcctJobRow& row) {
  const auto& job = row.job();
  const Time started = from_micros(job.started_us()), eligible = from_micros(job.eligible_us());
  if (!is_set(started)) return;
  if (is_set(eligible) && started >= window_.from && started < window_.until)
    waits_[job.partition()].push_back(seconds_of(started - eligible));
  const Time ended = job.ended_us() ? from_micros(job.ended_us()) : window_.now;
  const double ran = std::max(
      seconds_of(std::min(ended, window_.until) - std::max(started, window_.from)) - static_cast<double>(job.suspended_total_us()) / 1e6,
      0.0);
  auto& user = users_[{job.account(), user_of(job)}];
  ++user.jobs;
  user.gpu_hours += count_of(job, kGpu) * ran / 3600;
  user.cpu_hours += job.cpus_allocated() * ran / 3600;
  user.cost += cost_of(job, ran / 3600);
  if (!job.ended_us()) return;
  const double whole = std::max(seconds_of(ended - started) - static_cast<double>(job.suspended_total_us()) / 1e6, 0.0);
  const auto& usage = job.usage();
  user.cpu_granted += job.cpus_allocated() * whole;
  user.cpu_used += static_cast<double>(usage.user_cpu_us() + usage.system_cpu_us()) / 1e6;
  const double granted_mib = count_of(job, "mem");
  const double peak_mib = static_cast<double>(std::max(usage.memory_peak_kib(), usage.max_rss_kib())) / 1024;
  if (granted_mib > 0) {
    user.memory_granted += granted_mib * whole;
    user.memory_used += std::min(peak_mib, granted_mib) * whole;
  }
  // Where nothing was measured there is nothing to say.
  if (const double gpus = count_of(job, kGpu); gpus > 0 && (usage.gpu_utilization() > 0 || usage.gpu_memory_mib() > 0)) {
    user.gpu_granted += gpus * whole;
    user.gpu_used += gpus * whole * static_cast<double>(usage.gpu_utilization()) / 100;
  }
}

Sheet ReportSums::usage() const {
  Sheet out{.name = "usage",
            .title = has_gpus() ? "GPU hours by account and user" : "CPU hours by account and user",
            .columns = {{"account", "Account"},
                        {"user", "User"},
                        {"jobs", "Jobs", true, 0},
                        {"gpu_hours", "GPU hours", true, 2},
                        {"cpu_hours", "CPU hours", true, 2},
                        {"share", "Share %", true, 1}},
            .rows = {},
            .note = {},
            .labels = {0, 1},
            .values = {has_gpus() ? 3u : 4u}};
  if (!prices_.empty())
    out.columns.push_back({"cost", currency_.empty() ? "Cost" : fmt::format("Cost ({})", currency_), true, 2});
  double all = 0;
  const auto main = [&](const User& user) { return has_gpus() ? user.gpu_hours : user.cpu_hours; };
  for (const auto& [key, user] : users_) all += main(user);
  std::vector<std::pair<Key, User>> sorted(users_.begin(), users_.end());
  std::ranges::stable_sort(sorted, std::greater{}, [&](const auto& entry) { return main(entry.second); });
  for (const auto& [key, user] : sorted) {
    std::vector<SheetCell> row{key.first, key.second, static_cast<double>(user.jobs), user.gpu_hours, user.cpu_hours,
                               all > 0 ? 100 * main(user) / all : 0.0};
    if (!prices_.empty()) row.emplace_back(user.cost);
    out.rows.push_back(std::move(row));
  }
  out.note = "Energy is not measured.";
  return out;
}

Sheet ReportSums::waits() const {
  Sheet out{.name = "waits",
            .title = "Minutes in the queue, from the moment a job could have started",
            .columns = {{"partition", "Partition"},
                        {"jobs", "Jobs", true, 0},
                        {"mean_minutes", "Mean", true, 1},
                        {"p50_minutes", "Half of the jobs", true, 1},
                        {"p90_minutes", "90 %", true, 1},
                        {"p99_minutes", "99 %", true, 1},
                        {"max_minutes", "Longest", true, 1}},
            .rows = {},
            .note = {},
            .labels = {0},
            .values = {3, 4, 5}};
  for (const auto& [partition, list] : waits_) {
    std::vector<double> sorted = list;
    std::ranges::sort(sorted);
    double sum = 0;
    for (const double one : sorted) sum += one;
    out.rows.push_back({partition, static_cast<double>(sorted.size()), sum / static_cast<double>(sorted.size()) / 60,
                        percentile(sorted, 0.5) / 60, percentile(sorted, 0.9) / 60, percentile(sorted, 0.99) / 60,
                        sorted.back() / 60});
  }
  return out;
}

Sheet ReportSums::efficiency() const {
  Sheet out{.name = "efficiency",
            .title = "Used of what was granted, in percent (jobs that ended)",
            .columns = {{"account", "Account"},
                        {"user", "User"},
                        {"jobs", "Jobs", true, 0},
                        {"cpu_percent", "CPU %", true, 1},
                        {"memory_percent", "Memory %", true, 1},
                        {"gpu_percent", "GPU %", true, 1}},
            .rows = {},
            .note = "Memory: the most that was in use at once. \"-\": nothing was measured.",
            .labels = {0, 1},
            .values = {3, 4, 5}};
  for (const auto& [key, user] : users_)
    out.rows.push_back({key.first, key.second, static_cast<double>(user.jobs), part(user.cpu_used, user.cpu_granted),
                        part(user.memory_used, user.memory_granted), part(user.gpu_used, user.gpu_granted)});
  return out;
}

Sheet ReportSums::capacity(const std::vector<std::pair<Time, v1::AcctUsageReply>>& parts) const {
  bool gpus = false;
  for (const auto& [from, reply] : parts)
    for (const auto& row : reply.clusters()) gpus = gpus || (row.tres() == kGpu && row.count() > 0);
  const std::string_view tres = gpus ? kGpu : std::string_view("cpu");
  const std::string_view what = gpus ? "GPU" : "CPU";
  Sheet out{.name = "capacity",
            .title = fmt::format("{} hours of the cluster: used, idle and out of order", what),
            .columns = {{"from", "From"},
                        {"used_hours", "Used", true, 1},
                        {"idle_hours", "Idle", true, 1},
                        {"down_hours", "Out of order", true, 1},
                        {"used_percent", "Used %", true, 1}},
            .rows = {},
            .note = {},
            .labels = {0},
            .values = {1, 2, 3},
            .chart = Sheet::Chart::Stacked};
  double idle_all = 0;
  for (const auto& [from, reply] : parts) {
    double used = 0, idle = 0, down = 0;
    for (const auto& row : reply.clusters()) {
      if (row.tres() != tres) continue;
      used += static_cast<double>(row.allocated()) / 3600;
      idle += static_cast<double>(row.idle() + row.reserved()) / 3600;
      down += static_cast<double>(row.down() + row.planned_down()) / 3600;
    }
    idle_all += idle;
    const double all = used + idle + down;
    out.rows.push_back({moment(from, "").substr(0, 10), used, idle, down, all > 0 ? SheetCell(100 * used / all) : SheetCell()});
  }
  out.note = fmt::format("{:.1f} {} hours were idle.", idle_all, what);
  return out;
}

}  // namespace spur::cli
