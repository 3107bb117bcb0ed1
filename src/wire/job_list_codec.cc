// SPDX-License-Identifier: Apache-2.0
#include "wire/job_list_codec.h"

#include "spur/v1/controller.pb.h"
#include "wire/fields.h"
#include "wire/id_codec.h"
#include "wire/spec_codec.h"

namespace spur::wire {

// clang-format off
#define SPUR_JOB_FILTER_FIELDS(F) \
  F(MSGS, jobs) F(IDS, users) F(TEXTS, partitions) F(TEXTS, accounts) F(TEXTS, names) F(TEXTS, nodes) \
  F(MSGS, states) F(PLAIN, all_states) F(PLAIN, with_script) F(PLAIN, hide)
// clang-format on
void to_proto(const JobFilter& m, v1::ListJobsRequest* p) {
  SPUR_JOB_FILTER_FIELDS(SPUR_TO)
  for (std::string& name : field_names(m.fields)) p->add_fields(std::move(name));
}
Status from_proto(const v1::ListJobsRequest& p, JobFilter* m) {
  SPUR_JOB_FILTER_FIELDS(SPUR_FROM)
  m->fields = parse_field_names({p.fields().begin(), p.fields().end()});
  return {};
}

// One message for all chunks: what it has allocated for one chunk serves the next.
struct JobListDecoder::Memory {
  v1::JobChunk chunk;
};

JobListDecoder::JobListDecoder(const JobFields& fields) : memory_(std::make_unique<Memory>()), fields_(fields) {}
JobListDecoder::~JobListDecoder() = default;

Status JobListDecoder::take_chunk(std::string_view bytes, JobTable* table) {
  if (!memory_->chunk.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail(ErrorCode::Corrupt, "The list of jobs from the controller cannot be read");
  return take_chunk(&memory_->chunk, table);
}

Status JobListDecoder::take_chunk(v1::JobChunk* chunk, JobTable* table) {
  if ((chunk->expected_starts_us_size() != 0 && chunk->expected_starts_us_size() != chunk->jobs_size()) ||
      (chunk->preemptable_us_size() != 0 && chunk->preemptable_us_size() != chunk->jobs_size()))
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
  // One piece of memory for all of a chunk: allocating each by itself costs as much as reading it.
  const auto specs = std::make_shared<std::vector<model::JobSpec>>(static_cast<std::size_t>(chunk->specs_size()));
  for (int i = 0; i < chunk->specs_size(); ++i) {
    model::JobSpec& spec = (*specs)[static_cast<std::size_t>(i)];
    SPUR_TRY(from_proto(chunk->specs(i), &spec));
    specs_.emplace_back(specs, &spec);
  }
  const auto jobs = std::make_shared<std::vector<model::Job>>(static_cast<std::size_t>(chunk->jobs_size()));
  for (int i = 0; i < chunk->jobs_size(); ++i) {
    model::Job& job = (*jobs)[static_cast<std::size_t>(i)];
    SPUR_TRY(from_proto(chunk->jobs(i), &job, &specs_, fields_));
    table->jobs.emplace_back(jobs, &job);
  }
  for (const auto start : chunk->expected_starts_us()) table->expected_starts.push_back(from_micros(start));
  table->expected_starts.resize(table->jobs.size());
  for (const auto from : chunk->preemptable_us()) table->preemptable.push_back(from_micros(from));
  table->preemptable.resize(table->jobs.size());
  table->planned_nodes.resize(table->jobs.size());
  const std::size_t before = table->jobs.size() - static_cast<std::size_t>(chunk->jobs_size());
  for (const auto& planned : chunk->planned()) {
    if (planned.job() >= static_cast<std::uint32_t>(chunk->jobs_size()))
      return fail(ErrorCode::Corrupt, "The list of jobs from the controller does not fit together");
    table->planned_nodes[before + planned.job()] = planned.nodes();
  }
  return {};
}

JobChangesDecoder::JobChangesDecoder() : list_(std::make_unique<JobListDecoder>()) {}
JobChangesDecoder::~JobChangesDecoder() = default;

Status JobChangesDecoder::take(std::string_view bytes, JobChanges* changes) {
  v1::JobChanges message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail(ErrorCode::Corrupt, "What the controller says of jobs cannot be read");
  changes->resync = message.resync();
  changes->current = message.current();
  changes->table.node_names = std::move(node_names_);
  SPUR_TRY(list_->take_chunk(message.mutable_chunk(), &changes->table));
  changes->table.as_of = from_micros(message.as_of_us());
  for (const std::uint32_t id : message.gone()) changes->gone.emplace_back(id);
  node_names_ = changes->table.node_names;
  if (changes->current) {  // the next message counts anew
    list_ = std::make_unique<JobListDecoder>();
    node_names_.clear();
  }
  return {};
}

}  // namespace spur::wire
