// SPDX-License-Identifier: Apache-2.0
#include "cli/sacct_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cli/display.h"
#include "cli/users.h"
#include "model/job_state.h"
#include "model/step_end.h"
#include "text/decimal.h"
#include "text/memory_size.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using Line = const SacctLine&;

const v1::AcctUsage& usage_of(Line l) {
  return l.step ? l.step->usage() : l.job.usage();
}
std::uint32_t tasks_of(Line l) {
  return l.step ? std::max(l.step->tasks(), 1u) : 1;
}
std::uint32_t cpus_of(Line l) {
  return l.step ? l.step->cpus() : l.job.cpus_allocated();
}
Time started(Line l) {
  const Time at = from_micros(l.step ? l.step->started_us() : l.job.started_us());
  return is_set(at) && is_set(l.style.cut_from) ? std::max(at, l.style.cut_from) : at;
}
Time ended(Line l) {
  const Time at = from_micros(l.step ? l.step->ended_us() : l.job.ended_us());
  if (!is_set(l.style.cut_until) || !is_set(started(l))) return at;
  return is_set(at) ? std::min(at, l.style.cut_until) : l.style.cut_until;
}

// Slurm's: milliseconds only where there is less than an hour and they are not all zero.
std::string cpu_time(std::uint64_t us) {
  const std::uint64_t all = us / 1'000'000, rest = us % 1'000'000;
  const std::uint64_t days = all / 86400, hours = all / 3600 % 24, minutes = all / 60 % 60, secs = all % 60;
  if (days) return fmt::format("{}-{:02}:{:02}:{:02}", days, hours, minutes, secs);
  if (hours) return fmt::format("{:02}:{:02}:{:02}", hours, minutes, secs);
  return rest ? fmt::format("{:02}:{:02}.{:03}", minutes, secs, rest / 1000)
              : fmt::format("00:{:02}:{:02}", minutes, secs);
}
std::string clock(seconds span) {
  return cpu_time(static_cast<std::uint64_t>(std::max<std::int64_t>(span.count(), 0)) * 1'000'000);
}

// --units wins over --noconvert.
std::string amount(const SacctStyle& style, std::uint64_t count, text::Unit unit) {
  if (!style.unit || count == 0)
    return text::format_amount(count, unit, style.no_convert ? text::UnitStyle::Plain : text::UnitStyle::Exact);
  double value = static_cast<double>(count);
  auto at = static_cast<std::size_t>(unit);
  const auto want = std::string_view("\0KMGTP", 6).find(style.unit);
  for (; at < want; ++at) value /= 1024;
  for (; at > want; --at) value *= 1024;
  return value == std::floor(value) ? fmt::format("{:.0f}{}", value, style.unit)
                                    : fmt::format("{:.2f}{}", value, style.unit);
}
std::string bytes(Line l, std::uint64_t count) {
  return amount(l.style, count, text::Unit::One);
}

std::uint64_t count_of(const google::protobuf::RepeatedPtrField<v1::AcctTres>& list, std::string_view name) {
  for (const auto& item : list)
    if (item.name() == name) return item.count();
  return 0;
}

// ---- the two kinds of cells: of the job alone, of steps alone

template <auto field>
std::string of_job(Line l) {
  return l.step ? "" : field(l.job);
}
template <auto field>
std::string of_step(Line l) {
  return l.step ? field(l) : "";
}
std::string nothing(Line) {
  return "";
}
std::string step_zero(Line l) {
  return l.step ? "0" : "";
}

// Nobody asks for CPU frequencies.
std::string frequency(Line l) {
  return l.step && l.step->step() == model::kBatchStep ? "0" : "Unknown";
}
std::string typed_line(Line l) {
  return l.step ? l.step->submit_line() : l.job.submit_line();
}

std::string job_id(Line l) {
  return l.step ? sacct_job_id(l.job) + "." + sacct_step_name(l.step->step()) : sacct_job_id(l.job);
}
std::string job_id_raw(Line l) {
  const std::string id = fmt::format("{}", l.job.job());
  return l.step ? id + "." + sacct_step_name(l.step->step()) : id;
}
std::string job_name(Line l) {
  return l.step ? l.step->name() : l.job.name();
}
std::string state(Line l) {
  if (!l.step) return sacct_state(l.job);
  // A step that a signal ended counts as cancelled.
  const auto of = static_cast<model::JobState>(l.step->state());
  const bool killed = of == model::JobState::Failed && l.step->exit_signal() != 0;
  return std::string(model::base_name(killed ? model::JobState::Cancelled : of));
}
std::string exit_code(Line l) {
  // The signal that ended a cancelled job is its steps' affair.
  if (!l.step && static_cast<model::JobState>(l.job.state()) == model::JobState::Cancelled) return "0:0";
  return l.step ? fmt::format("{}:{}", l.step->exit_code(), l.step->exit_signal())
                : fmt::format("{}:{}", l.job.exit_code(), l.job.exit_signal());
}
std::string derived(const v1::AcctJob& job) {
  return fmt::format("{}:{}", job.derived_code(), job.derived_signal());
}
// Of a job that never started: what it asked for.
std::string ncpus(Line l) {
  return fmt::format("{}", !l.step && !l.job.started_us() ? l.job.cpus_requested() : cpus_of(l));
}
std::string alloc_nodes(Line l) {
  return fmt::format("{}", l.step ? l.step->node_count() : l.job.node_count());
}
std::string nnodes(Line l) {
  if (l.step) return fmt::format("{}", l.step->node_count());
  return fmt::format("{}", l.job.node_count() ? l.job.node_count() : l.job.nodes_requested());
}
std::string node_list(Line l) {
  const std::string& nodes = l.step ? l.step->nodes() : l.job.nodes();
  return nodes.empty() ? "None assigned" : nodes;
}
std::string alloc_tres(Line l) {
  return sacct_tres(l.step ? l.step->allocated() : l.job.allocated(), l.style);
}
std::string req_tres(Line l) {
  return l.step ? "" : sacct_tres(l.job.requested(), l.style);
}
std::string req_mem(Line l) {
  if (l.step) return "";
  return amount(l.style, count_of(l.job.requested(), "mem"), text::Unit::Mebi);
}
std::string req_cpus(Line l) {
  return fmt::format("{}", l.step ? l.step->cpus() : l.job.cpus_requested());
}
std::string req_nodes(Line l) {
  return fmt::format("{}", l.step ? l.step->node_count() : l.job.nodes_requested());
}
std::string elapsed(Line l) {
  return clock(sacct_elapsed(l));
}
std::string elapsed_raw(Line l) {
  return fmt::format("{}", sacct_elapsed(l).count());
}
std::string cpu_total(Line l) {
  return clock(sacct_elapsed(l) * cpus_of(l));
}
std::string cpu_total_raw(Line l) {
  return fmt::format("{}", (sacct_elapsed(l) * cpus_of(l)).count());
}
std::string suspended(Line l) {
  return l.step ? "00:00:00" : clock(std::chrono::duration_cast<seconds>(Duration(l.job.suspended_total_us())));
}
std::string start(Line l) {
  return moment(started(l), "Unknown");
}
std::string end(Line l) {
  return moment(ended(l), "Unknown");
}
std::string submit(Line l) {
  return moment(from_micros(l.step ? l.step->started_us() : l.job.submitted_us()), "Unknown");
}
std::string eligible(Line l) {
  return moment(from_micros(l.step ? l.step->started_us() : l.job.eligible_us()), "Unknown");
}

// How long the job could have run and did not.
seconds waited(const v1::AcctJob& job, const SacctStyle& style) {
  if (!job.eligible_us()) return seconds(0);
  const std::int64_t until = job.started_us() ? job.started_us()
                             : job.ended_us() ? job.ended_us()
                                              : to_micros(style.now);
  return std::chrono::duration_cast<seconds>(Duration(std::max<std::int64_t>(until - job.eligible_us(), 0)));
}
std::string reserved(Line l) {
  return l.step ? "" : clock(waited(l.job, l.style));
}
std::string reserved_cpu(Line l) {
  return l.step ? "" : clock(waited(l.job, l.style) * l.job.cpus_requested());
}
std::string reserved_cpu_raw(Line l) {
  return l.step ? "" : fmt::format("{}", (waited(l.job, l.style) * l.job.cpus_requested()).count());
}

std::uint64_t shown_us(Line l, std::uint64_t us) {
  return l.style.allocations ? 0 : us;
}
std::string user_cpu(Line l) {
  return cpu_time(shown_us(l, usage_of(l).user_cpu_us()));
}
std::string system_cpu(Line l) {
  return cpu_time(shown_us(l, usage_of(l).system_cpu_us()));
}
std::string total_cpu(Line l) {
  return cpu_time(shown_us(l, usage_of(l).user_cpu_us() + usage_of(l).system_cpu_us()));
}
std::string average_cpu(Line l) {
  return clock(seconds((usage_of(l).user_cpu_us() + usage_of(l).system_cpu_us()) / tasks_of(l) / 1'000'000));
}
std::string max_rss(Line l) {
  return bytes(l, usage_of(l).max_rss_kib() * 1024);
}
std::string max_vsize(Line l) {
  return bytes(l, usage_of(l).max_vsize_kib() * 1024);
}
std::string max_read(Line l) {
  return bytes(l, usage_of(l).read_bytes());
}
std::string max_write(Line l) {
  return bytes(l, usage_of(l).write_bytes());
}
std::string average_read(Line l) {
  return bytes(l, usage_of(l).read_bytes() / tasks_of(l));
}
std::string average_write(Line l) {
  return bytes(l, usage_of(l).write_bytes() / tasks_of(l));
}
std::string pages(Line l) {
  return fmt::format("{}", usage_of(l).major_faults());
}
std::string average_pages(Line l) {
  return fmt::format("{}", usage_of(l).major_faults() / tasks_of(l));
}
std::string ntasks(Line l) {
  return fmt::format("{}", l.step->tasks());
}
// Which task of which node it was is known for one-node steps only.
std::string peak_node(Line l) {
  if (!l.step->max_rss_node().empty()) return l.step->max_rss_node();
  return l.step->node_count() == 1 ? l.step->nodes() : "";
}
std::string peak_task(Line l) {
  return l.step->tasks() == 1 ? "0" : fmt::format("{}", l.step->max_rss_task());
}
std::string usage_in(Line l, std::uint32_t share) {
  const auto& u = usage_of(l);
  return fmt::format("cpu={},energy=0,fs/disk={},mem={},pages={},vmem={}",
                     clock(seconds((u.user_cpu_us() + u.system_cpu_us()) / share / 1'000'000)),
                     u.read_bytes() / share, bytes(l, u.max_rss_kib() * 1024), u.major_faults() / share,
                     bytes(l, u.max_vsize_kib() * 1024));
}
std::string usage_in_total(Line l) {
  return usage_in(l, 1);
}
std::string usage_in_average(Line l) {
  return usage_in(l, tasks_of(l));
}
std::string usage_out_total(Line l) {
  return fmt::format("energy=0,fs/disk={}", usage_of(l).write_bytes());
}
std::string usage_out_average(Line l) {
  return fmt::format("energy=0,fs/disk={}", usage_of(l).write_bytes() / tasks_of(l));
}
std::string layout(Line l) {
  if (l.step->step() >= model::kBatchStep - 1) return "Unknown";
  return l.step->tasks() <= l.step->node_count() ? "Cyclic" : "Block";
}

std::string user(const v1::AcctJob& job) {
  return job.user().empty() ? user_name(Uid{job.uid()}) : job.user();
}
std::string group(const v1::AcctJob& job) {
  return job.group().empty() ? group_name(Gid{job.gid()}) : job.group();
}
std::string uid(const v1::AcctJob& job) {
  return fmt::format("{}", job.uid());
}
std::string gid(const v1::AcctJob& job) {
  return fmt::format("{}", job.gid());
}
std::string account(Line l) {
  return l.job.account();
}
std::string cluster(Line l) {
  return std::string(l.style.cluster);
}
std::string qos(const v1::AcctJob& job) {
  return job.qos();
}
std::string partition(const v1::AcctJob& job) {
  return job.partition();
}
std::string priority(const v1::AcctJob& job) {
  return fmt::format("{}", job.priority());
}
// Why it waited last; of one that started that is over.
std::string reason(const v1::AcctJob& job) {
  return job.started_us() ? "None" : job.reason().empty() ? "None" : job.reason();
}
std::string limit(const v1::AcctJob& job) {
  const auto value = TimeLimit::from_raw(job.time_limit());
  if (!value.is_set() || (value.is_unlimited() && !job.started_us())) return "Partition_Limit";
  return value.is_unlimited() ? "UNLIMITED" : clock(std::chrono::minutes(value.minutes_value()));
}
std::string limit_raw(const v1::AcctJob& job) {
  const auto value = TimeLimit::from_raw(job.time_limit());
  if (!value.is_set() || (value.is_unlimited() && !job.started_us())) return "Partition_Limit";
  return value.is_unlimited() ? "UNLIMITED" : fmt::format("{}", value.minutes_value());
}
// There is no row number; the moment of submission to the microsecond is as unique.
std::string db_index(const v1::AcctJob& job) {
  return fmt::format("{}", job.submitted_us());
}
std::string restarts(const v1::AcctJob& job) {
  return fmt::format("{}", job.restarts());
}
#define SPUR_TEXT(name, field)               \
  std::string name(const v1::AcctJob& job) { \
    return job.field();                      \
  }
SPUR_TEXT(admin_comment, admin_comment)
SPUR_TEXT(system_comment, system_comment)
SPUR_TEXT(comment, comment)
SPUR_TEXT(constraints, features)
SPUR_TEXT(container, container)
SPUR_TEXT(reservation, reservation)
SPUR_TEXT(wckey, wckey)
SPUR_TEXT(work_dir, work_dir)
SPUR_TEXT(extra, extra)
SPUR_TEXT(licenses, licenses)
SPUR_TEXT(std_in, std_in)
SPUR_TEXT(std_out, std_out)
SPUR_TEXT(std_err, std_err)
#undef SPUR_TEXT

// Numbers of the catalogue, as it is now; 0 for what has gone from it.
std::string association_id(Line l) {
  return fmt::format("{}", l.style.ids ? l.style.ids->association(l.job) : 0);
}
std::string qos_id(Line l) {
  if (l.step) return "";
  const auto* ids = l.style.ids;
  const auto found = ids ? ids->qos.find(l.job.qos()) : decltype(ids->qos.end()){};
  return fmt::format("{}", ids && found != ids->qos.end() ? found->second : 0);
}
std::string wckey_id(Line l) {
  if (l.step) return "";
  const auto* ids = l.style.ids;
  const auto found = ids ? ids->wckeys.find({l.job.wckey(), l.job.user()}) : decltype(ids->wckeys.end()){};
  return fmt::format("{}", ids && found != ids->wckeys.end() ? found->second : 0);
}

// clang-format off
constexpr SacctColumn kColumns[] = {
    {"Account", 10, account}, {"AdminComment", 15, of_job<admin_comment>}, {"AllocCPUS", 10, ncpus}, {"AllocNodes", 10, alloc_nodes},
    {"AllocTRES", 10, alloc_tres}, {"AssocID", 7, association_id}, {"AveCPU", 10, of_step<average_cpu>}, {"AveCPUFreq", 10, step_zero},
    {"AveDiskRead", 14, of_step<average_read>}, {"AveDiskWrite", 14, of_step<average_write>}, {"AvePages", 10, of_step<average_pages>}, {"AveRSS", 10, of_step<max_rss>},
    {"AveVMSize", 10, of_step<max_vsize>}, {"BlockID", 16, nothing}, {"Cluster", 10, cluster}, {"Comment", 14, of_job<comment>},
    {"Constraints", 19, of_job<constraints>}, {"ConsumedEnergy", 14, step_zero}, {"ConsumedEnergyRaw", 17, step_zero}, {"Container", 19, of_job<container>},
    {"CPUTime", 10, cpu_total}, {"CPUTimeRAW", 10, cpu_total_raw}, {"DBIndex", -10, of_job<db_index>}, {"DerivedExitCode", 15, of_job<derived>},
    {"Elapsed", 10, elapsed}, {"ElapsedRaw", 10, elapsed_raw}, {"Eligible", 19, eligible}, {"End", 19, end},
    {"ExitCode", 8, exit_code}, {"Flags", 19, of_job<sacct_flags>}, {"GID", 6, of_job<gid>}, {"Group", 9, of_job<group>},
    {"JobID", -12, job_id}, {"JobIDRaw", -12, job_id_raw}, {"JobName", 10, job_name}, {"Layout", 9, of_step<layout>},
    {"MaxDiskRead", 12, of_step<max_read>}, {"MaxDiskReadNode", 15, of_step<peak_node>}, {"MaxDiskReadTask", 15, of_step<peak_task>}, {"MaxDiskWrite", 12, of_step<max_write>},
    {"MaxDiskWriteNode", 16, of_step<peak_node>}, {"MaxDiskWriteTask", 16, of_step<peak_task>}, {"MaxPages", 8, of_step<pages>}, {"MaxPagesNode", 12, of_step<peak_node>},
    {"MaxPagesTask", 14, of_step<peak_task>}, {"MaxRSS", 10, of_step<max_rss>}, {"MaxRSSNode", 10, of_step<peak_node>}, {"MaxRSSTask", 10, of_step<peak_task>},
    {"MaxVMSize", 10, of_step<max_vsize>}, {"MaxVMSizeNode", 14, of_step<peak_node>}, {"MaxVMSizeTask", 14, of_step<peak_task>}, {"McsLabel", 12, nothing},
    {"MinCPU", 10, of_step<average_cpu>}, {"MinCPUNode", 10, of_step<peak_node>}, {"MinCPUTask", 10, of_step<peak_task>}, {"NCPUS", 10, ncpus},
    {"NNodes", 8, nnodes}, {"NodeList", 15, node_list}, {"NTasks", 8, of_step<ntasks>}, {"Partition", 10, of_job<partition>},
    {"Priority", 10, of_job<priority>}, {"QOS", 10, of_job<qos>}, {"QOSRAW", 6, qos_id}, {"Reason", 22, of_job<reason>},
    {"ReqCPUFreq", 10, step_zero}, {"ReqCPUFreqGov", 13, frequency}, {"ReqCPUFreqMax", 13, frequency}, {"ReqCPUFreqMin", 13, frequency},
    {"ReqCPUS", 8, req_cpus}, {"ReqMem", 10, req_mem}, {"ReqNodes", 8, req_nodes}, {"ReqTRES", 10, req_tres},
    {"Reservation", 20, of_job<reservation>}, {"ReservationId", 8, nothing}, {"Reserved", 10, reserved}, {"ResvCPU", 10, reserved_cpu},
    {"ResvCPURAW", 10, reserved_cpu_raw}, {"Start", 19, start}, {"State", 10, state}, {"Submit", 19, submit},
    {"SubmitLine", 20, typed_line}, {"Suspended", 10, suspended}, {"SystemComment", 15, of_job<system_comment>}, {"SystemCPU", 10, system_cpu},
    {"Timelimit", 10, of_job<limit>}, {"TimelimitRaw", 10, of_job<limit_raw>}, {"TotalCPU", 10, total_cpu}, {"TRESUsageInAve", 14, of_step<usage_in_average>},
    {"TRESUsageInMax", 14, of_step<usage_in_total>}, {"TRESUsageInMaxNode", 18, nothing}, {"TRESUsageInMaxTask", 18, nothing}, {"TRESUsageInMin", 14, of_step<usage_in_average>},
    {"TRESUsageInMinNode", 18, nothing}, {"TRESUsageInMinTask", 18, nothing}, {"TRESUsageInTot", 14, of_step<usage_in_total>}, {"TRESUsageOutAve", 15, of_step<usage_out_average>},
    {"TRESUsageOutMax", 15, of_step<usage_out_total>}, {"TRESUsageOutMaxNode", 19, nothing}, {"TRESUsageOutMaxTask", 19, nothing}, {"TRESUsageOutMin", 15, of_step<usage_out_average>},
    {"TRESUsageOutMinNode", 19, nothing}, {"TRESUsageOutMinTask", 19, nothing}, {"TRESUsageOutTot", 15, of_step<usage_out_total>}, {"UID", 6, of_job<uid>},
    {"User", 9, of_job<user>}, {"UserCPU", 10, user_cpu}, {"WCKey", 10, of_job<wckey>}, {"WCKeyID", 10, wckey_id},
    {"WorkDir", 20, of_job<work_dir>},
    // of later versions
    {"Extra", 14, of_job<extra>}, {"Licenses", 20, of_job<licenses>}, {"Planned", 10, reserved}, {"PlannedCPU", 10, reserved_cpu},
    {"PlannedCPURAW", 13, reserved_cpu_raw}, {"Restarts", 8, of_job<restarts>}, {"StdErr", 20, of_job<std_err>}, {"StdIn", 20, of_job<std_in>},
    {"StdOut", 20, of_job<std_out>},
};
// clang-format on

const SacctColumn* find_column(std::string_view name) {
  const SacctColumn* found = nullptr;
  for (const SacctColumn& column : kColumns) {
    if (name.empty() || name.size() > column.name.size()) continue;
    if (!text::equal_ignoring_case(column.name.substr(0, name.size()), name)) continue;
    if (column.name.size() == name.size()) return &column;
    if (!found) found = &column;
  }
  return found;
}

}  // namespace

std::span<const SacctColumn> sacct_columns() {
  return kColumns;
}

std::expected<std::vector<ChosenSacctColumn>, std::string> choose_sacct_columns(std::string_view format) {
  std::vector<ChosenSacctColumn> out;
  for (const std::string_view word : text::split(format, ',')) {
    if (word.empty()) continue;
    if (text::equal_ignoring_case(word, "ALL")) {
      for (const SacctColumn& column : kColumns) out.push_back({&column, column.width});
      continue;
    }
    const auto percent = word.find('%');
    const SacctColumn* found = find_column(word.substr(0, percent));
    if (!found) return std::unexpected(std::string(word));
    int width = found->width;
    if (percent != std::string_view::npos) {
      std::string_view digits = word.substr(percent + 1);
      const bool left = digits.starts_with('-');
      if (left) digits.remove_prefix(1);
      const auto number = text::parse_decimal32(digits);
      if (!number || *number > 1'000'000) return std::unexpected(std::string(word));
      width = static_cast<int>(*number) * (left ? -1 : 1);
    }
    out.push_back({found, width});
  }
  return out;
}

std::string sacct_step_name(std::uint32_t step) {
  if (step == model::kBatchStep) return "batch";
  if (step == model::kExternStep) return "extern";
  if (step == model::kBatchStep - 1) return "interactive";
  return fmt::format("{}", step);
}

std::string sacct_job_id(const v1::AcctJob& job) {
  if (job.het_job()) return fmt::format("{}+{}", job.het_job(), job.het_offset());
  if (!job.array_job()) return fmt::format("{}", job.job());
  if (job.has_array_task()) return fmt::format("{}_{}", job.array_job(), job.array_task());
  return fmt::format("{}_[{}]", job.array_job(), job.array_tasks());
}

std::string sacct_state(const v1::AcctJob& job) {
  const auto of = static_cast<model::JobState>(job.state());
  if ((job.flags() & v1::ACCT_JOB_REQUEUED) && of == model::JobState::Cancelled) return "REQUEUED";
  if (of == model::JobState::Cancelled && (job.flags() & v1::ACCT_JOB_CANCELLED))
    return fmt::format("CANCELLED by {}", job.ended_by());
  return std::string(model::base_name(of));
}

// How it was started, as Slurm names it. Every start is a planner's work here.
std::string sacct_flags(const v1::AcctJob& job) {
  if (!job.started_us()) return "None";
  return job.flags() & v1::ACCT_JOB_BACKFILLED ? "SchedBackfill,StartReceived" : "SchedMain,StartReceived";
}

std::uint32_t SacctIds::association(const v1::AcctJob& job) const {
  for (const std::string& partition : {job.partition(), std::string()}) {
    const auto found = associations.find({job.account(), job.user(), partition});
    if (found != associations.end()) return found->second;
  }
  return 0;
}

std::string sacct_tres(const google::protobuf::RepeatedPtrField<v1::AcctTres>& list, const SacctStyle& style) {
  std::vector<const v1::AcctTres*> sorted;
  for (const auto& item : list) sorted.push_back(&item);
  std::ranges::sort(sorted, {}, [](const auto* item) { return item->name(); });
  std::string out;
  for (const auto* item : sorted) {
    if (!out.empty()) out += ',';
    out += item->name() + "=";
    out += item->name() == "mem" ? amount(style, item->count(), text::Unit::Mebi) : fmt::format("{}", item->count());
  }
  return out;
}

seconds sacct_elapsed(const SacctLine& line) {
  // Of whole seconds, as the times are shown.
  const Time from = std::chrono::floor<seconds>(started(line));
  if (!is_set(from)) return seconds(0);
  const Time to = std::chrono::floor<seconds>(is_set(ended(line)) ? ended(line) : line.style.now);
  Duration span = to - from;
  if (!line.step) {
    span -= Duration(line.job.suspended_total_us());
    if (line.job.suspended_at_us()) span -= to - from_micros(line.job.suspended_at_us());
  }
  return std::max(std::chrono::duration_cast<seconds>(span), seconds(0));
}

}  // namespace spur::cli
