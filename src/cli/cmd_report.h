// SPDX-License-Identifier: Apache-2.0
// `spur report`, `spur efficiency` and `seff`: what the history says to people.
#pragma once

namespace spur::cli {

struct Context;

int cmd_efficiency(Context& context);
int cmd_report(Context& context);
int cmd_seff(Context& context);

}  // namespace spur::cli
