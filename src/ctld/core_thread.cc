// SPDX-License-Identifier: Apache-2.0
#include "ctld/core_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <string>
#include <utility>

namespace spur::ctld {

CoreThread::Worker::Worker() : thread_([this] { run(); }) {}
CoreThread::Worker::~Worker() {
  stop();
}

void CoreThread::Worker::post(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    queue_.push_back(std::move(work));
  }
  wake_.notify_one();
}

void CoreThread::Worker::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void CoreThread::Worker::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    auto work = std::exchange(queue_, {});
    lock.unlock();
    for (auto& f : work) f();
    lock.lock();
  }
}

CoreThread::CoreThread(Doors doors) : doors_(std::move(doors)) {
  controller_ = std::make_unique<Controller>(Controller::Doors{
      .clock = doors_.clock,
      .journal = doors_.journal,
      .agents = doors_.agents,
      .post = [this](std::function<void()> f) { post([f = std::move(f)](Controller&) { f(); }); },
      .in_background = [this](std::function<void()> f) { background_.post(std::move(f)); },
      .publish =
          [this](std::shared_ptr<const Picture> picture) {
            {
              std::lock_guard lock(picture_mutex_);
              picture_.swap(picture);
            }
            if (doors_.on_publish) doors_.on_publish();
          },
      .request_plan =
          [this](std::shared_ptr<const Picture> picture, Time now, PlanKind kind) {
            planner_.post([this, picture = std::move(picture), now, kind] { plan(*picture, now, kind); });
          },
      .fatal = doors_.fatal,
      .log = doors_.log,
      .programs = doors_.programs,
      .traces_jobs = doors_.traces_jobs,
      .logs_scheduling = doors_.logs_scheduling,
      .account = doors_.outbox ? [this](Time born, std::vector<state::OutboxRecord> records) {
        doors_.outbox->add(born, std::move(records));
      } : std::function<void(Time, std::vector<state::OutboxRecord>)>{},
      .when_accounted = doors_.outbox ? [this](std::uint64_t number, std::function<void()> then) {
        doors_.outbox->when_spooled(number, std::move(then));
      } : std::function<void(std::uint64_t, std::function<void()>)>{},
      .outbox_begins = doors_.outbox ? [this](const state::Outbox& outbox) {
        doors_.outbox->begin(outbox);
      } : std::function<void(const state::Outbox&)>{},
      .outbox_acked = doors_.outbox ? [this](std::uint64_t number) {
        doors_.outbox->acknowledged(number);
      } : std::function<void(std::uint64_t)>{},
      .max_backlog = doors_.max_backlog,
      .history = doors_.history,
      .on_lead = doors_.on_lead,
      .on_step_down = doors_.on_step_down,
      .statistics = doors_.statistics,
      .host = doors_.host,
      .batch_sched_delay = doors_.batch_sched_delay,
      .snapshot_bytes = doors_.snapshot_bytes});
}

CoreThread::~CoreThread() {
  stop();
}

// On the planner's thread.
void CoreThread::plan(const Picture& picture, Time now, PlanKind kind) {
  const Duration begin = doors_.clock.monotonic();
  now = planned_at_ = std::max(now, planned_at_);
  engine_.see(picture.view);
  auto plan = std::make_shared<sched::Plan>(kind == PlanKind::Full ? engine_.plan(now) : engine_.respond(now));
  if (plan->full)
    doors_.log(fmt::format("about Backfill: a full cycle looked at {} jobs, {} of them one by one, and starts {}, in {} us",
                           plan->looked_at, plan->tested, plan->starts.size(),
                           (doors_.clock.monotonic() - begin).count()));
  if (doors_.statistics)
    doors_.statistics->cycle({.full = plan->full,
                              .took = doors_.clock.monotonic() - begin,
                              .looked_at = plan->looked_at,
                              .tested = plan->tested,
                              .queue = picture.view.pending.size(),
                              .starts = plan->starts,
                              .at = now});
  const std::uint64_t lost = std::exchange(lost_track_, engine_.lost_track());
  post([this, plan, again = lost != lost_track_, times = lost_track_](Controller& controller) {
    if (again)
      doors_.log("error: the scheduler left free resources unused and starts anew from the current state (" +
                 std::to_string(times) + " times so far)");
    controller.plan_done(std::move(*plan));
  });
}

void CoreThread::forecast(Controller::Specs components, Forecast reply) {
  planner_.post([this, components = std::move(components), reply = std::move(reply)] {
    const auto picture = this->picture();
    std::vector<const model::JobSpec*> specs;
    for (const auto& spec : components) {
      if (auto ok = submit_check_.check(picture->view, *spec); !ok)
        return reply(*picture, std::unexpected(std::move(ok.error())));
      specs.push_back(spec.get());
    }
    planned_at_ = std::max(planned_at_, picture->view.as_of);
    engine_.see(picture->view);
    auto found = engine_.forecast(specs, planned_at_);
    if (found) found->start = std::max(found->start, doors_.clock.now());  // nothing may have happened for long
    reply(*picture, std::move(found));
  });
}

bool CoreThread::ponder(std::function<void()> work) {
  constexpr std::uint32_t kMostQuestions = 32;
  if (questions_.fetch_add(1) >= kMostQuestions) {
    --questions_;
    return false;
  }
  ponderer_.post([this, work = std::move(work)] {
    work();
    --questions_;
  });
  return true;
}

Status CoreThread::start(model::ClusterConfig config, std::string public_key) {
  controller_->set_public_key(std::move(public_key));
  auto ready = std::make_shared<std::promise<Status>>();
  auto done = ready->get_future();
  // Recovery happens here, on the caller's thread; the core thread starts with its first event.
  SPUR_TRY(controller_->start(std::move(config), [ready](Status status) { ready->set_value(std::move(status)); }));
  thread_ = std::thread([this] { run(); });
  return done.get();
}

void CoreThread::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  planner_.stop();
  background_.stop();
  ponderer_.stop();
}

void CoreThread::post(std::function<void(Controller&)> work) {
  bool first;
  {
    std::lock_guard lock(mutex_);
    if (stopping_ && !thread_.joinable()) return;
    first = queue_.empty() && !running_;  // who runs looks again
    queue_.push_back(std::move(work));
  }
  if (first) wake_.notify_one();
}

void CoreThread::request(std::function<void(Controller&)> work) {
  // What the journal has made durable comes in the second round, and what others brought meanwhile; then it is the core
  // thread's turn, for this one has its own callers.
  constexpr int kRounds = 3;
  std::unique_lock lock(mutex_);
  if (running_ || !queue_.empty() || stopping_ || !thread_.joinable()) {
    lock.unlock();
    return post(std::move(work));
  }
  running_ = true;
  std::vector<std::function<void(Controller&)>> events;
  events.push_back(std::move(work));
  for (int round = 0; round < kRounds && !events.empty(); ++round) {
    lock.unlock();
    run_events(std::exchange(events, {}));
    lock.lock();
    if (round + 1 < kRounds) events = std::exchange(queue_, {});
  }
  running_ = false;
  const bool wake = !queue_.empty() || stopping_ || controller_->next_timer() <= sleeps_until_;
  lock.unlock();
  if (wake) wake_.notify_one();
}

std::shared_ptr<const Picture> CoreThread::picture() const {
  std::lock_guard lock(picture_mutex_);
  return picture_;
}

void CoreThread::run_events(std::vector<std::function<void(Controller&)>> work) {
  controller_->begin_events();
  for (auto& f : work) f(*controller_);
  controller_->end_events();
}

void CoreThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (running_) {
      sleeps_until_ = Duration::max();
      wake_.wait(lock, [this] { return !running_; });
      sleeps_until_ = Duration{0};
      continue;
    }
    if (queue_.empty()) {
      if (stopping_) return;
      const Duration next = controller_->next_timer();
      const Duration now = doors_.clock.monotonic();
      // Bounded, so that a step of the wall clock is noticed within a second.
      const Duration wait = std::clamp(next - std::min(next, now), Duration{0}, Duration(std::chrono::seconds(1)));
      if (wait > Duration{0}) {
        sleeps_until_ = now + wait;
        wake_.wait_for(lock, wait);
        sleeps_until_ = Duration{0};
        if (running_ || (queue_.empty() && !stopping_ && doors_.clock.monotonic() < controller_->next_timer())) continue;
      }
    }
    running_ = true;
    auto work = std::exchange(queue_, {});
    lock.unlock();
    run_events(std::move(work));
    if (doors_.clock.monotonic() >= controller_->next_timer()) controller_->on_timer();
    lock.lock();
    running_ = false;
  }
}

}  // namespace spur::ctld
