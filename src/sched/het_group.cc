// SPDX-License-Identifier: Apache-2.0
#include "sched/het_group.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace spur::sched {
namespace {

// What the components placed so far take of the licences, all from one moment on.
class TakenLicenses {
 public:
  TakenLicenses(Profile& profile, Time from) : profile_(profile), from_(from) {}

  void take(const Request& request) {
    if (!request.licenses.empty()) taken_.push_back({request.end_of_run(from_), &request});
  }
  // Whether there are enough for this one beside them.
  bool suffice(const Request& request) const {
    if (request.licenses.empty() || taken_.empty()) return true;  // it is asked for its own anyway
    std::vector<Use> all = taken_;
    all.push_back({request.end_of_run(from_), &request});
    return std::ranges::all_of(all, [&](const Use& use) {
      Request together;
      for (const Use& other : all) {
        if (other.end < use.end) continue;
        for (const auto& [column, count] : other.request->licenses) {
          const auto at = std::ranges::find(together.licenses, column, &std::pair<std::size_t, Amount>::first);
          if (at == together.licenses.end())
            together.licenses.emplace_back(column, count);
          else
            at->second += count;
        }
      }
      return profile_.licenses_suffice(together, from_, use.end);
    });
  }

 private:
  struct Use {
    Time end;
    const Request* request;
  };
  Profile& profile_;
  Time from_;
  std::vector<Use> taken_;
};

}  // namespace

HetSearch::HetSearch(Profile& profile, std::vector<std::vector<Lane*>> lanes)
    : profile_(profile), lanes_(std::move(lanes)) {}

std::vector<HetPart> HetSearch::fit_at(Time at) {
  std::vector<std::size_t> order(lanes_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<bool> came_first(lanes_.size());
  while (true) {
    std::size_t failed = 0;
    if (auto parts = attempt(order, at, failed); !parts.empty()) return parts;
    const std::size_t component = order[failed];
    if (failed == 0 || came_first[component]) return {};
    came_first[component] = true;
    std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(failed),
                order.begin() + static_cast<std::ptrdiff_t>(failed) + 1);
  }
}

// `failed`: the place in the order of the first one that found no room.
std::vector<HetPart> HetSearch::attempt(const std::vector<std::size_t>& order, Time at, std::size_t& failed) {
  std::vector<HetPart> parts(order.size());
  std::vector<NodeNumber> taken;  // ascending
  TakenLicenses licenses(profile_, at);
  const auto licensed = [&](const Request& request) { return licenses.suffice(request); };
  for (failed = 0; failed < order.size(); ++failed) {
    const std::size_t component = order[failed];
    const auto& lanes = lanes_[component];
    std::optional<Lane::Fit> fit;
    std::uint32_t nth = 0;
    for (; nth < lanes.size() && !fit; ++nth) fit = lanes[nth]->fit_at(profile_, at, taken, licensed);
    if (!fit) return {};
    for (const Share& share : fit->hold.shares) taken.push_back(share.node);
    std::ranges::sort(taken);
    licenses.take(lanes[nth - 1]->request_of(*fit));
    parts[component] = {nth - 1, *std::move(fit)};
  }
  return parts;
}

// A moment before which some component cannot start even by itself; Time::max(): it never can. Where it matters which
// nodes they are nothing is known: less to choose from can be more.
Time HetSearch::none_before(Time from) {
  for (const auto& lanes : lanes_) {
    if (std::ranges::any_of(lanes, [](const Lane* lane) { return !lane->request().places_freely(); })) continue;
    Time soonest = Time::max();
    for (Lane* lane : lanes) {
      if (soonest == from) break;
      if (const auto hold = lane->fit_after(profile_, from)) soonest = std::min(soonest, hold->start);
    }
    from = soonest;
    if (from == Time::max()) break;
  }
  return from;
}

Time HetSearch::next_license_step(Time at) {
  Time next = Time::max();
  for (const auto& lanes : lanes_)
    for (Lane* lane : lanes) next = std::min(next, lane->next_license_step(profile_, at));
  return next;
}

// Only where something is given back can there be room that was not there before, or another choice of nodes.
std::vector<HetPart> HetSearch::fit_after(Time from) {
  const std::vector<Time> hold_ends = profile_.hold_ends(from);
  std::size_t next_hold = 0;
  EndIndex::Cursor ends(profile_.ends().index());
  for (Time at = from;;) {
    at = none_before(at);
    if (at == Time::max()) return {};
    if (auto parts = fit_at(at); !parts.empty()) return parts;
    const auto time_of = [&](const EndIndex::End& end) { return not_before_soon(end.at, profile_.now()); };
    while (ends.get() && time_of(*ends.get()) <= at) ends.next();
    while (next_hold < hold_ends.size() && hold_ends[next_hold] <= at) ++next_hold;
    at = std::min({ends.get() ? time_of(*ends.get()) : Time::max(),
                   next_hold < hold_ends.size() ? hold_ends[next_hold] : Time::max(), next_license_step(at)});
    if (at == Time::max()) return {};
  }
}

}  // namespace spur::sched
