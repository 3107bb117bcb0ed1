// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "model/distribution.h"
#include "text/array_spec.h"
#include "text/dependency.h"
#include "text/gres.h"
#include "text/memory_size.h"
#include "text/words.h"

namespace spur::scenario {
namespace {

template <class Target>
using Table = std::map<std::string_view, std::function<Status(Target&, const std::string&)>>;

// Bare words are options with the value "yes".
template <class Target>
Status apply_table(const Table<Target>& table, const Line& line, std::size_t first_word, Target& target) {
  const auto apply_one = [&](const std::string& key, const std::string& value) -> Status {
    const auto row = table.find(key);
    if (row == table.end()) return fail(ErrorCode::InvalidArgument, fmt::format("unknown option {}", key));
    return row->second(target, value);
  };
  for (std::size_t i = first_word; i < line.words.size(); ++i) SPUR_TRY(apply_one(line.words[i], "yes"));
  for (const auto& [key, value] : line.options) SPUR_TRY(apply_one(key, value));
  return {};
}

// Rows for the common types of fields.
template <class Target, class Field>
auto number(Field Target::* field) {
  return [field](Target& target, const std::string& value) -> Status {
    SPUR_ASSIGN(const std::uint64_t n, parse_number(value));
    target.*field = static_cast<std::uint32_t>(n);
    return {};
  };
}
template <class Target, class Field>
auto memory(Field Target::* field) {
  return [field](Target& target, const std::string& value) -> Status {
    SPUR_ASSIGN(target.*field, text::parse_memory_mib(value));
    return {};
  };
}
template <class Target>
auto flag(bool Target::* field) {
  return [field](Target& target, const std::string& value) -> Status {
    SPUR_ASSIGN(target.*field, parse_yes_no(value));
    return {};
  };
}
template <class Target>
auto word(std::string Target::* field) {
  return [field](Target& target, const std::string& value) -> Status {
    target.*field = value;
    return {};
  };
}
template <class Target>
auto list(std::vector<std::string> Target::* field) {
  return [field](Target& target, const std::string& value) -> Status {
    for (const auto part : text::split(value, ',')) (target.*field).emplace_back(part);
    return {};
  };
}
template <class Target>
auto numbers(std::vector<std::uint32_t> Target::* field) {
  return [field](Target& target, const std::string& value) -> Status {
    for (const auto part : text::split(value, ',')) {
      SPUR_ASSIGN(const std::uint64_t number, parse_number(std::string(part)));
      (target.*field).push_back(static_cast<std::uint32_t>(number));
    }
    return {};
  };
}
template <class Target>
auto limit(TimeLimit Target::* field) {
  return [field](Target& target, const std::string& value) -> Status {
    if (value == "unlimited") {
      target.*field = TimeLimit::unlimited();
      return {};
    }
    SPUR_ASSIGN(const Duration span, parse_span(value));
    target.*field = TimeLimit::of_minutes(static_cast<std::uint32_t>(span / minutes(1)));
    return {};
  };
}

template <class Value>
Result<Value> one_of(const std::string& word, std::initializer_list<std::pair<std::string_view, Value>> choices) {
  for (const auto& [name, value] : choices)
    if (name == word) return value;
  return fail(ErrorCode::InvalidArgument, fmt::format("\"{}\" is not a choice here", word));
}

Status add_node_gres(model::NodeConfig& node, const std::string& text) {
  SPUR_ASSIGN(const auto items, text::parse_gres_request(text));
  for (const auto& item : items) node.gres.push_back({item.name, item.type, item.count, ""});
  return {};
}

Status add_job_gres(model::JobSpec& spec, const std::string& text, model::GresRequest::Per per) {
  SPUR_ASSIGN(const auto items, text::parse_gres_request(text));
  for (const auto& item : items) spec.gres.push_back({item.name, item.type, item.count, per});
  return {};
}

Status set_nodes(model::JobSpec& spec, const std::string& text) {
  const auto dash = text.find('-');
  SPUR_ASSIGN(const std::uint64_t least, parse_number(text.substr(0, dash)));
  spec.min_nodes = static_cast<std::uint32_t>(least);
  spec.max_nodes = spec.min_nodes;
  spec.nodes_given = true;
  if (dash == std::string::npos) return {};
  SPUR_ASSIGN(const std::uint64_t most, parse_number(text.substr(dash + 1)));
  spec.max_nodes = static_cast<std::uint32_t>(most);
  return {};
}

Status set_licenses(model::ClusterConfig& config, const std::string& text) {
  for (const auto part : text::split(text, ',')) {
    const auto colon = part.find(':');
    if (colon == std::string_view::npos) return fail(ErrorCode::InvalidArgument, "licenses=NAME:COUNT,...");
    SPUR_ASSIGN(const std::uint64_t count, parse_number(part.substr(colon + 1)));
    config.licenses.push_back({std::string(part.substr(0, colon)), static_cast<std::uint32_t>(count)});
  }
  return {};
}

Status add_licenses(model::JobSpec& spec, const std::string& text) {
  for (const auto part : text::split(text, ',')) {
    const auto colon = part.find(':');
    std::uint64_t count = 1;
    if (colon != std::string_view::npos) {
      SPUR_ASSIGN(count, parse_number(part.substr(colon + 1)));
    }
    spec.licenses.push_back({std::string(part.substr(0, colon)), static_cast<std::uint32_t>(count)});
  }
  return {};
}

// "afterok:a:b_3,after:c+5" with the scenario's names; then the real grammar on the ids.
Status set_dependency(model::JobSpec& spec, const JobContext& context, const std::string& text) {
  std::string with_ids, name;
  bool after_colon = false, in_suffix = false;
  const auto end_name = [&]() -> Status {
    if (name.empty()) return {};
    if (after_colon && !in_suffix) {
      SPUR_ASSIGN(const JobId id, context.job_id(name));
      with_ids += std::to_string(id.value);
    } else {
      with_ids += name;
    }
    name.clear();
    return {};
  };
  for (const char c : text) {
    if (std::string_view(":_+,?").find(c) == std::string_view::npos) {
      name += c;
      continue;
    }
    SPUR_TRY(end_name());
    if (c == ':') after_colon = true, in_suffix = false;
    if (c == ',' || c == '?') after_colon = in_suffix = false;
    if (c == '_' || c == '+') in_suffix = true;
    with_ids += c;
  }
  SPUR_TRY(end_name());
  SPUR_ASSIGN(const text::DependencySpec parsed, text::parse_dependency(with_ids));
  for (const auto& term : parsed.terms)
    spec.dependencies.push_back({static_cast<model::Dependency::Kind>(term.kind), JobId(term.job), term.array_task,
                                 term.whole_array, term.delay_minutes});
  spec.dependencies_any = parsed.any;
  return {};
}

const Table<model::NodeConfig>& node_table() {
  using Node = model::NodeConfig;
  static const Table<Node> table{
      {"cpus", number(&Node::cpus)},
      {"sockets", number(&Node::sockets)},
      {"cores", number(&Node::cores_per_socket)},
      {"threads", number(&Node::threads_per_core)},
      {"memory", memory(&Node::memory_mib)},
      {"tmp", memory(&Node::tmp_disk_mib)},
      {"gpus", [](Node& node, const std::string& value) { return add_node_gres(node, "gpu:" + value); }},
      {"gres", [](Node& node, const std::string& value) { return add_node_gres(node, value); }},
      // Of the first kind of GRES: lines of the matrix divided by ';'.
      {"links",
       [](Node& node, const std::string& value) -> Status {
         if (node.gres.empty()) return fail(ErrorCode::InvalidArgument, "links come behind gres");
         node.gres[0].links = value;
         return {};
       }},
      {"spec_cores", number(&Node::spec_cores)},
      {"features", list(&Node::features)},
      {"weight", number(&Node::weight)},
      {"state", word(&Node::state)},
  };
  return table;
}

// force=N, share=N: so many jobs may have a core.
auto shared_by(model::OverSubscribe how) {
  return [how](model::PartitionConfig& partition, const std::string& value) -> Status {
    partition.oversubscribe = how;
    return number(&model::PartitionConfig::oversubscribe_count)(partition, value);
  };
}

const Table<model::PartitionConfig>& partition_table() {
  using Partition = model::PartitionConfig;
  static const Table<Partition> table{
      {"nodes", word(&Partition::nodes)},
      {"topology", word(&Partition::topology)},
      {"node_features", list(&Partition::node_features)},
      {"default", flag(&Partition::is_default)},
      {"root_only", flag(&Partition::root_only)},
      {"no_root_jobs", flag(&Partition::no_root_jobs)},
      {"requires_reservation", flag(&Partition::requires_reservation)},
      {"lln", flag(&Partition::lln)},
      {"exclusive_user", flag(&Partition::exclusive_user)},
      {"min_nodes", number(&Partition::min_nodes)},
      {"max_nodes", number(&Partition::max_nodes)},
      {"max_cpus_per_node", number(&Partition::max_cpus_per_node)},
      {"max_time", limit(&Partition::max_time)},
      {"default_time", limit(&Partition::default_time)},
      {"tier", number(&Partition::priority_tier)},
      {"default_mem", memory(&Partition::default_memory_per_node_mib)},
      {"default_mem_per_cpu", memory(&Partition::default_memory_per_cpu_mib)},
      {"max_mem", memory(&Partition::max_memory_per_node_mib)},
      {"exclusive",
       [](Partition& partition, const std::string&) -> Status {
         partition.oversubscribe = model::OverSubscribe::Exclusive;
         return {};
       }},
      {"force", shared_by(model::OverSubscribe::Force)},
      {"share", shared_by(model::OverSubscribe::Yes)},
      {"state",
       [](Partition& partition, const std::string& value) -> Status {
         using enum model::PartitionState;
         SPUR_ASSIGN(partition.state,
                     one_of<model::PartitionState>(
                         value, {{"up", Up}, {"down", Down}, {"drain", Drain}, {"inactive", Inactive}}));
         return {};
       }},
  };
  return table;
}

const Table<model::ClusterConfig>& config_table() {
  using Config = model::ClusterConfig;
  static const Table<Config> table{
      {"licenses", set_licenses},
      {"max_nodes", number(&Config::max_node_count)},
      {"cores_whole", flag(&Config::cores_whole)},
      {"least_loaded", flag(&Config::least_loaded_nodes)},
      {"spread_shares", flag(&Config::spread_shares)},
      {"shares_of_several", flag(&Config::shares_of_several)},
      {"requeue", flag(&Config::requeue_default)},
      {"kill_invalid_dependency", flag(&Config::kill_invalid_dependency)},
      {"max_batch_requeue", number(&Config::max_batch_requeue)},
      {"no_root_jobs", flag(&Config::no_root_jobs)},
      {"requeue_exit", numbers(&Config::requeue_exits)},
      {"requeue_exit_hold", numbers(&Config::requeue_hold_exits)},
      {"max_array_size", number(&Config::max_array_size)},
      {"max_job_count", number(&Config::max_job_count)},
      {"return_to_service", number(&Config::return_to_service)},
      {"age_weight", number(&Config::age_weight)},
      {"default_mem", memory(&Config::default_memory_per_node_mib)},
      {"default_mem_per_cpu", memory(&Config::default_memory_per_cpu_mib)},
      {"memory",
       [](Config& config, const std::string& value) -> Status {
         using enum model::MemoryAs;
         SPUR_ASSIGN(config.memory_as,
                     one_of<model::MemoryAs>(value, {{"consumable", Consumable}, {"free", NotConsumable}}));
         return {};
       }},
      {"enforce",
       [](Config& config, const std::string& value) -> Status {
         using enum model::EnforcePartitionLimits;
         SPUR_ASSIGN(config.enforce_partition_limits,
                     one_of<model::EnforcePartitionLimits>(value, {{"no", No}, {"any", Any}, {"all", All}}));
         return {};
       }},
  };
  return table;
}

Table<model::JobSpec> job_table(const JobContext& context) {
  using Spec = model::JobSpec;
  using Per = model::GresRequest::Per;
  const auto gres = [](Per per, std::string prefix) {
    return [per, prefix](Spec& spec, const std::string& value) { return add_job_gres(spec, prefix + value, per); };
  };
  const auto when = [zero = context.zero](Time Spec::* field) {
    return [zero, field](Spec& spec, const std::string& value) -> Status {
      SPUR_ASSIGN(const Duration span, parse_span(value));
      spec.*field = zero + span;
      return {};
    };
  };
  return {
      {"nodes", set_nodes},
      {"tasks", number(&Spec::tasks)},
      {"tasks_per_node", number(&Spec::tasks_per_node)},
      {"cpus", number(&Spec::cpus_per_task)},
      {"min_cpus", number(&Spec::min_cpus_per_node)},
      {"mem", memory(&Spec::memory_per_node_mib)},
      {"mem_per_cpu", memory(&Spec::memory_per_cpu_mib)},
      {"tmp", memory(&Spec::tmp_disk_mib)},
      {"gres", gres(Per::Node, "")},
      {"gpus", gres(Per::Node, "gpu:")},
      {"gpus_per_job", gres(Per::Job, "gpu:")},
      {"gpus_per_task", gres(Per::Task, "gpu:")},
      {"gres_per_task", gres(Per::Task, "")},
      {"tasks_per_gpu", number(&Spec::tasks_per_gpu)},
      {"tasks_per_core", number(&Spec::tasks_per_core)},
      {"tasks_per_socket", number(&Spec::tasks_per_socket)},
      {"threads_per_core", number(&Spec::threads_per_core)},
      {"sockets_per_node", number(&Spec::sockets_per_node)},
      {"cores_per_socket", number(&Spec::cores_per_socket)},
      {"cpus_per_gpu", number(&Spec::cpus_per_gpu)},
      {"mem_per_gpu", memory(&Spec::memory_per_gpu_mib)},
      {"licenses", add_licenses},
      {"features", word(&Spec::features)},
      {"require", word(&Spec::required_nodes)},
      {"exclude", word(&Spec::excluded_nodes)},
      {"partition", list(&Spec::partitions)},
      {"reservation", word(&Spec::reservation)},
      {"time", limit(&Spec::time_limit)},
      {"time_min", limit(&Spec::time_min)},
      {"begin", when(&Spec::begin)},
      {"deadline", when(&Spec::deadline)},
      {"name", word(&Spec::name)},
      {"overcommit", flag(&Spec::overcommit)},
      {"contiguous", flag(&Spec::contiguous)},
      {"spread", flag(&Spec::spread_nodes)},
      {"fewest_nodes", flag(&Spec::fewest_nodes)},
      {"switches", number(&Spec::switches)},
      {"switch_wait", number(&Spec::switch_wait_seconds)},
      {"segment", number(&Spec::segment)},
      {"prefer", word(&Spec::prefer)},
      {"hold", flag(&Spec::hold)},
      {"oversubscribe", flag(&Spec::oversubscribe)},
      {"priority", number(&Spec::priority)},
      {"depends", [&context](Spec& spec, const std::string& value) { return set_dependency(spec, context, value); }},
      {"dist",
       [](Spec& spec, const std::string& value) -> Status {
         // As -m, but for the size of a plane, which stands behind a colon.
         std::string written = value;
         if (written.starts_with("plane:")) written[5] = '=';
         const auto read = model::parse_distribution(written, {});
         if (!read) return fail(ErrorCode::InvalidArgument, "a distribution that -m does not know: " + value);
         spec.distribution = *read;
         return {};
       }},
      {"exclusive",
       [](Spec& spec, const std::string& value) -> Status {
         using enum model::Exclusive;
         SPUR_ASSIGN(spec.exclusive, one_of<model::Exclusive>(value, {{"yes", Node}, {"no", No}, {"user", User}}));
         return {};
       }},
      {"requeue",
       [](Spec& spec, const std::string& value) -> Status {
         SPUR_ASSIGN(spec.requeue, parse_yes_no(value));
         return {};
       }},
      {"kill_invalid",
       [](Spec& spec, const std::string& value) -> Status {
         SPUR_ASSIGN(spec.kill_on_invalid_dependency, parse_yes_no(value));
         return {};
       }},
      {"user",
       [](Spec& spec, const std::string& value) -> Status {
         SPUR_ASSIGN(const std::uint64_t uid, parse_number(value));
         spec.uid = Uid(static_cast<std::uint32_t>(uid));
         return {};
       }},
      {"nice",
       [](Spec& spec, const std::string& value) -> Status {
         const bool negative = value.starts_with('-');
         SPUR_ASSIGN(const std::uint64_t nice, parse_number(negative ? value.substr(1) : value));
         spec.nice =
             static_cast<std::int32_t>(negative ? -static_cast<std::int64_t>(nice) : static_cast<std::int64_t>(nice));
         return {};
       }},
      {"array",
       [](Spec& spec, const std::string& value) -> Status {
         SPUR_ASSIGN(const text::ArraySpec array, text::parse_array_spec(value));
         spec.array = model::ArrayRequest{array.tasks, array.max_running};
         return {};
       }},
  };
}

}  // namespace

Status apply_node_options(const Line& line, model::NodeConfig& node) {
  return apply_table(node_table(), line, 1, node);
}

Status apply_partition_options(const Line& line, model::PartitionConfig& partition) {
  return apply_table(partition_table(), line, 1, partition);
}

Status apply_config_options(const Line& line, model::ClusterConfig& config) {
  return apply_table(config_table(), line, 0, config);
}

Status apply_job_options(const Line& line, const JobContext& context, model::JobSpec& spec) {
  SPUR_TRY(apply_table(job_table(context), line, 1, spec));
  const bool says_what_of_a_node = std::ranges::any_of(line.options, [](const auto& option) {
    for (const std::string_view key :
         {"tasks", "tasks_per_node", "cpus", "min_cpus", "mem", "mem_per_cpu", "gres", "gpus", "gpus_per_job",
          "gpus_per_task", "gres_per_task", "tasks_per_gpu", "exclusive"})
      if (option.first == key) return true;
    return false;
  });
  if (spec.nodes_given && !says_what_of_a_node) spec.exclusive = model::Exclusive::Node;
  return {};
}

}  // namespace spur::scenario
