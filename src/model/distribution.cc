// SPDX-License-Identifier: Apache-2.0
#include "model/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "text/decimal.h"
#include "text/words.h"

namespace spur::model {
namespace {

using Nodes = Distribution::Nodes;
using Within = Distribution::Within;

std::optional<Within> within_named(std::string_view word) {
  if (word.empty() || word == "*") return Within::Unset;
  if (text::equal_ignoring_case(word, "block")) return Within::Block;
  if (text::equal_ignoring_case(word, "cyclic")) return Within::Cyclic;
  if (text::equal_ignoring_case(word, "fcyclic")) return Within::FullCyclic;
  return std::nullopt;
}

std::string_view word_of(Within within) {
  switch (within) {
    case Within::Unset:
      return "*";
    case Within::Block:
      return "block";
    case Within::Cyclic:
      return "cyclic";
    case Within::FullCyclic:
      return "fcyclic";
  }
  return "*";
}

std::string_view word_of(Nodes nodes) {
  switch (nodes) {
    case Nodes::Unset:
      return "";
    case Nodes::Block:
      return "block";
    case Nodes::Cyclic:
      return "cyclic";
    case Nodes::Plane:
      return "plane";
    case Nodes::Arbitrary:
      return "arbitrary";
  }
  return "";
}

bool set_pack(std::string_view word, Distribution& distribution) {
  const bool pack = text::equal_ignoring_case(word, "pack");
  if (!pack && !text::equal_ignoring_case(word, "nopack")) return false;
  distribution.pack = pack;
  return true;
}

// The levels, without what follows a comma.
bool set_levels(std::string_view levels, Distribution& distribution) {
  const auto parts = text::split(levels, ':');
  if (parts.empty() || parts.size() > 3) return false;
  if (text::equal_ignoring_case(parts[0], "block"))
    distribution.nodes = Nodes::Block;
  else if (text::equal_ignoring_case(parts[0], "cyclic"))
    distribution.nodes = Nodes::Cyclic;
  else if (parts[0] != "*")
    return false;
  for (std::size_t level = 1; level < parts.size(); ++level) {
    const auto within = within_named(parts[level]);
    if (!within) return false;
    (level == 1 ? distribution.sockets : distribution.cores) = *within;
  }
  // What is left open in front of something that is said is the usual.
  if (distribution.cores != Within::Unset && distribution.sockets == Within::Unset)
    distribution.sockets = Within::Cyclic;
  if (distribution.sockets != Within::Unset && distribution.nodes == Nodes::Unset) distribution.nodes = Nodes::Block;
  return true;
}

// So many tasks go to a node at a time.
std::uint32_t at_a_time(const Distribution& distribution) {
  return distribution.nodes == Nodes::Plane ? std::max(1u, distribution.plane_size) : 1;
}

}  // namespace

std::expected<Distribution, DistributionFault> parse_distribution(std::string_view text,
                                                                  std::optional<std::uint32_t> plane_size) {
  Distribution distribution;
  if (text.size() >= 5 && text::equal_ignoring_case(text.substr(0, 5), "plane")) {
    const auto size = text.size() == 5 ? plane_size
                      : text[5] == '=' ? text::parse_decimal32(text.substr(6))
                                       : std::nullopt;
    if (!size || *size == 0) return std::unexpected(DistributionFault::PlaneSize);
    distribution.nodes = Nodes::Plane;
    distribution.plane_size = *size;
    return distribution;
  }
  if (text::equal_ignoring_case(text, "arbitrary")) {
    distribution.nodes = Nodes::Arbitrary;
    return distribution;
  }
  if (set_pack(text, distribution)) return distribution;
  const auto comma = text.find(',');
  if (!set_levels(text.substr(0, comma), distribution)) return std::unexpected(DistributionFault::Unknown);
  if (comma != std::string_view::npos && !set_pack(text.substr(comma + 1), distribution))
    return std::unexpected(DistributionFault::Unknown);
  return distribution;
}

std::string distribution_text(const Distribution& distribution) {
  std::string out(word_of(distribution.nodes));
  if (distribution.sockets != Within::Unset) out.append(":").append(word_of(distribution.sockets));
  if (distribution.cores != Within::Unset) out.append(":").append(word_of(distribution.cores));
  if (distribution.pack) out.append(out.empty() ? "" : ",").append(*distribution.pack ? "pack" : "nopack");
  return out;
}

std::vector<std::uint32_t> deal_tasks(const Distribution& distribution, std::uint32_t tasks,
                                      std::span<const std::uint32_t> room) {
  std::vector<std::uint32_t> dealt(room.size(), 0);
  if (room.empty()) return dealt;
  const bool pack =
      distribution.pack.value_or(false) && (distribution.nodes == Nodes::Unset || distribution.nodes == Nodes::Block);
  const std::uint32_t lot = pack ? tasks : at_a_time(distribution);
  // Whoever fills a node leaves one task for each that comes after it.
  std::uint32_t waiting = tasks >= room.size() ? static_cast<std::uint32_t>(room.size()) : 0;
  for (bool some = true; tasks > 0 && some;) {
    some = false;
    for (std::size_t i = 0; i < room.size() && tasks > 0; ++i) {
      if (waiting > 0) --waiting;
      const std::uint32_t here = std::min({lot, tasks > waiting ? tasks - waiting : 0, room[i] - dealt[i]});
      dealt[i] += here;
      tasks -= here;
      some |= here > 0;
    }
  }
  for (std::size_t i = 0; tasks > 0; i = (i + 1) % room.size(), --tasks) ++dealt[i];
  return dealt;
}

std::vector<std::vector<std::uint32_t>> task_numbers(const Distribution& distribution,
                                                     std::span<const std::uint32_t> tasks) {
  const bool in_turn = distribution.nodes == Nodes::Cyclic || distribution.nodes == Nodes::Plane;
  if (!in_turn || tasks.size() < 2) return {};
  std::vector<std::vector<std::uint32_t>> numbers(tasks.size());
  std::uint32_t next = 0;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const auto given = static_cast<std::uint32_t>(numbers[i].size());
      const std::uint32_t here = std::min(at_a_time(distribution), tasks[i] - given);
      for (std::uint32_t n = 0; n < here; ++n) numbers[i].push_back(next++);
      more |= given + here < tasks[i];
    }
  }
  return numbers;
}

std::vector<std::vector<std::uint32_t>> task_numbers(std::span<const std::uint32_t> node_of_task, std::size_t nodes) {
  std::vector<std::vector<std::uint32_t>> numbers(nodes);
  for (std::uint32_t task = 0; task < node_of_task.size(); ++task) numbers[node_of_task[task]].push_back(task);
  return numbers;
}

std::string process_mapping(const std::vector<std::vector<std::uint32_t>>& ranks) {
  std::size_t count = 0;
  for (const auto& of_node : ranks) count += of_node.size();
  std::vector<std::uint32_t> task_nodes(count);
  for (std::uint32_t node = 0; node < ranks.size(); ++node)
    for (const std::uint32_t rank : ranks[node]) task_nodes.at(rank) = node;
  struct Block {
    std::uint32_t first_node, nodes, tasks;
  };
  std::vector<Block> blocks;
  for (std::size_t at = 0; at < task_nodes.size();) {
    std::size_t end = at;
    while (end < task_nodes.size() && task_nodes[end] == task_nodes[at]) ++end;
    const auto tasks = static_cast<std::uint32_t>(end - at);
    if (!blocks.empty() && blocks.back().tasks == tasks &&
        blocks.back().first_node + blocks.back().nodes == task_nodes[at])
      ++blocks.back().nodes;
    else
      blocks.push_back({task_nodes[at], 1, tasks});
    at = end;
  }
  std::string text = "(vector";
  for (const Block& block : blocks) text += fmt::format(",({},{},{})", block.first_node, block.nodes, block.tasks);
  return text + ')';
}

std::optional<std::vector<std::vector<std::uint32_t>>> parse_process_mapping(std::string_view text, std::size_t nodes,
                                                                             std::size_t most) {
  const auto skip = [&](std::string_view word) {
    const bool there = text.starts_with(word);
    if (there) text.remove_prefix(word.size());
    return there;
  };
  const auto number = [&](std::uint32_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  std::vector<std::vector<std::uint32_t>> ranks(nodes);
  std::uint32_t rank = 0;
  if (!skip("(vector")) return std::nullopt;
  while (skip(",(")) {
    std::uint32_t first = 0, count = 0, tasks = 0;
    if (!number(first) || !skip(",") || !number(count) || !skip(",") || !number(tasks) || !skip(")"))
      return std::nullopt;
    if (first > nodes || count > nodes - first || tasks > most) return std::nullopt;
    for (std::uint32_t node = first; node < first + count; ++node)
      for (std::uint32_t i = 0; i < tasks; ++i) {
        if (rank >= most) return std::nullopt;
        ranks[node].push_back(rank++);
      }
  }
  if (text != ")") return std::nullopt;
  return ranks;
}

}  // namespace spur::model
