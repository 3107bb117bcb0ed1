// SPDX-License-Identifier: Apache-2.0
// For tests at random: a tree of two accounts with three users each, and three QOS, with few limits each of all the
// kinds that matter when a job is to start.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "model/account_book.h"
#include "model/cluster_config.h"
#include "sched/test_dice.h"

namespace spur::sched {

class RandomAccounts {
 public:
  RandomAccounts(Dice& dice, model::ClusterConfig& config) : dice_(dice) {
    config.accounting.limits = true;
    config.accounting.safe = dice_.one_in(3);
    config.accounting.tres = {"gres/gpu", "license/lic"};
    make_tree();
    make_qos();
  }

  std::shared_ptr<const model::AccountBook> book;
  std::shared_ptr<const std::vector<model::Qos>> qos;

 private:
  model::TresCounts amounts(std::uint32_t most) {
    model::TresCounts out;
    static constexpr const char* kNames[] = {"cpu", "mem", "node", "billing", "gres/gpu", "license/lic", "bb/none"};
    for (const char* name : kNames) {
      const std::string_view which = name;
      const std::uint32_t up_to = which == "mem" ? most * 100 : which == "node" ? most / 4 + 2 : most;
      if (dice_.one_in(4)) out.push_back({name, dice_.below(up_to)});
    }
    return out;
  }
  model::GroupLimits group() {
    model::GroupLimits out;
    if (dice_.one_in(6)) out.jobs = dice_.between(0, 8);
    if (dice_.one_in(5)) out.tres = amounts(30);
    if (dice_.one_in(6)) out.tres_minutes = amounts(400);
    if (dice_.one_in(8)) out.tres_run_minutes = amounts(600);
    if (dice_.one_in(10)) out.wall_minutes = dice_.below(240);  // with "safe" it stops most of what is long
    return out;
  }
  void make_tree() {
    std::vector<model::AssociationPtr> rows;
    const auto add = [&](std::uint32_t parent, const char* account, std::uint32_t user) {
      model::Association row;
      row.id = static_cast<std::uint32_t>(rows.size()) + 1;
      row.parent = parent;
      row.account = account;
      row.group = group();
      if (user != 0) {
        row.user = fmt::format("u{}", user);
        row.uid = user;
        if (dice_.one_in(5)) row.max_jobs = dice_.below(5);
        if (dice_.one_in(8)) row.max_wall_minutes = dice_.between(1, 40);
        if (dice_.one_in(8)) row.max_tres_per_job = amounts(12);
        if (dice_.one_in(10)) row.max_tres_per_node = amounts(8);
        if (dice_.one_in(10)) row.max_tres_minutes_per_job = amounts(300);
        if (dice_.one_in(8)) row.min_priority = dice_.below(102'000);
      }
      rows.push_back(std::make_shared<const model::Association>(row));
    };
    add(0, "root", 0);
    add(1, "a", 0);
    add(dice_.one_in(2) ? 1 : 2, "b", 0);
    for (std::uint32_t user = 1; user <= 3; ++user) add(2, "a", user), add(3, "b", user);
    book = *model::AccountBook::make(1, std::move(rows), {});
  }
  void make_qos() {
    std::vector<model::Qos> list;
    for (std::uint32_t i = 0; i < 3; ++i) {
      model::Qos one;
      one.name = fmt::format("q{}", i);
      one.id = i + 1;
      one.group = group();
      one.usage_factor_thousandths = 500 * dice_.between(0, 3);
      for (const std::uint32_t flag :
           {model::kQosOverPartitionQos, model::kQosUsageFactorSafe, model::kQosNoReserve, model::kQosPartitionMinNodes,
            model::kQosPartitionMaxNodes, model::kQosPartitionTimeLimit, model::kQosRelative})
        if (dice_.one_in(5)) one.flags |= flag;
      if (dice_.one_in(6)) one.limit_factor_thousandths = 500 * dice_.between(1, 4);
      if (dice_.one_in(5)) one.max_jobs_per_user = dice_.below(5);
      if (dice_.one_in(6)) one.max_jobs_per_account = dice_.below(6);
      if (dice_.one_in(8)) one.max_wall_minutes = dice_.between(1, 40);
      if (dice_.one_in(8)) one.min_priority = dice_.below(102'000);
      for (auto* limits :
           {&one.max_tres_per_job, &one.max_tres_per_node, &one.max_tres_per_user, &one.max_tres_per_account})
        if (dice_.one_in(8)) *limits = amounts(16);
      for (auto* limits :
           {&one.max_tres_minutes_per_job, &one.max_tres_run_minutes_per_user, &one.max_tres_run_minutes_per_account})
        if (dice_.one_in(10)) *limits = amounts(600);
      if (dice_.one_in(12)) one.min_tres_per_job = {{"cpu", dice_.below(4)}};
      list.push_back(std::move(one));
    }
    qos = std::make_shared<const std::vector<model::Qos>>(std::move(list));
  }

  Dice& dice_;
};

}  // namespace spur::sched
