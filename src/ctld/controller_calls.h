// SPDX-License-Identifier: Apache-2.0
// What the Controller service of proto/spur/v1/controller.proto does, whichever way a call came in: each call is
// turned into the model's types and handed to the core thread, or answered from the published picture. Nothing is
// decided here. The two ways in, controller_service (gRPC) and local_calls (the local socket), say who calls and
// have asked the authorization table.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "ctld/core_thread.h"
#include "ctld/job_watches.h"
#include "ctld/list_jobs.h"
#include "ctld/partition_access.h"
#include "ctld/readers.h"
#include "ctld/reservation_request.h"
#include "spur/v1/controller.pb.h"
#include "wire/controller_client.h"

namespace spur::ctld {

class ControllerCalls {
 public:
  struct Options {
    std::string host, version;
    Time started;
    // Reads the configuration files again. On the core thread; slow is fine, rare is certain.
    std::function<Result<model::ClusterConfig>()> reload;
    std::function<void()> shutdown;
    std::function<void()> abort{};  // ends the process with a core file, when the answer has had time to leave
    // Makes the log say more or less until the configuration is read again.
    std::function<Status(std::string_view level)> set_debug{};
    // The same for subjects of the log (DebugFlags, with commas), and which it has at the moment.
    std::function<Status(std::string_view on, std::string_view off)> set_debug_flags{};
    std::function<std::string()> debug_flags{};
    // Whether the scheduler's own log is written, from now on; fails where there is none. Empty: there is none.
    std::function<Status(bool on)> log_scheduling{};
    // Somebody has called; empty: nobody wants to know.
    std::function<void(std::string_view method, const model::Caller&)> audit{};
    Statistics* statistics = nullptr;  // null: GetStatistics is refused
    std::function<std::uint64_t()> accounting_backlog{};  // records that wait for the database; empty: none do
    // Signs a ticket that lets the job's owner run steps in it.
    std::function<Result<std::string>(const model::Job&)> sign_ticket;
    // A JWT for the user, signed with the key in the file, good for so long; empty: none are handed out.
    std::function<Result<std::string>(const std::string& key_file, const std::string& user, Time now,
                                      seconds lifespan)>
        sign_token{};
    std::function<std::string(Uid)> name_of{};
    // The host's users and groups; asked on the thread of the call.
    NameLookup names{};
    GroupsOf groups_of{};
    std::function<std::string(Uid)> name_of_user{};  // empty: nobody knows
    // While another controller leads: whether this one knows enough to be looked at, and what those are told who want
    // more than that. Empty: there is no other.
    struct Following {
      bool caught_up = false;
      Error refusal{};
      std::string leader{};  // its address; empty: nobody leads
      Duration silence{0};   // since a leader was last heard of
      bool is_sure = true;   // of the leader: nobody else can lead yet
    };
    std::function<Following()> following{};
    // Whether what this controller knows is all that was acknowledged (empty: always), and what waits until it is;
    // io/journal.h has the meaning.
    std::function<bool()> is_current{};
    std::function<void(std::function<void(Status)>)> catch_up{};
    History* history = nullptr;  // null: none is kept
    // The set of controllers. All block; none of them: there is one controller.
    struct Group {
      std::function<Result<wire::ControllerMembers>()> list{};
      std::function<Status(const std::string& name, const std::string& address)> add{};
      std::function<Status(const std::string& name)> remove{};
      // The one that leads makes way, for the one of that name; empty: for anybody.
      std::function<Status(const std::string& successor)> hand_over{};
    };
    Group group{};
    // For ages of jobs; empty: the stamp of the last change.
    std::function<Time()> now{};
    Readers* readers = nullptr;      // who puts large answers together; null: whoever asks
    JobWatches* watches = nullptr;   // null: WatchJobs is refused
    UserJobs* user_jobs = nullptr;   // null: all jobs are looked at
  };
  ControllerCalls(CoreThread& core, Options options);

  // Called once, from any thread, perhaps before the call returns. The request must live until then.
  template <class Reply>
  using Answer = std::function<void(Result<Reply>)>;
  using Caller = model::Caller;

  void submit_job(const Caller&, const v1::SubmitJobRequest&, Answer<v1::SubmitJobReply>);
  void will_run(const Caller&, const v1::WillRunRequest&, Answer<v1::WillRunReply>);
  void explain_job(const Caller&, const v1::ExplainJobRequest&, Answer<v1::ExplainJobReply>);
  void get_cluster(const Caller&, const v1::GetClusterRequest&, Answer<v1::GetClusterReply>);
  void get_config(const Caller&, const v1::GetConfigRequest&, Answer<v1::GetConfigReply>);
  void ping(const Caller&, const v1::PingRequest&, Answer<v1::PingReply>);
  void cancel_job(const Caller&, const v1::CancelJobRequest&, Answer<v1::Done>);
  void cancel_jobs(const Caller&, const v1::CancelJobsRequest&, Answer<v1::CancelJobsReply>);
  void hold_job(const Caller&, const v1::HoldJobRequest&, Answer<v1::Done>);
  void release_job(const Caller&, const v1::ReleaseJobRequest&, Answer<v1::Done>);
  void requeue_job(const Caller&, const v1::RequeueJobRequest&, Answer<v1::Done>);
  void suspend_job(const Caller&, const v1::SuspendJobRequest&, Answer<v1::Done>);
  void update_job(const Caller&, const v1::UpdateJobRequest&, Answer<v1::Done>);
  void update_node(const Caller&, const v1::UpdateNodeRequest&, Answer<v1::Done>);
  void create_nodes(const Caller&, const v1::CreateNodesRequest&, Answer<v1::Done>);
  void delete_nodes(const Caller&, const v1::DeleteNodesRequest&, Answer<v1::Done>);
  void get_reservations(const Caller&, const v1::GetReservationsRequest&, Answer<v1::GetReservationsReply>);
  void create_reservation(const Caller&, const v1::CreateReservationRequest&, Answer<v1::CreateReservationReply>);
  void update_reservation(const Caller&, const v1::UpdateReservationRequest&, Answer<v1::Done>);
  void delete_reservation(const Caller&, const v1::DeleteReservationRequest&, Answer<v1::Done>);
  void get_priorities(const Caller&, const v1::GetPrioritiesRequest&, Answer<v1::GetPrioritiesReply>);
  void get_shares(const Caller&, const v1::GetSharesRequest&, Answer<v1::GetSharesReply>);
  void get_account_book(const Caller&, const v1::GetAccountBookRequest&, Answer<v1::GetAccountBookReply>);
  void get_token(const Caller&, const v1::GetTokenRequest&, Answer<v1::GetTokenReply>);
  void update_partition(const Caller&, const v1::UpdatePartitionRequest&, Answer<v1::Done>);
  void reconfigure(const Caller&, const v1::ReconfigureRequest&, Answer<v1::Done>);
  void shutdown(const Caller&, const v1::ShutdownRequest&, Answer<v1::Done>);
  void takeover(const Caller&, const v1::TakeoverRequest&, Answer<v1::Done>);
  // `gone`: whether the caller has hung up; empty: nobody can say.
  void wait_job(const Caller&, const v1::WaitJobRequest&, Answer<v1::WaitJobReply>, std::function<bool()> gone = {});
  void complete_allocation(const Caller&, const v1::CompleteAllocationRequest&, Answer<v1::Done>);
  void notify_job(const Caller&, const v1::NotifyJobRequest&, Answer<v1::Done>);
  void step_ticket(const Caller&, const v1::StepTicketRequest&, Answer<v1::StepTicketReply>);
  void get_statistics(const Caller&, const v1::GetStatisticsRequest&, Answer<v1::GetStatisticsReply>);
  void audit(std::string_view method, const Caller& caller) const {
    if (options_.audit) options_.audit(method, caller);
  }
  void set_debug(const Caller&, const v1::SetDebugRequest&, Answer<v1::Done>);
  void reset_usage(const Caller&, const v1::ResetUsageRequest&, Answer<v1::Done>);
  void top_jobs(const Caller&, const v1::TopJobsRequest&, Answer<v1::Done>);
  void set_crontab(const Caller&, const v1::SetCrontabRequest&, Answer<v1::SetCrontabReply>);
  void get_crontab(const Caller&, const v1::GetCrontabRequest&, Answer<v1::GetCrontabReply>);
  void remove_crontab(const Caller&, const v1::RemoveCrontabRequest&, Answer<v1::Done>);
  void cron_jobs(const Caller&, const v1::CronJobsRequest&, Answer<v1::CronJobsReply>);
  void set_trigger(const Caller&, const v1::SetTriggerRequest&, Answer<v1::Done>);
  void clear_triggers(const Caller&, const v1::ClearTriggersRequest&, Answer<v1::Done>);
  void get_triggers(const Caller&, const v1::GetTriggersRequest&, Answer<v1::GetTriggersReply>);
  void list_controllers(const Caller&, const v1::ListControllersRequest&, Answer<v1::ListControllersReply>);
  void add_controller(const Caller&, const v1::AddControllerRequest&, Answer<v1::Done>);
  void remove_controller(const Caller&, const v1::RemoveControllerRequest&, Answer<v1::Done>);
  // Counts the call and how long its answer takes.
  template <class Reply>
  Answer<Reply> counted(std::string_view method, const Caller& caller, Answer<Reply> answer) {
    if (!options_.statistics || !options_.now) return answer;
    return
        [this, method, uid = caller.uid, began = options_.now(), answer = std::move(answer)](Result<Reply> result) {
          options_.statistics->call(method, uid, options_.now() - began);
          answer(std::move(result));
        };
  }
  // The one call with many answers; the caller pulls them. The request need not live any longer.
  void list_jobs(const Caller&, const v1::ListJobsRequest&, Answer<std::shared_ptr<JobChunks>>);
  void job_events(const Caller&, const v1::JobEventsRequest&, Answer<v1::JobEventsReply>);
  // The one that does not end by itself.
  Status watch_jobs(const Caller&, const v1::WatchJobsRequest&, std::shared_ptr<WatchSink> sink);
  void wake_watches() {
    if (options_.watches) options_.watches->wake();
  }
  // Runs something that only looks where it holds nothing up.
  void read(std::function<void()> work);

  std::shared_ptr<const Picture> picture() const { return core_.picture(); }
  // NotLeader, or Unreachable where nobody leads, for calls that another controller has to answer. `consistent`: the
  // caller wants the leader's word.
  Status check_role(std::string_view method, bool consistent) const;
  // Runs `go`, perhaps later and on another thread, when this controller can give the answer that the method's row in the
  // authorization table asks for; with an error if it cannot.
  void when_current(std::string_view method, std::function<void(Status)> go);
  // Of one that follows: what goes with its answers (wire/follower_note.h); empty: this one leads.
  std::string follower_note() const;
  // Where those are sent who want the leader; empty: not known, or this one leads.
  std::string leader_address() const;

 private:
  void answer_ticket(const Picture& picture, const model::Job& job, const Answer<v1::StepTicketReply>& answer);
  using Act = std::function<void(Controller&, const Caller&, Controller::DoneReply)>;
  // Acts on the core thread and answers Done.
  void change(const Caller& caller, Answer<v1::Done> answer, Act act);
  using ActOnJob = std::function<void(Controller&, const Caller&, state::JobTarget, Controller::DoneReply)>;
  void change_job(const Caller& caller, const v1::JobTarget& target, Answer<v1::Done> answer, ActOnJob act);

  Time now(const model::View& view) const;
  // The present picture, or the one of `at_us` if that is not 0, and the time it is looked at; perhaps later and on
  // another thread.
  using Look = std::function<void(std::shared_ptr<const Picture>, Time)>;
  void look(std::int64_t at_us, std::function<void(const Error&)> refuse, Look use);
  template <class Reply>
  static std::function<void(const Error&)> refusal(Answer<Reply> answer) {
    return [answer = std::move(answer)](const Error& error) { answer(std::unexpected(error)); };
  }
  // The components behind the first of a heterogeneous job.
  Status check_moves(const Caller& caller, const v1::UpdateJobRequest& request) const;
  Result<Controller::Specs> take_more(const google::protobuf::RepeatedPtrField<v1::JobSpec>& components,
                                      const Caller& caller);

  CoreThread& core_;
  Options options_;
  mutable std::mutex debug_mutex_;
  std::string debug_level_, scheduler_level_;  // as set by a call; empty: as configured
};

}  // namespace spur::ctld
