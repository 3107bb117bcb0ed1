// SPDX-License-Identifier: Apache-2.0
// Submit tokens: the same token of the same user always gives the same job id.
//
// A token lives as long as its job's record, which holds its text. When the record is purged the token is kept on, so
// that a client which was cut off for hours may still repeat its submit safely, until 100,000 tokens of purged jobs
// are there: then the one whose job id was given out longest ago goes. (Counted from next_job_id downwards, with the
// wrap-around: so no order has to be stored beside the ids.) An id that is given out again ends an old token of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/job.h"
#include "model/view.h"

namespace spur::state {

inline constexpr std::size_t kMaxOldTokens = 100'000;

class TokenTable {
 public:
  using Rows = std::vector<std::pair<std::string, JobId>>;

  // The job that this token stands for, or none.
  JobId find(const model::View& view, Uid uid, std::string_view token) const;
  // `job` was made with a token (its submit_token).
  void add(const model::Job& job);
  // `job`, with a token, is being purged.
  void retire(const model::Job& job, std::uint32_t next_job_id);
  // `id` is about to be given to a new job.
  void forget(JobId id);

  // Everything, as "uid:token", sorted.
  Rows rows(const model::View& view) const;
  Status load(const model::View& view, const Rows& rows);
  // Whether the table and the records say the same.
  Status check(const model::View& view) const;
  std::size_t size() const { return by_hash_.size(); }

 private:
  void drop_hash(std::uint64_t hash, JobId id);

  std::unordered_multimap<std::uint64_t, JobId> by_hash_;  // of "uid:token"; never iterated into a result
  std::map<JobId, std::string> old_;                       // purged jobs' tokens, as "uid:token"
};

}  // namespace spur::state
