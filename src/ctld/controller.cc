// SPDX-License-Identifier: Apache-2.0
// Start-up, the commit loop's aftermath, planning, timers and snapshots. Requests are in controller_requests.cc.
#include "ctld/controller.h"
#include "ctld/usage_clock.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "ctld/history.h"
#include "ctld/job_completion.h"
#include "model/power.h"
#include "model/spent_minutes.h"
#include "sched/reservation_choice.h"
#include "state/reservations.h"
#include "text/hostlist.h"
#include "wire/command_codec.h"

namespace spur::ctld {
namespace {

// Commands after which waiting jobs may have become able to start.
bool frees_or_adds_work(const state::Command& command) {
  return !std::holds_alternative<state::StartJob>(command) && !std::holds_alternative<state::SetReasons>(command) &&
         !std::holds_alternative<state::PurgeJobs>(command) &&
         !std::holds_alternative<state::MarkKillSent>(command) &&
         !std::holds_alternative<state::OutboxAcked>(command) && !std::holds_alternative<state::StepsEnded>(command);
}

// A command per job; the components of a heterogeneous job are one.
std::vector<state::StartJob> joined(std::vector<sched::Start> starts) {
  std::vector<state::StartJob> commands;
  commands.reserve(starts.size());
  for (auto& start : starts) {
    if (start.group && start.group != start.job)
      commands.back().others.push_back({start.job, std::move(start.allocation), start.limit});
    else
      commands.push_back({start.job, start.array_task, std::move(start.allocation), start.limit});
  }
  return commands;
}

}  // namespace

Controller::Controller(Doors doors)
    : doors_(std::move(doors)),
      cluster_(std::make_unique<state::Cluster>()),
      commits_(doors_.clock, doors_.journal, cluster_,
               {.post = doors_.post,
                .publish = [this] { publish(); },
                .applied = [this](const auto& effects) { on_applied(effects); },
                .fatal = [this](const Error& error) { doors_.fatal(error); },
                .log = [this](std::string line) { doors_.log(std::move(line)); },
                .account = doors_.account,
                .record = doors_.history ? [this](AppliedBatch done) { doors_.history->add(std::move(done)); }
                                         : std::function<void(AppliedBatch)>{}}),
      dispatcher_(doors_.clock, doors_.agents,
                  {.view = [this]() -> const model::View& { return cluster_->view(); },
                   .propose = [this](state::Command c, auto then) { propose(std::move(c), std::move(then)); },
                   .propose_repeated = [this](state::Command c,
                                              auto then) { propose(std::move(c), std::move(then), IfFull::Refuse); },
                   .log = [this](std::string line) { doors_.log(std::move(line)); },
                   .surely_leads = [this] { return doors_.journal.is_current(); },
                   .programs = doors_.programs,
                   .prolog_done = [this](JobId job) { answer_waiters(job); },
                   .run_power_program = [this](const auto& order) { queue_power_program(order); },
                   .loads = loads_.get()}),
      expected_starts_(std::make_shared<ExpectedStarts>()) {}

Status Controller::start(model::ClusterConfig config, std::function<void(Status)> ready) {
  SPUR_ASSIGN(auto recovery, doors_.journal.recover());
  if (!recovery.notice.empty()) doors_.log("warning: " + recovery.notice);
  if (recovery.snapshot_index > 0) {
    SPUR_ASSIGN(auto image, wire::decode_image(recovery.snapshot));
    image_bytes_ = recovery.snapshot.size();
    SPUR_ASSIGN(cluster_, state::Cluster::from_image(std::move(image)));
    if (doors_.outbox_begins) doors_.outbox_begins(cluster_->outbox());
  }
  if (doors_.history) {
    const std::uint64_t last = recovery.snapshot_index + recovery.entries.size();
    Time from = cluster_->view().as_of;
    if (recovery.snapshot_index == 0 && !recovery.entries.empty()) {
      SPUR_ASSIGN(const auto first, wire::decode_batch(recovery.entries.front()));
      from = first.at;
    }
    doors_.history->begin({recovery.snapshot_index, from, std::move(recovery.snapshot)},
                          doors_.journal.shared() ? std::nullopt : std::optional(last));
  }
  recovery.snapshot = {};
  for (const auto& entry : recovery.entries) {
    SPUR_ASSIGN(const auto batch, wire::decode_batch(entry));
    replay(cluster_->index() + 1, entry, batch);
  }
  (void)cluster_->take_changes();
  own_config_ = std::move(config);
  if (!doors_.journal.shared()) {
    publish();
    lead(true, ready);
    return {};
  }
  commits_.close({ErrorCode::NotLeader, "this controller does not lead"});
  publish();
  follow();
  ready({});
  return {};
}

// A batch that is in the journal, whoever put it there.
void Controller::replay(std::uint64_t index, const std::string& entry, const state::Batch& batch) {
  std::vector<state::OutboxRecord> records;
  const model::View before = cluster_->view();
  const std::uint64_t acked = cluster_->outbox().acked;
  auto outcomes = cluster_->apply(index, batch, nullptr, doors_.account ? &records : nullptr);
  if (!records.empty()) doors_.account(cluster_->outbox().born, std::move(records));
  if (doors_.outbox_acked && cluster_->outbox().acked > acked) doors_.outbox_acked(cluster_->outbox().acked);
  if (doors_.history)
    doors_.history->add({index, entry, batch, std::move(outcomes), before, cluster_->view(), batch.at});
}

void Controller::set_config(model::ClusterConfig config, DoneReply reply, std::optional<Uid> by) {
  propose(
      state::SetConfig{std::move(config)},
      [this, reply = std::move(reply)](const state::Outcome& outcome) {
        for (const std::string& note : outcome.notes) doors_.log("warning: " + note);
        reply(outcome.status);
      },
      IfFull::Refuse, by);
}

void Controller::propose(state::Command command, CommitQueue::Then then, IfFull if_full, std::optional<Uid> by) {
  if (frees_or_adds_work(command)) {
    commits_.push(
        std::move(command),
        [this, then = std::move(then)](const state::Outcome& outcome) {
          if (outcome.status && ready_) pace_.want();
          if (then) then(outcome);
        },
        if_full, by);
  } else {
    commits_.push(std::move(command), std::move(then), if_full, by);
  }
  commits_.pump();
}

void Controller::on_applied(const std::vector<state::Effect>& effects) {
  for (const auto& effect : effects) dispatcher_.carry_out(effect);
  note_changes();
  maybe_plan();
  maybe_snapshot();
}

void Controller::note_changes() {
  const auto changes = cluster_->take_changes();
  const auto before = std::exchange(before_, nullptr);
  const Time now = std::max(doors_.clock.now(), cluster_->view().as_of);
  MailWatch::Mails mails;
  std::vector<io::ControllerHooks::Completion> completions;
  const bool notes = ready_ && before && !completion_file(config()).empty();
  for (const JobId id : changes.jobs) {
    if (doors_.statistics && before)
      doors_.statistics->job_changed(model::find_job(before->view, id), model::find_job(cluster_->view(), id));
    clocks_.update(cluster_->view(), id);
    if (before && doors_.traces_jobs && doors_.traces_jobs())
      trace_job(model::find_job(before->view, id), model::find_job(cluster_->view(), id));
    if (ready_ && before && logs_scheduling())
      log_scheduling(model::find_job(before->view, id), model::find_job(cluster_->view(), id));
    if (const model::Job* job = notes ? model::find_job(cluster_->view(), id) : nullptr;
        job && has_completed(model::find_job(before->view, id), *job))
      completions.push_back(completion_of(cluster_->view(), *job));
    if (ready_ && before && doors_.programs) mails_.on_change(before->view, cluster_->view(), id, now, &mails);
    if (const model::Job* over = model::find_job(cluster_->view(), id);
        ready_ && over && (over->flags & model::kCronWaits))
      schedule_cron(*over);
    if (waiters_.empty() && notices_.empty()) continue;
    answer_waiters(id);
    if (!notices_.empty() && is_over(id)) notices_.erase(id);
    const model::Job* job = model::find_job(cluster_->view(), id);
    if (job && job->array_job && job->array_job != id) answer_waiters(job->array_job);
  }
  send_mail(std::move(mails));
  note_completions(std::move(completions));
  if (!cluster_->triggers().empty() && (!changes.jobs.empty() || !changes.nodes.empty())) watch_triggers(false);
  if (ready_ && changes.config) note_daemon_event(model::kTriggerReconfig);
  if (ready_) note_backlog();
  if (ready_ && changes.reservations) run_reservation_programs();
  if (!cluster_->view().reservations->empty() || changes.reservations)
    reservations_due_ = state::reservations_due(cluster_->view());
  if (!changes.config) return;
  expected_starts_ = std::make_shared<ExpectedStarts>();  // nodes may have other numbers now
  clocks_.rebuild(cluster_->view());
  dispatcher_.on_config();
}

void Controller::trace_job(const model::Job* before, const model::Job* job) {
  const auto name = [](const model::Job* one) {
    return one ? model::long_name(one->state, one->flags) : std::string_view("nothing");
  };
  const model::Job* known = job ? job : before;
  if (known && name(before) != name(job))
    doors_.log(fmt::format("about TraceJobs: JobId={} {} -> {}", known->id.value, name(before), name(job)));
}

// In Slurm's words.
void Controller::log_scheduling(const model::Job* before, const model::Job* job) {
  if (!job) return;
  const auto state_of = [](const model::Job* one) { return one ? one->state : model::JobState::Pending; };
  if (state_of(before) == model::JobState::Pending && model::is_active(job->state) && job->allocation) {
    std::vector<NodeIndex> nodes;
    for (const model::NodeGrant& grant : job->allocation->nodes) nodes.push_back(grant.node);
    return doors_.log(fmt::format("sched: JobId={} allocated resources: NodeList={}", job->id.value,
                                  model::node_list(cluster_->view(), nodes)));
  }
  if (job->state != model::JobState::Pending || job->reason == model::Reason::None) return;
  if (before && before->reason == job->reason) return;
  std::string partitions = fmt::format("{}", fmt::join(job->spec->partitions, ","));
  if (const auto* usual = model::default_partition(cluster_->view()); partitions.empty() && usual)
    partitions = usual->config.name;
  doors_.log(fmt::format("sched: JobId={}. State=PENDING. Reason={}. Partition={}.", job->id.value,
                         model::reason_name(job->reason), partitions));
}

void Controller::send_mail(MailWatch::Mails mails) {
  for (auto& mail : mails) {
    const std::string subject = mail.subject;
    doors_.programs->mail(std::move(mail), [this, subject](const Status& status) {
      if (!status) doors_.log(fmt::format("error: mail \"{}\" was not sent: {}", subject, status.error().message));
    });
  }
}

void Controller::publish() {
  // Who follows counts nothing, and would keep an old picture.
  if (ready_ && (doors_.statistics || doors_.programs) && !before_) before_ = picture_;
  picture_ = std::make_shared<const Picture>(Picture{cluster_->view(), expected_starts_, ready_, loads_});
  doors_.publish(picture_);
}

void Controller::shut_agents_down() {
  cluster_->view().nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
    doors_.agents.send(node->name, model::ControllerShutdown{});
  });
}

Status Controller::debug_agents(const std::string& nodes, const model::ControllerDebug& debug) {
  SPUR_ASSIGN(const auto names, text::expand_hostlist(nodes));
  for (const std::string& name : names)
    if (!model::find_node(cluster_->view(), name))
      return fail(ErrorCode::InvalidNode, std::string(slurm_message(ErrorCode::InvalidNode)));
  for (const std::string& name : names) doors_.agents.send(name, debug);
  return {};
}

// ---- planning: one plan at a time; the next one sees the starts of the last one applied.

void Controller::want_plan() {
  pace_.want();
  maybe_plan();
}

void Controller::maybe_plan() {
  if (!ready_ || planning_) return;
  const Duration mono = doors_.clock.monotonic();
  if (mono < held_until()) return;
  const auto kind = pace_.ask(mono);
  if (!kind) return;  // next_timer() brings us back
  if (logs_scheduling())
    doors_.log(*kind == PlanKind::Full ? "sched: Running job scheduler for full queue."
                                       : "sched: Running job scheduler for default depth.");
  planning_ = plan_asked_ = true;
  doors_.request_plan(picture_, std::max(doors_.clock.now(), cluster_->view().as_of), *kind);
}

Duration Controller::held_until() const {
  return nodes_of_host_.empty() ? Duration{0} : burst_.hold_until();
}

// Whoever is waiting for his job to start does not wait for others to be through with submitting.
void Controller::note_submit(const model::JobSpec& spec) {
  const Duration mono = doors_.clock.monotonic();
  if (spec.kind == model::JobKind::Batch)
    burst_.submitted(mono, doors_.batch_sched_delay);
  else
    burst_.cut(mono);
}

void Controller::on_accounted(std::uint64_t number) {
  propose(state::OutboxAcked{number}, {}, IfFull::Refuse);
}

void Controller::plan_done(sched::Plan plan) {
  if (void_plans_ > 0) {
    --void_plans_;
    return;
  }
  SPUR_CHECK(planning_);
  plan_asked_ = false;
  pace_.answered(plan, doors_.clock.monotonic());
  plan_wake_at_ = plan.wake_at;

  state::SetReasons reasons;
  // A quick answer speaks of promises only; what the last full cycle told the others stands.
  auto expected =
      plan.full ? std::make_shared<ExpectedStarts>() : std::make_shared<ExpectedStarts>(*expected_starts_);
  for (const auto& start : plan.starts) expected->erase(start.job);
  for (auto& wait : plan.waits) {
    if (is_set(wait.expected_start))
      expected->insert_or_assign(
          wait.job, Expected{wait.expected_start, std::make_shared<std::vector<NodeIndex>>(std::move(wait.nodes))});
    const auto* job = cluster_->view().pending.find(wait.job.value);
    if (job && (*job)->reason != wait.reason) reasons.rows.push_back({wait.job, wait.reason, wait.expected_start});
  }
  if (!plan.more) expected_starts_ = std::move(expected);  // else nothing was said about those who wait

  std::vector<state::StartJob> starts = joined(std::move(plan.starts));
  starts_open_ = plan.given_up.size() + plan.resumes.size() + starts.size() + plan.preemptions.size() + 1;
  const auto settled = [this](const state::Outcome&) {
    if (--starts_open_ == 0) planning_ = false;
  };
  for (const JobId job : plan.given_up) commits_.push(state::PreemptJobs{job, nullptr, {}}, settled);
  for (const JobId job : plan.resumes) commits_.push(state::ResumeJob{record_target(job)}, settled);
  for (auto& start : starts) {
    commits_.push(std::move(start), [this, settled](const state::Outcome& outcome) {
      // A stale proposal: the world moved on while planning. Plan again on the new picture.
      if (!outcome.status) pace_.want();
      settled(outcome);
    });
  }
  for (auto& preemption : plan.preemptions) propose_preemption(std::move(preemption));
  if (!reasons.rows.empty()) {
    commits_.push(std::move(reasons), settled);
  } else {
    settled({});
  }
  commits_.pump();
  maybe_plan();
}

// This record alone: the last task of an array has the array's id.
state::JobTarget Controller::record_target(JobId id) const {
  const model::Job* job = model::find_job(cluster_->view(), id);
  if (!job || !job->array_task) return {id, {}};
  IndexSet task;
  task.insert(*job->array_task);
  return {job->array_job, std::move(task)};
}

// Once it is applied the scheduler has to look again: the beneficiary has a claim now, or, with a stale proposal,
// none.
void Controller::propose_preemption(sched::Preemption preemption) {
  state::PreemptJobs command{preemption.beneficiary, std::move(preemption.allocation), {}};
  for (const auto& victim : preemption.victims)
    command.victims.push_back({victim.job, victim.epoch, victim.how, victim.grace});
  commits_.push(std::move(command), [this](const state::Outcome&) {
    pace_.want();
    if (--starts_open_ == 0) planning_ = false;
  });
}

// ---- timers

void Controller::on_timer() {
  if (!ready_) return;
  const Time now = doors_.clock.now();
  MailWatch::Mails mails;
  mails_.on_time(cluster_->view(), now, &mails);
  send_mail(std::move(mails));
  auto due = clocks_.take_due(cluster_->view(), now);
  for (auto& command : due.commands) propose(std::move(command));
  for (const auto& signal : due.signals)
    if (const auto* job = cluster_->view().active.find(signal.job.value))
      dispatcher_.signal(**job, signal.signal, signal.batch_only, !signal.batch_only);
  for (const JobId job : holders_.take_abandoned(cluster_->view(), doors_.clock.monotonic()))
    propose(state::CancelJob{.target = record_target(job),
                             .final_state = model::JobState::Timeout,
                             .reason = model::Reason::InactiveLimit,
                             .by_user = false,
                             .by = {},
                             .exit = {}});
  dispatcher_.on_timer();
  watch_nodes();
  const Duration mono = doors_.clock.monotonic();
  if (mono >= tick_at_) {  // ages priorities, and makes sure that no lost wake-up lasts
    tick_at_ = mono + Duration(config().scheduler_tick) * (cluster_->view().pending.empty() ? 60 : 1);
    if (!cluster_->view().pending.empty()) pace_.want();
    if (!cluster_->view().reservations->empty()) replace_reserved_nodes();
  }
  if (is_set(reservations_due_) && now >= reservations_due_) {
    reservations_due_ = {};  // known again when the command has been applied
    propose(state::ReservationsDue{});
  }
  if (is_set(triggers_due_) && now >= triggers_due_) run_due_triggers(now);
  fade_usage(now);
  if (is_set(plan_wake_at_) && now >= plan_wake_at_) {
    plan_wake_at_ = {};
    pace_.want();
  }
  maybe_plan();
  commits_.pump();
}

// Usage of accounts fades, and is forgotten when its period is over. The stamp of the command decides how far.
void Controller::fade_usage(Time now) {
  const auto& view = cluster_->view();
  const Duration period = std::max<Duration>(config().priority.calc_period, seconds(1));
  if (view.accounts->empty()) {
    usage_due_ = {};
  } else if (!is_set(usage_due_)) {
    usage_due_ = std::max(view.decayed, now - period) + period;
    if (config().priority.usage_reset == "NOW") propose(state::DecayUsage{true});
  } else if (now >= usage_due_) {
    usage_due_ = now + period;
    doors_.log("about Priority: past usage is reckoned anew");
    for (const JobId job : model::jobs_out_of_minutes(view, now))
      propose(state::CancelJob{.target = {.id = job, .tasks = {}},
                               .final_state = model::JobState::Timeout,
                               .reason = model::Reason::TimeLimit,
                               .by_user = false,
                               .by = {},
                               .exit = {}});
    const Time reset = last_usage_reset(config().priority.usage_reset, now);
    propose(state::DecayUsage{is_set(reset) && is_set(view.decayed) && view.decayed < reset});
  }
}

// Nodes of a reservation that went down, or (REPLACE) got busy, make way for others.
void Controller::replace_reserved_nodes() {
  const auto& view = cluster_->view();
  const Time now = std::max(doors_.clock.now(), view.as_of);
  for (const model::Reservation& reservation : *view.reservations)
    if (auto better = sched::with_replacements(view, reservation, now))
      propose(state::UpdateReservation{*std::move(better)});
}

Duration Controller::next_timer() const {
  if (!ready_) return Duration::max();
  const Duration mono = doors_.clock.monotonic();
  const Time now = doors_.clock.now();
  Duration next = std::min({dispatcher_.next_timer(), tick_at_, commits_.next_try(), holders_.next(cluster_->view())});
  const auto at_wall = [&](Time t) {
    if (is_set(t)) next = std::min(next, mono + std::max(Duration{0}, t - now));
  };
  at_wall(clocks_.next());
  at_wall(mails_.next());
  at_wall(usage_due_);
  at_wall(plan_wake_at_);
  if (!planning_) next = std::min(next, std::max(pace_.next(), held_until()));
  at_wall(reservations_due_);
  at_wall(triggers_due_);
  if (model::saves_power(config())) next = std::min(next, std::max(mono, nodes_looked_at_ + kNodeLook));
  return next;
}

// ---- snapshots: encoded elsewhere from shared, immutable records; stored by the journal.

// Applying an entry costs several times what its part of a snapshot does, so that the log is kept short against the snapshot:
// it is what a controller that starts has to go through.
std::uint64_t Controller::longest_log() const {
  constexpr std::uint64_t kShortest = std::uint64_t{8} << 20, kPartOfImage = 8;
  return std::min(doors_.snapshot_bytes, std::max(kShortest, image_bytes_.load() / kPartOfImage));
}

void Controller::maybe_snapshot() {
  const bool log_is_long = commits_.bytes_since_snapshot() + followed_bytes_ >= longest_log();
  const bool for_history = doors_.history && doors_.history->wants_image();
  if (snapshotting_ || (!log_is_long && !for_history)) return;
  snapshotting_ = true;
  if (log_is_long) {
    followed_bytes_ = 0;
    commits_.reset_snapshot_counter();
  }
  if (doors_.history) doors_.history->on_image(cluster_->index());
  auto image = std::make_shared<state::Cluster::Image>(cluster_->image());
  const Time shown = std::max(doors_.clock.now(), image->as_of);
  doors_.in_background([this, image, shown, log_is_long] {
    auto bytes = std::make_shared<std::string>(wire::encode_image(*image));
    image_bytes_ = bytes->size();
    const std::uint64_t index = image->index;
    if (doors_.history) doors_.history->add_image({index, shown, *bytes});
    if (!log_is_long) return doors_.post([this] { snapshotting_ = false; });
    const auto save = [this, bytes, index] {
      doors_.post([this, bytes, index] {
        doors_.journal.save_snapshot(index, std::move(*bytes), [this](Status status) {
          doors_.post([this, status = std::move(status)] {
            snapshotting_ = false;
            // The log is complete without it: go on, and try again after as much more log.
            if (!status) doors_.log("error: cannot store a snapshot: " + status.error().message);
          });
        });
      });
    };
    // What a replay of the log would make again for the history and for accounting must be safe without it.
    const auto when_recorded = [this, save] {
      doors_.history ? doors_.history->when_recorded(save) : save();
    };
    if (doors_.when_accounted)
      doors_.when_accounted(image->outbox.next - 1, when_recorded);
    else
      when_recorded();
  });
}

// ---- agents

void Controller::on_agent_message(const std::string& node, const model::AgentMessage& message) {
  if (const auto* hello = std::get_if<model::AgentHello>(&message); hello && !doors_.host.empty() && hello->hostname == doors_.host)
    nodes_of_host_.insert(node);
  dispatcher_.on_message(node, message);
  commits_.pump();
}
void Controller::on_agent_connected(const std::string& node) {
  dispatcher_.on_connected(node);
}
void Controller::on_agent_disconnected(const std::string& node) {
  nodes_of_host_.erase(node);
  dispatcher_.on_disconnected(node);
}

}  // namespace spur::ctld
