// SPDX-License-Identifier: Apache-2.0
#include "wire/job_list_codec.h"

#include <google/protobuf/arena.h>

#include "spur/v1/controller.pb.h"
#include "wire/fields.h"
#include "wire/id_codec.h"
#include "wire/spec_codec.h"

namespace spur::wire {

#define SPUR_JOB_FILTER_FIELDS(F)                                                                               \
  F(MSGS, jobs) F(IDS, users) F(TEXTS, partitions) F(TEXTS, accounts) F(TEXTS, names) F(TEXTS, nodes)           \
  F(MSGS, states) F(PLAIN, all_states) F(PLAIN, with_script)
void to_proto(const JobFilter& m, v1::ListJobsRequest* p) { SPUR_JOB_FILTER_FIELDS(SPUR_TO) }
Status from_proto(const v1::ListJobsRequest& p, JobFilter* m) {
  SPUR_JOB_FILTER_FIELDS(SPUR_FROM)
  return {};
}

// The first block of the arena outlives Reset(), so that chunks after the first cost no new memory.
struct JobListDecoder::Memory {
  static constexpr std::size_t kBlock = 512u << 10;
  std::unique_ptr<char[]> block = std::make_unique_for_overwrite<char[]>(kBlock);
  google::protobuf::Arena arena{options()};
  google::protobuf::ArenaOptions options() const {
    google::protobuf::ArenaOptions o;
    o.initial_block = block.get();
    o.initial_block_size = kBlock;
    return o;
  }
};

JobListDecoder::JobListDecoder() : memory_(std::make_unique<Memory>()) {}
JobListDecoder::~JobListDecoder() = default;

Status JobListDecoder::take_chunk(std::string_view bytes, JobTable* table) {
  memory_->arena.Reset();
  auto* chunk = google::protobuf::Arena::CreateMessage<v1::JobChunk>(&memory_->arena);
  if (!chunk->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail(ErrorCode::Corrupt, "The list of jobs from the controller cannot be read");
  if (chunk->expected_starts_us_size() != 0 && chunk->expected_starts_us_size() != chunk->jobs_size())
    return fail(ErrorCode::Corrupt, "The list of jobs from the controller does not fit together");
  if (chunk->as_of_us() != 0) {
    table->as_of = from_micros(chunk->as_of_us());
    table->cluster_name = chunk->cluster_name();
    table->unknown_job = chunk->unknown_job();
  }
  for (const auto& node : chunk->nodes()) {
    if (node.index() >= kMaxRunMembers) return fail(ErrorCode::Corrupt, "The list of jobs names an impossible node");
    if (node.index() >= table->node_names.size()) table->node_names.resize(node.index() + std::size_t{1});
    table->node_names[node.index()] = node.name();
  }
  for (const auto& proto : chunk->specs()) {
    auto spec = std::make_shared<model::JobSpec>();
    SPUR_TRY(from_proto(proto, spec.get()));
    specs_.push_back(std::move(spec));
  }
  for (const auto& proto : chunk->jobs()) {
    auto job = std::make_shared<model::Job>();
    SPUR_TRY(from_proto(proto, job.get(), &specs_));
    table->jobs.push_back(std::move(job));
  }
  for (const auto start : chunk->expected_starts_us()) table->expected_starts.push_back(from_micros(start));
  table->expected_starts.resize(table->jobs.size());
  return {};
}

}  // namespace spur::wire
