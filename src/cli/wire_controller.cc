// SPDX-License-Identifier: Apache-2.0
// The interface of controller.h over wire::ControllerClient: one line a call, no logic.
#include "cli/controller.h"

#include <atomic>

namespace spur::cli {
namespace {

class WireController final : public Controller {
 public:
  WireController(wire::ClientOptions options, config::CommandDefaults defaults)
      : client_(may_give_up(std::move(options))), defaults_(std::move(defaults)) {}
  config::CommandDefaults defaults() const override { return defaults_; }

  Result<JobId> submit(const std::vector<model::JobSpec>& components, const std::string& token) override {
    return client_.submit(components, token);
  }
  Result<wire::JobExplanation> explain(JobId job, std::optional<std::uint32_t> array_task) override {
    return client_.explain(job, array_task);
  }
  Result<wire::Forecast> will_run(const std::vector<model::JobSpec>& components) override {
    return client_.will_run(components);
  }
  void look_at(Time then) override { client_.look_at(then); }
  Result<wire::JobEventTable> job_events(const state::JobTarget& target) override {
    return client_.job_events(target);
  }
  Result<wire::JobTable> jobs(const wire::JobFilter& filter) override { return client_.jobs(filter); }
  Status jobs_in_pieces(const wire::JobFilter& filter, const wire::OnJobs& on_jobs) override {
    return client_.jobs_in_pieces(filter, on_jobs);
  }
  Status watch_jobs(const wire::JobWatch& watch) override { return client_.watch_jobs(watch); }
  void give_up() override { *given_up_ = true; }
  Result<wire::ClusterTable> cluster() override { return client_.cluster(); }
  Result<model::ClusterConfig> config() override { return client_.config(); }
  Result<wire::PingReply> ping(std::size_t number) override { return client_.ping(number); }
  std::size_t controller_count() const override { return client_.controller_count(); }
  Result<wire::ControllerMembers> controllers() override { return client_.controllers(); }
  Status add_controller(const std::string& name, const std::string& address) override {
    return client_.add_controller(name, address);
  }
  Status remove_controller(const std::string& name) override { return client_.remove_controller(name); }
  Status cancel(const state::JobTarget& target, int signal, bool batch_only, bool full, bool cron) override {
    return client_.cancel(target, signal, batch_only, full, cron);
  }
  Result<std::vector<Status>> cancel_all(const std::vector<state::JobTarget>& targets, int signal, bool batch_only,
                                         bool full, bool cron) override {
    return client_.cancel_all(targets, signal, batch_only, full, cron);
  }
  Status hold(const state::JobTarget& target, model::Hold hold) override { return client_.hold(target, hold); }
  Status release(const state::JobTarget& target) override { return client_.release(target); }
  Status requeue(const state::JobTarget& target, model::AfterCompleting how) override {
    return client_.requeue(target, how);
  }
  Status suspend(const state::JobTarget& target, bool resume) override { return client_.suspend(target, resume); }
  Status update_job(const state::JobTarget& target, const model::JobSpec& spec,
                    const std::vector<std::string>& changed) override {
    return client_.update_job(target, spec, changed);
  }
  Status update_node(const state::UpdateNode& update) override { return client_.update_node(update); }
  Status create_nodes(const std::vector<model::NodeConfig>& nodes) override { return client_.create_nodes(nodes); }
  Status delete_nodes(const std::vector<std::string>& nodes) override { return client_.delete_nodes(nodes); }
  void see_future_nodes() override { client_.see_future_nodes(); }
  Result<wire::ReservationTable> reservations() override { return client_.reservations(); }
  Result<std::string> create_reservation(const model::ReservationChange& change) override {
    return client_.create_reservation(change);
  }
  Status update_reservation(const model::ReservationChange& change) override {
    return client_.update_reservation(change);
  }
  Status delete_reservation(const std::string& name) override { return client_.delete_reservation(name); }
  Result<wire::PriorityTable> priorities() override { return client_.priorities(); }
  Result<wire::ShareTable> shares() override { return client_.shares(); }
  Result<wire::AccountBookTable> account_book() override { return client_.account_book(); }
  Result<std::string> token(const std::string& user, seconds lifespan) override {
    return client_.token(user, lifespan);
  }
  Status edit_partition(wire::PartitionEdit how, const model::PartitionConfig& partition,
                        const std::vector<std::string>& changed) override {
    return client_.edit_partition(how, partition, changed);
  }
  Status reconfigure() override { return client_.reconfigure(); }
  Status shutdown(bool agents) override { return client_.shutdown(agents); }
  Result<wire::ControllerStatistics> statistics(bool reset) override { return client_.statistics(reset); }
  Status abort() override { return client_.abort(); }
  Status takeover(const std::string& successor) override { return client_.takeover(successor); }
  Status set_debug(const std::string& level, const std::string& nodes) override {
    return client_.set_debug(level, nodes);
  }
  Status set_debug_flags(const std::string& on, const std::string& off, const std::string& nodes) override {
    return client_.set_debug_flags(on, off, nodes);
  }
  Status log_scheduling(bool on) override { return client_.log_scheduling(on); }
  Status reset_usage(const std::vector<std::uint32_t>& associations, const std::vector<std::string>& qos) override {
    return client_.reset_usage(associations, qos);
  }
  Status top_jobs(const std::vector<JobId>& jobs) override { return client_.top_jobs(jobs); }
  Result<wire::CrontabOutcome> set_crontab(const model::Crontab& crontab,
                                           const std::vector<model::JobSpec>& specs) override {
    return client_.set_crontab(crontab, specs);
  }
  Result<std::optional<model::Crontab>> crontab(Uid user) override { return client_.crontab(user); }
  Status remove_crontab(Uid user) override { return client_.remove_crontab(user); }
  Result<std::vector<model::CronEntry>> cron_jobs() override { return client_.cron_jobs(); }
  Status set_trigger(const model::Trigger& trigger) override { return client_.set_trigger(trigger); }
  Status clear_triggers(const wire::TriggerFilter& which) override { return client_.clear_triggers(which); }
  Result<std::vector<model::Trigger>> triggers() override { return client_.triggers(); }
  Result<model::JobPtr> wait_job(JobId job, bool until_final,
                                 const wire::ControllerClient::OnNotice& on_notice) override {
    return client_.wait_job(job, until_final, on_notice);
  }
  Status notify_job(JobId job, const std::string& text) override { return client_.notify_job(job, text); }
  Status complete_allocation(JobId job, model::ExitStatus exit) override {
    return client_.complete_allocation(job, exit);
  }
  Result<wire::ControllerClient::StepTicket> step_ticket(JobId job) override { return client_.step_ticket(job); }
  Result<std::vector<wire::StepInfo>> steps(const std::string& agent) override {
    return wire::list_steps(agent, seconds(10));
  }
  Status signal_step(const std::string& agent, const std::string& ticket, std::uint32_t step, int signal) override {
    return wire::signal_step(agent, ticket, step, signal, seconds(10));
  }
  Status limit_step(const std::string& agent, const std::string& ticket, std::uint32_t step, TimeLimit limit) override {
    return wire::limit_step(agent, ticket, step, limit, kAgentTimeout);
  }
  Result<std::vector<wire::NodeUsage>> job_usage(JobId job) override {
    SPUR_ASSIGN(const auto ticket, client_.step_ticket(job));
    std::vector<wire::NodeUsage> out;
    for (const std::string& address : ticket.addresses) {
      SPUR_ASSIGN(auto node, wire::ask_usage(address, ticket.ticket, kAgentTimeout));
      out.push_back(std::move(node));
    }
    return out;
  }
  Result<wire::AgentStatus> agent_status(const std::string& agent) override {
    return wire::ask_agent_status(agent, kAgentTimeout);
  }
  Result<wire::NodeProcesses> processes(const std::string& agent) override {
    return wire::list_processes(agent, kAgentTimeout);
  }
  Result<std::vector<wire::FileFailure>> send_file(const wire::FilePlace& place, const wire::FileToSend& file,
                                                   const std::function<Result<std::string_view>()>& read) override {
    return wire::send_file(place, file, read);
  }
  Result<std::optional<wire::FileFailure>> fetch_file(const wire::FilePlace& place, const wire::FileToFetch& file,
                                                      const wire::FetchSink& sink) override {
    return wire::fetch_file(place, file, sink);
  }

 private:
  static constexpr Duration kAgentTimeout = seconds(10);
  wire::ClientOptions may_give_up(wire::ClientOptions options) {
    options.interrupted = [given_up = given_up_, before = std::move(options.interrupted)] {
      return *given_up || (before && before());
    };
    return options;
  }
  const std::shared_ptr<std::atomic<bool>> given_up_ = std::make_shared<std::atomic<bool>>(false);
  wire::ControllerClient client_;
  config::CommandDefaults defaults_;
};

}  // namespace

std::unique_ptr<Controller> make_wire_controller(wire::ClientOptions options, config::CommandDefaults defaults) {
  return std::make_unique<WireController>(std::move(options), std::move(defaults));
}

}  // namespace spur::cli
