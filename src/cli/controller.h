// SPDX-License-Identifier: Apache-2.0
// The controller as commands see it: the calls of wire::ControllerClient as an interface, so that a test can put a
// table in its place. The real one is made by wire_controller.cc.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/command_defaults.h"
#include "wire/agent_client.h"
#include "wire/controller_client.h"
#include "wire/file_client.h"
#include "wire/process_client.h"
#include "wire/usage_client.h"

namespace spur::cli {

class Controller {
 public:
  virtual ~Controller() = default;

  // With several components: a heterogeneous job; the id of the first.
  virtual Result<JobId> submit(const std::vector<model::JobSpec>& components, const std::string& token) = 0;
  virtual Result<wire::Forecast> will_run(const std::vector<model::JobSpec>& components) = 0;
  virtual Result<wire::JobExplanation> explain(JobId job, std::optional<std::uint32_t> array_task) = 0;
  virtual Result<wire::JobTable> jobs(const wire::JobFilter& filter) = 0;
  virtual Status watch_jobs(const wire::JobWatch& watch) = 0;
  // From another thread: a call that waits is to end at its next chance, with TimedOut.
  virtual void give_up() {}
  virtual Result<wire::ClusterTable> cluster() = 0;
  virtual Result<model::ClusterConfig> config() = 0;
  virtual Result<wire::PingReply> ping(std::size_t controller_number) = 0;
  virtual std::size_t controller_count() const = 0;
  virtual Result<wire::ControllerMembers> controllers() = 0;
  virtual Status add_controller(const std::string& name, const std::string& address) = 0;
  virtual Status remove_controller(const std::string& name) = 0;
  virtual Status cancel(const state::JobTarget& target, int signal, bool batch_only, bool full,
                        bool cron = false) = 0;
  // What came of each of them. At most 10,000.
  virtual Result<std::vector<Status>> cancel_all(const std::vector<state::JobTarget>& targets, int signal,
                                                 bool batch_only, bool full, bool cron) = 0;
  virtual Status hold(const state::JobTarget& target, model::Hold hold) = 0;
  virtual Status release(const state::JobTarget& target) = 0;
  virtual Status requeue(const state::JobTarget& target, model::AfterCompleting how) = 0;
  virtual Status suspend(const state::JobTarget& target, bool resume) = 0;
  virtual Status update_job(const state::JobTarget& target, const model::JobSpec& spec,
                            const std::vector<std::string>& changed) = 0;
  virtual Status update_node(const state::UpdateNode& update) = 0;
  virtual Status create_nodes(const std::vector<model::NodeConfig>& nodes) = 0;
  virtual Status delete_nodes(const std::vector<std::string>& nodes) = 0;
  virtual Result<wire::ReservationTable> reservations() = 0;
  virtual Result<std::string> create_reservation(const model::ReservationChange& change) = 0;
  virtual Status update_reservation(const model::ReservationChange& change) = 0;
  virtual Status delete_reservation(const std::string& name) = 0;
  virtual Result<wire::PriorityTable> priorities() = 0;
  virtual Result<wire::ShareTable> shares() = 0;
  virtual Result<wire::AccountBookTable> account_book() = 0;
  virtual Result<std::string> token(const std::string& user, seconds lifespan) = 0;
  virtual Status edit_partition(wire::PartitionEdit how, const model::PartitionConfig& partition,
                                const std::vector<std::string>& changed) = 0;
  virtual Status reconfigure() = 0;
  virtual Status shutdown(bool agents) = 0;
  virtual Status abort() = 0;  // at once, with a core file
  // Another controller is to lead: the one of that name, or without one the first that is there.
  virtual Status takeover(const std::string& successor) = 0;
  virtual Result<wire::ControllerStatistics> statistics(bool reset) = 0;
  // `nodes`: of their agents; empty: of the controller.
  virtual Status set_debug(const std::string& level, const std::string& nodes) = 0;
  virtual Status set_debug_flags(const std::string& on, const std::string& off, const std::string& nodes) = 0;
  virtual Status log_scheduling(bool on) = 0;
  // What was used in these is forgotten.
  virtual Status reset_usage(const std::vector<std::uint32_t>& associations, const std::vector<std::string>& qos) = 0;
  virtual Status top_jobs(const std::vector<JobId>& jobs) = 0;
  virtual Result<wire::CrontabOutcome> set_crontab(const model::Crontab& crontab,
                                                   const std::vector<model::JobSpec>& specs) = 0;
  virtual Result<std::optional<model::Crontab>> crontab(Uid user) = 0;
  virtual Status remove_crontab(Uid user) = 0;
  virtual Result<std::vector<model::CronEntry>> cron_jobs() = 0;
  virtual Status set_trigger(const model::Trigger& trigger) = 0;
  virtual Status clear_triggers(const wire::TriggerFilter& which) = 0;
  virtual Result<std::vector<model::Trigger>> triggers() = 0;
  virtual Result<model::JobPtr> wait_job(JobId job, bool until_final,
                                         const wire::ControllerClient::OnNotice& on_notice = {}) = 0;
  virtual Status notify_job(JobId job, const std::string& text) = 0;
  virtual Status complete_allocation(JobId job, model::ExitStatus exit) = 0;
  virtual Result<wire::ControllerClient::StepTicket> step_ticket(JobId job) = 0;
  // Of the configuration.
  // What the configuration of this host says of commands.
  virtual config::CommandDefaults defaults() const { return {}; }
  // Of agents, not of the controller: it knows nothing of steps.
  virtual Result<std::vector<wire::StepInfo>> steps(const std::string& agent) = 0;
  virtual Status signal_step(const std::string& agent, const std::string& ticket, std::uint32_t step, int signal) = 0;
  virtual Status limit_step(const std::string& agent, const std::string& ticket, std::uint32_t step, TimeLimit limit) = 0;
  // From the agents of the job's nodes; one that does not answer is an error.
  virtual Result<std::vector<wire::NodeUsage>> job_usage(JobId job) = 0;
  virtual Result<wire::NodeProcesses> processes(const std::string& agent) = 0;
  virtual Result<wire::AgentStatus> agent_status(const std::string& agent) = 0;
  virtual Result<std::vector<wire::FileFailure>> send_file(const wire::FilePlace& place, const wire::FileToSend& file,
                                                           const std::function<Result<std::string_view>()>& read) = 0;
  virtual Result<std::optional<wire::FileFailure>> fetch_file(const wire::FilePlace& place,
                                                              const wire::FileToFetch& file,
                                                              const wire::FetchSink& sink) = 0;
  // From now on cluster() has FUTURE nodes, too.
  virtual void see_future_nodes() = 0;
  // From now on jobs(), cluster() and reservations() are asked for as they were then.
  virtual void look_at(Time then) = 0;
  virtual Result<wire::JobEventTable> job_events(const state::JobTarget& target) = 0;
  // What jobs() answers, in pieces of a few hundred, which are gone when the next one comes.
  virtual Status jobs_in_pieces(const wire::JobFilter& filter, const wire::OnJobs& on_jobs) {
    SPUR_ASSIGN(const auto table, jobs(filter));
    return on_jobs(table);
  }
};

// Over the lean gRPC channel. Nothing is sent before the first call.
std::unique_ptr<Controller> make_wire_controller(wire::ClientOptions options, config::CommandDefaults defaults = {});

}  // namespace spur::cli
