// SPDX-License-Identifier: Apache-2.0
// scontrol show ENTITY [ID]. What needs no controller (host lists, daemons) does not ask for one: scripts call
// `scontrol show hostnames` inside jobs, by the thousand.
#include <algorithm>

#include "cli/api_documents.h"
#include "cli/display.h"
#include "cli/job_target.h"
#include "cli/options.h"
#include "cli/read_file.h"
#include "cli/scontrol.h"
#include "model/distribution.h"
#include "text/cron.h"
#include "text/hostlist.h"
#include "text/printable.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::cli {
namespace {

// A list as given, or the content of a file (an absolute path) with names on lines or between commas.
Result<std::vector<std::string>> host_names(const std::string& list) {
  if (!list.starts_with('/')) return text::expand_hostlist(list);
  SPUR_ASSIGN(std::string content, read_file(list));
  std::ranges::replace_if(content, [](char c) { return text::is_blank(c); }, ',');
  return text::expand_hostlist(content);
}

// The list to work on: the argument, or the job's own nodes.
std::optional<std::string> list_or_job(Scontrol& run, const std::string& given) {
  if (!given.empty()) return given;
  for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"})
    if (const auto list = run.context.env(name); list && !list->empty()) return std::string(*list);
  run.context.error("host list is empty");
  return std::nullopt;
}

void show_hostnames(Scontrol& run, const std::string& argument) {
  const auto list = list_or_job(run, argument);
  if (!list) return;
  const auto hosts = host_names(*list);
  if (!hosts) return run.fail("Invalid hostlist: {}", *list);
  for (const std::string& host : *hosts) run.context.out.print("{}\n", host);
}

void show_hostlist(Scontrol& run, const std::string& argument, bool sorted) {
  if (argument.empty()) return run.fail("invalid encode argument");
  auto hosts = host_names(argument);
  if (!hosts) return run.fail("Invalid hostlist: {}", argument);
  if (sorted) text::sort_unique_hosts(*hosts);
  run.context.out.print("{}\n", text::compress_hostlist(*hosts));
}

// The times of a job of scrontab, as Slurm writes them.
std::string cron_of(Scontrol& run, const model::Job& job) {
  if (!(job.flags & model::kCronJob)) return {};
  Controller* controller = run.controller();
  if (controller == nullptr) return {};
  const auto entries = controller->cron_jobs();
  if (!entries) return {};
  for (const model::CronEntry& entry : *entries)
    if (entry.job == job.id)
      if (const auto schedule = text::parse_cron(entry.schedule)) return text::cron_text(*schedule);
  return {};
}

void print_jobs(Scontrol& run, const wire::JobTable& table, const state::JobTarget* wanted,
                const std::string& shown) {
  bool any = false;
  for (std::size_t i = 0; i < table.jobs.size(); ++i) {
    const model::Job& job = *table.jobs[i];
    const auto at = [i](const std::vector<Time>& times) { return i < times.size() ? times[i] : Time{}; };
    const ShownPlan plan{at(table.expected_starts), at(table.preemptable),
                         i < table.planned_nodes.size() ? table.planned_nodes[i] : std::string(),
                         cron_of(run, job)};
    if (wanted != nullptr && wanted->tasks) {
      if (job.array_task && !wanted->tasks->contains(*job.array_task)) continue;
      if (job.is_array_rest()) {
        const IndexSet tasks = wanted->tasks->intersect(*job.array_pending);
        for (auto task = tasks.lowest(); task; task = tasks.next_after(*task)) {
          run.context.out.write(job_record(job, table, plan, *task, run.style));
          any = true;
        }
        continue;
      }
      if (!job.array_task) continue;
    }
    run.context.out.write(job_record(job, table, plan, std::nullopt, run.style));
    any = true;
  }
  if (any) return;
  if (wanted == nullptr) {
    if (!run.quiet) run.context.out.write("No jobs in the system\n");
    return;
  }
  run.exit_status = 1;
  if (!run.quiet) run.context.out.print("Job {} not found\n", shown);
}

void print_jobs_document(Scontrol& run, const wire::JobTable& table) {
  std::vector<JobLine> lines;
  for (std::size_t i = 0; i < table.jobs.size(); ++i)
    lines.push_back({.job = table.jobs[i].get(),
                     .table = &table,
                     .expected_start = i < table.expected_starts.size() ? table.expected_starts[i] : Time{},
                     .preemptable = i < table.preemptable.size() ? table.preemptable[i] : Time{},
                     .planned_nodes = i < table.planned_nodes.size() ? &table.planned_nodes[i] : nullptr,
                     .task = std::nullopt});
  run.context.out.write(jobs_document(lines, table, *run.document, run.context));
}

void show_job(Scontrol& run, const std::string& id) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  std::vector<std::string> ids = split_job_list(id);
  if (ids.empty()) ids.emplace_back();
  for (const std::string& one : ids) {
    wire::JobFilter filter;
    filter.all_states = true;
    filter.hide = !run.all && !run.context.is_root && one.empty();
    std::optional<state::JobTarget> target;
    if (!one.empty()) {
      target = parse_job_target(one);
      if (!target) {
        run.fail("scontrol_print_job error: {}", slurm_message(ErrorCode::InvalidJobId));
        continue;
      }
      filter.jobs = {{target->id, std::nullopt, target->het_offset}};
    }
    const auto table = controller->jobs(filter);
    if (!table || (table->unknown_job && target)) {
      run.fail("slurm_load_jobs error: {}",
               table ? std::string(slurm_message(ErrorCode::InvalidJobId)) : words(table.error()));
      continue;
    }
    if (run.document) return print_jobs_document(run, *table);
    print_jobs(run, *table, target ? &*target : nullptr, one);
  }
}

void show_node(Scontrol& run, const std::string& list) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  if (run.future) controller->see_future_nodes();
  const auto table = controller->cluster();
  if (!table) return run.fail("slurm_load_node error: {}", words(table.error()));
  if (table->nodes_denied)
    return run.fail("slurm_load_node error: {}", slurm_message(ErrorCode::PermissionDenied));
  std::vector<const model::Node*> nodes;
  if (list.empty())
    for (const model::NodePtr& node : table->nodes) nodes.push_back(node.get());
  if (!list.empty()) {
    const auto names = text::expand_hostlist(list);
    if (!names) return run.fail("slurm_load_node error: {}", slurm_message(ErrorCode::InvalidNode));
    for (const std::string& name : *names) {
      const auto found =
          std::ranges::find_if(table->nodes, [&](const model::NodePtr& node) { return node->name == name; });
      if (found != table->nodes.end()) {
        nodes.push_back(found->get());
        if (!run.document) run.context.out.write(node_record(**found, *table, run.style));
        continue;
      }
      run.exit_status = 1;
      if (!run.quiet && !run.document) run.context.out.print("Node {} not found\n", name);
    }
  }
  if (run.document) return run.context.out.write(nodes_document(*table, nodes, *run.document, run.context));
  if (!list.empty()) return;
  for (const model::Node* node : nodes) run.context.out.write(node_record(*node, *table, run.style));
  if (nodes.empty() && !run.quiet) run.context.out.write("No nodes in the system\n");
}

void show_partition(Scontrol& run, const std::string& name) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto table = controller->cluster();
  if (!table) return run.fail("slurm_load_partitions error: {}", words(table.error()));
  if (table->partitions_denied)
    return run.fail("slurm_load_partitions error: {}", slurm_message(ErrorCode::PermissionDenied));
  std::vector<const model::Partition*> shown;
  for (const model::Partition& partition : table->partitions) {
    if ((!run.all && !run.context.is_root && !is_visible(partition)) ||
        (!name.empty() && partition.config.name != name))
      continue;
    shown.push_back(&partition);
  }
  if (run.document) {
    if (shown.empty() && !name.empty()) run.exit_status = 1;
    return run.context.out.write(partitions_document(*table, shown, *run.document, run.context));
  }
  for (const model::Partition* partition : shown)
    run.context.out.write(partition_record(*partition, *table, run.style));
  if (!shown.empty()) return;
  if (!name.empty()) run.exit_status = 1;
  if (!run.quiet)
    run.context.out.write(name.empty() ? "No partitions in the system\n"
                                       : fmt::format("Partition {} not found\n", name));
}

void show_config(Scontrol& run) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto config = controller->config();
  if (!config) return run.fail("slurm_load_ctl_conf error: {}", words(config.error()));
  run.context.out.write(config_text(*config, run.context.now()));
  run.context.out.write("\n");
  scontrol_ping(run, {});
}

void show_daemons(Scontrol& run) {
  run.context.out.write("slurmctld slurmd\n");
}

// "LicenseName=fluent\n    Total=30 Used=4 Free=26 Reserved=0 Remote=no"; what is in use is counted over the jobs.
void show_licenses(Scontrol& run, const std::string& name) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto config = controller->config();
  if (!config) return run.fail("slurm_load_licenses error: {}", words(config.error()));
  wire::JobFilter filter;
  filter.states = {
      {model::JobState::Running, 0}, {model::JobState::Suspended, 0}, {std::nullopt, model::kCompleting}};
  const auto table = controller->jobs(filter);
  if (!table) return run.fail("slurm_load_licenses error: {}", words(table.error()));
  std::vector<LicenseOf> shown;
  for (const auto& license : config->licenses) {
    if (!name.empty() && license.name != name) continue;
    std::uint64_t used = 0;
    for (const model::JobPtr& job : table->jobs)
      for (const model::LicenseRequest& taken : job->spec->licenses)
        if (taken.name == license.name) used += taken.count;
    shown.push_back({license.name, license.count, used, 0});
  }
  if (run.document)
    return run.context.out.write(
        licenses_document(shown, table->cluster_name, table->as_of, *run.document, run.context));
  for (const LicenseOf& license : shown)
    run.context.out.print("LicenseName={}{}Total={} Used={} Free={} Reserved=0 Remote=no\n",
                          text::printable(license.name), run.style.one_line ? " " : "\n    ", license.total,
                          license.used, license.total - std::min(license.used, license.total));
  if (config->licenses.empty() && !run.quiet) run.context.out.write("No licenses configured in Slurm.\n");
}

// The nodes of a host.
void show_aliases(Scontrol& run, const std::string& host) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  if (run.future) controller->see_future_nodes();
  const auto table = controller->cluster();
  if (!table) return run.fail("slurm_load_node error: {}", words(table.error()));
  if (table->nodes_denied)
    return run.fail("slurm_load_node error: {}", slurm_message(ErrorCode::PermissionDenied));
  std::string names;
  for (const model::NodePtr& node : table->nodes)
    if (node->hostname == host) names.append(names.empty() ? "" : " ").append(node->name);
  if (!names.empty()) run.context.out.print("{}\n", names);
}

enum class Entity {
  Slurmd,
  Aliases,
  Config,
  Daemons,
  Hostlist,
  HostlistSorted,
  Hostnames,
  Job,
  Licenses,
  Node,
  Partition,
  Reservation,
  Step,
  Topology,
  Topoconf,
  AssocMgr,
  Nothing  // what Spur has none of, as most Slurm clusters
};
struct EntityWord {
  const char* name;
  std::size_t letters;
  Entity entity;
};
constexpr EntityWord kEntities[] = {
    {"aliases", 1, Entity::Aliases},
    {"assoc_mgr", 2, Entity::AssocMgr},
    {"bbstat", 2, Entity::Nothing},
    {"burstbuffer", 2, Entity::Nothing},
    {"cache", 2, Entity::AssocMgr},  // its old name
    {"config", 1, Entity::Config},
    {"daemons", 1, Entity::Daemons},
    {"dwstat", 2, Entity::Nothing},
    {"federation", 3, Entity::Nothing},
    {"hostlist", 5, Entity::Hostlist},
    {"hostlistsorted", 9, Entity::HostlistSorted},
    {"hostnames", 5, Entity::Hostnames},
    {"jobs", 1, Entity::Job},
    {"jobid", 4, Entity::Job},
    {"licenses", 2, Entity::Licenses},
    {"nodes", 1, Entity::Node},
    {"partitions", 1, Entity::Partition},
    {"partitionname", 10, Entity::Partition},
    {"nodename", 5, Entity::Node},
    {"reservations", 1, Entity::Reservation},
    {"reservationname", 12, Entity::Reservation},
    {"slurmd", 2, Entity::Slurmd},
    {"steps", 2, Entity::Step},
    {"topology", 1, Entity::Topology},
    {"topoconf", 5, Entity::Topoconf},
};

}  // namespace

void scontrol_show(Scontrol& run, const Words& words) {
  const KeyValue first = split_pair(words.front());
  const bool several = abbreviates(first.key, "assoc_mgr", 2) || abbreviates(first.key, "cache", 2) ||
                       (words.size() == 3 && abbreviates(first.key, "topology", 1));
  if (words.size() > 2 && !several)
    return run.fail("too many arguments for keyword:show");
  const std::string argument = first.has_value    ? std::string(first.value)
                               : words.size() > 1 ? words[1]
                                                  : std::string();
  const auto found = std::ranges::find_if(
      kEntities, [&](const EntityWord& known) { return abbreviates(first.key, known.name, known.letters); });
  if (found == std::end(kEntities)) return run.fail("invalid entity:{} for keyword:show ", first.key);
  const bool had_past = found->entity == Entity::Job || found->entity == Entity::Node ||
                        found->entity == Entity::Partition || found->entity == Entity::Reservation;
  if (run.looks_back && !had_past)
    return run.fail("scontrol: error: show {} with --at is not supported yet", found->name);
  switch (found->entity) {
    case Entity::Aliases:
      return show_aliases(run, argument);
    case Entity::Licenses:
      return show_licenses(run, argument);
    case Entity::Slurmd:
      return scontrol_show_slurmd(run, argument);
    case Entity::Nothing:
      return;
    case Entity::Config:
      return show_config(run);
    case Entity::Daemons:
      return show_daemons(run);
    case Entity::Hostlist:
      return show_hostlist(run, argument, false);
    case Entity::HostlistSorted:
      return show_hostlist(run, argument, true);
    case Entity::Hostnames:
      return show_hostnames(run, argument);
    case Entity::Job:
      return show_job(run, argument);
    case Entity::Node:
      return show_node(run, argument);
    case Entity::Partition:
      return show_partition(run, argument);
    case Entity::Reservation:
      return scontrol_show_reservation(run, argument);
    case Entity::Step:
      return scontrol_show_step(run, argument);
    case Entity::Topology: {
      Words more(words.begin() + 1, words.end());
      if (first.has_value) more.insert(more.begin(), argument);
      return scontrol_show_topology(run, more);
    }
    case Entity::Topoconf:
      return scontrol_show_topoconf(run);
    case Entity::AssocMgr:
      return scontrol_show_assoc_mgr(run, Words(words.begin() + 1, words.end()));
  }
}

void scontrol_ping(Scontrol& run, const Words&) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  // One controller may have several addresses (its socket and its port): each host is named once.
  std::vector<std::string> known;
  std::vector<PingOf> pings;
  std::string cluster;
  for (std::size_t i = 0; i < controller->controller_count(); ++i) {
    const Time before = run.context.now();
    const auto reply = controller->ping(i);
    if (!reply || std::ranges::find(known, reply->host) != known.end()) continue;
    if (!run.document)
      run.context.out.print("Slurmctld({}) at {} is UP\n", reply->is_leader ? "primary" : "backup", reply->host);
    if (!reply->is_leader && reply->silence >= seconds(1))
      run.context.info("warning: {} has heard of no leader for {} s", reply->host,
                       std::chrono::duration_cast<seconds>(reply->silence).count());
    known.push_back(reply->host);
    pings.push_back({reply->host, true, reply->is_leader, (run.context.now() - before).count()});
    cluster = reply->cluster_name;
  }
  if (run.document) {
    if (pings.empty()) {
      pings.push_back({"localhost", false, true, 0});
      run.exit_status = 1;
    }
    return run.context.out.write(pings_document(pings, cluster, *run.document, run.context));
  }
  if (!known.empty()) return;
  run.exit_status = 1;
  run.context.out.write(
      "Slurmctld(primary) at localhost is DOWN\n"
      "*****************************************\n"
      "** RESTORE SLURMCTLD DAEMON TO SERVICE **\n"
      "*****************************************\n");
}

}  // namespace spur::cli
