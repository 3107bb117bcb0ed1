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

class Reader {
 public:
  Reader(const FileReader& read, Draft& draft, Status (Reader::*line)(const std::vector<SlurmPair>&, Position))
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
    SPUR_TRY(pair(Scope::Top, first, target, at));
    if (pairs.size() > 1)
      return draft_.refuse(at, fmt::format("Parse error: \"{}={}\": one key per line", text::shown(pairs[1].key, 40),
                                           text::shown(pairs[1].value, 40)));
    return {};
  }

  Status gres_line(const std::vector<SlurmPair>& pairs, Position at) {
    DeviceBlock device;
    device.at = at;
    Target target{.draft = draft_, .device = &device};
    for (const SlurmPair& p : pairs) SPUR_TRY(pair(Scope::Device, p, target, at));
    // On a line by itself AutoDetect is for all nodes.
    if (device.detect) draft_.daemon.detect.push_back({.nodes = device.nodes, .how = *device.detect});
    if (!device.name.empty())
      draft_.devices.push_back(std::move(device));
    else if (!device.file.empty() || !device.type.empty() || device.count)
      return draft_.refuse(at, "a GRES without Name=");
    return {};
  }

  Status cgroup_line(const std::vector<SlurmPair>& pairs, Position at) {
    Target target{.draft = draft_};
    for (const SlurmPair& p : pairs) SPUR_TRY(pair(Scope::Cgroup, p, target, at));
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

  // One Key=Value of a line, by its row, or by being a name that Slurm knows.
  Status pair(Scope scope, const SlurmPair& pair, Target& target, Position at) {
    if (const Key* row = find_slurm_key(scope, pair.key)) {
      const auto value = check_text(row->kind, row->slurm, pair.value);
      if (!value) return draft_.refuse(at, value.error().message);
      return take(*row, shown_name(scope, row->slurm), target, *value, at);
    }
    const SlurmName* name = find_slurm_name(scope, pair.key);
    if (!name)
      return draft_.refuse(at, fmt::format("Parsing error at unrecognized key: {}", text::shown(pair.key, 60)));
    keep(shown_name(scope, name->name), pair.value, name->harmless, at);
    return {};
  }

  static std::string shown_name(Scope scope, std::string_view name) {
    switch (scope) {
      case Scope::Node:
        return fmt::format("NodeName {}", name);
      case Scope::Partition:
        return fmt::format("PartitionName {}", name);
      default:
        return std::string(name);
    }
  }

  void keep(const std::string& name, std::string_view value, std::string_view harmless, Position at) {
    draft_.daemon.kept.emplace_back(name, value);
    if (!harmless.empty())
      for (const std::string_view word : text::split(harmless, '|'))
        if (equal_ignoring_case(word, value)) return;
    if (std::ranges::find(draft_.warned_keys, name) != draft_.warned_keys.end()) return;
    draft_.warned_keys.push_back(name);
    draft_.warn(at, fmt::format("{}: not in force yet", name));
  }

  Status node_line(const std::vector<SlurmPair>& pairs, Position at) {
    NodeBlock block = node_default_;
    block.at = at;
    block.names = pairs[0].value;
    Target target{.draft = draft_, .node = &block};
    for (const SlurmPair& p : std::span(pairs).subspan(1)) SPUR_TRY(pair(Scope::Node, p, target, at));
    if (equal_ignoring_case(block.names, "DEFAULT")) {
      block.names.clear();
      node_default_ = std::move(block);
    } else {
      draft_.nodes.push_back(std::move(block));
    }
    return {};
  }

  Status partition_line(const std::vector<SlurmPair>& pairs, Position at) {
    PartitionBlock block = partition_default_;
    block.at = at;
    block.partition.name = pairs[0].value;
    Target target{.draft = draft_, .partition = &block};
    for (const SlurmPair& p : std::span(pairs).subspan(1)) SPUR_TRY(pair(Scope::Partition, p, target, at));
    if (equal_ignoring_case(block.partition.name, "DEFAULT")) {
      block.partition.name.clear();
      partition_default_ = std::move(block);
    } else {
      draft_.partitions.push_back(std::move(block));
    }
    return {};
  }

  Status node_set_line(const std::vector<SlurmPair>& pairs, Position at) {
    NodeSetBlock set{.name = std::string(pairs[0].value), .nodes = {}, .feature = {}, .at = at};
    for (std::size_t i = 1; i < pairs.size(); ++i) {
      if (equal_ignoring_case(pairs[i].key, "Nodes"))
        set.nodes = pairs[i].value;
      else if (equal_ignoring_case(pairs[i].key, "Feature"))
        set.feature = pairs[i].value;
      else
        return draft_.refuse(at, fmt::format("Parsing error at unrecognized key: {}", text::shown(pairs[i].key, 60)));
    }
    draft_.node_sets.push_back(std::move(set));
    return {};
  }

  Status down_nodes_line(const std::vector<SlurmPair>& pairs, Position at) {
    DownNodesBlock block{.nodes = std::string(pairs[0].value), .reason = {}, .at = at};
    for (std::size_t i = 1; i < pairs.size(); ++i) {
      if (equal_ignoring_case(pairs[i].key, "State"))
        block.state = text::upper(pairs[i].value);
      else if (equal_ignoring_case(pairs[i].key, "Reason"))
        block.reason = pairs[i].value;
      else
        return draft_.refuse(at, fmt::format("Parsing error at unrecognized key: {}", text::shown(pairs[i].key, 60)));
    }
    constexpr std::string_view kStates[] = {"DOWN", "DRAIN", "FAIL", "FAILING", "UNKNOWN"};
    if (std::ranges::find(kStates, block.state) == std::end(kStates))
      return draft_.refuse(at, fmt::format("Bad value \"{}\" for State", text::shown(block.state, 40)));
    if (block.state == "FAILING") block.state = "FAIL";
    draft_.down_nodes.push_back(std::move(block));
    return {};
  }

  const FileReader& read_;
  Draft& draft_;
  Status (Reader::*line_)(const std::vector<SlurmPair>&, Position);
  std::vector<std::string> open_;  // the chain of files that are being read
  NodeBlock node_default_;
  PartitionBlock partition_default_;
};

}  // namespace

Status read_slurm_conf(std::string_view text, const FileReader& read, Draft& draft) {
  return Reader(read, draft, &Reader::slurm_line).file(text, 0);
}

Status read_cgroup_conf(std::string_view text, std::string path, const FileReader& read, Draft& draft) {
  draft.files.push_back(std::move(path));
  return Reader(read, draft, &Reader::cgroup_line).file(text, static_cast<std::uint32_t>(draft.files.size() - 1));
}

Status read_gres_conf(std::string_view text, std::string path, const FileReader& read, Draft& draft) {
  draft.files.push_back(std::move(path));
  return Reader(read, draft, &Reader::gres_line).file(text, static_cast<std::uint32_t>(draft.files.size() - 1));
}

}  // namespace spur::config
