// SPDX-License-Identifier: Apache-2.0
#include "cli/job_option_values.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "cli/read_file.h"
#include "text/array_spec.h"
#include "text/date.h"
#include "text/decimal.h"
#include "text/dependency.h"
#include "text/gres.h"
#include "text/hostlist.h"
#include "text/signal_name.h"
#include "text/words.h"

namespace spur::cli {

std::unexpected<BadOption> invalid_specification(std::string_view option) {
  return bad_option(fmt::format("Invalid --{} specification", option));
}

std::unexpected<BadOption> refused(ErrorCode code) {
  return bad_option(fmt::format("Batch job submission failed: {}", slurm_message(code)), 1);
}

OptionValue<std::uint32_t> positive_number(std::string_view text, std::string_view option) {
  const auto value = text::parse_decimal(text, std::numeric_limits<std::int32_t>::max());
  if (!value || *value == 0)
    return bad_option(fmt::format("Invalid numeric value \"{}\" for --{}.", text, option), 1);
  return static_cast<std::uint32_t>(*value);
}

namespace {

// "12", "2k", "1m": Slurm's factors in node counts.
std::optional<std::uint32_t> scaled(std::string_view text) {
  std::uint64_t factor = 1;
  if (text.ends_with('k') || text.ends_with('K')) factor = 1024;
  if (text.ends_with('m') || text.ends_with('M')) factor = 1024 * 1024;
  if (factor != 1) text.remove_suffix(1);
  const auto value = text::parse_decimal(text, std::numeric_limits<std::int32_t>::max());
  if (!value || *value * factor > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*value * factor);
}

std::unexpected<BadOption> bad_node_count(std::string_view text) {
  return bad_option(fmt::format("\"{}\" is not a valid node count", text));
}

}  // namespace

OptionValue<NodeCount> node_count(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view low = text.substr(0, dash);
  // "-4" has an empty lower end and is taken: at most four.
  const auto min = low.empty() && dash == 0 ? std::optional<std::uint32_t>(0) : scaled(low);
  if (!min) return bad_node_count(low.empty() ? text : low);
  if (*min == 0 && dash == std::string_view::npos) return refused(ErrorCode::InvalidNodeCount);
  NodeCount count{std::max(*min, 1u), std::nullopt};
  if (dash != std::string_view::npos) {
    const std::string_view high = text.substr(dash + 1);
    const auto max = scaled(high);
    if (!max) return bad_node_count(high);
    if (*max < *min)
      return bad_option(fmt::format("Maximum node count {} is less than minimum node count {}", *max, *min));
    count.max = std::max(*max, 1u);
  } else if (*min > 0) {
    count.max = *min;
  }
  return count;
}

namespace {

OptionValue<std::vector<model::GresRequest>> as_requests(const Result<std::vector<text::GresItem>>& items,
                                                         model::GresRequest::Per per) {
  if (!items) return bad_option(std::string(slurm_message(ErrorCode::InvalidGres)), 1);
  std::vector<model::GresRequest> requests;
  for (const text::GresItem& item : *items) requests.push_back({item.name, item.type, item.count, per});
  return requests;
}

}  // namespace

OptionValue<std::vector<model::GresRequest>> gres_request(std::string_view text) {
  return as_requests(text::parse_gres_request(text), model::GresRequest::Per::Node);
}

OptionValue<std::vector<model::GresRequest>> gpu_request(std::string_view text, model::GresRequest::Per per) {
  return as_requests(text::parse_gpu_request(text), per);
}

OptionValue<std::vector<model::LicenseRequest>> license_request(std::string_view text) {
  std::vector<model::LicenseRequest> licenses;
  if (text.empty()) return licenses;
  for (const std::string_view word : text::split(text, ',')) {
    const std::size_t colon = word.find_first_of(":=");
    const std::string_view name = text::trim(word.substr(0, colon));
    std::optional<std::uint32_t> count = 1;
    if (colon != std::string_view::npos) count = text::parse_decimal32(word.substr(colon + 1));
    if (name.empty() || name.find_first_of("|; ") != std::string_view::npos || !count)
      return refused(ErrorCode::InvalidLicense);
    licenses.push_back({std::string(name), *count});
  }
  return licenses;
}

OptionValue<void> set_dependencies(model::JobSpec& spec, std::string_view text) {
  const auto parsed = text::parse_dependency(text);
  if (!parsed) return refused(ErrorCode::InvalidDependency);
  spec.dependencies.clear();
  spec.dependencies_any = parsed->any;
  for (const text::DependencyTerm& term : parsed->terms) {
    static_assert(static_cast<int>(text::DependencyTerm::Kind::Singleton) ==
                  static_cast<int>(model::Dependency::Kind::Singleton));
    spec.dependencies.push_back({static_cast<model::Dependency::Kind>(term.kind), JobId(term.job), term.array_task,
                                 term.whole_array, term.delay_minutes});
  }
  return {};
}

OptionValue<std::optional<model::ArrayRequest>> array_request(std::string_view text) {
  if (text.empty()) return std::nullopt;
  auto parsed = text::parse_array_spec(text);
  if (!parsed) return refused(ErrorCode::InvalidArray);
  return model::ArrayRequest{std::move(parsed->tasks), parsed->max_running};
}

OptionValue<Time> point_in_time(std::string_view text, std::string_view option, Time now) {
  if (text.empty()) return invalid_specification(option);
  const auto parsed = text::parse_date(text, now);
  if (!parsed) return bad_option(fmt::format("Invalid --{} specification", option), 255, parsed.error().message);
  return *parsed;
}

OptionValue<model::SignalBeforeEnd> signal_request(std::string_view text) {
  const auto parsed = text::parse_signal_option(text);
  if (!parsed) return invalid_specification("signal");
  if (parsed->in_reservation) return bad_option("--signal=R: is not supported yet", 1);
  return model::SignalBeforeEnd{parsed->signal, parsed->seconds_before, parsed->batch_only};
}

OptionValue<std::string> host_list(std::string_view text) {
  if (text.find('/') != std::string_view::npos) return host_file(text);
  if (!text::expand_hostlist(text)) return refused(ErrorCode::InvalidNode);
  return std::string(text);
}

OptionValue<std::string> host_file(std::string_view path) {
  auto content = read_file(std::string(path));
  if (!content)
    return bad_option(fmt::format("slurm_allocate_resources error opening file {}, {}", path,
                                  content.error().message),
                      1);
  std::ranges::replace_if(*content, [](char c) { return text::is_blank(c); }, ',');
  const auto hosts = text::expand_hostlist(*content);
  if (!hosts) return refused(ErrorCode::InvalidNode);
  if (hosts->empty()) return bad_option("Hostlist is empty!", 1);
  return text::compress_hostlist(*hosts);
}

OptionValue<std::int32_t> nice_value(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  constexpr std::uint64_t kMost = 2147483645;  // Slurm's NICE_OFFSET - 3
  const auto value = text::parse_decimal(text);
  if (!value) return invalid_specification("nice");
  if (*value > kMost) return bad_option(fmt::format("Nice value out of range (+/- {}). Value is {}", kMost, *value));
  const auto amount = static_cast<std::int32_t>(*value);
  return negative ? -amount : amount;
}

namespace {

struct LimitName {
  const char* name;
  int resource;
};
// Slurm's names; the numbers are Linux's.
constexpr LimitName kLimits[] = {
    {"CPU", RLIMIT_CPU},         {"FSIZE", RLIMIT_FSIZE}, {"DATA", RLIMIT_DATA},   {"STACK", RLIMIT_STACK},
    {"CORE", RLIMIT_CORE},       {"RSS", RLIMIT_RSS},     {"NPROC", RLIMIT_NPROC}, {"NOFILE", RLIMIT_NOFILE},
    {"MEMLOCK", RLIMIT_MEMLOCK}, {"AS", RLIMIT_AS},
};

model::ResourceLimit current_limit(int resource) {
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  return {resource, limit.rlim_cur, limit.rlim_max};
}

}  // namespace

std::vector<model::ResourceLimit> resource_limits(const config::CommandDefaults& site) {
  const auto names = [](const std::vector<std::string>& list, std::string_view name) {
    return std::ranges::any_of(list, [&](const std::string& word) { return word == "ALL" || word == name; });
  };
  std::vector<model::ResourceLimit> limits;
  for (const LimitName& known : kLimits) {
    const bool wanted = site.limits_except.empty() ? names(site.limits, known.name) : !names(site.limits_except, known.name);
    if (wanted) limits.push_back(current_limit(known.resource));
  }
  return limits;
}

OptionValue<std::vector<model::ResourceLimit>> resource_limits(std::string_view names) {
  std::vector<model::ResourceLimit> limits;
  if (text::equal_ignoring_case(names, "NONE")) return limits;
  if (names.empty() || text::equal_ignoring_case(names, "ALL")) {
    for (const LimitName& known : kLimits) limits.push_back(current_limit(known.resource));
    return limits;
  }
  for (std::string_view word : text::split(names, ',')) {
    if (text::starts_with_ignoring_case(word, "RLIMIT_")) word.remove_prefix(7);
    const auto found = std::ranges::find_if(
        kLimits, [&](const LimitName& known) { return text::equal_ignoring_case(known.name, word); });
    if (found == std::end(kLimits)) {
      return bad_option(fmt::format("Bad rlimit name: {}\n--propagate={} is not valid.", word, names), 1);
    }
    limits.push_back(current_limit(found->resource));
  }
  return limits;
}

}  // namespace spur::cli
