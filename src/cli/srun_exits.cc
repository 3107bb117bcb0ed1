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
  if (status != 0) bad_.insert(exit.rank);
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

std::vector<std::string> TaskExits::states(std::uint32_t tasks) const {
  IndexSet running, abnormal = bad_, exited = ended_;
  if (tasks > 0) running.insert_range(0, tasks - 1);
  running.erase_all(ended_);
  exited.erase_all(bad_);
  std::vector<std::string> out;
  const auto tell = [&](const IndexSet& ranks, std::string_view how) {
    if (!ranks.empty())
      out.push_back(fmt::format("task{} {}: {}", ranks.size() == 1 ? "" : "s", plain_ranges(ranks), how));
  };
  tell(running, "running");
  tell(abnormal, "exited abnormally");
  tell(exited, "exited");
  return out;
}

void TaskExits::report(Context& context) {
  const auto reduced = context.env("SLURM_SRUN_REDUCE_TASK_EXIT_MSG");
  const bool once = reduced && !reduced->empty() && *reduced != "0";
  for (const auto& [key, ranks] : unreported_)
    if (told_.insert(key.second).second || !once)
      context.error("{}: task{} {}: {}", key.first, ranks.size() > 1 ? "s" : "", plain_ranges(ranks), key.second);
  unreported_.clear();
}

}  // namespace spur::cli
