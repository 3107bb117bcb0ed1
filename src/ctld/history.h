// SPDX-License-Identifier: Apache-2.0
// Keeps what was applied, to look back at (docs/history.md). Every controller keeps its own, whoever leads. Nobody
// waits for it: batches are handed over after their callers were answered and written by a thread of its own; questions
// are answered by another. What cannot be written is left out, with one line in the log, and a new stretch begins with
// the next image; the journal goes on in any case.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "ctld/commit_queue.h"
#include "ctld/past.h"
#include "io/clock.h"
#include "io/history_store.h"

namespace spur::ctld {

class History {
 public:
  using Image = io::HistoryStore::Image;
  struct Doors {
    io::HistoryStore& store;
    io::Clock& clock;
    std::function<void(std::string)> log;
    Duration keep = hours(24 * 7);
    std::uint64_t max_bytes = std::uint64_t{2} << 30;
    // An image after this much log, or after this time if there was any: a question costs no more than to read that.
    std::uint64_t image_bytes = std::uint64_t{64} << 20;
    Duration image_every = hours(6);
    std::uint64_t most_waiting = std::uint64_t{256} << 20;  // bytes that wait to be written
  };
  explicit History(Doors doors);
  ~History();
  // What was handed in is written. Idempotent.
  void stop();

  // ---- from the controller's core thread
  // Once, before the first add: the state with which the journal's replay begins (index 0: nothing was ever journaled),
  // and the last entry that the journal has, if nobody else writes to it.
  void begin(Image from, std::optional<std::uint64_t> journal_last);
  // In order. Entries that are here already are passed over.
  void add(AppliedBatch applied);
  bool wants_image() const;
  // An image of the state at `index`, the last that was added, is being made; add_image brings it.
  void on_image(std::uint64_t index);

  // ---- from any thread
  void add_image(Image image);
  // Calls back when everything that was added before is safe here, or given up.
  void when_recorded(std::function<void()> then);

  using PictureAnswer = std::function<void(Result<std::shared_ptr<const Picture>>)>;
  // The answer comes on the history's own thread; Busy, at once, if too many ask.
  void at(Time then, PictureAnswer answer);
  struct JobEvents {
    std::vector<io::HistoryStore::Record> records;  // of the jobs in question; empty: it is not known
    std::vector<io::HistoryStore::Event> events;    // the oldest first
    bool more = false;                              // than are told
    Time since;
  };
  void job_events(state::JobTarget target, std::function<void(Result<JobEvents>)> answer);

 private:
  struct Marker {
    std::function<void()> then;
    bool durable = false;
  };
  using Item = std::variant<AppliedBatch, Image, Marker>;
  void push(Item item);
  void write_loop();
  void write(std::vector<Item> items);
  void save(const Image& image);
  void answer_loop();
  // `question` is put when everything that was added before is written.
  bool ask(std::function<void()> question);
  void give_up(const std::string& why);
  Status check_gap(Time then) const;

  Doors doors_;
  Past past_;
  mutable std::mutex mutex_;
  std::condition_variable work_, asked_;
  std::vector<Item> queue_;
  std::deque<std::function<void()>> questions_;
  std::size_t open_questions_ = 0;
  std::uint64_t waiting_bytes_ = 0;
  bool stopping_ = false, answering_ = true;
  bool hurry_ = false;  // somebody waits for what is in the queue
  // Not set: all is well. Else since when entries are left out, and when an image is tried again.
  std::optional<Time> gap_;
  Duration try_at_{0};
  // The core thread's alone.
  std::uint64_t known_ = 0;  // entries up to here are in the store or on their way
  bool compared_ = false;    // what the journal replays is what is known
  std::uint64_t bytes_since_image_ = 0;
  Time image_at_;
  bool said_large_ = false;  // the writer's alone
  std::thread writer_, answerer_;
};

}  // namespace spur::ctld
