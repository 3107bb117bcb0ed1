// SPDX-License-Identifier: Apache-2.0
// SlurmctldPrimaryOnProg and SlurmctldPrimaryOffProg: what a controller runs when it begins to lead, and when it leads no
// more, be it that another one does or that it is stopped. begin() and end() on the core thread, leave() on any other.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "io/controller_hooks.h"
#include "model/shown_config.h"
#include "os/log.h"

namespace spur::main {

class LeadPrograms {
 public:
  explicit LeadPrograms(os::Log& log) : log_(log) {}

  void begin(io::ControllerHooks* programs, const model::ClusterConfig& config) {
    leads_ = true;
    run(programs, config, "SlurmctldPrimaryOnProg", {});
  }
  void end(io::ControllerHooks* programs, const model::ClusterConfig& config) {
    if (leads_.exchange(false)) run(programs, config, "SlurmctldPrimaryOffProg", {});
  }
  // Waits for it: whoever leads next must not find an address in use that the program takes down.
  void leave(io::ControllerHooks* programs, const model::ClusterConfig& config) {
    if (!leads_.exchange(false)) return;
    auto ended = std::make_shared<std::promise<void>>();
    run(programs, config, "SlurmctldPrimaryOffProg", [ended] { ended->set_value(); });
    (void)ended->get_future().wait_for(kLongest);
  }

 private:
  static constexpr Duration kLongest = seconds(60);

  void run(io::ControllerHooks* programs, const model::ClusterConfig& config, const char* key,
           std::function<void()> done) {
    const std::string path(model::given_value(config, key));
    if (path.empty() || !programs) return done ? done() : void();
    programs->run_site({.name = key, .words = {path}, .variable = {}, .document = {}, .timeout = kLongest},
                       [this, done = std::move(done)](const Status& status) {
                         if (!status) log_.error("{}", status.error().message);
                         if (done) done();
                       });
  }

  os::Log& log_;
  std::atomic<bool> leads_ = false;
};

}  // namespace spur::main
