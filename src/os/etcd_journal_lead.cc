// SPDX-License-Identifier: Apache-2.0
// Appending and beating. Every write compares the term; one that fails to is the end of this controller's lead.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "os/crc32c.h"
#include "os/etcd_journal.h"

namespace spur::os {
namespace {

bool is_refusal(ErrorCode code) {
  return code == ErrorCode::InvalidArgument || code == ErrorCode::PermissionDenied ||
         code == ErrorCode::VersionMismatch;
}

}  // namespace

void EtcdJournal::lead_once(std::deque<Append> appends) {
  if (appends.empty()) {
    if (clock_.monotonic() >= last_write_ + options_.failover / 3) beat();
    return;
  }
  while (!appends.empty()) {
    Append append = std::move(appends.front());
    appends.pop_front();
    Error error;
    const Outcome outcome = write(append, &error);
    if (outcome == Outcome::Durable) {
      {
        const std::lock_guard lock(mutex_);
        next_ = append.index + 1;
      }
      append.done({});
      continue;
    }
    // What waits behind it cannot follow it any more.
    appends.push_front(std::move(append));
    if (outcome == Outcome::Deposed) return stop_leading(std::move(appends), error);
    for (Append& left : appends) left.done(std::unexpected(error));
    return;
  }
}

EtcdJournal::Outcome EtcdJournal::write(const Append& append, Error* error) {
  std::string_view rest = append.entry;
  std::uint32_t parts = 0;
  for (; rest.size() > options_.piece_bytes; ++parts) {
    const Outcome outcome = write_once(
        {.unchanged = {{keys_.term(), term_}},
         .puts = {{keys_.part(append.index, term_, parts), std::string(rest.substr(0, options_.piece_bytes))}},
         .deletes = {}},
        0, error);
    if (outcome != Outcome::Durable) return outcome;
    rest.remove_prefix(options_.piece_bytes);
  }
  const std::string value =
      encode_etcd_entry({.term = term_, .parts = parts, .checksum = crc32c(append.entry), .last = rest});
  // The entry before it must be there as well: a request that was given up, sent again, and comes after all when its
  // entry has been cut off would find that it does not exist.
  EtcdTransaction transaction{.unchanged = {{keys_.term(), term_}, {keys_.log(append.index), 0}},
                              .puts = {{keys_.log(append.index), value}},
                              .deletes = {}};
  if (last_entry_ != 0) transaction.unchanged.emplace_back(keys_.log(append.index - 1), last_entry_);
  return write_once(std::move(transaction), append.index, error);
}

// Until it is known what became of it. Sent again as it was: of two that are under way only one can find that the
// entry does not exist yet.
EtcdJournal::Outcome EtcdJournal::write_once(EtcdTransaction transaction, std::uint64_t index, Error* error) {
  transaction.puts.emplace_back(keys_.tick(), std::to_string(++ticks_));
  for (bool unknown = false;;) {
    const Duration began = clock_.monotonic();
    const auto commit = client_->commit(transaction);
    if (commit && commit->done && index != 0) last_entry_ = commit->revision;
    if (commit && (commit->done || (index != 0 && unknown && is_ours(index)))) {
      if (commit->done) note_write(began);
      last_write_ = clock_.monotonic();
      return Outcome::Durable;
    }
    if (commit) {
      *error = {ErrorCode::NotLeader, "another controller leads now"};
      return Outcome::Deposed;
    }
    *error = commit.error();
    if (!unknown && error->code == ErrorCode::OutOfSpace) {
      last_write_ = clock_.monotonic();  // nobody else can write either
      return Outcome::Full;
    }
    if (!unknown && is_refusal(error->code)) return Outcome::Refused;
    unknown = true;
    if (clock_.monotonic() - last_write_ > 3 * options_.failover) {
      *error = {ErrorCode::NotLeader, "etcd does not answer: " + error->message};
      return Outcome::Deposed;
    }
    options_.threads->sleep(options_.failover / 30);
  }
}

// The entry that stopped ours may be ours: the answer to the first attempt was lost. Only we write with our term.
bool EtcdJournal::is_ours(std::uint64_t index) {
  const Duration began = clock_.monotonic();
  while (clock_.monotonic() - began < 3 * options_.failover) {
    const auto found = client_->range(keys_.log(index), "", 1, false);
    if (!found) {
      options_.threads->sleep(options_.failover / 30);
      continue;
    }
    if (found->values.empty()) return false;
    const auto entry = decode_etcd_entry(found->values.front().value);
    if (!entry || entry->term != term_) return false;
    last_entry_ = found->values.front().changed;
    return true;
  }
  return false;
}

void EtcdJournal::note_write(Duration began) {
  const std::lock_guard lock(mutex_);
  standing_.silence = began;
}

void EtcdJournal::beat() {
  const Duration began = clock_.monotonic();
  const auto commit = client_->commit(
      {.unchanged = {{keys_.term(), term_}}, .puts = {{keys_.tick(), std::to_string(++ticks_)}}, .deletes = {}});
  const Duration now = clock_.monotonic();
  if ((commit && commit->done) || (!commit && commit.error().code == ErrorCode::OutOfSpace)) {
    if (commit) note_write(began);
    last_write_ = now;
    return;
  }
  Error why{ErrorCode::NotLeader, "another controller leads now"};
  if (!commit) {
    if (now - last_write_ <= 3 * options_.failover) {
      options_.threads->sleep(options_.failover / 30);
      return;
    }
    why = {ErrorCode::NotLeader, "etcd does not answer: " + commit.error().message};
  }
  stop_leading({}, why);
}

void EtcdJournal::stop_leading(std::deque<Append> open, const Error& why) {
  {
    const std::lock_guard lock(mutex_);
    if (role_ != Role::Leading) return;
    role_ = Role::Idle;
    std::ranges::move(queue_, std::back_inserter(open));
    queue_.clear();
  }
  for (Append& append : open) append.done(std::unexpected(why));
  depose(why);
}

void EtcdJournal::leave(const std::string& successor, const char* why) {
  {
    const std::lock_guard lock(mutex_);
    if (role_ != Role::Leading) return;
  }
  resign(successor);
  stop_leading({}, {ErrorCode::NotLeader, why});
}

void EtcdJournal::depose(const Error& why) {
  // Whoever leads now gets his time before we try again.
  heard_ = clock_.monotonic();
  others_led_ = true;
  {
    const std::lock_guard lock(mutex_);
    standing_.silence = heard_;
  }
  say(fmt::format("warning: {} leads no longer: {}", options_.membership.member, why.message));
  roles_.on_follow(why);
}

// Without a heartbeat to wait for, the first follower that looks takes over; or the one that is named.
void EtcdJournal::resign(const std::string& successor) {
  {
    const std::lock_guard lock(mutex_);
    resigned_ = true;
  }
  static_cast<void>(client_->commit({.unchanged = {{keys_.term(), term_}},
                                     .puts = {{keys_.term(), encode_etcd_term({{}, {}, {}, successor})}},
                                     .deletes = {{keys_.tick(), keys_.tick() + '\0'}}}));
}

}  // namespace spur::os
