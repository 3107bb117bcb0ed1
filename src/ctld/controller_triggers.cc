// SPDX-License-Identifier: Apache-2.0
// Triggers of strigger: who may set and clear them, and when their programs run. The journal has each step before the
// next one is taken (model/trigger.h).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ctld/controller.h"
#include "model/shown_config.h"
#include "text/hostlist.h"
#include "text/words.h"

namespace spur::ctld {
namespace {

constexpr Duration kProgramTime = std::chrono::minutes(5);  // Slurm's
constexpr std::size_t kLongestProgram = 4096;

bool users_may_set(const model::ClusterConfig& config) {
  for (const std::string_view word : text::split(model::shown_value(config, "SlurmctldParameters"), ','))
    if (text::equal_ignoring_case(text::trim(word), "allow_user_triggers")) return true;
  return false;
}

// What nothing here tells the controller of.
constexpr std::uint32_t kNotNoticed =
    model::kTriggerBackupCtldFail | model::kTriggerBackupCtldResumedOperation | model::kTriggerPrimaryDbFail |
    model::kTriggerPrimaryDbResumedOperation | model::kTriggerBurstBuffer;

}  // namespace

void Controller::set_trigger(const model::Caller& caller, model::Trigger trigger, DoneReply reply) {
  if (!caller.is_admin() && !users_may_set(config()))
    return reply(fail(ErrorCode::PermissionDenied, "Access/permission denied"));
  if ((trigger.events & kNotNoticed) || trigger.source == model::TriggerSource::FrontEnd)
    return reply(fail(ErrorCode::NotSupported,
                      fmt::format("triggers for {} are not supported yet", model::event_name(trigger.events))));
  if (!trigger.program.starts_with('/') || trigger.program.size() > kLongestProgram)
    return reply(fail(ErrorCode::InvalidArgument, "the program of a trigger is a path, with arguments if one likes"));
  if (trigger.source == model::TriggerSource::Node && !trigger.nodes.empty()) {
    auto names = text::expand_hostlist(trigger.nodes);
    const bool known = names && std::ranges::all_of(*names, [&](const std::string& name) {
      return model::find_node(cluster_->view(), name) != nullptr;
    });
    if (!known) return reply(fail(ErrorCode::InvalidNode, std::string(slurm_message(ErrorCode::InvalidNode))));
    text::sort_unique_hosts(*names);
    trigger.nodes = text::compress_hostlist(*names);
  }
  if (trigger.source != model::TriggerSource::Node) trigger.nodes.clear();
  if (trigger.source != model::TriggerSource::Job) trigger.job = {};
  trigger.user = caller.uid;
  trigger.group = caller.gid;
  propose(
      state::SetTrigger{std::move(trigger)},
      [this, reply = std::move(reply)](const state::Outcome& outcome) {
        reply(outcome.status);
        if (outcome.status) watch_triggers(true);
      },
      IfFull::Refuse, caller.uid);
}

void Controller::clear_triggers(const model::Caller& caller, state::ClearTriggers which, DoneReply reply) {
  which.by = caller.uid;
  which.by_admin = caller.is_admin();
  propose(
      std::move(which), [reply = std::move(reply)](const state::Outcome& outcome) { reply(outcome.status); },
      IfFull::Refuse, caller.uid);
}

// Looks for what they wait for. `anew`: nothing changed, but one of them may be new or due.
void Controller::watch_triggers(bool anew) {
  const model::View& view = cluster_->view();
  if (!ready_ || cluster_->triggers().empty()) {
    trigger_view_.reset();
    triggers_due_ = {};
    return;
  }
  const Time now = std::max(doors_.clock.now(), view.as_of);
  const std::shared_ptr<const model::View> before =
      anew || !trigger_view_ ? std::make_shared<const model::View>(view) : trigger_view_;
  trigger_view_ = std::make_shared<const model::View>(view);
  auto look = look_at_triggers(cluster_->triggers(), *before, view, now);
  triggers_due_ = look.again;
  for (const auto& [id, trigger] : cluster_->triggers())
    if (is_set(trigger.due) && (!is_set(triggers_due_) || trigger.due < triggers_due_)) triggers_due_ = trigger.due;
  note_hits(std::move(look.hits));
}

void Controller::note_hits(std::vector<TriggerHit> hits) {
  for (TriggerHit& hit : hits)
    propose(state::TriggerSeen{hit.id, hit.due, std::move(hit.argument)}, [this](const state::Outcome& outcome) {
      if (outcome.status) watch_triggers(true);
    });
}

void Controller::note_daemon_event(std::uint32_t events) {
  note_hits(daemon_triggers(cluster_->triggers(), events, std::max(doors_.clock.now(), cluster_->view().as_of)));
}

void Controller::on_accounting_link(bool up) {
  if (ready_) note_daemon_event(up ? model::kTriggerPrimaryDbdResumedOperation : model::kTriggerPrimaryDbdFail);
}

// So many records wait for the database that new jobs are refused.
void Controller::note_backlog() {
  const bool full = accounting_backlog() >= doors_.max_backlog;
  if (!std::exchange(backlog_full_, full) && full) note_daemon_event(model::kTriggerPrimaryCtldAccountingFull);
}

// A controller begins to lead: the primary is the first that the configuration names.
void Controller::note_new_leader() {
  const std::string_view first = model::shown_value(config(), "SlurmctldHost[0]");
  const bool shared = doors_.journal.shared();
  const bool is_primary =
      !shared || doors_.host.empty() || first.empty() || first.substr(0, first.find('(')) == doors_.host;
  if (is_primary)
    note_daemon_event(model::kTriggerPrimaryCtldResumedOperation |
                      (shared ? model::kTriggerPrimaryCtldResumedControl : 0u));
  else
    note_daemon_event(model::kTriggerPrimaryCtldFail | model::kTriggerBackupCtldAssumedControl);
}

void Controller::run_due_triggers(Time now) {
  state::TriggersRan ran;
  std::vector<model::Trigger> due;
  for (const auto& [id, trigger] : cluster_->triggers()) {
    if (!is_set(trigger.due) || trigger.due > now) continue;
    ran.ids.push_back(id);
    due.push_back(trigger);
  }
  if (due.empty()) return watch_triggers(true);
  triggers_due_ = {};
  propose(std::move(ran), [this, due = std::move(due)](const state::Outcome& outcome) {
    if (outcome.status)
      for (const model::Trigger& trigger : due) run_program(trigger);
    watch_triggers(true);
  });
}

void Controller::run_program(const model::Trigger& trigger) {
  if (!doors_.programs) return doors_.log("error: there is nothing to run programs of triggers with");
  io::ControllerHooks::Program program{trigger.user, trigger.group, {}, kProgramTime};
  for (const std::string_view word : text::split(trigger.program, ' '))
    if (!word.empty()) program.words.emplace_back(word);
  program.words.push_back(trigger.argument);
  doors_.log(fmt::format("about Triggers: {} is due: {}", trigger.id, trigger.program));
  doors_.log(fmt::format("trigger {} ({} {}) runs {}", trigger.id, model::event_name(trigger.events), trigger.argument,
                         program.words.front()));
  doors_.programs->run_as(std::move(program), [this, id = trigger.id](const Status& status) {
    if (!status) doors_.log(fmt::format("error: trigger {}: {}", id, status.error().message));
  });
}

}  // namespace spur::ctld
