// SPDX-License-Identifier: Apache-2.0
// scontrol create and delete: which entity is meant. Also nodes and partitions, whose keys are those of the configuration
// (config/keys.h): an administrator writes the same words in both places.
#include <algorithm>

#include "cli/scontrol.h"
#include "config/keys.h"
#include "config/node_words.h"
#include "text/hostlist.h"
#include "text/words.h"
#include "wire/config_codec.h"

namespace spur::cli {
namespace {

bool is_reservation(std::string_view key) {
  return abbreviates(key, "ReservationName", 3);
}
bool is_node(std::string_view key) {
  return abbreviates(key, "NodeName", 5);
}
bool is_partition(std::string_view key) {
  return abbreviates(key, "PartitionName", 4);
}

// What Slurm says of a value that a key cannot have: what it can, or, where that is null, that it is no value.
struct PartitionValues {
  const char* key;
  const char* acceptable;
};
constexpr PartitionValues kPartitionValues[] = {
    {"State", "UP, DOWN, DRAIN and INACTIVE"},
    {"Hidden", "YES and NO"},
    {"RootOnly", "YES and NO"},
    {"LLN", "YES and NO"},
    {"OverSubscribe", "NO, EXCLUSIVE, YES:#, and FORCE:#"},
    {"PriorityJobFactor", nullptr},
    {"PriorityTier", nullptr},
    {"MaxCPUsPerNode", nullptr},
    {"GraceTime", nullptr},
};

// False after the message.
bool take_partition_key(Scontrol& run, const std::string& word, config::Target& target) {
  const KeyValue pair = split_pair(word);
  const config::Key* key = pair.has_value ? config::find_slurm_key(config::Scope::Partition, pair.key) : nullptr;
  if (key == nullptr || key->set == nullptr) {
    run.fail("scontrol: error: Update of this parameter is not supported: {}", word);
    run.fail("{}", "");
    run.fail("scontrol: error: Request aborted");
    return false;
  }
  const auto value = config::check_text(key->kind, pair.key, pair.value);
  const Status done = value ? key->set(target, *value) : Status(std::unexpected(value.error()));
  if (done) return true;
  const auto known = std::ranges::find_if(
      kPartitionValues, [&](const PartitionValues& row) { return text::equal_ignoring_case(key->slurm, row.key); });
  if (known == std::end(kPartitionValues)) {
    run.fail("scontrol: error: Invalid input {}", word);
  } else if (known->acceptable == nullptr) {
    run.fail("scontrol: error: Invalid {} value: {}", known->key, pair.value);
  } else {
    run.fail("scontrol: error: Invalid input: {}", word);
    run.fail("scontrol: error: Acceptable {} values are {}", known->key, known->acceptable);
  }
  return false;
}

// The partition as the words want it, and the names of the fields that differ from `before`.
struct PartitionWords {
  model::PartitionConfig partition;
  std::vector<std::string> changed;
};
std::optional<PartitionWords> read_partition(Scontrol& run, const model::PartitionConfig& before,
                                             const Words& words_given) {
  config::Draft draft;
  draft.dialect = config::Dialect::Slurm;
  config::PartitionBlock block{before, {}};
  config::Target target{.draft = draft, .partition = &block};
  for (const std::string& word : words_given)
    if (!is_partition(split_pair(word).key) && !take_partition_key(run, word, target)) return std::nullopt;
  return PartitionWords{block.partition, wire::changed_fields(before, block.partition)};
}

void create_partition(Scontrol& run, const Words& words_given) {
  model::PartitionConfig fresh;
  fresh.min_nodes = 1;
  for (const std::string& word : words_given)
    if (const KeyValue pair = split_pair(word); is_partition(pair.key)) fresh.name = std::string(pair.value);
  const auto wanted = read_partition(run, fresh, words_given);
  if (!wanted) return;
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  auto changed = wanted->changed;
  changed.emplace_back("min_nodes");
  if (const Status done = controller->edit_partition(wire::PartitionEdit::Create, wanted->partition, changed); !done)
    run.fail("Error creating the partition: {}", words_of_update(done.error()));
}

// ---- nodes that no file has; the words are those of a NodeName line

constexpr const char* kCreateError = "Error creating the node(s)";

// What can be said of a node that is not there yet.
bool may_begin(const model::NodeConfig& node) {
  return text::equal_ignoring_case(node.state, "CLOUD") || text::equal_ignoring_case(node.state, "FUTURE");
}

void create_nodes(Scontrol& run, const Words& words_given) {
  std::string names, line;
  config::NodeWords rest;
  for (const std::string& word : words_given) {
    line.append(line.empty() ? "" : " ").append(word);
    const KeyValue pair = split_pair(word);
    if (is_node(pair.key)) {
      names = pair.value;
    } else {
      rest.emplace_back(pair.key, pair.value);
    }
  }
  const auto nodes = config::read_node_words(names, rest);
  if (!nodes) {
    run.fail("scontrol: error: Failed to parse nodeline '{}'", line);
    return run.fail("{}: {}", kCreateError, words(nodes.error()));
  }
  if (!std::ranges::all_of(*nodes, may_begin)) {
    run.fail("scontrol: error: Only State=FUTURE and State=CLOUD allowed for nodes created by scontrol");
    return run.fail("{}: {}", kCreateError, slurm_message(ErrorCode::InvalidNodeState));
  }
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const Status done = controller->create_nodes(*nodes);
  if (done) return;
  const bool full = done.error().code == ErrorCode::InvalidNodeCount && !done.error().message.empty();
  run.fail("{}: {}", kCreateError, full ? done.error().message : words_of_update(done.error()));
}

void delete_nodes(Scontrol& run, const std::string& given, const std::string& list) {
  const auto names = text::expand_hostlist(list);
  if (!names || names->empty()) return run.fail("delete_node {}: {}", given, slurm_message(ErrorCode::InvalidNode));
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const Status done = controller->delete_nodes(*names);
  if (done) return;
  if (done.error().message.starts_with("failed to")) run.fail("scontrol: error: {}", done.error().message);
  run.fail("delete_node {}: {}", given, words_of_update(done.error()));
}

}  // namespace

void scontrol_update_partition(Scontrol& run, const KeyValue& entity, const Words& pairs) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto table = controller->cluster();
  if (!table) return run.fail("slurm_update error: {}", words(table.error()));
  const auto at = std::ranges::find_if(table->partitions,
                                       [&](const model::Partition& p) { return p.config.name == entity.value; });
  if (at == table->partitions.end())
    return run.fail("slurm_update error: {}", slurm_message(ErrorCode::InvalidPartition));
  const auto wanted = read_partition(run, at->config, pairs);
  if (!wanted) return run.fail("slurm_update error: No error");
  if (pairs.empty()) return run.fail("scontrol: error: No changes specified");
  const Status done = controller->edit_partition(wire::PartitionEdit::Update, wanted->partition, wanted->changed);
  if (!done) run.fail("slurm_update error: {}", words_of_update(done.error()));
}

void scontrol_create(Scontrol& run, const Words& words_given) {
  for (const std::string& word : words_given) {
    const std::string_view key = split_pair(word).key;
    if (is_reservation(key)) return scontrol_create_reservation(run, words_given);
    if (is_partition(key)) return create_partition(run, words_given);
    if (is_node(key)) return create_nodes(run, words_given);
  }
  run.fail("scontrol: error: Invalid creation entity: {}", words_given.front());
}

void scontrol_delete(Scontrol& run, const Words& words_given) {
  const KeyValue first = split_pair(words_given.front());
  const bool reservation = is_reservation(first.key), nodes = is_node(first.key);
  if (!reservation && !nodes && !is_partition(first.key)) return run.fail("Invalid deletion entity: {}", words_given.front());
  const std::string name = first.has_value          ? std::string(first.value)
                           : words_given.size() > 1 ? words_given[1]
                                                    : std::string();
  if (name.empty())
    return run.fail("scontrol: error: Proper format is 'delete <ENTITY>=<ID>' or 'delete <ENTITY> <ID>'");
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  if (nodes) return delete_nodes(run, words_given.front(), name);
  model::PartitionConfig partition;
  partition.name = name;
  const Status done = reservation ? controller->delete_reservation(name)
                                  : controller->edit_partition(wire::PartitionEdit::Remove, partition, {});
  if (!done)
    run.fail("{} {}: {}", reservation ? "delete_reservation" : "delete_partition", words_given.front(),
             words_of_update(done.error()));
}

}  // namespace spur::cli
