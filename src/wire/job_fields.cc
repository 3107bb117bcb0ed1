// SPDX-License-Identifier: Apache-2.0
#include "wire/job_fields.h"

#include <algorithm>

namespace spur::wire {
namespace {

#define SPUR_FIELD_NAME(name) #name,
#define SPUR_FIELD_ROW(kind, name) #name,
constexpr std::string_view kJobNames[] = {SPUR_JOB_FIELDS(SPUR_FIELD_ROW) SPUR_JOB_FIELDS_BY_HAND(SPUR_FIELD_NAME)
                                              SPUR_JOB_FIELDS_BESIDE(SPUR_FIELD_NAME)};
constexpr std::string_view kSpecNames[] = {SPUR_JOB_SPEC_OWNER(SPUR_FIELD_ROW) SPUR_JOB_SPEC_FIELDS(SPUR_FIELD_ROW)
                                               SPUR_JOB_SPEC_BY_HAND(SPUR_FIELD_NAME)};
constexpr std::string_view kOfSpec = "spec.";

template <class Field, std::size_t N>
void add_named(const std::string_view (&names)[N], std::string_view name, JobFields& fields) {
  const auto found = std::ranges::find(names, name);
  if (found != std::end(names)) fields.add(static_cast<Field>(found - names));
}

}  // namespace

std::vector<std::string> field_names(const JobFields& fields) {
  std::vector<std::string> names;
  if (fields == JobFields::everything()) return names;
  for (std::size_t i = 0; i < std::size(kJobNames); ++i)
    if (fields.has(static_cast<JobField>(i))) names.emplace_back(kJobNames[i]);
  for (std::size_t i = 0; i < std::size(kSpecNames); ++i)
    if (fields.has(static_cast<SpecField>(i))) names.emplace_back(kOfSpec).append(kSpecNames[i]);
  return names;
}

JobFields parse_field_names(const std::vector<std::string>& names) {
  if (names.empty()) return JobFields::everything();
  JobFields fields;
  for (const std::string_view name : names) {
    if (name.starts_with(kOfSpec))
      add_named<SpecField>(kSpecNames, name.substr(kOfSpec.size()), fields);
    else
      add_named<JobField>(kJobNames, name, fields);
  }
  return fields;
}

}  // namespace spur::wire
