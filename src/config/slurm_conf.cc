// SPDX-License-Identifier: Apache-2.0
// Lines to key table rows. One pair per line at the top, as in Slurm; NodeName, PartitionName, NodeSet and DownNodes
// open a block that the rest of the line describes. Words of errors are Slurm's, with file and line in front.
#include "config/slurm_conf.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "config/keys.h"
#include "config/slurm_keys.h"
#include "config/slurm_lines.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::config {

namespace {

using text::equal_ignoring_case;

constexpr std::size_t kMaxDepth = 16, kMaxFiles = 1000, kLongestPath = 4096;

constexpr std::string_view kBlocks[] = {"NodeName", "PartitionName", "NodeSet", "DownNodes"};

bool opens_block(std::string_view line) {
  line = text::trim(line);
  const std::string_view key = text::trim(line.substr(0, line.find('=')));
  return std::ranges::any_of(kBlocks, [&](std::string_view block) { return equal_ignoring_case(block, key); });
}

class SlurmReader {
 public:
  SlurmReader(const FileReader& read, Draft& draft, Status (SlurmReader::*line)(const std::vector<SlurmPair>&, Position))
      : read_(read), draft_(draft), line_(line) {}

  Status file(std::string_view text, std::uint32_t file_index) {
    open_.push_back(draft_.files[file_index]);
    for (const SlurmLine& line : slurm_lines(text)) {
      const Position at{.file = file_index, .line = line.number};
      if (const std::string_view name = included_file(line.text); !name.empty()) {
        SPUR_TRY(include(name, at));
        continue;
      }
      if (draft_.daemon_only && opens_block(line.text)) continue;
      const auto pairs = slurm_pairs(line.text);
      if (!pairs) return draft_.refuse(at, pairs.error().message);
      SPUR_TRY((this->*line_)(*pairs, at));
    }
    open_.pop_back();
    return {};
  }

  Status slurm_line(const std::vector<SlurmPair>& pairs, Position at) {
    const SlurmPair& first = pairs[0];
    if (equal_ignoring_case(first.key, "NodeName")) return node_line(pairs, at);
    if (equal_ignoring_case(first.key, "PartitionName")) return partition_line(pairs, at);
    if (equal_ignoring_case(first.key, "NodeSet")) return node_set_line(pairs, at);
    if (equal_ignoring_case(first.key, "DownNodes")) return down_nodes_line(pairs, at);
    if (equal_ignoring_case(first.key, "FrontendName"))
      return draft_.refuse(at, "FrontendName: front end nodes are not supported");
    Target target{.draft = draft_};
    SPUR_TRY(take_slurm_pair(Scope::Top, first.key, first.value, target, at));
    if (pairs.size() > 1)
      return draft_.refuse(at, fmt::format("Parse error: \"{}={}\": one key per line", text::shown(pairs[1].key, 40),
                                           text::shown(pairs[1].value, 40)));
    return {};
  }

  Status gres_line(const std::vector<SlurmPair>& pairs, Position at) {
    DeviceBlock device;
    device.at = at;
    Target target{.draft = draft_, .device = &device, .block = draft_.device_lines};
    for (const SlurmPair& p : pairs) SPUR_TRY(take_slurm_pair(Scope::Device, p.key, p.value, target, at));
    return add_device_block(draft_, std::move(device));
  }

  Status cgroup_line(const std::vector<SlurmPair>& pairs, Position at) {
    Target target{.draft = draft_};
    for (const SlurmPair& p : pairs) SPUR_TRY(take_slurm_pair(Scope::Cgroup, p.key, p.value, target, at));
    return {};
  }

  Status topology_line(const std::vector<SlurmPair>& pairs, Position at) {
    SwitchBlock block;
    block.at = at;
    block.row.line = at.line;
    Target target{
        .draft = draft_, .network = &block, .block = static_cast<std::uint32_t>(draft_.switches.size())};
    for (const SlurmPair& p : pairs) SPUR_TRY(take_slurm_pair(Scope::Switch, p.key, p.value, target, at));
    const bool only_sizes = block.row.name.empty() && block.row.nodes.empty() && block.row.switches.empty();
    if (!only_sizes) draft_.switches.push_back(std::move(block));
    return {};
  }

  Status dbd_line(const std::vector<SlurmPair>& pairs, Position at) {
    Target target{.draft = draft_};
    for (const SlurmPair& p : pairs) SPUR_TRY(take_slurm_pair(Scope::Dbd, p.key, p.value, target, at));
    return {};
  }

 private:
  Status include(std::string_view name, Position at) {
    std::string path(name);
    if (const std::size_t mark = path.find("%c"); mark != std::string::npos)
      path.replace(mark, 2, text::lower(draft_.cluster.cluster_name));
    if (!path.starts_with('/')) {
      const std::size_t slash = draft_.files[0].rfind('/');
      if (slash != std::string::npos) path = draft_.files[0].substr(0, slash + 1) + path;
    }
    if (path.size() > kLongestPath)
      return draft_.refuse(at, fmt::format("Include {}: the path is too long", text::shown(path, 60)));
    if (open_.size() >= kMaxDepth || draft_.files.size() >= kMaxFiles)
      return draft_.refuse(at, fmt::format("Include {}: too many files included", text::shown(path, 200)));
    if (std::ranges::find(open_, path) != open_.end())
      return draft_.refuse(at, fmt::format("Include {}: the file includes itself", text::shown(path, 200)));
    const auto content = read_(path);
    if (!content) return draft_.refuse(at, fmt::format("Include: {}", content.error().message));
    draft_.files.push_back(path);
    const auto index = static_cast<std::uint32_t>(draft_.files.size() - 1);
    return file(*content, index);
  }

  // The pairs of a line behind the first one, which names the block.
  Status rest_of(const std::vector<SlurmPair>& pairs, Scope scope, Target& target, Position at) {
    for (const SlurmPair& p : std::span(pairs).subspan(1))
      SPUR_TRY(take_slurm_pair(scope, p.key, p.value, target, at));
    return {};
  }

  // What DEFAULT lines said is said of this block.
  void repeat(const std::vector<Statement>& defaults, std::size_t block) {
    if (draft_.daemon_only) return;
    for (Statement statement : defaults) {
      statement.block = static_cast<std::uint32_t>(block);
      draft_.statements.push_back(std::move(statement));
    }
  }

  Status node_line(const std::vector<SlurmPair>& pairs, Position at) {
    NodeBlock block = node_default_;
    block.at = at;
    Target target{.draft = draft_, .node = &block, .block = static_cast<std::uint32_t>(draft_.nodes.size())};
    if (equal_ignoring_case(pairs[0].value, "DEFAULT")) {
      target.told = &node_statements_;
      SPUR_TRY(rest_of(pairs, Scope::Node, target, at));
      node_default_ = std::move(block);
      return {};
    }
    repeat(node_statements_, draft_.nodes.size());
    SPUR_TRY(take_slurm_pair(Scope::Node, pairs[0].key, pairs[0].value, target, at));
    SPUR_TRY(rest_of(pairs, Scope::Node, target, at));
    draft_.nodes.push_back(std::move(block));
    return {};
  }

  Status partition_line(const std::vector<SlurmPair>& pairs, Position at) {
    PartitionBlock block = partition_default_;
    block.at = at;
    Target target{
        .draft = draft_, .partition = &block, .block = static_cast<std::uint32_t>(draft_.partitions.size())};
    if (equal_ignoring_case(pairs[0].value, "DEFAULT")) {
      target.told = &partition_statements_;
      SPUR_TRY(rest_of(pairs, Scope::Partition, target, at));
      partition_default_ = std::move(block);
      return {};
    }
    repeat(partition_statements_, draft_.partitions.size());
    SPUR_TRY(take_slurm_pair(Scope::Partition, pairs[0].key, pairs[0].value, target, at));
    SPUR_TRY(rest_of(pairs, Scope::Partition, target, at));
    draft_.partitions.push_back(std::move(block));
    return {};
  }

  Status node_set_line(const std::vector<SlurmPair>& pairs, Position at) {
    NodeSetBlock set;
    set.at = at;
    Target target{.draft = draft_, .node_set = &set, .block = static_cast<std::uint32_t>(draft_.node_sets.size())};
    for (const SlurmPair& p : pairs) SPUR_TRY(take_slurm_pair(Scope::NodeSet, p.key, p.value, target, at));
    draft_.node_sets.push_back(std::move(set));
    return {};
  }

  Status down_nodes_line(const std::vector<SlurmPair>& pairs, Position at) {
    DownNodesBlock block;
    block.at = at;
    Target target{.draft = draft_, .down = &block, .block = static_cast<std::uint32_t>(draft_.down_nodes.size())};
    for (const SlurmPair& p : pairs) SPUR_TRY(take_slurm_pair(Scope::Down, p.key, p.value, target, at));
    draft_.down_nodes.push_back(std::move(block));
    return {};
  }

  const FileReader& read_;
  Draft& draft_;
  Status (SlurmReader::*line_)(const std::vector<SlurmPair>&, Position);
  std::vector<std::string> open_;  // the chain of files that are being read
  NodeBlock node_default_;
  PartitionBlock partition_default_;
  std::vector<Statement> node_statements_, partition_statements_;  // of DEFAULT lines
};

}  // namespace

Status read_slurm_conf(std::string_view text, const FileReader& read, Draft& draft) {
  return SlurmReader(read, draft, &SlurmReader::slurm_line).file(text, 0);
}

Status read_slurm_sibling(Scope scope, std::string_view text, std::string path, const FileReader& read, Draft& draft) {
  draft.files.push_back(std::move(path));
  const auto line = scope == Scope::Cgroup   ? &SlurmReader::cgroup_line
                    : scope == Scope::Device ? &SlurmReader::gres_line
                    : scope == Scope::Dbd    ? &SlurmReader::dbd_line
                                             : &SlurmReader::topology_line;
  return SlurmReader(read, draft, line).file(text, static_cast<std::uint32_t>(draft.files.size() - 1));
}

Status add_device_block(Draft& draft, DeviceBlock device) {
  ++draft.device_lines;
  // On a line by itself AutoDetect is for all nodes.
  if (device.detect) draft.daemon.detect.push_back({.nodes = device.nodes, .how = *device.detect});
  if (!device.name.empty())
    draft.devices.push_back(std::move(device));
  else if (!device.file.empty() || !device.type.empty() || device.count)
    return draft.refuse(device.at, "a GRES without Name=");
  return {};
}

}  // namespace spur::config
