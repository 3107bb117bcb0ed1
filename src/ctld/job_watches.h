// SPDX-License-Identifier: Apache-2.0
// Those who watch jobs (WatchJobs) instead of asking again and again. A watcher is told what is different between the
// picture that he was told last and the newest one, when he has taken all that was sent to him: so a fast one hears
// of every published batch (at a pace), a slow one of fewer and larger steps, and nobody has a queue of messages.
// Who takes nothing for long loses his picture, too, and starts anew with the whole list (resync).
//
// One thread of its own does all of it; the controller only says that there is a new picture.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"
#include "ctld/controller.h"
#include "ctld/list_jobs.h"
#include "spur/v1/controller.pb.h"

namespace spur::ctld {

// The way to one watcher; only JobWatches calls it, on one thread.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  virtual bool gone() const = 0;     // he has hung up
  virtual bool drained() const = 0;  // he has taken all that was sent
  virtual void send(const v1::JobChanges& changes) = 0;
  virtual void end(const Status& status) = 0;  // the last call
};

class JobWatches {
 public:
  struct Options {
    std::function<std::shared_ptr<const Picture>()> picture;
    std::function<Time()> now = {};  // for ages of jobs; empty: the picture's stamp
    io::Clock& clock;
    Duration pace{milliseconds(50)};  // between two messages to everybody, at least
    Duration pulse{seconds(5)};       // who hears nothing for longer may take the controller for lost
    Duration patience{seconds(10)};   // for somebody who does not take what was sent
    Duration starts_pace{seconds(1)};  // between two looks at when jobs are expected to start
    std::function<void()> every_minute = {};  // something small that is to be done now and then
    std::size_t most = 4096, most_per_user = 512;
  };
  struct Wish {
    model::Caller caller;
    wire::JobFilter filter;
    bool expected_starts = false;
    // Which partitions the caller may not see, for as long as the partitions stay as they are.
    std::function<std::vector<std::string>(const model::View&)> hidden = {};
    // Which jobs he may know of, for as long as configuration and accounts stay as they are; empty, or making
    // nothing: all.
    std::function<std::function<bool(const model::Job&)>(const model::View&)> sees = {};
  };
  explicit JobWatches(Options options) : options_(std::move(options)) {}
  ~JobWatches() { stop(); }

  // Begins to serve; `prelude` is run first, on the thread.
  void start(std::function<void()> prelude = {});
  void stop();

  // Busy: there are too many. From any thread.
  Status add(Wish wish, std::shared_ptr<WatchSink> sink);
  // There is a new picture, or room at a sink. From any thread; costs next to nothing.
  void wake();

  // One look at everybody; how long the next one may wait. What the thread does; public for tests.
  Duration round();

 private:
  struct Watcher {
    Wish wish;
    std::shared_ptr<WatchSink> sink;
    std::optional<JobPick> pick;
    std::shared_ptr<const Picture> told;    // what he has been told, or is being told; null: nothing
    std::unique_ptr<JobChunks> list;        // what is left of it to tell
    std::vector<std::uint32_t> gone;        // ... likewise
    std::shared_ptr<const ExpectedStarts> starts_told;
    Duration starts_at{0};                  // when they were compared last
    bool resync = true;                     // the next message is the first of a whole list
    Duration last_sent{0}, stuck_since{0};  // stuck: 0 if he is not
  };
  struct Change {
    model::JobPtr before, after;
  };
  // What is different between an earlier picture and the newest one, worked out once for all who were told that one.
  using Step = std::vector<Change>;
  // Jobs that are expected to start at another time, or now at all, in ascending order.
  using Starts = std::vector<model::JobPtr>;
  void run(const std::function<void()>& prelude);
  bool serve(Watcher& watcher, const std::shared_ptr<const Picture>& newest, Duration now, Duration* wait);
  void begin_list(Watcher& watcher, const std::shared_ptr<const Picture>& newest);
  void begin_step(Watcher& watcher, const std::shared_ptr<const Picture>& newest, Duration now);
  void tell(Watcher& watcher, Duration now);
  const Step& step_from(const std::shared_ptr<const Picture>& earlier, const Picture& newest);
  const Starts& starts_from(const std::shared_ptr<const ExpectedStarts>& earlier, const Picture& newest);
  Time age_now(const Picture& picture) const;

  const Options options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false, stopping_ = false;
  std::vector<std::unique_ptr<Watcher>> fresh_;  // added, not looked at yet
  std::map<Uid, std::size_t> per_user_;
  std::size_t count_ = 0;
  std::vector<std::unique_ptr<Watcher>> watchers_;               // the thread's alone
  std::map<std::shared_ptr<const Picture>, Step> steps_;         // ... of this round
  std::map<std::shared_ptr<const ExpectedStarts>, Starts> starts_;  // ... too
  Duration last_round_{0}, minute_{0};                              // ... too
  std::thread thread_;
};

}  // namespace spur::ctld
