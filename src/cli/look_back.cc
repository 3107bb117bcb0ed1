// SPDX-License-Identifier: Apache-2.0
#include "cli/look_back.h"

#include "text/date.h"

namespace spur::cli {

int look_back(Context& context, Controller& controller, const std::string& at) {
  const Time present = context.now();
  const auto then = text::parse_moment(at, present);
  if (!then) {
    context.error("--at: {}", then.error().message);
    return 1;
  }
  if (*then > present) {
    context.error("--at: {} is still to come", text::format_date(*then));
    return 1;
  }
  controller.look_at(*then);
  context.now = [then = *then] { return then; };
  return 0;
}

}  // namespace spur::cli
