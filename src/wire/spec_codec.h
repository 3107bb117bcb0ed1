// SPDX-License-Identifier: Apache-2.0
// A job's specification as a message, and the merge that UpdateJob needs. Scripts and environments are large and
// shared by many jobs: inside a Batch, a Snapshot or a list they are written once (BlobWriter) and referred to by
// position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/job_spec.h"
#include "wire/job_fields.h"

namespace spur::v1 {
class ContainerRequest;
class Dependency;
class Distribution;
class GresRequest;
class JobSpec;
class LicenseRequest;
class ResourceLimit;
}  // namespace spur::v1

namespace spur::wire {

// Gives each distinct text a number, counted from 1, in the order of first use; 0 is the empty text. It keeps views
// of the texts, which must live as long as it is used.
class BlobWriter {
 public:
  explicit BlobWriter(std::function<void(const std::string&)> emit) : emit_(std::move(emit)) {}
  std::uint32_t number_of(const model::Blob& blob);

 private:
  std::function<void(const std::string&)> emit_;  // called for each text that is new
  std::unordered_map<const std::string*, std::uint32_t> by_address_;
  std::unordered_map<std::string_view, std::uint32_t> by_text_;
};
using BlobList = std::vector<model::Blob>;  // number n is at n - 1

// Without `blobs`, script and environment are inside the message.
void to_proto(const model::JobSpec& from, v1::JobSpec* to, BlobWriter* blobs = nullptr);
// What lists of jobs show: without script, environment and rlimits, and of the rest what is wanted.
void listed_to_proto(const model::JobSpec& from, v1::JobSpec* to, const JobFields& wanted = JobFields::everything());
// Whether that is the same of both.
bool listed_alike(const model::JobSpec& a, const model::JobSpec& b, const JobFields& wanted);
// With `blobs` null a reference is refused.
Status from_proto(const v1::JobSpec& from, model::JobSpec* to, const BlobList* blobs = nullptr);

void to_proto(const model::ContainerRequest& from, v1::ContainerRequest* to);
Status from_proto(const v1::ContainerRequest& from, model::ContainerRequest* to);
void to_proto(const model::Dependency& from, v1::Dependency* to);
Status from_proto(const v1::Dependency& from, model::Dependency* to);
void to_proto(const model::Distribution& from, v1::Distribution* to);
Status from_proto(const v1::Distribution& from, model::Distribution* to);
void to_proto(const model::GresRequest& from, v1::GresRequest* to);
Status from_proto(const v1::GresRequest& from, model::GresRequest* to);
void to_proto(const model::LicenseRequest& from, v1::LicenseRequest* to);
Status from_proto(const v1::LicenseRequest& from, model::LicenseRequest* to);
void to_proto(const model::ResourceLimit& from, v1::ResourceLimit* to);
Status from_proto(const v1::ResourceLimit& from, model::ResourceLimit* to);

// Takes the fields of `from` that `changed` names (as types.proto spells them) over into *to. InvalidArgument, and no
// change, if a name is unknown or may not be changed by anybody (uid, gid, kind).
Status merge_spec(const model::JobSpec& from, const std::vector<std::string>& changed, model::JobSpec* to);

}  // namespace spur::wire
