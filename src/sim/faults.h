// SPDX-License-Identifier: Apache-2.0
// Fate: which process or link fails when, and when it comes back.
#pragma once

#include "base/time.h"
#include "sim/random.h"

namespace spur::sim {

class World;

class Faults {
 public:
  Faults(World& world, Random random) : world_(world), random_(random) {}
  void begin() { strike_later(); }
  void stop() { stopped_ = true; }

 private:
  void strike_later();
  void strike();
  World& world_;
  Random random_;
  bool stopped_ = false;
};

}  // namespace spur::sim
