// SPDX-License-Identifier: Apache-2.0
#include "sched/features.h"

#include <fmt/format.h>

#include <algorithm>

namespace spur::sched {

Result<FeatureRequest> parse_features(std::string_view text) {
  FeatureRequest request;
  if (text.empty()) return request;
  const auto unsupported = [&] {
    return fail(ErrorCode::InvalidFeature, fmt::format("feature expression \"{}\" is not supported yet", text));
  };
  if (text.find_first_of("[]()*!,") != std::string_view::npos) return unsupported();
  request.any = text.find('|') != std::string_view::npos;
  if (request.any && text.find('&') != std::string_view::npos) return unsupported();

  const char joint = request.any ? '|' : '&';
  for (std::string_view rest = text;;) {
    const auto end = rest.find(joint);
    const std::string_view name = rest.substr(0, end);
    if (name.empty() || name.find_first_of(" \t") != std::string_view::npos)
      return fail(ErrorCode::InvalidFeature, fmt::format("invalid feature expression \"{}\"", text));
    request.names.emplace_back(name);
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return request;
}

bool has_features(const model::Node& node, const FeatureRequest& request) {
  if (request.names.empty()) return true;
  const auto has = [&](const std::string& name) {
    return std::ranges::find(node.active_features, name) != node.active_features.end();
  };
  return request.any ? std::ranges::any_of(request.names, has) : std::ranges::all_of(request.names, has);
}

}  // namespace spur::sched
