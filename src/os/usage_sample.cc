// SPDX-License-Identifier: Apache-2.0
#include "os/usage_sample.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "os/sysfs.h"

namespace spur::os {
namespace {

// The numbers of a process's stat behind its name, which may hold anything.
std::vector<std::uint64_t> stat_fields(const std::string& text) {
  std::vector<std::uint64_t> out;
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 4 > text.size()) return out;
  const char *at = text.data() + name_end + 4, *end = text.data() + text.size();  // behind ") S "
  while (at < end) {
    std::int64_t value = 0;
    const auto parsed = std::from_chars(at, end, value);
    if (parsed.ec != std::errc()) break;
    out.push_back(static_cast<std::uint64_t>(value));
    at = parsed.ptr + 1;
  }
  return out;
}

// proc(5)'s numbers of the fields, counted from the parent's pid (field 4).
constexpr std::size_t kMajorFaults = 12 - 4, kUserTicks = 14 - 4, kSystemTicks = 15 - 4, kVirtualBytes = 23 - 4,
                      kResidentPages = 24 - 4;

}  // namespace

model::Usage usage_of_processes(const std::vector<pid_t>& pids, const std::string& root) {
  static const auto tick_us = 1'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  static const auto page_kib = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  model::Usage out;
  for (const pid_t pid : pids) {
    const std::string dir = fmt::format("{}/proc/{}", root, pid);
    const auto fields = stat_fields(sysfs_text(dir + "/stat"));
    if (fields.size() <= kResidentPages) continue;  // ended meanwhile
    out.user_cpu_us += fields[kUserTicks] * tick_us;
    out.system_cpu_us += fields[kSystemTicks] * tick_us;
    out.major_faults += fields[kMajorFaults];
    out.max_vsize_kib += fields[kVirtualBytes] / 1024;
    out.max_rss_kib += fields[kResidentPages] * page_kib;
    // As Slurm counts them: what went through read and write, from whatever device.
    const std::string io = sysfs_text(dir + "/io");
    out.read_bytes += sysfs_property(io, "rchar").value_or(0);
    out.write_bytes += sysfs_property(io, "wchar").value_or(0);
  }
  return out;
}

model::Usage usage_of_cgroup(const Cgroup& group) {
  model::Usage out = usage_of_processes(group.processes());
  const auto cpu = group.cpu_time();
  out.user_cpu_us = cpu.user_us;
  out.system_cpu_us = cpu.system_us;
  out.memory_peak_kib = group.peak_memory_bytes() / 1024;
  return out;
}

void keep_peaks(model::Usage& peaks, const model::Usage& now) {
  const auto keep = [](std::uint64_t& peak, std::uint64_t value) { peak = std::max(peak, value); };
  keep(peaks.user_cpu_us, now.user_cpu_us);
  keep(peaks.system_cpu_us, now.system_cpu_us);
  keep(peaks.max_rss_kib, now.max_rss_kib);
  keep(peaks.max_vsize_kib, now.max_vsize_kib);
  keep(peaks.memory_peak_kib, now.memory_peak_kib);
  keep(peaks.read_bytes, now.read_bytes);
  keep(peaks.write_bytes, now.write_bytes);
  keep(peaks.major_faults, now.major_faults);
  keep(peaks.gpu_memory_mib, now.gpu_memory_mib);
  keep(peaks.gpu_utilization, now.gpu_utilization);
}

std::string encode_sample(const StepSample& sample) {
  std::string out = fmt::format("step {}\n", sample.step);
  for (const auto& [rank, pid, u] : sample.tasks)
    out +=
        fmt::format("task {} {} {} {} {} {} {} {} {} {}\n", rank, pid, u.user_cpu_us, u.system_cpu_us, u.max_rss_kib,
                    u.max_vsize_kib, u.memory_peak_kib, u.read_bytes, u.write_bytes, u.major_faults);
  return out + "end\n";
}

Result<StepSample> decode_sample(std::string_view text) {
  const auto bad = fail(ErrorCode::Corrupt, "a sample of usage is damaged");
  StepSample out;
  bool whole = false;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with("step ")) {
      out.step = line.substr(5);
    } else if (line == "end") {
      whole = true;
    } else if (line.starts_with("task ")) {
      std::uint64_t n[10] = {};
      const char *at = line.data() + 5, *end = line.data() + line.size();
      for (auto& value : n) {
        const auto parsed = std::from_chars(at, end, value);
        if (parsed.ec != std::errc()) return bad;
        at = std::min(parsed.ptr + 1, end);
      }
      model::Usage usage{.user_cpu_us = n[2],
                         .system_cpu_us = n[3],
                         .max_rss_kib = n[4],
                         .max_vsize_kib = n[5],
                         .memory_peak_kib = n[6],
                         .read_bytes = n[7],
                         .write_bytes = n[8],
                         .major_faults = n[9]};
      out.tasks.push_back({static_cast<std::uint32_t>(n[0]), static_cast<pid_t>(n[1]), usage});
    } else {
      return bad;
    }
  }
  if (!whole || out.step.empty()) return bad;
  return out;
}

}  // namespace spur::os
