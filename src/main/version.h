// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace spur::main {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace spur::main
