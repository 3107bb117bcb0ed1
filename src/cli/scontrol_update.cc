// SPDX-License-Identifier: Apache-2.0
// scontrol update: which entity, then its keys. Keys are tables: name, fewest letters, and how the value changes the
// request. All words are read before anything is sent; one that cannot be meant stops the whole.
#include <algorithm>
#include <optional>

#include "cli/display.h"
#include "cli/job_option_setters.h"
#include "cli/job_option_values.h"
#include "cli/job_target.h"
#include "cli/scontrol.h"
#include "text/decimal.h"
#include "text/hostlist.h"
#include "text/memory_size.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using Value = std::string_view;

// A change of a job on its way: fields of the specification and their names on the wire.
struct JobChange {
  JobRequest request;
  std::vector<std::string> changed;
  std::optional<std::int64_t> add_minutes;  // TimeLimit=+10
};
// Why a value cannot be meant: a sentence, or an error that Slurm reports as the controller's ("... for job 5").
struct Refusal {
  std::string sentence;
  bool plain = false;  // without "scontrol: error: " in front
  std::optional<ErrorCode> code;
};
using Complaint = std::optional<Refusal>;

void mark(JobChange& change, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (std::ranges::find(change.changed, name) == change.changed.end()) change.changed.emplace_back(name);
}

Complaint invalid(std::string_view key, Value value) {
  return Refusal{fmt::format("Invalid {} value: {}", key, value), false, {}};
}
Complaint sentence(std::string text) {
  return Refusal{std::move(text), false, {}};
}

// Uses the setter of the option that means the same.
Complaint by_option(JobChange& change, OptionStatus status, std::initializer_list<const char*> names,
                    std::string_view key, Value value) {
  if (!status) {
    const std::string& before = status.error().before;
    return before.empty() ? invalid(key, value) : Complaint(Refusal{before, true, {}});
  }
  mark(change, names);
  return std::nullopt;
}
// The same for values that Slurm sends on unread: what is wrong with them is told as the controller would.
Complaint by_option(JobChange& change, OptionStatus status, std::initializer_list<const char*> names,
                    ErrorCode code) {
  if (!status) return Refusal{{}, true, code};
  mark(change, names);
  return std::nullopt;
}

namespace set = job_setters;

Complaint time_limit(JobChange& c, Value v) {
  const bool relative = v.starts_with('+') || v.starts_with('-');
  const auto limit = text::parse_time_limit(relative && v != "-1" ? v.substr(1) : v);
  if (!limit || (relative && v != "-1" && !limit->is_finite())) return sentence("Invalid TimeLimit value");
  if (relative && v != "-1") {
    c.add_minutes = (v.front() == '-' ? -1 : 1) * static_cast<std::int64_t>(limit->minutes_value());
  } else {
    c.request.spec.time_limit = *limit;
  }
  mark(c, {"time_limit"});
  return std::nullopt;
}
Complaint time_min(JobChange& c, Value v) {
  const auto limit = text::parse_time_limit(v);
  if (!limit) return sentence("Invalid TimeMin value");
  c.request.spec.time_min = *limit;
  mark(c, {"time_min"});
  return std::nullopt;
}
Complaint priority(JobChange& c, Value v) {
  return by_option(c, set::set_priority(c.request, v), {"priority"}, "Priority", v);
}
Complaint nice(JobChange& c, Value v) {
  return by_option(c, set::set_nice(c.request, v), {"nice"}, "Nice", v);
}
Complaint partition(JobChange& c, Value v) {
  return by_option(c, set::set_partition(c.request, v), {"partitions"}, "Partition", v);
}
Complaint num_nodes(JobChange& c, Value v) {
  if (!set::set_nodes(c.request, v))
    return sentence(fmt::format("Invalid numeric value \"{}\" for requested node count.", v));
  mark(c, {"min_nodes"});
  if (v.find('-') != Value::npos) mark(c, {"max_nodes"});  // a number alone leaves the most that the job may have
  mark(c, {"nodes_given"});
  return std::nullopt;
}
Complaint num_tasks(JobChange& c, Value v) {
  return by_option(c, set::set_ntasks(c.request, v), {"tasks"}, "NumTasks", v);
}
Complaint cpus_per_task(JobChange& c, Value v) {
  return by_option(c, set::set_cpus_per_task(c.request, v), {"cpus_per_task", "cpus_per_task_given"}, "CPUsPerTask",
                   v);
}
Complaint min_cpus_node(JobChange& c, Value v) {
  return by_option(c, set::set_mincpus(c.request, v), {"min_cpus_per_node"}, "MinCPUsNode", v);
}
Complaint min_memory_cpu(JobChange& c, Value v) {
  return by_option(c, set::set_mem_per_cpu(c.request, v), {"memory_per_cpu_mib", "memory_per_node_mib"},
                   "MinMemoryCPU", v);
}
Complaint min_memory_node(JobChange& c, Value v) {
  return by_option(c, set::set_mem(c.request, v), {"memory_per_cpu_mib", "memory_per_node_mib"}, "MinMemoryNode", v);
}
Complaint min_tmp_disk(JobChange& c, Value v) {
  return by_option(c, set::set_tmp(c.request, v), {"tmp_disk_mib"}, "MinTmpDiskNode", v);
}
Complaint start_time(JobChange& c, Value v) {
  return by_option(c, set::set_begin(c.request, v), {"begin_us"}, "StartTime", v);
}
Complaint deadline(JobChange& c, Value v) {
  return by_option(c, set::set_deadline(c.request, v), {"deadline_us"}, "Deadline", v);
}
Complaint dependency(JobChange& c, Value v) {
  return by_option(c, set::set_dependency(c.request, v), {"dependencies", "dependencies_any"},
                   ErrorCode::InvalidDependency);
}
Complaint required_nodes(JobChange& c, Value v) {
  return by_option(c, set::set_nodelist(c.request, v), {"required_nodes"}, ErrorCode::InvalidNode);
}
Complaint excluded_nodes(JobChange& c, Value v) {
  return by_option(c, set::set_exclude(c.request, v), {"excluded_nodes"}, ErrorCode::InvalidNode);
}
Complaint licenses_key(JobChange& c, Value v) {
  return by_option(c, set::set_licenses(c.request, v), {"licenses"}, ErrorCode::InvalidLicense);
}
Complaint gres_key(JobChange& c, Value v) {
  return by_option(c, set::set_gres(c.request, v), {"gres"}, ErrorCode::InvalidGres);
}
Complaint switches(JobChange& c, Value v) {
  return by_option(c, set::set_switches(c.request, v), {"switches", "switch_wait_seconds"}, "Switches", v);
}
Complaint mail_type(JobChange& c, Value v) {
  return by_option(c, set::set_mail_type(c.request, v), {"mail_types"}, "MailType", v);
}
Complaint std_out(JobChange& c, Value v) {
  return by_option(c, set::set_output(c.request, v), {"std_out"}, "StdOut", v);
}
Complaint std_err(JobChange& c, Value v) {
  return by_option(c, set::set_error(c.request, v), {"std_err"}, "StdErr", v);
}
Complaint std_in(JobChange& c, Value v) {
  return by_option(c, set::set_input(c.request, v), {"std_in"}, "StdIn", v);
}

template <std::string model::JobSpec::* Field>
void set_field(JobChange& c, Value v, const char* name) {
  c.request.spec.*Field = std::string(v);
  mark(c, {name});
}
using Spec = model::JobSpec;
Complaint name(JobChange& c, Value v) {
  return set_field<&Spec::name>(c, v, "name"), std::nullopt;
}
Complaint comment(JobChange& c, Value v) {
  return set_field<&Spec::comment>(c, v, "comment"), std::nullopt;
}
Complaint admin_comment(JobChange& c, Value v) {
  return set_field<&Spec::admin_comment>(c, v, "admin_comment"), std::nullopt;
}
Complaint extra(JobChange& c, Value v) {
  return set_field<&Spec::extra>(c, v, "extra"), std::nullopt;
}
Complaint account(JobChange& c, Value v) {
  return set_field<&Spec::account>(c, v, "account"), std::nullopt;
}
Complaint qos(JobChange& c, Value v) {
  return set_field<&Spec::qos>(c, v, "qos"), std::nullopt;
}
Complaint wckey(JobChange& c, Value v) {
  return set_field<&Spec::wckey>(c, v, "wckey"), std::nullopt;
}
Complaint features(JobChange& c, Value v) {
  return set_field<&Spec::features>(c, v, "features"), std::nullopt;
}
Complaint reservation(JobChange& c, Value v) {
  return set_field<&Spec::reservation>(c, v, "reservation"), std::nullopt;
}
Complaint work_dir(JobChange& c, Value v) {
  return set_field<&Spec::work_dir>(c, v, "work_dir"), std::nullopt;
}
Complaint mail_user(JobChange& c, Value v) {
  return set_field<&Spec::mail_user>(c, v, "mail_user"), std::nullopt;
}

std::optional<bool> yes_or_no(Value v) {
  if (v == "1" || text::equal_ignoring_case(v, "yes")) return true;
  if (v == "0" || text::equal_ignoring_case(v, "no")) return false;
  return std::nullopt;
}
Complaint contiguous(JobChange& c, Value v) {
  const auto value = yes_or_no(v);
  if (!value) return invalid("Contiguous", v);
  c.request.spec.contiguous = *value;
  mark(c, {"contiguous"});
  return std::nullopt;
}
Complaint oversubscribe(JobChange& c, Value v) {
  const auto value = yes_or_no(v);
  if (!value) return invalid("OverSubscribe", v);
  c.request.spec.oversubscribe = *value;
  mark(c, {"oversubscribe"});
  return std::nullopt;
}
Complaint requeue(JobChange& c, Value v) {
  if (v != "0" && v != "1") return invalid("Requeue", v);
  c.request.spec.requeue = v == "1";
  mark(c, {"requeue"});
  return std::nullopt;
}
Complaint array_throttle(JobChange& c, Value v) {
  const auto value = text::parse_decimal32(v);
  if (!value) return sentence("Invalid ArrayTaskThrottle value");
  c.request.spec.array.emplace().max_running = *value;
  mark(c, {"array"});
  return std::nullopt;
}

struct JobKey {
  const char* key;
  std::size_t letters;
  Complaint (*set)(JobChange& change, Value value);
};
constexpr JobKey kJobKeys[] = {
    {"Account", 1, account},
    {"AdminComment", 3, admin_comment},
    {"ArrayTaskThrottle", 10, array_throttle},
    {"Comment", 3, comment},
    {"Contiguous", 3, contiguous},
    {"CPUsPerTask", 9, cpus_per_task},
    {"Deadline", 3, deadline},
    {"Dependency", 1, dependency},
    {"EligibleTime", 2, start_time},
    {"ExcNodeList", 3, excluded_nodes},
    {"Extra", 3, extra},
    {"Features", 1, features},
    {"Gres", 2, gres_key},
    {"Licenses", 1, licenses_key},
    {"MailType", 5, mail_type},
    {"MailUser", 5, mail_user},
    {"MinCPUsNode", 4, min_cpus_node},
    {"MinMemoryCPU", 12, min_memory_cpu},
    {"MinMemoryNode", 10, min_memory_node},
    {"MinTmpDiskNode", 5, min_tmp_disk},
    {"Name", 2, name},
    {"JobName", 4, name},
    {"Nice", 2, nice},
    {"NumNodes", 4, num_nodes},
    {"NumTasks", 4, num_tasks},
    {"OverSubscribe", 1, oversubscribe},
    {"Shared", 2, oversubscribe},
    {"Partition", 2, partition},
    {"Priority", 2, priority},
    {"QOS", 1, qos},
    {"ReqNodeList", 4, required_nodes},
    {"ReqNodes", 8, num_nodes},
    {"Requeue", 4, requeue},
    {"ReservationName", 3, reservation},
    {"StartTime", 2, start_time},
    {"StdErr", 4, std_err},
    {"StdIn", 4, std_in},
    {"StdOut", 4, std_out},
    {"Switches", 5, switches},
    {"TimeLimit", 5, time_limit},
    {"TimeMin", 5, time_min},
    {"WCKey", 1, wckey},
    {"WorkDir", 3, work_dir},
};

// "TimeLimit=+10" needs to know the limit in force.
Status make_absolute(Controller& controller, const state::JobTarget& target, JobChange& change) {
  wire::JobFilter filter;
  filter.jobs = {target};
  filter.all_states = true;
  SPUR_ASSIGN(const auto table, controller.jobs(filter));
  if (table.jobs.empty()) return fail(ErrorCode::InvalidJobId);
  const TimeLimit limit = table.jobs.front()->time_limit;
  if (!limit.is_finite()) return fail(ErrorCode::InvalidTimeLimit);
  const std::int64_t minutes = static_cast<std::int64_t>(limit.minutes_value()) + *change.add_minutes;
  if (minutes <= 0 || minutes > text::kMaxLimitMinutes) return fail(ErrorCode::InvalidTimeLimit);
  change.request.spec.time_limit = TimeLimit::of_minutes(static_cast<std::uint32_t>(minutes));
  return {};
}

// The jobs that JobId= or JobName= name.
std::vector<std::pair<std::string, std::optional<state::JobTarget>>> jobs_to_change(Scontrol& run,
                                                                                    Controller& controller,
                                                                                    const KeyValue& entity) {
  std::vector<std::pair<std::string, std::optional<state::JobTarget>>> jobs;
  if (abbreviates(entity.key, "JobId", 4)) {
    for (const std::string& id : split_job_list(entity.value)) jobs.emplace_back(id, parse_job_target(id));
    return jobs;
  }
  wire::JobFilter filter;
  filter.names = {std::string(entity.value)};
  const auto table = controller.jobs(filter);
  for (std::size_t i = 0; table && i < table->jobs.size(); ++i) {
    const model::Job& job = *table->jobs[i];
    jobs.emplace_back(model::display_id(job), state::JobTarget{job.array_job ? job.array_job : job.id, std::nullopt});
  }
  if (!table || jobs.empty()) run.fail("scontrol: error: No jobs with name '{}'", entity.value);
  return jobs;
}

void refuse_all(Scontrol& run, const KeyValue& entity, std::string_view why) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  for (const auto& named : jobs_to_change(run, *controller, entity)) run.fail("{}", refusal_of(named.first, why));
}

void update_job(Scontrol& run, const KeyValue& entity, const Words& pairs) {
  JobChange change;
  change.request.now = run.context.now();
  change.request.directory.assign(1, '/');  // g++-12 takes the literal for an overlapping copy
  for (const std::string& word : pairs) {
    const KeyValue pair = split_pair(word);
    const auto key = std::ranges::find_if(
        kJobKeys, [&](const JobKey& known) { return abbreviates(pair.key, known.key, known.letters); });
    if (key == std::end(kJobKeys)) {
      run.fail("{}: {}", pair.has_value ? "Update of this parameter is not supported" : "Invalid input", word);
      return run.fail("Request aborted");
    }
    if (!pair.has_value && key->set != nice) {
      run.fail("Invalid input: {}", word);
      return run.fail("Request aborted");
    }
    change.request.begin_source();
    if (const Complaint complaint = key->set(change, pair.value)) {
      if (complaint->code) return refuse_all(run, entity, slurm_message(*complaint->code));
      return run.fail("{}{}", complaint->plain ? "" : "scontrol: error: ", complaint->sentence);
    }
  }
  if (change.changed.empty()) return run.fail("No changes specified");
  change.request.finish();
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  for (const auto& [shown, target] : jobs_to_change(run, *controller, entity)) {
    Status done = target ? Status() : Status(fail(ErrorCode::InvalidJobId));
    if (done && change.add_minutes) done = make_absolute(*controller, *target, change);
    if (done) done = controller->update_job(*target, change.request.spec, change.changed);
    if (!done) run.fail("{}", refusal_of(shown, words(done.error())));
  }
}

struct StateWord {
  const char* word;
  std::size_t letters;
  state::UpdateNode::Action action;
};
constexpr StateWord kStates[] = {
    {"DOWN", 2, state::UpdateNode::Action::Down},       {"DRAIN", 2, state::UpdateNode::Action::Drain},
    {"FAIL", 2, state::UpdateNode::Action::Fail},       {"FUTURE", 2, state::UpdateNode::Action::Future},
    {"RESUME", 3, state::UpdateNode::Action::Resume},
    {"UNDRAIN", 3, state::UpdateNode::Action::Undrain}, {"IDLE", 2, state::UpdateNode::Action::Resume},
    {"CANCEL_REBOOT", 3, state::UpdateNode::Action::CancelReboot},
    {"POWER_DOWN", 7, state::UpdateNode::Action::PowerDown},
    {"POWER_DOWN_ASAP", 12, state::UpdateNode::Action::PowerDownAsap},
    {"POWER_DOWN_FORCE", 12, state::UpdateNode::Action::PowerDownForce},
    {"POWER_UP", 7, state::UpdateNode::Action::PowerUp},
};

// False after the message: the request is not sent.
bool take_node_key(Scontrol& run, const std::string& word, state::UpdateNode& update) {
  const KeyValue pair = split_pair(word);
  const std::string value(pair.value);
  if (!pair.has_value) {
    run.fail("Invalid input: {}", word);
    run.fail("Request aborted");
    return false;
  }
  if (abbreviates(pair.key, "State", 3)) {
    const auto state = std::ranges::find_if(
        kStates, [&](const StateWord& known) { return abbreviates(value, known.word, known.letters); });
    if (state == std::end(kStates)) {
      run.fail("Invalid input: {}", word);
      run.fail("Request aborted");
      run.fail("Valid states are: DOWN DRAIN FAIL FUTURE RESUME POWER_DOWN POWER_UP UNDRAIN");
      run.fail("Not all states are valid given a node's prior state");
      return false;
    }
    update.action = state->action;
  } else if (abbreviates(pair.key, "Reason", 1)) {
    update.reason = value;
  } else if (abbreviates(pair.key, "Weight", 1)) {
    const auto weight = text::parse_decimal32(value);
    if (!weight) {
      run.fail("scontrol: error: Weight value ({}) is not a valid number", value);
      return false;
    }
    update.weight = *weight;
  } else if (abbreviates(pair.key, "Comment", 3)) {
    update.comment = value;
  } else if (abbreviates(pair.key, "Extra", 3)) {
    update.extra = value;
  } else if (abbreviates(pair.key, "Features", 1) || abbreviates(pair.key, "AvailableFeatures", 3)) {
    update.features = value;
  } else if (abbreviates(pair.key, "ActiveFeatures", 3)) {
    update.active_features = value;
  } else if (abbreviates(pair.key, "InstanceId", 9)) {
    update.instance_id = value;
  } else if (abbreviates(pair.key, "InstanceType", 9)) {
    update.instance_type = value;
  } else {
    run.fail("Update of this parameter is not supported: {}", word);
    run.fail("Request aborted");
    return false;
  }
  return true;
}

void update_node(Scontrol& run, const KeyValue& entity, const Words& pairs) {
  state::UpdateNode update;
  const auto names = text::expand_hostlist(entity.value);
  if (!names || names->empty()) return run.fail("slurm_update error: {}", slurm_message(ErrorCode::InvalidNode));
  update.nodes = *names;
  for (const std::string& word : pairs)
    if (!take_node_key(run, word, update)) return;
  using enum state::UpdateNode::Action;
  const bool needs_reason = update.action == Down || update.action == Drain || update.action == Fail;
  if (needs_reason && update.reason.value_or("").empty())
    return run.fail("You must specify a reason when DOWNING or DRAINING a node. Request denied");
  const bool any =
      update.action != None || update.reason || update.weight || update.comment || update.extra || update.features ||
      update.active_features || update.instance_id || update.instance_type;
  if (!any) return run.fail("No changes specified");
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  if (const Status done = controller->update_node(update); !done) {
    run.fail("slurm_update error: {}", words_of_update(done.error()));
  }
}

}  // namespace

std::string words_of_update(const Error& error) {
  if (error.code == ErrorCode::PermissionDenied) return std::string(slurm_message(ErrorCode::InvalidUser));
  return words(error);
}

void scontrol_update(Scontrol& run, const Words& given) {
  struct Entity {
    const char* key;
    std::size_t letters;
    void (*update)(Scontrol& run, const KeyValue& entity, const Words& pairs);
  };
  static constexpr Entity kEntities[] = {
      {"JobId", 4, update_job},
      {"JobName", 4, update_job},
      {"NodeName", 5, update_node},
      {"PartitionName", 5, scontrol_update_partition},
      {"ReservationName", 3, scontrol_update_reservation},
      {"StepId", 5, scontrol_update_step},
      {"SlurmctldDebug", 9, nullptr},
      {"SuspendExcNodes", 12, nullptr},
      {"SuspendExcParts", 12, nullptr},
      {"SuspendExcStates", 12, nullptr},
  };
  for (std::size_t i = 0; i < given.size(); ++i) {
    const KeyValue pair = split_pair(given[i]);
    const auto entity = std::ranges::find_if(
        kEntities, [&](const Entity& known) { return abbreviates(pair.key, known.key, known.letters); });
    if (entity == std::end(kEntities)) continue;
    if (entity->update == nullptr) return run.fail("scontrol: error: update of {} is not supported yet", entity->key);
    if (!pair.has_value) {
      run.fail("Invalid input: {}", given[i]);
      return run.fail("Request aborted");
    }
    Words others = given;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    return entity->update(run, pair, others);
  }
  run.fail("No valid entity in update command");
  run.fail(
      "Input line must include \"NodeName\", \"PartitionName\", \"Reservation\", \"JobId\", or \"SlurmctldDebug\"");
}

}  // namespace spur::cli
