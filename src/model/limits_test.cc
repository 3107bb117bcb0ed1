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
      recount(view.tallies, view, question.where, {}, part_of_start(view, spec, question.tres, limit, now, nullptr),
              now);
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

// By experiments with 22.05: what was used and the job's own limit together; what runs is not counted ahead.
TEST(Limits, SafeStartsOnlyWhatItsGroupHasTimeFor) {
  Site site;
  site.config.accounting.safe = true;
  site.lab.group.wall_minutes = 20;
  Qos dear;
  dear.name = "dear", dear.id = 1, dear.flags = kQosUsageFactorSafe, dear.usage_factor_thousandths = 4000;
  site.list = {dear};
  View view = site.view();
  const auto asked = [](std::uint32_t minutes, std::string qos = "") {
    JobSpec spec = Site::spec(1, std::move(qos));
    spec.time_limit = TimeLimit::of_minutes(minutes);
    return spec;
  };
  EXPECT_EQ(site.start(view, asked(21), 21), Reason::AssocGrpWall);
  EXPECT_EQ(site.start(view, asked(6, "dear"), 6), Reason::AssocGrpWall);
  EXPECT_EQ(site.start(view, asked(5, "dear"), 5), Reason::None);
  EXPECT_EQ(site.start(view, asked(20), 20), Reason::None) << "beside the one that runs";
  View unsafe = view;
  auto config = *view.config;
  config.accounting.safe = false;
  unsafe.config = std::make_shared<const ClusterConfig>(config);
  EXPECT_EQ(site.start(unsafe, asked(21), 21), Reason::None);
}

TEST(Limits, GiveATimeToWhoAsksForNone) {
  Site site;
  const auto time = [&](std::string qos = "") {
    const View view = site.view();
    return longest_wall(view, counted_in(view, Site::spec(1, std::move(qos)), 3, "p"));
  };
  EXPECT_EQ(time(), std::nullopt);
  site.root.group.wall_minutes = 50;
  EXPECT_EQ(time(), 50);
  site.lab.group.wall_minutes = 60;
  EXPECT_EQ(time(), 60) << "the first one on the way up";
  site.user.max_wall_minutes = 70;
  EXPECT_EQ(time(), 70);
  site.user.group.wall_minutes = 65;
  EXPECT_EQ(time(), 65);
  Qos qos;
  qos.name = "q", qos.id = 1, qos.group.wall_minutes = 90;
  site.list = {qos};
  EXPECT_EQ(time("q"), 90);
  site.list[0].max_wall_minutes = 80;
  EXPECT_EQ(time("q"), 80);
  // What a QOS gave is not held against the job.
  site.config.accounting.safe = true;
  View view = site.view();
  EXPECT_EQ(site.start(view, Site::spec(1, "q"), 80), Reason::None);
  JobSpec asked = Site::spec(1, "q");
  asked.time_limit = TimeLimit::of_minutes(71);
  EXPECT_EQ(site.start(view, asked, 71), Reason::None) << "its QOS hides both";
  site.list[0].group.wall_minutes.reset();
  view = site.view();
  EXPECT_EQ(site.start(view, Site::spec(1, "q"), 80), Reason::None);
  EXPECT_EQ(site.start(view, asked, 71), Reason::AssocGrpWall);
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

TEST(Limits, OfMinutesAreNoMatterToWhoUsesNoneOfIt) {
  Site site;
  site.config.gres_types = {"gpu"};
  site.lab.group.tres_minutes = {{"gres/gpu", 0}};
  View view = site.view();
  EXPECT_EQ(site.start(view, Site::spec(1)), Reason::None);
  JobSpec with_gpu = Site::spec(1);
  with_gpu.gres = {{"gpu", "", 1, GresRequest::Per::Node}};
  EXPECT_EQ(site.start(view, with_gpu), tres_reason(LimitOn::AssocGrpMinutes, TresKind::Gres));
}

// What was seen of Slurm: -N2 -n5 keeps a limit of two CPUs on each node.
TEST(Limits, OfANodeAreOnTheAverage) {
  Site site;
  site.user.max_tres_per_node = {{"cpu", 2}};
  View view = site.view();
  JobSpec spec = Site::spec(5);
  spec.min_nodes = 2;
  EXPECT_EQ(site.start(view, spec), Reason::None);
  spec.tasks = 6;
  EXPECT_EQ(site.start(view, spec), tres_reason(LimitOn::AssocMaxPerNode, TresKind::Cpu));
}

TEST(Limits, CountANodeOnce) {
  Site site;
  site.lab.group.tres = {{"node", 2}};
  View view = site.view();
  const auto ask = [&](std::vector<std::uint32_t> nodes, bool start) {
    auto allocation = std::make_shared<Allocation>();
    allocation->partition = "p";
    for (const std::uint32_t node : nodes) allocation->nodes.push_back({NodeIndex{node}, {0}, 0, 1, {}});
    const JobSpec spec = Site::spec(1);
    const auto question = limit_question(view, spec, 3, *allocation, TimeLimit::of_minutes(1));
    const Reason reason = limit_at_start(view, view.tallies, question, site.now);
    if (start)
      recount(view.tallies, view, question.where, {},
              part_of_start(view, spec, question.tres, TimeLimit::of_minutes(1), site.now, allocation), site.now);
    return reason;
  };
  const Reason over = tres_reason(LimitOn::AssocGrp, TresKind::Node);
  EXPECT_EQ(ask({1}, true), Reason::None);
  EXPECT_EQ(ask({1}, true), Reason::None);
  EXPECT_EQ(ask({2, 3}, false), over);
  EXPECT_EQ(ask({1, 3}, false), Reason::None);
  EXPECT_EQ(ask({4}, true), Reason::None);
  EXPECT_EQ(ask({5}, false), over);
  EXPECT_EQ(ask({1, 4}, false), Reason::None);
  // Before nodes are chosen there may be some; once it has been tried in vain, it waits for more.
  auto question = limit_question(view, Site::spec(1), 3, view.partitions->front(), TimeLimit::of_minutes(1));
  EXPECT_EQ(limit_at_start(view, view.tallies, question, site.now), Reason::None);
  question.in_vain = true;
  EXPECT_EQ(limit_at_start(view, view.tallies, question, site.now), over);
}

TEST(Limits, OnJobsComeBeforeThoseOnAmounts) {
  Site site;
  Qos qos;
  qos.name = "q", qos.id = 1, qos.max_tres_per_job = {{"cpu", 1}};
  site.list = {qos};
  site.user.max_jobs = 0;
  View view = site.view();
  EXPECT_EQ(site.start(view, Site::spec(2, "q")), Reason::AssocMaxJobs);
  site.user.max_jobs.reset();
  view = site.view();
  EXPECT_EQ(site.start(view, Site::spec(2, "q")), tres_reason(LimitOn::QosMaxPerJob, TresKind::Cpu));
}

TEST(Limits, OfAssociationsAreStretchedByAFactor) {
  Site site;
  Qos qos;
  qos.name = "q", qos.id = 1, qos.limit_factor_thousandths = 2000;
  site.list = {qos};
  site.lab.group.tres = {{"cpu", 3}};
  site.user.max_tres_per_job = {{"cpu", 2}};
  View view = site.view();
  EXPECT_EQ(site.start(view, Site::spec(3)), tres_reason(LimitOn::AssocMaxPerJob, TresKind::Cpu));
  EXPECT_EQ(site.start(view, Site::spec(4, "q")), Reason::None);
  EXPECT_EQ(site.start(view, Site::spec(3, "q")), tres_reason(LimitOn::AssocGrp, TresKind::Cpu));
}

TEST(Limits, AreDeniedAtSubmitForMinutesToo) {
  Site site;
  Qos strict;
  strict.name = "q", strict.id = 1, strict.flags = kQosDenyOnLimit;
  const auto ask = [&](const Qos& qos, std::uint32_t minutes) {
    site.list = {qos};
    const View view = site.view();
    return denied_at_submit(view, limit_question(view, Site::spec(1, "q"), 3, view.partitions->front(),
                                                 TimeLimit::of_minutes(minutes)));
  };
  Qos of_minutes = strict, of_run = strict, of_wall = strict;
  of_minutes.group.tres_minutes = of_run.group.tres_run_minutes = {{"cpu", 20}};
  of_wall.group.wall_minutes = 20;
  EXPECT_EQ(ask(of_minutes, 30), tres_reason(LimitOn::QosGrpMinutes, TresKind::Cpu));
  EXPECT_EQ(ask(of_run, 30), tres_reason(LimitOn::QosGrpRunMinutes, TresKind::Cpu));
  EXPECT_EQ(ask(of_wall, 30), Reason::QosGrpWall);
  for (const Qos& qos : {of_minutes, of_run, of_wall}) EXPECT_EQ(ask(qos, 20), Reason::None);
}

TEST(Limits, SayHowManyMayAge) {
  Site site;
  site.lab.group.jobs_accrue = 3;
  site.user.max_jobs_accrue = 2;
  View view = site.view();
  const auto where = counted_in(view, Site::spec(1), 3, "p");
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(may_age(view, view.tallies, where));
    recount(view.tallies, view, where, {}, part_of_wait(1, true), site.now);
  }
  EXPECT_FALSE(may_age(view, view.tallies, where));
  Qos qos;
  qos.name = "q", qos.id = 1, qos.max_jobs_accrue_per_user = 5;
  site.list = {qos};
  View other = site.view();
  other.tallies = view.tallies;
  const auto with_qos = counted_in(other, Site::spec(1, "q"), 3, "p");
  EXPECT_TRUE(may_age(other, other.tallies, with_qos));  // the QOS speaks instead of the user's row
  recount(other.tallies, other, with_qos, {}, part_of_wait(1, true), site.now);
  EXPECT_FALSE(may_age(other, other.tallies, with_qos));  // the account has three
}

TEST(Limits, SayWhoMayBePlanned) {
  Site site;
  Qos no_reserve, high;
  no_reserve.name = "a", no_reserve.id = 1, no_reserve.flags = kQosNoReserve;
  high.name = "b", high.id = 2, high.min_priority = 50;
  site.list = {no_reserve, high};
  site.user.min_priority = 100;
  const View view = site.view();
  Job job;
  job.association = 3;
  const auto ask = [&](const char* qos, std::uint32_t priority) {
    job.spec = std::make_shared<const JobSpec>(Site::spec(1, qos));
    return may_be_planned(view, job, "p", priority);
  };
  EXPECT_FALSE(ask("a", 1000));
  EXPECT_FALSE(ask("b", 49));
  EXPECT_TRUE(ask("b", 50));
  EXPECT_FALSE(ask("", 99));
  EXPECT_TRUE(ask("", 100));
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
