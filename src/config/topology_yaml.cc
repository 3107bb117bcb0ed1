// SPDX-License-Identifier: Apache-2.0
// Block-style YAML by indentation, as far as the file needs it: maps, lists of maps or of scalars, [flow, lists] of
// scalars, comments, quotes. Anything else is refused with its line.
#include "config/topology_yaml.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "config/keys.h"
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
  Parser(const Draft& draft, std::uint32_t file) : draft_(draft), file_(file) {}

  Result<Yaml> run(std::string_view text) {
    std::uint32_t number = 0;
    for (std::string_view line : text::split(text, '\n')) {
      ++number;
      line = without_comment(line);
      if (line.starts_with("---") || text::trim(line).empty()) continue;
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

  // The lines from here on that are indented by `indent`: a list or a map.
  Result<Yaml> block(std::size_t indent, int depth) {
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
      SPUR_ASSIGN(child, block(lines_[at_].indent, depth + 1));
      child.line = line.number;
    }
    out.map.emplace_back(key, std::move(child));
    return {};
  }

  const Draft& draft_;
  std::uint32_t file_;
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
    const Yaml* chosen = nullptr;
    for (const Yaml& item : top.list) {
      if (!item.find("topology")) return draft_.refuse(place(item), "a topology without a name (topology: NAME)");
      if (!chosen || (is_true(item.find("cluster_default")) && !is_true(chosen->find("cluster_default")))) chosen = &item;
    }
    if (!chosen) return draft_.refuse(place(top), "a list of topologies is expected");
    for (const Yaml& item : top.list)
      if (&item != chosen)
        draft_.warn(place(item), fmt::format("topology {}: not in force yet: the network has one topology",
                                             text::shown(item.find("topology")->scalar, 60)));
    return one(*chosen);
  }

 private:
  Position place(const Yaml& value) const { return {.file = file_, .line = value.line}; }

  Status one(const Yaml& item) {
    for (const auto& [key, value] : item.map) {
      if (key == "topology" || key == "cluster_default") continue;
      if (key == "tree") {
        SPUR_TRY(plugin("topology/tree", value));
        SPUR_TRY(places(value, "switches", "switch"));
      } else if (key == "block") {
        SPUR_TRY(plugin("topology/block", value));
        SPUR_TRY(places(value, "blocks", "block"));
      } else if (key == "flat") {
        SPUR_TRY(plugin("topology/flat", value));
      } else {
        return draft_.refuse(place(value), fmt::format("unknown key {}: it is tree, block or flat", text::shown(key, 60)));
      }
    }
    return {};
  }

  // The file goes over TopologyPlugin, as in Slurm.
  Status plugin(std::string_view name, const Yaml& value) {
    Target target{.draft = draft_};
    return take_slurm_pair(Scope::Top, "TopologyPlugin", name, target, place(value));
  }

  Status places(const Yaml& value, std::string_view list, std::string_view name) {
    for (const auto& [key, below] : value.map) {
      if (key == "block_sizes" && name == "block") {
        std::string sizes;
        for (const Yaml& size : below.list) sizes += (sizes.empty() ? "" : ",") + size.scalar;
        if (below.list.empty()) sizes = below.scalar;
        Target target{.draft = draft_};
        SPUR_TRY(take_slurm_pair(Scope::Switch, "BlockSizes", sizes, target, place(below)));
      } else if (key == list) {
        for (const Yaml& row : below.list) SPUR_TRY(line(row, name));
      } else {
        return draft_.refuse(place(below), fmt::format("unknown key {}", text::shown(key, 60)));
      }
    }
    return {};
  }

  Status line(const Yaml& row, std::string_view name) {
    SwitchBlock block;
    block.at = place(row);
    block.row.line = row.line;
    Target target{.draft = draft_, .network = &block, .block = static_cast<std::uint32_t>(draft_.switches.size())};
    for (const auto& [key, value] : row.map) {
      const std::string_view slurm = key == name         ? (name == "switch" ? "SwitchName" : "BlockName")
                                     : key == "nodes"    ? "Nodes"
                                     : key == "children" ? "Switches"
                                                         : std::string_view(key);
      SPUR_TRY(take_slurm_pair(Scope::Switch, slurm, value.scalar, target, place(value)));
    }
    draft_.switches.push_back(std::move(block));
    return {};
  }

  Draft& draft_;
  std::uint32_t file_;
};

}  // namespace

Status read_topology_yaml(std::string_view text, std::string path, Draft& draft) {
  draft.files.push_back(std::move(path));
  const auto file = static_cast<std::uint32_t>(draft.files.size() - 1);
  SPUR_ASSIGN(const Yaml top, Parser(draft, file).run(text));
  // In 25.05 the yaml file stands in place of topology.conf.
  if (!draft.switches.empty()) {
    draft.warn({.file = file, .line = 0}, "topology.yaml is read in place of topology.conf");
    draft.switches.clear();
    std::erase_if(draft.statements, [](const Statement& s) { return s.scope == static_cast<std::uint8_t>(Scope::Switch); });
  }
  return TopologyReader(draft, file).run(top);
}

}  // namespace spur::config
