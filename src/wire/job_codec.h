// SPDX-License-Identifier: Apache-2.0
// A job and its allocation as messages. The specification is not part of this: where it goes (inside, or into a list
// that many jobs share) is the business of whoever encodes, see SpecWriter.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/job.h"
#include "wire/job_fields.h"

namespace spur::v1 {
class Allocation;
class DeviceGrant;
class Job;
}  // namespace spur::v1

namespace spur::wire {

using SpecPtr = std::shared_ptr<const model::JobSpec>;
using SpecList = std::vector<SpecPtr>;  // number n is at n - 1

// Gives each specification a number, counted from 1: the same object, or one equal to the last, is written once.
class SpecWriter {
 public:
  explicit SpecWriter(std::function<void(const model::JobSpec&)> emit) : emit_(std::move(emit)) {}
  std::uint32_t number_of(const SpecPtr& spec);

 private:
  std::function<void(const model::JobSpec&)> emit_;        // called for each that is new
  std::unordered_map<SpecPtr, std::uint32_t> by_address_;  // holding them, so that no address is used twice
  SpecPtr last_;
  std::uint32_t count_ = 0, last_number_ = 0;
};

// All of a job but its specification, or what is wanted of it.
void record_to_proto(const model::Job& from, v1::Job* to, const JobFields& wanted = JobFields::everything());
// The specification comes from `specs` where the message has a reference, else from the message itself; one is
// required. What is not wanted is not looked at.
Status from_proto(const v1::Job& from, model::Job* to, const SpecList* specs = nullptr,
                  const JobFields& wanted = JobFields::everything());
// With the specification inside.
void to_proto(const model::Job& from, v1::Job* to);

void to_proto(const model::Allocation& from, v1::Allocation* to);
Status from_proto(const v1::Allocation& from, model::Allocation* to);
void to_proto(const model::DeviceGrant& from, v1::DeviceGrant* to);
Status from_proto(const v1::DeviceGrant& from, model::DeviceGrant* to);

}  // namespace spur::wire
