// SPDX-License-Identifier: Apache-2.0
#include "sim/faults.h"

#include <utility>

#include "sim/world.h"

namespace spur::sim {

void Faults::begin() {
  for (const Fault& fault : world_.story().faults)
    world_.events().at(fault.at, [this, &fault] {
      if (!stopped_) strike(fault);
    });
}

void Faults::later(Duration delay, std::function<void()> undo) {
  world_.events().after(delay, [this, undo = std::move(undo)] {
    if (!stopped_) undo();
  });
}

void Faults::cut_member(std::size_t controller, bool cut) {
  for (std::size_t other = 0; other < world_.controller_count(); ++other)
    if (other != controller) world_.cut_controllers(controller, other, cut);
}

void Faults::isolate(std::size_t controller, bool cut) {
  cut_member(controller, cut);
  for (std::size_t node = 0; node < world_.node_count(); ++node) world_.cut_way(node, controller, true, true, cut);
  world_.cut_clients(controller, cut);
}

void Faults::strike(const Fault& fault) {
  World& w = world_;
  const std::size_t a = fault.a, b = fault.b;
  switch (fault.kind) {
    case FaultKind::CrashController:
      w.crash_controller(a);
      return later(fault.lasts, [&w, a] { w.start_controller(a); });
    case FaultKind::CrashHost:
      w.trace().line("host of c{} goes down", a);
      w.crash_controller(a);
      w.set_host_up(a, false);
      return later(fault.lasts, [&w, a] {
        w.set_host_up(a, true);
        w.start_controller(a);
      });
    case FaultKind::StopController: return w.stop_controller(a, fault.lasts);
    case FaultKind::PauseController:
      w.pause_controller(a);
      return later(fault.lasts, [&w, a] { w.resume_controller(a); });
    case FaultKind::WipeController:
      if (w.wipe_controller(a)) later(fault.lasts, [&w, a] { w.start_controller(a); });
      return;
    case FaultKind::DiskFull:
      w.trace().line("disk of c{} is full", a);
      w.fill_disk(a, true);
      return later(fault.lasts, [&w, a] { w.fill_disk(a, false); });
    case FaultKind::CutControllers:
      w.trace().line("c{} and c{} are cut", a, b);
      w.cut_controllers(a, b, true);
      return later(fault.lasts, [&w, a, b] { w.cut_controllers(a, b, false); });
    case FaultKind::IsolateController:
      w.trace().line("c{} is alone", a);
      isolate(a, true);
      return later(fault.lasts, [this, a] { isolate(a, false); });
    case FaultKind::CutMember:
      w.trace().line("etcd of c{} is alone", a);
      cut_member(a, true);
      return later(fault.lasts, [this, a] { cut_member(a, false); });
    case FaultKind::CutClients:
      w.cut_clients(a, true);
      return later(fault.lasts, [&w, a] { w.cut_clients(a, false); });
    case FaultKind::SlowMember:
      w.etcd()->set_slow(a, Duration(fault.amount));
      return later(fault.lasts, [&w, a] { w.etcd()->set_slow(a, Duration{0}); });
    case FaultKind::StallStore: return w.etcd()->stall(fault.lasts);
    case FaultKind::FullStore:
      w.trace().line("etcd is full");
      w.etcd()->set_full(true);
      return later(fault.lasts, [&w] { w.etcd()->set_full(false); });
    case FaultKind::CrashAgent:
    case FaultKind::RebootNode:
      w.crash_agent(a, fault.kind == FaultKind::RebootNode);
      return later(fault.lasts, [&w, a] { w.start_agent(a); });
    case FaultKind::PauseAgent:
      w.pause_agent(a, true);
      return later(fault.lasts, [&w, a] { w.pause_agent(a, false); });
    case FaultKind::CutNode:
      for (std::size_t c = 0; c < w.controller_count(); ++c) w.cut_way(a, c, true, true, true);
      return later(fault.lasts, [&w, a] {
        for (std::size_t c = 0; c < w.controller_count(); ++c) w.cut_way(a, c, true, true, false);
      });
    case FaultKind::CutWay: {
      const bool to = fault.amount & 1, from = fault.amount & 2;
      w.cut_way(a, b, to, from, true);
      return later(fault.lasts, [&w, a, b, to, from] { w.cut_way(a, b, to, from, false); });
    }
    case FaultKind::JumpClock: return w.jump_clock(a, Duration(fault.amount));
    case FaultKind::EditConfig: return w.edit_config(fault.amount);
  }
}

}  // namespace spur::sim
