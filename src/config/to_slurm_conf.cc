// SPDX-License-Identifier: Apache-2.0
// Statements as lines of Slurm's files. Keys that only spur.conf has are turned into what Slurm says instead, where it
// has a word for it (the table of twins below); the others are remarks, and comments at the end of the file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "config/keys.h"
#include "config/select_words.h"
#include "config/setters.h"
#include "config/slurm_keys.h"
#include "config/translate.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::config {

namespace {

// In quotes where blanks would end it; # would begin a comment.
Result<std::string> slurm_value(std::string_view name, const std::string& value) {
  std::string out;
  bool quotes = value.empty();
  for (const char c : value) {
    if (c == '\n' || c == '"')
      return fail(ErrorCode::ConfigInvalid,
                  fmt::format("{}: slurm.conf cannot hold quotes or line ends in a value", name));
    if (c == '#') out += '\\';
    out += c;
    quotes = quotes || text::is_blank(c);
  }
  if (out.ends_with('\\')) quotes = true;
  return quotes ? fmt::format("\"{}\"", out) : out;
}

// Files by the scopes of their keys.
std::string_view file_of(Scope scope) {
  switch (scope) {
    case Scope::Device:
      return "gres.conf";
    case Scope::Cgroup:
      return "cgroup.conf";
    case Scope::Switch:
      return "topology.conf";
    default:
      return "slurm.conf";
  }
}

// What a key of spur.conf alone is called in slurm.conf. `line` may be empty: a default of Slurm's.
struct Twin {
  std::string_view spur, slurm;
  std::string (*value)(const Draft& draft, const std::string& text);
};

std::string as_it_is(const Draft&, const std::string& text) {
  return text;
}
std::string port_of(const Draft&, const std::string& text) {
  return text.substr(text.rfind(':') + 1);
}
std::string days(const Draft&, const std::string& text) {
  return text + "-0";
}
std::string clock(const Draft& draft, const std::string&) {
  return text::format_clock(draft.cluster.preempt.exempt);
}
std::string select_parameters(const Draft& draft, const std::string&) {
  return fmt::format("{}{}{}", draft.cluster.cores_whole ? "CR_Core" : "CR_CPU",
                     draft.cluster.memory_as == model::MemoryAs::Consumable ? "_Memory" : "",
                     select_words(draft.cluster));
}
std::string scheduler_words(const Draft& draft, const std::string&) {
  const model::ClusterConfig &cluster = draft.cluster, usual;
  std::vector<std::string> words;
  if (cluster.kill_invalid_dependency) words.emplace_back("kill_invalid_depend");
  if (!cluster.hold_on_prolog_fail) words.emplace_back("nohold_on_prolog_fail");
  if (cluster.planned_jobs != usual.planned_jobs)
    words.push_back(fmt::format("bf_max_job_test={}", cluster.planned_jobs));
  if (cluster.max_switch_wait != usual.max_switch_wait)
    words.push_back(fmt::format("max_switch_wait={}", cluster.max_switch_wait.count()));
  if (draft.daemon.batch_sched_delay != DaemonConfig().batch_sched_delay)
    words.push_back(fmt::format("batch_sched_delay={}", draft.daemon.batch_sched_delay.count()));
  if (cluster.max_script_bytes != usual.max_script_bytes)
    words.push_back(fmt::format("max_script_size={}", cluster.max_script_bytes));
  return fmt::format("{}", fmt::join(words, ","));
}
std::string agent_words(const Draft& draft, const std::string&) {
  return draft.cluster.config_overrides ? "config_overrides" : "";
}

std::string opposite(const Draft& draft, const std::string&) {
  return draft.cluster.no_root_jobs ? "YES" : "NO";
}

constexpr Twin kTwins[] = {
    {"auth.allow_root_jobs", "DisableRootJobs", opposite},
    {"controller.listen_addr", "SlurmctldPort", port_of},
    {"agent.listen_addr", "SlurmdPort", port_of},
    {"accounting.host", "AccountingStorageHost", as_it_is},
    {"accounting.listen_addr", "AccountingStoragePort", port_of},
    {"controller.declared_hardware_wins", "SlurmdParameters", agent_words},
    {"controller.hold_on_prolog_fail", "SchedulerParameters", scheduler_words},
    {"controller.max_script_kb", "SchedulerParameters", scheduler_words},
    {"logging.level", "SlurmctldDebug", as_it_is},
    {"scheduler.batch_sched_delay_secs", "SchedulerParameters", scheduler_words},
    {"scheduler.bind_to_gres", "SelectTypeParameters", select_parameters},
    {"scheduler.block_sockets", "SelectTypeParameters", select_parameters},
    {"scheduler.fairshare_halflife_days", "PriorityDecayHalfLife", days},
    {"scheduler.kill_invalid_dependency", "SchedulerParameters", scheduler_words},
    {"scheduler.least_loaded_nodes", "SelectTypeParameters", select_parameters},
    {"scheduler.max_switch_wait_secs", "SchedulerParameters", scheduler_words},
    {"scheduler.memory_consumable", "SelectTypeParameters", select_parameters},
    {"scheduler.one_task_per_core", "SelectTypeParameters", select_parameters},
    {"scheduler.one_task_per_shared_gres", "SelectTypeParameters", select_parameters},
    {"scheduler.pack_tasks", "SelectTypeParameters", select_parameters},
    {"scheduler.planned_jobs", "SchedulerParameters", scheduler_words},
    {"scheduler.preempt_exempt_time", "PreemptExemptTime", clock},
    {"scheduler.shares_of_several", "SelectTypeParameters", select_parameters},
    {"scheduler.spread_shares", "SelectTypeParameters", select_parameters},
    {"scheduler.whole_cores", "SelectTypeParameters", select_parameters},
    {"usage.sample_secs", "JobAcctGatherFrequency", as_it_is},
};

class Writer {
 public:
  explicit Writer(const Draft& draft) : draft_(draft) {}

  Result<Translation> run() {
    for (const Statement& statement : draft_.statements) {
      const auto scope = static_cast<Scope>(statement.scope);
      if (scope == Scope::Top || scope == Scope::Cgroup) SPUR_TRY(plain_line(statement, scope));
    }
    if (draft_.dialect == Dialect::Spur) SPUR_TRY(spur_defaults());
    for (const Scope scope : {Scope::Node, Scope::NodeSet, Scope::Down, Scope::Partition, Scope::Device, Scope::Switch})
      SPUR_TRY(blocks(scope));
    Translation out;
    out.remarks = remarks_;
    std::string& main = files_["slurm.conf"];
    for (const std::string& remark : remarks_) main += fmt::format("# {}\n", remark);
    out.files.emplace_back("slurm.conf", std::move(main));
    for (const char* name : {"gres.conf", "cgroup.conf", "topology.conf"})
      if (!files_[name].empty()) out.files.emplace_back(name, std::move(files_[name]));
    for (const auto& sibling : draft_.siblings) out.files.push_back(sibling);
    return out;
  }

 private:
  Status line(std::string_view file, std::string_view name, const std::string& value) {
    SPUR_ASSIGN(const std::string text, slurm_value(name, value));
    files_[std::string(file)] += fmt::format("{}={}\n", name, text);
    return {};
  }

  bool is_said(std::string_view slurm) const {
    return std::ranges::any_of(draft_.statements, [&](const Statement& s) {
      return s.key && s.key->scope == Scope::Top && text::equal_ignoring_case(s.key->slurm, slurm);
    });
  }

  void no_word(const Statement& statement, const std::string& prefix) {
    remarks_.push_back(
        fmt::format("slurm.conf has no word for {}{} = {}", prefix, statement.key->spur, statement.value));
  }

  Status plain_line(const Statement& statement, Scope scope) {
    if (statement.name) return line(file_of(scope), statement.name->name, statement.value);
    const Key& key = *statement.key;
    if (key.set == set_defaults) return {};
    if (!key.slurm.empty()) return line(file_of(scope), key.slurm, statement.value);
    if (key.set == set_controller_hosts) {
      for (const std::string& host : draft_.controller_hosts) SPUR_TRY(line("slurm.conf", "SlurmctldHost", host));
      return {};
    }
    if (key.set == set_block_sizes || key.set == set_block_size)
      return line("topology.conf", "BlockSizes",
                  fmt::format("{}", fmt::join(draft_.cluster.topology.block_sizes, ",")));
    return twin_line(statement);
  }

  Status twin_line(const Statement& statement) {
    const Key& key = *statement.key;
    for (const Twin& twin : kTwins) {
      if (twin.spur != key.spur) continue;
      if (is_said(twin.slurm) || std::ranges::find(twins_, twin.slurm) != twins_.end()) return {};
      twins_.push_back(twin.slurm);
      if (key.spur == "accounting.host" && !statement.value.empty())
        SPUR_TRY(line("slurm.conf", "AccountingStorageType", "accounting_storage/slurmdbd"));
      if (key.spur == "logging.level") SPUR_TRY(line("slurm.conf", "SlurmdDebug", statement.value));
      const std::string value = twin.value(draft_, statement.value);
      return value.empty() ? Status{} : line("slurm.conf", twin.slurm, value);
    }
    no_word(statement, "");
    return {};
  }

  // What spur.conf means where it says nothing, and slurm.conf does not.
  Status spur_defaults() {
    const CgroupConfig& cgroup = draft_.daemon.cgroup;
    const std::pair<const char*, bool> kConstrain[] = {{"ConstrainCores", cgroup.cores.value_or(false)},
                                                       {"ConstrainRAMSpace", cgroup.ram.value_or(false)},
                                                       {"ConstrainDevices", cgroup.devices.value_or(false)}};
    SPUR_TRY(line("slurm.conf", "TaskPlugin", "task/cgroup"));
    for (const auto& [name, on] : kConstrain) {
      const bool said = std::ranges::any_of(
          draft_.statements, [&](const Statement& s) { return s.key && s.key->slurm == name; });
      if (!said && on) SPUR_TRY(line("cgroup.conf", name, "YES"));
    }
    if (!is_said("GresTypes") && !draft_.cluster.gres_types.empty())
      SPUR_TRY(line("slurm.conf", "GresTypes", fmt::format("{}", fmt::join(draft_.cluster.gres_types, ","))));
    const StepConfig& steps = draft_.daemon.steps;
    if (!is_said("MaxTasksPerNode"))
      SPUR_TRY(line("slurm.conf", "MaxTasksPerNode", fmt::format("{}", steps.max_tasks_per_node.value_or(0))));
    if (!is_said("MaxStepCount"))
      SPUR_TRY(line("slurm.conf", "MaxStepCount", fmt::format("{}", steps.max_count.value_or(0))));
    if (draft_.partitions.empty()) files_["slurm.conf"] += "PartitionName=default Nodes=ALL Default=YES\n";
    for (const DetectRule& rule : draft_.daemon.detect)
      if (rule.nodes.empty() && rule.how == Detect::All)
        remarks_.emplace_back(
            "slurm.conf has no word for devices.auto_detect = true: name it in gres.conf (AutoDetect=)");
    return {};
  }

  Status blocks(Scope scope) {
    std::map<std::uint32_t, std::vector<const Statement*>> blocks;
    for (const Statement& statement : draft_.statements)
      if (statement.scope == static_cast<std::uint8_t>(scope)) blocks[statement.block].push_back(&statement);
    for (const auto& [number, statements] : blocks) SPUR_TRY(block(scope, statements));
    return {};
  }

  // One line, with what names the block in front; of a key that was said twice, the last word.
  Status block(Scope scope, const std::vector<const Statement*>& statements) {
    std::vector<std::pair<std::string, std::string>> pairs;
    const std::string_view opener = opener_of(scope, statements);
    for (const Statement* statement : statements) {
      std::string_view name = statement->name ? statement->name->name : statement->key->slurm;
      if (name == "SwitchName" && opener == "BlockName") name = opener;
      if (name.empty()) {
        no_word(*statement, fmt::format("{}.", array_of(scope)));
        continue;
      }
      SPUR_ASSIGN(std::string value, slurm_value(name, statement->value));
      if (scope == Scope::Switch && statement->key && statement->key->set == set_block_sizes) {
        files_["topology.conf"] += fmt::format("{}={}\n", name, value);
        continue;
      }
      // A key may be said by DEFAULT and again; aliases count in their order, so the last word goes to the end.
      std::erase_if(pairs, [&](const auto& pair) { return pair.first == name; });
      if (name == opener)
        pairs.emplace(pairs.begin(), name, std::move(value));
      else
        pairs.emplace_back(name, std::move(value));
    }
    if (pairs.empty()) return {};
    std::vector<std::string> words;
    for (const auto& [name, value] : pairs) words.push_back(fmt::format("{}={}", name, value));
    files_[std::string(file_of(scope))] += fmt::format("{}\n", fmt::join(words, " "));
    return {};
  }

  std::string_view opener_of(Scope scope, const std::vector<const Statement*>& statements) const {
    if (scope != Scope::Switch)
      return scope == Scope::Node        ? "NodeName"
             : scope == Scope::Partition ? "PartitionName"
             : scope == Scope::NodeSet   ? "NodeSet"
             : scope == Scope::Down      ? "DownNodes"
                                         : "";
    const bool blocks_only =
        draft_.dialect == Dialect::Spur && draft_.cluster.topology.kind == model::TopologyKind::Block;
    const bool block = blocks_only || std::ranges::any_of(statements, [](const Statement* s) {
                         return s->key && s->key->slurm == "BlockName";
                       });
    return block ? "BlockName" : "SwitchName";
  }

  const Draft& draft_;
  std::map<std::string, std::string> files_;
  std::vector<std::string> remarks_;
  std::vector<std::string_view> twins_;
};

}  // namespace

Result<Translation> to_slurm_conf(const Draft& draft) {
  return Writer(draft).run();
}

}  // namespace spur::config
