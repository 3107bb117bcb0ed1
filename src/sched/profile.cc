// SPDX-License-Identifier: Apache-2.0
#include "sched/profile.h"

#include <algorithm>

#include "base/check.h"

namespace spur::sched {

std::optional<std::span<const NodeNumber>> GainLog::since(std::uint64_t position) const {
  if (position < first_) return std::nullopt;
  return std::span(nodes_).subspan(static_cast<std::size_t>(position - first_));
}

void GainLog::trim(std::size_t keep) {
  if (nodes_.size() <= 2 * keep) return;
  const std::size_t gone = nodes_.size() - keep;
  nodes_.erase(nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(gone));
  first_ += gone;
}

Profile::Profile(const model::View& view)
    : view_(view),
      capacity_(view),
      groups_(view, capacity_),
      ends_(view, capacity_),
      shared_(view, capacity_),
      free_cpus_(capacity_.size()),
      held_at_(capacity_.size(), kNotHeld),
      has_starts_(capacity_.size()),
      nothing_(capacity_.width()),
      marks_(capacity_.size()),
      scratch_(capacity_.width()),
      license_scratch_(view.config->licenses.size()) {
  for (NodeNumber n = 0; n < capacity_.size(); ++n) note_free_cpus(n);
}

void Profile::note_free_cpus(NodeNumber n) {
  const auto free = static_cast<std::int32_t>(capacity_.free(n)[Columns::kCpu]);
  free_cpus_in_all_ += free - free_cpus_[n];
  free_cpus_[n] = free;
}

// ---- what happened

void Profile::refresh(NodeNumber n) {
  before_.assign(capacity_.free(n), capacity_.free(n) + capacity_.width());
  capacity_.refresh(view_, n);
  const Amount* after = capacity_.free(n);
  note_free_cpus(n);
  bool more = groups_.update(n, is_held(n));
  if (more) ++static_version_;
  for (std::size_t c = 0; c < before_.size(); ++c) more |= after[c] > before_[c];
  more |= shared_.take_changed(n);
  if (more) base_gains_.add(n);
  if (more || is_held(n)) gains_.add(n);
  ends_.forget_starts(n);
  if (has_starts_[n]) shared_.forget_starts(n);
  has_starts_[n] = false;
  ends_.outdate(n);
  if (is_held(n)) held_[held_at_[n]].outdated = true;
}

void Profile::job_came(const model::Job& job, const model::NodeGrant& grant) {
  if (job.flags & model::kSharesCores) return forget_shared(grant.node.value);
  capacity_.row_of(job, grant, scratch_);
  ends_.add(grant.node.value, raw_end(job), scratch_.data());
}

void Profile::job_went(const model::Job& job, const model::NodeGrant& grant) {
  if (job.flags & model::kSharesCores) return forget_shared(grant.node.value);
  capacity_.row_of(job, grant, scratch_);
  ends_.remove(grant.node.value, raw_end(job), scratch_.data());
}

void Profile::set_license_holder(const model::Job& job) {
  const auto& known = view_.config->licenses;
  LicenseHolder holder{raw_end(job), std::vector<Amount>(known.size())};
  for (const auto& license : job.spec->licenses) {
    const auto at = std::ranges::find(known, license.name, &model::LicenseConfig::name);
    if (at != known.end()) holder.counts[static_cast<std::size_t>(at - known.begin())] += license.count;
  }
  license_holders_[job.id] = std::move(holder);
}

void Profile::begin(Time now) {
  now_ = now;
  for (const NodeNumber n : started_on_)
    if (has_starts_[n]) refresh(n);
  started_on_.clear();
  license_starts_.clear();
  reserved_starts_.clear();
  user_starts_.clear();
  licenses_ = {};
  constexpr std::size_t kKeep = 16'384;
  gains_.trim(kKeep);
  base_gains_.trim(kKeep);
}

// ---- what there is

Timeline& Profile::timeline(NodeNumber node) {
  HeldNode& held = held_[held_at_[node]];
  if (entry_) {
    const auto [at, added] = entry_timelines_.try_emplace(node);
    if (added) at->second = part_by_part(node, held);
    return at->second;
  }
  // An older one will do as long as nothing was to happen until a moment from now: no job is overdue since.
  if (!held.outdated && (held.built == now_ || held.timeline.next_step(held.built) > now_ + seconds(1)))
    return held.timeline;
  held.built = now_;
  held.outdated = false;
  if (held.parted) {
    held.timeline = part_by_part(node, held);
    return held.timeline;
  }
  begin_steps(node, held.timeline);
  for (const auto& [hold, share] : held.holds) take_on(held, *hold, share, false);
  return held.timeline;
}

// Without any holds.
void Profile::begin_steps(NodeNumber node, Timeline& timeline) {
  timeline.begin(capacity_.width(), capacity_.free(node), now_);
  const auto& steps = ends_.steps(node);
  timeline.append(steps.at, steps.rows, now_ + seconds(1));
}

Timeline Profile::steps_of(NodeNumber node) {
  Timeline timeline;
  begin_steps(node, timeline);
  return timeline;
}

void Profile::take_on(HeldNode& held, const Hold& hold, std::size_t share, bool give_back) {
  const Time from = std::max(hold.start, held.built);
  const Amount* row = &hold.rows[share * capacity_.width()];
  give_back ? held.timeline.give_back(from, hold.end, row) : held.timeline.take(from, hold.end, row);
}

Timeline& Profile::licenses() {
  Timeline& wanted = entry_ ? entry_licenses_ : licenses_;
  if (!wanted.built()) wanted = make_licenses();
  return wanted;
}

Timeline Profile::make_licenses() const {
  const auto& known = view_.config->licenses;
  std::vector<Amount> free;
  for (const auto& license : known) free.push_back(license.count);
  for (const auto& [job, holder] : license_holders_)
    for (std::size_t i = 0; i < known.size(); ++i) free[i] -= holder.counts[i];
  Timeline timeline(known.size(), free.data(), now_);
  for (const auto& [job, holder] : license_holders_)
    timeline.release(not_before_soon(holder.until, now_), holder.counts.data());
  for (const auto& [until, counts] : license_starts_) timeline.take(now_, until, counts.data());
  for (const Hold* hold : license_holds_) {
    // Seen from inside, what was lifted has to be left out here; else it was given back when it was lifted.
    if (entry_ && (hold == lifted_ || (hold->closes && hold->reservation == entry_->name))) continue;
    timeline.take(std::max(hold->start, now_), hold->end, hold->licenses.data());
  }
  return timeline;
}

const Amount* Profile::least(NodeNumber node, Time from, Time to) {
  if (!is_held(node)) return from == now_ ? capacity_.free(node) : ends_.row_at(node, from);  // it only grows
  timeline(node).least(from, to, scratch_.data());
  // A hold may be kept for longer than the node can keep it: its time has come, but a job there is overdue.
  for (Amount& amount : scratch_) amount = std::max<Amount>(amount, 0);
  return scratch_.data();
}

bool Profile::licenses_suffice(const Request& request, Time from, Time to) {
  if (request.licenses.empty()) return true;
  licenses().least(from, to, license_scratch_.data());
  return std::ranges::all_of(request.licenses,
                             [&](const auto& need) { return license_scratch_[need.first] >= need.second; });
}

std::vector<Amount> Profile::license_row(const Request& request) const {
  if (request.licenses.empty()) return {};
  std::vector<Amount> row(view_.config->licenses.size());
  for (const auto& [column, count] : request.licenses) row[column] = count;
  return row;
}

Time Profile::next_change(const Timeline& timeline, bool held, const Request& request, Time at) const {
  Time next = timeline.next_step(at);
  if (!held) return next;
  // A run that starts a little later may end inside a step that this one does not reach.
  const Time end = request.end_of_run(at);
  const Time ahead = timeline.next_step(end - Duration(1));
  if (ahead == Time::max()) return next;
  const Duration run = request.limit.is_finite() ? end - at : Duration(seconds(1));
  return std::min(next, ahead - run + Duration(1));
}

Time Profile::next_change(const Request& request, NodeNumber node, Time at) {
  return next_change(timeline(node), true, request, at);
}

Time Profile::next_license_change(const Request& request, Time at) {
  return request.licenses.empty() ? Time::max() : next_change(licenses(), !license_holds_.empty(), request, at);
}

std::vector<Time> Profile::hold_ends(Time from) const {
  std::vector<Time> ends;
  for (const HeldNode& held : held_)
    for (const auto& [hold, share] : held.holds)
      if (hold->end > from) ends.push_back(hold->end);
  std::ranges::sort(ends);
  const auto rest = std::ranges::unique(ends);
  ends.erase(rest.begin(), rest.end());
  return ends;
}

Time Profile::lasts(const Request& request, const std::vector<Share>& shares, const std::vector<Amount>& rows) {
  Time until = Time::max();
  const auto look = [&](const Timeline& timeline, const Amount* take) {
    for (std::size_t step = timeline.step_of(now_) + 1; step < timeline.steps(); ++step) {
      if (timeline.begin_of(step) >= until) return;
      for (std::size_t c = 0; c < timeline.width(); ++c)
        if (take[c] > 0 && timeline.row(step)[c] < take[c]) {
          until = timeline.begin_of(step);
          return;
        }
    }
  };
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (is_held(shares[i].node)) {
      look(timeline(shares[i].node), &rows[i * capacity_.width()]);
      if (heeds_users(request)) until = std::min(until, others_come(request, shares[i].node));
    }
  if (!request.licenses.empty()) look(licenses(), license_row(request).data());
  return until;
}

// ---- what is decided

void Profile::start(const Request& request, const std::vector<Share>& shares, const std::vector<Amount>& rows) {
  const Time end = request.end_of_run(now_);
  const std::size_t width = capacity_.width();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const Amount* row = &rows[i * width];
    occupy(shares[i].node, end, row);
    if (heeds_users(request)) user_starts_.push_back({shares[i].node, request.user, request.user_alone, end});
    if (entry_) reserved_starts_.push_back({shares[i].node, entry_->name, {now_, end, {row, row + width}}});
  }
  if (request.licenses.empty()) return;
  auto counts = license_row(request);
  if (licenses_.built()) licenses_.take(now_, end, counts.data());
  license_starts_.emplace_back(end, std::move(counts));
}

void Profile::occupy(NodeNumber n, Time until, const Amount* row) {
  capacity_.take(n, row);
  note_free_cpus(n);
  groups_.update(n, is_held(n));
  ends_.add_start(n, until, row);
  if (is_held(n)) {
    HeldNode& held = held_[held_at_[n]];
    held.outdated |= held.parted || held.built != now_;
    if (!held.outdated) held.timeline.take(now_, std::max(until, now_ + seconds(1)), row);
  }
  started_on_.push_back(n);
  has_starts_[n] = true;
}

Hold Profile::make_hold(const Request& request, Time start, std::vector<Share> shares) {
  Hold hold{start, request.end_of_run(start), std::move(shares), {}, license_row(request)};
  if (entry_) hold.reservation = entry_->name;
  hold.user = request.user;
  hold.user_alone = request.user_alone;
  hold.rows.resize(hold.shares.size() * capacity_.width());
  const auto row_of = [&](const Share& share) { return least(share.node, hold.start, hold.end); };
  const std::uint64_t rails = common_rails(request, capacity_, hold.shares, row_of);
  for (std::size_t i = 0; i < hold.shares.size(); ++i)
    take_of_share(request, capacity_, hold.shares[i], rails, row_of(hold.shares[i]),
                  &hold.rows[i * capacity_.width()]);
  return hold;
}

void Profile::add(const Hold& hold) {
  for (std::size_t i = 0; i < hold.shares.size(); ++i) {
    const NodeNumber n = hold.shares[i].node;
    if (!is_held(n)) {
      held_at_[n] = static_cast<std::uint32_t>(held_.size());
      held_nodes_.push_back(n);
      held_.emplace_back();
      if (!spare_.empty()) {
        held_.back().timeline = std::move(spare_.back());
        spare_.pop_back();
      }
      groups_.update(n, true);
    }
    HeldNode& held = held_[held_at_[n]];
    held.holds.emplace_back(&hold, i);
    const Amount* row = &hold.rows[i * capacity_.width()];
    held.parted |= hold.closes && !std::equal(row, row + capacity_.width(), capacity_.total(n));
    held.outdated |= held.parted;
    if (!held.outdated) take_on(held, hold, i, false);
  }
  if (hold.licenses.empty()) return;
  if (licenses_.built()) licenses_.take(std::max(hold.start, now_), hold.end, hold.licenses.data());
  license_holds_.push_back(&hold);
}

void Profile::drop_from(NodeNumber n, const Hold& hold) {
  HeldNode& held = held_[held_at_[n]];
  std::erase_if(held.holds, [&](const auto& one) { return one.first == &hold; });
  if (!held.holds.empty()) return;
  constexpr std::size_t kSpare = 64;
  if (spare_.size() < kSpare) spare_.push_back(std::move(held.timeline));
  const std::uint32_t at = held_at_[n];
  held_at_[held_nodes_.back()] = at;
  held_at_[n] = kNotHeld;
  held_nodes_[at] = held_nodes_.back();
  if (at + 1 != held_.size()) held_[at] = std::move(held_.back());
  held_nodes_.pop_back();
  held_.pop_back();
  groups_.update(n, false);
}

void Profile::remove(const Hold& hold) {
  take_off(hold);
  for (const Share& share : hold.shares) gains_.add(share.node);
}

void Profile::forget(const Hold& hold) {
  take_off(hold);
}

void Profile::take_off(const Hold& hold) {
  for (std::size_t i = 0; i < hold.shares.size(); ++i) {
    const NodeNumber n = hold.shares[i].node;
    HeldNode& held = held_[held_at_[n]];
    held.outdated |= held.parted;  // which it stays until the last hold is gone: that is slower, but not wrong
    if (!held.outdated && held.holds.size() > 1) take_on(held, hold, i, true);
    drop_from(n, hold);
  }
  if (hold.licenses.empty()) return;
  if (licenses_.built()) licenses_.give_back(std::max(hold.start, now_), hold.end, hold.licenses.data());
  std::erase(license_holds_, &hold);
}

void Profile::pretend_free(NodeNumber n, std::span<const Amount> more) {
  before_.assign(more.begin(), more.end());
  for (Amount& amount : before_) amount = -amount;
  capacity_.take(n, before_.data());
}

void Profile::lift(const Hold& hold) {
  lifted_ = &hold;
  for (std::size_t i = 0; i < hold.shares.size(); ++i) {
    HeldNode& held = held_[held_at_[hold.shares[i].node]];
    held.outdated |= held.parted;
    if (held.parted) continue;
    (void)timeline(hold.shares[i].node);
    take_on(held, hold, i, true);
  }
  if (!hold.licenses.empty()) licenses().give_back(std::max(hold.start, now_), hold.end, hold.licenses.data());
}

void Profile::restore(const Hold& hold) {
  lifted_ = nullptr;
  for (std::size_t i = 0; i < hold.shares.size(); ++i) {
    HeldNode& held = held_[held_at_[hold.shares[i].node]];
    held.outdated |= held.parted;
    if (!held.outdated) take_on(held, hold, i, false);
  }
  if (!hold.licenses.empty()) licenses().take(std::max(hold.start, now_), hold.end, hold.licenses.data());
}

}  // namespace spur::sched
