// SPDX-License-Identifier: Apache-2.0
// Verbs about the controller itself and about what most clusters do not have: shutdown, setdebug, top, getaddrs,
// token, notify. What needs a part that Spur has not is refused in Slurm's words for a
// cluster without it.
#include <algorithm>
#include <limits>

#include "cli/clusters.h"
#include "cli/display.h"
#include "cli/job_target.h"
#include "cli/scontrol.h"
#include "text/debug_flags.h"
#include "text/decimal.h"
#include "text/hostlist.h"
#include "text/words.h"

namespace spur::cli {
namespace {

// By Slurm's numbers.
constexpr const char* kLevels[] = {"quiet", "fatal",  "error",  "info",   "verbose",
                                   "debug", "debug2", "debug3", "debug4", "debug5"};

// "nodes=n[1-2]".
bool take_nodes(std::string_view word, std::string& nodes) {
  constexpr std::string_view kKey = "nodes=";
  if (word.size() <= kKey.size() || !text::equal_ignoring_case(word.substr(0, kKey.size()), kKey)) return false;
  nodes = word.substr(kKey.size());
  return true;
}

std::string reason_of(const Error& error) {
  return error.code == ErrorCode::PermissionDenied ? "Permission denied" : words(error);
}

}  // namespace

void scontrol_shutdown(Scontrol& run, const Words& words_given) {
  const bool controller_only = !words_given.empty();
  if (controller_only && !text::equal_ignoring_case(words_given[0], "slurmctld") &&
      !text::equal_ignoring_case(words_given[0], "controller"))
    return run.fail("invalid shutdown argument:{}", words_given[0]);
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  if (const Status done = controller->shutdown(!controller_only); !done)
    run.fail("slurm_shutdown error: {}", words_of_update(done.error()));
}

void scontrol_setdebug(Scontrol& run, const Words& words_given) {
  std::string level = words_given[0], nodes;
  if (words_given.size() > 2) return run.fail("too many arguments for keyword:setdebug");
  if (const auto number = text::parse_decimal32(level)) {
    if (*number >= std::size(kLevels)) return run.fail("invalid debug level: {}", level);
    level = kLevels[*number];
  } else if (std::ranges::none_of(kLevels,
                                  [&](const char* known) { return text::equal_ignoring_case(level, known); })) {
    return run.fail("invalid debug level: {}", level);
  }
  if (words_given.size() > 1 && !take_nodes(words_given[1], nodes))
    return run.fail("invalid setdebug argument: {}", words_given[1]);
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  if (const Status done = controller->set_debug(level, nodes); !done)
    run.fail("slurm_set_debug_level error: {}", reason_of(done.error()));
}

void scontrol_setdebugflags(Scontrol& run, const Words& words_given) {
  std::string on, off, nodes;
  for (const std::string& word : words_given) {
    if (take_nodes(word, nodes)) continue;
    if (!word.starts_with('+') && !word.starts_with('-'))
      return run.fail("invalid debug flag: {}", word), run.fail("Usage: setdebugflags [+|-]NAME");
    if (!text::find_debug_flag(word.substr(1)))
      return run.fail("scontrol: error: Invalid DebugFlag: {}", word.substr(1)), run.fail("invalid debug flag: {}", word);
    std::string& list = word[0] == '+' ? on : off;
    list.append(list.empty() ? "" : ",").append(word, 1);
  }
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  if (const Status done = controller->set_debug_flags(on, off, nodes); !done)
    run.fail("slurm_set_debug_flags: {}", reason_of(done.error()));
}

void scontrol_schedloglevel(Scontrol& run, const Words& words_given) {
  const std::string& level = words_given[0];
  const bool on = level == "1" || text::equal_ignoring_case(level, "enable");
  if (!on && level != "0" && !text::equal_ignoring_case(level, "disable"))
    return run.fail("invalid schedlog level: {}", level);
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  if (const Status done = controller->log_scheduling(on); !done)
    run.fail("slurm_set_schedlog_level error: {}", reason_of(done.error()));
}

void scontrol_top(Scontrol& run, const Words& words_given) {
  std::vector<JobId> jobs;
  for (const std::string& word : split_job_list(words_given[0])) {
    const auto number = text::parse_decimal32(word);
    if (!number || *number == 0) return run.fail("Invalid job id specified for job {}", words_given[0]);
    jobs.emplace_back(*number);
  }
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  if (const Status done = controller->top_jobs(jobs); !done)
    run.fail("{} for job {}", words(done.error()), words_given[0]);
}

void scontrol_getaddrs(Scontrol& run, const Words& words_given) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto table = controller->cluster();
  if (!table) return run.fail("slurm_get_node_alias_addrs error: {}", words(table.error()));
  const auto names = text::expand_hostlist(words_given[0]);
  if (!names) return run.fail("Invalid hostlist: {}", words_given[0]);
  for (const std::string& name : *names) {
    const auto found =
        std::ranges::find_if(table->nodes, [&](const model::NodePtr& node) { return node->name == name; });
    if (found == table->nodes.end()) return run.fail("slurm_get_node_alias_addrs error: Invalid node name specified");
    const auto [host, port] = host_and_port((*found)->address);
    if (host.empty()) {
      run.fail("{}: no agent has registered", name);
      continue;
    }
    run.context.out.print("{}: {}:{}\n", name, host, port);
  }
}

void scontrol_token(Scontrol& run, const Words& words_given) {
  std::string user;
  seconds lifespan{0};
  for (const std::string& word : words_given) {
    const KeyValue pair = split_pair(word);
    if (pair.has_value && text::equal_ignoring_case(pair.key, "username")) {
      user = pair.value;
    } else if (pair.has_value && text::equal_ignoring_case(pair.key, "lifespan")) {
      const auto number = text::parse_decimal(pair.value);
      const bool endless = pair.value == "infinite";
      if (!endless && (!number || *number > std::numeric_limits<std::uint32_t>::max()))
        return run.fail("Invalid lifespan: {}", pair.value);
      lifespan = endless ? seconds::max() : seconds(static_cast<std::int64_t>(*number));
    } else {
      return run.fail("Invalid option: `{}`", word);
    }
  }
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto token = controller->token(user, lifespan);
  if (token) return run.context.out.print("SLURM_JWT={}\n", *token);
  // That there are none is nobody's fault; everything else is worth a word.
  if (token.error().code != ErrorCode::RequestDisabled && !token.error().message.empty() && !run.quiet)
    run.context.error("{}", token.error().message);
  run.fail("Error fetching token");
}

// A number as Slurm reads it: what follows the digits, as the step of "5.0", does not count.
void scontrol_notify(Scontrol& run, const Words& words_given) {
  const std::string& who = words_given[0];
  const auto id = text::parse_decimal32(std::string_view(who).substr(0, who.find_first_not_of("0123456789")));
  if (!id || *id == 0) return run.fail("Invalid job_id {}", who);
  std::string message = words_given[1];
  for (std::size_t i = 2; i < words_given.size(); ++i) message.append(" ").append(words_given[i]);
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  if (const Status done = controller->notify_job(JobId{*id}, message); !done)
    run.fail("job notify failure: {}", words_of_update(done.error()));
}

void scontrol_fsdampeningfactor(Scontrol& run, const Words& words_given) {
  const auto factor = text::parse_decimal32(words_given[0]);
  if (!factor || *factor == 0 || *factor > 65535) return run.fail("invalid dampening factor: {}", words_given[0]);
  run.fail("scontrol: error: fsdampeningfactor is not supported: set FairShareDampeningFactor in the configuration");
}

// One cluster: nothing, or its own name, goes back to it.
void scontrol_cluster(Scontrol& run, const Words& words_given) {
  if (words_given.empty()) return;
  Controller* controller = run.controller();
  if (controller != nullptr && !is_this_cluster(run.context, *controller, parse_clusters(words_given[0])))
    run.exit_status = 1;
}

}  // namespace spur::cli
