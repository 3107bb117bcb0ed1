// SPDX-License-Identifier: Apache-2.0
#include "cli/srun_exits.h"

#include <algorithm>
#include <csignal>

#include "cli/display.h"
#include "text/signal_name.h"

namespace spur::cli {

void TaskExits::add(const wire::StepEvents::Exit& exit) {
  ended_.insert(exit.rank);
  const int status = exit.signal != 0 ? 128 + static_cast<int>(exit.signal) : static_cast<int>(exit.code);
  status_ = std::max(status_, status);
  killed_ = killed_ || exit.signal == SIGKILL || exit.signal == SIGTERM;
  if (status == 0 && !exit.out_of_memory) return;
  std::string what;
  if (exit.out_of_memory) {
    what = "Out Of Memory";
  } else if (exit.signal != 0) {
    what = text::signal_words(static_cast<int>(exit.signal)) + (exit.core_dumped ? " (core dumped)" : "");
  } else {
    what = fmt::format("Exited with exit code {}", exit.code);
  }
  unreported_[{exit.node, what}].insert(exit.rank);
}

std::string TaskExits::running(std::uint32_t tasks) const {
  IndexSet ranks;
  if (tasks > 0) ranks.insert_range(0, tasks - 1);
  ranks.erase_all(ended_);
  return fmt::format("task{} {}: running", ranks.size() == 1 ? "" : "s", plain_ranges(ranks));
}

void TaskExits::report(Context& context) {
  for (const auto& [key, ranks] : unreported_)
    context.error("{}: task{} {}: {}", key.first, ranks.size() > 1 ? "s" : "", plain_ranges(ranks), key.second);
  unreported_.clear();
}

}  // namespace spur::cli
