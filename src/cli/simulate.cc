// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "text/printable.h"

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
      {"default", "Spur's planner as the controller runs it", std::nullopt, {}},
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

}  // namespace

const Policy* find_policy(Context& context, const std::string& name) {
  const auto found = std::ranges::find_if(policies(), [&](const Policy& policy) { return policy.name == name; });
  if (found != policies().end()) return &*found;
  context.error("\"{}\" is no policy; \"--policy help\" lists them", text::shown(name));
  return nullptr;
}

std::string policy_help() {
  std::string help;
  for (const Policy& policy : policies()) help += fmt::format("{:<14} {}\n", policy.name, policy.help);
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
