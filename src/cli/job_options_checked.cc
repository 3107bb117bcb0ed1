// SPDX-License-Identifier: Apache-2.0
// Setters of options that are checked as Slurm checks them and mean little here, or something else that there is.
#include <algorithm>

#include "cli/job_option_setters.h"
#include "cli/read_file.h"
#include "text/decimal.h"
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
  const auto limit = digits.empty() ? std::optional<std::uint32_t>(8) : text::parse_decimal32(digits);
  if (!limit || *limit == 0) return bad_option("Invalid --get-user-env specification");
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

OptionStatus set_no_kill(Request&, Value v) {
  if (text::equal_ignoring_case(v, "off") || text::equal_ignoring_case(v, "no")) return {};
  if (!v.empty()) return bad_option("Invalid --no-kill specification");
  return bad_option("--no-kill is not supported yet", 1);
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
