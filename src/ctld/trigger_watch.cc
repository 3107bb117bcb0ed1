// SPDX-License-Identifier: Apache-2.0
#include "ctld/trigger_watch.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "text/hostlist.h"

namespace spur::ctld {
namespace {

using model::Job;
using model::Node;
using model::Trigger;

bool is_over(const Job* job) {
  return !job || (model::is_final(job->state) && !(job->flags & model::kCompleting));
}
bool is_down(const Node& node) {
  return model::base_state(node) == model::NodeState::Down;
}
bool is_drained(const Node& node) {
  return (node.flags & model::kNodeDrain) && node.jobs.empty();
}
bool is_idle(const Node& node) {
  return node.usable() && model::base_state(node) == model::NodeState::Idle && node.jobs.empty();
}

// What became of a node, as events.
std::uint32_t events_of(const Node& before, const Node& now) {
  std::uint32_t events = 0;
  if (!is_down(before) && is_down(now)) events |= model::kTriggerDown;
  if (is_down(before) && !is_down(now)) events |= model::kTriggerUp;
  if (!is_drained(before) && is_drained(now)) events |= model::kTriggerDrained;
  if (!(before.flags & model::kNodeFail) && (now.flags & model::kNodeFail)) events |= model::kTriggerFail;
  return events;
}

class Look {
 public:
  Look(const model::View& before, const model::View& view, Time now) : before_(before), view_(view), now_(now) {}

  void at(const Trigger& trigger) {
    if (trigger.source == model::TriggerSource::Job) at_job(trigger);
    constexpr std::uint32_t kOfNodes =
        model::kTriggerUp | model::kTriggerDown | model::kTriggerDrained | model::kTriggerFail;
    const bool nodes =
        trigger.source == model::TriggerSource::Node || trigger.source == model::TriggerSource::Job;
    if (nodes && (trigger.events & kOfNodes)) at_nodes(trigger);
    if (nodes && (trigger.events & model::kTriggerIdle) && !is_set(trigger.due)) at_idle(trigger);
  }
  TriggerLook take() { return std::move(look_); }

 private:
  void hit(const Trigger& trigger, Time due, std::string argument) {
    look_.hits.push_back({trigger.id, due, std::move(argument)});
  }
  void look_again(Time when) {
    if (!is_set(look_.again) || when < look_.again) look_.again = when;
  }
  Time behind(const Trigger& trigger) const { return now_ + seconds(std::max(0, trigger.offset)); }

  void at_job(const Trigger& trigger) {
    if (is_set(trigger.due)) return;
    const Job* job = model::find_job(view_, trigger.job);
    const std::string id = std::to_string(trigger.job.value);
    if ((trigger.events & model::kTriggerFini) && is_over(job)) return hit(trigger, behind(trigger), id);
    if (!(trigger.events & model::kTriggerTime)) return;
    if (is_over(job)) return hit(trigger, now_, id);
    const Time end = model::limit_end(*job);
    if (!is_set(end)) return;
    if (const Time when = end + seconds(trigger.offset); when > now_)
      look_again(when);
    else
      hit(trigger, now_, id);
  }

  // The names of the nodes that the trigger is about; none: all.
  std::optional<std::vector<std::string>> nodes_of(const Trigger& trigger) const {
    if (trigger.source == model::TriggerSource::Job) {
      std::vector<std::string> names;
      const Job* job = model::find_job(view_, trigger.job);
      if (job && job->allocation)
        for (const auto& grant : job->allocation->nodes)
          if (const auto* node = view_.nodes.find(grant.node.value)) names.push_back((*node)->name);
      return names;
    }
    if (trigger.nodes.empty()) return std::nullopt;
    return text::expand_hostlist(trigger.nodes).value_or(std::vector<std::string>{});
  }

  void at_nodes(const Trigger& trigger) {
    // Records that nobody changed are the same objects: nothing to compare.
    if (before_.version == view_.version) return;
    const auto meant = nodes_of(trigger);
    std::vector<std::string> hosts;
    view_.nodes.for_each([&](std::uint32_t index, const model::NodePtr& node) {
      if (const auto* same = before_.nodes.find(index); same && *same == node) return;
      const Node* was = model::find_node(before_, node->name);
      if (!was || !(events_of(*was, *node) & trigger.events)) return;
      if (!meant || std::ranges::find(*meant, node->name) != meant->end()) hosts.push_back(node->name);
    });
    if (hosts.empty()) return;
    if (is_set(trigger.due))
      for (std::string& known : text::expand_hostlist(trigger.argument).value_or(std::vector<std::string>{}))
        hosts.push_back(std::move(known));
    text::sort_unique_hosts(hosts);
    hit(trigger, behind(trigger) + kTriggerGathers, text::compress_hostlist(hosts));
  }

  // Nodes that have had nothing to do for as long as the offset says.
  void at_idle(const Trigger& trigger) {
    const auto meant = nodes_of(trigger);
    std::vector<std::string> hosts;
    view_.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
      if (!is_idle(*node)) return;
      if (meant && std::ranges::find(*meant, node->name) == meant->end()) return;
      const Time since = std::max({node->last_busy, node->registered_at});
      const Time when = since + seconds(std::max(0, trigger.offset));
      if (when > now_)
        look_again(when);
      else if (trigger.argument.empty() || when > trigger.set_at)  // else it was told of
        hosts.push_back(node->name);
    });
    if (hosts.empty()) return;
    text::sort_unique_hosts(hosts);
    hit(trigger, now_, text::compress_hostlist(hosts));
  }

  const model::View& before_;
  const model::View& view_;
  const Time now_;
  TriggerLook look_;
};

}  // namespace

TriggerLook look_at_triggers(const Triggers& triggers, const model::View& before, const model::View& view, Time now) {
  Look look(before, view, now);
  for (const auto& [id, trigger] : triggers) look.at(trigger);
  return look.take();
}

std::vector<TriggerHit> daemon_triggers(const Triggers& triggers, std::uint32_t events, Time now) {
  std::vector<TriggerHit> hits;
  for (const auto& [id, trigger] : triggers) {
    const std::uint32_t common = trigger.events & events;
    if (common == 0 || is_set(trigger.due) || trigger.source == model::TriggerSource::Job) continue;
    hits.push_back({id, now + seconds(std::max(0, trigger.offset)),
                    std::string(model::event_name(common & ~(common - 1)))});
  }
  return hits;
}

}  // namespace spur::ctld
