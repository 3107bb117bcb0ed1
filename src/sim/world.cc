// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sched/plan.h"
#include "sim/faults.h"
#include "sim/workload.h"

namespace spur::sim {
namespace {

// One word for a message, and the run that it is about.
std::string describe(const model::AgentMessage& message) {
  if (const auto* hello = std::get_if<model::AgentHello>(&message)) {
    std::string out = "hello holding";
    for (const auto& run : hello->holding) out += fmt::format(" {}.{}", run.job.value, run.epoch.value);
    return out;
  }
  if (const auto* launched = std::get_if<model::AgentLaunched>(&message))
    return fmt::format("launched {}.{}", launched->run.job.value, launched->run.epoch.value);
  if (const auto* done = std::get_if<model::AgentJobDone>(&message))
    return fmt::format("done {}.{}{}", done->run.job.value, done->run.epoch.value,
                       done->launch_failed ? " launch failed" : "");
  return {};
}

std::string describe(const model::ControllerMessage& message) {
  if (const auto* welcome = std::get_if<model::ControllerWelcome>(&message)) {
    std::string out = welcome->hello_again ? "welcome, hello again, end" : "welcome";
    for (const auto& run : welcome->unknown) out += fmt::format(" {}.{}", run.job.value, run.epoch.value);
    return out;
  }
  static constexpr const char* kNames[] = {"welcome", "launch", "end", "signal", "suspend", "ack"};
  return std::visit(
      [&](const auto& m) -> std::string {
        if constexpr (requires { m.run; })
          return fmt::format("{} {}.{}", kNames[message.index()], m.run.job.value, m.run.epoch.value);
        else
          return {};
      },
      message);
}

constexpr std::uint32_t kCpusPerNode = 4;
constexpr Duration kWorldEnd = std::chrono::hours(12);

}  // namespace

struct World::AgentsOfController final : io::AgentPort {
  World& world;
  explicit AgentsOfController(World& w) : world(w) {}
  void send(std::string_view node, model::ControllerMessage message) override {
    const auto i = static_cast<std::size_t>(std::stoul(std::string(node.substr(1))));
    auto shared = std::make_shared<model::ControllerMessage>(std::move(message));
    world.trace_.line("to {}: {}", node, describe(*shared));
    world.deliver_later(i, [this, i, shared] {
      if (world.nodes_[i].agent) world.nodes_[i].agent->logic->on_message(*shared);
    });
  }
  void hang_up(std::string_view node) override {
    const auto i = static_cast<std::size_t>(std::stoul(std::string(node.substr(1))));
    world.trace_.line("hangs up on {}", node);
    world.events_.after(Duration{1}, [&world = world, i] {
      world.disconnect(i);
      world.try_connect(i);
    });
  }
};

struct World::ControllerOfAgent final : io::ControllerPort {
  World& world;
  std::size_t i;
  ControllerOfAgent(World& w, std::size_t index) : world(w), i(index) {}
  void send(model::AgentMessage message) override {
    auto shared = std::make_shared<model::AgentMessage>(std::move(message));
    if (const std::string text = describe(*shared); !text.empty())
      world.trace_.line("from {}: {}", node_name(i), text);
    // Not through `this`: the agent that sent it may be gone when it arrives, its words are not.
    world.deliver_later(i, [&world = world, i = i, shared] {
      world.checker_.on_heard(node_name(i), world.events_.now());
      world.controller_->logic->on_agent_message(node_name(i), *shared);
    });
  }
};

World::World(const Options& options)
    : options_(options),
      random_(options.seed),
      trace_(events_, options.trace),
      checker_(trace_),
      config_(make_config()) {
  const std::size_t count = random_.between(1, 6);
  for (std::size_t i = 0; i < count; ++i) {
    Node& node = nodes_.emplace_back();
    node.machine = std::make_unique<Machine>(node_name(i), events_, random_.fork(), checker_);
    model::NodeConfig declared;
    declared.name = node_name(i);
    declared.cpus = kCpusPerNode;
    config_.nodes.push_back(declared);
  }
}

World::~World() {
  for (auto& node : nodes_) node.agent.reset();
  controller_.reset();
}

model::ClusterConfig World::make_config() {
  model::ClusterConfig config;
  config.cluster_name = "sim";
  model::PartitionConfig part;
  part.name = "all";
  part.is_default = true;
  part.nodes = "ALL";
  config.partitions.push_back(part);
  if (preempts()) {
    part.name = "urgent";
    part.is_default = false;
    part.priority_tier = 10;
    config.partitions.push_back(part);
    config.partitions.front().grace_time_seconds = static_cast<std::uint32_t>(random_.between(0, 20));
    config.preempt.by = model::PreemptBy::PartitionTier;
    config.preempt.how = static_cast<model::PreemptHow>(random_.between(2, 4));  // Cancel, Requeue, Suspend
  }
  config.node_timeout = seconds(random_.between(5, 60));
  config.kill_wait = seconds(random_.between(1, 10));
  config.min_job_age = std::chrono::hours(1000);  // acknowledged jobs stay to be looked for
  config.config_overrides = true;
  config.return_to_service = 1;
  return config;
}

// ---- processes

void World::start_controller() {
  if (controller_) return;
  trace_.line("controller starts");
  const std::uint64_t mine = ++incarnation_;
  controller_ = std::make_unique<ControllerProcess>(events_, random_.fork(), disk_, clock_skew_);
  auto& process = *controller_;
  process.journal.on_append = [this] { checker_.on_append(events_.now()); };
  process.agents = std::make_unique<AgentsOfController>(*this);
  // Whatever this process left behind when it crashed is void.
  const auto if_alive = [this, mine](std::function<void()> f) {
    return [this, mine, f = std::move(f)] {
      if (incarnation_ == mine && controller_) f();
    };
  };
  process.logic = std::make_unique<ctld::Controller>(ctld::Controller::Doors{
      .clock = process.clock,
      .journal = process.journal,
      .agents = *process.agents,
      .post = [this, if_alive](std::function<void()> f) { events_.after(Duration{1}, if_alive(std::move(f))); },
      .in_background =
          [this, if_alive](std::function<void()> f) {
            events_.after(Duration(random_.between(1'000, 100'000)), if_alive(std::move(f)));
          },
      .publish =
          [this](std::shared_ptr<const ctld::Picture>) {
            if (controller_->logic) checker_.on_published(controller_->logic->cluster());
          },
      .request_plan =
          [this, if_alive](std::shared_ptr<const ctld::Picture> picture, Time now, ctld::PlanKind kind) {
            events_.after(Duration(random_.between(100, 20'000)), if_alive([this, picture, now, kind] {
                            auto& engine = controller_->engine;
                            engine.see(picture->view);
                            const bool full = kind == ctld::PlanKind::Full;
                            controller_->logic->plan_done(full ? engine.plan(now) : engine.respond(now));
                            if (engine.lost_track() > 0) checker_.violate("progress: the scheduler lost track");
                          }));
          },
      .fatal = [this](const Error& error) { checker_.violate("the journal failed: " + error.message); },
      .log = [this](std::string text) { trace_.line("log {}", text); }});
  checker_.on_leader_started(events_.now(), disk_.snapshot_index + disk_.entries.size());
  const Status started = process.logic->start(config_, [this, mine](Status status) {
    if (!status) return checker_.violate("start: " + status.error().message);
    if (incarnation_ != mine) return;
    controller_->ready = true;
    trace_.line("controller is ready at index {}", controller_->logic->cluster().index());
    for (std::size_t i = 0; i < nodes_.size(); ++i) try_connect(i);
  });
  if (!started) checker_.violate("start: " + started.error().message);
}

void World::crash_controller() {
  if (!controller_) return;
  trace_.line("controller crashes at index {}", controller_->logic->cluster().index());
  ++crashes_;
  checker_.on_crash(controller_->logic->cluster(), disk_);
  for (std::size_t i = 0; i < nodes_.size(); ++i) disconnect(i);
  ++incarnation_;
  controller_.reset();
}

void World::start_agent(std::size_t i) {
  if (nodes_[i].agent) return;
  trace_.line("agent {} starts", node_name(i));
  nodes_[i].agent = std::make_unique<AgentProcess>(events_, *nodes_[i].machine);
  auto& process = *nodes_[i].agent;
  process.controller = std::make_unique<ControllerOfAgent>(*this, i);
  model::NodeHardware found;
  found.cpus = kCpusPerNode;
  found.cores_per_socket = kCpusPerNode;
  found.memory_mib = 1000;
  process.logic = std::make_unique<agent::Agent>(agent::AgentIdentity{.node = node_name(i),
                                                                      .address = node_name(i) + ":6818",
                                                                      .hostname = node_name(i),
                                                                      .version = "sim",
                                                                      .os = "sim",
                                                                      .arch = "sim",
                                                                      .public_key = {},
                                                                      .found = found,
                                                                      .boot_time = {}},
                                                 process.clock, process.launcher, *process.controller);
  if (auto ok = process.logic->start(); !ok) checker_.violate("agent start: " + ok.error().message);
  try_connect(i);
}

void World::crash_agent(std::size_t i, bool reboot) {
  if (!nodes_[i].agent) return;
  trace_.line("agent {} {}", node_name(i), reboot ? "reboots" : "crashes");
  disconnect(i);
  nodes_[i].agent.reset();
  if (reboot) nodes_[i].machine->reboot();
}

// ---- links

void World::try_connect(std::size_t i) {
  events_.after(Duration(random_.between(500, 200'000)), [this, i] {
    Node& node = nodes_[i];
    if (node.link != 0 || node.cut || !node.agent || !controller_ready()) return;
    node.link = ++links_;
    trace_.line("link {} up", node_name(i));
    controller_->logic->on_agent_connected(node_name(i));
    node.agent->logic->on_connected();
  });
}

void World::disconnect(std::size_t i) {
  Node& node = nodes_[i];
  if (std::exchange(node.link, 0) == 0) return;
  trace_.line("link {} down", node_name(i));
  if (controller_) controller_->logic->on_agent_disconnected(node_name(i));
  if (node.agent) node.agent->logic->on_disconnected();
}

void World::cut(std::size_t i) {
  nodes_[i].cut = true;
  disconnect(i);
}

void World::heal(std::size_t i) {
  nodes_[i].cut = false;
  try_connect(i);
}

void World::jump_clock(Duration by) {
  clock_skew_ += by;
  if (controller_) controller_->clock.jump(by);
}

void World::deliver_later(std::size_t i, std::function<void()> deliver) {
  const std::uint64_t link = nodes_[i].link;
  if (link == 0) return;
  const auto once = [this, i, link, deliver = std::move(deliver)] {
    if (nodes_[i].link == link) deliver();
  };
  const auto delay = [this] {
    return Duration(random_.chance(faults_ ? 20 : 0) ? random_.between(100'000, 3'000'000)
                                                     : random_.between(50, 3'000));
  };
  if (faults_ && random_.chance(15)) return;                        // lost
  if (faults_ && random_.chance(15)) events_.after(delay(), once);  // and once more
  events_.after(delay(), once);
}

// ---- the run

bool World::step() {
  Duration best = events_.empty() ? Duration::max() : events_.next_time();
  std::function<void()> timer;
  if (controller_ready()) {
    const Duration at = std::max(events_.now(), controller_->clock.world(controller_->logic->next_timer()));
    if (at < best) best = at, timer = [this] { controller_->logic->on_timer(); };
  }
  for (auto& node : nodes_) {
    if (!node.agent) continue;
    const Duration at = std::max(events_.now(), node.agent->clock.world(node.agent->logic->next_timer()));
    if (at < best) best = at, timer = [&node] { node.agent->logic->on_timer(); };
  }
  if (best == Duration::max()) return false;
  if (!timer) return events_.step();
  events_.advance(best);
  timer();
  return true;
}

Outcome World::run() {
  start_controller();
  for (std::size_t i = 0; i < nodes_.size(); ++i) start_agent(i);
  Workload workload(*this, random_.fork(), options_.steps);
  Faults faults(*this, random_.fork());
  workload.begin();
  faults.begin();
  std::uint64_t steps = 0;
  while (!workload.finished() && checker_.violation().empty() && step()) ++steps;
  faults_ = false;
  faults.stop();
  settle();
  const auto done = [&] {
    if (!controller_ready() || !controller_->logic->idle()) return false;
    const auto& view = controller_->logic->cluster().view();
    return view.pending.empty() && view.active.empty();
  };
  workload.wind_down();
  while (checker_.violation().empty() && events_.now() < kWorldEnd && !done() && step()) ++steps;
  if (checker_.violation().empty()) checker_.at_end(controller_->logic->cluster());
  return {.violation = checker_.violation(),
          .trace_digest = trace_.digest(),
          .events = steps,
          .crashes = crashes_,
          .jobs = static_cast<std::uint32_t>(controller_ ? controller_->logic->cluster().view().jobs.size() : 0)};
}

void World::settle() {
  trace_.line("faults end");
  start_controller();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    start_agent(i);
    heal(i);
  }
}

}  // namespace spur::sim
