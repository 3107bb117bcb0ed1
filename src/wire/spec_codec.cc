// SPDX-License-Identifier: Apache-2.0
#include "wire/spec_codec.h"

#include <fmt/format.h>

#include <memory>

#include "spur/v1/types.pb.h"
#include "wire/fields.h"
#include "wire/id_codec.h"
#include "wire/job_field_lists.h"

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

std::uint32_t BlobWriter::number_of(const model::Blob& blob) {
  if (!blob || blob->empty()) return 0;
  auto [at, fresh] = by_address_.try_emplace(blob.get(), 0);
  if (!fresh) return at->second;
  const auto next = static_cast<std::uint32_t>(by_text_.size() + 1);
  auto [text, new_text] = by_text_.try_emplace(*blob, next);
  if (new_text) emit_(*blob);
  return at->second = text->second;
}

#define SPUR_TO_WANTED(kind, f) \
  if (wanted.has(SpecField::f)) { SPUR_TO_##kind(f) }
void listed_to_proto(const model::JobSpec& m, v1::JobSpec* p, const JobFields& wanted) {
  SPUR_JOB_SPEC_OWNER(SPUR_TO_WANTED)
  SPUR_JOB_SPEC_FIELDS(SPUR_TO_WANTED)
  if (wanted.has(SpecField::array) && m.array) to_proto(*m.array, p->mutable_array());
}

#define SPUR_DIFFERS(kind, f) \
  if (wanted.has(SpecField::f) && !(a.f == b.f)) return false;
bool listed_alike(const model::JobSpec& a, const model::JobSpec& b, const JobFields& wanted) {
  SPUR_JOB_SPEC_OWNER(SPUR_DIFFERS)
  SPUR_JOB_SPEC_FIELDS(SPUR_DIFFERS)
  return !wanted.has(SpecField::array) || a.array == b.array;
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
