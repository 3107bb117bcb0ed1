// SPDX-License-Identifier: Apache-2.0
// Statements as TOML: rows that spur.conf has a word for under their section, the others in [slurm].
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "config/keys.h"
#include "config/setters.h"
#include "config/slurm_keys.h"
#include "config/toml_text.h"
#include "config/translate.h"
#include "text/words.h"

namespace spur::config {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out += '"';
}

std::string quoted_list(const std::vector<std::string>& list) {
  std::vector<std::string> items;
  for (const std::string& item : list) items.push_back(quoted(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

// The value as TOML has it. `text` has passed the check before.
std::string toml_value(const Kind& kind, std::string_view key, const std::string& text) {
  const auto checked = check_text(kind, key, text);
  if (!checked) return quoted(text);
  switch (kind.type) {
    case Type::Flag:
      return checked->flag ? "true" : "false";
    case Type::Number:
      return checked->infinite ? "\"UNLIMITED\"" : fmt::format("{}", checked->number);
    case Type::List:  // with blanks around the commas it stays as it is written
      return fmt::format("{}", fmt::join(checked->list, ",")) == text ? quoted_list(checked->list) : quoted(text);
    case Type::Counts: {
      std::vector<std::string> items;
      for (const auto& [name, count] : checked->counts) items.push_back(fmt::format("{} = {}", quoted(name), count));
      return items.empty() ? "{}" : fmt::format("{{ {} }}", fmt::join(items, ", "));
    }
    default:
      return quoted(text);
  }
}

// The row of spur.conf that means the same: its own, or one with the same setter ("Feature" is `features`).
const Key* spur_row(const Key& key) {
  if (!key.spur.empty()) return &key;
  const Key* found = nullptr;
  for (const Key& other : key_table()) {
    const bool same = other.set && other.set == key.set && !other.spur.empty() && other.kind.type == key.kind.type;
    if (same && other.scope == key.scope) return &other;
    if (same && other.scope == Scope::Top) found = &other;
  }
  return found;
}

// The keys of one table, in the order of their first use.
class Table {
 public:
  void set(const std::string& name, std::string value, bool repeats) {
    auto& values = at(names_, rows_, name);
    if (!repeats) values.clear();
    values.push_back(std::move(value));
  }
  void keep(std::string_view name, const std::string& value, bool repeats) {
    auto& values = at(kept_names_, kept_, std::string(name));
    if (!repeats) values.clear();
    values.push_back(value);
  }
  // Lines "key = value" of those names that `wanted` takes.
  template <class Wanted>
  std::string lines(Wanted wanted) const {
    std::string out;
    for (const std::string& name : names_) {
      if (!wanted(name)) continue;
      const auto& values = rows_.at(name);
      const std::string short_name = name.substr(name.find('.') == std::string::npos ? 0 : name.find('.') + 1);
      out += values.size() == 1 ? fmt::format("{} = {}\n", short_name, values[0])
                                : fmt::format("{} = [{}]\n", short_name, fmt::join(values, ", "));
    }
    return out;
  }
  const std::vector<std::string>& names() const { return names_; }
  bool has_kept() const { return !kept_names_.empty(); }
  std::vector<std::string> kept_lines() const {
    std::vector<std::string> out;
    for (const std::string& name : kept_names_) {
      const auto& values = kept_.at(name);
      out.push_back(fmt::format("{} = {}", name, values.size() == 1 ? quoted(values[0]) : quoted_list(values)));
    }
    return out;
  }

 private:
  using Rows = std::map<std::string, std::vector<std::string>>;
  static std::vector<std::string>& at(std::vector<std::string>& names, Rows& rows, const std::string& name) {
    if (!rows.contains(name)) names.push_back(name);
    return rows[name];
  }
  std::vector<std::string> names_, kept_names_;
  Rows rows_, kept_;
};

void add(Table& table, Table& top, const Statement& statement) {
  if (statement.name) return table.keep(statement.name->name, statement.value, false);
  const Key& key = *statement.key;
  if (key.spur == "defaults") return;
  if (key.set == set_partition_priority) {
    table.set("priority_tier", statement.value, false);
    return table.set("priority_job_factor", statement.value, false);
  }
  if (key.set == add_controller_host) return table.set("controller.hosts", quoted(statement.value), true);
  const Key* row = spur_row(key);
  if (!row) return table.keep(key.slurm, statement.value, key.repeats);
  const bool at_top = row->scope == Scope::Top || row->scope == Scope::Cgroup;
  (at_top ? top : table).set(std::string(row->spur), toml_value(row->kind, row->spur, statement.value), key.repeats);
}

std::string blocks_of(const Draft& draft, Scope scope, Table& top) {
  std::map<std::uint32_t, Table> blocks;
  for (const Statement& statement : draft.statements)
    if (statement.scope == static_cast<std::uint8_t>(scope)) {
      const bool no_block = scope == Scope::Switch && statement.key && statement.key->set == set_block_sizes;
      add(no_block ? top : blocks[statement.block], top, statement);
    }
  std::string out;
  for (const auto& [number, table] : blocks) {
    out += fmt::format("\n[[{}]]\n{}", array_of(scope), table.lines([](const auto&) { return true; }));
    if (table.has_kept()) out += fmt::format("slurm = {{ {} }}\n", fmt::join(table.kept_lines(), ", "));
  }
  return out;
}

}  // namespace

Result<Translation> to_spur_conf(const Draft& draft) {
  Table top;
  std::string blocks;
  for (const Statement& statement : draft.statements) {
    const auto scope = static_cast<Scope>(statement.scope);
    if (scope == Scope::Top || scope == Scope::Cgroup) add(top, top, statement);
  }
  for (const Scope scope : {Scope::Node, Scope::NodeSet, Scope::Down, Scope::Partition, Scope::Device, Scope::Switch})
    blocks += blocks_of(draft, scope, top);

  std::string out = "defaults = \"slurm\"\n";
  out += top.lines([](const std::string& name) { return name.find('.') == std::string::npos; });
  std::vector<std::string> sections;
  for (const std::string& name : top.names())
    if (const std::size_t dot = name.find('.'); dot != std::string::npos)
      if (std::ranges::find(sections, name.substr(0, dot)) == sections.end()) sections.push_back(name.substr(0, dot));
  for (const std::string& section : sections)
    out += fmt::format("\n[{}]\n{}", section,
                       top.lines([&](const std::string& name) { return name.starts_with(section + "."); }));
  if (top.has_kept()) out += fmt::format("\n[slurm]\n{}\n", fmt::join(top.kept_lines(), "\n"));
  if (!draft.siblings.empty()) out += "\n[slurm_files]\n";
  for (const auto& [name, text] : draft.siblings) out += fmt::format("{} = {}\n", quoted(name), quoted(text));
  out += blocks;
  if (const std::uint32_t line = line_of_bad_utf8(out); line != 0)
    return fail(ErrorCode::ConfigInvalid,
                fmt::format("spur.conf must be UTF-8, and a value is not (line {} of it)", line));
  return Translation{.files = {{"spur.conf", std::move(out)}}, .remarks = {}};
}

}  // namespace spur::config
