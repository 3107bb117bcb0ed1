// SPDX-License-Identifier: Apache-2.0
#include "cli/sinfo_groups.h"

#include <algorithm>
#include <map>
#include <set>

#include "text/hostlist.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using model::Node;
using model::Partition;

// What the partition contributes to a line; partitions with equal text may share lines.
std::string partition_key(const Partition& partition, const GroupRules& rules) {
  if (rules.by_node) return partition.config.name;
  if (rules.reasons_only) return {};
  NodeGroup only{&partition, {}, true, nullptr};
  std::string key;
  for (const NodeColumn* column : rules.columns)
    if (column->grouping == Grouping::Partition) key.append(column->of_group(only)).push_back('\0');
  return key;
}

std::string node_key(const wire::ClusterTable& table, const Partition& partition, const Node& node,
                     const GroupRules& rules) {
  if (rules.by_node) return node.name;
  std::string key;
  for (const NodeColumn* column : rules.columns) {
    if (column->grouping == Grouping::Node) key.append(column->of_node(&partition, node)).push_back('\0');
    if (rules.exact && column->grouping == Grouping::Size)
      key.append(column->of_group({&partition, {&node}, true, &table})).push_back('\0');
  }
  return key;
}

// A reason may also stand at a node that works: that is no case for -R.
bool is_out_of_service(const Node& node) {
  return model::base_state(node) == model::NodeState::Down ||
         (node.flags & (model::kNodeDrain | model::kNodeFail)) != 0;
}

int sign(bool less, bool greater) {
  return less ? -1 : greater ? 1 : 0;
}

int compare_by(char letter, const NodeColumn& column, const NodeGroup& a, const NodeGroup& b) {
  if (letter == 't' || letter == 'T') {
    const std::uint32_t left = a.nodes.empty() ? 0 : state_rank(*a.nodes.front());
    const std::uint32_t right = b.nodes.empty() ? 0 : state_rank(*b.nodes.front());
    return sign(left<right, left> right);
  }
  if (letter == 'D') return sign(a.nodes.size() < b.nodes.size(), a.nodes.size() > b.nodes.size());
  const std::string left = column.of_group(a), right = column.of_group(b);
  // host_less compares runs of digits as numbers, which suits counts and names alike.
  return sign(text::host_less(left, right), text::host_less(right, left));
}

struct SortKey {
  char letter = 0;
  const NodeColumn* column = nullptr;
  bool descending = false, configured_order = false;
};

std::vector<SortKey> parse_keys(std::string_view text) {
  std::vector<SortKey> keys;
  for (std::string_view word : text::split(text, ',')) {
    SortKey key;
    for (; word.starts_with('+') || word.starts_with('-') || word.starts_with('#'); word.remove_prefix(1)) {
      if (word.front() == '-') key.descending = true;
      if (word.front() == '#') key.configured_order = true;
    }
    if (word.empty()) continue;
    key.letter = word.front();
    const auto columns = node_columns();
    const auto found =
        std::ranges::find_if(columns, [&](const NodeColumn& column) { return column.letter == key.letter; });
    if (found == columns.end()) continue;
    key.column = &*found;
    if (key.configured_order) key.descending = false;  // as in Slurm
    keys.push_back(key);
  }
  return keys;
}

}  // namespace

std::vector<NodeGroup> group_nodes(const wire::ClusterTable& table, const std::vector<const Partition*>& partitions,
                                   const std::vector<bool>& matches, const GroupRules& rules) {
  std::vector<NodeGroup> groups;
  std::map<std::string, std::size_t> by_key;
  std::vector<std::vector<std::size_t>> groups_of(table.nodes.size());
  std::vector<std::pair<const Partition*, std::string>> empty;  // partitions without a matching node
  std::set<std::string> shown;                                  // what the others contribute
  for (const Partition* partition : partitions) {
    const std::string of_partition = partition_key(*partition, rules);
    bool any = false;
    for (const NodeIndex index : partition->nodes) {
      if (index.value >= table.nodes.size() || !matches[index.value]) continue;
      const Node& node = *table.nodes[index.value];
      if (rules.reasons_only && (node.reason.empty() || !is_out_of_service(node))) continue;
      any = true;
      const auto [entry, added] =
          by_key.try_emplace(of_partition + '\1' + node_key(table, *partition, node, rules), groups.size());
      if (added) groups.push_back({partition, {}, true, &table});
      // A node that two partitions share counts once on a line that shows neither's name.
      std::vector<std::size_t>& already = groups_of[index.value];
      if (std::ranges::find(already, entry->second) != already.end()) continue;
      already.push_back(entry->second);
      groups[entry->second].nodes.push_back(&node);
    }
    if (any) {
      shown.insert(of_partition);
    } else if (rules.empty_lines && !rules.by_node && !rules.reasons_only) {
      empty.emplace_back(partition, of_partition);
    }
  }
  for (const auto& [partition, of_partition] : empty)
    if (shown.insert(of_partition).second) groups.push_back({partition, {}, true, &table});
  return groups;
}

void sort_groups(std::vector<NodeGroup>& groups, const wire::ClusterTable& table, std::string_view text) {
  const std::vector<SortKey> keys = parse_keys(text);
  const auto position = [&](const NodeGroup& group) { return group.partition - table.partitions.data(); };
  std::ranges::stable_sort(groups, [&](const NodeGroup& a, const NodeGroup& b) {
    for (const SortKey& key : keys) {
      const int order = key.configured_order ? sign(position(a) < position(b), position(a) > position(b))
                                             : compare_by(key.letter, *key.column, a, b);
      if (order != 0) return key.descending ? order > 0 : order < 0;
    }
    return false;
  });
}

}  // namespace spur::cli
