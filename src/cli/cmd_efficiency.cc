// SPDX-License-Identifier: Apache-2.0
// spur efficiency JOB, and seff JOB: how much a job used of what it had. seff prints the lines of Slurm's contributed script of
// that name; `spur efficiency` adds what they mean.
#include <fmt/format.h>

#include <algorithm>

#include "cli/cmd_report.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/display.h"
#include "cli/options.h"
#include "cli/sacct_columns.h"
#include "cli/sacct_rows.h"
#include "cli/users.h"
#include "model/job_state.h"
#include "text/decimal.h"
#include "text/printable.h"

namespace spur::cli {
namespace {

struct Measured {
  double wall = 0, cpu_used = 0, cpu_granted = 0;
  double memory_used_mib = 0, memory_granted_mib = 0;
  double gpus = 0, gpu_percent = 0, gpu_memory_mib = 0;
  bool estimated = false;  // of the largest task, times their number
};

Measured measure(const v1::AcctJobRow& row, Time now) {
  const auto& job = row.job();
  const SacctStyle style{.now = now, .cut_from = {}, .cut_until = {}};
  Measured out;
  out.wall = static_cast<double>(sacct_elapsed({job, nullptr, style}).count());
  out.cpu_granted = out.wall * job.cpus_allocated();
  const auto& usage = job.usage();
  out.cpu_used = static_cast<double>(usage.user_cpu_us() + usage.system_cpu_us()) / 1e6;
  out.memory_used_mib = static_cast<double>(std::max(usage.memory_peak_kib(), usage.max_rss_kib())) / 1024;
  for (const auto& step : row.steps()) {
    const double tasks = std::max(step.tasks(), 1u);
    const double all = std::max(static_cast<double>(step.usage().memory_peak_kib()), static_cast<double>(step.usage().max_rss_kib()) * tasks) / 1024;
    if (all > out.memory_used_mib) {
      out.memory_used_mib = all;
      out.estimated = tasks > 1 && step.usage().memory_peak_kib() == 0;
    }
  }
  for (const auto& tres : job.allocated()) {
    if (tres.name() == "mem") out.memory_granted_mib = static_cast<double>(tres.count());
    if (tres.name() == "gres/gpu") out.gpus = static_cast<double>(tres.count());
  }
  out.gpu_percent = static_cast<double>(usage.gpu_utilization());
  out.gpu_memory_mib = static_cast<double>(usage.gpu_memory_mib());
  return out;
}

std::string span(double seconds_given) {
  const auto all = static_cast<std::uint64_t>(seconds_given);
  const std::string clock = fmt::format("{:02}:{:02}:{:02}", all / 3600 % 24, all / 60 % 60, all % 60);
  return all >= 86400 ? fmt::format("{}-{}", all / 86400, clock) : clock;
}

std::string memory(double mib) {
  static constexpr const char* kUnits[] = {"KB", "MB", "GB", "TB"};
  double value = mib * 1024;
  std::size_t at = 0;
  for (; value >= 1024 && at + 1 < std::size(kUnits); ++at) value /= 1024;
  return fmt::format("{:.2f} {}", value, kUnits[at]);
}

double percent(double used, double granted) {
  return granted > 0 ? 100 * used / granted : 0;
}

void print_seff(Context& context, const v1::AcctJobRow& row, const Measured& m) {
  const auto& job = row.job();
  std::string out = fmt::format("Job ID: {}\n", job.job());
  if (job.array_job() && job.has_array_task())
    out += fmt::format("Array Job ID: {}_{}\n", job.array_job(), job.array_task());
  out += fmt::format("Cluster: {}\nUser/Group: {}/{}\n", row.cluster(),
                     job.user().empty() ? user_name(Uid{job.uid()}) : job.user(),
                     job.group().empty() ? group_name(Gid{job.gid()}) : job.group());
  const auto state = static_cast<model::JobState>(job.state());
  out += fmt::format("State: {} (exit code {})\n", model::base_name(state), job.exit_code());
  if (job.cpus_allocated() == 1)
    out += "Cores: 1\n";
  else
    out += fmt::format("Nodes: {}\nCores per node: {}\n", job.node_count(),
                       job.cpus_allocated() / std::max(job.node_count(), 1u));
  out += fmt::format("CPU Utilized: {}\nCPU Efficiency: {:.2f}% of {} core-walltime\nJob Wall-clock time: {}\n",
                     span(m.cpu_used), percent(m.cpu_used, m.cpu_granted), span(m.cpu_granted), span(m.wall));
  out += fmt::format("Memory Utilized: {}{}\n", memory(m.memory_used_mib), m.estimated ? " (estimated maximum)" : "");
  const bool by_cpu = job.has_memory_per_cpu_mib();
  const double share = m.memory_granted_mib / std::max(by_cpu ? job.cpus_allocated() : job.node_count(), 1u);
  out += fmt::format("Memory Efficiency: {:.2f}% of {} ({}/{})\n", percent(m.memory_used_mib, m.memory_granted_mib),
                     memory(m.memory_granted_mib), memory(share), by_cpu ? "core" : "node");
  context.out.write(out);
}

// What the numbers mean, in a sentence each.
void print_advice(Context& context, const v1::AcctJob& job, const Measured& m) {
  std::string out;
  if (m.gpus > 0 && (m.gpu_percent > 0 || m.gpu_memory_mib > 0))
    out += fmt::format("GPUs: {:.0f}, busy {:.0f}% of the time, {} of their memory in use at most\n", m.gpus, m.gpu_percent,
                       memory(m.gpu_memory_mib));
  else if (m.gpus > 0)
    out += fmt::format("GPUs: {:.0f}; what they did was not measured\n", m.gpus);
  out += "\n";
  if (m.wall < 60) {
    out += "The job ran for less than a minute: too short to say much.\n";
    return context.out.write(out);
  }
  const double cpu = percent(m.cpu_used, m.cpu_granted), memory_part = percent(m.memory_used_mib, m.memory_granted_mib);
  const double busy = m.cpu_used / std::max(m.wall, 1.0);
  if (cpu < 50 && job.cpus_allocated() > 1)
    out += fmt::format("Of {} CPUs about {:.1f} were busy on average: with {} it would probably run as fast, and start sooner.\n",
                       job.cpus_allocated(), busy, std::max(1u, static_cast<std::uint32_t>(busy + 0.99)));
  else if (cpu < 50)
    out += "Its CPU waited most of the time, for input and output or for something else.\n";
  else
    out += "It made good use of its CPUs.\n";
  if (m.memory_granted_mib <= 0)
    out += "No memory was asked for, so nothing can be said of it.\n";
  else if (memory_part > 90)
    out += "It came close to the memory it had: ask for a little more.\n";
  else if (memory_part < 40)
    out += fmt::format("It needed {} of {}: --mem={}M would do.\n", memory(m.memory_used_mib), memory(m.memory_granted_mib),
                       static_cast<std::uint64_t>(m.memory_used_mib * 1.25 / std::max(job.node_count(), 1u)) + 1);
  else
    out += "Its memory was about right.\n";
  if (m.gpus > 0 && m.gpu_percent > 0 && m.gpu_percent < 40)
    out += "Its GPUs were idle most of the time: look at what the program waits for, or ask for fewer.\n";
  context.out.write(out);
}

struct Efficiency {
  bool help = false, version = false;
};

template <bool Efficiency::* Field>
OptionStatus flag(Efficiency& e, std::string_view) {
  e.*Field = true;
  return {};
}

constexpr Option<Efficiency> kOptions[] = {
    {{"version", 'V', Takes::Nothing, nullptr, "print the version"}, flag<&Efficiency::version>},
    {{"help", 'h', Takes::Nothing, nullptr, "show this help message"}, flag<&Efficiency::help>},
};

int run(Context& context, bool advise) {
  Efficiency options;
  const auto rest = read_line<Efficiency>(context, kOptions, options, Order::Anywhere, 1);
  if (!rest) return rest.error();
  if (options.version) return print_version(context);
  if (options.help || rest->size() != 1) {
    context.out.print("Usage: {} [OPTIONS] JOB[_TASK]\n{}", context.program, help_text(rows_of<Efficiency>(kOptions)));
    return options.help ? 0 : 1;
  }
  const std::string word(rest->front());
  v1::AcctJobQuery query;
  auto* target = query.add_jobs();
  const auto mark = word.find('_');
  const auto id = text::parse_decimal32(word.substr(0, mark));
  const auto task = mark == std::string::npos ? std::optional<std::uint32_t>{} : text::parse_decimal32(word.substr(mark + 1));
  if (!id || *id == 0 || (mark != std::string::npos && !task)) {
    context.error("\"{}\" is no job", text::printable(word));
    return 1;
  }
  target->set_job(*id);
  if (task) target->set_array_task(*task);
  query.set_with_steps(true);
  auto accounting = context.connect_accounting();
  if (!accounting) return context.plain("{}", accounting.error().message), 1;
  query.add_clusters((*accounting)->cluster());
  const auto rows = sacct_rows(context, **accounting, query);
  if (!rows) return context.error("{}", words(rows.error())), 1;
  if (rows->empty()) {
    context.plain("Job not found.");
    return 2;
  }
  const auto& row = rows->front();
  const auto state = static_cast<model::JobState>(row.job().state());
  const Measured measured = measure(row, context.now());
  if (state == model::JobState::Pending) {
    context.out.print("Efficiency not available for jobs in the {} state.\n", model::base_name(state));
    return 0;
  }
  print_seff(context, row, measured);
  if (!model::is_final(state))
    context.out.print("WARNING: Efficiency statistics may be misleading for {} jobs.\n", model::base_name(state));
  else if (advise)
    print_advice(context, row.job(), measured);
  return 0;
}

}  // namespace

int cmd_efficiency(Context& context) {
  return run(context, true);
}
int cmd_seff(Context& context) {
  return run(context, false);
}

}  // namespace spur::cli
