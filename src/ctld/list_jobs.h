// SPDX-License-Identifier: Apache-2.0
// The rows of a query: which jobs a filter means, and their encoding in chunks. Works on a published picture only.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "ctld/controller.h"
#include "model/caller.h"
#include "sched/priority.h"
#include "spur/v1/controller.pb.h"
#include "wire/controller_client.h"
#include "wire/job_codec.h"

namespace spur::ctld {

// In ascending order of ids. *unknown: ids were asked for and none of them exists.
std::vector<model::JobPtr> select_jobs(const model::View& view, const wire::JobFilter& filter, bool* unknown);

class JobChunks {
 public:
  JobChunks(std::shared_ptr<const Picture> picture, const wire::JobFilter& filter, model::Caller caller,
            Time now = {});  // for ages; not set: the picture's stamp
  // Fills the next chunk; false when there is none. The first call always fills one.
  bool next(v1::JobChunk* chunk);

 private:
  void name_nodes(const model::Job& job, v1::JobChunk* chunk);
  std::shared_ptr<const Picture> picture_;
  Time now_;
  std::optional<sched::PriorityScale> scale_;  // from the first job that is not held on
  model::Caller caller_;
  bool with_script_, unknown_ = false, first_ = true;
  std::vector<model::JobPtr> jobs_;
  std::size_t at_ = 0;
  std::set<std::uint32_t> named_;
  v1::JobChunk* chunk_ = nullptr;  // where the spec writer's callback puts a new specification
  wire::SpecWriter specs_;
};

}  // namespace spur::ctld
