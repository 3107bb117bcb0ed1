// SPDX-License-Identifier: Apache-2.0
// Walks the TOML document and hands each value to its row of the key table. The only file that sees toml++, and the
// only one where its exceptions are caught.
#include "config/spur_conf.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "config/keys.h"
#include "config/slurm_conf.h"
#include "config/slurm_files.h"
#include "config/topology_yaml.h"
#include "config/toml_text.h"
#include "text/printable.h"

// Compiled in: commands start faster without the shared library. Its assertions are off: one of them (in parse_key)
// fails on bad input that the next lines of it refuse properly.
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_ASSERT(expression) static_assert(true)
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace spur::config {

namespace {

Position position_of(const toml::node& node) {
  return {.file = 0, .line = node.source().begin.line};
}
Position position_of(const toml::key& key) {
  return {.file = 0, .line = key.source().begin.line};
}

// The library keeps tables by name; where keys have to do with each other, their order in the file counts.
struct Entry {
  const toml::key* key;
  const toml::node* node;
};
std::vector<Entry> in_order(const toml::table& table) {
  std::vector<Entry> out;
  for (const auto& [key, node] : table) out.push_back({&key, &node});
  std::ranges::stable_sort(out, {}, [](const Entry& entry) {
    const auto& at = entry.key->source().begin;
    return std::pair(at.line, at.column);
  });
  return out;
}

std::string_view wanted(Type type) {
  switch (type) {
    case Type::Flag:
      return "true or false";
    case Type::Number:
      return "a whole number";
    case Type::List:
      return "a list of strings";
    case Type::Counts:
      return "a table";
    case Type::Ports:
      return "a port number or a string";
    default:
      return "a string";
  }
}

std::string_view given(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a fraction";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

class TomlReader {
 public:
  // `shielded`: strings and keys still have to pass unshield().
  TomlReader(Draft& draft, bool shielded) : draft_(draft), shielded_(shielded) {}

  // A table at the top or a section in it.
  Status section(const toml::table& table, const std::string& prefix) {
    for (const auto& [at, value] : in_order(table)) {
      const toml::key& key = *at;
      const toml::node& node = *value;
      const std::string path = prefix.empty() ? plain(key.str()) : fmt::format("{}.{}", prefix, plain(key.str()));
      SPUR_TRY(item(path, key, node));
    }
    return {};
  }

 private:
  Status item(const std::string& path, const toml::key& key, const toml::node& node) {
    if (path == "slurm") return slurm_keys(Scope::Top, path, node, {.draft = draft_}, position_of(key));
    if (path == "slurm_files") return slurm_files(node, position_of(key));
    if (const Key* row = find_spur_key(Scope::Top, path)) {
      Target target{.draft = draft_};
      return take_value(*row, path, target, node, position_of(key));
    }
    if (const Scope* scope = scope_of_array(path)) return blocks(*scope, path, node);
    if (is_section(path)) {
      if (!node.is_table())
        return draft_.refuse(position_of(key), fmt::format("{} is a section, not {}", path, given(node)));
      return section(*node.as_table(), path);
    }
    return unknown(Scope::Top, path, path, position_of(key));
  }

  std::unexpected<Error> unknown(Scope scope, std::string_view name, std::string_view path, Position at) {
    const std::string near = nearest_spur_key(scope, name);
    const std::string hint = near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near);
    return draft_.refuse(at, fmt::format("unknown key \"{}\"{}", text::shown(path, 80), hint));
  }

  Status blocks(Scope scope, const std::string& path, const toml::node& node) {
    const toml::array* array = node.as_array();
    bool good = array != nullptr;
    if (array)
      for (const toml::node& element : *array) good = good && element.is_table();
    if (!good) return draft_.refuse(position_of(node), fmt::format("{0} is a list of tables: write [[{0}]]", path));
    if (draft_.daemon_only) return {};
    for (const toml::node& element : *array) SPUR_TRY(block(scope, path, *element.as_table()));
    return {};
  }

  Status block(Scope scope, const std::string& path, const toml::table& table) {
    Target target{.draft = draft_};
    const Position at = position_of(table);
    DeviceBlock device;
    if (scope == Scope::Node) target.node = &open(draft_.nodes, target, at);
    if (scope == Scope::Partition) target.partition = &open(draft_.partitions, target, at);
    if (scope == Scope::Switch) target.network = &open(draft_.switches, target, at);
    if (scope == Scope::NodeSet) target.node_set = &open(draft_.node_sets, target, at);
    if (scope == Scope::Down) target.down = &open(draft_.down_nodes, target, at);
    if (scope == Scope::Device) target.device = &device, device.at = at, target.block = draft_.device_lines;
    for (const auto& [where, value] : in_order(table)) {
      const toml::key& key = *where;
      const toml::node& node = *value;
      const std::string name = fmt::format("{}.{}", path, plain(key.str()));
      if (key.str() == "slurm") {
        SPUR_TRY(slurm_keys(scope, name, node, target, position_of(key)));
        continue;
      }
      const Key* row = find_spur_key(scope, plain(key.str()));
      if (!row) return unknown(scope, plain(key.str()), name, position_of(key));
      SPUR_TRY(take_value(*row, name, target, node, position_of(key)));
    }
    return scope == Scope::Device ? add_device_block(draft_, std::move(device)) : Status{};
  }

  template <class Block>
  static Block& open(std::vector<Block>& blocks, Target& target, Position at) {
    target.block = static_cast<std::uint32_t>(blocks.size());
    Block& block = blocks.emplace_back();
    block.at = at;
    return block;
  }

  // [slurm], and the table "slurm" of a block: keys of slurm.conf by their own names, as text; several lines as a list.
  Status slurm_keys(Scope scope, const std::string& path, const toml::node& node, Target target, Position at) {
    const toml::table* table = node.as_table();
    if (!table) return draft_.refuse(at, fmt::format("{} is a table of keys of slurm.conf", path));
    for (const auto& [at_key, at_value] : in_order(*table)) {
      const toml::node& value = *at_value;
      const Position here = position_of(*at_key);
      const std::string name = plain(at_key->str());
      std::vector<std::string> lines;
      if (const auto* text = value.as_string()) lines.push_back(plain(text->get()));
      if (const auto* array = value.as_array())
        for (const toml::node& element : *array)
          if (const auto* text = element.as_string()) lines.push_back(plain(text->get()));
      if (lines.empty() || (value.is_array() && lines.size() != value.as_array()->size()))
        return draft_.refuse(here, fmt::format("{}.{} must be a string or a list of strings", path, text::shown(name, 60)));
      const bool of_cgroup = scope == Scope::Top && find_slurm_key(Scope::Cgroup, name);
      for (const std::string& line : lines)
        SPUR_TRY(take_slurm_pair(of_cgroup ? Scope::Cgroup : scope, name, line, target, here));
    }
    return {};
  }

  // Files of Slurm that have no meaning here, kept whole.
  Status slurm_files(const toml::node& node, Position at) {
    const toml::table* table = node.as_table();
    if (!table) return draft_.refuse(at, "slurm_files is a table of files of Slurm");
    for (const auto& [key, value] : *table) {
      const auto* text = value.as_string();
      const std::string name = plain(key.str());
      if (text && name == kTopologyYaml) {
        SPUR_TRY(read_topology_yaml(plain(text->get()), position_of(key), draft_));
        continue;
      }
      if (!text || !is_slurm_file(name))
        return draft_.refuse(position_of(key), fmt::format("slurm_files: {} is no file of Slurm", text::shown(name, 60)));
      keep_slurm_file(draft_, name, plain(text->get()), position_of(key));
    }
    return {};
  }

  Status take_value(const Key& row, const std::string& path, Target& target, const toml::node& node, Position at) {
    if (row.repeats && node.is_array()) {
      for (const toml::node& element : *node.as_array()) SPUR_TRY(take_value(row, path, target, element, at));
      return {};
    }
    const auto value = value_of(row.kind, path, node);
    if (!value) return draft_.refuse(at, value.error().message);
    return take(row, path, target, *value, at);
  }

  Result<Value> value_of(const Kind& kind, std::string_view path, const toml::node& node) const {
    switch (kind.type) {
      case Type::Flag:
        if (const auto* flag = node.as_boolean()) {
          Value value;
          value.flag = flag->get();
          value.text = value.flag ? "true" : "false";
          return value;
        }
        break;
      case Type::Number:
      case Type::Ports:
        if (const auto* number = node.as_integer()) {
          if (number->get() < 0)
            return fail(ErrorCode::ConfigInvalid,
                        fmt::format("{} value ({}) is less than zero", path, number->get()));
          return check_number(kind, path, static_cast<std::uint64_t>(number->get()),
                              fmt::format("{}", number->get()));
        }
        if (kind.type == Type::Number && !kind.infinite) break;
        if (const auto* text = node.as_string()) return check_text(kind, path, plain(text->get()));
        break;
      case Type::List:
        if (const auto* text = node.as_string()) return check_text(kind, path, plain(text->get()));
        if (const auto* array = node.as_array()) return list_of(path, *array);
        break;
      case Type::Counts:
        if (const auto* table = node.as_table()) return counts_of(kind, path, *table);
        break;
      default:
        if (const auto* text = node.as_string()) return check_text(kind, path, plain(text->get()));
        break;
    }
    return fail(ErrorCode::ConfigInvalid, fmt::format("{} must be {}, not {}", path, wanted(kind.type), given(node)));
  }

  Result<Value> list_of(std::string_view path, const toml::array& array) const {
    std::vector<std::string> list;
    for (const toml::node& element : array) {
      const auto* text = element.as_string();
      if (!text)
        return fail(ErrorCode::ConfigInvalid,
                    fmt::format("{} must be a list of strings, not of {}", path, given(element)));
      list.push_back(plain(text->get()));
    }
    return check_list(std::move(list));
  }

  // Numbers by name; labels may also be strings, which count as 1 and are kept in the text.
  Result<Value> counts_of(const Kind& kind, std::string_view path, const toml::table& table) const {
    Value value;
    for (const auto& [at_key, at_node] : in_order(table)) {
      const toml::key& key = *at_key;
      const toml::node& node = *at_node;
      const std::string name = fmt::format("{}.{}", path, plain(key.str()));
      std::string shown;
      if (const auto* number = node.as_integer()) {
        if (number->get() < 0)
          return fail(ErrorCode::ConfigInvalid, fmt::format("{} value ({}) is less than zero", name, number->get()));
        shown = fmt::format("{}", number->get());
        SPUR_ASSIGN(const Value checked, check_number(kind, name, static_cast<std::uint64_t>(number->get()), shown));
        value.counts.emplace_back(plain(key.str()), checked.number);
      } else if (const auto* text = node.as_string(); text && kind.words == "labels") {
        shown = plain(text->get());
      } else {
        return fail(ErrorCode::ConfigInvalid, fmt::format("{} must be a whole number, not {}", name, given(node)));
      }
      value.text += fmt::format("{}{}:{}", value.text.empty() ? "" : ",", plain(key.str()), shown);
    }
    return value;
  }

  std::string plain(std::string_view text) const { return shielded_ ? unshield(text) : std::string(text); }

  Draft& draft_;
  bool shielded_;
};

}  // namespace

Status read_spur_conf(std::string_view text, Draft& draft) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark says nothing in UTF-8
  const bool shielded = !is_ascii(text);
  if (const std::uint32_t line = shielded ? line_of_bad_utf8(text) : 0; line != 0)
    return draft.refuse({.file = 0, .line = line}, "this is not UTF-8");
  toml::table document;
  try {
    document = shielded ? toml::parse(shield(text)) : toml::parse(text);
  } catch (const toml::parse_error& error) {
    const Position at{.file = 0, .line = error.source().begin.line};
    return draft.refuse(at, text::shown(unshield(error.description()), 200));
  }
  // Whose rules count is known before any of them is asked for.
  if (const auto* whose = document["defaults"].as_string(); whose && whose->get() == "slurm")
    draft.dialect = Dialect::Slurm;
  return TomlReader(draft, shielded).section(document, "");
}

}  // namespace spur::config
