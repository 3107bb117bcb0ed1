// SPDX-License-Identifier: Apache-2.0
#include "ctld/controller_service.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "ctld/authorization.h"
#include "ctld/list_jobs.h"
#include "ctld/rpc_status.h"
#include "ctld/update_request.h"
#include "sched/plan.h"
#include "wire/config_codec.h"
#include "wire/id_codec.h"
#include "wire/job_codec.h"
#include "wire/node_codec.h"
#include "wire/spec_codec.h"

namespace spur::ctld {
namespace {

using Context = grpc::CallbackServerContext;
using Unary = grpc::ServerUnaryReactor;

Unary* refuse(Context* context, const Error& error) {
  auto* reactor = context->DefaultReactor();
  reactor->Finish(rpc_status(context, error));
  return reactor;
}

Unary* answer(Context* context) {
  auto* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

// A specification as a client sent it, with what only the controller may say about it.
Result<std::shared_ptr<model::JobSpec>> take_spec(const v1::JobSpec& from, const model::Caller& caller,
                                                  const model::View& view) {
  auto spec = std::make_shared<model::JobSpec>();
  SPUR_TRY(wire::from_proto(from, spec.get()));
  spec->uid = caller.uid;
  spec->gid = caller.gid;
  if (spec->partitions.empty()) {
    const auto* part = model::default_partition(view);
    if (!part) return fail(ErrorCode::DefaultPartitionMissing, "No partition specified or system default partition");
    spec->partitions.push_back(part->config.name);
  }
  return spec;
}

class ListReactor final : public grpc::ServerWriteReactor<v1::JobChunk> {
 public:
  ListReactor(std::shared_ptr<const Picture> picture, const wire::JobFilter& filter, model::Caller caller)
      : chunks_(std::move(picture), filter, std::move(caller)) {}
  void begin() { write(); }
  void OnWriteDone(bool ok) override { ok ? write() : Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  void write() {
    chunk_.Clear();
    chunks_.next(&chunk_) ? StartWrite(&chunk_) : Finish(grpc::Status::OK);
  }
  JobChunks chunks_;
  v1::JobChunk chunk_;
};

class RefusedList final : public grpc::ServerWriteReactor<v1::JobChunk> {
 public:
  explicit RefusedList(grpc::Status status) { Finish(std::move(status)); }
  void OnDone() override { delete this; }
};

// Waits for a job; the client may give up first. Whoever comes first finishes the call.
class WaitReactor final : public Unary {
 public:
  explicit WaitReactor(std::shared_ptr<std::atomic<WaitReactor*>> slot) : slot_(std::move(slot)) {}
  void OnCancel() override {
    if (auto* self = slot_->exchange(nullptr)) self->Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  std::shared_ptr<std::atomic<WaitReactor*>> slot_;
};

}  // namespace

ControllerService::ControllerService(CoreThread& core, const Identify& identify, Options options)
    : core_(core), identify_(identify), options_(std::move(options)) {}

Result<model::Caller> ControllerService::admit(Context* context, std::string_view method) const {
  const auto& metadata = context->client_metadata();
  const auto it = metadata.find("spur-credential-bin");
  const std::string_view credential =
      it == metadata.end() ? std::string_view{} : std::string_view(it->second.data(), it->second.size());
  SPUR_ASSIGN(auto caller, identify_.user(credential, core_.picture()->view));
  SPUR_TRY(authorize(method, caller));
  return caller;
}

Unary* ControllerService::change(
    Context* context, std::string_view method, const v1::JobTarget* target,
    std::function<void(Controller&, const model::Caller&, state::JobTarget, Controller::DoneReply)> act) {
  auto caller = admit(context, method);
  if (!caller) return refuse(context, caller.error());
  state::JobTarget wanted;
  if (target)
    if (auto ok = wire::from_proto(*target, &wanted); !ok) return refuse(context, ok.error());
  auto* reactor = context->DefaultReactor();
  core_.post([=, caller = std::move(*caller), act = std::move(act)](Controller& controller) {
    act(controller, caller, wanted, [context, reactor](Status status) {
      reactor->Finish(status ? grpc::Status::OK : rpc_status(context, status.error()));
    });
  });
  return reactor;
}

// ---- submitting

Unary* ControllerService::SubmitJob(Context* context, const v1::SubmitJobRequest* request, v1::SubmitJobReply* reply) {
  auto caller = admit(context, "SubmitJob");
  if (!caller) return refuse(context, caller.error());
  if (request->token().size() > 128) return refuse(context, {ErrorCode::InvalidArgument, "the submit token is too long"});
  auto spec = take_spec(request->spec(), *caller, core_.picture()->view);
  if (!spec) return refuse(context, spec.error());
  auto* reactor = context->DefaultReactor();
  core_.post([=, caller = std::move(*caller), spec = std::move(*spec)](Controller& controller) {
    controller.submit(caller, spec, request->token(), [=](Result<SubmitReply> result) {
      if (!result) return reactor->Finish(rpc_status(context, result.error()));
      reply->set_job(result->job.value);
      reply->set_repeated_submit(result->repeated);
      reactor->Finish(grpc::Status::OK);
    });
  });
  return reactor;
}

Unary* ControllerService::WillRun(Context* context, const v1::WillRunRequest* request, v1::WillRunReply* reply) {
  auto caller = admit(context, "WillRun");
  if (!caller) return refuse(context, caller.error());
  const auto picture = core_.picture();
  auto spec = take_spec(request->spec(), *caller, picture->view);
  if (!spec) return refuse(context, spec.error());
  if (auto ok = sched::check_submit(picture->view, **spec); !ok) return refuse(context, ok.error());
  auto forecast = sched::will_run(picture->view, **spec, picture->view.as_of);
  if (!forecast) return refuse(context, forecast.error());
  reply->set_job(picture->view.next_job_id);
  reply->set_start_us(to_micros(forecast->start));
  reply->set_cpus(forecast->cpus);
  reply->set_nodes(model::node_list(picture->view, forecast->nodes));
  reply->set_partition(forecast->partition);
  return answer(context);
}

// ---- looking

grpc::ServerWriteReactor<v1::JobChunk>* ControllerService::ListJobs(Context* context, const v1::ListJobsRequest* request) {
  auto caller = admit(context, "ListJobs");
  if (!caller) return new RefusedList(rpc_status(context, caller.error()));
  auto filter = filter_from_proto(*request);
  if (!filter) return new RefusedList(rpc_status(context, filter.error()));
  auto* reactor = new ListReactor(core_.picture(), *filter, std::move(*caller));
  reactor->begin();
  return reactor;
}

Unary* ControllerService::GetCluster(Context* context, const v1::GetClusterRequest*, v1::GetClusterReply* reply) {
  if (auto caller = admit(context, "GetCluster"); !caller) return refuse(context, caller.error());
  const auto picture = core_.picture();
  reply->set_as_of_us(to_micros(picture->view.as_of));
  reply->set_cluster_name(picture->view.config->cluster_name);
  picture->view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) { wire::to_proto(*node, reply->add_nodes()); });
  for (const auto& partition : *picture->view.partitions) wire::to_proto(partition, reply->add_partitions());
  return answer(context);
}

Unary* ControllerService::GetConfig(Context* context, const v1::GetConfigRequest*, v1::GetConfigReply* reply) {
  if (auto caller = admit(context, "GetConfig"); !caller) return refuse(context, caller.error());
  wire::to_proto(*core_.picture()->view.config, reply->mutable_config());
  return answer(context);
}

Unary* ControllerService::Ping(Context* context, const v1::PingRequest*, v1::PingReply* reply) {
  if (auto caller = admit(context, "Ping"); !caller) return refuse(context, caller.error());
  reply->set_host(options_.host);
  reply->set_version(options_.version);
  reply->set_cluster_name(core_.picture()->view.config->cluster_name);
  reply->set_is_leader(true);
  reply->set_started_us(to_micros(options_.started));
  return answer(context);
}

Unary* ControllerService::WaitJob(Context* context, const v1::WaitJobRequest* request, v1::WaitJobReply* reply) {
  if (auto caller = admit(context, "WaitJob"); !caller) return refuse(context, caller.error());
  auto slot = std::make_shared<std::atomic<WaitReactor*>>(nullptr);
  auto* reactor = new WaitReactor(slot);
  slot->store(reactor);
  const JobId job{request->job()};
  const auto until = request->until_final() ? Controller::Until::Final : Controller::Until::Started;
  core_.post([=](Controller& controller) {
    controller.wait_job(job, until, [=](Result<model::JobPtr> result) {
      auto* open = slot->exchange(nullptr);
      if (!open) return;  // the client is gone
      if (result) {
        model::JobSpec bare = *(*result)->spec;
        bare.script = bare.environment = nullptr;
        model::Job job_copy = **result;
        job_copy.spec = std::make_shared<const model::JobSpec>(std::move(bare));
        wire::to_proto(job_copy, reply->mutable_job());
      }
      open->Finish(result ? grpc::Status::OK : rpc_status(context, result.error()));
    });
  });
  return reactor;
}

// ---- changing

Unary* ControllerService::CancelJob(Context* context, const v1::CancelJobRequest* request, v1::Done*) {
  return change(context, "CancelJob", &request->target(), [=](Controller& c, const auto& caller, auto target, auto reply) {
    c.cancel(caller, std::move(target), request->signal(), request->batch_only(), request->full(), std::move(reply));
  });
}

Unary* ControllerService::HoldJob(Context* context, const v1::HoldJobRequest* request, v1::Done*) {
  const auto hold = request->hold() == v1::HOLD_ADMIN ? model::Hold::Admin : model::Hold::User;
  return change(context, "HoldJob", &request->target(), [=](Controller& c, const auto& caller, auto target, auto reply) {
    c.hold(caller, std::move(target), hold, std::move(reply));
  });
}

Unary* ControllerService::ReleaseJob(Context* context, const v1::ReleaseJobRequest* request, v1::Done*) {
  return change(context, "ReleaseJob", &request->target(), [](Controller& c, const auto& caller, auto target, auto reply) {
    c.release(caller, std::move(target), std::move(reply));
  });
}

Unary* ControllerService::RequeueJob(Context* context, const v1::RequeueJobRequest* request, v1::Done*) {
  const auto how = request->how() == v1::AFTER_COMPLETING_REQUEUE_HOLD   ? model::AfterCompleting::RequeueHold
                   : request->how() == v1::AFTER_COMPLETING_SPECIAL_EXIT ? model::AfterCompleting::SpecialExit
                                                                         : model::AfterCompleting::Requeue;
  return change(context, "RequeueJob", &request->target(), [=](Controller& c, const auto& caller, auto target, auto reply) {
    c.requeue(caller, std::move(target), how, std::move(reply));
  });
}

Unary* ControllerService::SuspendJob(Context* context, const v1::SuspendJobRequest* request, v1::Done*) {
  const bool resume = request->resume();
  return change(context, "SuspendJob", &request->target(), [=](Controller& c, const auto& caller, auto target, auto reply) {
    c.suspend(caller, std::move(target), resume, std::move(reply));
  });
}

Unary* ControllerService::UpdateJob(Context* context, const v1::UpdateJobRequest* request, v1::Done*) {
  return change(context, "UpdateJob", &request->target(), [=](Controller& c, const auto& caller, auto target, auto reply) {
    auto update = update_request(c.cluster().view(), std::move(target), *request);
    if (!update) return reply(std::unexpected(update.error()));
    c.update_job(caller, std::move(*update), std::move(reply));
  });
}

Unary* ControllerService::UpdateNode(Context* context, const v1::UpdateNodeRequest* request, v1::Done*) {
  return change(context, "UpdateNode", nullptr, [=](Controller& c, const auto& caller, auto, auto reply) {
    state::UpdateNode update;
    if (auto ok = wire::from_proto(request->update(), &update); !ok) return reply(std::unexpected(ok.error()));
    c.update_node(caller, std::move(update), std::move(reply));
  });
}

Unary* ControllerService::Reconfigure(Context* context, const v1::ReconfigureRequest*, v1::Done*) {
  return change(context, "Reconfigure", nullptr, [this](Controller& c, const auto& caller, auto, auto reply) {
    auto config = options_.reload();
    if (!config) return reply(std::unexpected(config.error()));
    c.reconfigure(caller, std::move(*config), std::move(reply));
  });
}

Unary* ControllerService::Shutdown(Context* context, const v1::ShutdownRequest*, v1::Done*) {
  return change(context, "Shutdown", nullptr, [this](Controller&, const auto&, auto, auto reply) {
    reply({});
    options_.shutdown();
  });
}

// ---- interactive jobs

Unary* ControllerService::CompleteAllocation(Context* context, const v1::CompleteAllocationRequest* request, v1::Done*) {
  return change(context, "CompleteAllocation", nullptr, [=](Controller& c, const auto& caller, auto, auto reply) {
    model::ExitStatus exit;
    if (auto ok = wire::from_proto(request->exit(), &exit); !ok) return reply(std::unexpected(ok.error()));
    c.complete_allocation(caller, JobId{request->job()}, exit, std::move(reply));
  });
}

Unary* ControllerService::StepTicket(Context* context, const v1::StepTicketRequest* request, v1::StepTicketReply* reply) {
  auto caller = admit(context, "StepTicket");
  if (!caller) return refuse(context, caller.error());
  const auto picture = core_.picture();
  const model::Job* job = model::find_job(picture->view, JobId{request->job()});
  if (!job) return refuse(context, {ErrorCode::InvalidJobId, "Invalid job id specified"});
  if (!may_touch(*caller, *job)) return refuse(context, {ErrorCode::PermissionDenied, "Access/permission denied"});
  if (job->state == model::JobState::Pending) return refuse(context, {ErrorCode::JobPending, "Job is pending execution"});
  if (!model::is_active(job->state) || !job->allocation)
    return refuse(context, {ErrorCode::JobAlreadyDone, "Job/step already completing or completed"});
  auto ticket = options_.sign_ticket(*job);
  if (!ticket) return refuse(context, ticket.error());
  reply->set_ticket(std::move(*ticket));
  for (const auto& grant : job->allocation->nodes) {
    const auto* node = picture->view.nodes.find(grant.node.value);
    reply->add_nodes((*node)->name);
    reply->add_addresses((*node)->address);
    reply->add_tasks_per_node(grant.tasks);
  }
  return answer(context);
}

}  // namespace spur::ctld
