// SPDX-License-Identifier: Apache-2.0
#include "config/needs_restart.h"

#include <fmt/format.h>

#include <string_view>

namespace spur::config {

std::string needs_restart(const Loaded& now, const Loaded& fresh) {
  std::string out;
  const auto compare = [&](std::string_view name, const auto& a, const auto& b) {
    if (a != b) out += fmt::format("{}{}", out.empty() ? "" : ", ", name);
  };
  compare("the cluster's name", now.cluster.cluster_name, fresh.cluster.cluster_name);
  compare("the state directory", now.daemon.state_dir, fresh.daemon.state_dir);
  compare("the address to listen on", now.daemon.controller_listen, fresh.daemon.controller_listen);
  compare("the credential socket", auth_socket(now.daemon), auth_socket(fresh.daemon));
  compare("how much history is kept", now.daemon.history_days, fresh.daemon.history_days);
  compare("how much history is kept", now.daemon.history_max_mib, fresh.daemon.history_max_mib);
  compare("batch_sched_delay", now.daemon.batch_sched_delay, fresh.daemon.batch_sched_delay);
  compare("the pid file", controller_pid_file(now.daemon), controller_pid_file(fresh.daemon));
  return out;
}

}  // namespace spur::config
