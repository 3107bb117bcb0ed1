// SPDX-License-Identifier: Apache-2.0
// spur accounting: whether spurdbd is there, what its database is, and how far each cluster's records have come.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/display.h"
#include "spur/v1/accounting.pb.h"
#include "text/printable.h"

namespace spur::cli {

int cmd_accounting(Context& context) {
  if (context.options_asked != nullptr) return 0;
  if (!context.arguments.empty()) {
    context.error("no arguments are taken");
    return 1;
  }
  auto accounting = context.connect_accounting();
  if (!accounting) {
    context.plain("{}", accounting.error().message);
    return 1;
  }
  v1::AcctPingReply reply;
  if (const auto ok = (*accounting)->ping(&reply); !ok) {
    context.error("spurdbd does not answer: {}", words(ok.error()));
    return 1;
  }
  context.out.write(
      text::printable(fmt::format("spurdbd {}, {}, schema {}", reply.version(), reply.database(), reply.schema())) +
      "\n");
  context.out.write(
      fmt::format("{:<15} {:<20} {:<9} {:>12} {:>10}\n", "CLUSTER", "CONTROLLER", "CONNECTED", "RECORDS", "WAITING"));
  for (const auto& cluster : reply.clusters())
    context.out.write(
        text::printable(fmt::format("{:<15} {:<20} {:<9} {:>12} {:>10}", cluster.name(),
                                    fmt::format("{}:{}", cluster.control_host(), cluster.control_port()),
                                    cluster.connected() ? "yes" : "no", cluster.have(),
                                    cluster.connected() ? fmt::format("{}", cluster.waiting()) : "?")) +
        "\n");
  return 0;
}

}  // namespace spur::cli
