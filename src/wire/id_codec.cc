// SPDX-License-Identifier: Apache-2.0
#include "wire/id_codec.h"

#include <limits>

#include "spur/v1/types.pb.h"
#include "wire/fields.h"

// Adding an enumerator to one side only fails here: the proto's last number is the model's.
namespace spur::wire {
#define SPUR_SAME_LAST(M, P) static_assert(static_cast<int>(last_of(M{})) == static_cast<int>(P##_MAX))
SPUR_SAME_LAST(model::JobState, v1::JobState);
SPUR_SAME_LAST(model::Reason, v1::Reason);
SPUR_SAME_LAST(model::Hold, v1::Hold);
SPUR_SAME_LAST(model::AfterCompleting, v1::AfterCompleting);
SPUR_SAME_LAST(model::Exclusive, v1::Exclusive);
SPUR_SAME_LAST(model::JobKind, v1::JobKind);
SPUR_SAME_LAST(model::GresRequest::Per, v1::GresRequest::Per);
SPUR_SAME_LAST(model::Dependency::Kind, v1::Dependency::Kind);
SPUR_SAME_LAST(model::PartitionState, v1::PartitionState);
SPUR_SAME_LAST(model::OverSubscribe, v1::OverSubscribe);
SPUR_SAME_LAST(model::EnforcePartitionLimits, v1::EnforcePartitionLimits);
SPUR_SAME_LAST(model::Hint, v1::Hint);
SPUR_SAME_LAST(model::Distribution::Nodes, v1::Distribution::Nodes);
SPUR_SAME_LAST(model::Distribution::Within, v1::Distribution::Within);
SPUR_SAME_LAST(model::PreemptBy, v1::PreemptBy);
SPUR_SAME_LAST(model::PreemptHow, v1::PreemptHow);
SPUR_SAME_LAST(model::TopologyKind, v1::TopologyKind);
SPUR_SAME_LAST(model::BackfillOrder, v1::BackfillOrder);
SPUR_SAME_LAST(model::MemoryAs, v1::MemoryAs);
SPUR_SAME_LAST(model::EditKind, v1::EditKind);
SPUR_SAME_LAST(state::UpdateNode::Action, v1::NodeUpdate::Action);
SPUR_SAME_LAST(model::AfterReboot, v1::AfterReboot);
SPUR_SAME_LAST(model::NodePresence, v1::NodePresence);

void to_proto(const IndexSet& from, v1::IndexSet* to) {
  to->mutable_bounds()->Reserve(static_cast<int>(from.ranges().size() * 2));
  for (const auto& range : from.ranges()) {
    to->add_bounds(range.first);
    to->add_bounds(range.last);
  }
}

Status from_proto(const v1::IndexSet& from, IndexSet* to) {
  const auto& bounds = from.bounds();
  if (bounds.size() % 2 != 0) return fail(ErrorCode::Corrupt, "An index set in a message lacks the end of a range");
  for (int i = 0; i < bounds.size(); i += 2) {
    const bool ordered = bounds[i] <= bounds[i + 1] && (i == 0 || bounds[i] > bounds[i - 1] + std::uint64_t{1});
    if (!ordered) return fail(ErrorCode::Corrupt, "The ranges of an index set in a message are out of order");
    to->insert_range(bounds[i], bounds[i + 1]);
  }
  return {};
}

namespace {

template <class Number>
constexpr std::uint32_t plain(Number n) {
  if constexpr (std::integral<Number>) {
    return n;
  } else {
    return n.value;
  }
}

template <class Number>
void put_runs(const std::vector<Number>& from, v1::IndexSet* to) {
  for (std::size_t i = 0; i < from.size();) {
    const std::size_t first = i++;
    while (i < from.size() && plain(from[i]) == plain(from[i - 1]) + std::uint64_t{1}) ++i;
    to->add_bounds(plain(from[first]));
    to->add_bounds(plain(from[i - 1]));
  }
}

template <class Number>
Status take_runs(const v1::IndexSet& from, std::vector<Number>* to, std::uint32_t largest) {
  const auto& bounds = from.bounds();
  if (bounds.size() % 2 != 0)
    return fail(ErrorCode::Corrupt, "A list of numbers in a message lacks the end of a run");
  std::uint64_t members = 0;
  for (int i = 0; i < bounds.size(); i += 2) {
    if (bounds[i] > bounds[i + 1] || bounds[i + 1] > largest)
      return fail(ErrorCode::Corrupt, "A list of numbers in a message holds an impossible run");
    members += std::uint64_t{bounds[i + 1]} - bounds[i] + 1;
    if (members > kMaxRunMembers) return fail(ErrorCode::Corrupt, "A list of numbers in a message is too long");
  }
  to->resize(members);
  auto at = to->begin();
  for (int i = 0; i < bounds.size(); i += 2)
    for (std::uint64_t n = bounds[i]; n <= bounds[i + 1]; ++n)
      *at++ = Number(static_cast<decltype(plain(Number{}))>(n));
  return {};
}

}  // namespace

void runs_to_proto(const std::vector<std::uint16_t>& from, v1::IndexSet* to) {
  put_runs(from, to);
}
void runs_to_proto(const std::vector<std::uint32_t>& from, v1::IndexSet* to) {
  put_runs(from, to);
}
void runs_to_proto(const std::vector<NodeIndex>& from, v1::IndexSet* to) {
  put_runs(from, to);
}

Status runs_from_proto(const v1::IndexSet& from, std::vector<std::uint16_t>* to) {
  return take_runs(from, to, std::numeric_limits<std::uint16_t>::max());
}
Status runs_from_proto(const v1::IndexSet& from, std::vector<std::uint32_t>* to) {
  return take_runs(from, to, std::numeric_limits<std::uint32_t>::max());
}
Status runs_from_proto(const v1::IndexSet& from, std::vector<NodeIndex>* to) {
  return take_runs(from, to, std::numeric_limits<std::uint32_t>::max());
}

// clang-format off
#define SPUR_USAGE_FIELDS(F) \
  F(PLAIN, user_cpu_us) F(PLAIN, system_cpu_us) F(PLAIN, max_rss_kib) F(PLAIN, max_vsize_kib) \
  F(PLAIN, memory_peak_kib) F(PLAIN, read_bytes) F(PLAIN, write_bytes) F(PLAIN, major_faults) \
  F(PLAIN, gpu_memory_mib) F(PLAIN, gpu_utilization)
// clang-format on
void to_proto(const model::Usage& m, v1::Usage* p){SPUR_USAGE_FIELDS(SPUR_TO)} Status
    from_proto(const v1::Usage& p, model::Usage* m) {
  SPUR_USAGE_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_EXIT_STATUS_FIELDS(F) F(PLAIN, code) F(PLAIN, signal)
void to_proto(const model::ExitStatus& m, v1::ExitStatus* p){SPUR_EXIT_STATUS_FIELDS(SPUR_TO)} Status
    from_proto(const v1::ExitStatus& p, model::ExitStatus* m) {
  SPUR_EXIT_STATUS_FIELDS(SPUR_FROM)
  return {};
}

// clang-format off
#define SPUR_STEP_END_FIELDS(F) \
  F(PLAIN, step) F(PLAIN, name) F(ENUM, state) F(MSG, exit) F(TIME, started) F(TIME, ended) F(PLAIN, nodes) \
  F(PLAIN, node_count) F(PLAIN, tasks) F(PLAIN, cpus) F(PLAIN, memory_mib) F(MSG, usage)
// clang-format on
void to_proto(const model::StepEnd& m, v1::StepEnd* p){SPUR_STEP_END_FIELDS(SPUR_TO)} Status
    from_proto(const v1::StepEnd& p, model::StepEnd* m) {
  SPUR_STEP_END_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_JOB_RUN_FIELDS(F) F(ID, job) F(ID, epoch)
void to_proto(const model::JobRun& m, v1::JobRun* p){SPUR_JOB_RUN_FIELDS(SPUR_TO)} Status
    from_proto(const v1::JobRun& p, model::JobRun* m) {
  SPUR_JOB_RUN_FIELDS(SPUR_FROM)
  return {};
}

void to_proto(const state::JobTarget& m, v1::JobTarget* p) {
  p->set_id(m.id.value);
  if (m.tasks) to_proto(*m.tasks, p->mutable_tasks());
  SPUR_TO(OPT, het_offset)
}
Status from_proto(const v1::JobTarget& p, state::JobTarget* m) {
  m->id = JobId(p.id());
  SPUR_FROM(OPT, het_offset)
  if (p.has_tasks()) SPUR_TRY(from_proto(p.tasks(), &m->tasks.emplace()));
  return {};
}

void to_proto(const model::StateFilter& m, v1::StateFilter* p) {
  if (m.state) p->set_state(static_cast<v1::JobState>(*m.state));
  p->set_flag(m.flag);
}
Status from_proto(const v1::StateFilter& p, model::StateFilter* m) {
  if (p.has_state() && !take_enum(p.state(), &m->state.emplace())) return bad_field("state");
  m->flag = p.flag();
  return {};
}

}  // namespace spur::wire
