// SPDX-License-Identifier: Apache-2.0
// The last step of both front ends: a draft checked as a whole and turned into what the daemons use. Hostlists are
// expanded (never more than text::kMaxHosts nodes), node sets filled in, defaults applied. Pure: no files, no name
// service.
#pragma once

#include <string_view>

#include "base/result.h"
#include "config/draft.h"

namespace spur::config {

// Fills draft.cluster.nodes (one per node).
Status resolve_nodes(Draft& draft);
// The same, and .partitions.
Status resolve_cluster(Draft& draft);
// Fills in draft.daemon.controllers and listen addresses. Enough for a command. `host` is this machine's name, for
// choosing among several controllers' addresses.
Status resolve_daemon(Draft& draft, std::string_view host);

}  // namespace spur::config
