// SPDX-License-Identifier: Apache-2.0
#include "ctld/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "ctld/job_events.h"
#include "text/date.h"

namespace spur::ctld {
namespace {

constexpr std::size_t kMostQuestions = 16;
constexpr std::size_t kMostEvents = 10'000;
constexpr std::size_t kMostRecords = 2'000;
constexpr Duration kTryAgain = seconds(30);
// Batches are written together that come within this time, or are this many bytes: a transaction of its own for each of
// many submissions would cost more than the submission.
constexpr auto kGather = std::chrono::milliseconds(100);
constexpr std::uint64_t kGatherBytes = std::uint64_t{1} << 20;
constexpr auto kIdle = std::chrono::seconds(60);  // after which the states of earlier questions are let go

}  // namespace

History::History(Doors doors) : doors_(std::move(doors)), past_(doors_.store) {
  writer_ = std::thread([this] { write_loop(); });
  answerer_ = std::thread([this] { answer_loop(); });
}

History::~History() {
  stop();
}

void History::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  if (writer_.joinable()) writer_.join();
  {
    const std::lock_guard lock(mutex_);
    answering_ = false;
  }
  asked_.notify_all();
  if (answerer_.joinable()) answerer_.join();
}

// ---- what the core thread hands in

void History::begin(Image from, std::optional<std::uint64_t> journal_last) {
  const auto open = [&]() -> Status {
    SPUR_ASSIGN(auto held, doors_.store.held());
    if (journal_last && held.last > *journal_last) {
      doors_.log("warning: the history is of another journal than this one, and begins anew");
      SPUR_TRY(doors_.store.clear());
      held = {};
    }
    known_ = held.last;
    image_at_ = held.newest_image;
    if (is_set(held.since) && held.last >= from.index) return {};
    if (is_set(held.since))
      doors_.log(fmt::format("the history has a gap: entries {} to {} of the journal came from elsewhere",
                             held.last + 1, from.index));
    if (!is_set(from.shown)) from.shown = doors_.clock.now();
    known_ = from.index;
    image_at_ = from.shown;
    return doors_.store.save(from);
  };
  if (auto ok = open(); !ok) {
    const std::lock_guard lock(mutex_);
    give_up(ok.error().message);
  }
}

void History::add(AppliedBatch applied) {
  bytes_since_image_ += applied.entry.size();
  if (applied.index <= known_) {
    if (std::exchange(compared_, true)) return;
    const auto stored = doors_.store.read(applied.index - 1, 1);
    if (!stored || stored->empty() || stored->front().index != applied.index ||
        stored->front().bytes == applied.entry)
      return;
    doors_.log("warning: the history is of another journal than this one, and begins anew");
    const Status cleared = doors_.store.clear();
    const std::lock_guard lock(mutex_);
    give_up(cleared ? "it is of another journal" : cleared.error().message);
    try_at_ = {};
    known_ = 0;
    return;
  }
  compared_ = true;
  bool wake;
  {
    const std::lock_guard lock(mutex_);
    if (gap_ || stopping_) return;
    waiting_bytes_ += applied.entry.size();
    if (waiting_bytes_ > doors_.most_waiting) return give_up("the disk is too slow");
    known_ = applied.index;
    wake = queue_.empty() || waiting_bytes_ >= kGatherBytes;
    queue_.emplace_back(std::move(applied));
  }
  if (wake) work_.notify_one();
}

bool History::wants_image() const {
  const std::lock_guard lock(mutex_);
  if (gap_) return doors_.clock.monotonic() >= try_at_;
  if (bytes_since_image_ == 0) return false;
  return bytes_since_image_ >= doors_.image_bytes || doors_.clock.now() - image_at_ >= doors_.image_every;
}

void History::on_image(std::uint64_t index) {
  bytes_since_image_ = 0;
  image_at_ = doors_.clock.now();
  const std::lock_guard lock(mutex_);
  if (!std::exchange(gap_, std::nullopt)) return;
  known_ = index;
  doors_.log("history is kept again");
}

void History::push(Item item) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(item));
    hurry_ = true;
  }
  work_.notify_one();
}

void History::add_image(Image image) {
  push(std::move(image));
}

void History::when_recorded(std::function<void()> then) {
  push(Marker{std::move(then), true});
}

// With the mutex held. What waits goes too: it would be on the far side of a hole.
void History::give_up(const std::string& why) {
  if (gap_) return;
  gap_ = doors_.clock.now();
  try_at_ = doors_.clock.monotonic() + kTryAgain;
  std::erase_if(queue_, [](const Item& item) { return std::holds_alternative<AppliedBatch>(item); });
  waiting_bytes_ = 0;
  doors_.log(fmt::format("error: no history is kept for now: {}", why));
}

// ---- the writer

void History::write_loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    work_.wait_for(lock, kGather, [this] { return stopping_ || hurry_ || waiting_bytes_ >= kGatherBytes; });
    auto items = std::exchange(queue_, {});
    waiting_bytes_ = 0;
    hurry_ = false;
    lock.unlock();
    write(std::move(items));
    lock.lock();
  }
}

void History::write(std::vector<Item> items) {
  io::HistoryStore::Part part;
  bool lost = false;  // what follows has nothing to follow on
  const auto flush = [&] {
    if (part.entries.empty()) return;
    if (const Status status = doors_.store.append(part); !status) {
      lost = true;
      const std::lock_guard lock(mutex_);
      give_up(status.error().message);
    }
    part = {};
  };
  for (Item& item : items) {
    if (auto* batch = std::get_if<AppliedBatch>(&item)) {
      if (lost) continue;
      note_events(*batch, &part);
      part.entries.push_back({batch->index, batch->shown, std::move(batch->entry)});
      continue;
    }
    flush();
    if (const auto* image = std::get_if<Image>(&item)) {
      save(*image);
    } else if (const auto* marker = std::get_if<Marker>(&item)) {
      if (marker->durable)
        if (const Status status = doors_.store.sync(); !status)
          doors_.log("error: the history may end early after a loss of power: " + status.error().message);
      marker->then();
    }
  }
  flush();
}

void History::save(const Image& image) {
  if (const Status status = doors_.store.save(image); !status) {
    const std::lock_guard lock(mutex_);
    return give_up(status.error().message);
  }
  if (const auto small = doors_.store.trim(doors_.clock.now() - doors_.keep, doors_.max_bytes); !small)
    doors_.log("error: the history does not shrink: " + small.error().message);
  else if (!*small && !std::exchange(said_large_, true))
    doors_.log("warning: one image and its entries are larger than controller.history_max_mb allows");
}

// ---- questions

bool History::ask(std::function<void()> question) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || open_questions_ >= kMostQuestions) return false;
    ++open_questions_;
  }
  push(Marker{[this, question = std::move(question)] {
                {
                  const std::lock_guard lock(mutex_);
                  questions_.push_back(question);
                }
                asked_.notify_one();
              },
              false});
  return true;
}

void History::answer_loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!asked_.wait_for(lock, kIdle, [this] { return !answering_ || !questions_.empty(); })) past_.forget();
    if (questions_.empty()) {
      if (!answering_) return;
      continue;
    }
    auto question = std::move(questions_.front());
    questions_.pop_front();
    lock.unlock();
    question();
    lock.lock();
    --open_questions_;
  }
}

Status History::check_gap(Time then) const {
  const std::lock_guard lock(mutex_);
  if (!gap_ || then < *gap_) return {};
  return fail(ErrorCode::NotFound, fmt::format("there is no history after {}", text::format_date(*gap_)));
}

void History::at(Time then, PictureAnswer answer) {
  // The asker's clock may be a little ahead.
  if (then > doors_.clock.now() + seconds(2)) return answer(fail(ErrorCode::InvalidTime, "that time is still to come"));
  const bool taken = ask([this, then, answer] {
    if (auto ok = check_gap(then); !ok) return answer(std::unexpected(ok.error()));
    auto found = past_.at(then);
    if (!found && found.error().code == ErrorCode::NotFound) {
      // The oldest may have been dropped while it was read on from there.
      past_.forget();
      found = past_.at(then);
    }
    answer(std::move(found));
  });
  if (!taken) answer(fail(ErrorCode::Busy, "too many look back at once; try again"));
}

void History::job_events(state::JobTarget target, std::function<void(Result<JobEvents>)> answer) {
  const auto find = [this, target = std::move(target)]() -> Result<JobEvents> {
    JobEvents out;
    SPUR_ASSIGN(const auto held, doors_.store.held());
    out.since = held.since;
    SPUR_ASSIGN(auto records, doors_.store.records(target.id));
    // The array's own record tells what was done to all of it before a task had one.
    std::erase_if(records, [&](const io::HistoryStore::Record& r) {
      if (target.tasks) return r.is_component || (r.job != target.id && !(r.part && target.tasks->contains(*r.part)));
      return target.het_offset && !(r.is_component && r.part == target.het_offset);
    });
    if (records.size() > kMostRecords) {
      records.resize(kMostRecords);
      out.more = true;
    }
    std::vector<JobId> ids;
    for (const auto& record : records) ids.push_back(record.job);
    SPUR_ASSIGN(out.events, doors_.store.events(ids, kMostEvents + 1));
    if (out.events.size() > kMostEvents) {
      out.events.resize(kMostEvents);
      out.more = true;
    }
    out.records = std::move(records);
    return out;
  };
  if (!ask([find, answer] { answer(find()); }))
    answer(fail(ErrorCode::Busy, "too many look back at once; try again"));
}

}  // namespace spur::ctld
