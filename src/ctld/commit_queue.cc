// SPDX-License-Identifier: Apache-2.0
#include "ctld/commit_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "wire/command_codec.h"

namespace spur::ctld {
namespace {

// Large enough that one write carries what arrives during another, small enough that an entry stays far below every
// journal's size limit.
constexpr std::size_t kMaxCommandsPerBatch = 2000;
constexpr std::size_t kMaxScriptBytesPerBatch = 8u << 20;
constexpr Duration kFullPause = milliseconds(500);

std::size_t weight(const state::Command& command) {
  const auto* submit = std::get_if<state::SubmitJob>(&command);
  if (!submit) return 0;
  const auto size = [](const model::Blob& blob) { return blob ? blob->size() : 0; };
  return size(submit->spec->script) + size(submit->spec->environment);
}

}  // namespace

CommitQueue::CommitQueue(io::Clock& clock, io::Journal& journal, const std::unique_ptr<state::Cluster>& cluster,
                         Hooks hooks)
    : clock_(clock), journal_(journal), cluster_(cluster), hooks_(std::move(hooks)) {}

void CommitQueue::push(state::Command command, Then then, IfFull if_full, std::optional<Uid> by) {
  if (closed_) {
    if (then) refuse({std::move(then)}, *closed_);
    return;
  }
  queue_.push_back({std::move(command), std::move(then), if_full, by});
}

Duration CommitQueue::next_try() const {
  return full_ && in_flight_.empty() && !queue_.empty() ? try_at_ : Duration::max();
}

void CommitQueue::pump() {
  if (!in_flight_.empty() || queue_.empty() || failed_ || gathering_) return;
  if (full_ && clock_.monotonic() < try_at_) return;
  // The stamp never goes back, whatever the wall clock does.
  batch_ = {
      .at = std::max(clock_.now(), cluster_->view().as_of), .commands = {}, .by = {}, .shown_before = shown_};
  std::size_t bytes = 0;
  while (!queue_.empty() && batch_.commands.size() < kMaxCommandsPerBatch) {
    bytes += weight(queue_.front().command);
    if (!batch_.commands.empty() && bytes > kMaxScriptBytesPerBatch) break;
    // A large request must not keep out what would fit without it.
    if (full_ && !in_flight_.empty() && in_flight_.back().if_full != queue_.front().if_full) break;
    batch_.commands.push_back(std::move(queue_.front().command));
    batch_.by.push_back(queue_.front().by);
    in_flight_.push_back({std::move(queue_.front().then), queue_.front().if_full});
    queue_.pop_front();
  }
  std::string entry = wire::encode_batch(batch_);
  batch_bytes_ = entry.size();
  if (hooks_.record) entry_ = entry;
  journal_.append(cluster_->index() + 1, std::move(entry), [this](Status status) {
    hooks_.post([this, status = std::move(status)]() mutable { on_durable(std::move(status)); });
  });
}

void CommitQueue::on_durable(Status status) {
  if (!status && status.error().code == ErrorCode::NotLeader) return close(status.error());
  if (!status && status.error().code == ErrorCode::OutOfSpace) return on_full(status.error());
  if (!status) {
    // Whether the entry is durable is unknown. Going on would acknowledge what may be lost; the callers see a broken
    // connection and ask again with their submit token.
    failed_ = true;
    hooks_.fatal(status.error());
    return;
  }
  if (std::exchange(full_, false)) hooks_.log("the journal has space again");
  bytes_ += batch_bytes_;
  std::vector<state::Effect> effects;
  std::vector<state::OutboxRecord> records;
  AppliedBatch done;
  if (hooks_.record) done.before = cluster_->view();
  done.outcomes = cluster_->apply(cluster_->index() + 1, batch_, &effects, hooks_.account ? &records : nullptr);
  if (!records.empty()) hooks_.account(cluster_->outbox().born, std::move(records));
  hooks_.publish();
  shown_ = std::max(clock_.now(), batch_.at);
  if (hooks_.record) {
    done.index = cluster_->index();
    done.entry = std::move(entry_);
    done.batch = std::move(batch_);  // a caller that asks for more makes the next
    done.after = cluster_->view();
    done.shown = shown_;
  }
  auto callers = std::exchange(in_flight_, {});
  for (std::size_t i = 0; i < callers.size(); ++i)
    if (callers[i].then) callers[i].then(done.outcomes[i]);
  if (hooks_.record) hooks_.record(std::move(done));
  hooks_.applied(effects);
  pump();
}

// Nothing of the batch is in the journal.
void CommitQueue::on_full(const Error& error) {
  if (!std::exchange(full_, true))
    hooks_.log(fmt::format("error: requests are refused until there is space: {}", error.message));
  try_at_ = clock_.monotonic() + kFullPause;
  std::deque<Entry> all;
  auto callers = std::exchange(in_flight_, {});
  for (std::size_t i = 0; i < callers.size(); ++i)
    all.push_back({std::move(batch_.commands[i]), std::move(callers[i].then), callers[i].if_full, batch_.by[i]});
  std::ranges::move(queue_, std::back_inserter(all));
  queue_.clear();
  std::vector<Then> refused;
  for (Entry& entry : all) {
    if (entry.if_full == IfFull::Wait)
      queue_.push_back(std::move(entry));
    else if (entry.then)
      refused.push_back(std::move(entry.then));
  }
  refuse(refused, error);
}

void CommitQueue::refuse(const std::vector<Then>& callers, const Error& error) {
  const state::Outcome outcome{.status = std::unexpected(error), .job = {}, .repeated = false, .jobs = {}};
  for (const Then& then : callers) then(outcome);
}

// What is in flight may be durable all the same: it comes back as an entry of the log then, and whoever asked for it
// and asks again is recognized by his token.
void CommitQueue::close(const Error& why) {
  closed_ = why;
  full_ = false;
  shown_ = {};  // the next batch is not ours
  std::vector<Then> refused;
  for (Caller& caller : in_flight_)
    if (caller.then) refused.push_back(std::move(caller.then));
  for (Entry& entry : queue_)
    if (entry.then) refused.push_back(std::move(entry.then));
  in_flight_.clear();
  queue_.clear();
  refuse(refused, why);
}

}  // namespace spur::ctld
