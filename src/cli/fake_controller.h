// SPDX-License-Identifier: Apache-2.0
// For tests: a controller made of tables. Queries are answered from `job_table` and `cluster_table`, actions are
// written down in `calls`, and a request that names "nosuch" is refused the way the real one would. Nothing here is a
// model of scheduling.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cli/controller.h"
#include "spur/v1/types.pb.h"
#include "wire/job_codec.h"
#include "wire/spec_codec.h"

namespace spur::cli {

// As the controller sends it to who wants these fields: all others have their defaults.
inline model::JobPtr as_asked_for(const model::JobPtr& job, const wire::JobFields& fields) {
  if (fields == wire::JobFields::everything()) return job;
  v1::Job message;
  wire::record_to_proto(*job, &message, fields);
  wire::listed_to_proto(*job->spec, message.mutable_spec(), fields);
  auto copy = std::make_shared<model::Job>();
  SPUR_CHECK(wire::from_proto(message, copy.get(), nullptr, fields).has_value());
  return copy;
}

class FakeController : public Controller {
 public:
  wire::JobTable job_table;
  wire::ClusterTable cluster_table;
  std::optional<wire::ClusterTable> future_table;  // what -F sees
  model::ClusterConfig cluster_config;
  std::uint32_t next_id = 101;

  // What was asked for.
  std::vector<std::string> calls;
  std::vector<model::JobSpec> specs;
  std::vector<std::string> tokens;
  wire::JobFilter last_filter;
  std::vector<state::UpdateNode> node_updates;
  std::vector<std::string> changed;
  model::JobSpec changed_spec;

  // How to answer.
  std::map<std::uint32_t, ErrorCode> refuse_job;  // every action on these jobs
  std::vector<Error> submit_errors;               // handed out first, one each
  wire::ControllerClient::StepTicket ticket;
  wire::Forecast forecast;
  std::map<JobId, wire::JobExplanation> explanations;
  std::map<JobId, wire::JobEventTable> events;
  bool down = false;
  std::vector<wire::JobChanges> to_tell;  // to watchers

  Result<JobId> submit(const std::vector<model::JobSpec>& components, const std::string& token) override {
    tokens.push_back(token);
    if (down) return unreachable();
    if (!submit_errors.empty()) {
      const Error error = submit_errors.front();
      submit_errors.erase(submit_errors.begin());
      return std::unexpected(error);
    }
    for (const model::JobSpec& spec : components) SPUR_TRY(check(spec));
    specs.insert(specs.end(), components.begin(), components.end());
    const JobId first(next_id);
    next_id += static_cast<std::uint32_t>(components.size());
    return first;
  }
  Result<wire::Forecast> will_run(const std::vector<model::JobSpec>& components) override {
    for (const model::JobSpec& spec : components) {
      SPUR_TRY(check(spec));
      if (spec.tasks.value_or(1) > 16) return fail(ErrorCode::NodeConfigUnavailable);
    }
    return forecast;
  }
  Result<wire::JobExplanation> explain(JobId job, std::optional<std::uint32_t>) override {
    if (down) return unreachable();
    const auto found = explanations.find(job);
    if (found == explanations.end()) return fail(ErrorCode::InvalidJobId);
    return found->second;
  }
  void look_at(Time then) override { calls.push_back(fmt::format("look at {}", to_micros(then))); }
  Result<wire::JobEventTable> job_events(const state::JobTarget& target) override {
    if (down) return unreachable();
    const auto found = events.find(target.id);
    if (found == events.end()) return fail(ErrorCode::InvalidJobId);
    return found->second;
  }
  Result<wire::JobTable> jobs(const wire::JobFilter& filter) override {
    last_filter = filter;
    if (down) return unreachable();
    wire::JobTable answer = job_table;
    answer.jobs.clear();
    bool known = filter.jobs.empty();
    for (const model::JobPtr& job : job_table.jobs) {
      if (!named(*job, filter)) continue;
      known = true;
      if (matches(*job, filter)) answer.jobs.push_back(as_asked_for(job, filter.fields));
    }
    answer.unknown_job = !known;
    if (!filter.fields.has(wire::JobField::expected_start)) answer.expected_starts.clear();
    if (!filter.fields.has(wire::JobField::planned_nodes)) answer.planned_nodes.clear();
    return answer;
  }
  // The jobs of the table, then what the test has to tell; then the time is over.
  Status watch_jobs(const wire::JobWatch& watch) override {
    SPUR_ASSIGN(auto table, jobs(watch.filter));
    wire::JobChanges first{.resync = true, .current = true, .table = std::move(table), .gone = {}};
    if (!watch.on_changes(first)) return {};
    for (wire::JobChanges next : to_tell)
      if (!watch.on_changes(next)) return {};
    return fail(ErrorCode::TimedOut);
  }
  Result<wire::ClusterTable> cluster() override {
    if (down) return unreachable();
    if (sees_future_nodes) return future_table ? *future_table : cluster_table;
    return cluster_table;
  }
  Result<model::ClusterConfig> config() override { return cluster_config; }
  Result<wire::PingReply> ping(std::size_t number) override {
    if (down) return unreachable();
    return wire::PingReply{number == 0 ? "head" : "head2", "0.1.0", "test", number == 0, {}};
  }
  std::size_t controller_count() const override { return 1; }
  Result<wire::ControllerMembers> controllers() override {
    if (down) return unreachable();
    return wire::ControllerMembers{
        "test", "f00d", {{"head", "10.0.0.1", "https://10.0.0.1:2380", true, false}, {"new", "new", "x", true, true}}};
  }
  Status add_controller(const std::string& name, const std::string& address) override {
    if (name == "nosuch") return fail(ErrorCode::AlreadyExists, name + " is a controller already");
    calls.push_back(fmt::format("add controller {} at {}", name, address));
    return {};
  }
  Status remove_controller(const std::string& name) override {
    if (name == "nosuch") return fail(ErrorCode::NotFound, name + " is none of the controllers head, new");
    calls.push_back(fmt::format("remove controller {}", name));
    return {};
  }

  Status cancel(const state::JobTarget& target, int signal, bool batch_only, bool full, bool cron) override {
    return act(fmt::format("cancel {} signal={}{}{}{}", text(target), signal, batch_only ? " batch" : "",
                           full ? " full" : "", cron ? " cron" : ""),
               target);
  }
  Result<std::vector<Status>> cancel_all(const std::vector<state::JobTarget>& targets, int signal, bool batch_only,
                                         bool full, bool cron) override {
    if (down) return unreachable();
    std::vector<Status> out;
    for (const state::JobTarget& target : targets) out.push_back(cancel(target, signal, batch_only, full, cron));
    return out;
  }
  Status hold(const state::JobTarget& target, model::Hold hold) override {
    return act(fmt::format("hold {} {}", text(target), hold == model::Hold::Admin ? "admin" : "user"), target);
  }
  Status release(const state::JobTarget& target) override {
    return act(fmt::format("release {}", text(target)), target);
  }
  Status requeue(const state::JobTarget& target, model::AfterCompleting how) override {
    return act(fmt::format("requeue {} {}", text(target), static_cast<int>(how)), target);
  }
  Status suspend(const state::JobTarget& target, bool resume) override {
    return act(fmt::format("{} {}", resume ? "resume" : "suspend", text(target)), target);
  }
  Status update_job(const state::JobTarget& target, const model::JobSpec& spec,
                    const std::vector<std::string>& names) override {
    changed = names;
    changed_spec = spec;
    SPUR_TRY(check(spec));
    return act(fmt::format("update {} {}", text(target), fmt::join(names, ",")), target);
  }
  Status update_node(const state::UpdateNode& update) override {
    for (const std::string& name : update.nodes)
      if (std::ranges::none_of(cluster_table.nodes, [&](const auto& node) { return node->name == name; }))
        return fail(ErrorCode::InvalidNode);
    node_updates.push_back(update);
    return {};
  }
  std::vector<model::NodeConfig> created_nodes;
  Status create_nodes(const std::vector<model::NodeConfig>& nodes) override {
    for (const auto& row : nodes)
      if (std::ranges::any_of(cluster_table.nodes, [&](const auto& node) { return node->name == row.name; }))
        return fail(ErrorCode::AlreadyExists, fmt::format("Node '{}' already exists in the node table", row.name));
    created_nodes = nodes;
    calls.push_back(fmt::format("create {} nodes", nodes.size()));
    return {};
  }
  Status delete_nodes(const std::vector<std::string>& nodes) override {
    if (nodes.front() == "nosuch") return fail(ErrorCode::InvalidNode, "failed to delete nodes nosuch");
    calls.push_back(fmt::format("delete node {}", fmt::join(nodes, ",")));
    return {};
  }
  bool sees_future_nodes = false;
  void see_future_nodes() override { sees_future_nodes = true; }
  wire::ReservationTable reservation_table;
  wire::PriorityTable priority_table;
  wire::ShareTable share_table;
  Result<wire::ReservationTable> reservations() override {
    if (down) return unreachable();
    return reservation_table;
  }
  Result<std::string> create_reservation(const model::ReservationChange& change) override {
    note(change, "create");
    if (change.nodes == "nosuch") return fail(ErrorCode::InvalidNode);
    if (knows(change.name)) return fail(ErrorCode::ReservationNameTaken);
    if (change.node_counts == std::vector<std::uint32_t>{99}) return fail(ErrorCode::NodesBusy);
    return change.name.empty() ? "root_1" : change.name;
  }
  Status update_reservation(const model::ReservationChange& change) override {
    note(change, "update");
    if (!knows(change.name)) return fail(ErrorCode::InvalidReservation);
    return {};
  }
  Status delete_reservation(const std::string& name) override {
    calls.push_back("delete reservation " + name);
    if (name == "busy") return fail(ErrorCode::ReservationBusy);
    if (!knows(name)) return fail(ErrorCode::InvalidReservation);
    return {};
  }
  Result<wire::PriorityTable> priorities() override {
    if (down) return unreachable();
    return priority_table;
  }
  wire::AccountBookTable book;
  Result<wire::AccountBookTable> account_book() override {
    if (down) return unreachable();
    return book;
  }
  Result<std::string> token(const std::string& user, seconds lifespan) override {
    calls.push_back(fmt::format("token {} {}", user, lifespan.count()));
    if (!refuse_token) return "a.b.c";
    return fail(*refuse_token);
  }
  std::optional<ErrorCode> refuse_token;
  Status notify_job(JobId id, const std::string& text) override {
    calls.push_back(fmt::format("notify {} {}", id.value, text));
    if (const auto refused = refuse_job.find(id.value); refused != refuse_job.end()) return fail(refused->second);
    return {};
  }
  Result<wire::ShareTable> shares() override {
    if (down) return unreachable();
    return share_table;
  }
  Status edit_partition(wire::PartitionEdit how, const model::PartitionConfig& partition,
                        const std::vector<std::string>& fields) override {
    std::string call = how == wire::PartitionEdit::Create   ? "create"
                       : how == wire::PartitionEdit::Update ? "update"
                                                            : "delete";
    call += " partition " + partition.name;
    for (const std::string& field : fields) call += " " + field;
    calls.push_back(std::move(call));
    const bool known =
        std::ranges::any_of(cluster_table.partitions, [&](const auto& p) { return p.config.name == partition.name; });
    if (known == (how == wire::PartitionEdit::Create)) return fail(ErrorCode::InvalidPartition);
    if (partition.nodes == "nosuch") return fail(ErrorCode::InvalidNode);
    changed_partition = partition;
    return {};
  }
  model::PartitionConfig changed_partition;
  Status reconfigure() override {
    calls.push_back("reconfigure");
    return {};
  }
  Status shutdown(bool agents) override {
    calls.push_back(agents ? "shutdown all" : "shutdown");
    return {};
  }
  Result<wire::ControllerStatistics> statistics(bool reset) override {
    if (down) return unreachable();
    if (reset) calls.push_back("reset statistics");
    return controller_statistics;
  }
  wire::ControllerStatistics controller_statistics;
  Status abort() override { return calls.push_back("abort"), Status{}; }
  Status takeover(const std::string& successor) override { return calls.push_back("takeover " + successor), Status{}; }
  Status set_debug(const std::string& level, const std::string& nodes) override {
    calls.push_back("debug " + level + (nodes.empty() ? "" : " of " + nodes));
    return {};
  }
  Status set_debug_flags(const std::string& on, const std::string& off, const std::string& nodes) override {
    calls.push_back(fmt::format("debug flags +{} -{}{}{}", on, off, nodes.empty() ? "" : " of ", nodes));
    return {};
  }
  bool scheduler_has_log = false;
  Status log_scheduling(bool on) override {
    if (!scheduler_has_log) return fail(ErrorCode::RequestDisabled, std::string(slurm_message(ErrorCode::RequestDisabled)));
    calls.push_back(fmt::format("scheduler's log {}", on ? "on" : "off"));
    return {};
  }
  Status reset_usage(const std::vector<std::uint32_t>& associations, const std::vector<std::string>& qos) override {
    std::string call = "reset usage";
    for (const std::uint32_t id : associations) call += fmt::format(" {}", id);
    for (const std::string& name : qos) call += " " + name;
    calls.push_back(std::move(call));
    return {};
  }
  Result<wire::CrontabOutcome> set_crontab(const model::Crontab& table,
                                           const std::vector<model::JobSpec>& wanted) override {
    if (down) return unreachable();
    if (no_crontabs) return fail(ErrorCode::RequestDisabled);
    std::string call = "crontab:";
    for (std::size_t i = 0; i < wanted.size(); ++i)
      call += fmt::format(" [{}-{} '{}' {}]", table.entries[i].first_line, table.entries[i].last_line,
                          table.entries[i].schedule, wanted[i].name);
    calls.push_back(std::move(call));
    cron_specs = wanted;
    if (crontab_refusal.first_line > 0) return std::exchange(crontab_refusal, {});
    crontabs[table.user] = table;
    wire::CrontabOutcome outcome;
    for (std::uint32_t i = 0; i < wanted.size(); ++i) outcome.jobs.emplace_back(700 + i);
    return outcome;
  }
  Result<std::optional<model::Crontab>> crontab(Uid user) override {
    if (down) return unreachable();
    if (no_crontabs) return fail(ErrorCode::RequestDisabled);
    const auto found = crontabs.find(user);
    return found == crontabs.end() ? std::nullopt : std::optional(found->second);
  }
  Status remove_crontab(Uid user) override {
    calls.push_back("remove crontab");
    if (crontabs.erase(user) == 0) return fail(ErrorCode::NotFound);
    return {};
  }
  Result<std::vector<model::CronEntry>> cron_jobs() override { return cron_entries; }
  Status set_trigger(const model::Trigger& trigger) override {
    set_triggers.push_back(trigger);
    return trigger_error;
  }
  Status clear_triggers(const wire::TriggerFilter& which) override {
    calls.push_back(fmt::format("clear triggers id={} job={} user={}", which.id, which.job.value,
                                which.user ? static_cast<int>(which.user->value) : -1));
    return trigger_error;
  }
  Result<std::vector<model::Trigger>> triggers() override {
    if (down) return unreachable();
    return set_triggers;
  }
  std::map<Uid, model::Crontab> crontabs;
  std::vector<model::JobSpec> cron_specs;
  wire::CrontabOutcome crontab_refusal;  // of the next one, if it has a line
  bool no_crontabs = false;
  std::vector<model::CronEntry> cron_entries;
  std::vector<model::Trigger> set_triggers;
  Status trigger_error;
  Status top_jobs(const std::vector<JobId>& ids) override {
    std::string call = "top";
    for (const JobId id : ids) call += fmt::format(" {}", id.value);
    calls.push_back(std::move(call));
    return {};
  }
  Result<model::JobPtr> wait_job(JobId id, bool until_final,
                                 const wire::ControllerClient::OnNotice& on_notice) override {
    for (const std::string& text : notices)
      if (on_notice) on_notice(text);
    calls.push_back(fmt::format("wait {} {}", id.value, until_final ? "end" : "start"));
    if (on_wait) on_wait(*this);
    for (const model::JobPtr& job : job_table.jobs)
      if (job->id == id) return job;
    return fail(ErrorCode::InvalidJobId);
  }
  std::vector<std::string> notices;
  Status complete_allocation(JobId id, model::ExitStatus exit) override {
    calls.push_back(fmt::format("complete {} {}:{}", id.value, exit.code, exit.signal));
    return {};
  }
  Result<wire::ControllerClient::StepTicket> step_ticket(JobId id) override {
    calls.push_back(fmt::format("ticket {}", id.value));
    if (const auto refused = refuse_job.find(id.value); refused != refuse_job.end()) return fail(refused->second);
    return ticket;
  }
  Result<std::vector<wire::StepInfo>> steps(const std::string& agent) override {
    calls.push_back("steps of " + agent);
    return running_steps;
  }
  Status signal_step(const std::string& agent, const std::string&, std::uint32_t step, int signal) override {
    calls.push_back(fmt::format("signal step {} at {} with {}", step, agent, signal));
    return {};
  }
  Status limit_step(const std::string& agent, const std::string&, std::uint32_t step, TimeLimit limit) override {
    calls.push_back(fmt::format("limit step {} at {} to {}", step, agent, limit.raw()));
    return {};
  }
  std::vector<wire::StepInfo> running_steps;
  Result<std::vector<wire::NodeUsage>> job_usage(JobId id) override {
    calls.push_back(fmt::format("usage {}", id.value));
    if (const auto refused = refuse_job.find(id.value); refused != refuse_job.end()) return fail(refused->second);
    return usage;
  }
  std::vector<wire::NodeUsage> usage;
  config::CommandDefaults defaults() const override { return site; }
  config::CommandDefaults site;
  Result<wire::AgentStatus> agent_status(const std::string& agent) override {
    calls.push_back("status of " + agent);
    return agent_statuses.contains(agent) ? Result<wire::AgentStatus>(agent_statuses[agent]) : fail(ErrorCode::Unreachable, "");
  }
  std::map<std::string, wire::AgentStatus> agent_statuses;
  Result<wire::NodeProcesses> processes(const std::string& agent) override {
    calls.push_back("processes of " + agent);
    return node_processes;
  }
  wire::NodeProcesses node_processes;
  Result<std::vector<wire::FileFailure>> send_file(const wire::FilePlace& place, const wire::FileToSend& file,
                                                   const std::function<Result<std::string_view>()>& read) override {
    std::string nodes;
    for (const auto& node : place.nodes) nodes += " " + node;
    calls.push_back(fmt::format("send {} {:o}{}{}{}{} to{}", file.path, file.mode, file.replace ? " replace" : "",
                                file.directory ? " directory" : "", file.compress ? " compress" : "",
                                file.times ? " times" : "", nodes));
    std::string content;
    while (!file.directory) {
      SPUR_ASSIGN(const auto piece, read());
      if (piece.empty()) break;
      content += piece;
    }
    sent.push_back(content);
    return file_failures;
  }
  Result<std::optional<wire::FileFailure>> fetch_file(const wire::FilePlace& place, const wire::FileToFetch& file,
                                                      const wire::FetchSink& sink) override {
    calls.push_back(fmt::format("fetch {}{} from {}", file.path, file.remove ? " remove" : "", place.nodes.front()));
    if (!file_failures.empty()) return file_failures.front();
    for (const auto& [entry, data] : fetched) {
      SPUR_TRY(sink.entry(entry));
      if (!data.empty()) SPUR_TRY(sink.data(data));
    }
    SPUR_TRY(sink.complete());
    return std::optional<wire::FileFailure>{};
  }
  std::vector<std::string> sent;
  std::vector<wire::FileFailure> file_failures;
  std::vector<std::pair<wire::FetchedEntry, std::string>> fetched;
  std::function<void(FakeController&)> on_wait;

 private:
  static std::string text(const state::JobTarget& target) {
    return target.tasks ? fmt::format("{}_[{}]", target.id.value, target.tasks->to_string())
                        : fmt::format("{}", target.id.value);
  }
  bool knows(const std::string& name) const {
    return std::ranges::any_of(reservation_table.rows, [&](const auto& row) { return row.reservation.name == name; });
  }
  // All that a change says, in a line.
  void note(const model::ReservationChange& change, const char* verb) {
    std::string call = fmt::format("{} reservation {}", verb, change.name);
    const auto add = [&](const char* key, std::string value) { call += fmt::format(" {}={}", key, value); };
    if (is_set(change.start)) add("start", fmt::format("{}", to_unix_seconds(change.start)));
    if (is_set(change.end)) add("end", fmt::format("{}", to_unix_seconds(change.end)));
    static constexpr const char* kEdits[] = {"", "+", "-"};
    if (change.duration)
      add("duration", fmt::format("{}{}", kEdits[static_cast<int>(change.duration_how)], change.duration->count()));
    if (change.nodes) add("nodes", *change.nodes);
    for (const std::uint32_t n : change.node_counts) add("nodecnt", std::to_string(n));
    for (const std::uint32_t n : change.core_counts) add("corecnt", std::to_string(n));
    for (const auto& row : change.tres) add("tres", fmt::format("{}:{}", row.tres, row.count));
    if (change.features) add("features", *change.features);
    if (change.partition) add("partition", *change.partition);
    if (change.comment) add("comment", *change.comment);
    if (change.burst_buffer) add("bb", *change.burst_buffer);
    if (change.licenses)
      for (const auto& row : *change.licenses) add("license", fmt::format("{}:{}", row.name, row.count));
    const auto names = [&](const char* key, const std::optional<model::NamesEdit>& edit) {
      if (!edit) return;
      std::string list;
      for (const std::string& name : edit->names) list += (list.empty() ? "" : ",") + name;
      add(key, kEdits[static_cast<int>(edit->how)] + list);
    };
    names("users", change.users);
    names("groups", change.groups);
    names("accounts", change.accounts);
    names("qos", change.qos);
    if (change.flags_on) add("on", fmt::format("{:#x}", change.flags_on));
    if (change.flags_off) add("off", fmt::format("{:#x}", change.flags_off));
    if (change.purge_after) add("purge", fmt::format("{}", change.purge_after->count()));
    if (change.max_start_delay) add("delay", fmt::format("{}", change.max_start_delay->count()));
    calls.push_back(std::move(call));
  }
  static std::unexpected<Error> unreachable() { return fail(ErrorCode::Unreachable); }

  Status act(std::string call, const state::JobTarget& target) {
    calls.push_back(std::move(call));
    if (const auto refused = refuse_job.find(target.id.value); refused != refuse_job.end())
      return fail(refused->second);
    const bool known = std::ranges::any_of(job_table.jobs, [&](const model::JobPtr& job) {
      return job->id == target.id || job->array_job == target.id;
    });
    if (!known) return fail(ErrorCode::InvalidJobId);
    return {};
  }

  static Status check(const model::JobSpec& spec) {
    for (const std::string& name : spec.partitions)
      if (name == "nosuch") return fail(ErrorCode::InvalidPartition);
    if (spec.features == "nosuch") return fail(ErrorCode::InvalidFeature);
    if (spec.required_nodes == "nosuch") return fail(ErrorCode::InvalidNode);
    if (spec.reservation == "nosuch") return fail(ErrorCode::InvalidReservation);
    if (!spec.licenses.empty() && spec.licenses[0].name == "nosuch") return fail(ErrorCode::InvalidLicense);
    if (!spec.gres.empty() && spec.gres[0].name == "nosuch") return fail(ErrorCode::InvalidGres);
    if (spec.memory_per_node_mib.value_or(0) > 900'000) return fail(ErrorCode::InvalidMemory);
    if (spec.nice < 0) return fail(ErrorCode::InvalidNice);
    return {};
  }

  static bool named(const model::Job& job, const wire::JobFilter& filter) {
    if (filter.jobs.empty()) return true;
    return std::ranges::any_of(filter.jobs, [&](const state::JobTarget& target) {
      if (!target.tasks) return job.id == target.id || job.array_job == target.id;
      if (job.array_job != target.id) return false;
      if (job.array_task) return target.tasks->contains(*job.array_task);
      return job.array_pending && !job.array_pending->intersect(*target.tasks).empty();
    });
  }
  template <class T>
  static bool among(const std::vector<T>& wanted, const T& value) {
    return wanted.empty() || std::ranges::find(wanted, value) != wanted.end();
  }
  bool matches(const model::Job& job, const wire::JobFilter& filter) const {
    const model::JobSpec& spec = *job.spec;
    if (!among(filter.users, spec.uid) || !among(filter.accounts, spec.account) || !among(filter.names, spec.name))
      return false;
    if (!filter.partitions.empty() &&
        std::ranges::none_of(spec.partitions, [&](const auto& p) { return among(filter.partitions, p); }))
      return false;
    if (!filter.nodes.empty()) {
      const bool there =
          job.allocation && std::ranges::any_of(job.allocation->nodes, [&](const model::NodeGrant& grant) {
            return among(filter.nodes, job_table.node_names[grant.node.value]);
          });
      if (!there) return false;
    }
    if (filter.all_states) return true;
    if (filter.states.empty()) return !model::is_final(job.state) || (job.flags & model::kCompleting) != 0;
    return std::ranges::any_of(filter.states, [&](const auto& state) { return state.matches(job.state, job.flags); });
  }
};

}  // namespace spur::cli
