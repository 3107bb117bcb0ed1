// SPDX-License-Identifier: Apache-2.0
#include "ctld/list_jobs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ctld/authorization.h"
#include "model/preemption.h"
#include "state/job_target.h"
#include "wire/job_list_codec.h"
#include "wire/spec_codec.h"

namespace spur::ctld {
namespace {

constexpr std::size_t kJobsPerChunk = 500;

template <class T>
bool matches(const std::vector<T>& wanted, const T& value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

bool partition_matches(const model::Job& job, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return true;
  if (job.allocation) return matches(wanted, job.allocation->partition);
  return std::any_of(job.spec->partitions.begin(), job.spec->partitions.end(),
                     [&](const auto& name) { return matches(wanted, name); });
}

bool is_hidden(const model::Job& job, const std::vector<std::string>& hidden) {
  const auto among = [&](const std::string& name) { return std::ranges::find(hidden, name) != hidden.end(); };
  if (hidden.empty()) return false;
  return job.allocation ? among(job.allocation->partition) : std::ranges::all_of(job.spec->partitions, among);
}

bool state_matches(const model::Job& job, const wire::JobFilter& filter) {
  if (filter.all_states) return true;
  if (filter.states.empty()) return !model::is_final(job.state) || (job.flags & model::kCompleting);
  return std::any_of(filter.states.begin(), filter.states.end(),
                     [&](const auto& f) { return f.matches(job.state, job.flags); });
}

bool node_matches(const model::Job& job, const std::set<std::uint32_t>& wanted, bool given) {
  if (!given) return true;
  if (!job.allocation) return false;
  const auto& nodes = job.allocation->nodes;
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto& g) { return wanted.contains(g.node.value); });
}

void add_target(const model::View& view, const state::JobTarget& target,
                std::map<std::uint32_t, model::JobPtr>& out) {
  const auto add = [&](JobId id) {
    if (const auto* job = view.jobs.find(id.value)) out.emplace(id.value, *job);
  };
  const auto* tasks = view.arrays.find(target.id.value);
  if (const auto* job = model::find_job(view, target.id); !target.tasks && job && job->het_job == target.id) {
    for (std::uint32_t i = 0; i < job->het_size; ++i)
      if (!target.het_offset || i == *target.het_offset) add(JobId{target.id.value + i});
    return;
  }
  if (target.het_offset) return;
  if (!target.tasks) {
    add(target.id);
    if (tasks) tasks->for_each([&](std::uint32_t, JobId id) { add(id); });
    return;
  }
  const auto* rest = view.jobs.find(target.id.value);
  if (rest && (*rest)->is_array_rest() && !(*rest)->array_pending->intersect(*target.tasks).empty()) add(target.id);
  if (tasks)
    tasks->for_each([&](std::uint32_t task, JobId id) {
      if (target.tasks->contains(task)) add(id);
    });
}

// *unknown: none of those that are asked for exists.
std::vector<model::JobPtr> jobs_of_targets(const model::View& view, const JobPick& pick, bool* unknown) {
  const wire::JobFilter& filter = pick.filter();
  std::map<std::uint32_t, model::JobPtr> wanted;
  for (const auto& target : filter.jobs) add_target(view, target, wanted);
  // What he may not know of is not there.
  if (filter.may_see) std::erase_if(wanted, [&](const auto& row) { return !filter.may_see(*row.second); });
  *unknown = wanted.empty();
  std::vector<model::JobPtr> out;
  for (const auto& [id, job] : wanted)
    if (pick.matches(*job)) out.push_back(job);
  return out;
}

}  // namespace

JobPick::JobPick(const model::View& view, wire::JobFilter filter) : filter_(std::move(filter)) {
  for (const auto& name : filter_.nodes)
    if (const auto* node = model::find_node(view, name)) nodes_.insert(node->index.value);
}

bool JobPick::is_asked_for(const model::Job& job) const {
  return filter_.jobs.empty() ||
         std::ranges::any_of(filter_.jobs, [&](const auto& target) { return state::means(target, job); });
}

bool JobPick::matches(const model::Job& job) const {
  if (filter_.may_see && !filter_.may_see(job)) return false;
  return state_matches(job, filter_) && is_asked_for(job) && !is_hidden(job, filter_.hidden) &&
         ctld::matches(filter_.users, job.spec->uid) && partition_matches(job, filter_.partitions) &&
         ctld::matches(filter_.accounts, job.spec->account) && ctld::matches(filter_.names, job.spec->name) &&
         node_matches(job, nodes_, !filter_.nodes.empty());
}

JobChunks::JobChunks(std::shared_ptr<const Picture> picture, model::Caller caller, Time now, bool with_script,
                     const wire::JobFields& fields)
    : picture_(std::move(picture)),
      now_(is_set(now) ? now : picture_->view.as_of),
      caller_(std::move(caller)),
      with_script_(with_script),
      fields_(fields) {}

std::uint32_t JobChunks::number_of(const wire::SpecPtr& spec, v1::JobChunk* chunk) {
  if (spec == last_spec_) return last_number_;
  // Texts are large, and only the owner's business; who did not ask for them does not get them.
  const bool whole = with_script_ && (caller_.is_admin() || caller_.uid == spec->uid);
  if (last_spec_ && !with_script_ && wire::listed_alike(*spec, *last_spec_, fields_)) return last_number_;
  last_spec_ = spec;
  v1::JobSpec* sent = chunk->add_specs();
  whole ? wire::to_proto(*spec, sent) : wire::listed_to_proto(*spec, sent, fields_);
  sent->SerializeToString(&spec_bytes_);
  const auto [known, fresh] = specs_.try_emplace(spec_bytes_, static_cast<std::uint32_t>(specs_.size() + 1));
  if (!fresh) chunk->mutable_specs()->RemoveLast();
  return last_number_ = known->second;
}

JobChunks::JobChunks(std::shared_ptr<const Picture> picture, const wire::JobFilter& filter, model::Caller caller,
                     Time now, std::optional<UserJobs::Jobs> among)
    : JobChunks(std::move(picture), std::move(caller), now, filter.with_script, filter.fields) {
  const model::View& view = picture_->view;
  JobPick pick(view, filter);
  if (!filter.jobs.empty())
    jobs_ = jobs_of_targets(view, pick, &unknown_);
  else
    walk_.emplace(among ? *std::move(among) : view.jobs, std::move(pick));
}

JobChunks::JobChunks(std::shared_ptr<const Picture> picture, std::vector<model::JobPtr> jobs, model::Caller caller,
                     Time now)
    : JobChunks(std::move(picture), std::move(caller), now, false, wire::JobFields::everything()) {
  jobs_ = std::move(jobs);
}

void JobChunks::name_nodes(const model::Job& job, v1::JobChunk* chunk) {
  const auto name = [&](NodeIndex index) {
    if (!named_.insert(index.value).second) return;
    if (const auto* node = picture_->view.nodes.find(index.value)) {
      auto* out = chunk->add_nodes();
      out->set_index(index.value);
      out->set_name((*node)->name);
    }
  };
  if (job.allocation && fields_.has(wire::JobField::allocation))
    for (const auto& grant : job.allocation->nodes) name(grant.node);
  if (fields_.has(wire::JobField::nodes_left))
    for (const NodeIndex index : job.nodes_left) name(index);
}

void JobChunks::add(const model::Job& job, v1::JobChunk* chunk) {
  name_nodes(job, chunk);
  auto* out = chunk->add_jobs();
  wire::record_to_proto(job, out, fields_);
  out->clear_submit_token();
  if (job.priority > 0 && fields_.has(wire::JobField::priority)) {
    if (!scale_) scale_.emplace(picture_->view);
    // What runs or has run keeps what it had when it began.
    out->set_priority(scale_->priority(job, is_set(job.started) ? job.started : now_));
  }
  out->set_spec_ref(number_of(job.spec, chunk));
}

void JobChunks::add_plan(const model::Job& job, v1::JobChunk* chunk) {
  const bool with_start = fields_.has(wire::JobField::expected_start);
  const bool with_nodes = fields_.has(wire::JobField::planned_nodes);
  if (!with_start && !with_nodes) return;
  const auto start = picture_->expected_starts->find(job.id);
  const bool known = start != picture_->expected_starts->end();
  if (with_start) chunk->add_expected_starts_us(known ? to_micros(start->second.start) : 0);
  if (!with_nodes || !known || job.state != model::JobState::Pending) return;
  auto* planned = chunk->add_planned();
  planned->set_job(static_cast<std::uint32_t>(chunk->jobs_size() - 1));
  planned->set_nodes(model::node_list(picture_->view, *start->second.nodes));
}

void JobChunks::add_preemption(const model::Job& job, v1::JobChunk* chunk) {
  const bool runs = model::is_active(job.state) && !(job.flags & model::kCompleting);
  chunk->add_preemptable_us(runs ? to_micros(model::preemptable_from(picture_->view, job)) : 0);
}

bool JobChunks::next(v1::JobChunk* chunk) {
  if (at_end()) return false;
  if (std::exchange(first_, false)) {
    chunk->set_as_of_us(to_micros(now_));  // what runs has run until now
    chunk->set_cluster_name(picture_->view.config->cluster_name);
    chunk->set_unknown_job(unknown_);
  }
  const bool preempts = picture_->view.config->preempt.by != model::PreemptBy::Nothing &&
                        fields_.has(wire::JobField::preemptable);
  for_next([&](const model::Job& job) {
    add(job, chunk);
    add_plan(job, chunk);
    if (preempts) add_preemption(job, chunk);
  });
  return true;
}

template <class F>
void JobChunks::for_next(F&& f) {
  const std::size_t end = std::min(jobs_.size(), at_ + kJobsPerChunk);
  for (; at_ < end; ++at_) f(*jobs_[at_]);
  if (!walk_) return;
  std::size_t count = 0;
  bool more = false;
  walk_->jobs.for_each_from(walk_->from, [&](std::uint32_t id, const model::JobPtr& job) {
    if (!walk_->pick.matches(*job)) return true;
    if (count == kJobsPerChunk) {
      walk_->from = id;
      return !(more = true);
    }
    f(*job);
    ++count;
    return true;
  });
  if (!more) walk_.reset();
}

}  // namespace spur::ctld
