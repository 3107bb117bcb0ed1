// SPDX-License-Identifier: Apache-2.0
// TaskProlog: a program that runs as the user before each task and, by what it writes, changes the task's
// environment: "export NAME=value", "unset NAME", and "print text" for the task's own output.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spur::stepd {

// Runs it in this process's place and rights, waits, and applies what it wrote; its "print" lines go to standard
// output.
Status run_task_prolog(const std::string& path, std::vector<std::string>& environment);

// The text that is to be printed. Pure.
std::string apply_prolog_output(std::string_view output, std::vector<std::string>& environment);

}  // namespace spur::stepd
