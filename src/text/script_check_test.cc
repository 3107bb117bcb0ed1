// SPDX-License-Identifier: Apache-2.0
#include "text/script_check.h"

#include <string>

#include <gtest/gtest.h>

namespace spur::text {
namespace {

TEST(ScriptCheck, FindsTheFault) {
  const struct {
    std::string script;
    ScriptFault fault;
    const char* first_line;
  } rows[] = {
      {"#!/bin/sh\necho\n", ScriptFault::None, nullptr},
      {"#!/bin/sh", ScriptFault::None, nullptr},
      {"#!\n", ScriptFault::None, nullptr},
      {"#!/bin/sh\n\x01\xff\r", ScriptFault::None, nullptr},
      {"", ScriptFault::Empty, "Batch script is empty!"},
      {" \n\t", ScriptFault::OnlyBlanks, "Batch script contains only whitespace!"},
      {"echo\n", ScriptFault::NoInterpreter, "This does not look like a batch script.  The first"},
      {"\n#!/bin/sh\n", ScriptFault::NoInterpreter, "This does not look like a batch script.  The first"},
      {"\x7f"
       "ELF",
       ScriptFault::NoInterpreter, "This does not look like a batch script.  The first"},
      {std::string("#!/bin/sh\n\0", 11), ScriptFault::NulByte, "The Slurm controller does not allow scripts that"},
      {"#!/bin/sh\r\necho\r\n", ScriptFault::DosLineBreaks, "Batch script contains DOS line breaks (\\r\\n)"},
      {"#!/bin/sh\n" + std::string(5'000'000, 'a'), ScriptFault::TooLong,
       "Batch job submission failed: Pathname of a file, directory or other parameter too long"},
  };
  for (const auto& row : rows) {
    const ScriptFault fault = find_script_fault(row.script);
    EXPECT_EQ(fault, row.fault) << row.script.substr(0, 20);
    const auto lines = script_fault_lines(fault);
    ASSERT_EQ(lines.empty(), row.first_line == nullptr);
    EXPECT_TRUE(lines.empty() || lines[0] == row.first_line) << lines[0];
  }
  EXPECT_EQ(find_script_fault("#!/bin/sh", 8), ScriptFault::TooLong);
}

}  // namespace
}  // namespace spur::text
