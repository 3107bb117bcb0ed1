// SPDX-License-Identifier: Apache-2.0
// --export: which variables of the submitter a job gets. "ALL", "NONE", "NIL", "VAR,VAR=value", "ALL,K=V". SLURM_*
// and SPUR_* of the submitter are always passed on, as in Slurm.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace spur::text {

struct ExportSpec {
  bool all = true;  // start from the whole environment
  // In the order given; no value: the submitter's own, if it has one.
  std::vector<std::pair<std::string, std::optional<std::string>>> variables;
  // Anything but plain ALL and NIL: the node completes the environment with the user's login environment.
  bool wants_login_environment = false;
  friend bool operator==(const ExportSpec&, const ExportSpec&) = default;
};

// Quotes protect commas ("A='1,2'") and stay part of the value, as in Slurm. ALL, NONE and NIL count in any case; ALL
// anywhere in the list counts. Empty entries are skipped. InvalidArgument for an unmatched quote and for "=value".
Result<ExportSpec> parse_export(std::string_view text);

// `environment` and the result hold "NAME=VALUE" entries. The order of what is kept does not change; variables given
// with a value replace one that is there, at its place, else they are added at the end. What is in --export wins over
// the environment, except that the submitter's SLURM_* win over a list without ALL.
std::vector<std::string> apply_export(const ExportSpec& spec, const std::vector<std::string>& environment);

// The block of model/job_spec.h: entries, each ended by a NUL byte.
std::string join_environment(const std::vector<std::string>& entries);
std::vector<std::string> split_environment(std::string_view block);

}  // namespace spur::text
