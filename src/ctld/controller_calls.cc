// SPDX-License-Identifier: Apache-2.0
#include "ctld/controller_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ctld/authorization.h"
#include "ctld/sight.h"
#include "ctld/update_request.h"
#include "model/shown_config.h"
#include "text/private_data.h"
#include "sched/explain.h"
#include "sched/plan.h"
#include "sched/request.h"
#include "sched/reservations.h"
#include "state/dynamic_nodes.h"
#include "wire/config_codec.h"
#include "wire/id_codec.h"
#include "wire/job_codec.h"
#include "wire/job_list_codec.h"
#include "wire/node_codec.h"
#include "wire/spec_codec.h"

namespace spur::ctld {
namespace {

// What is told of a node whose state is nobody's business: what partitions are made of.
model::Node bare_node(const model::Node& node) {
  model::Node out;
  out.index = node.index;
  out.name = node.name;
  out.hardware = node.hardware;
  return out;
}

// A site's default memory becomes the job's own when it is submitted: it shows, and moving the job to another
// partition keeps it. (A default for each GPU is left to the scheduler, which knows how many there will be.)
void default_memory(const model::View& view, model::JobSpec* spec) {
  if (view.config->memory_as != model::MemoryAs::Consumable) return;
  if (spec->memory_per_node_mib || spec->memory_per_cpu_mib || spec->memory_per_gpu_mib) return;
  const auto* part = model::find_partition(view, spec->partitions.front());
  if (!part) return;
  const auto choose = [&](const auto& of) {
    if (of.default_memory_per_gpu_mib) return true;
    spec->memory_per_node_mib = of.default_memory_per_node_mib;
    if (!spec->memory_per_node_mib) spec->memory_per_cpu_mib = of.default_memory_per_cpu_mib;
    return spec->memory_per_node_mib || spec->memory_per_cpu_mib;
  };
  if (!choose(part->config)) choose(*view.config);
}

// Where the site has a domain, the mail of whoever does not say where it goes; a new domain is for new jobs only.
void address_mail(const model::View& view, const std::function<std::string(Uid)>& name_of, model::JobSpec* spec) {
  if (spec->mail_types == 0 || !spec->mail_user.empty()) return;
  const std::string_view domain = model::shown_value(*view.config, "MailDomain");
  if (domain.empty() || domain == "(null)") return;
  const std::string name = name_of(spec->uid);
  if (!name.empty()) spec->mail_user = fmt::format("{}@{}", name, domain);
}

// A specification as a client sent it, with what only the controller may say about it.
Result<std::shared_ptr<model::JobSpec>> take_spec(const v1::JobSpec& from, const model::Caller& caller,
                                                  const model::View& view) {
  auto spec = std::make_shared<model::JobSpec>();
  SPUR_TRY(wire::from_proto(from, spec.get()));
  spec->uid = caller.uid;
  spec->gid = caller.gid;
  if (caller.uid == kRootUid) {  // may submit for anybody
    spec->uid = Uid{from.uid()};
    spec->gid = Gid{from.gid()};
  }
  if (spec->switches > 0)
    spec->switch_wait_seconds =
        static_cast<std::uint32_t>(std::chrono::duration_cast<seconds>(sched::leaf_wait(view, *spec)).count());
  if (spec->partitions.empty()) {
    const auto* part = model::default_partition(view);
    if (!part) return fail(ErrorCode::DefaultPartitionMissing, "No partition specified or system default partition");
    spec->partitions.push_back(part->config.name);
  }
  // Slurm takes the job of an ordinary user and passes over the priority that he asks for.
  if (!caller.is_admin() && spec->priority.value_or(0) > 0) spec->priority.reset();
  default_memory(view, spec.get());
  return spec;
}

v1::WillRunReply told(const model::View& view, const sched::Forecast& found) {
  v1::WillRunReply reply;
  reply.set_job(view.next_job_id);
  reply.set_start_us(to_micros(found.start));
  reply.set_cpus(found.cpus);
  reply.set_nodes(model::node_list(view, found.nodes));
  reply.set_partition(found.partition);
  return reply;
}

void add_blocker(const model::View& view, const Sight& sight, const sched::Blocker& blocker,
                 v1::ExplainJobReply* reply) {
  const bool known = std::ranges::all_of(blocker.jobs, [&](JobId id) {
    const model::Job* job = model::find_job(view, id);
    return !job || sight.sees(*job);
  });
  if (!known) return;  // that it waits is told all the same
  auto* out = reply->add_blockers();
  out->set_kind(static_cast<v1::ExplainJobReply::Blocker::Kind>(blocker.kind));
  for (const JobId job : blocker.jobs) out->add_jobs(job.value);
  out->set_partition(blocker.partition);
  if (blocker.kind == sched::Blocker::Kind::Node)
    if (const auto* node = view.nodes.find(blocker.node.value)) out->set_node((*node)->name);
  if (blocker.kind == sched::Blocker::Kind::RunningJob)
    if (const auto* job = model::find_job(view, blocker.jobs.front()))
      out->set_ends_us(to_micros(model::limit_end(*job)));
}

Result<v1::ExplainJobReply> explained(const model::View& view, const Sight& sight, JobId id,
                                      std::optional<std::uint32_t> task, Time now) {
  const model::Job* job = task ? model::find_array_task(view, id, *task) : model::find_job(view, id);
  if (!job || !sight.sees(*job))
    return fail(ErrorCode::InvalidJobId, std::string(slurm_message(ErrorCode::InvalidJobId)));
  if (!view.pending.contains(job->id.value))
    return fail(ErrorCode::JobNotPending, fmt::format("job {} is not pending", model::display_id(*job)));
  if (job->het_job) return fail(ErrorCode::NotSupported, "explaining a heterogeneous job is not supported yet");
  SPUR_ASSIGN(const auto told, sched::explain(view, {.as_configured = true}, job->id, now));
  v1::ExplainJobReply reply;
  reply.set_job(told.job.value);
  reply.set_reason(static_cast<v1::Reason>(told.reason));
  reply.set_start_us(to_micros(told.start));
  reply.set_certainty(static_cast<v1::ExplainJobReply::Certainty>(told.certainty));
  reply.set_starts_now(told.starts_now);
  reply.set_impossible(told.impossible);
  reply.set_as_of_us(to_micros(now));
  for (const auto& blocker : told.blockers) add_blocker(view, sight, blocker, &reply);
  for (const auto& change : told.changes) {
    auto* out = reply.add_changes();
    out->set_option(change.option);
    out->set_now(change.now);
    out->set_instead(change.instead);
    out->set_start_us(to_micros(change.start));
    out->set_certainty(static_cast<v1::ExplainJobReply::Certainty>(change.certainty));
  }
  return reply;
}

bool names_root_only(const model::View& view, const model::JobSpec& spec) {
  return std::ranges::any_of(spec.partitions, [&](const std::string& name) {
    const model::Partition* partition = model::find_partition(view, name);
    return partition && partition->config.root_only;
  });
}

Status check_access(const model::View& view, const model::JobSpec& spec, const GroupsOf& groups_of) {
  SPUR_TRY(check_partition_access(view, spec, groups_of));
  return sched::check_reservation_access(view, spec);
}

}  // namespace

ControllerCalls::ControllerCalls(CoreThread& core, Options options) : core_(core), options_(std::move(options)) {}

Status ControllerCalls::check_role(std::string_view method, bool consistent) const {
  const bool leading = core_.picture()->leading;
  if (method == "Ping" || method == "ListControllers" || (leading && !consistent)) return {};
  // One that etcd no longer answers may have been replaced without knowing it yet.
  if (leading && (!options_.following || options_.following().is_sure)) return {};
  if (!options_.following) return fail(ErrorCode::Busy, "the controller is starting");
  const auto following = options_.following();
  if (following.caught_up && !consistent && answered_by(method) != Where::Leader) return {};
  return std::unexpected(following.refusal);
}

void ControllerCalls::when_current(std::string_view method, std::function<void(Status)> go) {
  if (!options_.is_current || answered_by(method) != Where::Current || options_.is_current()) return go({});
  options_.catch_up([this, go = std::move(go)](Status status) {
    // Behind the entries that the journal has handed to the core thread by now.
    core_.post([this, go, status = std::move(status)](Controller&) { read([go, status] { go(status); }); });
  });
}

std::string ControllerCalls::follower_note() const {
  if (!options_.following || core_.picture()->leading) return {};
  return wire::encode_follower_note({options_.host, options_.following().silence});
}

std::string ControllerCalls::leader_address() const {
  if (!options_.following || core_.picture()->leading) return {};
  return options_.following().leader;
}

void ControllerCalls::change(const Caller& caller, Answer<v1::Done> answer, Act act) {
  core_.request([caller, answer = std::move(answer), act = std::move(act)](Controller& controller) {
    act(controller, caller, [answer](Status status) {
      status ? answer(v1::Done{}) : answer(std::unexpected(std::move(status.error())));
    });
  });
}

void ControllerCalls::change_job(const Caller& caller, const v1::JobTarget& target, Answer<v1::Done> answer,
                                 ActOnJob act) {
  state::JobTarget wanted;
  if (auto ok = wire::from_proto(target, &wanted); !ok) return answer(std::unexpected(std::move(ok.error())));
  change(caller, std::move(answer),
         [wanted = std::move(wanted), act = std::move(act)](Controller& c, const Caller& who, auto reply) {
           act(c, who, wanted, std::move(reply));
         });
}

// ---- submitting

void ControllerCalls::submit_job(const Caller& caller, const v1::SubmitJobRequest& request,
                                 Answer<v1::SubmitJobReply> answer) {
  if (request.token().size() > 128) return answer(fail(ErrorCode::InvalidArgument, "the submit token is too long"));
  auto spec = take_spec(request.spec(), caller, core_.picture()->view);
  if (!spec) return answer(std::unexpected(std::move(spec.error())));
  if (auto ok = check_access(core_.picture()->view, **spec, options_.groups_of); !ok)
    return answer(std::unexpected(std::move(ok.error())));
  if (options_.name_of_user) address_mail(core_.picture()->view, options_.name_of_user, spec->get());
  auto more = take_more(request.more(), caller);
  if (!more) return answer(std::unexpected(std::move(more.error())));
  core_.request([caller, spec = std::move(*spec), more = std::move(*more), &request,
                 answer = std::move(answer)](Controller& controller) {
    const auto done = [answer](Result<SubmitReply> result) {
      if (!result) return answer(std::unexpected(std::move(result.error())));
      v1::SubmitJobReply reply;
      reply.set_job(result->job.value);
      reply.set_repeated_submit(result->repeated);
      answer(std::move(reply));
    };
    controller.submit(caller, spec, request.token(), done, more);
  });
}

Result<Controller::Specs> ControllerCalls::take_more(
    const google::protobuf::RepeatedPtrField<v1::JobSpec>& components, const Caller& caller) {
  Controller::Specs more;
  const auto picture = core_.picture();
  for (const v1::JobSpec& component : components) {
    SPUR_ASSIGN(auto spec, take_spec(component, caller, picture->view));
    SPUR_TRY(check_access(picture->view, *spec, options_.groups_of));
    more.push_back(std::move(spec));
  }
  return more;
}

void ControllerCalls::will_run(const Caller& caller, const v1::WillRunRequest& request,
                               Answer<v1::WillRunReply> answer) {
  const auto picture = core_.picture();
  auto spec = take_spec(request.spec(), caller, picture->view);
  if (!spec) return answer(std::unexpected(std::move(spec.error())));
  if (auto ok = check_access(picture->view, **spec, options_.groups_of); !ok)
    return answer(std::unexpected(std::move(ok.error())));
  auto more = take_more(request.more(), caller);
  if (!more) return answer(std::unexpected(std::move(more.error())));
  more->insert(more->begin(), *std::move(spec));
  core_.forecast(*std::move(more), [answer = std::move(answer)](const Picture& seen, Result<sched::Forecast> found) {
    if (!found) return answer(std::unexpected(std::move(found.error())));
    answer(told(seen.view, *found));
  });
}

// Thousands of plans may be made for one answer, so it is given on a thread for that, one at a time.
void ControllerCalls::explain_job(const Caller& caller, const v1::ExplainJobRequest& request,
                                  Answer<v1::ExplainJobReply> answer) {
  const JobId id(request.job());
  const auto task = request.has_array_task() ? std::optional(request.array_task()) : std::nullopt;
  const bool taken = core_.ponder([this, caller, id, task, answer] {
    const auto picture = core_.picture();
    answer(explained(picture->view, Sight(picture->view, caller), id, task, now(picture->view)));
  });
  if (!taken) answer(fail(ErrorCode::Busy, "too many jobs are being explained; try again"));
}

// ---- looking

Status ControllerCalls::watch_jobs(const Caller& caller, const v1::WatchJobsRequest& request,
                                   std::shared_ptr<WatchSink> sink) {
  if (!options_.watches) return fail(ErrorCode::NotSupported, "this controller does not let jobs be watched");
  JobWatches::Wish wish{.caller = caller, .filter = {}, .expected_starts = request.expected_starts()};
  SPUR_TRY(wire::from_proto(request.filter(), &wish.filter));
  if (!caller.is_admin())
    wish.sees = [caller](const model::View& view) { return Sight(view, caller).of_jobs(); };
  if (wish.filter.hide && !caller.is_admin())
    wish.hidden = [this, uid = caller.uid, gid = caller.gid](const model::View& view) {
      return hidden_partitions(view, uid, gid, options_.groups_of);
    };
  return options_.watches->add(std::move(wish), std::move(sink));
}

void ControllerCalls::read(std::function<void()> work) {
  options_.readers ? options_.readers->post(std::move(work)) : work();
}

// Beside the nodes that are in it.
static void add_loads(const NodeLoads& loads, v1::GetClusterReply* reply) {
  loads.read([&](const auto& load_of) {
    for (const auto& node : reply->nodes()) {
      const NodeLoads::Load load = load_of(node.name());
      reply->add_load_hundredths(load.hundredths);
      reply->add_free_memory_mib(load.free_memory_mib);
    }
  });
}

void ControllerCalls::get_cluster(const Caller& caller, const v1::GetClusterRequest& request,
                                  Answer<v1::GetClusterReply> answer) {
  const bool future = request.future();
  look(request.at_us(), refusal(answer), [this, caller, future, answer](const std::shared_ptr<const Picture>& picture, Time) {
    const Sight sight(core_.picture()->view, caller);
    const bool no_nodes = sight.lacks(text::kPrivateNodes), no_partitions = sight.lacks(text::kPrivatePartitions);
    v1::GetClusterReply reply;
    reply.set_as_of_us(to_micros(picture->view.as_of));
    reply.set_cluster_name(picture->view.config->cluster_name);
    reply.set_nodes_denied(no_nodes);
    reply.set_partitions_denied(no_partitions);
    picture->view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
      // Not `?:`, which would copy every node that may be seen, too.
      if (no_nodes)
        wire::to_proto(bare_node(*node), reply.add_nodes());
      else
        wire::to_proto(*node, reply.add_nodes());
    });
    const auto more = future ? state::with_future_nodes(picture->view) : state::WithFutureNodes{};
    for (const model::Node& node : more.nodes) wire::to_proto(no_nodes ? bare_node(node) : node, reply.add_nodes());
    if (!no_partitions)
      for (const auto& partition : future ? more.partitions : *picture->view.partitions)
        wire::to_proto(partition, reply.add_partitions());
    if (picture->loads && !no_nodes) add_loads(*picture->loads, &reply);
    answer(std::move(reply));
  });
}

void ControllerCalls::get_config(const Caller& caller, const v1::GetConfigRequest&,
                                 Answer<v1::GetConfigReply> answer) {
  v1::GetConfigReply reply;
  const auto picture = core_.picture();
  model::ClusterConfig config = *picture->view.config;
  const Sight sight(picture->view, caller);
  if (sight.lacks(text::kPrivateNodes)) config.nodes.clear();
  if (sight.lacks(text::kPrivatePartitions)) config.partitions.clear();
  const auto [debug_level, scheduler_level] = [this] {
    std::lock_guard lock(debug_mutex_);
    return std::pair(debug_level_, scheduler_level_);
  }();
  for (auto& [key, value] : config.shown) {  // what no file says
    if (key == "BOOT_TIME") value = std::to_string(to_unix_seconds(options_.started));
    if (key == "SlurmctldDebug" && !debug_level.empty()) value = debug_level;
    if (key == "SlurmSchedLogLevel" && !scheduler_level.empty()) value = scheduler_level;
    if (key == "DebugFlags" && options_.debug_flags) value = options_.debug_flags();
    if (key == "NEXT_JOB_ID") value = std::to_string(picture->view.next_job_id);
  }
  wire::to_proto(config, reply.mutable_config());
  answer(std::move(reply));
}

void ControllerCalls::ping(const Caller&, const v1::PingRequest&, Answer<v1::PingReply> answer) {
  v1::PingReply reply;
  reply.set_host(options_.host);
  reply.set_version(options_.version);
  reply.set_cluster_name(core_.picture()->view.config->cluster_name);
  reply.set_is_leader(core_.picture()->leading);
  reply.set_started_us(to_micros(options_.started));
  const auto picture = core_.picture();
  reply.set_entry(picture->view.version);
  if (!picture->leading && options_.following)
    reply.set_silence_us(static_cast<std::uint64_t>(options_.following().silence.count()));
  answer(std::move(reply));
}

void ControllerCalls::wait_job(const Caller& caller, const v1::WaitJobRequest& request,
                               Answer<v1::WaitJobReply> answer, std::function<bool()> gone) {
  const JobId job{request.job()};
  const auto until = request.until_final() ? Controller::Until::Final : Controller::Until::Started;
  const auto told = [](const model::Job& found) {
    model::JobSpec bare = *found.spec;
    bare.script = bare.environment = nullptr;
    model::Job copy = found;
    copy.spec = std::make_shared<const model::JobSpec>(std::move(bare));
    v1::WaitJobReply reply;
    wire::to_proto(copy, reply.mutable_job());
    return reply;
  };
  const auto picture = core_.picture();
  const model::Job* known = model::find_job(picture->view, job);
  const auto hidden = [caller, job](const Controller& controller) {
    const model::View& view = controller.cluster().view();
    const model::Job* found = model::find_job(view, job);
    return found && !Sight(view, caller).sees(*found);
  };
  const auto unknown = [] { return fail(ErrorCode::InvalidJobId, std::string(slurm_message(ErrorCode::InvalidJobId))); };
  // What is said to a job is for its owner's ears; to anybody else it is as if nothing were.
  if (!request.has_notices_after() || !known || !may_touch(caller, *known))
    return core_.post([job, until, told, hidden, unknown, answer = std::move(answer)](Controller& controller) {
      if (hidden(controller)) return answer(unknown());
      controller.wait_job(job, until, [told, answer](Result<model::JobPtr> result) {
        if (!result) return answer(std::unexpected(std::move(result.error())));
        answer(told(**result));
      });
    });
  core_.post([job, until, told, after = request.notices_after(), answer = std::move(answer),
              gone = std::move(gone)](Controller& controller) {
    const auto tell = [told, answer](Result<Controller::Heard> heard) {
      if (!heard) return answer(std::unexpected(std::move(heard.error())));
      v1::WaitJobReply reply = told(*heard->job);
      reply.set_waiting(heard->waiting);
      for (const auto& notice : heard->notices) {
        reply.add_notices()->set_number(notice.number);
        reply.mutable_notices(reply.notices_size() - 1)->set_text(notice.text);
      }
      answer(std::move(reply));
    };
    controller.attend_job(job, until, after, tell, gone);
  });
}

void ControllerCalls::notify_job(const Caller& caller, const v1::NotifyJobRequest& request, Answer<v1::Done> answer) {
  change(caller, std::move(answer),
         [job = JobId{request.job()}, text = request.text()](Controller& c, const Caller& who, auto reply) {
           c.notify_job(who, job, text, std::move(reply));
         });
}

// ---- changing

void ControllerCalls::cancel_job(const Caller& caller, const v1::CancelJobRequest& request, Answer<v1::Done> answer) {
  change_job(caller, request.target(), std::move(answer),
             [signal = request.signal(), batch_only = request.batch_only(), full = request.full(),
              cron = request.cron()](Controller& c, const Caller& who, auto target, auto reply) {
               if (auto ok = c.check_cron_cancel(who, target); !cron && !ok) return reply(std::move(ok));
               c.cancel(who, std::move(target), signal, batch_only, full, std::move(reply));
             });
}

void ControllerCalls::cancel_jobs(const Caller& caller, const v1::CancelJobsRequest& request,
                                  Answer<v1::CancelJobsReply> answer) {
  constexpr int kMost = 10000;
  if (request.targets_size() > kMost)
    return answer(fail(ErrorCode::InvalidArgument, fmt::format("at most {} jobs can be cancelled at once", kMost)));
  std::vector<state::JobTarget> targets(static_cast<std::size_t>(request.targets_size()));
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (auto ok = wire::from_proto(request.targets(static_cast<int>(i)), &targets[i]); !ok)
      return answer(std::unexpected(std::move(ok.error())));
  // What was said of them, and of how many nothing yet.
  struct Said {
    v1::CancelJobsReply reply;
    std::size_t open;
    Answer<v1::CancelJobsReply> answer;
    void done() {
      if (--open == 0) answer(std::move(reply));
    }
  };
  auto said = std::make_shared<Said>(v1::CancelJobsReply(), targets.size() + 1, std::move(answer));
  core_.request([caller, said, targets = std::move(targets), signal = request.signal(),
                 batch_only = request.batch_only(), full = request.full(), cron = request.cron()](Controller& c) {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const auto note = [said, i](const Status& status) {
        if (!status) {
          auto* refusal = said->reply.add_refusals();
          refusal->set_target(static_cast<std::uint32_t>(i));
          refusal->set_code(static_cast<std::uint32_t>(status.error().code));
          refusal->set_message(status.error().message);
        }
        said->done();
      };
      if (auto ok = c.check_cron_cancel(caller, targets[i]); !cron && !ok)
        note(ok);
      else
        c.cancel(caller, targets[i], signal, batch_only, full, note);
    }
    said->done();
  });
}

void ControllerCalls::hold_job(const Caller& caller, const v1::HoldJobRequest& request, Answer<v1::Done> answer) {
  const auto hold = request.hold() == v1::HOLD_ADMIN ? model::Hold::Admin : model::Hold::User;
  change_job(caller, request.target(), std::move(answer),
             [hold](Controller& c, const Caller& who, auto target, auto reply) {
               c.hold(who, std::move(target), hold, std::move(reply));
             });
}

void ControllerCalls::release_job(const Caller& caller, const v1::ReleaseJobRequest& request,
                                  Answer<v1::Done> answer) {
  change_job(caller, request.target(), std::move(answer),
             [](Controller& c, const Caller& who, auto target, auto reply) {
               c.release(who, std::move(target), std::move(reply));
             });
}

void ControllerCalls::requeue_job(const Caller& caller, const v1::RequeueJobRequest& request,
                                  Answer<v1::Done> answer) {
  const auto how = request.how() == v1::AFTER_COMPLETING_REQUEUE_HOLD   ? model::AfterCompleting::RequeueHold
                   : request.how() == v1::AFTER_COMPLETING_SPECIAL_EXIT ? model::AfterCompleting::SpecialExit
                                                                        : model::AfterCompleting::Requeue;
  change_job(caller, request.target(), std::move(answer),
             [how](Controller& c, const Caller& who, auto target, auto reply) {
               c.requeue(who, std::move(target), how, std::move(reply));
             });
}

void ControllerCalls::suspend_job(const Caller& caller, const v1::SuspendJobRequest& request,
                                  Answer<v1::Done> answer) {
  change_job(caller, request.target(), std::move(answer),
             [resume = request.resume()](Controller& c, const Caller& who, auto target, auto reply) {
               c.suspend(who, std::move(target), resume, std::move(reply));
             });
}

// A job goes only where its user could have submitted it, whoever moves it; as in Slurm, one sentence is for all partitions
// that are not for the user. Asked before the core thread is, as groups may take time.
Status ControllerCalls::check_moves(const Caller& caller, const v1::UpdateJobRequest& request) const {
  const auto moves = [](std::string_view name) { return name == "partitions" || name == "account" || name == "qos"; };
  if (std::ranges::none_of(request.changed(), moves)) return {};
  state::JobTarget target;
  SPUR_TRY(wire::from_proto(request.target(), &target));
  const auto picture = core_.picture();
  for (state::JobTarget& one : update_targets(picture->view, std::move(target))) {
    const auto* job = model::find_job(picture->view, JobId{one.id.value + one.het_offset.value_or(0)});
    if (!job || job->state != model::JobState::Pending) continue;  // for the core thread to say
    const auto update = update_request(picture->view, std::move(one), request);
    if (!update || !update->spec) continue;
    const Status ok = check_partition_access(picture->view, *update->spec, options_.groups_of);
    const bool closed = !ok && ok.error().code == ErrorCode::PartitionGroupDenied;
    if (!ok && !closed) return ok;
    if (closed || (!caller.is_admin() && names_root_only(picture->view, *update->spec)))
      return fail(ErrorCode::PartitionConfigUnavailable, "a partition is not for this user");
  }
  return {};
}

void ControllerCalls::update_job(const Caller& caller, const v1::UpdateJobRequest& request, Answer<v1::Done> answer) {
  if (auto ok = check_moves(caller, request); !ok) return answer(std::unexpected(std::move(ok.error())));
  change_job(caller, request.target(), std::move(answer),
             [&request](Controller& c, const Caller& who, auto target, auto reply) {
               std::vector<state::UpdateJob> updates;
               for (state::JobTarget& one : update_targets(c.cluster().view(), std::move(target))) {
                 auto update = update_request(c.cluster().view(), std::move(one), request);
                 if (!update) return reply(std::unexpected(update.error()));
                 if (update->spec)
                   if (auto ok = sched::check_reservation_access(c.cluster().view(), *update->spec); !ok)
                     return reply(std::move(ok));
                 updates.push_back(std::move(*update));
               }
               c.update_jobs(who, std::move(updates), std::move(reply));
             });
}

void ControllerCalls::update_node(const Caller& caller, const v1::UpdateNodeRequest& request,
                                  Answer<v1::Done> answer) {
  state::UpdateNode update;
  if (auto ok = wire::from_proto(request.update(), &update); !ok)
    return answer(std::unexpected(std::move(ok.error())));
  change(caller, std::move(answer), [update = std::move(update)](Controller& c, const Caller& who, auto reply) {
    c.update_node(who, update, std::move(reply));
  });
}

void ControllerCalls::create_nodes(const Caller& caller, const v1::CreateNodesRequest& request,
                                   Answer<v1::Done> answer) {
  std::vector<model::NodeConfig> nodes;
  for (const auto& row : request.nodes())
    if (auto ok = wire::from_proto(row, &nodes.emplace_back()); !ok)
      return answer(std::unexpected(std::move(ok.error())));
  change(caller, std::move(answer), [nodes = std::move(nodes)](Controller& c, const Caller& who, auto reply) {
    c.create_nodes(who, nodes, std::move(reply));
  });
}

void ControllerCalls::delete_nodes(const Caller& caller, const v1::DeleteNodesRequest& request,
                                   Answer<v1::Done> answer) {
  std::vector<std::string> nodes(request.nodes().begin(), request.nodes().end());
  change(caller, std::move(answer), [nodes = std::move(nodes)](Controller& c, const Caller& who, auto reply) {
    c.delete_nodes(who, nodes, std::move(reply));
  });
}

void ControllerCalls::reconfigure(const Caller& caller, const v1::ReconfigureRequest&, Answer<v1::Done> answer) {
  change(caller, std::move(answer), [this](Controller& c, const Caller& who, auto reply) {
    auto config = options_.reload();
    if (!config) return reply(std::unexpected(config.error()));
    {
      std::lock_guard lock(debug_mutex_);
      debug_level_.clear();
      scheduler_level_.clear();
    }
    c.reconfigure(who, std::move(*config), std::move(reply));
  });
}

void ControllerCalls::shutdown(const Caller& caller, const v1::ShutdownRequest& request, Answer<v1::Done> answer) {
  const bool agents = request.agents(), core = request.core() && options_.abort;
  change(caller, std::move(answer), [this, agents, core](Controller& c, const Caller&, auto reply) {
    if (agents) c.shut_agents_down();
    reply({});
    core ? options_.abort() : options_.shutdown();
  });
}

// ---- interactive jobs

void ControllerCalls::complete_allocation(const Caller& caller, const v1::CompleteAllocationRequest& request,
                                          Answer<v1::Done> answer) {
  model::ExitStatus exit;
  if (auto ok = wire::from_proto(request.exit(), &exit); !ok) return answer(std::unexpected(std::move(ok.error())));
  change(caller, std::move(answer), [job = JobId{request.job()}, exit](Controller& c, const Caller& who, auto reply) {
    c.complete_allocation(who, job, exit, std::move(reply));
  });
}

void ControllerCalls::step_ticket(const Caller& caller, const v1::StepTicketRequest& request,
                                  Answer<v1::StepTicketReply> answer) {
  const auto picture = core_.picture();
  const model::Job* job = model::find_job(picture->view, JobId{request.job()});
  if (!job) return answer(fail(ErrorCode::InvalidJobId, "Invalid job id specified"));
  if (!may_touch(caller, *job)) return answer(fail(ErrorCode::PermissionDenied, "Access/permission denied"));
  if (job->state == model::JobState::Pending) return answer(fail(ErrorCode::JobPending, "Job is pending execution"));
  if (!model::is_active(job->state) || !job->allocation)
    return answer(fail(ErrorCode::JobAlreadyDone, "Job/step already completing or completed"));
  if (!core_.has_prolog()) return answer_ticket(*picture, *job, answer);
  // Its nodes know of it only when the site's prolog is through.
  core_.post([this, id = job->id, answer = std::move(answer)](Controller& controller) {
    controller.wait_job(
        id, Controller::Until::Started, [this, &controller, answer](const Result<model::JobPtr>& now) {
          if (!now) return answer(std::unexpected(now.error()));
          if (!model::is_active((*now)->state) || !(*now)->allocation)
            return answer(fail(ErrorCode::JobAlreadyDone, "Job/step already completing or completed"));
          answer_ticket(*controller.picture(), **now, answer);
        });
  });
}

void ControllerCalls::answer_ticket(const Picture& picture, const model::Job& job,
                                    const Answer<v1::StepTicketReply>& answer) {
  auto ticket = options_.sign_ticket(job);
  if (!ticket) return answer(std::unexpected(std::move(ticket.error())));
  v1::StepTicketReply reply;
  reply.set_ticket(std::move(*ticket));
  for (const auto& grant : job.allocation->nodes) {
    const auto* node = picture.view.nodes.find(grant.node.value);
    reply.add_nodes((*node)->name);
    reply.add_addresses((*node)->address);
    reply.add_tasks_per_node(grant.tasks);
  }
  answer(std::move(reply));
}

}  // namespace spur::ctld
