// SPDX-License-Identifier: Apache-2.0
// Block-style YAML by indentation, as far as the file needs it: maps, lists of maps or of scalars, [flow, lists] of
// scalars, comments, quotes. Anything else is refused with its line.
#include "config/topology_yaml.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "config/keys.h"
#include "text/decimal.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::config {

namespace {

struct Yaml {
  std::uint32_t line = 0;
  std::string scalar;
  std::vector<std::pair<std::string, Yaml>> map;
  std::vector<Yaml> list;

  const Yaml* find(std::string_view key) const {
    for (const auto& [name, value] : map)
      if (name == key) return &value;
    return nullptr;
  }
};

struct Line {
  std::uint32_t number;
  std::size_t indent;
  std::string text;
};

std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote) {
      if (line[i] == quote) quote = 0;
    } else if (line[i] == '"' || line[i] == '\'') {
      quote = line[i];
    } else if (line[i] == '#' && (i == 0 || text::is_blank(line[i - 1]))) {
      return line.substr(0, i);
    }
  }
  return line;
}

std::string unquoted(std::string_view text) {
  text = text::trim(text);
  if (text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0])
    return std::string(text.substr(1, text.size() - 2));
  return std::string(text);
}

class Parser {
 public:
  Parser(const Draft& draft, Position begin) : draft_(draft), file_(begin.file), before_(begin.line) {}

  Result<Yaml> run(std::string_view text) {
    std::uint32_t number = before_;
    for (std::string_view line : text::split(text, '\n')) {
      ++number;
      line = without_comment(line);
      if (line.starts_with("---") || line.starts_with("%YAML") || text::trim(line) == "..." || text::trim(line).empty())
        continue;
      const std::size_t indent = line.find_first_not_of(' ');
      if (line[indent] == '\t') return bad(number, "tabs do not indent YAML");
      lines_.push_back({number, indent, std::string(text::trim(line))});
    }
    Yaml top;
    if (lines_.empty()) return top;
    SPUR_ASSIGN(top, block(lines_[0].indent, 0));
    if (at_ < lines_.size()) return bad(lines_[at_].number, "this line is indented less than the first");
    return top;
  }

 private:
  static constexpr int kDeepest = 32;

  std::unexpected<Error> bad(std::uint32_t line, std::string_view what) const {
    return draft_.refuse({.file = file_, .line = line}, what);
  }

  // The lines from here on that are indented by `indent`: a list or a map. A list may stand below the key that it belongs
  // to without being indented further (`of_key`): the next key ends it.
  Result<Yaml> block(std::size_t indent, int depth, bool of_key = false) {
    if (depth > kDeepest) return bad(lines_[at_].number, "too deep");
    Yaml out;
    out.line = lines_[at_].number;
    while (at_ < lines_.size() && lines_[at_].indent == indent) {
      Line& line = lines_[at_];
      if (line.text == "-" || line.text.starts_with("- ")) {
        if (!out.map.empty()) return bad(line.number, "a list in the middle of a map");
        // "- key: value" opens a block that is indented by what stands before "key".
        const std::size_t skip = line.text.find_first_not_of(" -");
        if (skip == std::string::npos) {
          ++at_;
          if (at_ >= lines_.size() || lines_[at_].indent <= indent) return bad(line.number, "an empty item");
          SPUR_ASSIGN(Yaml item, block(lines_[at_].indent, depth + 1));
          out.list.push_back(std::move(item));
        } else if (const std::string rest = line.text.substr(skip); is_pair(rest)) {
          line.text = rest;
          line.indent = indent + skip;
          SPUR_ASSIGN(Yaml item, block(indent + skip, depth + 1));
          out.list.push_back(std::move(item));
        } else {
          out.list.push_back({.line = line.number, .scalar = unquoted(rest), .map = {}, .list = {}});
          ++at_;
        }
      } else {
        if (!out.list.empty() && of_key) break;
        if (!out.list.empty()) return bad(line.number, "a key in the middle of a list");
        SPUR_TRY(pair(out, indent, depth));
      }
    }
    if (at_ < lines_.size() && lines_[at_].indent > indent) return bad(lines_[at_].number, "this line is indented too far");
    return out;
  }

  static bool is_pair(std::string_view text) {
    const std::size_t colon = text.find(':');
    return colon != std::string_view::npos && (colon + 1 == text.size() || text[colon + 1] == ' ');
  }

  Status pair(Yaml& out, std::size_t indent, int depth) {
    const Line line = lines_[at_++];
    if (!is_pair(line.text)) return bad(line.number, fmt::format("\"{}\" is no key", text::shown(line.text, 40)));
    const std::size_t colon = line.text.find(':');
    const std::string key = unquoted(line.text.substr(0, colon));
    const std::string value = std::string(text::trim(std::string_view(line.text).substr(colon + 1)));
    if (out.find(key)) return bad(line.number, fmt::format("{} is there twice", text::shown(key, 40)));
    Yaml child{.line = line.number, .scalar = {}, .map = {}, .list = {}};
    if (value.starts_with('[') && value.ends_with(']')) {
      for (const std::string& item : split_list(std::string_view(value).substr(1, value.size() - 2)))
        child.list.push_back({.line = line.number, .scalar = unquoted(item), .map = {}, .list = {}});
    } else if (!value.empty()) {
      child.scalar = unquoted(value);
    } else if (at_ < lines_.size() && (lines_[at_].indent > indent ||
                                       (lines_[at_].indent == indent && lines_[at_].text.starts_with('-')))) {
      SPUR_ASSIGN(child, block(lines_[at_].indent, depth + 1, lines_[at_].indent == indent));
      child.line = line.number;
    }
    out.map.emplace_back(key, std::move(child));
    return {};
  }

  const Draft& draft_;
  std::uint32_t file_, before_;
  std::vector<Line> lines_;
  std::size_t at_ = 0;
};

bool is_true(const Yaml* value) {
  return value && (text::equal_ignoring_case(value->scalar, "true") || text::equal_ignoring_case(value->scalar, "yes"));
}

class TopologyReader {
 public:
  TopologyReader(Draft& draft, std::uint32_t file) : draft_(draft), file_(file) {}

  Status run(const Yaml& top) {
    if (top.list.empty()) return draft_.refuse(place(top), "a list of topologies is expected");
    for (const Yaml& item : top.list) {
      const Yaml* name = item.find("topology");
      if (!name) return draft_.refuse(place(item), "a topology without a name (topology: NAME)");
      TopologyBlock topology;
      topology.name = name->scalar;
      topology.is_default = is_true(item.find("cluster_default"));
      SPUR_TRY(one(item, topology));
      for (const TopologyBlock& other : draft_.topologies)
        if (other.name == topology.name)
          return draft_.refuse(place(item), fmt::format("topology {} is there twice", text::shown(topology.name, 60)));
      draft_.topologies.push_back(std::move(topology));
    }
    return {};
  }

 private:
  Position place(const Yaml& value) const { return {.file = file_, .line = value.line}; }

  Status one(const Yaml& item, TopologyBlock& topology) {
    using enum model::TopologyKind;
    for (const auto& [key, value] : item.map) {
      if (key == "topology" || key == "cluster_default") continue;
      const auto is_none = [&] { return value.map.empty() && (value.scalar == "{}" || value.scalar == "false"); };
      if (key == "tree") {
        if (is_none()) continue;
        topology.kind = Tree;
        SPUR_TRY(places(value, "switches", "switch", topology));
      } else if (key == "block") {
        if (is_none()) continue;
        topology.kind = Block;
        SPUR_TRY(places(value, "blocks", "block", topology));
      } else if (key != "flat") {
        return draft_.refuse(place(value), fmt::format("unknown key {}: it is tree, block or flat", text::shown(key, 60)));
      }
    }
    return {};
  }

  Status places(const Yaml& value, std::string_view list, std::string_view name, TopologyBlock& topology) {
    for (const auto& [key, below] : value.map) {
      if (key == "block_sizes" && name == "block") {
        SPUR_TRY(sizes(below, topology));
      } else if (key == list) {
        for (const Yaml& row : below.list) SPUR_TRY(line(row, name, topology));
      } else {
        return draft_.refuse(place(below), fmt::format("unknown key {}", text::shown(key, 60)));
      }
    }
    return {};
  }

  Status sizes(const Yaml& value, TopologyBlock& topology) {
    std::vector<std::string> words;
    for (const Yaml& size : value.list) words.push_back(size.scalar);
    if (words.empty()) words = split_list(value.scalar);
    for (const std::string& word : words) {
      const auto size = text::parse_decimal32(word);
      if (!size || *size == 0)
        return draft_.refuse(place(value), fmt::format("BlockSizes: \"{}\" is no size", text::shown(word, 40)));
      topology.block_sizes.push_back(*size);
    }
    return {};
  }

  Status line(const Yaml& row, std::string_view name, TopologyBlock& topology) {
    SwitchBlock block;
    block.at = place(row);
    block.row.line = row.line;
    block.is_block = name == "block";
    for (const auto& [key, value] : row.map) {
      if (key == name)
        block.row.name = value.scalar;
      else if (key == "nodes")
        block.row.nodes = value.scalar;
      else if (key == "children" && name == "switch")
        block.row.switches = value.scalar;
      else
        return draft_.refuse(place(value), fmt::format("Parsing error at unrecognized key: {}", text::shown(key, 60)));
    }
    topology.rows.push_back(std::move(block));
    return {};
  }

  Draft& draft_;
  std::uint32_t file_;
};

}  // namespace

Status read_topology_yaml(std::string_view text, Position begin, Draft& draft) {
  SPUR_ASSIGN(const Yaml top, Parser(draft, begin).run(text));
  // In 25.05 the yaml file stands in place of topology.conf.
  if (!draft.switches.empty()) {
    draft.warn(begin, "topology.yaml is read in place of topology.conf");
    draft.switches.clear();
    std::erase_if(draft.statements, [](const Statement& s) { return s.scope == static_cast<std::uint8_t>(Scope::Switch); });
  }
  draft.siblings.emplace_back(kTopologyYaml, text);
  return TopologyReader(draft, begin.file).run(top);
}

}  // namespace spur::config
