// SPDX-License-Identifier: Apache-2.0
// A simulated process as the world sees it: whatever happens in it goes through in(), so that it can be stopped (what
// comes meanwhile waits, as in sockets) and killed (what was still to come is void).
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "sim/event_queue.h"

namespace spur::sim {

class Process {
 public:
  using Action = EventQueue::Action;
  explicit Process(EventQueue& events) : events_(events), state_(std::make_shared<State>()) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { kill(); }

  // For the event queue: runs `action` inside the process if it still lives then.
  Action in(Action action) {
    return [state = state_, action = std::move(action)]() mutable {
      if (state->dead) return;
      if (state->paused)
        state->waiting.push_back(std::move(action));
      else
        action();
    };
  }
  void after(Duration delay, Action action) { events_.after(delay, in(std::move(action))); }

  bool paused() const { return state_->paused; }
  void pause() { state_->paused = true; }
  // What has come meanwhile is looked at now, in order.
  void go_on() {
    if (!std::exchange(state_->paused, false)) return;
    for (Action& action : std::exchange(state_->waiting, {})) after(Duration{0}, std::move(action));
  }
  void kill() {
    state_->dead = true;
    state_->waiting.clear();
  }
  EventQueue& events() { return events_; }

 private:
  struct State {
    bool dead = false, paused = false;
    std::vector<Action> waiting;
  };
  EventQueue& events_;
  std::shared_ptr<State> state_;
};

}  // namespace spur::sim
