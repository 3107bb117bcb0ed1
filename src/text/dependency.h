// SPDX-License-Identifier: Apache-2.0
// --dependency: "afterok:1:2,afterany:3", "after:5+10", "afterok:12_3", "singleton", joined all by ',' (every term
// must hold) or all by '?' (one is enough). Plain structs; model/job_spec.h has the job's own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spur::text {

struct DependencyTerm {
  enum class Kind : std::uint8_t {
    After,
    AfterAny,
    AfterOk,
    AfterNotOk,
    AfterCorr,
    AfterBurstBuffer,
    Expand,
    Singleton,
  };
  Kind kind = Kind::AfterAny;
  std::uint32_t job = 0;                    // 0 for Singleton
  std::optional<std::uint32_t> array_task;  // "12_3"
  bool whole_array = false;                 // "12_*"
  std::uint32_t delay_minutes = 0;          // "after:5+10"
  friend bool operator==(const DependencyTerm&, const DependencyTerm&) = default;
};

struct DependencySpec {
  std::vector<DependencyTerm> terms;  // one per job named, in the order written, each once
  bool any = false;                   // joined by '?'
  friend bool operator==(const DependencySpec&, const DependencySpec&) = default;
};

// Empty text and "0" are an empty spec. InvalidDependency for all that is wrong; ',' mixed with '?' is. A bare job id
// means afterany, as in Slurm; job ids must be below `max_job_id`.
Result<DependencySpec> parse_dependency(std::string_view text, std::uint32_t max_job_id = 0x7fffffff);

std::string_view dependency_kind_name(DependencyTerm::Kind kind);  // "afterok"
std::string format_dependency(const DependencyTerm& term);         // "afterok:12_3", "after:5+10", "singleton"
std::string format_dependency(const DependencySpec& spec);         // joined by ',' or '?'

}  // namespace spur::text
