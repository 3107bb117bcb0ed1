// SPDX-License-Identifier: Apache-2.0
#include "cli/top_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "cli/display.h"
#include "cli/reason_words.h"
#include "cli/users.h"
#include "text/memory_size.h"
#include "text/printable.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using model::JobState;

constexpr int kMostPartitions = 6;

// What a partition's nodes have, and what of it is in use.
struct Amounts {
  std::string name;
  bool standard = false;
  std::uint64_t cpus = 0, cpus_used = 0, gpus = 0, gpus_used = 0, memory = 0, memory_used = 0;
  std::uint32_t nodes = 0, unusable = 0;
};

std::uint64_t count_gpus(const model::Node& node) {
  std::uint64_t count = 0;
  for (const model::NodeGres& gres : node.hardware.gres)
    if (gres.name == "gpu") count += gres.count;
  return count;
}
std::uint64_t count_gpus_used(const model::Node& node) {
  std::uint64_t count = 0;
  for (const auto& devices : node.devices_in_use)
    if (devices.gres == "gpu")
      for (const std::uint64_t bits : devices.bits) count += static_cast<std::uint64_t>(std::popcount(bits));
  return count;
}

void add_node(const model::Node& node, Amounts& to) {
  ++to.nodes;
  if (!node.usable()) ++to.unusable;
  to.cpus += node.hardware.cpus;
  to.cpus_used += node.cpus_allocated;
  to.gpus += count_gpus(node);
  to.gpus_used += count_gpus_used(node);
  to.memory += node.hardware.memory_mib;
  to.memory_used += node.memory_allocated_mib;
}

std::vector<Amounts> by_partition(const wire::ClusterTable& cluster) {
  std::map<std::uint32_t, const model::Node*> nodes;
  for (const model::NodePtr& node : cluster.nodes) nodes[node->index.value] = node.get();
  std::vector<Amounts> out;
  for (const model::Partition& partition : cluster.partitions) {
    Amounts& amounts = out.emplace_back();
    amounts.name = partition.config.name;
    amounts.standard = partition.config.is_default;
    for (const NodeIndex index : partition.nodes)
      if (const auto node = nodes.find(index.value); node != nodes.end()) add_node(*node->second, amounts);
  }
  return out;
}

std::string size(std::uint64_t mib) {
  if (mib >= 1024 * 1024) return fmt::format("{:.1f}T", static_cast<double>(mib) / 1048576.0);
  if (mib >= 1024) return fmt::format("{}G", mib / 1024);
  return fmt::format("{}M", mib);
}

Color load_color(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return Color::Plain;
  const std::uint64_t percent = part * 100 / whole;
  return percent >= 90 ? Color::Red : percent >= 60 ? Color::Yellow : Color::Green;
}

std::string paint(std::string_view text, Color color, Style style) {
  return style.colors ? colored(text, color) : std::string(text);
}

std::string gauge(std::string_view name, std::uint64_t part, std::uint64_t whole, const std::string& figures, int width,
                  Style style) {
  return fmt::format("{} {} {:<11}", name, paint(bar(part, whole, width), load_color(part, whole), style), figures);
}

std::string partition_line(const Amounts& amounts, int columns, Style style) {
  const int width = std::clamp((columns - 75) / 3, 6, 30);
  std::string line = fmt::format("{:<12.12} ", text::printable(amounts.name + (amounts.standard ? "*" : "")));
  line += gauge("CPU", amounts.cpus_used, amounts.cpus, fmt::format("{}/{}", amounts.cpus_used, amounts.cpus), width, style);
  if (amounts.gpus > 0)
    line +=
        gauge(" GPU", amounts.gpus_used, amounts.gpus, fmt::format("{}/{}", amounts.gpus_used, amounts.gpus), width, style);
  line += gauge(" MEM", amounts.memory_used, amounts.memory,
                fmt::format("{}/{}", size(amounts.memory_used), size(amounts.memory)), width, style);
  line += fmt::format(" {} nodes", amounts.nodes);
  if (amounts.unusable > 0) line += paint(fmt::format(", {} out of service", amounts.unusable), Color::Red, style);
  return line;
}

std::uint64_t gpus_of(const model::Job& job) {
  std::uint64_t count = 0;
  if (!job.allocation) return 0;
  for (const model::NodeGrant& grant : job.allocation->nodes)
    for (const model::DeviceGrant& devices : grant.devices)
      if (devices.gres == "gpu") count += devices.indices.size();
  return count;
}

std::string id_text(const model::Job& job) {
  if (job.is_array_rest()) return fmt::format("{}_[{}]", job.array_job.value, array_tasks(job, 12));
  return model::display_id(job);
}

// Waiting jobs behind those that run; what is over comes last.
int state_order(const model::Job& job) {
  if (model::is_final(job.state)) return 2;
  return job.state == JobState::Pending ? 1 : 0;
}

Color state_color(const model::Job& job) {
  if (job.flags & model::kCompleting) return Color::Cyan;
  if (job.state == JobState::Running) return Color::Green;
  if (job.state == JobState::Pending) return job.priority == 0 ? Color::Dim : Color::Yellow;
  return Color::Blue;
}

constexpr const char* kSortNames[kTopSorts] = {"state", "id", "user", "partition", "name", "time", "cpus"};

std::string head_of_list(int columns) {
  std::string line = fmt::format("{:>14} {:<10} {:<10} {:<16} {:<10} {:>10} {:>10} {:>5} {:>5} {:>4}  {}", "JOB", "USER",
                                 "PARTITION", "NAME", "STATE", "TIME", "LEFT", "NODES", "CPUS", "GPUS",
                                 "WHERE, OR WHY NOT");
  if (columns_of(line) < columns) line.append(static_cast<std::size_t>(columns - columns_of(line)), ' ');
  return line;
}

std::string job_line(const TopState& state, std::size_t at, Style style) {
  const model::Job& job = *state.jobs.jobs[at];
  const model::JobSpec& spec = *job.spec;
  const Time expected = at < state.jobs.expected_starts.size() ? state.jobs.expected_starts[at] : Time{};
  const Duration ran = model::run_time(job, state.now);
  const bool limited = job.time_limit.is_finite() && model::is_active(job.state);
  const auto clock = [](Duration span) {
    return text::format_elapsed(std::chrono::floor<seconds>(std::max(span, Duration::zero())));
  };
  const std::string why = why_words(job, expected, state.now);
  const std::uint64_t gpus = gpus_of(job);
  const std::string name = text::printable(spec.name), partition = text::printable(job_partition(job));
  const std::string word(model::long_name(job.state, job.flags));
  return fmt::format("{:>14.14} {:<10.10} {:<10.10} {:<16.16} {} {:>10} {:>10} {:>5} {:>5} {:>4}  {}", id_text(job),
                     text::printable(user_name(spec.uid)), partition, name,
                     paint(fmt::format("{:<10.10}", word), state_color(job), style),
                     model::is_active(job.state) ? clock(ran) : "-",
                     limited ? clock(job.time_limit.duration() - ran) : "-", job_node_count(job), job_cpu_count(job),
                     gpus > 0 ? fmt::format("{}", gpus) : "-",
                     text::printable(why.empty() ? job_nodes(job, state.jobs) : why));
}

constexpr std::string_view kKeyHelp =
      "up, down, page up, page down, home, end   move the mark\n"
      "s, S       sort by the next column, the other way round\n"
      "/          show only lines with a text in them (escape: all)\n"
      "u          only own jobs, or all again\n"
      "p, r, a    only waiting jobs, only running ones, all\n"
      "c          cancel the marked job, after a question\n"
      "h, ?       this help\n"
      "q          quit";

std::string summary(const TopState& state, const std::vector<std::size_t>& lines) {
  std::size_t running = 0, waiting = 0;
  for (const model::JobPtr& job : state.jobs.jobs) {
    if (model::is_active(job->state)) ++running;
    else if (job->state == JobState::Pending) waiting += job->is_array_rest() ? job->array_pending->size() : 1;
  }
  std::string text = fmt::format("{} running, {} waiting", running, waiting);
  if (lines.size() != state.jobs.jobs.size()) text += fmt::format(" ({} lines shown)", lines.size());
  text += fmt::format("   by {}{}", kSortNames[static_cast<int>(state.sort)], state.backwards ? ", backwards" : "");
  if (!state.filter.empty()) text += fmt::format("   filter: {}", text::printable(state.filter));
  return text;
}

}  // namespace

std::string bar(std::uint64_t part, std::uint64_t whole, int width) {
  const auto cells = static_cast<std::size_t>(std::max(width, 1));
  std::size_t filled = whole == 0 ? 0 : static_cast<std::size_t>(std::min(part, whole) * cells / whole);
  if (part > 0 && filled == 0) filled = 1;  // what there is, is seen
  return "[" + std::string(filled, '#') + std::string(cells - filled, '.') + "]";
}

std::vector<std::size_t> top_lines(const TopState& state) {
  std::vector<std::size_t> lines;
  for (std::size_t i = 0; i < state.jobs.jobs.size(); ++i) {
    const model::Job& job = *state.jobs.jobs[i];
    if (state.user && job.spec->uid != *state.user) continue;
    if (state.waiting && (job.state == JobState::Pending) != *state.waiting) continue;
    if (!state.filter.empty()) {
      const std::string all = fmt::format("{} {} {} {} {}", id_text(job), user_name(job.spec->uid), job_partition(job),
                                          job.spec->name, model::long_name(job.state, job.flags));
      if (text::lower(all).find(text::lower(state.filter)) == std::string::npos) continue;
    }
    lines.push_back(i);
  }
  const auto less = [&](std::size_t x, std::size_t y) {
    const model::Job &a = *state.jobs.jobs[x], &b = *state.jobs.jobs[y];
    switch (state.sort) {
      case TopSort::State:
        if (state_order(a) != state_order(b)) return state_order(a) < state_order(b);
        if (a.state == JobState::Pending && a.priority != b.priority) return a.priority > b.priority;
        break;
      case TopSort::Id:
        break;
      case TopSort::User:
        if (a.spec->uid != b.spec->uid) return user_name(a.spec->uid) < user_name(b.spec->uid);
        break;
      case TopSort::Partition:
        if (const auto p = job_partition(a), q = job_partition(b); p != q) return p < q;
        break;
      case TopSort::Name:
        if (a.spec->name != b.spec->name) return a.spec->name < b.spec->name;
        break;
      case TopSort::Time:
        if (const auto p = model::run_time(a, state.now), q = model::run_time(b, state.now); p != q) return p > q;
        break;
      case TopSort::Cpus:
        if (const auto p = job_cpu_count(a), q = job_cpu_count(b); p != q) return p > q;
        break;
    }
    return a.id < b.id;
  };
  std::ranges::stable_sort(lines, less);
  if (state.backwards) std::ranges::reverse(lines);
  return lines;
}

int top_room(const TopState& state, ScreenSize size) {
  int above = 3;  // title, summary, head of the list
  if (state.cluster) {
    const int partitions = static_cast<int>(state.cluster->partitions.size());
    above += std::min(partitions, kMostPartitions) + (partitions > kMostPartitions ? 1 : 0);
  }
  return std::max(1, size.rows - above - 1);
}

void keep_mark(TopState& state, std::size_t lines, ScreenSize size) {
  const auto room = static_cast<std::size_t>(top_room(state, size));
  state.marked = lines == 0 ? 0 : std::min(state.marked, lines - 1);
  if (state.marked < state.first) state.first = state.marked;
  if (state.marked >= state.first + room) state.first = state.marked - room + 1;
  if (state.first + room > lines) state.first = lines > room ? lines - room : 0;
}

std::string top_screen(const TopState& state, ScreenSize size, Style style) {
  std::vector<std::string> out;
  const std::string cluster = state.cluster ? state.cluster->cluster_name : state.jobs.cluster_name;
  std::string title = paint(fmt::format("spur top  {}", text::printable(cluster)), Color::Bold, style) + "  " +
                      date_line(state.now);
  if (state.lost) title += paint("  the controller does not answer: " + text::printable(*state.lost), Color::Red, style);
  out.push_back(title);
  if (state.cluster) {
    const std::vector<Amounts> partitions = by_partition(*state.cluster);
    for (std::size_t i = 0; i < partitions.size() && i < kMostPartitions; ++i)
      out.push_back(partition_line(partitions[i], size.columns, style));
    if (partitions.size() > kMostPartitions)
      out.push_back(fmt::format("... and {} more partitions", partitions.size() - kMostPartitions));
  }
  const std::vector<std::size_t> lines = top_lines(state);
  out.push_back(state.known ? summary(state, lines) : "waiting for the list of jobs");
  out.push_back(paint(cut_to_columns(head_of_list(size.columns), size.columns), Color::Reverse, style));
  const auto room = static_cast<std::size_t>(top_room(state, size));
  if (state.help) {
    for (const std::string_view line : text::split(kKeyHelp, '\n')) out.emplace_back(line);
  } else {
    for (std::size_t i = state.first; i < lines.size() && i < state.first + room; ++i) {
      // Without colours the mark is a sign in front.
      const bool marked = i == state.marked;
      const std::string line = job_line(state, lines[i], marked ? Style{} : style);
      if (!marked) out.push_back(line);
      else if (style.colors) out.push_back(colored(cut_to_columns(line, size.columns), Color::Reverse));
      else out.push_back(">" + line.substr(line.starts_with(' ') ? 1 : 0));
    }
  }
  const std::string last = state.question.empty() ? "q quit  s sort  / filter  u own  p waiting  r running  a all  c cancel  h help"
                                                  : state.question;
  std::string text;
  const auto rows = static_cast<std::size_t>(std::max(size.rows, 3));
  for (std::size_t row = 0; row + 1 < rows; ++row)
    text += (row < out.size() ? cut_to_columns(out[row], size.columns) : std::string()) + "\n";
  return text + cut_to_columns(state.question.empty() ? paint(last, Color::Dim, style) : paint(last, Color::Bold, style),
                               size.columns);
}

}  // namespace spur::cli
