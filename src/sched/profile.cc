// SPDX-License-Identifier: Apache-2.0
#include "sched/profile.h"

#include <algorithm>

#include "base/check.h"

namespace spur::sched {

Profile::Profile(const model::View& view, Capacity& capacity, Time now)
    : view_(view),
      capacity_(capacity),
      now_(now),
      timelines_(capacity.size()),
      late_starts_(capacity.size()),
      holds_on_(capacity.size()),
      scratch_(capacity.width()),
      license_scratch_(view.config->licenses.size()) {}

const Occupancy& Profile::occupancy() {
  if (!occupancy_) occupancy_.emplace(view_, capacity_, now_);
  return *occupancy_;
}

Timeline& Profile::timeline(NodeNumber node) {
  Timeline& timeline = timelines_[node];
  if (timeline.built()) return timeline;
  timeline = Timeline(capacity_.width(), capacity_.free(node), now_);
  for (const auto& holding : occupancy().holdings(node)) timeline.release(holding.until, occupancy().row(holding));
  for (const auto& late : late_starts_[node]) timeline.release(late.until, late.row.data());
  late_starts_[node].clear();
  return timeline;
}

Timeline& Profile::licenses() {
  if (licenses_.built()) return licenses_;
  const auto& known = view_.config->licenses;
  std::vector<Amount> free;
  for (const auto& license : known) free.push_back(license.count);
  for (const auto& holding : occupancy().licenses())
    for (std::size_t i = 0; i < known.size(); ++i) free[i] -= holding.counts[i];
  licenses_ = Timeline(known.size(), free.data(), now_);
  for (const auto& holding : occupancy().licenses()) licenses_.release(holding.until, holding.counts.data());
  return licenses_;
}

const Amount* Profile::least(NodeNumber node, Time from, Time to) {
  // What is free now only grows until somebody's hold begins.
  if (from == now_ && holds_on_[node] == 0) return capacity_.free(node);
  timeline(node).least(from, to, scratch_.data());
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

void Profile::start(const Request& request, const std::vector<Share>& shares, const std::vector<Amount>& rows) {
  const Time end = request.end_of_run(now_);
  const std::size_t width = capacity_.width();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const NodeNumber node = shares[i].node;
    const Amount* row = &rows[i * width];
    if (timelines_[node].built())
      timelines_[node].take(now_, end, row);
    else
      late_starts_[node].push_back({end, {row, row + width}});
    capacity_.take(node, row);
    changes_.push_back(node);
  }
  if (!request.licenses.empty()) licenses().take(now_, end, license_row(request).data());
}

Hold Profile::make_hold(const Request& request, Time start, std::vector<Share> shares) {
  Hold hold{start, request.end_of_run(start), std::move(shares), {}, license_row(request)};
  hold.rows.resize(hold.shares.size() * capacity_.width());
  for (std::size_t i = 0; i < hold.shares.size(); ++i) {
    const Amount* row = least(hold.shares[i].node, hold.start, hold.end);
    take_of_share(request, capacity_, hold.shares[i], row, &hold.rows[i * capacity_.width()]);
  }
  return hold;
}

void Profile::add(const Hold& hold) {
  for (std::size_t i = 0; i < hold.shares.size(); ++i) {
    const NodeNumber node = hold.shares[i].node;
    timeline(node).take(hold.start, hold.end, &hold.rows[i * capacity_.width()]);
    ++holds_on_[node];
    changes_.push_back(node);
  }
  if (!hold.licenses.empty()) licenses().take(hold.start, hold.end, hold.licenses.data()), ++holds_on_licenses_;
}

void Profile::remove(const Hold& hold) {
  for (std::size_t i = 0; i < hold.shares.size(); ++i) {
    const NodeNumber node = hold.shares[i].node;
    timeline(node).give_back(hold.start, hold.end, &hold.rows[i * capacity_.width()]);
    --holds_on_[node];
    changes_.push_back(node);
  }
  if (!hold.licenses.empty()) licenses().give_back(hold.start, hold.end, hold.licenses.data()), --holds_on_licenses_;
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
  return next_change(timeline(node), holds_on_[node] != 0, request, at);
}

Time Profile::next_license_change(const Request& request, Time at) {
  return request.licenses.empty() ? Time::max() : next_change(licenses(), holds_on_licenses_ != 0, request, at);
}

}  // namespace spur::sched
