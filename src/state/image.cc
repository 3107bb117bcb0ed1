// SPDX-License-Identifier: Apache-2.0
// image() and from_image(): what a snapshot keeps, and the way back. Everything that is derived is built anew and
// checked, so that a snapshot that does not fit together is refused at the start and not found out by a job that runs
// twice.
#include <fmt/format.h>

#include <utility>

#include "state/accounts.h"
#include "model/dynamic_nodes.h"
#include "model/relative_qos.h"
#include "state/apply.h"
#include "state/cluster.h"
#include "state/node_config.h"

namespace spur::state {

using model::Job;
using model::JobPtr;

namespace {

std::unexpected<Error> corrupt(std::string what) {
  return fail(ErrorCode::Corrupt, "the snapshot does not fit together: " + what);
}

}  // namespace

Cluster::Image Cluster::image() const {
  Image image;
  image.index = view_.version;
  image.as_of = view_.as_of;
  image.next_job_id = view_.next_job_id;
  image.config = *view_.config;
  image.nodes.reserve(view_.nodes.size());
  view_.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) { image.nodes.push_back(node); });
  image.jobs.reserve(view_.jobs.size());
  view_.jobs.for_each([&](std::uint32_t, const JobPtr& job) { image.jobs.push_back(job); });
  image.tokens = tokens_.rows(view_);
  image.reservations = *view_.reservations;
  image.qos = *view_.qos;
  image.shares = *view_.shares;
  image.accounts_revision = view_.accounts->revision();
  for (const auto& row : view_.accounts->associations()) image.associations.push_back(*row);
  image.users = view_.accounts->users();
  image.usages = usages(view_);
  image.decayed = view_.decayed;
  image.outbox = outbox_;
  for (const auto& [user, crontab] : crontabs_) image.crontabs.push_back(crontab);
  for (const auto& [id, trigger] : triggers_) image.triggers.push_back(trigger);
  image.next_trigger = next_trigger_;
  return image;
}

Status Cluster::load_nodes(const Image& image) {
  const bool anybody = model::takes_anybody(image.config);
  NodeNames names;
  std::vector<NodeIndex> all;
  std::uint32_t at = 0;
  for (const model::NodePtr& node : image.nodes) {
    if (!node || node->index != NodeIndex{at}) return corrupt(fmt::format("node {} is missing", at));
    if (!names.emplace(node->name, node->index).second)
      return corrupt(fmt::format("node {} is there twice", node->name));
    if (anybody || configured_.contains(node->name)) all.push_back(node->index);
    view_.nodes.set(at++, node);
  }
  auto partitions = resolve_partitions(image.config, names, all, anybody);
  if (!partitions) return corrupt(partitions.error().message);
  view_.node_by_name = std::make_shared<const NodeNames>(std::move(names));
  view_.partitions = std::make_shared<const std::vector<model::Partition>>(*std::move(partitions));
  return {};
}

Status Cluster::load_jobs(Image& image) {
  for (JobPtr& job : image.jobs) {
    if (!job || !job->spec || !job->id) return corrupt("a job without an id or a specification");
    // Records come from a decoder that may have made equal texts many times.
    if (const SpecPtr kept = interner_.intern(job->spec); kept != job->spec) {
      Job copy = *job;
      copy.spec = kept;
      job = std::make_shared<const Job>(std::move(copy));
    }
    const JobId id = job->id;
    if (view_.jobs.contains(id.value)) return corrupt(fmt::format("job {} is there twice", id.value));
    // Also one that has run: it could be requeued.
    for (const model::Dependency& term : job->spec->dependencies)
      if (term.kind == model::Dependency::Kind::Singleton) index_.watch_names(view_.jobs);
    view_.jobs.set(id.value, job);
    if (is_waiting(*job)) view_.pending.set(id.value, job);
    if (model::is_active(job->state) || (job->flags & model::kCompleting)) view_.active.set(id.value, job);
    index_.replace(nullptr, job.get());
    if (!job->array_job) continue;
    std::optional<std::uint32_t> task = job->array_task;
    if (!task && id != job->array_job && job->array_pending) task = job->array_pending->lowest();
    if (!task) continue;
    CowMap<JobId> tasks;
    if (const CowMap<JobId>* found = view_.arrays.find(job->array_job.value)) {
      tasks = *found;
      view_.arrays.set(job->array_job.value, {});
    }
    tasks.set(*task, id);
    view_.arrays.set(job->array_job.value, std::move(tasks));
  }
  return {};
}

Status Cluster::load_accounts(Image& image) {
  std::vector<model::AssociationPtr> rows;
  for (model::Association& row : image.associations)
    rows.push_back(std::make_shared<const model::Association>(std::move(row)));
  auto book = model::AccountBook::make(image.accounts_revision, std::move(rows), std::move(image.users));
  if (!book) return corrupt(book.error().message);
  view_.accounts = *std::move(book);
  view_.decayed = image.decayed;
  if (auto ok = load_usages(image.usages, view_); !ok) return corrupt(ok.error().message);
  if (!view_.accounts->empty()) Applier(*this, view_, nullptr, nullptr).recount_all(*view_.tres);
  return {};
}

Result<std::unique_ptr<Cluster>> Cluster::from_image(Image image) {
  auto cluster = std::make_unique<Cluster>();
  model::View& view = cluster->view_;
  view.version = image.index;
  cluster->outbox_ = image.outbox;
  for (model::Crontab& crontab : image.crontabs) cluster->crontabs_[crontab.user] = std::move(crontab);
  for (model::Trigger& trigger : image.triggers) cluster->triggers_[trigger.id] = std::move(trigger);
  cluster->next_trigger_ = image.next_trigger;
  view.as_of = image.as_of;
  view.next_job_id = image.next_job_id;
  view.config = std::make_shared<const model::ClusterConfig>(image.config);
  view.tres = std::make_shared<const model::TresTable>(image.config);
  cluster->index_configured_nodes();
  SPUR_TRY(cluster->load_nodes(image));
  view.reservations = std::make_shared<const std::vector<model::Reservation>>(std::move(image.reservations));
  view.qos = std::make_shared<const std::vector<model::Qos>>(std::move(image.qos));
  view.qos_in_force = model::qos_with_amounts(view);
  view.shares = std::make_shared<const std::vector<model::FairShare>>(std::move(image.shares));
  SPUR_TRY(cluster->load_jobs(image));
  SPUR_TRY(cluster->load_accounts(image));
  SPUR_TRY(cluster->tokens_.load(view, image.tokens));
  (void)cluster->index_.take_name_changes();
  SPUR_TRY(cluster->check_invariants());
  return cluster;
}

}  // namespace spur::state
