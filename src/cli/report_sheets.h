// SPDX-License-Identifier: Apache-2.0
// What spur report shows: sums over the jobs of a time window, as sheets. Pure: jobs and cluster usage come in, tables
// come out.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "cli/sheet.h"
#include "spur/v1/accounting.pb.h"

namespace spur::cli {

struct ReportWindow {
  Time from, until, now;
};

// "gres/gpu=2.50" of an hour (of a GiB for mem). Words that are none are left out.
std::map<std::string, double> report_prices(const std::vector<std::string>& words);

class ReportSums {
 public:
  ReportSums(ReportWindow window, std::map<std::string, double> prices, std::string currency)
      : window_(window), prices_(std::move(prices)), currency_(std::move(currency)) {}

  void add(const v1::AcctJobRow& row);

  Sheet usage() const;       // "usage": GPU and CPU hours, jobs, cost, by account and user
  Sheet waits() const;       // "waits": percentiles of the time in the queue, by partition
  Sheet efficiency() const;  // "efficiency": how much of what was granted was used, by account and user
  // What the cluster had and what became of it, part by part of the window (as spurdbd counted each).
  Sheet capacity(const std::vector<std::pair<Time, v1::AcctUsageReply>>& parts) const;

 private:
  struct User {
    std::uint64_t jobs = 0;
    double gpu_hours = 0, cpu_hours = 0, cost = 0;
    // Of jobs that have ended: what was granted and what was used.
    double cpu_granted = 0, cpu_used = 0, memory_granted = 0, memory_used = 0, gpu_granted = 0, gpu_used = 0;
  };
  using Key = std::pair<std::string, std::string>;  // account, user
  double cost_of(const v1::AcctJob& job, double hours) const;
  bool has_gpus() const;

  const ReportWindow window_;
  const std::map<std::string, double> prices_;
  const std::string currency_;
  std::map<Key, User> users_;
  std::map<std::string, std::vector<double>> waits_;  // by partition, seconds
};

// The smallest value that at least `share` of the sorted ones do not exceed.
double percentile(const std::vector<double>& sorted, double share);

}  // namespace spur::cli
