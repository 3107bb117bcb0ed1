// SPDX-License-Identifier: Apache-2.0
// Runs a Controller with a queue in front, by one thread at a time: its own, or, while that one has nothing to do, the thread
// that brings a request (docs/decisions/0018). The scheduler has a second thread and snapshots a third. Who hands work in
// with post() never touches the Controller; queries read picture(), which never waits for anybody.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ctld/acct_outbox.h"
#include "ctld/controller.h"
#include "sched/engine.h"

namespace spur::ctld {

class CoreThread {
 public:
  struct Doors {
    io::Clock& clock;
    io::Journal& journal;
    io::AgentPort& agents;
    std::function<void(std::string)> log;
    std::function<void(const Error&)> fatal;  // must not return control to serving: the process ends
    io::ControllerHooks* programs = nullptr;  // of the site; null: none
    std::function<bool()> traces_jobs = {};   // see Controller
    std::function<bool()> logs_scheduling = {};
    AcctOutbox* outbox = nullptr;             // where records for accounting go; null: nowhere
    History* history = nullptr;               // null: none is kept
    // This controller leads from now on, or leads no more; on the core thread.
    std::function<void(const state::Cluster&)> on_lead = {};
    std::function<void()> on_step_down = {};
    std::function<void()> on_publish = {};    // there is a new picture; on the core thread
    Statistics* statistics = nullptr;         // null: nothing is counted
    std::string host = {};  // the name of this one
    Duration batch_sched_delay = seconds(3);
    std::uint64_t snapshot_bytes = std::uint64_t{64} << 20;  // of journal between snapshots
    std::uint64_t max_backlog = ~std::uint64_t{0};           // of records for accounting
  };
  explicit CoreThread(Doors doors);
  ~CoreThread();

  // Recovers and starts; returns when requests may come.
  Status start(model::ClusterConfig config, std::string public_key);
  // Ends the threads after what was handed in is done. Idempotent.
  void stop();

  // Runs `work` on the core thread.
  void post(std::function<void(Controller&)> work);
  // Runs `work`, a request, on this thread if the core has nothing else to do, and with it what comes of it at once; otherwise
  // on the core thread.
  void request(std::function<void(Controller&)> work);
  // Runs `work`, the answer to a question that takes long, on a thread where it holds nothing up, one after another.
  // False: too many wait already.
  bool ponder(std::function<void()> work);
  // When and where a job would start, and the picture that says so. On the planner's thread: its engine knows already
  // what one that is made for the question would have to work out.
  using Forecast = std::function<void(const Picture&, Result<sched::Forecast>)>;
  void forecast(Controller::Specs components, Forecast reply);
  // Whether a job that has its nodes may still be waiting for a program of the site (Controller::wait_job waits).
  bool has_prolog() const { return doors_.programs && doors_.programs->has(io::ControllerHooks::Kind::Prolog); }
  // The newest published picture; never null after start().
  std::shared_ptr<const Picture> picture() const;

 private:
  // A thread that runs functions in order.
  class Worker {
   public:
    Worker();
    ~Worker();
    void post(std::function<void()> work);
    void stop();

   private:
    void run();
    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<std::function<void()>> queue_;
    bool stopping_ = false;
    std::thread thread_;
  };
  void run();
  void run_events(std::vector<std::function<void(Controller&)>> work);
  void plan(const Picture& picture, Time now, PlanKind kind);

  Doors doors_;
  std::unique_ptr<Controller> controller_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::function<void(Controller&)>> queue_;
  bool stopping_ = false;
  bool running_ = false;                   // somebody is at the Controller
  Duration sleeps_until_ = Duration{0};    // the core thread, if it waits for a timer
  mutable std::mutex picture_mutex_;
  std::shared_ptr<const Picture> picture_;
  sched::Engine engine_{{.as_configured = true}};  // the planner's alone
  sched::SubmitChecker submit_check_;              // ... too
  Time planned_at_;                                // ... and so is how far its time has come
  std::uint64_t lost_track_ = 0;                   // ... how often it had to start anew
  std::atomic<std::uint32_t> questions_{0};        // that are being pondered, or wait for it
  Worker planner_, background_, ponderer_;
  std::thread thread_;
};

}  // namespace spur::ctld
