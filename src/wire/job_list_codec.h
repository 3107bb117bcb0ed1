// SPDX-License-Identifier: Apache-2.0
// The question and the stream of chunks of ListJobs. What repeats is sent once per stream, specifications that jobs
// share and the names of nodes: so one decoder per call, which keeps them from chunk to chunk.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/controller_client.h"
#include "wire/job_codec.h"

namespace spur::v1 {
class JobChunk;
class ListJobsRequest;
}  // namespace spur::v1

namespace spur::wire {

void to_proto(const JobFilter& from, v1::ListJobsRequest* to);
Status from_proto(const v1::ListJobsRequest& from, JobFilter* to);

class JobListDecoder {
 public:
  // `fields`: what was asked for.
  explicit JobListDecoder(const JobFields& fields = JobFields::everything());
  ~JobListDecoder();
  // Appends the jobs of one chunk to the table and fills in what it says about the list as a whole.
  Status take_chunk(std::string_view bytes, JobTable* table);
  Status take_chunk(v1::JobChunk* chunk, JobTable* table);

 private:
  struct Memory;  // reused for each chunk
  std::unique_ptr<Memory> memory_;
  JobFields fields_;
  SpecList specs_;
};

// The stream of WatchJobs: changes->table is what the message has.
class JobChangesDecoder {
 public:
  JobChangesDecoder();
  ~JobChangesDecoder();
  Status take(std::string_view bytes, JobChanges* changes);

 private:
  std::unique_ptr<JobListDecoder> list_;
  std::vector<std::string> node_names_;  // of the list so far
};

}  // namespace spur::wire
