// SPDX-License-Identifier: Apache-2.0
// The command line of sacct: what its options say, before anybody is asked.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/document.h"
#include "spur/v1/accounting.pb.h"

namespace spur::cli {

struct Sacct {
  v1::AcctJobQuery query;
  bool all_users = false, all_clusters = false, allocations = false, brief = false, long_form = false,
       no_header = false, parsable = false, parsable2 = false, no_convert = false, truncate = false,
       script = false, environment = false, help = false, usage = false, version = false, help_format = false;
  int verbose = 0;
  char unit = 0;
  std::string delimiter = "|";
  std::string format;  // of several -o, joined
  std::optional<std::string> from, until;
  std::vector<std::uint32_t> associations;  // -x
  std::vector<std::string> job_flags;       // -F
  std::string file;
  bool completion = false, whole_het = false;
  std::optional<DocumentStyle> document;  // --json, --yaml
};

// Fills `options`; the words that are no options, or the exit status.
std::expected<std::vector<std::string>, int> read_sacct_line(Context& context, Sacct& options);
std::string sacct_help();

}  // namespace spur::cli
