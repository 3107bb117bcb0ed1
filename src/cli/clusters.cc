// SPDX-License-Identifier: Apache-2.0
#include "cli/clusters.h"

#include "text/printable.h"
#include "text/words.h"

namespace spur::cli {

ClusterList parse_clusters(std::string_view value) {
  ClusterList list;
  for (const std::string_view name : text::split(value, ','))
    if (!name.empty()) list.names.emplace_back(name);
  return list;
}

namespace {

Result<wire::PingReply> any_ping(Controller& controller) {
  Result<wire::PingReply> reply = fail(ErrorCode::Unreachable);
  for (std::size_t i = 0; i < controller.controller_count() && !reply; ++i) reply = controller.ping(i);
  return reply;
}

}  // namespace

std::string cluster_name(Controller& controller) {
  const auto reply = any_ping(controller);
  return reply ? reply->cluster_name : std::string();
}

bool is_this_cluster(Context& context, Controller& controller, const ClusterList& list) {
  if (list.names.empty()) return true;
  const auto reply = any_ping(controller);
  if (!reply) {
    context.error("{}", words(reply.error()));
    return false;
  }
  for (const std::string& name : list.names) {
    if (name == reply->cluster_name || text::equal_ignoring_case(name, "all")) continue;
    context.error(
        "'{}' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr list clusters' to see "
        "available clusters.",
        name);
    return false;
  }
  return true;
}

void print_cluster_line(Context& context, const ClusterList& list, std::string_view cluster) {
  if (!list.names.empty()) context.out.print("CLUSTER: {}\n", text::printable(cluster));
}

}  // namespace spur::cli
