// SPDX-License-Identifier: Apache-2.0
// Connections between agents and controllers. Each side has its own idea of them, and learns of their end by itself:
// a message belongs to a connection, and is void on any other.
#include <fmt/format.h>

#include <utility>

#include "sim/world.h"

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

}  // namespace

// Fate of one message, once it is on its way.
void World::deliver(std::function<void()> action) {
  const auto delay = [this] {
    return Duration(faults_ && random_.chance(static_cast<unsigned>(story_.late)) ? random_.between(100'000, 2'000'000)
                                                                                  : random_.between(50, 3'000));
  };
  if (faults_ && random_.chance(static_cast<unsigned>(story_.lost))) return;
  if (faults_ && random_.chance(static_cast<unsigned>(story_.repeated))) events_.after(delay(), action);
  events_.after(delay(), std::move(action));
}

void World::to_node(std::size_t c, std::size_t i, model::ControllerMessage message) {
  auto& process = *hosts_[c].process;
  const auto known = process.links.find(i);
  if (known == process.links.end()) return;
  auto shared = std::make_shared<model::ControllerMessage>(std::move(message));
  trace_.line("c{} to {}: {}", c, node_name(i), describe(*shared));
  if (nodes_[i].ways[c].to_node > 0) return;
  deliver([this, i, link = known->second, shared] {
    Node& node = nodes_[i];
    if (node.link != link || !node.agent) return;
    node.agent->process.in([this, i, link, shared] {
      if (nodes_[i].link == link) nodes_[i].agent->logic->on_message(*shared);
    })();
  });
}

void World::from_node(std::size_t i, model::AgentMessage message) {
  Node& node = nodes_[i];
  if (node.link == 0) return;
  const std::size_t c = node.linked_to;
  auto shared = std::make_shared<model::AgentMessage>(std::move(message));
  if (const std::string text = describe(*shared); !text.empty()) trace_.line("{} to c{}: {}", node_name(i), c, text);
  if (node.ways[c].from_node > 0) return;
  // The agent that sent it may be gone when it arrives, its words are not.
  deliver([this, i, c, link = node.link, shared] {
    if (!hosts_[c].process) return;
    hosts_[c].process->process.in([this, i, c, link, shared] {
      auto& process = *hosts_[c].process;
      const auto known = process.links.find(i);
      if (known == process.links.end() || known->second != link) return;
      checker_.on_heard(c, node_name(i), events_.now());
      process.logic->on_agent_message(node_name(i), *shared);
    })();
  });
}

// One controller after the other until one takes it.
void World::dial(std::size_t i) {
  Node& node = nodes_[i];
  if (node.dialling || node.link != 0 || !node.agent) return;
  node.dialling = true;
  node.agent->process.after(Duration(random_.between(500, 200'000)), [this, i] {
    Node& now = nodes_[i];
    now.dialling = false;
    if (now.link != 0) return;
    const std::size_t c = now.dials++ % hosts_.size();
    const bool reached = now.ways[c].to_node == 0 && now.ways[c].from_node == 0 && leads(c) &&
                         !hosts_[c].process->process.paused();
    if (reached) return connect(i, c);
    dial(i);
  });
}

void World::connect(std::size_t i, std::size_t c) {
  Node& node = nodes_[i];
  auto& process = *hosts_[c].process;
  node.link = ++links_;
  node.linked_to = c;
  process.links[i] = node.link;
  trace_.line("link {} to c{}", node_name(i), c);
  process.logic->on_agent_connected(node_name(i));
  node.agent->logic->on_connected();
}

void World::drop_at_agent(std::size_t i, std::uint64_t link) {
  Node& node = nodes_[i];
  if (link == 0 || node.link != link) return;
  trace_.line("link {} down", node_name(i));
  const std::size_t c = node.linked_to;
  node.link = 0;
  if (node.agent) {
    node.agent->logic->on_disconnected();
    dial(i);
  }
  if (hosts_[c].process)
    hosts_[c].process->process.after(Duration(random_.between(100, 5'000)),
                                     [this, i, c, link] { drop_at_controller(i, c, link); });
}

void World::drop_at_controller(std::size_t i, std::size_t c, std::uint64_t link) {
  auto& process = *hosts_[c].process;
  const auto known = process.links.find(i);
  if (known == process.links.end() || known->second != link) return;
  process.links.erase(known);
  process.logic->on_agent_disconnected(node_name(i));
}

// Nothing comes through, or nobody answers: each side gives up by itself, if it is still so then.
void World::notice_silence(std::size_t i, std::size_t c) {
  const std::uint64_t link = nodes_[i].link;
  if (link == 0 || nodes_[i].linked_to != c) return;
  const auto broken = [this, i, c] {
    const Way& way = nodes_[i].ways[c];
    return way.to_node > 0 || way.from_node > 0 || !hosts_[c].process || hosts_[c].process->process.paused();
  };
  if (nodes_[i].agent)
    nodes_[i].agent->process.after(Duration(random_.between(100'000, 12'000'000)), [this, i, link, broken] {
      if (broken()) drop_at_agent(i, link);
    });
  if (hosts_[c].process)
    hosts_[c].process->process.after(Duration(random_.between(100'000, 12'000'000)), [this, i, c, link, broken] {
      if (!broken()) return;
      drop_at_controller(i, c, link);
      // What it closed reaches the agent when the way is free again, or the agent notices first.
    });
}

void World::cut_way(std::size_t i, std::size_t c, bool to, bool from, bool cut) {
  Way& way = nodes_[i].ways[c];
  if (to) way.to_node += cut ? 1 : -1;
  if (from) way.from_node += cut ? 1 : -1;
  if (cut) return notice_silence(i, c);
  // The agent hears now that the other side has hung up, if it has.
  const std::uint64_t link = nodes_[i].link;
  if (link == 0 || nodes_[i].linked_to != c || !hosts_[c].process) return;
  const auto known = hosts_[c].process->links.find(i);
  if (known == hosts_[c].process->links.end() || known->second != link)
    events_.after(Duration(random_.between(100, 100'000)), [this, i, link] { drop_at_agent(i, link); });
}

// ---- agents

struct World::ControllerOfAgent final : io::ControllerPort {
  World& world;
  std::size_t i;
  ControllerOfAgent(World& w, std::size_t index) : world(w), i(index) {}
  void send(model::AgentMessage message) override { world.from_node(i, std::move(message)); }
};

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
  dial(i);
}

void World::crash_agent(std::size_t i, bool reboot) {
  Node& node = nodes_[i];
  if (!node.agent) return;
  trace_.line("agent {} {}", node_name(i), reboot ? "reboots" : "crashes");
  node.agent->process.kill();
  drop_at_agent(i, node.link);
  node.agent.reset();
  node.dialling = false;
  if (reboot) node.machine->reboot();
}

void World::pause_agent(std::size_t i, bool pause) {
  if (!nodes_[i].agent) return;
  trace_.line("agent {} {}", node_name(i), pause ? "stands still" : "goes on");
  if (pause)
    nodes_[i].agent->process.pause();
  else
    nodes_[i].agent->process.go_on();
}

}  // namespace spur::sim
