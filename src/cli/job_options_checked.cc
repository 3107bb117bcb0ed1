// SPDX-License-Identifier: Apache-2.0
// Setters of options that are checked as Slurm checks them and mean little here, or something else that there is.
#include <algorithm>

#include "cli/job_option_setters.h"
#include "cli/read_file.h"
#include "text/decimal.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::cli::job_setters {

using Request = JobRequest;
using Value = std::string_view;

// "5", "10L", "S": seconds, and whether like a login or not.
OptionStatus set_get_user_env(Request& r, Value v) {
  Value digits = v;
  const char mode = digits.empty() ? 'L' : digits.back();
  if (mode == 'L' || mode == 'l' || mode == 'S' || mode == 's')
    digits = digits.substr(0, digits.empty() ? 0 : digits.size() - 1);
  const auto limit = digits.empty() ? std::optional<std::uint32_t>(0) : text::parse_decimal32(digits);
  if (!limit || (*limit == 0 && !digits.empty())) return bad_option("Invalid --get-user-env specification");
  r.login_environment = seconds(*limit);
  return {};
}

// How often usage is sampled: agents have one rate for all, so nothing follows from it.
OptionStatus set_acctg_freq(Request&, Value v) {
  const auto bad = [&] { return bad_option(fmt::format("Invalid --acctg-freq specification: {}", v)); };
  for (const Value part : text::split(v, ',')) {
    const std::size_t equals = part.find('=');
    const Value kind = equals == Value::npos ? Value("task") : part.substr(0, equals);
    const Value rate = equals == Value::npos ? part : part.substr(equals + 1);
    static constexpr Value kKinds[] = {"task", "energy", "network", "filesystem"};
    const bool known = std::ranges::any_of(kKinds, [&](Value name) { return text::equal_ignoring_case(kind, name); });
    if (!known || !text::parse_decimal32(rate)) return bad();
  }
  return {};
}

// No profiles are written, as in Slurm without AcctGatherProfileType.
OptionStatus set_profile(Request&, Value v) {
  static constexpr Value kKinds[] = {"none",   "all",        "energy",  "task",
                                     "lustre", "filesystem", "network", "interconnect"};
  for (const Value part : text::split(v, ','))
    if (std::ranges::none_of(kKinds, [&](Value name) { return text::equal_ignoring_case(part, name); }))
      return bad_option(fmt::format("invalid --profile={} option", v));
  return {};
}

OptionStatus set_no_kill(Request& r, Value v) {
  const bool off = text::equal_ignoring_case(v, "off") || text::equal_ignoring_case(v, "no");
  if (!v.empty() && !off) return bad_option("Invalid --no-kill specification");
  r.spec.no_kill = !off;
  return {};
}

// Frequencies of CPUs and GPUs are not changed by agents, as in Slurm on nodes that do not let them be. Numbers, or:
constexpr Value kCpuLevels[] = {"low", "medium", "highm1", "high"};  // ascending
// Slurm's governors that are allowed unless slurm.conf says otherwise come first.
constexpr Value kGovernors[] = {"OnDemand", "Performance", "UserSpace", "Conservative", "PowerSave", "SchedUtil"};
constexpr std::size_t kGovernorsAllowed = 3;

// The place of a word in a list, in any case.
template <std::size_t N>
std::optional<std::size_t> place_of(Value word, const Value (&list)[N]) {
  for (std::size_t i = 0; i < N; ++i)
    if (text::equal_ignoring_case(word, list[i])) return i;
  return std::nullopt;
}

// Named levels are above all numbers, as in Slurm.
std::optional<std::uint64_t> cpu_frequency(Value word) {
  if (const auto number = text::parse_decimal32(word)) return *number;
  if (const auto level = place_of(word, kCpuLevels)) return (std::uint64_t{1} << 32) + *level;
  return std::nullopt;
}

OptionStatus set_cpu_freq(Request&, Value v) {
  const auto bad = [](std::string why) { return bad_option(why + "\nInvalid --cpu-freq argument"); };
  const auto unknown = [&](Value word) { return bad(fmt::format("unrecognized --cpu-freq argument \"{}\"", word)); };
  const auto allowed = [&](Value word) -> OptionStatus {
    const auto governor = place_of(word, kGovernors);
    if (!governor) return unknown(word);
    if (*governor >= kGovernorsAllowed) return bad(fmt::format("governor of {} is not allowed in slurm.conf", v));
    return {};
  };
  const std::size_t colon = v.find(':');
  const Value range = v.substr(0, colon);
  const std::size_t dash = range.find('-');
  const Value low = range.substr(0, dash);
  if (dash == Value::npos && colon == Value::npos && place_of(low, kGovernors)) return allowed(low);
  const auto least = cpu_frequency(low);
  if (!least) return unknown(low);
  if (dash == Value::npos) {
    if (colon == Value::npos) return {};
    return bad(fmt::format("gov on cpu-frec ({}) illegal without max", v.substr(colon + 1)));
  }
  const Value high = range.substr(dash + 1);
  const auto most = cpu_frequency(high);
  if (!most) return unknown(high);
  if (*most < *least) return bad(fmt::format("min cpu-frec ({}) must be < max cpu-freq ({})", low, high));
  return colon == Value::npos ? OptionStatus{} : allowed(v.substr(colon + 1));
}

OptionStatus set_gpu_freq(Request& r, Value v) {
  static constexpr Value kLevels[] = {"low", "medium", "highm1", "high"};
  for (Value part : text::split(v, ',')) {
    if (text::equal_ignoring_case(part, "verbose")) continue;
    if (part.starts_with("memory=")) part.remove_prefix(7);
    if (!text::parse_decimal32(part) && !place_of(part, kLevels))
      return bad_option(fmt::format("Invalid --gpu-freq argument: gpu:{}", v));
  }
  r.spec.gpu_freq = std::string(v);
  return {};
}

// No node is booted for a job.
OptionStatus set_delay_boot(Request&, Value v) {
  if (!text::parse_time_limit(v)) return bad_option("Invalid --delay-boot specification");
  return {};
}

OptionStatus set_number_only(Request&, Value v, Value name) {
  if (!text::parse_decimal32(v))
    return bad_option(fmt::format("Invalid numeric value \"{}\" for {}.", v, name), 1);
  return {};
}
OptionStatus set_msg_timeout(Request& r, Value v) {
  return set_number_only(r, v, "--msg-timeout");
}
OptionStatus set_tree_width(Request& r, Value v) {
  if (text::equal_ignoring_case(v, "off")) return {};
  return set_number_only(r, v, "--treewidth");
}

// A cluster without PrologFlags=X11 has no such thing, and Slurm says so.
OptionStatus set_x11(Request& r, Value v) {
  static constexpr Value kKinds[] = {"all", "batch", "first", "last"};
  if (!v.empty() && !place_of(v, kKinds)) return {};  // as Slurm: not asked for
  r.x11 = true;
  return {};
}

// Without MpiParams=ports= there are none to reserve.
OptionStatus set_resv_ports(Request& r, Value v) {
  r.reserved_ports = v.empty() ? 0 : text::parse_decimal32(v).value_or(0);
  return {};
}

OptionStatus set_job_clusters(Request& r, Value v) {
  r.clusters = parse_clusters(v);
  return {};
}

OptionStatus set_burst_buffer_file(Request& r, Value v) {
  auto content = read_file(std::string(v));
  if (!content) return bad_option("Invalid --bbf specification", 1);
  r.spec.burst_buffer = *std::move(content);
  return {};
}

OptionStatus set_always(Request&, Value) {
  return {};
}

// "cpu:2,gres/gpu:1": CPUs and devices of each task.
OptionStatus set_tres_per_task(Request& r, Value v) {
  for (const Value part : text::split(v, ',')) {
    const std::size_t at = part.find_last_of(":=");
    const Value name = at == Value::npos ? part : part.substr(0, at);
    const Value count = at == Value::npos ? Value("1") : part.substr(at + 1);
    const auto gres = name.starts_with("gres/") || name.starts_with("gres:") ? name.substr(5) : Value();
    if (text::equal_ignoring_case(name, "cpu")) {
      if (auto done = set_cpus_per_task(r, count); !done) return done;
    } else if (gres == "gpu" || gres.starts_with("gpu:")) {
      const std::string type(gres.size() > 4 ? gres.substr(4) : Value());
      if (auto done = set_gpus_per_task(r, type.empty() ? std::string(count) : fmt::format("{}:{}", type, count));
          !done)
        return done;
    } else {
      return bad_option(fmt::format("Invalid --tres-per-task specification: {}", part));
    }
  }
  return {};
}

// "gres/gpu:single:1": the same as --gpu-bind.
OptionStatus set_tres_bind(Request& r, Value v) {
  for (const Value prefix : {"gres/gpu:", "gpu:"})
    if (v.starts_with(prefix)) return set_gpu_bind(r, v.substr(prefix.size()));
  return bad_option("Invalid --tres-bind specification");
}

}  // namespace spur::cli::job_setters

namespace spur::cli {

OptionStatus check_x11(const Context& context, const JobRequest& request, std::string_view failed) {
  if (!request.x11) return {};
  if (!context.env("DISPLAY")) return bad_option("No DISPLAY variable set, cannot setup x11 forwarding.");
  return bad_option(fmt::format("{}: X11 forwarding not available", failed), 1);
}

}  // namespace spur::cli
