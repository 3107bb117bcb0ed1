// SPDX-License-Identifier: Apache-2.0
#include "text/script_check.h"

#include "text/words.h"

namespace spur::text {

ScriptFault find_script_fault(std::string_view script, std::size_t max_bytes) {
  if (script.empty()) return ScriptFault::Empty;
  if (trim(script).empty()) return ScriptFault::OnlyBlanks;
  if (!script.starts_with("#!")) return ScriptFault::NoInterpreter;
  if (script.find('\0') != std::string_view::npos) return ScriptFault::NulByte;
  if (script.find("\r\n") != std::string_view::npos) return ScriptFault::DosLineBreaks;
  if (script.size() > max_bytes) return ScriptFault::TooLong;
  return ScriptFault::None;
}

std::span<const std::string_view> script_fault_lines(ScriptFault fault) {
  static constexpr std::string_view kEmpty[] = {"Batch script is empty!"};
  static constexpr std::string_view kOnlyBlanks[] = {"Batch script contains only whitespace!"};
  static constexpr std::string_view kNoInterpreter[] = {
      "This does not look like a batch script.  The first",
      "line must start with #! followed by the path to an interpreter.", "For instance: #!/bin/sh"};
  static constexpr std::string_view kNulByte[] = {"The Slurm controller does not allow scripts that",
                                                  "contain a NULL character '\\0'."};
  static constexpr std::string_view kDosLineBreaks[] = {"Batch script contains DOS line breaks (\\r\\n)",
                                                        "instead of expected UNIX line breaks (\\n)."};
  static constexpr std::string_view kTooLong[] = {
      "Batch job submission failed: Pathname of a file, directory or other parameter too long"};
  switch (fault) {
    case ScriptFault::None:
      break;
    case ScriptFault::Empty:
      return kEmpty;
    case ScriptFault::OnlyBlanks:
      return kOnlyBlanks;
    case ScriptFault::NoInterpreter:
      return kNoInterpreter;
    case ScriptFault::NulByte:
      return kNulByte;
    case ScriptFault::DosLineBreaks:
      return kDosLineBreaks;
    case ScriptFault::TooLong:
      return kTooLong;
  }
  return {};
}

}  // namespace spur::text
