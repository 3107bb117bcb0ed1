// SPDX-License-Identifier: Apache-2.0
// Clients of the simulated cluster: they submit, cancel, hold, requeue, drain. When an answer does not come, or the
// one who was asked does not lead, they ask another controller, with the same token.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ctld/controller.h"
#include "model/caller.h"
#include "model/job_spec.h"
#include "sim/random.h"

namespace spur::sim {

class World;

class Workload {
 public:
  Workload(World& world, Random random, std::uint32_t steps);
  void begin();
  bool finished() const { return steps_left_ == 0 && open_.empty(); }
  // No new work: everything that waits for somebody (holds, drains, suspensions) is let go, again and again until it
  // is.
  void wind_down();

 private:
  struct Open {
    std::shared_ptr<const model::JobSpec> spec;
    std::vector<std::shared_ptr<const model::JobSpec>> more;  // the other components of a heterogeneous job
    std::size_t controller = 0;                               // whom it asks next
    std::uint64_t attempts = 0;
  };
  void act();
  void submit();
  void ask(const std::string& token);
  void ask_again(const std::string& token, Duration delay);
  void on_answer(const std::string& token, const Result<ctld::SubmitReply>& reply);
  void touch_job();
  void touch_node();
  void touch_reservation();
  JobId some_job();
  std::shared_ptr<const model::JobSpec> make_spec();

  World& world_;
  Random random_;
  std::uint32_t steps_left_;
  std::uint32_t tokens_ = 0;
  std::map<std::string, Open> open_;
  std::vector<JobId> jobs_;
  std::map<JobId, std::uint32_t> het_sizes_;
  model::Caller admin_, user_;
};

}  // namespace spur::sim
