// SPDX-License-Identifier: Apache-2.0
// Random lives of accounts and QOS whose limits change while jobs come, start, are held, suspended, requeued, changed
// and end. Whether a submit is refused, and for which limit, must be what a plain count of all records says; nobody may
// be kept from aging while a count leaves a place. That the tallies themselves are what the records add up to is
// checked after each command (check_invariants in World). Starts: sched/plan_random_test.cc.
#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <random>

#include "model/counting.h"
#include "state/test_world.h"

namespace spur::state {
namespace {

using model::Job;
using model::Reason;

// Counts everything anew, whenever it is asked.
class Count {
 public:
  using Which = std::function<bool(const Job&)>;
  explicit Count(const model::View& view) : view_(view) {}

  std::vector<const model::Qos*> qos_of(const model::JobSpec& spec) const {
    const model::Qos* own = model::find_qos(view_, spec.qos);
    const model::Qos* of_partition = model::find_qos(view_, view_.partitions->front().config.qos);
    std::vector<const model::Qos*> list;
    if (of_partition) list.push_back(of_partition);
    if (own && own != of_partition) list.push_back(own);
    if (own && (own->flags & model::kQosOverPartitionQos)) std::ranges::reverse(list);
    return list;
  }
  std::vector<std::uint32_t> rows_of(std::uint32_t association) const {
    std::vector<std::uint32_t> out;
    for (const auto* row = view_.accounts->find(association); row; row = view_.accounts->parent(*row))
      out.push_back(row->id);
    return out;
  }
  Which in_qos(const model::Qos& qos) const {
    return [this, id = qos.id](const Job& job) {
      return std::ranges::any_of(qos_of(*job.spec), [&](const model::Qos* one) { return one->id == id; });
    };
  }
  Which below(std::uint32_t row) const {
    return [this, row](const Job& job) {
      const auto rows = rows_of(job.association);
      return std::ranges::find(rows, row) != rows.end();
    };
  }
  static Which both(Which a, Which b) {
    return [a = std::move(a), b = std::move(b)](const Job& job) { return a(job) && b(job); };
  }
  std::uint64_t jobs(const Which& which) const {
    std::uint64_t sum = 0;
    view_.jobs.for_each([&](std::uint32_t, const model::JobPtr& job) {
      if (job->association == 0 || model::is_final(job->state) || !view_.accounts->find(job->association)) return;
      if (which(*job)) sum += job->is_array_rest() ? job->array_pending->size() : 1;
    });
    return sum;
  }
  std::uint64_t aging(const Which& which) const {
    std::uint64_t sum = 0;
    view_.pending.for_each([&](std::uint32_t, const model::JobPtr& job) {
      if (job->association == 0 || !is_set(job->accrue) || (job->flags & model::kNotAging)) return;
      if (view_.accounts->find(job->association) && which(*job)) ++sum;
    });
    return sum;
  }

  Reason submit(const model::JobSpec& spec, std::uint64_t more) const {
    const auto* own = row_of(spec);
    if (!own) return Reason::None;
    const auto full = [&](const Which& which, std::optional<std::uint32_t> limit) {
      return limit && jobs(which) + more > *limit;
    };
    const Which mine = [&](const Job& job) { return job.spec->uid == spec.uid; };
    const Which ours = [&](const Job& job) { return view_.accounts->find(job.association)->account == own->account; };
    bool group = false, user = false, account = false;
    for (const model::Qos* qos : qos_of(spec)) {
      const Which in = in_qos(*qos);
      if (!group && full(in, qos->group.submit)) return Reason::QosGrpSubmit;
      if (!user && full(both(in, mine), qos->max_submit_per_user)) return Reason::QosMaxSubmitPerUser;
      if (!account && full(both(in, ours), qos->max_submit_per_account)) return Reason::QosMaxSubmitPerAccount;
      group |= qos->group.submit.has_value();
      user |= qos->max_submit_per_user.has_value();
      account |= qos->max_submit_per_account.has_value();
    }
    if (!user && full(below(own->id), own->max_submit)) return Reason::AssocMaxSubmit;
    for (const std::uint32_t row : rows_of(own->id))
      if (!group && full(below(row), view_.accounts->find(row)->group.submit)) return Reason::AssocGrpSubmit;
    return Reason::None;
  }

  bool may_age(const Job& job) const {
    const auto* own = view_.accounts->find(job.association);
    if (!own) return true;
    const auto full = [&](const Which& which, std::optional<std::uint32_t> limit) {
      return limit && aging(which) >= *limit;
    };
    const Which mine = [&](const Job& other) { return other.spec->uid == job.spec->uid; };
    const Which ours = [&](const Job& other) {
      return view_.accounts->find(other.association)->account == own->account;
    };
    bool group = false, user = false, account = false;
    for (const model::Qos* qos : qos_of(*job.spec)) {
      const Which in = in_qos(*qos);
      if (!group && full(in, qos->group.jobs_accrue)) return false;
      if (!user && full(both(in, mine), qos->max_jobs_accrue_per_user)) return false;
      if (!account && full(both(in, ours), qos->max_jobs_accrue_per_account)) return false;
      group |= qos->group.jobs_accrue.has_value();
      user |= qos->max_jobs_accrue_per_user.has_value();
      account |= qos->max_jobs_accrue_per_account.has_value();
    }
    if (!user && !account && full(below(own->id), own->max_jobs_accrue)) return false;
    for (const std::uint32_t row : rows_of(own->id))
      if (!group && full(below(row), view_.accounts->find(row)->group.jobs_accrue)) return false;
    return true;
  }

 private:
  const model::Association* row_of(const model::JobSpec& spec) const {
    return view_.accounts->find(spec.account, spec.uid, "main");
  }
  const model::View& view_;
};

class RandomLimits {
 public:
  explicit RandomLimits(std::uint64_t seed) : dice_(seed), world_(4, 4, 0, config()) { set_accounts(true); }

  void step() {
    switch (below(12)) {
      case 0:
        set_accounts(below(3) == 0);
        break;
      case 1:
      case 2:
      case 3:
      case 4:
        submit();
        break;
      case 5:
      case 6:
        start();
        break;
      default:
        something();
    }
    ASSERT_NO_FATAL_FAILURE(nobody_waits_to_age_in_vain());
  }

  std::size_t refused = 0, taken = 0, not_aging = 0, started = 0;

 private:
  static model::ClusterConfig config() {
    model::ClusterConfig config;
    config.accounting.associations = config.accounting.limits = true;
    return config;
  }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(dice_() % n); }
  std::optional<std::uint32_t> sometimes(std::uint32_t most) {
    return below(3) == 0 ? std::optional(below(most)) : std::nullopt;
  }

  model::Association row(std::uint32_t id, std::uint32_t parent, const char* account, std::uint32_t user) {
    model::Association out;
    out.id = id;
    out.parent = parent;
    out.account = account;
    out.group.submit = sometimes(30);
    out.group.jobs_accrue = sometimes(6);
    if (below(4) == 0) out.group.tres = {{"node", 1 + below(4)}, {"cpu", 1 + below(12)}};
    if (user == 0) return out;
    out.user = fmt::format("u{}", user);
    out.uid = user;
    out.max_submit = sometimes(15);
    out.max_jobs_accrue = sometimes(4);
    out.max_jobs = sometimes(4);
    return out;
  }
  void set_accounts(bool all) {
    SetAccounts command;
    command.update.revision = ++revision_;
    command.update.all = all;
    std::uint32_t id = 1;
    const auto add = [&](std::uint32_t parent, const char* account, std::uint32_t user) {
      auto one = row(id++, parent, account, user);
      if (all || below(3) == 0) command.update.associations.push_back(std::move(one));
    };
    add(0, "root", 0), add(1, "a", 0), add(below(2) ? 1 : 2, "b", 0);
    for (std::uint32_t user = 1; user <= 3; ++user) add(2, "a", user), add(3, "b", user);
    for (std::uint32_t i = 0; i < 3; ++i) {
      if (!all && below(2)) continue;
      model::Qos qos;
      qos.name = fmt::format("q{}", i);
      qos.id = i + 1;
      qos.group.submit = sometimes(25);
      qos.group.jobs_accrue = sometimes(5);
      qos.max_submit_per_user = sometimes(12);
      qos.max_submit_per_account = sometimes(18);
      qos.max_jobs_accrue_per_user = sometimes(4);
      qos.max_jobs_accrue_per_account = sometimes(5);
      if (below(4) == 0) qos.max_tres_per_user = {{"node", 1 + below(3)}};
      if (below(4) == 0) qos.flags |= model::kQosOverPartitionQos;
      if (below(5) == 0) qos.flags |= model::kQosRelative, qos.group.tres = {{"cpu", below(100)}};
      command.update.qos.push_back(std::move(qos));
    }
    world_.must(std::move(command));
    if (below(4) == 0) {
      model::ClusterConfig next = *world_.view().config;
      next.partitions.front().qos = below(2) ? fmt::format("q{}", below(3)) : "";
      world_.must(SetConfig{next});
    }
  }
  void submit() {
    model::JobSpec one = spec("j");
    one.uid = Uid{1 + below(3)};
    one.account = below(2) ? "a" : "b";
    if (below(4)) one.qos = fmt::format("q{}", below(3));
    if (below(5) == 0) {
      one.array.emplace();
      one.array->tasks.insert_range(0, below(6));
    }
    one.hold = below(8) == 0;
    SubmitJob command{std::make_shared<const model::JobSpec>(one), {}};
    std::uint64_t jobs = one.array ? one.array->tasks.size() : 1;
    for (std::uint32_t more = !one.array && below(8) == 0 ? 1 + below(2) : 0; more > 0; --more, ++jobs) {
      command.more.push_back(command.spec);
    }
    const Reason expected = Count(world_.view()).submit(one, jobs);
    const Outcome outcome = world_.run(std::move(command));
    ASSERT_EQ(outcome.status.has_value(), expected == Reason::None) << model::reason_name(expected);
    if (!outcome.status) { ASSERT_EQ(outcome.status.error().message, model::reason_name(expected)); }
    ++(outcome.status ? taken : refused);
  }
  JobId some(const CowMap<model::JobPtr>& jobs) {
    JobId found{1};
    std::size_t skip = jobs.empty() ? 0 : below(static_cast<std::uint32_t>(jobs.size()));
    jobs.for_each([&](std::uint32_t id, const model::JobPtr&) {
      found = JobId{id};
      return skip-- > 0;
    });
    return found;
  }
  void start() {
    const JobId id = some(world_.view().pending);
    const Job* job = model::find_job(world_.view(), id);
    if (!job || job->het_job) return;
    const std::uint32_t node = below(4);
    std::optional<std::uint32_t> task;
    if (job->is_array_rest()) task = job->array_pending->lowest();
    const Outcome outcome =
        world_.run(StartJob{id, task, World::on(node, {static_cast<model::CpuNumber>(below(4))})});
    started += outcome.status.has_value();
  }
  void something() {
    const JobTarget any{some(world_.view().jobs), {}}, running{some(world_.view().active), {}};
    switch (below(8)) {
      case 0:
        world_.run(HoldJob{any});
        break;
      case 1:
        world_.run(ReleaseJob{any});
        break;
      case 2:
        world_.run(cancel(any));
        break;
      case 3:
        world_.run(SuspendJob{running});
        break;
      case 4:
        world_.run(ResumeJob{running});
        break;
      case 5: {
        const Job* job = model::find_job(world_.view(), any.id);
        if (!job) return;
        auto next = std::make_shared<model::JobSpec>(*job->spec);
        next->qos = fmt::format("q{}", below(3));
        next->account = below(2) ? "a" : "b";
        UpdateJob update;
        update.target = any;
        update.spec = next;
        world_.run(std::move(update));
        break;
      }
      case 6:
        world_.run(RequeueJob{running});
        break;
      default: {
        const Job* job = model::find_job(world_.view(), running.id);
        if (!job || !job->allocation || job->nodes_left.empty()) return;
        world_.run(world_.done_report(job->id.value, fmt::format("n{}", job->nodes_left.front().value + 1)));
      }
    }
  }
  void nobody_waits_to_age_in_vain() {
    const Count count(world_.view());
    world_.view().pending.for_each([&](std::uint32_t id, const model::JobPtr& job) {
      if (!(job->flags & model::kNotAging)) return;
      ++not_aging;
      EXPECT_FALSE(count.may_age(*job)) << "job " << id;
    });
  }

  std::mt19937_64 dice_;
  World world_;
  std::uint64_t revision_ = 0;
};

TEST(LimitsRandom, AgreeWithAPlainCount) {
  std::uint64_t last = 300;
  if (const char* asked = std::getenv("SPUR_SEEDS")) last = std::strtoull(asked, nullptr, 10);
  std::size_t refused = 0, taken = 0, not_aging = 0, started = 0;
  for (std::uint64_t seed = 1; seed <= last; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomLimits life(seed);
    for (int i = 0; i < 60; ++i) {
      ASSERT_NO_FATAL_FAILURE(life.step()) << "step " << i;
      if (testing::Test::HasFailure()) return;
    }
    refused += life.refused, taken += life.taken, not_aging += life.not_aging, started += life.started;
  }
  if (last < 100) return;
  EXPECT_GT(refused, last);
  EXPECT_GT(taken, last * 5);
  EXPECT_GT(not_aging, last * 5);
  EXPECT_GT(started, last);
}

}  // namespace
}  // namespace spur::state
