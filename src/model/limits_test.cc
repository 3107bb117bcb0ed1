// SPDX-License-Identifier: Apache-2.0
// Precedence and the edges of single limits. That all of them agree with adding everything up anew is checked by
// sched/plan_random_test.cc.
#include "model/limits.h"

#include <gtest/gtest.h>

namespace spur::model {
namespace {

struct Site {
  ClusterConfig config;
  Association root, lab, user;
  std::vector<Qos> list;
  Time now = Time(seconds(10'000));

  Site() {
    config.accounting.limits = true;
    PartitionConfig partition;
    partition.name = "p";
    partition.is_default = true;
    config.partitions.push_back(partition);
    root.id = 1, root.account = "root";
    lab.id = 2, lab.parent = 1, lab.account = "lab";
    user.id = 3, user.parent = 2, user.account = "lab", user.user = "ann", user.uid = 7;
  }

  View view() const {
    View view;
    view.config = std::make_shared<const ClusterConfig>(config);
    view.partitions = std::make_shared<const std::vector<Partition>>(
        std::vector<Partition>{Partition{config.partitions.front(), {}}});
    view.tres = std::make_shared<const TresTable>(config);
    std::vector<AssociationPtr> rows;
    for (const Association* row : {&root, &lab, &user}) rows.push_back(std::make_shared<const Association>(*row));
    view.accounts = *AccountBook::make(1, rows, {});
    view.qos = std::make_shared<const std::vector<Qos>>(list);
    return view;
  }
  static JobSpec spec(std::uint32_t cpus, std::string qos = "") {
    JobSpec spec;
    spec.uid = Uid{7};
    spec.account = "lab";
    spec.qos = std::move(qos);
    spec.tasks = cpus;
    return spec;
  }
  Reason start(View& view, const JobSpec& spec, std::uint32_t minutes = 60) const {
    const TimeLimit limit = TimeLimit::of_minutes(minutes);
    const auto question = limit_question(view, spec, 3, view.partitions->front(), limit);
    const Reason reason = limit_at_start(view, view.tallies, question, now);
    if (reason == Reason::None)
      recount(view.tallies, view, question.where, {}, part_of_start(view, spec, question.tres, limit, now), now);
    return reason;
  }
};

TEST(Limits, OfAGroupHoldAtEveryLevel) {
  Site site;
  site.root.group.tres = {{"cpu", 10}};
  site.lab.group.tres = {{"cpu", 6}};
  View view = site.view();
  EXPECT_EQ(site.start(view, Site::spec(4)), Reason::None);
  EXPECT_EQ(site.start(view, Site::spec(4)), tres_reason(LimitOn::AssocGrp, TresKind::Cpu));
  EXPECT_EQ(reason_name(tres_reason(LimitOn::AssocGrp, TresKind::Cpu)), "AssocGrpCpuLimit");
  EXPECT_EQ(site.start(view, Site::spec(2)), Reason::None);
}

TEST(Limits, OfAQosHideThoseOfTheAssociation) {
  Site site;
  site.user.max_tres_per_job = {{"cpu", 2}};
  Qos qos;
  qos.name = "big";
  qos.id = 1;
  qos.max_tres_per_job = {{"cpu", 8}};
  site.list = {qos};
  View view = site.view();
  EXPECT_EQ(site.start(view, Site::spec(4)), tres_reason(LimitOn::AssocMaxPerJob, TresKind::Cpu));
  EXPECT_EQ(site.start(view, Site::spec(4, "big")), Reason::None);
  EXPECT_EQ(site.start(view, Site::spec(9, "big")), tres_reason(LimitOn::QosMaxPerJob, TresKind::Cpu));
}

TEST(Limits, ThePartitionsQosComesFirstUnlessTheJobsSaysOtherwise) {
  Site site;
  Qos of_partition, own;
  of_partition.name = "part", of_partition.id = 1, of_partition.max_wall_minutes = 10;
  own.name = "own", own.id = 2, own.max_wall_minutes = 100;
  site.config.partitions.front().qos = "part";
  site.list = {own, of_partition};
  View view = site.view();
  EXPECT_EQ(site.start(view, Site::spec(1, "own"), 60), Reason::QosMaxWall);
  own.flags = kQosOverPartitionQos;
  site.list = {own, of_partition};
  view = site.view();
  EXPECT_EQ(site.start(view, Site::spec(1, "own"), 60), Reason::None);
}

TEST(Limits, OfMinutesCountWhatRunningJobsMayStillUse) {
  Site site;
  site.lab.group.tres_run_minutes = {{"cpu", 100}};
  View view = site.view();
  EXPECT_EQ(site.start(view, Site::spec(1), 60), Reason::None);
  EXPECT_EQ(site.start(view, Site::spec(1), 41), tres_reason(LimitOn::AssocGrpRunMinutes, TresKind::Cpu));
  EXPECT_EQ(site.start(view, Site::spec(1), 40), Reason::None);
}

TEST(Limits, SafeStartsOnlyWhatCanRunToItsEnd) {
  Site site;
  site.lab.group.tres_minutes = {{"cpu", 100}};
  View view = site.view();
  EXPECT_EQ(site.start(view, Site::spec(2), 60), Reason::None);  // 120 minutes: it will be over, but is not yet
  site.config.accounting.safe = true;
  view = site.view();
  EXPECT_EQ(site.start(view, Site::spec(2), 60), tres_reason(LimitOn::AssocGrpMinutes, TresKind::Cpu));
  EXPECT_EQ(site.start(view, Site::spec(2), 50), Reason::None);
}

TEST(Limits, OnSubmitCountTasks) {
  Site site;
  site.user.max_submit = 5;
  site.lab.group.submit = 3;
  View view = site.view();
  const auto where = counted_in(view, Site::spec(1), 3, "p");
  EXPECT_EQ(limit_at_submit(view, view.tallies, where, 3), Reason::None);
  EXPECT_EQ(limit_at_submit(view, view.tallies, where, 4), Reason::AssocGrpSubmit);
  EXPECT_EQ(limit_at_submit(view, view.tallies, where, 6), Reason::AssocMaxSubmit);
}

TEST(Limits, AreDeniedAtSubmitOnlyByAQosThatDoesSo) {
  Site site;
  Qos strict;
  strict.name = "strict", strict.id = 1, strict.flags = kQosDenyOnLimit, strict.max_tres_per_job = {{"cpu", 2}};
  site.list = {strict};
  site.user.max_tres_per_job = {{"cpu", 1}};
  const View view = site.view();
  const auto ask = [&](const JobSpec& spec) {
    return denied_at_submit(view, limit_question(view, spec, 3, view.partitions->front(), TimeLimit::of_minutes(1)));
  };
  EXPECT_EQ(ask(Site::spec(4)), Reason::None);  // waits, and is told why
  EXPECT_EQ(ask(Site::spec(4, "strict")), tres_reason(LimitOn::QosMaxPerJob, TresKind::Cpu));
  EXPECT_EQ(ask(Site::spec(2, "strict")), Reason::None);
}

TEST(Limits, AreNoneWhereNothingIsEnforced) {
  Site site;
  site.config.accounting.limits = false;
  site.user.max_jobs = 0;
  View view = site.view();
  EXPECT_EQ(site.start(view, Site::spec(1)), Reason::None);
}

}  // namespace
}  // namespace spur::model
