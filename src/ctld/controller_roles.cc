// SPDX-License-Identifier: Apache-2.0
// One controller of several: follows the log while another leads, leads when the journal says so, and stops acting at
// once when it says otherwise. The state is the same in both roles; everything else is made anew by whoever leads.
#include <fmt/format.h>

#include <utility>

#include "ctld/controller.h"
#include "ctld/job_completion.h"
#include "state/reservations.h"
#include "wire/command_codec.h"

namespace spur::ctld {

void Controller::follow() {
  const auto on_core = [this](std::function<void()> f) { doors_.post(std::move(f)); };
  doors_.journal.follow(
      cluster_->index(),
      {.on_entry =
           [this, on_core](std::uint64_t index, std::string entry) {
             if (arrived_.add(index, std::move(entry))) on_core([this] { take_entries(); });
           },
       .on_lead =
           [this, on_core](bool first) {
             on_core([this, first] {
               lead(first || cluster_->index() == 0, [this](const Status& status) {
                 if (!status && status.error().code != ErrorCode::NotLeader) doors_.fatal(status.error());
               });
             });
           },
       .on_follow = [this, on_core](const Error& why) { on_core([this, why] { step_down(why); }); },
       .on_failed = [this, on_core](const Error& why) { on_core([this, why] { doors_.fatal(why); }); }});
}

// All that are at hand, with one new picture at their end: after a start there are many. Those who look know them only by
// the picture, and come after what was at hand when they asked.
void Controller::take_entries() {
  const auto entries = arrived_.take();
  for (const auto& [index, entry] : entries) {
    SPUR_CHECK_MSG(!ready_ && index == cluster_->index() + 1, "entries come in order, to those who follow");
    const auto batch = wire::decode_batch(entry);
    if (!batch) return doors_.fatal(batch.error());
    replay(index, entry, *batch);
    (void)cluster_->take_changes();
    followed_bytes_ += entry.size();
    maybe_snapshot();
    doors_.journal.applied(index);
  }
  publish();
}

// `with_own_config`: this controller's files count. One that takes over from another keeps what is in force, with the
// changes that administrators made.
void Controller::lead(bool with_own_config, const std::function<void(Status)>& ready) {
  commits_.open();
  clocks_.rebuild(cluster_->view());
  const auto go = [this, ready](Status status) {
    // One of several leads with what is in force, rather than not at all.
    const bool may_go_on = doors_.journal.shared() && cluster_->index() > 0;
    if (!status && (!may_go_on || status.error().code == ErrorCode::NotLeader)) return ready(std::move(status));
    if (!status) doors_.log("error: the configuration is not in force: " + status.error().message);
    if (doors_.on_lead) doors_.on_lead(*cluster_);
    ready_ = true;
    reservations_due_ = state::reservations_due(cluster_->view());
    dispatcher_.resume_all(cluster_->pending_effects());
    schedule_all_crons();
    watch_triggers(true);
    mails_.begin(cluster_->view(), std::max(doors_.clock.now(), cluster_->view().as_of));
    know_reservations();
    note_completions(all_completions(cluster_->view()));
    note_new_leader();
    publish();
    want_plan();
    ready({});
  };
  if (cluster_->index() > 0 && (!with_own_config || *cluster_->view().config == own_config_)) {
    go({});
  } else {
    set_config(own_config_, go);
    commits_.pump();
  }
}

void Controller::step_down(const Error& why) {
  ready_ = false;
  publish();  // before anybody is refused: who looks then must see why
  commits_.close(why);
  if (doors_.on_step_down) doors_.on_step_down();
  dispatcher_.reset();
  node_watch_.forget();
  power_orders_.clear();
  for (auto& [job, waiter] : std::exchange(waiters_, {})) waiter.reply(std::unexpected(why));
  notices_.clear();
  holders_.forget_all();
  if (std::exchange(plan_asked_, false)) ++void_plans_;
  planning_ = false;
  starts_open_ = 0;
  pace_ = {};
  plan_wake_at_ = reservations_due_ = usage_due_ = triggers_due_ = {};
  trigger_view_.reset();
  mails_.reset();
  before_.reset();
  expected_starts_ = std::make_shared<ExpectedStarts>();
  publish();
  follow();
}

}  // namespace spur::ctld
