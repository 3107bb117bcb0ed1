// SPDX-License-Identifier: Apache-2.0
// The calls about reservations, priorities and partitions of controller_calls.h.
#include <algorithm>
#include <utility>

#include "base/index_set.h"
#include "ctld/controller_calls.h"
#include "ctld/sight.h"
#include "sched/priority.h"
#include "wire/config_codec.h"
#include "wire/reservation_codec.h"

namespace spur::ctld {
namespace {

std::string core_text(const std::vector<std::uint16_t>& cores) {
  IndexSet set;
  for (const std::uint16_t core : cores) set.insert_range(core, core);
  return set.to_string();
}

void to_row(const model::View& view, const model::Reservation& reservation, v1::GetReservationsReply::Row* row) {
  wire::to_proto(reservation, row->mutable_reservation());
  std::vector<NodeIndex> nodes;
  std::uint64_t cores = 0, cpus = 0;
  for (const model::ReservedNode& part : reservation.nodes) {
    const model::NodePtr* node = view.nodes.find(part.node.value);
    if (!node) continue;
    nodes.push_back(part.node);
    const model::NodeHardware& hardware = (*node)->hardware;
    const std::uint32_t all = std::max(1u, hardware.sockets * hardware.cores_per_socket);
    const std::uint64_t taken = part.whole() ? all : part.cores.size();
    cores += taken;
    cpus += part.whole() ? hardware.cpus : taken * std::max(1u, hardware.threads_per_core);
    if (part.cores.empty()) continue;
    row->add_partial_nodes((*node)->name);
    row->add_partial_cores(core_text(part.cores));
  }
  row->set_nodes(model::node_list(view, nodes));
  row->set_node_count(static_cast<std::uint32_t>(nodes.size()));
  row->set_core_count(static_cast<std::uint32_t>(cores));
  row->set_cpu_count(static_cast<std::uint32_t>(cpus));
}

void to_row(const sched::PriorityScale& scale, const model::Job& job, const model::Partition& partition, Time now,
            v1::GetPrioritiesReply::Row* row) {
  const sched::PriorityFactors factors = scale.factors(job, partition, now);
  row->set_job(job.array_job && job.is_array_rest() ? job.array_job.value : job.id.value);
  row->set_user(job.spec->uid.value);
  row->set_partition(partition.config.name);
  row->set_account(job.spec->account);
  row->set_qos(job.spec->qos);
  row->set_priority(scale.priority(job, partition, now));
  row->set_nice(job.spec->nice);
  row->set_site(factors.site);
  row->set_age(factors.age);
  row->set_assoc(factors.assoc);
  row->set_fairshare(factors.fairshare);
  row->set_job_size(factors.job_size);
  row->set_partition_factor(factors.partition);
  row->set_qos_factor(factors.qos);
  if (!job.priority_by_hand)
    for (const std::int64_t factor : factors.tres) row->add_tres(factor);
  row->set_display_id(model::display_id(job));
}

}  // namespace

Time ControllerCalls::now(const model::View& view) const {
  return options_.now ? std::max(options_.now(), view.as_of) : view.as_of;
}

void ControllerCalls::get_reservations(const Caller& caller, const v1::GetReservationsRequest& request,
                                       Answer<v1::GetReservationsReply> answer) {
  const auto tell = [this, caller, answer](const std::shared_ptr<const Picture>& picture, Time at) {
    const Sight sight(core_.picture()->view, caller);
    v1::GetReservationsReply reply;
    reply.set_as_of_us(to_micros(at));
    for (const model::Reservation& reservation : *picture->view.reservations)
      if (sight.sees(reservation)) to_row(picture->view, reservation, reply.add_reservations());
    answer(std::move(reply));
  };
  look(request.at_us(), refusal(answer), tell);
}

void ControllerCalls::create_reservation(const Caller& caller, const v1::CreateReservationRequest& request,
                                         Answer<v1::CreateReservationReply> answer) {
  if (!caller.is_admin()) return answer(fail(ErrorCode::InvalidUser, "Invalid user id"));
  model::ReservationChange change;
  if (auto ok = wire::from_proto(request.change(), &change); !ok)
    return answer(std::unexpected(std::move(ok.error())));
  auto ids = look_up(core_.picture()->view, change, options_.names);
  if (!ids) return answer(std::unexpected(std::move(ids.error())));
  core_.post([caller, change = std::move(change), ids = *std::move(ids), answer = std::move(answer)](Controller& c) {
    c.create_reservation(caller, change, ids, [answer](Result<std::string> name) {
      if (!name) return answer(std::unexpected(std::move(name.error())));
      v1::CreateReservationReply reply;
      reply.set_name(*name);
      answer(std::move(reply));
    });
  });
}

void ControllerCalls::update_reservation(const Caller& caller, const v1::UpdateReservationRequest& request,
                                         Answer<v1::Done> answer) {
  if (!caller.is_admin()) return answer(fail(ErrorCode::InvalidUser, "Invalid user id"));
  model::ReservationChange edit;
  if (auto ok = wire::from_proto(request.change(), &edit); !ok) return answer(std::unexpected(std::move(ok.error())));
  auto ids = look_up(core_.picture()->view, edit, options_.names);
  if (!ids) return answer(std::unexpected(std::move(ids.error())));
  change(caller, std::move(answer),
         [edit = std::move(edit), ids = *std::move(ids)](Controller& c, const Caller& who, auto reply) {
           c.update_reservation(who, edit, ids, std::move(reply));
         });
}

void ControllerCalls::delete_reservation(const Caller& caller, const v1::DeleteReservationRequest& request,
                                         Answer<v1::Done> answer) {
  change(caller, std::move(answer), [name = request.name()](Controller& c, const Caller& who, auto reply) {
    c.delete_reservation(who, name, std::move(reply));
  });
}

void ControllerCalls::get_priorities(const Caller& caller, const v1::GetPrioritiesRequest&,
                                     Answer<v1::GetPrioritiesReply> answer) {
  const auto picture = core_.picture();
  const model::View& view = picture->view;
  const model::ClusterConfig& config = *view.config;
  const sched::PriorityScale scale(view);
  const Sight sight(view, caller);
  const Time at = now(view);
  v1::GetPrioritiesReply reply;
  reply.set_multifactor(config.priority.multifactor);
  reply.set_age_weight(config.age_weight);
  reply.set_assoc_weight(config.priority.assoc_weight);
  reply.set_fairshare_weight(config.priority.fairshare_weight);
  reply.set_job_size_weight(config.priority.job_size_weight);
  reply.set_partition_weight(config.priority.partition_weight);
  reply.set_qos_weight(config.priority.qos_weight);
  reply.set_cluster_name(config.cluster_name);
  for (const model::TresWeight& weight : config.priority.tres_weights) {
    auto* out = reply.add_tres_weights();
    out->set_tres(weight.tres);
    out->set_thousandths(weight.thousandths);
  }
  view.pending.for_each([&](std::uint32_t, const model::JobPtr& job) {
    // As Slurm: only those that could start if there were room.
    const bool waits_for_room = job->hold == model::Hold::None && job->dependencies_left.empty() &&
                                !job->dependency_never && is_set(job->eligible) && job->eligible <= at;
    if (!waits_for_room || !sight.sees(*job)) return;
    for (const std::string& name : job->spec->partitions)
      if (const model::Partition* partition = model::find_partition(view, name))
        to_row(scale, *job, *partition, at, reply.add_rows());
  });
  answer(std::move(reply));
}

void ControllerCalls::update_partition(const Caller& caller, const v1::UpdatePartitionRequest& request,
                                       Answer<v1::Done> answer) {
  model::PartitionConfig partition;
  if (auto ok = wire::from_proto(request.partition(), &partition); !ok)
    return answer(std::unexpected(std::move(ok.error())));
  const auto how = request.remove()   ? Controller::PartitionEdit::Remove
                   : request.create() ? Controller::PartitionEdit::Create
                                      : Controller::PartitionEdit::Update;
  const std::vector<std::string> changed(request.changed().begin(), request.changed().end());
  change(caller, std::move(answer), [how, partition, changed](Controller& c, const Caller& who, auto reply) {
    c.edit_partition(who, how, partition, changed, std::move(reply));
  });
}

}  // namespace spur::ctld
