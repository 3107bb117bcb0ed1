// SPDX-License-Identifier: Apache-2.0
// spur import and spur export, for the table of native commands in cmd_spur.cc.
#pragma once

#include "cli/context.h"

namespace spur::cli {

int cmd_export(Context& context);
int cmd_import(Context& context);

}  // namespace spur::cli
