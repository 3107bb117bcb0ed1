// SPDX-License-Identifier: Apache-2.0
// The engine against the naive scheduler on random clusters that live for a while: jobs come, run, end early, are
// suspended, held, edited or cancelled; nodes go down and come back. One engine sees it all. At every step it must
// propose what the naive scheduler does and what an engine would that sees the cluster for the first time, down to
// each CPU and device number.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "model/relative_qos.h"
#include "sched/engine.h"
#include "sched/naive_test.h"
#include "sched/plan.h"
#include "sched/random_accounts_test.h"
#include "sched/random_specs_test.h"
#include "sched/test_cluster.h"
#include "sched/test_dice.h"

namespace spur::sched {
namespace {

std::string show(Time time) {
  return is_set(time) ? std::to_string(to_micros(time) - to_micros(at_minute(0))) : "-";
}

std::string numbers(const std::vector<NodeIndex>& nodes) {
  std::string out;
  for (const NodeIndex node : nodes) out += fmt::format("{} ", node.value);
  return out;
}

std::string show(const Plan& plan) {
  std::string out;
  for (const auto& start : plan.starts) {
    out += fmt::format("start {}", start.job.value);
    if (start.array_task) out += fmt::format("_{}", *start.array_task);
    if (start.group) out += fmt::format(" with {}", start.group.value);
    out += " in " + start.allocation->partition;
    if (!start.allocation->reservation.empty()) out += " by " + start.allocation->reservation;
    if (start.limit.is_set()) out += fmt::format(" for {}", start.limit.raw());
    for (const auto& grant : start.allocation->nodes) {
      out += fmt::format(" node {} tasks {} mem {} cpus", grant.node.value, grant.tasks, grant.memory_mib);
      for (const auto cpu : grant.cpus) out += fmt::format(" {}", cpu);
      for (const auto cpu : grant.kept_cpus) out += fmt::format(" -{}", cpu);
      for (const auto task : grant.task_ids) out += fmt::format(" t{}", task);
      for (const auto& devices : grant.devices) {
        out += fmt::format(" {}:{}", devices.gres, devices.type);
        for (const auto index : devices.indices) out += fmt::format(" {}", index);
        for (const auto share : devices.shares) out += fmt::format(" x{}", share);
      }
    }
    out += '\n';
  }
  for (const auto& wait : plan.waits)
    out += fmt::format("wait {} {} {}{} on {}\n", wait.job.value, model::reason_name(wait.reason),
                       show(wait.expected_start), wait.promised ? " promised" : "", numbers(wait.nodes));
  return out + fmt::format("wake {} more {} full {}\n", show(plan.wake_at), plan.more, plan.full);
}

class RandomLife {
 public:
  // Large ones are too much for the naive scheduler; there the engine is compared with a fresh one only. Limited ones
  // always have accounts; in those that share, jobs of most partitions may have the same cores.
  enum class Kind : std::uint8_t { Any, Large, Limited, Sharing };
  explicit RandomLife(std::uint64_t seed, Kind kind = Kind::Any) : dice_(seed), large_(kind == Kind::Large) {
    const bool large = large_;
    flavour_ = {.threads = dice_.one_in(3),
                .memory = dice_.one_in(2),
                .gpus = dice_.one_in(2),
                .links = dice_.one_in(2),
                .shards = dice_.one_in(4),
                .sockets = dice_.one_in(3),
                .topology = dice_.one_in(3),
                .features = dice_.one_in(4),
                .weights = dice_.one_in(3),
                .partitions = dice_.one_in(2),
                .limits = dice_.one_in(3),
                .exclusive = dice_.one_in(3),
                .arrays = dice_.one_in(2),
                .licenses = dice_.one_in(4),
                .failures = dice_.one_in(3),
                .multi_node = !dice_.one_in(4),
                .reservations = dice_.one_in(4),
                .users = dice_.one_in(6),
                .het = dice_.one_in(2),
                .accounts = dice_.one_in(5) || kind == Kind::Limited,
                .sharing = kind == Kind::Sharing};
    auto& config = *cluster_.config;
    config.memory_as = flavour_.memory ? model::MemoryAs::Consumable : model::MemoryAs::NotConsumable;
    config.cores_whole = !dice_.one_in(4);
    config.block_sockets = dice_.one_in(4);
    config.jobs_use_spec_cores = dice_.one_in(2);
    config.spread_shares = dice_.one_in(4);
    config.shares_of_several = dice_.one_in(4);
    config.least_loaded_nodes = dice_.one_in(8);
    config.age_weight = dice_.one_in(2) ? 1000 : 0;
    config.age_full = minutes(30);
    if (dice_.one_in(2)) config.default_memory_per_cpu_mib = 50;
    if (flavour_.licenses) config.licenses = {{"lic", dice_.between(1, 4)}, {"tool", 2}};
    const std::uint32_t nodes = large ? dice_.between(40, 200) : dice_.one_in(15) ? 30 : dice_.between(1, 8);
    for (std::uint32_t i = 0; i < nodes; ++i) make_node(i);
    if (flavour_.topology) make_topology();
    make_partitions();
    for (std::size_t p = 0; flavour_.sharing && p < cluster_.partition_count(); ++p) share(dice_, cluster_.partition(p));
    if (flavour_.accounts) make_accounts();
    params_.max_starts = dice_.one_in(5) ? dice_.between(1, 5) : 1000;
    params_.promises = dice_.one_in(3) ? dice_.below(4) : 100;
    params_.patience = dice_.one_in(2) ? Duration{0} : minutes(dice_.below(60));
    params_.backfill = dice_.one_in(3) ? model::BackfillOrder::Priority : model::BackfillOrder::Smallest;
    params_.forecasts = dice_.one_in(2) ? dice_.below(8) : 0;
    engine_ = Engine(params_);
  }

  void step() {
    now_ += dice_.one_in(3) ? Duration(seconds(dice_.between(1, 400))) : Duration(minutes(dice_.between(0, 12)));
    if (dice_.one_in(20)) now_ -= minutes(dice_.below(5));  // another leader, another clock
    things_happen();
    for (std::uint32_t i = 0, count = dice_.below(large_ ? 150 : 6); i < count; ++i) submit();
    ASSERT_NO_FATAL_FAILURE(call(dice_.one_in(3)));
    if (!dice_.one_in(3)) return;
    // Something small, answered at once.
    now_ += Duration(dice_.one_in(2) ? 0 : dice_.below(3'000'000));
    dice_.one_in(2) ? submit() : end_one();
    ASSERT_NO_FATAL_FAILURE(call(dice_.one_in(10)));
  }

  void call(bool full) {
    if (dice_.one_in(4)) engine_.see(view_);  // the same again
    view_ = cluster_.view();
    if (flavour_.accounts) count_jobs();
    Engine fresh(params_);
    fresh.see(view_);
    engine_.see(view_);
    const auto rebuilds = engine_.rebuilds();
    if (full || rebuilds != rebuilds_seen_) holds_.clear();
    if (!full && rebuilds == rebuilds_seen_) fresh.adopt(engine_.planned());
    const Plan plan = full ? engine_.plan(now_) : engine_.respond(now_);
    ASSERT_TRUE(full || plan.full == (rebuilds != rebuilds_seen_));
    rebuilds_seen_ = engine_.rebuilds();
    ASSERT_EQ(show(plan), show(full ? fresh.plan(now_) : fresh.respond(now_)));
    ASSERT_EQ(engine_.lost_track(), 0u);
    if (!large_) {
      Naive naive(view_, params_, now_);
      ASSERT_EQ(show(plan), show(plan.full ? naive.run() : naive.respond(holds_)));
      holds_ = naive.holds();
    }
    (plan.full ? full_calls_ : quick_calls_)++;
    starts_ += plan.starts.size();
    quick_starts_ += plan.full ? 0 : plan.starts.size();
    for (const auto& start : plan.starts) {
      cut_ += start.limit.is_set() && start.limit != cluster_.job(start.job.value).time_limit;
      in_reservations_ += !start.allocation->reservation.empty();
      components_ += start.group.value != 0;
    }
    for (const auto& start : plan.starts)
      for (const auto& grant : start.allocation->nodes)
        for (const auto& devices : grant.devices) {
          shares_ += devices.shares.size();
          several_devices_ += devices.indices.size() > 1;
        }
    for (const auto& wait : plan.waits) {
      ++reasons_[wait.reason];
      planned_ += is_set(wait.expected_start);
    }
    ASSERT_NO_FATAL_FAILURE(cluster_.carry_out(some_of(plan), now_));
  }

  // Proposals may come to nothing, and answers may come late.
  Plan some_of(Plan plan) {
    if (!dice_.one_in(6)) return plan;
    std::set<JobId> dropped;
    const auto whole = [](const Start& start) { return start.group ? start.group : start.job; };
    for (const auto& start : plan.starts)
      if (dice_.one_in(3)) dropped.insert(whole(start));
    std::erase_if(plan.starts, [&](const Start& start) { return dropped.contains(whole(start)); });
    if (dice_.one_in(2)) plan.waits.clear();
    return plan;
  }

  std::size_t starts_ = 0, planned_ = 0, full_calls_ = 0, quick_calls_ = 0, quick_starts_ = 0;
  std::size_t shares_ = 0, several_devices_ = 0, cut_ = 0, in_reservations_ = 0, components_ = 0;
  std::size_t shared_cpus() const { return cluster_.shared_cpus; }
  std::map<model::Reason, std::size_t> reasons_;

 private:
  void make_node(std::uint32_t i) {
    auto& node = cluster_.add_node("n" + std::to_string(i), dice_.between(2, 16), dice_.between(4, 20) * 100);
    if (flavour_.threads && dice_.one_in(2)) {
      node.hardware.threads_per_core = 2;
      node.hardware.sockets = 1;
      node.hardware.cores_per_socket = dice_.between(1, 6);
      node.hardware.cpus = node.hardware.cores_per_socket * (dice_.one_in(4) ? 1 : 2);
    }
    if (flavour_.sockets && !dice_.one_in(3)) {
      node.hardware.sockets = dice_.between(2, 3);
      node.hardware.cores_per_socket = dice_.between(2, 3);
      node.hardware.threads_per_core = dice_.between(1, 2);
      node.hardware.cpus = node.hardware.sockets * node.hardware.cores_per_socket *
                           (dice_.one_in(5) ? 1 : node.hardware.threads_per_core);
      if (dice_.one_in(4)) node.hardware.spec_cores = dice_.between(1, 3);
      if (dice_.one_in(4)) node.hardware.spec_memory_mib = 100;
    }
    if (flavour_.gpus && !dice_.one_in(3)) add_gpus(node.hardware);
    if (flavour_.features)
      for (const char* feature : {"red", "big", "fast"})
        if (dice_.one_in(2)) node.features.push_back(feature);
    node.active_features = node.features;
    if (flavour_.weights) node.weight = dice_.between(1, 3);
    node.hardware.tmp_disk_mib = dice_.below(3) * 100;
  }

  void add_gpus(model::NodeHardware& hardware) {
    const std::uint32_t count = flavour_.links && dice_.one_in(3) ? dice_.between(5, 8) : dice_.between(1, 4);
    const std::uint32_t others = dice_.one_in(3) ? dice_.between(1, 2) : 0;
    const char* type = dice_.one_in(2) ? "a" : "b";
    if (!flavour_.links) {
      hardware.gres.push_back({"gpu", type, count, ""});
      if (others) hardware.gres.push_back({"gpu", "c", others, ""});
    }
    const std::uint32_t all = count > 6 ? count : count + others;
    const std::uint32_t cores = hardware.sockets * hardware.cores_per_socket;
    for (std::uint32_t i = 0; flavour_.links && i < all; ++i) {
      model::NodeGres gpu{"gpu", i < count ? type : "c", 1, "/dev/nvidia" + std::to_string(i)};
      for (std::uint32_t k = 0; k < all; ++k)
        gpu.links += (k ? "," : "") + std::to_string(k == i ? -1 : static_cast<int>(dice_.below(3)));
      if (dice_.one_in(2)) {
        const std::uint32_t first = dice_.below(cores);
        gpu.cores = fmt::format("{}-{}", first, std::min(cores - 1, first + dice_.below(3)));
      }
      hardware.gres.push_back(gpu);
    }
    if (flavour_.shards) hardware.gres.push_back({"shard", "", all * dice_.between(1, 4) + dice_.below(2), ""});
    if (dice_.one_in(3)) hardware.gres.push_back({"nic", "", 2, dice_.one_in(2) ? "/dev/nic[0-1]" : ""});
  }

  // Leaves of one to three nodes in a random order, below one or two levels of switches; or blocks.
  void make_topology() {
    auto& topology = cluster_.config->topology;
    std::vector<std::uint32_t> nodes;
    for (std::uint32_t n = 0; n < cluster_.node_count(); ++n)
      if (!dice_.one_in(10))
        nodes.insert(nodes.begin() + dice_.below(static_cast<std::uint32_t>(nodes.size()) + 1), n);
    std::vector<std::string> leaves;
    while (!nodes.empty()) {
      model::SwitchConfig leaf{"leaf" + std::to_string(leaves.size()), "", "", 0};
      for (std::uint32_t i = dice_.between(1, 3); i > 0 && !nodes.empty(); --i, nodes.pop_back())
        leaf.nodes += (leaf.nodes.empty() ? "n" : ",n") + std::to_string(nodes.back());
      leaves.push_back(leaf.name);
      topology.switches.push_back(leaf);
    }
    topology.kind = model::TopologyKind::Tree;
    topology.optional = dice_.one_in(6);
    if (dice_.one_in(4)) {
      topology.kind = model::TopologyKind::Block;
      topology.blocks.swap(topology.switches);
      if (dice_.one_in(2)) topology.block_sizes = {2, 4, 8};
      return;
    }
    for (std::uint32_t s = 0; !leaves.empty(); ++s) {
      model::SwitchConfig spine{"spine" + std::to_string(s), "", "", 0};
      for (std::uint32_t i = dice_.between(1, 3); i > 0 && !leaves.empty(); --i, leaves.pop_back())
        spine.switches += (spine.switches.empty() ? "" : ",") + leaves.back();
      topology.switches.push_back(spine);
    }
  }

  void make_partitions() {
    const std::uint32_t count = flavour_.partitions ? dice_.between(2, 3) : 1;
    for (std::uint32_t p = 0; p < count; ++p) {
      std::vector<std::uint32_t> nodes;
      for (std::uint32_t n = 0; p > 0 && n < cluster_.node_count(); ++n)
        if (!dice_.one_in(3)) nodes.push_back(n);
      auto& partition = cluster_.add_partition("p" + std::to_string(p), nodes);
      partition.priority_tier = dice_.one_in(2) ? 1 : dice_.between(1, 3);
      if (flavour_.limits) {
        if (dice_.one_in(2)) partition.max_nodes = dice_.between(1, 3);
        if (dice_.one_in(3)) partition.min_nodes = 2;
        if (dice_.one_in(2)) partition.max_time = TimeLimit::of_minutes(dice_.between(10, 40));
        if (dice_.one_in(3)) partition.max_cpus_per_node = dice_.between(1, 4);
        if (dice_.one_in(6)) partition.state = model::PartitionState::Down;
        if (dice_.one_in(8)) partition.state = model::PartitionState::Inactive;
        if (dice_.one_in(3)) partition.default_time = TimeLimit::of_minutes(15);
      }
      if (flavour_.exclusive && dice_.one_in(4)) partition.oversubscribe = model::OverSubscribe::Exclusive;
      if (flavour_.users && dice_.one_in(3)) partition.exclusive_user = true;
      partition.lln = dice_.one_in(6);
      if (dice_.one_in(4)) partition.default_memory_per_node_mib = 100;
      if (dice_.one_in(6)) partition.max_memory_per_cpu_mib = 60;
      if (dice_.one_in(6)) partition.default_cpus_per_gpu = dice_.between(1, 3);
      if (dice_.one_in(6)) partition.default_memory_per_gpu_mib = 80;
    }
  }

  void submit_het() {
    std::vector<model::JobSpec> specs;
    for (std::uint32_t i = dice_.between(2, dice_.one_in(4) ? 4 : 2); i > 0; --i) {
      if (!specs_.empty() && dice_.one_in(2))
        specs.push_back(specs_[dice_.below(static_cast<std::uint32_t>(specs_.size()))]);
      else
        specs.push_back(RandomSpecs(dice_, flavour_, cluster_.node_count()).next(now_));
      specs.back().array.reset();
    }
    cluster_.submit_het(specs, now_);
  }

  void submit() {
    if (flavour_.het && dice_.one_in(2)) return submit_het();
    // Every other job is like an earlier one, so that classes have more than one member.
    if (!specs_.empty() && dice_.one_in(2)) {
      cluster_.submit(specs_[dice_.below(static_cast<std::uint32_t>(specs_.size()))], now_);
    } else {
      specs_.push_back(RandomSpecs(dice_, flavour_, cluster_.node_count()).next(now_));
      cluster_.submit(specs_.back(), now_);
    }
  }

  // ---- accounts (random_accounts_test.h)
  void make_accounts() {
    RandomAccounts made(dice_, *cluster_.config);
    book_ = made.book;
    qos_ = made.qos;
    for (std::size_t i = 0; i < cluster_.partition_count(); ++i) {
      auto& qos = cluster_.partition(static_cast<std::uint32_t>(i)).qos;
      qos = dice_.one_in(3) ? fmt::format("q{}", dice_.below(3)) : "";
    }
  }
  // The view as the state would have it.
  void count_jobs() {
    for (const auto& [id, job] : cluster_.jobs()) {
      if (job->het_job) continue;
      const auto* row = book_->find(job->spec->account, job->spec->uid, "");
      job->association = row ? row->id : 0;
      if (is_set(job->started)) job->counted_from = job->started;
    }
    view_ = cluster_.view();
    view_.accounts = book_;
    view_.qos = qos_;
    view_.tres = std::make_shared<const model::TresTable>(*view_.config);
    view_.qos_in_force = model::qos_with_amounts(view_);
    view_.tallies = {};
    view_.jobs.for_each(
        [&](std::uint32_t, const model::JobPtr& job) { model::recount(view_, nullptr, job.get(), now_); });
    for (const std::uint32_t id : {1u, 2u, 4u}) {
      model::Tally tally;
      if (const auto* found = view_.tallies.associations.find(id)) tally = **found;
      tally.widen(view_.tres->size() + 1);
      for (auto& past : tally.past) past = model::Wide{1000 * 3600} << model::kFadedBits;
      view_.tallies.associations.set(id, std::make_shared<const model::Tally>(std::move(tally)));
    }
  }

  // One more reservation, of some nodes or some cores, soon or now; or all are gone.
  void reserve() {
    if (dice_.one_in(4)) {
      cluster_.reservations = std::make_shared<std::vector<model::Reservation>>();
      return;
    }
    auto list = *cluster_.reservations;
    model::Reservation one;
    one.name = fmt::format("r{}", reserved_++);
    one.start = now_ + minutes(dice_.below(60)) - minutes(20);
    one.end = one.start + minutes(dice_.between(10, 90));
    if (dice_.one_in(4)) one.flags |= model::kResvDaily;
    for (const std::uint64_t flag : {model::kResvMaint, model::kResvOverlap, model::kResvFlex, model::kResvAnyNodes,
                                     model::kResvTimeFloat, model::kResvMagnetic})
      if (dice_.one_in(8)) one.flags |= flag;
    one.float_ahead = seconds(60 * dice_.below(20));
    one.user_ids = {Uid(dice_.between(1, 2))};
    one.users.names = {"somebody"};
    for (std::uint32_t n = 0; n < cluster_.node_count(); ++n) {
      if (!dice_.one_in(3)) continue;
      model::ReservedNode part{NodeIndex(n)};
      const auto& hw = cluster_.node(n).hardware;
      if (dice_.one_in(3) && hw.cpus % (hw.sockets * hw.cores_per_socket) == 0)
        for (std::uint32_t c = 0; c < hw.sockets * hw.cores_per_socket; c += 2)
          part.cores.push_back(static_cast<std::uint16_t>(c));
      else if (dice_.one_in(3) && !hw.gres.empty() && hw.gres[0].name == "gpu")
        part.devices = {{"gpu", hw.gres[0].type, {0}}};
      one.nodes.push_back(std::move(part));
    }
    if (flavour_.licenses && dice_.one_in(2)) one.licenses = {{"lic", 1}};
    if (one.nodes.empty() && one.licenses.empty()) return;
    list.push_back(std::move(one));
    cluster_.reservations = std::make_shared<std::vector<model::Reservation>>(std::move(list));
  }

  void things_happen() {
    if (flavour_.reservations && dice_.one_in(3)) reserve();
    if (flavour_.accounts && dice_.one_in(6)) make_accounts();  // as sacctmgr does while jobs run
    std::vector<JobId> running, pending, completing;
    for (const auto& [id, job] : cluster_.jobs()) {
      if (job->flags & model::kCompleting)
        completing.push_back(id);
      else if (model::is_active(job->state))
        running.push_back(id);
      else if (job->state == model::JobState::Pending)
        pending.push_back(id);
    }
    for (const JobId id : completing) cluster_.finish(id);
    for (const JobId id : running) {
      const auto& job = cluster_.job(id.value);
      const bool overdue = job.time_limit.is_finite() && now_ >= job.started + job.time_limit.duration();
      if (overdue ? !dice_.one_in(6) : dice_.one_in(6))
        dice_.one_in(4) ? cluster_.begin_completing(id) : cluster_.finish(id);
      else if (job.state == model::JobState::Running && dice_.one_in(25))
        cluster_.suspend(id, now_);
    }
    for (const JobId id : pending) {
      auto& job = cluster_.job(id.value);
      if (dice_.one_in(30))
        job.hold = dice_.one_in(2) ? model::Hold::User : model::Hold::Admin;
      else if (job.hold != model::Hold::None && dice_.one_in(3))
        job.hold = model::Hold::None;
      if (dice_.one_in(25)) {
        // Mostly the whole: what is left of a heterogeneous job never starts.
        for (std::uint32_t i = 0; job.het_job && !dice_.one_in(8) && i < job.het_size; ++i)
          if (auto& other = cluster_.job(job.het_job.value + i); other.state == model::JobState::Pending)
            cluster_.cancel(other.id);
        cluster_.cancel(id);
        continue;
      }
      if (dice_.one_in(12)) edit(job);
      if (dice_.one_in(30))
        job.dependencies_left = {{}};
      else if (dice_.one_in(3))
        job.dependencies_left.clear();
    }
    for (std::uint32_t n = 0; flavour_.failures && n < cluster_.node_count(); ++n) {
      auto& node = cluster_.node(n);
      if (dice_.one_in(8)) node.flags ^= model::kNodeDrain;
      if (dice_.one_in(12) && node.jobs.empty()) node.down = !node.down;
      if (dice_.one_in(25)) node.weight = dice_.between(1, 3);
      if (dice_.one_in(25) && node.jobs.empty()) {
        node.hardware.cpus = node.hardware.sockets = dice_.between(2, 16);
        node.hardware.threads_per_core = node.hardware.cores_per_socket = 1;
        node.cpus_in_use = {0};
      }
      if (dice_.one_in(40) && node.jobs.empty() && flavour_.gpus) {
        node.hardware.gres.clear();
        node.devices_in_use.clear();
        if (dice_.one_in(2)) node.hardware.gres.push_back({"gpu", "a", dice_.between(1, 4), ""});
      }
    }
    if (flavour_.sharing && dice_.one_in(12)) share(dice_, cluster_.partition(0));
    if (flavour_.limits && dice_.one_in(8)) {
      auto& partition = cluster_.partition(dice_.below(static_cast<std::uint32_t>(cluster_.partition_count())));
      partition.state = dice_.one_in(3) ? model::PartitionState::Down : model::PartitionState::Up;
    }
  }

  // As scontrol does it.
  void edit(model::Job& job) {
    auto spec = std::make_shared<model::JobSpec>(*job.spec);
    switch (dice_.below(6)) {
      case 0:
        job.time_limit = spec->time_limit = TimeLimit::of_minutes(dice_.between(1, 40));
        break;
      case 1:
        spec->nice = static_cast<std::int32_t>(dice_.below(200)) - 100;
        break;
      case 2:
        job.priority_by_hand = true;
        job.priority = dice_.between(1, 200'000);
        break;
      case 3:
        spec->cpus_per_task = dice_.between(1, 4);
        break;
      case 4:
        spec->begin = job.eligible = job.accrue = now_ + minutes(dice_.below(10));
        break;
      case 5:
        job.array_max_running = job.array_job ? dice_.below(4) : 0;
        break;
    }
    job.spec = std::move(spec);
  }

  void end_one() {
    for (const auto& [id, job] : cluster_.jobs()) {
      if (!model::is_active(job->state) || dice_.one_in(2)) continue;
      if (dice_.one_in(4))
        job->time_limit = TimeLimit::of_minutes(dice_.between(1, 60));  // sooner or later than it was
      else
        cluster_.finish(id);
      return;
    }
  }

  Dice dice_;
  bool large_;
  Flavour flavour_;
  TestCluster cluster_;
  Params params_;
  Time now_ = at_minute(0);
  std::vector<model::JobSpec> specs_;
  std::shared_ptr<const model::AccountBook> book_;
  std::shared_ptr<const std::vector<model::Qos>> qos_;
  model::View view_ = cluster_.view();
  Engine engine_;
  std::uint64_t rebuilds_seen_ = 0;
  std::uint32_t reserved_ = 0;
  NaiveHolds holds_;
};

TEST(PlanRandom, AgreesWithTheNaiveScheduler) {
  std::size_t starts = 0, planned = 0, full = 0, quick = 0, quick_starts = 0, shares = 0, several_devices = 0;
  std::size_t cut = 0, in_reservations = 0, components = 0;
  std::map<model::Reason, std::size_t> reasons;
  const auto [from, to] = seeds(2000);
  for (std::uint64_t seed = from; seed <= to; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomLife life(seed);
    for (int step = 0; step < 12; ++step) ASSERT_NO_FATAL_FAILURE(life.step()) << "step " << step;
    starts += life.starts_;
    planned += life.planned_;
    full += life.full_calls_;
    quick += life.quick_calls_;
    quick_starts += life.quick_starts_;
    shares += life.shares_;
    several_devices += life.several_devices_;
    cut += life.cut_;
    in_reservations += life.in_reservations_;
    components += life.components_;
    for (const auto& [reason, times] : life.reasons_) reasons[reason] += times;
  }
  // A generator gone dull would make the comparison above say nothing.
  const std::uint64_t count = to - from + 1;
  if (count < 1000) return;
  EXPECT_GT(starts, 10 * count);
  EXPECT_GT(planned, 5 * count);
  EXPECT_GT(full, 4 * count);
  EXPECT_GT(quick, 6 * count);
  EXPECT_GT(quick_starts, 4 * count);
  EXPECT_GT(shares, count / 5);
  EXPECT_GT(several_devices, count);
  EXPECT_GT(cut, count / 20);
  EXPECT_GT(in_reservations, count / 10);
  EXPECT_GT(components, count);
  using enum model::Reason;
  for (const auto reason : {Priority, Dependency, Resources, PartitionNodeLimit, PartitionTimeLimit, PartitionDown,
                            PartitionInactive, JobHeldAdmin, JobHeldUser, BeginTime, Licenses, ReqNodeNotAvail,
                            BadConstraints, JobArrayTaskLimit, PartitionConfig, DeadLine, Reservation})
    EXPECT_GT(reasons[reason], 50u) << model::reason_name(reason);
  std::size_t limits = 0;
  for (const auto& [reason, times] : reasons) limits += reason >= AccountingPolicy ? times : 0;
  EXPECT_GT(limits, count);
}

// The same with accounts in all of them: every kind of limit must speak somewhere.
TEST(PlanRandom, KeepsLimitsAsTheNaiveSchedulerDoes) {
  std::map<model::Reason, std::size_t> reasons;
  const auto [from, to] = seeds(1000);
  for (std::uint64_t seed = from; seed <= to; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomLife life(seed, RandomLife::Kind::Limited);
    for (int step = 0; step < 12; ++step) ASSERT_NO_FATAL_FAILURE(life.step()) << "step " << step;
    for (const auto& [reason, times] : life.reasons_) reasons[reason] += times;
  }
  if (to - from + 1 < 1000) return;
  using model::LimitOn;
  for (const auto on : {LimitOn::AssocGrp, LimitOn::AssocGrpMinutes, LimitOn::AssocGrpRunMinutes, LimitOn::AssocMaxPerJob,
                        LimitOn::AssocMaxPerNode, LimitOn::AssocMaxMinutesPerJob, LimitOn::QosGrp,
                        LimitOn::QosGrpMinutes, LimitOn::QosGrpRunMinutes, LimitOn::QosMaxPerJob,
                        LimitOn::QosMaxPerNode, LimitOn::QosMaxPerUser, LimitOn::QosMaxPerAccount,
                        LimitOn::QosMaxMinutesPerJob, LimitOn::QosMin})
    EXPECT_GT(reasons[model::tres_reason(on, model::TresKind::Cpu)], 20u) << static_cast<int>(on);
  for (const auto on : {LimitOn::AssocGrp, LimitOn::QosGrp, LimitOn::QosMaxPerUser, LimitOn::QosMaxPerAccount})
    EXPECT_GT(reasons[model::tres_reason(on, model::TresKind::Node)], 20u) << static_cast<int>(on);
  using enum model::Reason;
  for (const auto reason : {AssocGrpJobs, AssocGrpWall, AssocMaxJobs, AssocMaxWall, QosGrpJobs, QosGrpWall,
                            QosMaxJobsPerUser, QosMaxJobsPerAccount, QosMaxWall})
    EXPECT_GT(reasons[reason], 20u) << model::reason_name(reason);
}

TEST(PlanRandom, SharesCoresAsTheNaiveSchedulerDoes) {
  std::size_t shared = 0;
  const auto [from, to] = seeds(1500);
  for (std::uint64_t seed = from; seed <= to; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomLife life(seed, RandomLife::Kind::Sharing);
    for (int step = 0; step < 12; ++step) ASSERT_NO_FATAL_FAILURE(life.step()) << "step " << step;
    shared += life.shared_cpus();
  }
  if (to - from < 999) return;
  EXPECT_GT(shared, 2 * (to - from));
}

TEST(PlanRandom, AnswersAsOneThatSeesItForTheFirstTime) {
  const auto [from, to] = seeds(2000);
  for (std::uint64_t seed = from; seed <= from + (to - from) / 50; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomLife life(seed, RandomLife::Kind::Large);
    for (int step = 0; step < 12; ++step) ASSERT_NO_FATAL_FAILURE(life.step()) << "step " << step;
  }
}

}  // namespace
}  // namespace spur::sched
