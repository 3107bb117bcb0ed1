// SPDX-License-Identifier: Apache-2.0
// Node features as a job asks for them (-C): one name, names joined by '&' (all of them) or by '|' (any of them).
// The rest of Slurm's grammar (counts, brackets, parentheses, a mix of both joints) is refused by name, so that no
// job runs on nodes its author did not mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/node.h"

namespace spur::sched {

struct FeatureRequest {
  std::vector<std::string> names;  // empty: no wish
  bool any = false;                // joined by '|'
  friend bool operator==(const FeatureRequest&, const FeatureRequest&) = default;
};

// InvalidFeature for what is not understood; the message says whether it is wrong or not supported yet.
Result<FeatureRequest> parse_features(std::string_view text);

// Whether the node's active features satisfy the request.
bool has_features(const model::Node& node, const FeatureRequest& request);

}  // namespace spur::sched
