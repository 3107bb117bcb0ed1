// SPDX-License-Identifier: Apache-2.0
// For tests: random commands that make sense often enough to reach every corner, and nonsense often enough to be
// refused. The same seed and the same states give the same commands.
#pragma once

#include <random>

#include "state/test_world.h"

namespace spur::state {

class RandomCommands {
 public:
  explicit RandomCommands(std::uint64_t seed) : random_(seed) {}

  Command next(const model::View& view);
  model::ClusterConfig config();
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

 private:
  bool chance(std::uint32_t percent) { return below(100) < percent; }
  JobId some_job(const CowMap<model::JobPtr>& jobs);
  JobTarget some_target(const model::View& view);
  std::string some_node() { return "n" + std::to_string(below(7)); }
  model::JobSpec some_spec(const model::View& view);
  model::Dependency some_dependency(const model::View& view);
  Command some_submit(const model::View& view);
  Command some_start(const model::View& view);
  Command some_het_start(const model::View& view, const model::Job& leader);
  Command some_done(const model::View& view);
  Command some_cancel(const model::View& view);
  Command some_update(const model::View& view);
  Command some_node_command(const model::View& view);
  Command some_dynamic_node(const model::View& view);
  Command some_kill(const model::View& view);
  Command some_purge(const model::View& view);
  Command some_preemption(const model::View& view);
  Command some_reservation(const model::View& view);
  Command some_accounts(const model::View& view);
  Command some_steps(const model::View& view);
  Command some_crontab(const model::View& view);
  Command some_trigger(const model::View& view);

  std::mt19937_64 random_;
  std::uint32_t triggers_ = 0, seen_trigger_ = 0;  // ids: the last one set, and the last of which something was told
};

}  // namespace spur::state
