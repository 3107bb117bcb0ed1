// SPDX-License-Identifier: Apache-2.0
#include "cli/display.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "cli/users.h"
#include "model/gres_in_force.h"
#include "text/date.h"
#include "text/dependency.h"
#include "text/hostlist.h"
#include "text/memory_size.h"
#include "text/decimal.h"
#include "text/words.h"

namespace spur::cli {
namespace {

struct TimeFormat {
  std::string format;
  Time now;
};
TimeFormat& time_format() {
  static TimeFormat format;
  return format;
}

// The two enumerations of kinds are the same list; text/ may not know the model.
text::DependencyTerm as_text_term(const model::Dependency& term) {
  using Kind = text::DependencyTerm::Kind;
  static_assert(static_cast<int>(Kind::Singleton) == static_cast<int>(model::Dependency::Kind::Singleton));
  return {static_cast<Kind>(term.kind), term.job.value, term.array_task, term.whole_array, term.delay_minutes};
}

// How many pieces of a generic resource a job asks for in all.
std::uint64_t total_of(const model::GresRequest& request, const model::JobSpec& spec, std::uint32_t nodes) {
  using Per = model::GresRequest::Per;
  switch (request.per) {
    case Per::Node:
      return request.count * nodes;
    case Per::Socket:
      return request.count * std::max(spec.sockets_per_node, 1u) * nodes;
    case Per::Task:
      return request.count * model::task_count(spec);
    case Per::Job:
      return request.count;
  }
  return request.count;
}

void add_gres(std::string& text, std::string_view name, std::string_view type, std::uint64_t count) {
  text.append(fmt::format(",gres/{}={}", name, count));
  if (!type.empty()) text.append(fmt::format(",gres/{}:{}={}", name, type, count));
}

}  // namespace

void set_time_format(std::string_view format, Time now) {
  time_format() = {std::string(format), now};
}

std::string moment(Time t, std::string_view unset) {
  if (!is_set(t)) return std::string(unset);
  return text::format_date(t, time_format().now, time_format().format);
}

std::string date_line(Time t) {
  return text::format_date(t, t, "%a %b %d %H:%M:%S %Y");
}

std::string or_null(std::string_view text) {
  return text.empty() ? "(null)" : std::string(text);
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text.append(separator);
    text.append(word);
  }
  return text;
}

std::string requested_tres(const model::Job& job) {
  const model::JobSpec& spec = *job.spec;
  const std::uint32_t cpus = model::min_cpus(spec);
  const std::uint32_t nodes = std::max(spec.min_nodes, 1u);
  std::string text = fmt::format("cpu={}", cpus);
  if (spec.memory_per_cpu_mib) {
    text.append(",mem=").append(text::format_mib(*spec.memory_per_cpu_mib * cpus));
  } else if (spec.memory_per_node_mib && *spec.memory_per_node_mib > 0) {
    text.append(",mem=").append(text::format_mib(*spec.memory_per_node_mib * nodes));
  }
  text.append(fmt::format(",node={},billing={}", nodes, cpus));
  for (const model::GresRequest& request : spec.gres)
    add_gres(text, request.name, request.type, total_of(request, spec, nodes));
  return text;
}

std::string allocated_tres(const model::Job& job) {
  if (!job.allocation) return "";
  std::uint64_t memory_mib = 0;
  std::vector<std::pair<std::pair<std::string, std::string>, std::uint64_t>> devices;
  for (const model::NodeGrant& grant : job.allocation->nodes) {
    memory_mib += grant.memory_mib;
    for (const model::DeviceGrant& device : grant.devices) {
      const std::pair key{device.gres, device.type};
      const auto found = std::ranges::find_if(devices, [&](const auto& entry) { return entry.first == key; });
      if (found != devices.end()) {
        found->second += device.indices.size();
      } else {
        devices.emplace_back(key, device.indices.size());
      }
    }
  }
  std::string text = fmt::format("cpu={}", job_cpu_count(job));
  if (memory_mib > 0) text.append(",mem=").append(text::format_mib(memory_mib));
  text.append(fmt::format(",node={},billing={}", job.allocation->nodes.size(), job_cpu_count(job)));
  for (const auto& [key, count] : devices) add_gres(text, key.first, key.second, count);
  return text;
}

std::string gres_terms(const model::JobSpec& spec, model::GresRequest::Per per) {
  std::string text;
  for (const model::GresRequest& request : spec.gres) {
    if (request.per != per) continue;
    if (!text.empty()) text.push_back(',');
    text.append("gres/").append(request.name);
    if (!request.type.empty()) text.append(":").append(request.type);
    text.append(fmt::format(":{}", request.count));
  }
  return text;
}

std::string licenses(const model::JobSpec& spec) {
  std::string text;
  for (const model::LicenseRequest& license : spec.licenses) {
    if (!text.empty()) text.push_back(',');
    text.append(fmt::format("{}:{}", license.name, license.count));
  }
  return text;
}

std::string oversubscribe_word(const model::JobSpec& spec) {
  switch (spec.exclusive) {
    case model::Exclusive::Node:
      return "NO";
    case model::Exclusive::User:
      return "USER";
    case model::Exclusive::Mcs:
      return "MCS";
    case model::Exclusive::No:
      break;
  }
  return spec.oversubscribe ? "YES" : "OK";
}

std::string core_spec_text(const model::JobSpec& spec, std::string_view none) {
  if (!spec.core_spec) return std::string(none);
  return fmt::format("{}", *spec.core_spec);
}

std::string dependencies_left(const model::Job& job) {
  std::string text;
  const char separator = job.spec->dependencies_any ? '?' : ',';
  const auto& terms = job.dependency_never ? job.spec->dependencies : job.dependencies_left;
  for (const model::Dependency& term : terms) {
    if (!text.empty()) text.push_back(separator);
    text.append(text::format_dependency(as_text_term(term)));
    text.append(job.dependency_never ? "(failed)" : "(unfulfilled)");
  }
  return text;
}

std::string job_nodes(const model::Job& job, const wire::JobTable& table) {
  const auto name = [&](NodeIndex index) {
    return index.value < table.node_names.size() ? table.node_names[index.value] : std::string();
  };
  std::vector<std::string> names;
  if ((job.flags & model::kCompleting) != 0 && !job.nodes_left.empty()) {
    for (const NodeIndex index : job.nodes_left) names.push_back(name(index));
  } else if (job.allocation && model::is_active(job.state)) {
    for (const model::NodeGrant& grant : job.allocation->nodes) names.push_back(name(grant.node));
  } else {
    return job.state == model::JobState::Pending ? std::string() : job.last_nodes;
  }
  std::erase(names, std::string());
  return text::compress_hostlist(names);
}

std::uint32_t job_node_count(const model::Job& job) {
  if ((job.flags & model::kCompleting) != 0 && !job.nodes_left.empty())
    return static_cast<std::uint32_t>(job.nodes_left.size());
  if (job.allocation && job.state != model::JobState::Pending)
    return static_cast<std::uint32_t>(job.allocation->nodes.size());
  std::uint32_t nodes = job.spec->min_nodes;
  if (job.spec->tasks_per_node > 0 && job.spec->tasks)
    nodes = std::max(nodes, (*job.spec->tasks + job.spec->tasks_per_node - 1) / job.spec->tasks_per_node);
  if (!job.spec->required_nodes.empty()) {
    if (const auto named = text::count_hosts(job.spec->required_nodes))
      nodes = std::max(nodes, static_cast<std::uint32_t>(*named));
  }
  return nodes;
}

std::uint32_t job_cpu_count(const model::Job& job) {
  if (job.cpus_allocated > 0 && job.state != model::JobState::Pending) return job.cpus_allocated;
  return model::min_cpus(*job.spec);
}

std::string job_partition(const model::Job& job) {
  if (job.allocation && !job.allocation->partition.empty() && job.state != model::JobState::Pending)
    return job.allocation->partition;
  return join(job.spec->partitions, ",");
}

std::string ranged_nodes(const std::string& list) {
  auto names = text::expand_hostlist(list);
  if (!names) return list;
  return text::compress_hostlist(*names);
}

std::optional<std::uint32_t> last_task(const model::Job& job) {
  if (!job.is_array_rest() || job.hold != model::Hold::None || job.array_pending->size() != 1) return std::nullopt;
  if (!job.spec->array || job.spec->array->tasks.size() == 1) return std::nullopt;
  return job.array_pending->lowest();
}

Time shown_eligible(const model::Job& job) {
  return is_set(job.eligible) || model::is_final(job.state) ? job.eligible : job.spec->begin;
}

Time shown_accrue(const model::Job& job) {
  if (job.flags & model::kNotAging) return {};
  return is_set(job.accrue) || model::is_final(job.state) ? job.accrue : job.spec->begin;
}

Time shown_last_eval(const model::Job& job) {
  return is_set(job.last_eval) ? job.last_eval : job.submitted;
}

Time shown_start(const model::Job& job, Time expected) {
  // Who ended before he began did both at once.
  if (model::is_final(job.state) && !is_set(job.started)) return job.ended;
  if (job.state != model::JobState::Pending) return job.started;
  return is_set(expected) ? expected : job.spec->begin;
}

ShownEnd shown_end(const model::Job& job, Time expected) {
  if (model::is_final(job.state)) return {job.ended, false};
  const Time start = shown_start(job, expected);
  if (!is_set(start)) return {};
  if (!job.time_limit.is_finite()) return {Time{}, true};
  if (model::is_active(job.state)) return {model::limit_end(job), false};
  return {start + job.time_limit.duration(), false};
}

std::string reason_text(const model::Job& job) {
  // Of an ended job Slurm shows the reason's name; the detail is in state_description (--json).
  if (job.reason_detail.empty() || model::is_final(job.state)) return std::string(model::reason_name(job.reason));
  std::string text = job.reason_detail;
  std::ranges::replace(text, ' ', '_');
  return text;
}

std::string nodes_or_reason(const model::Job& job, const wire::JobTable& table) {
  using enum model::JobState;
  const bool says_why = job.state == Pending || job.state == Timeout || job.state == OutOfMemory ||
                        job.state == Deadline || job.state == Failed;
  return says_why ? "(" + reason_text(job) + ")" : job_nodes(job, table);
}

int exit_status_of(const model::Job& job) {
  if (job.exit.signal != 0) return 1;
  if (job.exit.code != 0) return job.exit.code & 0xff;
  return job.state == model::JobState::Completed ? 0 : 1;
}

std::string plain_ranges(const IndexSet& set, std::size_t longest) {
  std::string text;
  for (const IndexSet::Range& range : set.ranges()) {
    if (!text.empty()) text.push_back(',');
    fmt::format_to(std::back_inserter(text), "{}", range.first);
    if (range.last != range.first) fmt::format_to(std::back_inserter(text), "-{}", range.last);
    if (longest == 0 || text.size() <= longest) continue;
    text.resize(longest);
    return text.append("...");
  }
  return text;
}

std::string array_tasks(const model::Job& job, std::size_t longest) {
  if (job.array_task) return fmt::format("{}", *job.array_task);
  if (!job.array_pending) return "";
  std::string text = plain_ranges(*job.array_pending, longest);
  if (job.array_max_running > 0) text.append(fmt::format("%{}", job.array_max_running));
  return text;
}

bool is_visible(const model::Partition& partition) {
  const auto& groups = partition.config.allow_groups;
  return !partition.config.hidden && (groups.empty() || in_any_group(groups));
}

namespace {

// A kind of GRES of a node, of one or several rows.
struct GresKind {
  std::string name, type;
  std::uint64_t count = 0;
  std::set<std::uint32_t> sockets;  // near it
  bool placed = true;               // each row says where it is
  bool numbered = false;            // its devices are told apart
};

bool is_shared(const model::NodeGres& row) {
  return row.name == "shard" || row.name == "mps";
}

void add_sockets(const model::NodeHardware& hardware, std::string_view cores, GresKind& kind) {
  if (cores.empty()) kind.placed = false;
  for (const std::string_view part : text::split(cores, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = text::parse_decimal32(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : text::parse_decimal32(part.substr(dash + 1));
    const std::uint32_t each = std::max(1u, hardware.cores_per_socket);
    for (std::uint32_t socket = first.value_or(1) / each; first && last && socket <= *last / each; ++socket)
      if (socket < hardware.sockets) kind.sockets.insert(socket);
  }
}

// Devices that differ only in what is near them are one entry, as in Slurm. Shares are where their GPUs are.
std::vector<GresKind> gres_kinds(const model::NodeHardware& hardware) {
  std::vector<GresKind> kinds;
  for (const model::NodeGres& row : hardware.gres) {
    const auto is_it = [&](const GresKind& k) { return k.name == row.name && k.type == row.type; };
    auto kind = std::ranges::find_if(kinds, is_it);
    if (kind == kinds.end()) kind = kinds.insert(kind, {.name = row.name, .type = row.type, .sockets = {}});
    kind->count += row.count;
    kind->numbered = kind->numbered || row.name == "gpu" || !row.file.empty() || is_shared(row);
    if (!is_shared(row)) {
      add_sockets(hardware, row.cores, *kind);
      continue;
    }
    for (const model::NodeGres& gpus : hardware.gres)
      if (gpus.name == "gpu") add_sockets(hardware, gpus.cores, *kind);
  }
  return kinds;
}

std::string title_of(const GresKind& kind) {
  return kind.type.empty() ? kind.name : fmt::format("{}:{}", kind.name, kind.type);
}

// "2(2/4,0/4)": shares that are taken, in all and of each GPU.
std::string shares_used(const model::Node& node, const std::string& name) {
  const std::vector<std::uint64_t> all = model::shares_by_gpu(node.hardware.gres, name);
  std::uint64_t taken = 0;
  std::string each;
  for (std::size_t gpu = 0; gpu < all.size(); ++gpu) {
    std::uint64_t here = 0;
    for (const auto& devices : node.devices_in_use)
      if (devices.gres == name && gpu < devices.shares.size()) here = devices.shares[gpu];
    taken += here;
    each += fmt::format("{}{}/{}", each.empty() ? "" : ",", here, all[gpu]);
  }
  return fmt::format("{}({})", taken, each);
}

}  // namespace

std::string node_gres(const model::NodeHardware& hardware, bool with_sockets) {
  std::string text;
  for (const GresKind& kind : gres_kinds(hardware)) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", title_of(kind), kind.count);
    if (!with_sockets || !kind.placed || kind.sockets.empty()) continue;
    IndexSet sockets;
    for (const std::uint32_t socket : kind.sockets) sockets.insert(socket);
    text += fmt::format("(S:{})", plain_ranges(sockets));
  }
  return or_null(text);
}

std::string node_gres_used(const model::Node& node) {
  std::string text;
  const auto& rows = node.hardware.gres;
  for (const GresKind& kind : gres_kinds(node.hardware)) {
    IndexSet used;
    // Devices of one name are numbered through all its types, in their order.
    std::uint64_t first = 0;
    for (const model::NodeGres& row : rows) {
      if (row.name != kind.name) continue;
      for (const auto& devices : node.devices_in_use)
        for (std::uint64_t bit = first; devices.gres == row.name && row.type == kind.type && bit < first + row.count &&
                                        bit < devices.bits.size() * 64;
             ++bit)
          if ((devices.bits[bit / 64] >> (bit % 64) & 1u) != 0) used.insert(static_cast<std::uint32_t>(bit));
      first += row.count;
    }
    text += fmt::format("{}{}:", text.empty() ? "" : ",", title_of(kind));
    if (kind.name == "shard" || kind.name == "mps")
      text += shares_used(node, kind.name);
    else if (!kind.numbered)
      text += fmt::format("{}", used.size());
    else
      text += used.empty() ? "0(IDX:N/A)" : fmt::format("{}(IDX:{})", used.size(), plain_ranges(used));
  }
  return or_null(text);
}

}  // namespace spur::cli
