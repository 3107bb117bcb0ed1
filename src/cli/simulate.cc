// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "text/decimal.h"
#include "text/printable.h"
#include "text/time_limit.h"

namespace spur::cli {
namespace {

constexpr std::uint32_t kAll = std::numeric_limits<std::uint32_t>::max();
using Order = replay::ReferencePolicy::Order;

sched::Params promises(std::uint32_t count) {
  sched::Params params;
  params.promises = count;
  params.patience = Duration{0};
  params.backfill = model::BackfillOrder::Priority;
  return params;
}

const std::vector<Policy>& policies() {
  static const std::vector<Policy> all = {
      {"default", "Spur's planner as the controller runs it", std::nullopt, {.as_configured = true}},
      {"conservative", "the planner, with a planned start for every job", std::nullopt, promises(kAll)},
      {"one-promise", "the planner, with a planned start for the first job only", std::nullopt, promises(1)},
      {"fcfs", "textbook: jobs start in the order they came", replay::ReferencePolicy{.backfill = false}, {}},
      {"easy",
       "textbook: others may pass the first job that waits, if they do not delay it",
       replay::ReferencePolicy{},
       {}},
      {"easy-sjf",
       "textbook: as easy, the shortest of the others first",
       replay::ReferencePolicy{.backfill_order = Order::Shortest},
       {}},
      {"easy-smallest",
       "textbook: as easy, the smallest of the others (processors times limit) first",
       replay::ReferencePolicy{.backfill_order = Order::Smallest},
       {}},
      {"patient",
       "textbook: as easy-smallest, with more promises for jobs that have waited for two days",
       replay::ReferencePolicy{.backfill_order = Order::Smallest, .promises = 4, .patience = hours(48)},
       {}},
      {"sjf",
       "textbook: the shortest job is the first, others may pass it as in easy",
       replay::ReferencePolicy{.queue = Order::Shortest, .backfill_order = Order::Shortest},
       {}},
  };
  return all;
}

// One setting of the planner, named as in spur.conf. False: there is none like it.
bool set_parameter(sched::Params& params, std::string_view key, std::string_view value) {
  if (key == "promised_jobs") {
    const auto count = text::parse_decimal32(value);
    if (count) params.promises = *count;
    return count.has_value();
  }
  if (key == "promise_after") {
    const auto span = text::parse_time_seconds(value);
    if (!span || !*span) return false;
    params.patience = **span;
    return true;
  }
  if (key != "backfill_order" || (value != "smallest" && value != "priority")) return false;
  params.backfill = value == "smallest" ? model::BackfillOrder::Smallest : model::BackfillOrder::Priority;
  return true;
}

}  // namespace

sched::Params Policy::params_for(const model::ClusterConfig* config) const {
  sched::Params made = params;
  if (config && made.as_configured) {
    made = sched::settled(made, *config);
    made.forecasts = 0;  // nobody reads them
  }
  made.as_configured = false;
  if (settings) settings(made);
  return made;
}

std::optional<Policy> find_policy(Context& context, const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  const auto found = std::ranges::find_if(policies(), [&](const Policy& policy) { return policy.name == name; });
  if (found == policies().end()) {
    context.error("\"{}\" is no policy; \"--policy help\" lists them", text::shown(name));
    return std::nullopt;
  }
  Policy policy = *found;
  if (name.size() == text.size()) return policy;
  if (policy.reference) {
    context.error("policy {} has no settings", name);
    return std::nullopt;
  }
  policy.name = text;
  std::vector<std::pair<std::string, std::string>> settings;
  for (std::size_t at = name.size(); at < text.size();) {
    const std::size_t end = std::min(text.find(',', ++at), text.size());
    const std::string setting = text.substr(at, end - at);
    const std::size_t equals = std::min(setting.find('='), setting.size());
    const std::string value = equals < setting.size() ? setting.substr(equals + 1) : "";
    sched::Params tried;
    if (!set_parameter(tried, setting.substr(0, equals), value)) {
      context.error("\"{}\" is no setting of a policy; \"--policy help\" lists them", text::shown(setting));
      return std::nullopt;
    }
    settings.emplace_back(setting.substr(0, equals), value);
    at = end;
  }
  policy.settings = [settings = std::move(settings)](sched::Params& params) {
    for (const auto& [key, value] : settings) set_parameter(params, key, value);
  };
  return policy;
}

std::string policy_help() {
  std::string help;
  for (const Policy& policy : policies()) help += fmt::format("{:<14} {}\n", policy.name, policy.help);
  help +=
      "The planner takes settings: default:promised_jobs=8,promise_after=1-0,backfill_order=smallest|priority\n"
      "They mean what they mean in spur.conf.\n";
  return help;
}

ProgressLine::ProgressLine(Context& context)
    : context_(context), terminal_(context.err.descriptor() >= 0 && ::isatty(context.err.descriptor()) == 1) {}

ProgressLine::~ProgressLine() {
  if (shown_) context_.err.write("\r\033[K");
}

replay::Progress ProgressLine::callback() {
  if (!terminal_) return {};
  return [this](double share) { show(share); };
}

void ProgressLine::show(double share) {
  const int percent = std::clamp(static_cast<int>(share * 100), 0, 100);
  if (percent == last_) return;
  last_ = percent;
  shown_ = true;
  constexpr std::size_t kWidth = 40;
  const std::size_t full = kWidth * static_cast<std::size_t>(percent) / 100;
  context_.err.print("\r[{}{}] {:3} %", std::string(full, '#'), std::string(kWidth - full, '.'), percent);
}

bool write_picture(Context& context, const std::string& path, const std::string& svg) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool ok = descriptor >= 0;
  for (std::size_t at = 0; ok && at < svg.size();) {
    const ssize_t wrote = ::write(descriptor, svg.data() + at, svg.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    ok = wrote > 0;
    at += ok ? static_cast<std::size_t>(wrote) : 0;
  }
  const int why = errno;
  if (descriptor >= 0 && ::close(descriptor) != 0) ok = false;
  if (!ok) context.error("{}: {}", text::shown(path), std::strerror(why));
  return ok;
}

void report_broken(Context& context, const std::string& file, std::size_t lines, std::size_t first) {
  if (lines == 0) return;
  context.info("{}: {} line{} no sense (the first is line {}) and {} left out", text::shown(file), lines,
               lines == 1 ? " makes" : "s make", first, lines == 1 ? "is" : "are");
}

}  // namespace spur::cli
