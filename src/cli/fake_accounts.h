// SPDX-License-Identifier: Apache-2.0
// For tests: a small catalogue of accounts. Changes are only written down, one line for each record.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "cli/accounts.h"

namespace spur::cli {

inline model::AccountRecords test_account_records() {
  model::AccountRecords all;
  all.revision = 7;
  model::ClusterRecord cluster;
  cluster.name = "test";
  cluster.control_host = "ctl";
  cluster.control_port = 6817;
  cluster.rpc_version = 11008;
  cluster.tres = {{"cpu", 64}, {"mem", 4096}, {"node", 4}};
  all.clusters = {cluster};
  all.accounts = {
      {"root", "default root account", "root"}, {"physics", "physics dept", "science"}, {"chem", "chem", "physics"}};
  all.users = {{"root", model::AdminLevel::Administrator},
               {"nobody", model::AdminLevel::None},
               {"games", model::AdminLevel::Operator}};
  const char* tres[] = {"cpu", "mem", "energy", "node", "billing"};
  for (const char* name : tres) all.tres.push_back({static_cast<std::uint32_t>(all.tres.size() + 1), name, ""});
  all.tres.push_back({1001, "gres", "gpu"});
  model::Qos normal, high;
  normal.name = "normal", normal.id = 1, normal.description = "Normal QOS default";
  high.name = "high", high.id = 2, high.description = "high", high.priority = 1000, high.preempts = {"normal"};
  high.flags = model::kQosDenyOnLimit | model::kQosOverPartitionQos, high.max_wall_minutes = 1440;
  high.group.tres = {{"cpu", 100}, {"gres/gpu", 8}}, high.max_jobs_per_user = 3;
  all.qos = {normal, high};
  std::uint32_t id = 1;
  const auto row = [&](const char* parent, const char* account, const char* user,
                       std::int64_t order) -> model::AssociationRecord& {
    auto& r = all.associations.emplace_back();
    r.cluster = "test", r.parent = parent, r.order = order;
    r.row.id = id++, r.row.account = account, r.row.user = user;
    return r;
  };
  row("", "root", "", 0).row.qos = {"normal"};
  row("root", "root", "root", -1).row.is_default = true;
  auto& physics = row("root", "physics", "", -2);
  physics.row.max_jobs = 5, physics.row.shares = 20, physics.row.group.tres = {{"cpu", 50}};
  row("physics", "chem", "", -1).row.shares = 5;
  auto& nobody = row("chem", "chem", "nobody", -1);
  nobody.row.is_default = true, nobody.row.partition = "debug", nobody.qos_added = {"high"};
  auto& games = row("physics", "physics", "games", -2);
  games.row.is_default = true, games.row.shares = model::kShareOfParent;
  games.row.max_tres_per_job = {{"cpu", 4}, {"mem", 1024}, {"gres/gpu", 2}}, games.row.max_wall_minutes = 120;
  all.coordinators = {{"physics", "games"}};
  all.wckeys = {{1, "wk1", "games", "test", true}};
  return all;
}

class FakeAccounts : public Accounts {
 public:
  explicit FakeAccounts(std::vector<std::string>* calls) : calls_(calls) {}
  const std::string& cluster() const override { return cluster_; }
  Result<Records> read(bool with_deleted) override {
    Records out{test_account_records(), {}};
    if (!with_deleted) return out;
    model::AssociationRecord& biology = out.records.associations.emplace_back();
    biology.cluster = "test", biology.parent = "root", biology.order = -3;
    biology.row.id = 90, biology.row.account = "biology";
    model::AssociationRecord& lp = out.records.associations.emplace_back(biology);
    lp.parent = "biology", lp.row.id = 91, lp.row.user = "lp";
    out.records.accounts.push_back({"biology", "biology", "science"});
    out.records.users.push_back({"lp", model::AdminLevel::None});
    out.records.wckeys.push_back({2, "wk2", "lp", "test", false});
    out.deleted = {{model::RecordKind::Association, "90"},
                   {model::RecordKind::Association, "91"},
                   {model::RecordKind::Account, "biology"},
                   {model::RecordKind::User, "lp"},
                   {model::RecordKind::Wckey, "2"}};
    return out;
  }
  Result<std::vector<std::string>> change(const model::AccountsChange& change) override {
    if (change.only_check) return std::vector<std::string>();
    const auto& put = change.put;
    for (const auto& r : put.clusters) calls_->push_back("put cluster " + r.name);
    for (const auto& r : put.accounts)
      calls_->push_back(fmt::format("put account {} '{}' '{}'", r.name, r.description, r.organization));
    for (const auto& r : put.users)
      calls_->push_back(fmt::format("put user {} level {}", r.name, static_cast<int>(r.admin)));
    for (const auto& r : put.associations)
      calls_->push_back(fmt::format("put association {} {}:{}/{}/{} below '{}'{}", r.row.id, r.cluster, r.row.account,
                                    r.row.user, r.row.partition, r.parent, r.row.is_default ? " default" : ""));
    for (const auto& r : put.qos) calls_->push_back("put qos " + r.name);
    for (const auto& r : put.coordinators) calls_->push_back("put coordinator " + r.account + "/" + r.user);
    for (const auto& r : put.wckeys) calls_->push_back("put wckey " + r.name + " of " + r.user);
    for (const auto& r : put.resources)
      calls_->push_back(fmt::format("put resource {}@{} {}", r.name, r.server, r.count));
    for (const auto& key : change.remove) {
      std::string text = key.key;
      for (char& c : text)
        if (c == '\n') c = '/';
      calls_->push_back(fmt::format("remove {} {}", static_cast<int>(key.kind), text));
    }
    return std::vector<std::string>();
  }
  Result<std::vector<model::TransactionRecord>> transactions(Time, Time) override {
    return std::vector<model::TransactionRecord>{
        {1, from_unix_seconds(1'800'000'000), 1402, "root", "", "physics", "description='physics dept'"}};
  }

 private:
  std::vector<std::string>* calls_;
  const std::string cluster_ = "test";
};

}  // namespace spur::cli
