// SPDX-License-Identifier: Apache-2.0
#include "model/preemption.h"

#include <algorithm>

namespace spur::model {
namespace {

bool is_how(PreemptHow how) {
  return how == PreemptHow::Off || how == PreemptHow::Cancel || how == PreemptHow::Requeue ||
         how == PreemptHow::Suspend;
}

}  // namespace

PreemptHow parse_preempt_how(std::string_view words) {
  PreemptHow how = PreemptHow::Unset;
  while (!words.empty()) {
    const auto comma = std::min(words.find(','), words.size());
    const std::string_view word = words.substr(0, comma);
    words.remove_prefix(std::min(comma + 1, words.size()));
    const auto is = [&](std::string_view name) {
      return std::ranges::equal(word, name, [](char a, char b) { return a == b || (a >= 'a' && a - 32 == b); });
    };
    if (is("OFF")) how = PreemptHow::Off;
    if (is("CANCEL")) how = PreemptHow::Cancel;
    if (is("REQUEUE")) how = PreemptHow::Requeue;
    if (is("SUSPEND")) how = PreemptHow::Suspend;
  }
  return how;
}

std::string preempt_mode_text(const PreemptConfig& config) {
  std::string out;
  const auto add = [&](bool said, std::string_view word) {
    if (said) out.append(out.empty() ? "" : ",").append(word);
  };
  add(config.gang, "GANG");
  add(config.within, "WITHIN");
  add(config.how == PreemptHow::Cancel, "CANCEL");
  add(config.how == PreemptHow::Requeue, "REQUEUE");
  add(config.how == PreemptHow::Suspend, "SUSPEND");
  return out.empty() ? "OFF" : out;
}

PreemptRule preempt_rule(const View& view, const Job& running) {
  const PreemptConfig& config = view.config->preempt;
  PreemptRule rule;
  if (config.by == PreemptBy::Nothing || !running.allocation) return rule;
  rule.how = config.how;
  rule.exempt = config.exempt;
  const Qos* qos = find_qos(view, running.spec->qos);
  if (qos && qos->exempt) rule.exempt = *qos->exempt;
  if (config.by == PreemptBy::PartitionTier) {
    if (const Partition* partition = find_partition(view, running.allocation->partition)) {
      const PreemptHow own = parse_preempt_how(partition->config.preempt_mode);
      if (own != PreemptHow::Unset) rule.how = own;
      rule.grace = seconds(partition->config.grace_time_seconds);
    }
  } else if (qos) {
    if (is_how(qos->preempt_mode)) rule.how = qos->preempt_mode;
    rule.grace = qos->grace;
  }
  if (!is_how(rule.how)) rule.how = PreemptHow::Off;
  if (rule.how == PreemptHow::Suspend) rule.grace = rule.exempt = seconds(0);  // nothing is lost
  return rule;
}

Time preemptable_from(const View& view, const Job& running) {
  const PreemptRule rule = preempt_rule(view, running);
  if (rule.how == PreemptHow::Off || !is_set(running.started)) return {};
  return running.started + rule.exempt + running.suspended_total;
}

MayPreempt may_preempt(const View& view, const JobSpec& spec, const Partition& partition, const Job& running) {
  const PreemptConfig& config = view.config->preempt;
  if (!running.allocation) return MayPreempt::No;
  if (config.by == PreemptBy::PartitionTier) {
    const Partition* theirs = find_partition(view, running.allocation->partition);
    return theirs && theirs->config.priority_tier < partition.config.priority_tier ? MayPreempt::Yes : MayPreempt::No;
  }
  if (config.by != PreemptBy::Qos) return MayPreempt::No;
  const Qos *mine = find_qos(view, spec.qos), *theirs = find_qos(view, running.spec->qos);
  if (!mine || !theirs) return MayPreempt::No;
  if (mine == theirs && (config.within || mine->preempt_mode == PreemptHow::Within))
    return MayPreempt::IfOfLowerPriority;
  return std::ranges::find(mine->preempts, theirs->name) != mine->preempts.end() ? MayPreempt::Yes : MayPreempt::No;
}

}  // namespace spur::model
