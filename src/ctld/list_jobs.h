// SPDX-License-Identifier: Apache-2.0
// The rows of a query: which jobs a filter means, and their encoding in chunks. Works on a published picture only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ctld/controller.h"
#include "ctld/user_jobs.h"
#include "model/caller.h"
#include "sched/priority.h"
#include "spur/v1/controller.pb.h"
#include "wire/controller_client.h"
#include "wire/job_codec.h"

namespace spur::ctld {

// Whether a job is what a filter means. For views that have the same nodes as the one it was made with.
class JobPick {
 public:
  JobPick(const model::View& view, wire::JobFilter filter);
  bool matches(const model::Job& job) const;
  const wire::JobFilter& filter() const { return filter_; }

 private:
  bool is_asked_for(const model::Job& job) const;
  wire::JobFilter filter_;
  std::set<std::uint32_t> nodes_;
};

// In ascending order of ids.
class JobChunks {
 public:
  // `among`, where given, has all of the picture's jobs that the filter may mean; else all jobs are looked at.
  JobChunks(std::shared_ptr<const Picture> picture, const wire::JobFilter& filter, model::Caller caller,
            Time now = {},  // for ages; not set: the picture's stamp
            std::optional<UserJobs::Jobs> among = {});
  // Of these jobs, as they are in the picture.
  JobChunks(std::shared_ptr<const Picture> picture, std::vector<model::JobPtr> jobs, model::Caller caller, Time now);
  // Fills the next chunk; false when there is none. The first call always fills one. Which jobs the filter means is found
  // on the way: who asks for many has the first ones at once, and a record is read once, while it is near.
  bool next(v1::JobChunk* chunk);
  bool at_end() const { return at_ == jobs_.size() && !walk_ && !first_; }
  // What is still to be looked at fits into one small chunk: less work than to hand it to another thread.
  bool is_short() const { return jobs_.size() - at_ + (walk_ ? walk_->jobs.size() : 0) <= kShort; }
  static constexpr std::size_t kShort = 256;  // jobs

 private:
  JobChunks(std::shared_ptr<const Picture> picture, model::Caller caller, Time now, bool with_script,
            const wire::JobFields& fields);
  void name_nodes(const model::Job& job, v1::JobChunk* chunk);
  void add(const model::Job& job, v1::JobChunk* chunk);
  void add_plan(const model::Job& job, v1::JobChunk* chunk);
  void add_preemption(const model::Job& job, v1::JobChunk* chunk);
  std::shared_ptr<const Picture> picture_;
  Time now_;
  std::optional<sched::PriorityScale> scale_;  // from the first job that is not held on
  model::Caller caller_;
  bool with_script_, unknown_ = false, first_ = true;
  wire::JobFields fields_;
  // Those that are listed: these, or those of a map that the filter picks, from an id on.
  std::vector<model::JobPtr> jobs_;
  std::size_t at_ = 0;
  struct Walk {
    CowMap<model::JobPtr> jobs;
    JobPick pick;
    std::uint32_t from = 0;
  };
  std::optional<Walk> walk_;
  template <class F>
  void for_next(F&& f);
  std::set<std::uint32_t> named_;
  // Specifications that were sent, by what they say: most jobs of a long queue say the same as others.
  std::uint32_t number_of(const wire::SpecPtr& spec, v1::JobChunk* chunk);
  std::unordered_map<std::string, std::uint32_t> specs_;
  std::string spec_bytes_;
  wire::SpecPtr last_spec_;
  std::uint32_t last_number_ = 0;
};

}  // namespace spur::ctld
