// SPDX-License-Identifier: Apache-2.0
#include "ctld/job_watches.h"

#include <algorithm>
#include <utility>

namespace spur::ctld {
namespace {

// Between two pieces of a long list; a sink with room says so before that.
constexpr Duration kBetweenPieces = milliseconds(5);
// A list is told in pieces of some hundred jobs. So many at once, where the watcher takes them, before others have
// their turn.
constexpr int kPiecesAtOnce = 8;

}  // namespace

void JobWatches::start(std::function<void()> prelude) {
  thread_ = std::thread([this, prelude = std::move(prelude)] { run(prelude); });
}

void JobWatches::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  for (auto& watcher : watchers_) watcher->sink->end(fail(ErrorCode::Unreachable, "The controller is shutting down"));
  for (auto& watcher : fresh_) watcher->sink->end(fail(ErrorCode::Unreachable, "The controller is shutting down"));
  watchers_.clear();
  fresh_.clear();
}

Status JobWatches::add(Wish wish, std::shared_ptr<WatchSink> sink) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return fail(ErrorCode::Unreachable, "The controller is shutting down");
    std::size_t& mine = per_user_[wish.caller.uid];
    if (count_ >= options_.most || (mine >= options_.most_per_user && !wish.caller.is_admin()))
      return fail(ErrorCode::Busy, "Too many are watching jobs");
    ++mine;
    ++count_;
    auto watcher = std::make_unique<Watcher>();
    watcher->wish = std::move(wish);
    watcher->wish.filter.with_script = false;  // texts are large, and do not change
    watcher->wish.filter.fields = wire::JobFields::everything();
    watcher->sink = std::move(sink);
    fresh_.push_back(std::move(watcher));
  }
  wake();
  return {};
}

void JobWatches::wake() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(woken_, true)) return;
  }
  wake_.notify_one();
}

void JobWatches::run(const std::function<void()>& prelude) {
  if (prelude) prelude();
  for (;;) {
    const Duration wait = round();
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, wait, [this] { return woken_ || stopping_; });
    // News may come thousands of times a second; everybody hears of them together.
    const Duration pause = std::min(wait, last_round_ + options_.pace - options_.clock.monotonic());
    if (pause > Duration{0}) wake_.wait_for(lock, pause, [this] { return stopping_ || !fresh_.empty(); });
    woken_ = false;
    if (stopping_) return;
  }
}

Duration JobWatches::round() {
  {
    const std::lock_guard lock(mutex_);
    std::ranges::move(fresh_, std::back_inserter(watchers_));
    fresh_.clear();
  }
  Duration wait = options_.pulse;
  const auto newest = options_.picture();
  const Duration now = last_round_ = options_.clock.monotonic();
  const auto over = [&](const std::unique_ptr<Watcher>& watcher) {
    if (serve(*watcher, newest, now, &wait)) return false;
    const std::lock_guard lock(mutex_);
    --count_;
    if (const auto at = per_user_.find(watcher->wish.caller.uid); --at->second == 0) per_user_.erase(at);
    return true;
  };
  std::erase_if(watchers_, over);
  steps_.clear();
  starts_.clear();
  if (options_.every_minute && now - minute_ >= std::chrono::minutes(1)) {
    minute_ = now;
    options_.every_minute();
  }
  return wait;
}

// False: he is gone.
bool JobWatches::serve(Watcher& watcher, const std::shared_ptr<const Picture>& newest, Duration now, Duration* wait) {
  if (watcher.sink->gone()) return false;
  if (!newest->leading) {
    watcher.sink->end(fail(ErrorCode::NotLeader, "Another controller leads"));
    return false;
  }
  if (!watcher.sink->drained()) {
    if (watcher.stuck_since == Duration{0}) watcher.stuck_since = now;
    if (now - watcher.stuck_since >= options_.patience) {
      watcher.told = nullptr;
      watcher.list = nullptr;
      watcher.gone.clear();
      watcher.resync = true;
    }
    *wait = std::min(*wait, watcher.list ? kBetweenPieces : options_.pace);
    return true;
  }
  watcher.stuck_since = Duration{0};
  if (!watcher.list) {
    if (!watcher.told || watcher.told->view.partitions != newest->view.partitions ||
        watcher.told->view.node_by_name != newest->view.node_by_name ||
        (watcher.wish.sees && (watcher.told->view.config != newest->view.config ||
                               watcher.told->view.accounts != newest->view.accounts)))
      begin_list(watcher, newest);
    else if (watcher.told != newest)
      begin_step(watcher, newest, now);
    else if (now - watcher.last_sent >= options_.pulse)
      watcher.list = std::make_unique<JobChunks>(newest, std::vector<model::JobPtr>{}, watcher.wish.caller, Time{});
  }
  for (int i = 0; i < kPiecesAtOnce && watcher.list && watcher.sink->drained(); ++i) tell(watcher, now);
  *wait = std::min(*wait, watcher.list ? kBetweenPieces : watcher.last_sent + options_.pulse - now);
  return true;
}

void JobWatches::begin_list(Watcher& watcher, const std::shared_ptr<const Picture>& newest) {
  wire::JobFilter filter = watcher.wish.filter;
  if (watcher.wish.sees) filter.may_see = watcher.wish.sees(newest->view);
  if (watcher.wish.hidden) filter.hidden = watcher.wish.hidden(newest->view);
  watcher.pick.emplace(newest->view, filter);
  watcher.list = std::make_unique<JobChunks>(newest, filter, watcher.wish.caller, age_now(*newest));
  watcher.gone.clear();
  watcher.told = newest;
  watcher.starts_told = newest->expected_starts;
  watcher.resync = true;
}

void JobWatches::begin_step(Watcher& watcher, const std::shared_ptr<const Picture>& newest, Duration now) {
  std::map<std::uint32_t, model::JobPtr> jobs;
  watcher.gone.clear();
  for (const Change& change : step_from(watcher.told, *newest)) {
    if (change.after && watcher.pick->matches(*change.after))
      jobs.emplace(change.after->id.value, change.after);
    else if (change.before && watcher.pick->matches(*change.before))
      watcher.gone.push_back(change.before->id.value);
  }
  if (watcher.wish.expected_starts && now - watcher.starts_at >= options_.starts_pace) {
    for (const auto& job : starts_from(watcher.starts_told, *newest))
      if (watcher.pick->matches(*job)) jobs.emplace(job->id.value, job);
    watcher.starts_told = newest->expected_starts;
    watcher.starts_at = now;
  }
  watcher.told = newest;
  if (jobs.empty() && watcher.gone.empty()) return;  // nothing that he wants to know
  std::vector<model::JobPtr> list;
  list.reserve(jobs.size());
  for (auto& [id, job] : jobs) list.push_back(std::move(job));
  watcher.list = std::make_unique<JobChunks>(newest, std::move(list), watcher.wish.caller, age_now(*newest));
}

// The next message of what is being told.
void JobWatches::tell(Watcher& watcher, Duration now) {
  v1::JobChanges changes;
  changes.set_resync(std::exchange(watcher.resync, false));
  changes.set_as_of_us(to_micros(watcher.told->view.as_of));
  for (const std::uint32_t id : watcher.gone) changes.add_gone(id);
  watcher.gone.clear();
  watcher.list->next(changes.mutable_chunk());
  if (watcher.list->at_end()) {
    changes.set_current(true);
    watcher.list = nullptr;
  }
  watcher.last_sent = now;
  watcher.sink->send(changes);
}

const JobWatches::Step& JobWatches::step_from(const std::shared_ptr<const Picture>& earlier, const Picture& newest) {
  const auto [at, fresh] = steps_.try_emplace(earlier);
  if (fresh)
    CowMap<model::JobPtr>::diff(earlier->view.jobs, newest.view.jobs,
                                [&](std::uint32_t, const model::JobPtr* before, const model::JobPtr* after) {
                                  at->second.push_back({before ? *before : nullptr, after ? *after : nullptr});
                                });
  return at->second;
}

const JobWatches::Starts& JobWatches::starts_from(const std::shared_ptr<const ExpectedStarts>& earlier,
                                                  const Picture& newest) {
  const auto [at, fresh] = starts_.try_emplace(earlier);
  if (!fresh || earlier == newest.expected_starts) return at->second;
  for (const auto& [id, expected] : *newest.expected_starts) {
    const auto known = earlier->find(id);
    if (known != earlier->end() && known->second.start == expected.start) continue;
    if (const auto* job = newest.view.pending.find(id.value)) at->second.push_back(*job);
  }
  std::ranges::sort(at->second, {}, [](const model::JobPtr& job) { return job->id; });
  return at->second;
}

Time JobWatches::age_now(const Picture& picture) const {
  return options_.now ? std::max(options_.now(), picture.view.as_of) : picture.view.as_of;
}

}  // namespace spur::ctld
