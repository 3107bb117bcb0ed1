// SPDX-License-Identifier: Apache-2.0
// Whether a text can be a batch script at all, asked by the command before it sends and by the controller before it
// accepts. The lines to print are Slurm's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace spur::text {

inline constexpr std::size_t kMaxScriptBytes = std::size_t{4} << 20;  // Slurm's max_script_size

enum class ScriptFault : std::uint8_t { None, Empty, OnlyBlanks, NoInterpreter, NulByte, DosLineBreaks, TooLong };

// The first fault in the order above.
ScriptFault find_script_fault(std::string_view script, std::size_t max_bytes = kMaxScriptBytes);

// What sbatch prints, one "sbatch: error: " line each; none for None.
std::span<const std::string_view> script_fault_lines(ScriptFault fault);

}  // namespace spur::text
