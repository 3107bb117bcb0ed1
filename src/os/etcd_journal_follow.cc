// SPDX-License-Identifier: Apache-2.0
// Following the log, and taking over from a leader that is silent.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "os/crc32c.h"
#include "os/etcd_journal.h"

namespace spur::os {
namespace {

constexpr std::int64_t kEntriesPerRead = 200;
constexpr std::uint64_t kMayBeBehind = 200;
constexpr Duration kComplainEvery = seconds(10);
constexpr Duration kShortestClaim = milliseconds(50);

}  // namespace

Error EtcdJournal::has_been_cut(std::uint64_t goes_on) const {
  return {ErrorCode::NotFound,
          fmt::format("the log in etcd has been cut: it goes on at entry {}, and {} is needed here; start again to get the "
                      "state from another controller",
                      goes_on, next_)};
}

// Our member of etcd may be behind: it still has an entry whose pieces, which are read from all of them, went away with it.
Error EtcdJournal::lacks_pieces(std::uint64_t index) {
  const auto first = client_->range(keys_.log(0), keys_.log_end(), 1, false);
  if (!first) return first.error();
  const auto begins = first->values.empty() ? std::nullopt : keys_.log_index(first->values.front().key);
  if (begins && *begins > index) return has_been_cut(*begins);
  return {ErrorCode::Corrupt, fmt::format("entry {} of the log in etcd lacks pieces", index)};
}

// An entry whose pieces are under part/ is put together.
Result<std::string> EtcdJournal::whole_entry(std::uint64_t index, const EtcdValue& value) {
  const auto damaged = [&](const char* what) {
    return fail(ErrorCode::Corrupt, fmt::format("entry {} of the log in etcd {}", index, what));
  };
  const auto entry = decode_etcd_entry(value.value);
  if (!entry) return damaged("is not in a form that this version knows");
  std::string whole;
  std::uint32_t pieces = 0;
  for (std::string from = keys_.parts(index, entry->term); pieces < entry->parts;) {
    SPUR_ASSIGN(const auto range, client_->range(from, keys_.parts_end(index, entry->term), 8, false));
    if (range.values.empty()) return std::unexpected(lacks_pieces(index));
    for (const EtcdValue& piece : range.values) {
      if (piece.key != keys_.part(index, entry->term, pieces)) return std::unexpected(lacks_pieces(index));
      whole += piece.value;
      if (++pieces == entry->parts) break;
    }
    from = keys_.part(index, entry->term, pieces);
  }
  whole += entry->last;
  if (crc32c(whole) != entry->checksum) return damaged("is damaged");
  return whole;
}

Status EtcdJournal::give(const EtcdValue& value) {
  const auto index = keys_.log_index(value.key);
  if (!index) return {};
  if (*index != next_)
    return std::unexpected(has_been_cut(*index));
  SPUR_ASSIGN(std::string entry, whole_entry(*index, value));
  {
    const std::lock_guard lock(mutex_);
    ++next_;
  }
  last_given_ = value.changed;
  roles_.on_entry(*index, std::move(entry));
  return {};
}

void EtcdJournal::see_leader(const EtcdRange& range) {
  if (!range.more) vacant_ = std::ranges::find(range.values, keys_.tick(), &EtcdValue::key) == range.values.end();
  if (vacant_) seen_tick_ = 0;
  for (const EtcdValue& value : range.values) {
    const bool term = value.key == keys_.term();
    if (!term && value.key != keys_.tick()) continue;
    auto& known = term ? seen_term_ : seen_tick_;
    const std::int64_t before = std::exchange(known, value.changed);
    if (before == value.changed) continue;
    others_led_ |= before != 0;
    heard_ = clock_.monotonic();
    const std::lock_guard lock(mutex_);
    standing_.silence = heard_;
    if (!term) continue;
    EtcdTerm seen = decode_etcd_term(value.value);
    standing_.leader = std::move(seen.member);
    standing_.address = std::move(seen.address);
    ours_ = seen.life == life_;
    successor_ = std::move(seen.successor);
  }
}

// True: there is more.
Result<bool> EtcdJournal::read_log() {
  SPUR_ASSIGN(const auto range, client_->range(keys_.log(next_), keys_.replicated_end(), kEntriesPerRead, true));
  for (const EtcdValue& value : range.values) SPUR_TRY(give(value));
  see_leader(range);
  if (range.more) return true;
  bool waited_for = false;
  {
    const std::lock_guard lock(mutex_);
    waited_for = given_ < wanted_;
    given_ = std::max(given_, range.revision);
  }
  if (waited_for) asked_wake_->notify();
  return false;
}

void EtcdJournal::follow_once() {
  const auto more = read_log();
  {
    const std::lock_guard lock(mutex_);
    looked_ = clock_.monotonic();
  }
  if (more && *more) return;
  if (!more) {
    const ErrorCode code = more.error().code;
    if (code == ErrorCode::Corrupt || code == ErrorCode::NotFound || code == ErrorCode::VersionMismatch) {
      {
        const std::lock_guard lock(mutex_);
        role_ = Role::Idle;
      }
      return roles_.on_failed(more.error());
    }
    if (clock_.monotonic() - told_ > kComplainEvery) {
      told_ = clock_.monotonic();
      say("warning: cannot follow the log: " + more.error().message);
    }
  } else {
    bool retired = false;
    {
      const std::lock_guard lock(mutex_);
      standing_.caught_up = true;
      retired = retired_;
    }
    const bool silent = clock_.monotonic() - heard_ >= options_.failover;
    // Nobody is served by a leader that has yet to apply what it was given.
    const bool ready = next_ - 1 - std::min(next_ - 1, applied_.load()) <= kMayBeBehind;
    if ((silent || (vacant_ && may_be_next()) || has_claimed()) && ready && !retired && take_over()) return;
  }
  std::unique_lock lock(mutex_);
  // Somebody waits for what our member of etcd does not know yet.
  const bool behind = given_ < wanted_;
  wake_->wait(lock, options_.failover / (behind ? 100 : 12),
              [this, behind] { return stop_ || (!behind && given_ < wanted_); });
}

Result<std::int64_t> EtcdJournal::last_entry() const {
  if (next_ == 1 || last_given_ != 0) return last_given_;
  SPUR_ASSIGN(const auto found, client_->range(keys_.log(next_ - 1), "", 1, false));
  return found.values.empty() ? 0 : found.values.front().changed;
}

// To the end: what was there at `revision`, when nobody else could append any more. Our own member of etcd knows it as
// soon as it answers the write that made it so. A read by a majority would do as well, but etcd lets all of those wait for
// seconds when one message of theirs is lost.
bool EtcdJournal::read_rest(std::int64_t revision) {
  for (const Duration began = clock_.monotonic();;) {
    const auto more = read_log();
    if (more && !*more && given_ >= revision) return true;
    if (clock_.monotonic() - began > 3 * options_.failover) {
      say("warning: could not read the rest of the log in time to lead");
      return false;
    }
    if (!more || !*more) options_.threads->sleep(options_.failover / 100);
  }
}

// A claim whose answer was lost, or not waited for, has got through.
bool EtcdJournal::has_claimed() const {
  return ours_ && seen_term_ > led_;
}

// Who is not meant by the last leader waits as after its death, so that somebody leads in any case.
bool EtcdJournal::may_be_next() const {
  const std::string& self = options_.membership.member;
  if (successor_.empty()) return true;
  return successor_.front() == '-' ? successor_.substr(1) != self : successor_ == self;
}

// Only if nobody has led or beaten since we last looked, or changed the set of controllers since our member of etcd knew
// it. The answer is not waited for long: a member of etcd passes writes on to etcd's own leader, and when that went
// together with ours, what it passed on is lost until it has heard so. What became of the claim, the next look at the
// log will tell.
Result<std::int64_t> EtcdJournal::claim() {
  const auto& membership = options_.membership;
  // One that is no controller any more must never lead again.
  SPUR_ASSIGN(const auto identity, read_identity(*client_, keys_, true));
  if (!identity.may_lead(membership.member)) return fail(ErrorCode::NotLeader, "this controller was removed");
  if (claimed_ == Duration{0}) claimed_ = clock_.monotonic();
  SPUR_ASSIGN(const auto commit,
              client_->commit({.unchanged = {{keys_.identity(), identity.revision},
                                             {keys_.term(), seen_term_},
                                             {keys_.tick(), seen_tick_}},
                               .puts = {{keys_.term(), encode_etcd_term({membership.member, options_.address, life_})},
                                        {keys_.tick(), "0"}},
                               .deletes = {},
                               .patience = std::max(options_.failover / 3, kShortestClaim)}));
  if (!commit.done) return fail(ErrorCode::NotLeader, "another controller leads now");
  return commit.revision;
}

bool EtcdJournal::take_over() {
  const bool first = !others_led_;
  const Duration before = clock_.monotonic();
  const bool late = has_claimed();
  const auto term = late ? Result<std::int64_t>(seen_term_) : claim();
  if (!term || !read_rest(*term)) return false;
  const auto last = last_entry();
  if (!last) return false;
  last_entry_ = *last;
  // After a claim of unknown age the first beat is due.
  last_write_ = late ? clock_.monotonic() - options_.failover / 3 : before;
  {
    const std::lock_guard lock(mutex_);
    if (seen_term_ != *term) return false;  // another one already
    term_ = led_ = *term;
    role_ = Role::Leading;
    standing_.silence = late ? claimed_ : before;
  }
  claimed_ = Duration{0};
  say(fmt::format("{} leads now, from entry {} on", options_.membership.member, next_));
  roles_.on_lead(first);
  return true;
}

}  // namespace spur::os
