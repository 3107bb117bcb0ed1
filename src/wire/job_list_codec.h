// SPDX-License-Identifier: Apache-2.0
// The stream of chunks that ListJobs answers with. What repeats is sent once per stream: specifications that jobs share, and
// the names of nodes. Both sides keep state from chunk to chunk, so one encoder and one decoder per call.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/view.h"
#include "wire/controller_client.h"
#include "wire/job_codec.h"

namespace spur::v1 {
class JobChunk;
class ListJobsRequest;
}  // namespace spur::v1

namespace spur::wire {

inline constexpr std::size_t kJobsPerChunk = 500;

void to_proto(const JobFilter& from, v1::ListJobsRequest* to);
Status from_proto(const v1::ListJobsRequest& from, JobFilter* to);

class JobListEncoder {
 public:
  // The view must live as long as the encoder. The first chunk says when the picture was taken and of which cluster.
  JobListEncoder(const model::View& view, bool unknown_job);
  ~JobListEncoder();
  // In ascending order of ids. Scripts, environments and rlimits only with `with_script`: the caller decides who may see them.
  void add(const model::Job& job, Time expected_start, bool with_script);
  std::size_t jobs_in_chunk() const;    // send when it reaches kJobsPerChunk
  // The chunk so far; the next one begins empty. At the end send one more, also if it is empty and none was sent before.
  v1::JobChunk take_chunk();

 private:
  void mention(NodeIndex node);
  const model::View& view_;
  std::unique_ptr<v1::JobChunk> chunk_;
  bool with_script_ = false;            // of the job being added
  SpecWriter specs_;
  std::vector<bool> mentioned_;         // by node index
};

class JobListDecoder {
 public:
  JobListDecoder();
  ~JobListDecoder();
  // Appends the jobs of one chunk to the table and fills in what it says about the list as a whole.
  Status take_chunk(std::string_view bytes, JobTable* table);

 private:
  struct Memory;                        // reused for each chunk
  std::unique_ptr<Memory> memory_;
  SpecList specs_;
};

}  // namespace spur::wire
