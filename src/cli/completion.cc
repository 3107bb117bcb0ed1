// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "cli/display.h"
#include "cli/users.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::cli {
namespace {

constexpr std::size_t kMostJobs = 500;

std::set<std::string> jobs(Context& context) {
  const auto controller = context.controller();
  if (!controller) return {};
  wire::JobFilter filter;
  if (!context.is_root) filter.users = {Uid(::geteuid())};
  const auto table = (*controller)->jobs(filter);
  std::set<std::string> names;
  if (!table) return names;
  for (auto job = table->jobs.rbegin(); job != table->jobs.rend() && names.size() < kMostJobs; ++job)
    names.insert((*job)->array_job ? fmt::format("{}", (*job)->array_job.value) : model::display_id(**job));
  return names;
}

std::set<std::string> of_cluster(Context& context, bool nodes) {
  const auto controller = context.controller();
  if (!controller) return {};
  const auto table = (*controller)->cluster();
  std::set<std::string> names;
  if (!table) return names;
  if (nodes)
    for (const model::NodePtr& node : table->nodes) names.insert(node->name);
  else
    for (const model::Partition& partition : table->partitions)
      if (context.is_root || is_visible(partition)) names.insert(partition.config.name);
  return names;
}

std::set<std::string> of_accounting(Context& context, std::string_view kind) {
  if (!context.connect_accounts) return {};
  const auto accounts = context.connect_accounts();
  if (!accounts) return {};
  const auto records = (*accounts)->records();
  std::set<std::string> names;
  if (!records) return names;
  if (kind == "qos")
    for (const model::Qos& qos : records->qos) names.insert(qos.name);
  else
    for (const model::AccountRecord& account : records->accounts) names.insert(account.name);
  return names;
}

std::set<std::string> users(Context& context) {
  std::set<std::string> names{user_name(Uid(::geteuid()))};
  const auto controller = context.controller();
  if (!controller) return names;
  if (const auto table = (*controller)->jobs({}))
    for (const model::JobPtr& job : table->jobs) names.insert(user_name(job->spec->uid));
  return names;
}

std::set<std::string> job_states() {
  std::set<std::string> names{"all"};
  const std::string valid = model::valid_state_names();
  for (const std::string_view name : text::split(valid, ',')) names.emplace(name);
  return names;
}

std::set<std::string> node_states() {
  return {"alloc", "allocated", "comp",  "completing", "down", "drain",   "drained",  "draining",
          "fail",  "idle",      "maint", "mix",        "mixed", "no_respond", "reserved", "unknown"};
}

}  // namespace

int cmd_complete_values(Context& context) {
  const std::string kind = context.arguments.empty() ? "" : context.arguments.front();
  const std::set<std::string> names = kind == "partitions"                        ? of_cluster(context, false)
                                      : kind == "nodes"                           ? of_cluster(context, true)
                                      : kind == "jobs"                            ? jobs(context)
                                      : kind == "accounts" || kind == "qos"       ? of_accounting(context, kind)
                                      : kind == "users"                           ? users(context)
                                      : kind == "jobstates"                       ? job_states()
                                      : kind == "nodestates"                      ? node_states()
                                                                                  : std::set<std::string>{};
  for (const std::string& name : names) context.out.print("{}\n", text::printable(name));
  return names.empty() ? 1 : 0;
}

int cmd_completion(Context& context, const std::vector<NamedCommand>& commands) {
  if (context.options_asked != nullptr) return 0;
  const std::string shell = context.arguments.size() == 1 ? context.arguments.front() : "";
  std::vector<CompletedCommand> completed;
  for (const NamedCommand& command : commands)
    completed.push_back({command, options_of(command), first_words(command, commands)});
  if (shell == "bash") {
    context.out.write(bash_completion(completed));
  } else if (shell == "zsh") {
    context.out.write(zsh_completion(completed));
  } else if (shell == "fish") {
    context.out.write(fish_completion(completed));
  } else {
    context.plain(
        "Usage: spur completion bash|zsh|fish\n"
        "  bash: source <(spur completion bash)              in ~/.bashrc\n"
        "  zsh:  spur completion zsh >\"${{fpath[1]}}/_spur\"     and start a new shell\n"
        "  fish: spur completion fish >~/.config/fish/completions/spur.fish");
    return 1;
  }
  return 0;
}

}  // namespace spur::cli
