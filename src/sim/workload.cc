// SPDX-License-Identifier: Apache-2.0
#include "sim/workload.h"

#include <csignal>
#include <utility>

#include "sim/world.h"

namespace spur::sim {
namespace {

constexpr Duration kAskAgain = std::chrono::seconds(10);

}  // namespace

Workload::Workload(World& world, Random random, std::uint32_t steps)
    : world_(world), random_(random), steps_left_(steps) {
  admin_.role = model::Role::Admin;
  admin_.uid = kRootUid;
  user_.role = model::Role::User;
  user_.uid = Uid{1000};
  user_.gid = Gid{1000};
}

void Workload::begin() {
  world_.events().after(std::chrono::seconds(1), [this] { act(); });
}

void Workload::act() {
  if (steps_left_ == 0) return;
  --steps_left_;
  const auto dice = random_.between(0, 99);
  if (dice < 60 || jobs_.empty()) {
    submit();
  } else if (dice < 92) {
    touch_job();
  } else if (dice < 97) {
    touch_node();
  } else {
    touch_reservation();
  }
  const std::uint64_t looks = world_.story().looks;
  if (looks > 0 && random_.chance(static_cast<unsigned>(looks)))
    world_.look(random_.between(0, world_.controller_count() - 1));
  world_.events().after(Duration(random_.between(1'000, 2'000'000)), [this] { act(); });
}

std::shared_ptr<const model::JobSpec> Workload::make_spec() {
  auto spec = std::make_shared<model::JobSpec>();
  spec->name = "job";
  spec->uid = user_.uid;
  spec->gid = user_.gid;
  spec->script = std::make_shared<const std::string>("#!/bin/sh\n");
  spec->work_dir = "/tmp";
  spec->min_nodes = static_cast<std::uint32_t>(random_.chance(200) ? random_.between(1, world_.node_count()) : 1);
  spec->tasks = static_cast<std::uint32_t>(random_.between(1, 4)) * spec->min_nodes;
  if (spec->min_nodes > 1) spec->max_nodes = spec->min_nodes;
  spec->time_limit = TimeLimit::of_minutes(static_cast<std::uint32_t>(random_.between(1, 3)));
  spec->requeue = random_.chance(500);
  spec->hold = random_.chance(50);
  if (random_.chance(150)) {
    spec->array.emplace();
    spec->array->tasks.insert_range(0, static_cast<std::uint32_t>(random_.between(0, 7)));
    spec->array->max_running = static_cast<std::uint32_t>(random_.between(0, 3));
  }
  if (world_.story().preempts && random_.chance(250)) spec->partitions = {"urgent"};
  if (!jobs_.empty() && random_.chance(150)) {
    model::Dependency dependency;
    dependency.kind = static_cast<model::Dependency::Kind>(random_.between(0, 3));
    dependency.job = some_job();
    spec->dependencies.push_back(dependency);
    spec->kill_on_invalid_dependency = true;
  }
  return spec;
}

void Workload::submit() {
  const std::string token = "t" + std::to_string(++tokens_);
  Open& open = open_[token];
  open.spec = make_spec();
  // A heterogeneous job, which the cluster can hold: each component has nodes for itself.
  if (world_.node_count() > 1 && random_.chance(120)) {
    auto first = std::make_shared<model::JobSpec>(*open.spec);
    first->array.reset();
    first->partitions.clear();
    first->min_nodes = 1;
    first->max_nodes.reset();
    first->tasks = 1;
    open.spec = first;
    for (std::uint64_t n = random_.between(1, std::min<std::uint64_t>(2, world_.node_count() - 1)); n > 0; --n) {
      auto other = std::make_shared<model::JobSpec>(*first);
      other->script = nullptr;
      other->tasks = static_cast<std::uint32_t>(random_.between(1, 4));
      other->time_limit = TimeLimit::of_minutes(static_cast<std::uint32_t>(random_.between(1, 3)));
      open.more.push_back(std::move(other));
    }
  }
  ask(token);
}

// Unless it has been asked again meanwhile.
void Workload::ask_again(const std::string& token, Duration delay) {
  const std::uint64_t attempts = open_[token].attempts;
  world_.events().after(delay, [this, token, attempts] {
    const auto it = open_.find(token);
    if (it != open_.end() && it->second.attempts == attempts) ask(token);
  });
}

// Until there is an answer the client asks again; the token makes that safe.
void Workload::ask(const std::string& token) {
  Open& open = open_.at(token);
  const std::size_t c = open.controller++ % world_.controller_count();
  ++open.attempts;
  ask_again(token, kAskAgain);
  world_.trace().line("submit {} to c{}", token, c);
  world_.call(c, [this, c, token, spec = open.spec, more = open.more](ctld::Controller& controller) {
    const auto reply = [this, c, token](const Result<ctld::SubmitReply>& answer) {
      // Said is said, whether it arrives or not.
      if (answer) world_.checker().on_acked(token, answer->job);
      world_.answer(c, [this, token, answer] { on_answer(token, answer); });
    };
    if (!controller.picture()->leading) return reply(fail(ErrorCode::NotLeader, "this controller does not lead"));
    controller.submit(user_, spec, token, reply, more);
  });
}

void Workload::on_answer(const std::string& token, const Result<ctld::SubmitReply>& reply) {
  const auto it = open_.find(token);
  if (it == open_.end()) return;  // a second answer
  if (!reply) {
    world_.trace().line("refused {}: {}", token, reply.error().message);
    if (reply.error().code == ErrorCode::NotLeader) return ask_again(token, milliseconds(200));
    open_.erase(it);
    return;
  }
  world_.trace().line("acked {} = job {}", token, reply->job.value);
  if (!it->second.more.empty()) het_sizes_[reply->job] = static_cast<std::uint32_t>(it->second.more.size() + 1);
  jobs_.push_back(reply->job);
  open_.erase(it);
}

JobId Workload::some_job() {
  // Mostly recent ones: they are the ones still alive.
  const std::size_t back = random_.chance(800) ? std::min<std::size_t>(jobs_.size(), 8) : jobs_.size();
  return jobs_[jobs_.size() - 1 - random_.between(0, back - 1)];
}

void Workload::touch_job() {
  const auto c = world_.leader();
  if (!c) return;
  state::JobTarget target{.id = some_job(), .tasks = {}};
  const auto het = het_sizes_.find(target.id);
  if (het != het_sizes_.end() && random_.chance(400))
    target.het_offset = static_cast<std::uint32_t>(random_.between(0, het->second - 1));
  const auto what = random_.between(0, 9);
  world_.trace().line("touch job {} how={}", target.id.value, what);
  if (what >= 8) {
    world_.checker().on_suspend(target.id);
    for (std::uint32_t i = 1; het != het_sizes_.end() && i < het->second; ++i)
      world_.checker().on_suspend(JobId{target.id.value + i});
  }
  world_.call(*c, [this, target, what](ctld::Controller& controller) {
    const auto ignore = [](const Status&) {};
    if (what < 4) {
      controller.cancel(user_, target, 0, false, false, ignore);
    } else if (what < 5) {
      controller.hold(user_, target, model::Hold::User, ignore);
    } else if (what < 6) {
      controller.release(user_, target, ignore);
    } else if (what < 8) {
      controller.requeue(user_, target, model::AfterCompleting::Requeue, ignore);
    } else {
      controller.suspend(admin_, target, what == 9, ignore);
    }
  });
}

void Workload::touch_node() {
  const auto c = world_.leader();
  if (!c) return;
  state::UpdateNode update;
  update.nodes = {World::node_name(random_.between(0, world_.node_count() - 1))};
  const bool drain = random_.chance(500);
  update.action = drain ? state::UpdateNode::Action::Drain : state::UpdateNode::Action::Resume;
  if (drain) update.reason = "sim";
  world_.trace().line("{} {}", drain ? "drain" : "resume", update.nodes[0]);
  world_.call(*c, [this, update](ctld::Controller& controller) {
    controller.update_node(admin_, update, [](const Status&) {});
  });
}

// Short ones, so that a run sees them begin, end, recur and purge themselves, across crashes of the controller too.
void Workload::touch_reservation() {
  const auto c = world_.leader();
  if (!c) return;
  const std::string name = "r" + std::to_string(random_.between(0, 3));
  if (random_.chance(300)) {
    world_.trace().line("delete reservation {}", name);
    return world_.call(*c, [this, name](ctld::Controller& controller) {
      controller.delete_reservation(admin_, name, [](const Status&) {});
    });
  }
  model::ReservationChange change;
  change.name = name;
  change.start = world_.controller(*c).cluster().view().as_of + seconds(random_.between(0, 60));
  change.duration = seconds(random_.between(1, 120));
  if (random_.chance(500)) {
    change.node_counts = {static_cast<std::uint32_t>(random_.between(1, world_.node_count()))};
  } else {
    change.nodes = World::node_name(random_.between(0, world_.node_count() - 1));
  }
  change.users = model::NamesEdit{model::EditKind::Set, {"user"}};
  for (const auto flag :
       {model::kResvMaint, model::kResvIgnoreJobs, model::kResvHourly, model::kResvPurgeComp, model::kResvNoHoldJobs})
    if (random_.chance(300)) change.flags_on |= flag;
  world_.trace().line("reserve {}", name);
  world_.call(*c, [this, name, change](ctld::Controller& controller) {
    controller.create_reservation(admin_, change, {{"user", {user_.uid}}}, [this, name](const Result<std::string>& reply) {
      world_.trace().line("reservation {}: {}", name, reply ? "made" : reply.error().message);
    });
  });
}

void Workload::wind_down() {
  world_.events().after(std::chrono::seconds(20), [this] { wind_down(); });
  const auto c = world_.leader();
  if (!c) return;
  auto& controller = world_.controller(*c);
  const auto ignore = [](Status) {};
  std::vector<model::JobPtr> held, stopped, hopeless;
  controller.cluster().view().pending.for_each([&](std::uint32_t, const model::JobPtr& job) {
    if (job->hold != model::Hold::None) held.push_back(job);
    if (job->dependency_never) hopeless.push_back(job);  // requeued by hand after its dependency had failed
  });
  controller.cluster().view().active.for_each([&](std::uint32_t, const model::JobPtr& job) {
    if (job->state == model::JobState::Suspended) stopped.push_back(job);
  });
  const auto whole = [](const model::Job& job) {
    return state::JobTarget{.id = job.het_job ? job.het_job : job.id, .tasks = {}};
  };
  for (const auto& job : hopeless) controller.cancel(admin_, whole(*job), 0, false, false, ignore);
  for (const auto& job : held) controller.release(admin_, whole(*job), ignore);
  for (const auto& job : stopped) controller.suspend(admin_, whole(*job), true, ignore);
  std::vector<std::string> drained;
  controller.cluster().view().nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
    if (node->flags & model::kNodeDrain) drained.push_back(node->name);
  });
  if (drained.empty()) return;
  state::UpdateNode update;
  update.nodes = std::move(drained);
  update.action = state::UpdateNode::Action::Resume;
  controller.update_node(admin_, std::move(update), ignore);
}

}  // namespace spur::sim
