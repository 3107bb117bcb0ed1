// SPDX-License-Identifier: Apache-2.0
// sacctmgr modify ... set RawUsage=0: what was used is forgotten, by the controller of this cluster.
#include "cli/display.h"
#include "cli/sacctmgr.h"
#include "text/decimal.h"

namespace spur::cli {

bool read_raw_usage(Sacctmgr& s, const Word& w, bool* reset) {
  if (text::parse_decimal32(w.value) == 0u) return *reset = true;
  s.context.error("Raw usage can only be set to 0 (zero)");
  return s.failed(), false;
}

bool own_cluster_meant(Sacctmgr& s, const std::vector<std::string>& clusters) {
  if (clusters.empty()) {
    s.context.out.print("No cluster specified, resetting on local cluster {}\n", s.own_cluster());
    return true;
  }
  if (clusters == std::vector{s.own_cluster()}) return true;
  s.context.error("usage of cluster {} can only be reset by a sacctmgr there", clusters.front());
  return s.failed(), false;
}

void send_reset(Sacctmgr& s, const std::vector<std::uint32_t>& associations, const std::vector<std::string>& qos) {
  if (!s.ask("Would you like to reset usage?")) return s.context.out.write(" Changes Discarded\n");
  const auto controller = s.context.controller();
  const Status done = controller ? (*controller)->reset_usage(associations, qos) : Status(std::unexpected(controller.error()));
  if (!done) s.context.error("{}", words(done.error())), s.failed();
}

void reset_usage(Sacctmgr& s, const std::vector<std::string>& clusters, const std::vector<std::string>& accounts,
                 const std::vector<std::string>& users) {
  if (accounts.empty()) return s.context.error("An account must be specified"), void(s.failed());
  if (!own_cluster_meant(s, clusters)) return;
  std::vector<std::uint32_t> ids;
  const auto add = [&](const std::string& account, const std::string& user) {
    const std::size_t before = ids.size();
    for (const model::AssociationRecord& r : s.records().associations)
      if (r.cluster == s.own_cluster() && r.row.account == account && r.row.user == user) ids.push_back(r.row.id);
    if (ids.size() > before) return true;
    s.context.error("Failed to find cluster {} account {}{} association in database", s.own_cluster(), account,
                    user.empty() ? "" : " user " + user);
    return s.failed(), false;
  };
  for (const std::string& account : accounts) {
    if (users.empty() && !add(account, "")) return;
    for (const std::string& user : users)
      if (!add(account, user)) return;
  }
  send_reset(s, ids, {});
}

}  // namespace spur::cli
