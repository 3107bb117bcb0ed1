// SPDX-License-Identifier: Apache-2.0
#include "replay/openb.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "replay/fields.h"
#include "text/printable.h"

namespace spur::replay {
namespace {

using Cells = std::vector<std::string_view>;

// A cell by the name of its column. Fields in quotes hold no commas in these files; the quotes are taken off.
class Columns {
 public:
  explicit Columns(std::string_view header) : names_(text::split(header, ',')) {
    for (std::string_view& name : names_) name = text::trim(name);
  }
  std::size_t count() const { return names_.size(); }
  Status require(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names)
      if (std::ranges::find(names_, name) == names_.end())
        return fail(ErrorCode::InvalidArgument, fmt::format("no column \"{}\" in the first line", name));
    return {};
  }
  std::string_view cell(const Cells& cells, std::string_view name) const {
    const auto at = std::ranges::find(names_, name);
    if (at == names_.end()) return {};
    std::string_view value = text::trim(cells[static_cast<std::size_t>(at - names_.begin())]);
    if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"'))
      value = value.substr(1, value.size() - 2);
    return value;
  }

 private:
  std::vector<std::string_view> names_;
};

template <class Number>
bool read(std::string_view word, Number& into, std::int64_t most) {
  const auto value = parse_number(word);
  if (!value || *value < 0 || *value > most) return false;
  into = static_cast<Number>(*value);
  return true;
}
// Where the column or the value may be missing.
bool read_moment(std::string_view word, std::int64_t& into) {
  return word.empty() || read(word, into, std::int64_t{1} << 40);
}

constexpr std::int64_t kMostMilli = 1'000'000'000, kMostMemory = std::int64_t{1} << 40;

bool read_row(const Columns& columns, const Cells& cells, OpenbNode& node) {
  const auto cell = [&](std::string_view name) { return columns.cell(cells, name); };
  node.name = cell("sn");
  node.model = cell("model");
  return !node.name.empty() && read(cell("cpu_milli"), node.cpu_milli, kMostMilli) &&
         read(cell("memory_mib"), node.memory_mib, kMostMemory) && read(cell("gpu"), node.gpus, kMostGpusPerNode);
}

bool read_row(const Columns& columns, const Cells& cells, OpenbPod& pod) {
  const auto cell = [&](std::string_view name) { return columns.cell(cells, name); };
  pod.name = cell("name");
  pod.qos = cell("qos");
  if (pod.name.empty() || !read(cell("cpu_milli"), pod.cpu_milli, kMostMilli) ||
      !read(cell("memory_mib"), pod.memory_mib, kMostMemory) || !read(cell("num_gpu"), pod.gpus, kMostGpusPerNode) ||
      !read(cell("gpu_milli"), pod.gpu_milli, kMilliPerGpu))
    return false;
  if (pod.gpus == 0) pod.gpu_milli = 0;
  if (pod.gpus > 0 && pod.gpu_milli == 0) return false;
  if (pod.gpus > 1) pod.gpu_milli = kMilliPerGpu;
  if (const std::string_view models = cell("gpu_spec"); !models.empty())
    for (const std::string_view model : text::split(models, '|'))
      if (!model.empty()) pod.gpu_models.emplace_back(model);
  return read_moment(cell("creation_time"), pod.created) && read_moment(cell("deletion_time"), pod.deleted) &&
         read_moment(cell("scheduled_time"), pod.scheduled);
}

template <class Row>
Result<OpenbTable<Row>> parse_table(std::string_view text, std::initializer_list<std::string_view> required) {
  const Columns columns(next_line(text));
  SPUR_TRY(columns.require(required));
  OpenbTable<Row> table;
  std::size_t number = 1;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    ++number;
    if (text::trim(line).empty()) continue;
    const Cells cells = text::split(line, ',');
    Row row;
    if (cells.size() == columns.count() && read_row(columns, cells, row)) {
      table.rows.push_back(std::move(row));
    } else if (++table.broken_lines == 1) {
      table.first_broken = number;
    }
  }
  return table;
}

}  // namespace

Result<OpenbTable<OpenbNode>> parse_openb_nodes(std::string_view text) {
  return parse_table<OpenbNode>(text, {"sn", "cpu_milli", "memory_mib", "gpu"});
}

Result<OpenbTable<OpenbPod>> parse_openb_pods(std::string_view text) {
  return parse_table<OpenbPod>(text, {"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"});
}

}  // namespace spur::replay
