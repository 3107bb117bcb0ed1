// SPDX-License-Identifier: Apache-2.0
#include "wire/job_codec.h"

#include "spur/v1/types.pb.h"
#include "wire/fields.h"
#include "wire/id_codec.h"
#include "wire/job_field_lists.h"
#include "wire/spec_codec.h"

namespace spur::wire {

#define SPUR_DEVICE_GRANT_FIELDS(F) F(PLAIN, gres) F(PLAIN, type) F(NUMBERS, indices) F(NUMBERS, shares)
void to_proto(const model::DeviceGrant& m, v1::DeviceGrant* p){SPUR_DEVICE_GRANT_FIELDS(SPUR_TO)} Status
    from_proto(const v1::DeviceGrant& p, model::DeviceGrant* m) {
  SPUR_DEVICE_GRANT_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_NODE_GRANT_FIELDS(F) \
  F(ID, node)                     \
  F(RUNS, cpus) F(PLAIN, memory_mib) F(PLAIN, tasks) F(MSGS, devices) F(NUMBERS, task_ids) F(RUNS, kept_cpus)
static void to_proto(const model::NodeGrant& m, v1::NodeGrant* p) {
  SPUR_NODE_GRANT_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::NodeGrant& p, model::NodeGrant* m) {
  SPUR_NODE_GRANT_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_ALLOCATION_FIELDS(F) F(MSGS, nodes) F(PLAIN, partition) F(PLAIN, reservation)
void to_proto(const model::Allocation& m, v1::Allocation* p){SPUR_ALLOCATION_FIELDS(SPUR_TO)} Status
    from_proto(const v1::Allocation& p, model::Allocation* m) {
  SPUR_ALLOCATION_FIELDS(SPUR_FROM)
  return {};
}

std::uint32_t SpecWriter::number_of(const SpecPtr& spec) {
  if (!spec) return 0;
  if (last_ && (spec == last_ || *spec == *last_)) return last_number_;
  auto [at, fresh] = by_address_.try_emplace(spec, count_ + 1);
  if (fresh) {
    ++count_;
    emit_(*spec);
  }
  last_ = spec;
  return last_number_ = at->second;
}

#define SPUR_JOB_TO_WANTED(kind, f) \
  if (wanted.has(JobField::f)) { SPUR_TO_##kind(f) }
#define SPUR_FROM_WANTED(kind, f) \
  if (wanted.has(JobField::f)) { SPUR_FROM_##kind(f) }

void record_to_proto(const model::Job& m, v1::Job* p, const JobFields& wanted) {
  using enum JobField;
  SPUR_JOB_FIELDS(SPUR_JOB_TO_WANTED)
  if (wanted.has(epoch) && m.epoch != Epoch{1}) p->set_epoch(m.epoch.value);
  if (wanted.has(suspended_total)) p->set_suspended_total_us(m.suspended_total.count());
  if (wanted.has(array_pending) && m.array_pending) to_proto(*m.array_pending, p->mutable_array_pending());
  if (wanted.has(allocation) && m.allocation) to_proto(*m.allocation, p->mutable_allocation());
  if (wanted.has(claim) && m.claim) to_proto(*m.claim, p->mutable_claim());
  if (wanted.has(usage) && m.usage) to_proto(*m.usage, p->mutable_usage());
}

void to_proto(const model::Job& m, v1::Job* p) {
  record_to_proto(m, p);
  if (m.spec) to_proto(*m.spec, p->mutable_spec());
}

Status from_proto(const v1::Job& p, model::Job* m, const SpecList* specs, const JobFields& wanted) {
  SPUR_JOB_FIELDS(SPUR_FROM_WANTED)
  if (p.has_epoch()) m->epoch = Epoch(p.epoch());
  m->suspended_total = Duration(p.suspended_total_us());
  if (p.has_array_pending()) {
    auto pending = std::make_shared<IndexSet>();
    SPUR_TRY(from_proto(p.array_pending(), pending.get()));
    m->array_pending = std::move(pending);
  }
  if (p.has_allocation()) {
    auto allocation = std::make_shared<model::Allocation>();
    SPUR_TRY(from_proto(p.allocation(), allocation.get()));
    m->allocation = std::move(allocation);
  }
  if (p.has_usage()) {
    auto usage = std::make_shared<model::Usage>();
    SPUR_TRY(from_proto(p.usage(), usage.get()));
    m->usage = std::move(usage);
  }
  if (p.has_claim()) {
    auto claim = std::make_shared<model::Allocation>();
    SPUR_TRY(from_proto(p.claim(), claim.get()));
    m->claim = std::move(claim);
  }
  if (p.spec_ref() != 0) {
    if (!specs || p.spec_ref() > specs->size())
      return fail(ErrorCode::Corrupt, "A job refers to a specification that is not there");
    m->spec = (*specs)[p.spec_ref() - 1];
  } else if (p.has_spec()) {
    auto spec = std::make_shared<model::JobSpec>();
    SPUR_TRY(from_proto(p.spec(), spec.get()));
    m->spec = std::move(spec);
  } else {
    return fail(ErrorCode::Corrupt, "A job in a message has no specification");
  }
  return {};
}

}  // namespace spur::wire
