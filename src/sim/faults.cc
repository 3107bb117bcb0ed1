// SPDX-License-Identifier: Apache-2.0
#include "sim/faults.h"

#include "sim/world.h"

namespace spur::sim {

void Faults::strike_later() {
  world_.events().after(Duration(random_.between(1'000, 20'000'000)), [this] {
    if (stopped_) return;
    strike();
    strike_later();
  });
}

void Faults::strike() {
  const auto dice = random_.between(0, 99);
  const std::size_t node = random_.between(0, world_.node_count() - 1);
  // Mostly short, sometimes longer than any lease.
  const Duration outage(random_.chance(700) ? random_.between(1'000, 3'000'000) : random_.between(3'000'000, 120'000'000));
  if (dice < 40) {
    world_.crash_controller();
    world_.events().after(outage, [this] { world_.start_controller(); });
  } else if (dice < 65) {
    world_.crash_agent(node, dice >= 60);
    world_.events().after(outage, [this, node] { world_.start_agent(node); });
  } else if (dice < 95) {
    world_.cut(node);
    world_.events().after(outage, [this, node] { world_.heal(node); });
  } else {
    const auto by = static_cast<std::int64_t>(random_.between(0, 7'200'000'000)) - 3'600'000'000;
    world_.trace().line("clock jumps by {} us", by);
    world_.jump_clock(Duration(by));
  }
}

}  // namespace spur::sim
