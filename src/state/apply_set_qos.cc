// SPDX-License-Identifier: Apache-2.0
// SetQos: the accounting service says which QOS there are.
#include <fmt/format.h>

#include <algorithm>

#include "model/relative_qos.h"
#include "state/apply.h"

namespace spur::state {

Outcome Applier::apply(const SetQos& command) {
  auto list = command.qos;
  std::ranges::sort(list, {}, &model::Qos::name);
  const auto twice = std::ranges::adjacent_find(list, {}, &model::Qos::name);
  if (twice != list.end()) return refused(ErrorCode::InvalidQos, fmt::format("QOS {} is there twice", twice->name));
  if (!list.empty() && list.front().name.empty()) return refused(ErrorCode::InvalidQos, "a QOS has no name");
  const bool counts = !view.accounts->empty();
  if (counts) fade_usage(false);
  view.qos = std::make_shared<const std::vector<model::Qos>>(std::move(list));
  view.qos_in_force = model::qos_with_amounts(view);
  cluster.changes_.qos = true;
  others_may_age = true;
  if (counts) recount_all(*view.tres);
  return {};
}

}  // namespace spur::state
