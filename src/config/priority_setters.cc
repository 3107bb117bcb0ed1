// SPDX-License-Identifier: Apache-2.0
// Keys of priority, preemption, reservations and topology that are more than one field.
#include <fmt/format.h>

#include <algorithm>

#include "config/setter_parts.h"
#include "config/setters.h"
#include "text/decimal.h"
#include "text/printable.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::config {

namespace {

using text::equal_ignoring_case;

std::unexpected<Error> not_one_of(const Value& value, std::string_view words) {
  return bad(fmt::format("Bad value \"{}\": it is {}", text::shown(value.text, 40), words));
}
// "priority/basic" is "basic" in spur.conf.
bool is_plugin(std::string_view text, std::string_view kind, std::string_view name) {
  if (equal_ignoring_case(text, name)) return true;
  return text.size() == kind.size() + 1 + name.size() && text::starts_with_ignoring_case(text, kind) &&
         text[kind.size()] == '/' && equal_ignoring_case(text.substr(kind.size() + 1), name);
}

// "2.5" in thousandths.
std::optional<std::int64_t> thousandths(std::string_view text) {
  const std::size_t dot = text.find('.');
  const auto whole = text::parse_decimal(text.substr(0, dot), 1'000'000'000'000);
  if (!whole) return std::nullopt;
  std::int64_t out = static_cast<std::int64_t>(*whole) * 1000;
  if (dot == std::string_view::npos) return out;
  std::int64_t unit = 100;
  for (const char c : text.substr(dot + 1)) {
    if (!text::is_digit(c)) return std::nullopt;
    out += (c - '0') * unit;
    unit /= 10;
  }
  return out;
}

}  // namespace

Status set_priority_type(Target& target, const Value& value) {
  model::PriorityConfig& priority = target.draft.cluster.priority;
  keep(target, "PriorityType", value);
  if (is_plugin(value.text, "priority", "basic")) {
    priority.multifactor = false;
  } else if (is_plugin(value.text, "priority", "multifactor")) {
    priority.multifactor = true;
    target.draft.multifactor_given = true;
    // Slurm's sums have no such thing; a site that weighs by hand gets the numbers it is used to.
    if (target.draft.dialect == Dialect::Slurm) priority.base = 0;
  } else {
    return not_one_of(value, "priority/multifactor or priority/basic");
  }
  return {};
}

Status set_age_weight(Target& target, const Value& value) {
  target.draft.cluster.age_weight = static_cast<std::uint32_t>(value.number);
  target.draft.age_weight_given = true;
  return {};
}

// "cpu=1.0,mem=0.25G,gres/gpu=8". With a unit, so much of it counts once (memory is counted in MiB).
static Result<std::vector<model::TresWeight>> parse_weights(const Value& value, bool units) {
  std::vector<model::TresWeight> weights;
  for (const std::string& item : value.list) {
    const std::size_t equals = item.find('=');
    std::string_view number =
        equals == std::string::npos ? std::string_view() : std::string_view(item).substr(equals + 1);
    std::string name = text::lower(item.substr(0, equals));
    std::uint32_t per = 1;
    if (units && !number.empty()) {
      const std::size_t unit =
          std::string_view("MGTP").find(text::upper(std::string(number.substr(number.size() - 1))));
      if (unit != std::string_view::npos) {
        number.remove_suffix(1);
        per = std::uint32_t{1} << (10 * std::min<std::size_t>(unit, 3));
      }
    }
    const auto weight = number.empty() ? std::nullopt : thousandths(number);
    const bool known = name == "cpu" || name == "mem" || name == "node" || name == "billing" || name == "energy" ||
                       (name.starts_with("gres/") && name.size() > 5) ||
                       (name.starts_with("license/") && name.size() > 8);
    if (!weight || !known)
      return bad(fmt::format("\"{}\" is no weight of cpu, mem, node, billing, gres/NAME or license/NAME",
                             text::shown(item, 60)));
    // The type of a GRES keeps its case.
    if (const std::size_t colon = item.find(':'); colon < equals)
      name = text::lower(item.substr(0, colon)) + item.substr(colon, equals - colon);
    weights.push_back({std::move(name), *weight, per});
  }
  return weights;
}

Status set_tres_weights(Target& target, const Value& value) {
  SPUR_ASSIGN(target.draft.cluster.priority.tres_weights, parse_weights(value, false));
  keep(target, "PriorityWeightTRES", value);
  return {};
}

Status set_billing_weights(Target& target, const Value& value) {
  SPUR_ASSIGN(target.partition->partition.billing_weights, parse_weights(value, true));
  return {};
}

Status set_priority_flags(Target& target, const Value& value) {
  static constexpr std::string_view kNow[] = {
      "ACCRUE_ALWAYS",  "NO_NORMAL_ALL", "NO_NORMAL_ASSOC", "NO_NORMAL_PART", "NO_NORMAL_QOS",
      "NO_NORMAL_TRES", "FAIR_TREE",     "NO_FAIR_TREE",    "MAX_TRES",       "SMALL_RELATIVE_TO_TIME",
      "MAX_TRES_GRES",  "CALCULATE_RUNNING", "DEPTH_OBLIVIOUS"};
  static constexpr std::string_view kLater[] = {"INCR_ONLY"};
  std::vector<std::string> flags, rest;
  for (const std::string& word : value.list) {
    const std::string flag = text::upper(word);
    if (std::ranges::find(kNow, flag) != std::end(kNow)) {
      flags.push_back(flag);
    } else if (std::ranges::find(kLater, flag) != std::end(kLater)) {
      rest.push_back(flag);
    } else {
      return bad(fmt::format("\"{}\" is no flag of priorities", text::shown(word, 40)));
    }
  }
  target.draft.cluster.priority.flags = std::move(flags);
  keep(target, "PriorityFlags", value);
  if (!rest.empty())
    target.draft.warn(target.at, fmt::format("PriorityFlags: not in force yet: {}", fmt::join(rest, ", ")));
  return {};
}

Status set_usage_reset(Target& target, const Value& value) {
  target.draft.cluster.priority.usage_reset = text::upper(value.text);
  return {};
}

Status set_preempt_type(Target& target, const Value& value) {
  model::PreemptConfig& preempt = target.draft.cluster.preempt;
  if (is_plugin(value.text, "preempt", "none")) {
    preempt.by = model::PreemptBy::Nothing;
  } else if (is_plugin(value.text, "preempt", "partition_prio")) {
    preempt.by = model::PreemptBy::PartitionTier;
  } else if (is_plugin(value.text, "preempt", "qos") || equal_ignoring_case(value.text, "qos_priority")) {
    preempt.by = model::PreemptBy::Qos;
  } else {
    return not_one_of(value, "preempt/none, preempt/partition_prio or preempt/qos");
  }
  return {};
}

Status set_preempt_mode(Target& target, const Value& value) {
  model::PreemptConfig preempt = target.draft.cluster.preempt;
  preempt.gang = preempt.within = false;
  for (const std::string& word : value.list) {
    using model::PreemptHow;
    if (equal_ignoring_case(word, "OFF"))
      preempt.how = PreemptHow::Off;
    else if (equal_ignoring_case(word, "CANCEL"))
      preempt.how = PreemptHow::Cancel;
    else if (equal_ignoring_case(word, "REQUEUE"))
      preempt.how = PreemptHow::Requeue;
    else if (equal_ignoring_case(word, "SUSPEND"))
      preempt.how = PreemptHow::Suspend;
    else if (equal_ignoring_case(word, "GANG"))
      preempt.gang = true;
    else if (equal_ignoring_case(word, "WITHIN"))
      preempt.within = true;
    else
      return not_one_of(value, "OFF, CANCEL, REQUEUE or SUSPEND, with GANG or WITHIN");
  }
  target.draft.cluster.preempt = preempt;
  return {};
}

Status set_preempt_parameters(Target& target, const Value& value) {
  model::PreemptConfig& preempt = target.draft.cluster.preempt;
  for (const std::string& option : value.list) {
    const std::size_t equals = std::min(option.find('='), option.size());
    const std::string_view name = std::string_view(option).substr(0, equals);
    if (equal_ignoring_case(name, "youngest_first")) preempt.youngest_first = true;
    if (equal_ignoring_case(name, "send_user_signal")) preempt.send_user_signal = true;
    if (!equal_ignoring_case(name, "min_exempt_priority")) continue;
    preempt.min_exempt_priority = text::parse_decimal32(std::string_view(option).substr(std::min(equals + 1, option.size())));
    if (!preempt.min_exempt_priority) return bad(fmt::format("\"{}\" needs a number", text::shown(option, 60)));
  }
  warn_of_options(target, "PreemptParameters", value);
  return {};
}

Status set_partition_preempt_mode(Target& target, const Value& value) {
  std::string words;
  for (const std::string& word : value.list) {
    const std::string upper = text::upper(word);
    if (upper != "OFF" && upper != "CANCEL" && upper != "REQUEUE" && upper != "SUSPEND" && upper != "GANG")
      return not_one_of(value, "OFF, CANCEL, REQUEUE or SUSPEND, with GANG");
    words += (words.empty() ? "" : ",") + upper;
  }
  target.partition->partition.preempt_mode = std::move(words);
  return {};
}

Status set_preempt_exempt(Target& target, const Value& value) {
  if (value.text == "-1") {
    target.draft.cluster.preempt.exempt = seconds(0);
    return {};
  }
  const auto time = text::parse_time_seconds(value.text);
  if (!time || !*time) return bad(fmt::format("\"{}\" is no time", text::shown(value.text, 40)));
  target.draft.cluster.preempt.exempt = **time;
  return {};
}

Status set_backfill_order(Target& target, const Value& value) {
  target.draft.cluster.backfill_order =
      equal_ignoring_case(value.text, "priority") ? model::BackfillOrder::Priority : model::BackfillOrder::Smallest;
  return {};
}

Status set_reservation_overrun(Target& target, const Value& value) {
  constexpr seconds kForEver{365LL * 24 * 3600 * 100};  // state::kOverrunForEver
  target.draft.cluster.reservation_overrun =
      value.infinite ? kForEver : seconds(60 * static_cast<std::int64_t>(value.number));
  return {};
}

Status set_cpus_per_gpu(Target& target, const Value& value) {
  (target.partition ? target.partition->partition.default_cpus_per_gpu : target.draft.cluster.default_cpus_per_gpu) =
      static_cast<std::uint32_t>(value.number);
  return {};
}

Status set_memory_per_gpu(Target& target, const Value& value) {
  (target.partition ? target.partition->partition.default_memory_per_gpu_mib
                    : target.draft.cluster.default_memory_per_gpu_mib) = value.number;
  return {};
}

Status set_job_defaults(Target& target, const Value& value) {
  auto* partition = target.partition ? &target.partition->partition : nullptr;
  for (const std::string& item : value.list) {
    const std::size_t equals = item.find('=');
    const auto number = text::parse_decimal32(equals == std::string::npos ? "" : item.substr(equals + 1));
    const std::string_view name = std::string_view(item).substr(0, equals);
    if (!number) return bad(fmt::format("\"{}\" needs a number", text::shown(item, 60)));
    if (equal_ignoring_case(name, "DefCpuPerGPU")) {
      (partition ? partition->default_cpus_per_gpu : target.draft.cluster.default_cpus_per_gpu) = *number;
    } else if (equal_ignoring_case(name, "DefMemPerGPU")) {
      (partition ? partition->default_memory_per_gpu_mib : target.draft.cluster.default_memory_per_gpu_mib) = *number;
    } else {
      return bad(fmt::format("\"{}\" is neither DefCpuPerGPU nor DefMemPerGPU", text::shown(item, 60)));
    }
  }
  return {};
}

Status set_topology_kind(Target& target, const Value& value) {
  using model::TopologyKind;
  TopologyKind& kind = target.draft.cluster.topology.kind;
  const auto is = [&](std::string_view name) { return is_plugin(value.text, "topology", name); };
  if (is("none") || is("default") || is("flat")) {
    kind = TopologyKind::Flat;
  } else if (is("tree")) {
    kind = TopologyKind::Tree;
  } else if (is("block")) {
    kind = TopologyKind::Block;
  } else {
    return not_one_of(value, "topology/flat, topology/tree or topology/block");
  }
  return {};
}

Status set_topology_options(Target& target, const Value& value) {
  for (const std::string& word : value.list)
    if (equal_ignoring_case(word, "TopoOptional")) target.draft.cluster.topology.optional = true;
  keep(target, "TopologyParam", value);
  warn_of_options(target, "TopologyParam", value);
  return {};
}

Status set_block_size(Target& target, const Value& value) {
  target.draft.cluster.topology.block_sizes = {static_cast<std::uint32_t>(value.number)};
  return {};
}

Status set_block_sizes(Target& target, const Value& value) {
  auto& sizes = target.draft.cluster.topology.block_sizes;
  sizes.clear();
  for (const std::string& word : value.list) {
    const auto size = text::parse_decimal32(word);
    if (!size || *size == 0) return bad(fmt::format("\"{}\" is no size", text::shown(word, 40)));
    sizes.push_back(*size);
  }
  return {};
}

Status set_block_name(Target& target, const Value& value) {
  target.network->row.name = value.text;
  target.network->is_block = true;
  return {};
}
Status set_switch_name(Target& target, const Value& value) {
  target.network->row.name = value.text;
  if (target.draft.dialect == Dialect::Slurm) target.network->is_block = false;
  return {};
}
Status set_switch_nodes(Target& target, const Value& value) {
  target.network->row.nodes = value.text;
  return {};
}
Status set_down_state(Target& target, const Value& value) {
  target.down->state = value.text == "FAILING" ? "FAIL" : value.text;
  return {};
}
Status set_switch_children(Target& target, const Value& value) {
  target.network->row.switches = value.text;
  return {};
}

}  // namespace spur::config
