// SPDX-License-Identifier: Apache-2.0
#include "ctld/job_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "ctld/job_changes.h"
#include "model/job_state.h"
#include "model/pending_reason.h"

namespace spur::ctld {
namespace {

using Event = io::HistoryStore::Event;
using model::JobState;

// "RUNNING", "COMPLETING as CANCELLED".
std::string state_of(const model::Job& job) {
  std::string out(model::long_name(job.state, job.flags));
  if ((job.flags & model::kCompleting) && model::is_final(job.state))
    out += fmt::format(" as {}", model::base_name(job.state));
  return out;
}

std::string nodes_of(const model::View& view, const model::Job& job) {
  if (!job.allocation) return {};
  std::vector<NodeIndex> nodes;
  for (const auto& grant : job.allocation->nodes) nodes.push_back(grant.node);
  return model::node_list(view, nodes);
}

std::string request_of(const model::JobSpec& spec) {
  std::string partitions;
  for (const std::string& name : spec.partitions) partitions += (partitions.empty() ? "" : ",") + name;
  std::string out = fmt::format("name {}, partition {}", spec.name, partitions);
  if (spec.array) out += fmt::format(", {} tasks", spec.array->tasks.size());
  if (spec.hold) out += ", held";
  return out;
}

class Notes {
 public:
  Notes(const AppliedBatch& applied, io::HistoryStore::Part* part) : applied_(applied), part_(part) {}

  void all() {
    const auto& commands = applied_.batch.commands;
    for (at_ = 0; at_ < commands.size(); ++at_) {
      if (at_ >= applied_.outcomes.size() || !applied_.outcomes[at_].status) continue;  // it changed nothing
      std::visit([this](const auto& command) { note(command); }, commands[at_]);
    }
    rest();
  }

 private:
  const model::Job* before(JobId id) const { return model::find_job(applied_.before, id); }
  const model::Job* after(JobId id) const { return model::find_job(applied_.after, id); }
  const state::Outcome& outcome() const { return applied_.outcomes[at_]; }

  void add(JobId job, std::string what, std::string details, std::string source) {
    const auto& by = applied_.batch.by;
    named_.insert(job);
    part_->events.push_back({.job = job,
                             .index = applied_.index,
                             .at = applied_.batch.at,
                             .by = at_ < by.size() ? by[at_] : std::nullopt,
                             .source = std::move(source),
                             .what = std::move(what),
                             .details = std::move(details)});
  }
  // "RUNNING -> COMPLETING", if it is so.
  std::string moved(JobId id) const {
    const model::Job* a = before(id);
    const model::Job* b = after(id);
    if (!a || !b || state_of(*a) == state_of(*b)) return {};
    return fmt::format("{} -> {}", state_of(*a), state_of(*b));
  }
  void add_all(std::string_view what, std::string_view source, std::string_view details = {}) {
    for (const JobId job : outcome().jobs) {
      std::string told(details);
      if (const std::string move = moved(job); !move.empty()) told += (told.empty() ? "" : ", ") + move;
      add(job, std::string(what), std::move(told), std::string(source));
    }
  }

  // ---- one command each; those that name no job are left out
  template <class C>
  void note(const C&) {}

  void note(const state::SubmitJob& c) {
    if (outcome().repeated) return;
    add(outcome().job, "submitted", request_of(*c.spec), "user");
    for (std::size_t i = 0; i < c.more.size(); ++i)
      add(JobId(outcome().job.value + 1 + static_cast<std::uint32_t>(i)), "submitted", request_of(*c.more[i]), "user");
  }
  void note_start(JobId id) {
    const model::Job* job = after(id);
    add(id, "started", job ? "on " + nodes_of(applied_.after, *job) : std::string(), "scheduler");
  }
  void note(const state::StartJob& c) {
    note_start(outcome().job);
    for (const auto& other : c.others) note_start(other.job);
  }
  void note(const state::SetReasons& c) {
    for (const auto& row : c.rows) {
      const model::Job* old = before(row.job);
      add(row.job, "waits",
          old && old->reason != row.reason && old->reason != model::Reason::None
              ? fmt::format("{} -> {}", model::reason_name(old->reason), model::reason_name(row.reason))
              : std::string(model::reason_name(row.reason)),
          "scheduler");
    }
  }
  void note(const state::CancelJob& c) {
    const auto exit = c.exit ? fmt::format("exit status {}:{}", c.exit->code, c.exit->signal) : std::string();
    switch (c.final_state) {
      case JobState::Timeout:
        return add_all("ended", "time limit", "TIMEOUT");
      case JobState::Deadline:
        return add_all("ended", "deadline", "DEADLINE");
      case JobState::Cancelled:
        return add_all("cancelled", "controller", exit);
      case JobState::Completed:
      case JobState::Failed:
        return add_all("allocation given back", "user", exit);
      default:
        return add_all("ended", "controller", model::base_name(c.final_state));
    }
  }
  void note(const state::NodeJobDone& c) {
    if (!before(c.job)) return;
    std::string details = fmt::format("exit status {}:{}", c.exit.code, c.exit.signal);
    if (c.launch_failed) details = "it could not be started: " + c.error;
    if (c.out_of_memory) details += ", out of memory";
    if (!c.drain.empty()) details += ", the node is drained: " + c.drain;
    if (const std::string move = moved(c.job); !move.empty()) details += ", " + move;
    add(c.job, "ended on a node", std::move(details), "node " + c.node);
  }
  void note(const state::HoldJob& c) {
    add_all("held", "controller", c.hold == model::Hold::Admin ? "by an administrator's right" : "");
  }
  void note(const state::ReleaseJob&) { add_all("released", "controller"); }
  void note(const state::RequeueJob& c) {
    add_all("requeued", "controller", c.how == model::AfterCompleting::Requeue ? "" : "and held");
  }
  void note(const state::SuspendJob&) { add_all("suspended", "controller"); }
  void note(const state::ResumeJob&) { add_all("resumed", "scheduler"); }
  void note(const state::UpdateJob&) {
    for (const JobId id : outcome().jobs) {
      const model::Job* a = before(id);
      const model::Job* b = after(id);
      add(id, "updated", a && b ? changes_of(*a, *b) : std::string(), "controller");
    }
  }
  void note(const state::MarkKillSent& c) { add(c.job, "KILL sent", "", "KillWait"); }
  void note(const state::PreemptJobs& c) {
    add(c.beneficiary, c.allocation ? "room is made for it" : "gives up its claim", "", "scheduler");
    for (const auto& victim : c.victims)
      add(victim.job, "makes room", fmt::format("for job {}", c.beneficiary.value), "scheduler");
  }
  void note(const state::PreemptionDue& c) { add(c.job, "preempted", moved(c.job), "grace time"); }
  void note(const state::PurgeJobs& c) {
    for (const JobId job : c.jobs)
      if (before(job) && !after(job)) add(job, "forgotten by the controller", "", "MinJobAge");
  }
  void note(const state::StepsEnded& c) {
    add(c.job, "steps ended", fmt::format("{}", c.steps.size()), "step manager");
  }

  // Jobs that a batch changed without naming them: a node was lost, a dependency can never be met.
  void rest() {
    at_ = cause();
    CowMap<model::JobPtr>::diff(
        applied_.before.jobs, applied_.after.jobs,
        [&](std::uint32_t id, const model::JobPtr* a, const model::JobPtr* b) {
          if (b) note_record(a ? a->get() : nullptr, **b);
          if (!a || !b || named_.contains(JobId(id))) return;
          if (state_of(**a) == state_of(**b) && (*a)->hold == (*b)->hold && (*a)->epoch == (*b)->epoch) return;
          const std::string why((*b)->reason == model::Reason::None ? "" : model::reason_name((*b)->reason));
          std::string details = moved(JobId(id));
          if (!why.empty()) details += details.empty() ? why : fmt::format(" ({})", why);
          add(JobId(id), "changed", std::move(details), cause_name());
        });
  }
  // The command that most likely did it: what concerns a node, or the configuration.
  std::size_t cause() const {
    const auto& commands = applied_.batch.commands;
    const auto found = std::ranges::find_if(commands, [](const state::Command& c) {
      return std::holds_alternative<state::NodeLost>(c) || std::holds_alternative<state::RegisterNode>(c) ||
             std::holds_alternative<state::UpdateNode>(c) || std::holds_alternative<state::SetConfig>(c);
    });
    return static_cast<std::size_t>(found - commands.begin());
  }
  std::string cause_name() const {
    if (at_ >= applied_.batch.commands.size()) return "controller";
    const state::Command& command = applied_.batch.commands[at_];
    if (const auto* lost = std::get_if<state::NodeLost>(&command)) return "node " + lost->node;
    if (const auto* node = std::get_if<state::RegisterNode>(&command)) return "node " + node->name;
    return std::holds_alternative<state::SetConfig>(command) ? "configuration" : "controller";
  }
  void note_record(const model::Job* old, const model::Job& job) {
    if (old && old->array_task == job.array_task) return;
    part_->records.push_back({.job = job.id,
                              .owner = job.spec->uid,
                              .group = job.array_job ? job.array_job : job.het_job,
                              .part = job.het_job ? std::optional(job.het_offset) : job.array_task,
                              .is_component = static_cast<bool>(job.het_job)});
  }

  const AppliedBatch& applied_;
  io::HistoryStore::Part* part_;
  std::size_t at_ = 0;
  std::set<JobId> named_;
};

}  // namespace

void note_events(const AppliedBatch& applied, io::HistoryStore::Part* part) {
  Notes(applied, part).all();
}

}  // namespace spur::ctld
