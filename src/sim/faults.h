// SPDX-License-Identifier: Apache-2.0
// Fate: carries out what the story says, and takes it back when its time is over.
#pragma once

#include <functional>

#include "sim/story.h"

namespace spur::sim {

class World;

class Faults {
 public:
  explicit Faults(World& world) : world_(world) {}
  void begin();
  void stop() { stopped_ = true; }

 private:
  void strike(const Fault& fault);
  // Unless all faults have ended before.
  void later(Duration delay, std::function<void()> undo);
  void cut_member(std::size_t controller, bool cut);
  void isolate(std::size_t controller, bool cut);
  World& world_;
  bool stopped_ = false;
};

}  // namespace spur::sim
