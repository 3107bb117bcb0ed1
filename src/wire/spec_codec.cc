// SPDX-License-Identifier: Apache-2.0
#include "wire/spec_codec.h"

#include <fmt/format.h>

#include <memory>

#include "spur/v1/types.pb.h"
#include "wire/fields.h"
#include "wire/id_codec.h"

namespace spur::wire {

#define SPUR_GRES_REQUEST_FIELDS(F) F(PLAIN, name) F(PLAIN, type) F(DEF, count) F(ENUM, per)
void to_proto(const model::GresRequest& m, v1::GresRequest* p){SPUR_GRES_REQUEST_FIELDS(SPUR_TO)} Status
    from_proto(const v1::GresRequest& p, model::GresRequest* m) {
  SPUR_GRES_REQUEST_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_LICENSE_REQUEST_FIELDS(F) F(PLAIN, name) F(DEF, count)
void to_proto(const model::LicenseRequest& m, v1::LicenseRequest* p){SPUR_LICENSE_REQUEST_FIELDS(SPUR_TO)} Status
    from_proto(const v1::LicenseRequest& p, model::LicenseRequest* m) {
  SPUR_LICENSE_REQUEST_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_RESOURCE_LIMIT_FIELDS(F) F(PLAIN, resource) F(PLAIN, soft) F(PLAIN, hard)
void to_proto(const model::ResourceLimit& m, v1::ResourceLimit* p){SPUR_RESOURCE_LIMIT_FIELDS(SPUR_TO)} Status
    from_proto(const v1::ResourceLimit& p, model::ResourceLimit* m) {
  SPUR_RESOURCE_LIMIT_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_DEPENDENCY_FIELDS(F) F(ID, job) F(OPT, array_task) F(PLAIN, whole_array) F(PLAIN, delay_minutes)
void to_proto(const model::Dependency& m, v1::Dependency* p) {
  p->set_kind(static_cast<v1::Dependency::Kind>(m.kind));
  SPUR_DEPENDENCY_FIELDS(SPUR_TO)
}
Status from_proto(const v1::Dependency& p, model::Dependency* m) {
  if (p.has_kind() && !take_enum(p.kind(), &m->kind)) return bad_field("kind");
  SPUR_DEPENDENCY_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_SIGNAL_FIELDS(F) F(PLAIN, signal) F(DEF, seconds_before) F(PLAIN, batch_only)
static void to_proto(const model::SignalBeforeEnd& m, v1::SignalBeforeEnd* p) {
  SPUR_SIGNAL_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::SignalBeforeEnd& p, model::SignalBeforeEnd* m) {
  SPUR_SIGNAL_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_DISTRIBUTION_FIELDS(F) F(ENUM, nodes) F(ENUM, sockets) F(ENUM, cores) F(PLAIN, plane_size) F(OPT, pack)
void to_proto(const model::Distribution& m, v1::Distribution* p){SPUR_DISTRIBUTION_FIELDS(SPUR_TO)} Status
    from_proto(const v1::Distribution& p, model::Distribution* m) {
  SPUR_DISTRIBUTION_FIELDS(SPUR_FROM)
  return {};
}

// clang-format off
#define SPUR_CONTAINER_FIELDS(F) \
  F(PLAIN, image) F(PLAIN, bundle) F(PLAIN, name) F(PLAIN, workdir) F(TEXTS, mounts) F(TEXTS, environment) \
  F(PLAIN, readonly) F(PLAIN, mount_home) F(PLAIN, entrypoint) F(PLAIN, remap_root)
// clang-format on
void to_proto(const model::ContainerRequest& m, v1::ContainerRequest* p){SPUR_CONTAINER_FIELDS(SPUR_TO)} Status
    from_proto(const v1::ContainerRequest& p, model::ContainerRequest* m) {
  SPUR_CONTAINER_FIELDS(SPUR_FROM)
  return {};
}

static void to_proto(const model::ArrayRequest& m, v1::ArrayRequest* p) {
  to_proto(m.tasks, p->mutable_tasks());
  p->set_max_running(m.max_running);
}
static Status from_proto(const v1::ArrayRequest& p, model::ArrayRequest* m) {
  SPUR_TRY(from_proto(p.tasks(), &m->tasks));
  m->max_running = p.max_running();
  return {};
}

// Fixed for the life of a job.
#define SPUR_JOB_SPEC_OWNER(F) F(ENUM, kind) F(ID, uid) F(ID, gid)

// Large, and of interest only to whoever runs the job; so are script and environment.
#define SPUR_JOB_SPEC_UNLISTED(F) F(MSGS, rlimits)

// All others but array.
// clang-format off
#define SPUR_JOB_SPEC_FIELDS(F) \
  F(PLAIN, name) F(PLAIN, account) F(PLAIN, qos) F(PLAIN, wckey) F(PLAIN, comment) F(PLAIN, admin_comment) \
  F(PLAIN, extra) F(TEXTS, partitions) F(PLAIN, reservation) \
  F(TEXTS, arguments) F(PLAIN, command) F(PLAIN, work_dir) F(PLAIN, std_in) F(PLAIN, std_out) F(PLAIN, std_err) \
  F(PLAIN, open_append) F(PLAIN, open_truncate) F(DEF, umask) F(PLAIN, submit_line) \
  F(PLAIN, submit_host) F(PLAIN, session_id) \
  F(DEF, min_nodes) F(OPT, max_nodes) F(PLAIN, nodes_given) F(OPT, tasks) F(PLAIN, tasks_per_node) \
  F(DEF, cpus_per_task) F(PLAIN, cpus_per_task_given) F(OPT, min_cpus_per_node) F(OPT, memory_per_node_mib) \
  F(OPT, memory_per_cpu_mib) F(PLAIN, tmp_disk_mib) F(MSGS, gres) F(MSGS, licenses) F(ENUM, exclusive) \
  F(PLAIN, oversubscribe) F(PLAIN, overcommit) F(PLAIN, contiguous) F(PLAIN, features) F(PLAIN, required_nodes) \
  F(PLAIN, excluded_nodes) F(PLAIN, tasks_per_socket) F(PLAIN, tasks_per_core) F(PLAIN, tasks_per_gpu) \
  F(PLAIN, cpus_per_gpu) F(OPT, memory_per_gpu_mib) F(PLAIN, gres_flags) F(PLAIN, spread_nodes) \
  F(PLAIN, fewest_nodes) F(PLAIN, sockets_per_node) F(PLAIN, cores_per_socket) F(PLAIN, threads_per_core) \
  F(ENUM, hint) F(OPT, core_spec) F(PLAIN, core_spec_is_threads) F(MSG, distribution) F(PLAIN, switches) \
  F(OPT, switch_wait_seconds) F(PLAIN, segment) F(PLAIN, prefer) F(PLAIN, batch_features) F(PLAIN, burst_buffer) \
  F(LIMIT, time_limit) F(LIMIT, time_min) F(TIME, begin) F(TIME, deadline) F(MSGS, dependencies) \
  F(PLAIN, dependencies_any) F(OPT, kill_on_invalid_dependency) F(PLAIN, nice) F(OPT, priority) F(PLAIN, hold) \
  F(OPT, requeue) F(MSG, signal) F(PLAIN, immediate_seconds) F(PLAIN, mail_types) F(PLAIN, mail_user) \
  F(MSG, container)
// clang-format on

std::uint32_t BlobWriter::number_of(const model::Blob& blob) {
  if (!blob || blob->empty()) return 0;
  auto [at, fresh] = by_address_.try_emplace(blob.get(), 0);
  if (!fresh) return at->second;
  const auto next = static_cast<std::uint32_t>(by_text_.size() + 1);
  auto [text, new_text] = by_text_.try_emplace(*blob, next);
  if (new_text) emit_(*blob);
  return at->second = text->second;
}

void listed_to_proto(const model::JobSpec& m, v1::JobSpec* p) {
  SPUR_JOB_SPEC_OWNER(SPUR_TO)
  SPUR_JOB_SPEC_FIELDS(SPUR_TO)
  if (m.array) to_proto(*m.array, p->mutable_array());
}

void to_proto(const model::JobSpec& m, v1::JobSpec* p, BlobWriter* blobs) {
  listed_to_proto(m, p);
  SPUR_JOB_SPEC_UNLISTED(SPUR_TO)
  if (blobs) {
    p->set_script_ref(blobs->number_of(m.script));
    p->set_environment_ref(blobs->number_of(m.environment));
  } else {
    if (m.script) p->set_script(*m.script);
    if (m.environment) p->set_environment(*m.environment);
  }
}

namespace {

Status take_blob(const std::string& inside, std::uint32_t ref, const BlobList* blobs, model::Blob* to) {
  if (ref != 0) {
    if (!blobs || ref > blobs->size())
      return fail(ErrorCode::Corrupt, "A message refers to a script or environment it lacks");
    *to = (*blobs)[ref - 1];
  } else if (!inside.empty()) {
    *to = std::make_shared<const std::string>(inside);
  }
  return {};
}

}  // namespace

Status from_proto(const v1::JobSpec& p, model::JobSpec* m, const BlobList* blobs) {
  SPUR_JOB_SPEC_OWNER(SPUR_FROM)
  SPUR_JOB_SPEC_FIELDS(SPUR_FROM)
  SPUR_JOB_SPEC_UNLISTED(SPUR_FROM)
  if (p.has_array()) SPUR_TRY(from_proto(p.array(), &m->array.emplace()));
  SPUR_TRY(take_blob(p.script(), p.script_ref(), blobs, &m->script));
  return take_blob(p.environment(), p.environment_ref(), blobs, &m->environment);
}

Status merge_spec(const model::JobSpec& from, const std::vector<std::string>& changed, model::JobSpec* to) {
  struct Row {
    std::string_view name;
    void (*copy)(const model::JobSpec&, model::JobSpec*);
  };
#define SPUR_ROW(name, field) {name, [](const model::JobSpec& a, model::JobSpec* b) { b->field = a.field; }},
#define SPUR_MERGE(kind, f) SPUR_ROW(SPUR_NAME_##kind(f), f)
#define SPUR_NAME_PLAIN(f) #f
#define SPUR_NAME_ENUM(f) #f
#define SPUR_NAME_TEXTS(f) #f
#define SPUR_NAME_DEF(f) #f
#define SPUR_NAME_OPT(f) #f
#define SPUR_NAME_MSG(f) #f
#define SPUR_NAME_MSGS(f) #f
#define SPUR_NAME_LIMIT(f) #f
#define SPUR_NAME_TIME(f) #f "_us"
  static constexpr Row kRows[] = {SPUR_JOB_SPEC_FIELDS(SPUR_MERGE) SPUR_JOB_SPEC_UNLISTED(SPUR_MERGE) SPUR_ROW(
      "script", script) SPUR_ROW("environment", environment) SPUR_ROW("array", array)};
  std::vector<const Row*> rows;
  for (const auto& name : changed) {
    const Row* found = nullptr;
    for (const auto& row : kRows)
      if (row.name == name) found = &row;
    if (!found)
      return fail(ErrorCode::InvalidArgument, fmt::format("A job has no field {} that can be changed", name));
    rows.push_back(found);
  }
  for (const Row* row : rows) row->copy(from, to);
  return {};
}

}  // namespace spur::wire
