// SPDX-License-Identifier: Apache-2.0
// Which fields of a job and of its specification somebody wants to see: a long list of jobs costs what is said of
// each, and most who ask look at little. Fields go by name (JobField::started is Job::started); on the wire, too, so
// that a controller of another version gives what it knows of them.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/job_field_lists.h"

namespace spur::wire {

#define SPUR_FIELD_NAME(name) name,
#define SPUR_FIELD_ROW(kind, name) name,
enum class JobField : std::uint8_t {
  SPUR_JOB_FIELDS(SPUR_FIELD_ROW) SPUR_JOB_FIELDS_BY_HAND(SPUR_FIELD_NAME) SPUR_JOB_FIELDS_BESIDE(SPUR_FIELD_NAME)
      Count,
};
enum class SpecField : std::uint8_t {
  SPUR_JOB_SPEC_OWNER(SPUR_FIELD_ROW) SPUR_JOB_SPEC_FIELDS(SPUR_FIELD_ROW) SPUR_JOB_SPEC_BY_HAND(SPUR_FIELD_NAME)
      Count,
};
#undef SPUR_FIELD_NAME
#undef SPUR_FIELD_ROW

class JobFields {
 public:
  template <class... Fields>
    requires((std::same_as<Fields, JobField> || std::same_as<Fields, SpecField>) && ...)
  constexpr JobFields(Fields... fields) {  // NOLINT: {JobField::state, SpecField::name}
    (add(fields), ...);
  }
  static constexpr JobFields everything() {
    JobFields all;
    all.bits_ = {~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}};
    return all;
  }
  constexpr bool has(JobField field) const { return has(static_cast<std::size_t>(field)); }
  constexpr bool has(SpecField field) const { return has(kSpec + static_cast<std::size_t>(field)); }
  constexpr bool has_all(const JobFields& fields) const {
    for (std::size_t i = 0; i < bits_.size(); ++i)
      if (fields.bits_[i] & ~bits_[i]) return false;
    return true;
  }
  constexpr void add(JobField field) { set(static_cast<std::size_t>(field)); }
  constexpr void add(SpecField field) { set(kSpec + static_cast<std::size_t>(field)); }
  constexpr void add(const JobFields& more) {
    for (std::size_t i = 0; i < bits_.size(); ++i) bits_[i] |= more.bits_[i];
  }
  friend constexpr JobFields operator|(JobFields a, const JobFields& b) {
    a.add(b);
    return a;
  }
  friend constexpr bool operator==(const JobFields&, const JobFields&) = default;

 private:
  static constexpr std::size_t kSpec = 64;  // specifications' bits begin here
  static_assert(static_cast<std::size_t>(JobField::Count) <= kSpec);
  static_assert(static_cast<std::size_t>(SpecField::Count) <= 2 * 64);
  constexpr bool has(std::size_t bit) const { return (bits_[bit / 64] >> (bit % 64) & 1) != 0; }
  constexpr void set(std::size_t bit) { bits_[bit / 64] |= std::uint64_t{1} << (bit % 64); }
  std::array<std::uint64_t, 3> bits_{};
};

// "state", "spec.name"; nothing for everything. Names that are not known are passed over.
std::vector<std::string> field_names(const JobFields& fields);
JobFields parse_field_names(const std::vector<std::string>& names);

}  // namespace spur::wire
