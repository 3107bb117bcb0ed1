// SPDX-License-Identifier: Apache-2.0
#include "sched/placement.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "sched/leaf_choice.h"

namespace spur::sched {
namespace {

// What is still to be placed, tasks and GRES per job alike.
struct Rest {
  std::uint32_t tasks = 0;
  JobGres gres{};
};

Rest whole_job(const Request& request) {
  Rest rest;
  rest.tasks = request.tasks;
  for (std::size_t i = 0; i < request.gres_per_job.size(); ++i)
    rest.gres[i] = static_cast<std::int32_t>(request.gres_per_job[i].count);
  return rest;
}

template <class N>
N less(N from, N amount) {
  return from > amount ? from - amount : N{0};
}

// Nodes to take out of so many: what is asked for, or all that are allowed where as many as there are is meant.
std::uint32_t nodes_wanted(const Request& request, std::size_t available) {
  std::uint32_t most = std::min(request.max_nodes, static_cast<std::uint32_t>(available));
  if (request.tasks_fixed) most = std::min(most, request.tasks);
  if (request.segment > 1) most = most / request.segment * request.segment;
  return std::max(request.min_nodes, request.spread ? most : 0);
}

// Picks the nodes out of one set of offers.
class Picker {
 public:
  Picker(const Request& request, OfferList offers) : request_(request), left_(std::move(offers)) {}

  // So many nodes at least.
  std::optional<OfferList> pick(std::uint32_t wanted) {
    wanted_ = wanted;
    if (left_.size() < wanted_ || wanted_ > request_.max_nodes || request_.required.size() > wanted_)
      return std::nullopt;
    rest_ = whole_job(request_);
    if (!take_required() || !take_counted()) return std::nullopt;
    if (request_.tasks_fixed || !request_.gres_per_job.empty() ? fill() : take_best(less(wanted_, taken())))
      return std::move(chosen_);
    return std::nullopt;
  }

 private:
  std::uint32_t taken() const { return static_cast<std::uint32_t>(chosen_.size()); }

  bool take_required() {
    for (const NodeNumber node : request_.required) {
      const auto at = std::ranges::find(left_, node, &Offer::node);
      if (at == left_.end()) return false;
      take(static_cast<std::size_t>(at - left_.begin()));
    }
    return true;
  }

  // Features that so many nodes must have: nodes first that have most of what is missing.
  bool take_counted() {
    const auto& counts = request_.features.counts;
    for (;;) {
      FeatureBits missing = 0;
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const FeatureBits bit = FeatureBits{1} << (16 + i);
        const auto has = std::ranges::count_if(chosen_, [&](const Offer* o) { return (o->features & bit) != 0; });
        if (has < std::int64_t{counts[i].nodes}) missing |= bit;
      }
      if (missing == 0) return true;
      int most = 0;
      for (const Offer* offer : left_) most = std::max(most, std::popcount(offer->features & missing));
      if (most == 0 || taken() >= request_.max_nodes) return false;
      take(next_node(for_next(), missing, most));
    }
  }

  // What the next node has to take so that one task and one of each GRES remain for every node after it.
  Rest for_next() const {
    const std::uint32_t after = less(wanted_, taken() + 1);
    Rest next;
    next.tasks = request_.tasks_fixed ? less(rest_.tasks, after) : request_.tasks_per_node;
    for (std::size_t i = 0; i < request_.gres_per_job.size(); ++i)
      next.gres[i] = less(rest_.gres[i], static_cast<std::int32_t>(std::min(after, 0x7fffffffu)));
    return next;
  }

  void take(std::size_t at) {
    const Offer* offer = left_[at];
    const Rest next = for_next();
    if (request_.tasks_fixed) rest_.tasks -= std::min(offer->tasks, next.tasks);
    for (std::size_t i = 0; i < request_.gres_per_job.size(); ++i)
      rest_.gres[i] -= std::min(offer->job_gres[i], next.gres[i]);
    chosen_.push_back(offer);
    left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  bool done() const {
    return taken() >= wanted_ && (!request_.tasks_fixed || rest_.tasks == 0) &&
           std::ranges::all_of(rest_.gres, [](std::int32_t left) { return left == 0; });
  }

  // Roomiest first, until what is left fits on one node.
  bool fill() {
    while (!done()) {
      if (left_.empty() || taken() >= request_.max_nodes) return false;
      const Rest next = for_next();
      const bool even = next.tasks <= (request_.tasks_fixed ? 1 : request_.tasks_per_node) &&
                        std::ranges::all_of(next.gres, [](std::int32_t amount) { return amount <= 1; });
      if (even && taken() < wanted_) return take_best(wanted_ - taken());
      take(next_node(next));
    }
    return true;
  }

  // With so many of the features, if any are given.
  std::size_t next_node(const Rest& next, FeatureBits features = 0, int most = 0) const {
    std::size_t best = left_.size();
    bool best_ends = false;
    for (std::size_t i = 0; i < left_.size(); ++i) {
      if (std::popcount(left_[i]->features & features) != most) continue;
      const bool ends = ends_it(*left_[i], next);
      if (best != left_.size()) {
        if (best_ends && !ends) continue;
        if (best_ends == ends &&
            !(ends ? better_fit(*left_[i], *left_[best], next) : roomier(*left_[i], *left_[best], next)))
          continue;
      }
      best = i;
      best_ends = ends;
    }
    return best;
  }

  bool ends_it(const Offer& offer, const Rest& next) const {
    if (offer.tasks < next.tasks) return false;
    for (std::size_t i = 0; i < request_.gres_per_job.size(); ++i)
      if (offer.job_gres[i] < next.gres[i]) return false;
    return true;
  }

  FitKey key(const Offer& offer, const Rest& next) const {
    return fit_key(request_, offer, std::min(offer.tasks, next.tasks), next.gres);
  }
  bool better_fit(const Offer& a, const Offer& b, const Rest& next) const { return key(a, next) < key(b, next); }

  bool roomier(const Offer& a, const Offer& b, const Rest& next) const {
    const auto gres = [&](const Offer& offer) {
      Amount sum = 0;
      for (std::size_t i = 0; i < request_.gres_per_job.size(); ++i) sum += std::min(offer.job_gres[i], next.gres[i]);
      return sum;
    };
    if (const Amount of_a = gres(a), of_b = gres(b); of_a != of_b) return of_a > of_b;
    const auto tasks_a = std::min(a.tasks, next.tasks), tasks_b = std::min(b.tasks, next.tasks);
    if (tasks_a != tasks_b) return tasks_a > tasks_b;
    return better_fit(a, b, next);
  }

  // All offers are equally good for what each node has to take: the best fits.
  bool take_best(std::uint32_t count) {
    if (left_.size() < count) return false;
    Rest each;
    each.tasks = request_.tasks_fixed ? 1 : request_.tasks_per_node;
    for (std::size_t i = 0; i < request_.gres_per_job.size(); ++i) each.gres[i] = 1;
    std::vector<std::pair<FitKey, const Offer*>> order;
    order.reserve(left_.size());
    for (const Offer* offer : left_) order.emplace_back(key(*offer, each), offer);
    std::ranges::nth_element(order, order.begin() + count);
    for (std::uint32_t i = 0; i < count; ++i) chosen_.push_back(order[i].second);
    return true;
  }

  const Request& request_;
  OfferList left_, chosen_;
  std::uint32_t wanted_ = 0;  // nodes, at least
  Rest rest_;
};

// A run of neighbours that will do: the shortest, of those in the shortest row of free neighbours, then the first.
class RunPicker {
 public:
  RunPicker(const Request& request, const OfferList& offers, std::uint32_t wanted)
      : request_(request), offers_(offers), wanted_(wanted) {}

  std::optional<OfferList> pick() const {
    std::vector<Run> runs;
    for (std::size_t first = 0; first < offers_.size();) {
      std::size_t last = first + 1;
      while (last < offers_.size() && offers_[last]->node == offers_[last - 1]->node + 1) ++last;
      for (std::size_t from = first; from < last; ++from)
        if (const std::size_t size = shortest(from, last)) runs.push_back({size, last - first, from});
      first = last;
    }
    std::ranges::sort(runs);
    for (const Run& run : runs) {
      OfferList window(offers_.begin() + static_cast<std::ptrdiff_t>(run.from),
                       offers_.begin() + static_cast<std::ptrdiff_t>(run.from + run.size));
      if (auto picked = Picker(request_, std::move(window)).pick(static_cast<std::uint32_t>(run.size))) return picked;
    }
    return std::nullopt;
  }

 private:
  struct Run {
    std::size_t size, row, from;
    friend auto operator<=>(const Run&, const Run&) = default;
  };

  // Nodes from there on that are enough together; 0: they are not.
  std::size_t shortest(std::size_t from, std::size_t last) const {
    std::int64_t tasks = 0;
    std::array<std::int64_t, kMaxJobGres> gres{};
    std::size_t required = 0;
    for (std::size_t i = from; i < last && i - from < request_.max_nodes; ++i) {
      tasks += offers_[i]->tasks;
      for (std::size_t g = 0; g < gres.size(); ++g) gres[g] += offers_[i]->job_gres[g];
      required += std::ranges::binary_search(request_.required, offers_[i]->node);
      bool enough = i + 1 - from >= wanted_ && required == request_.required.size() &&
                    (!request_.tasks_fixed || tasks >= request_.tasks);
      for (std::size_t g = 0; g < request_.gres_per_job.size(); ++g)
        enough = enough && gres[g] >= request_.gres_per_job[g].count;
      if (enough) return i + 1 - from;
    }
    return 0;
  }

  const Request& request_;
  const OfferList& offers_;
  std::uint32_t wanted_;
};

// Whether one node will do: then near and far do not matter.
bool one_node_suffices(const Request& request, const OfferList& offers, std::uint32_t wanted) {
  if (wanted > 1 || !request.required.empty() || !request.features.is_per_node()) return false;
  return std::ranges::any_of(offers, [&](const Offer* offer) {
    for (std::size_t i = 0; i < request.gres_per_job.size(); ++i)
      if (offer->job_gres[i] < request.gres_per_job[i].count) return false;
    return offer->tasks >= request.tasks;
  });
}

std::optional<OfferList> pick_nodes(const Request& request, const OfferList& offers, std::uint32_t wanted) {
  if (one_node_suffices(request, offers, wanted)) return Picker(request, offers).pick(wanted);
  if (request.contiguous) return RunPicker(request, offers, wanted).pick();
  if (request.topology && request.max_nodes > 1)
    return pick_by_leaves(request, offers, wanted, [&](OfferList some, std::uint32_t nodes) {
      return Picker(request, std::move(some)).pick(nodes);
    });
  return Picker(request, offers).pick(wanted);
}

std::optional<OfferList> pick_nodes(const Request& request, const OfferList& offers) {
  std::uint32_t wanted = nodes_wanted(request, offers.size());
  // Nodes that must be neighbours may be fewer than there are.
  const std::uint32_t step = std::max(1u, request.segment);
  for (; !request.places_freely() && wanted >= request.min_nodes + step; wanted -= step)
    if (auto picked = pick_nodes(request, offers, wanted)) return picked;
  if (request.segment <= 1) return pick_nodes(request, offers, wanted);
  // Whole segments until the tasks have room.
  for (; wanted <= std::min<std::size_t>(request.max_nodes, offers.size()); wanted += step)
    if (auto picked = pick_nodes(request, offers, wanted)) return picked;
  return std::nullopt;
}

// Gives one to each where there are enough, then fills the first up, then the second...
template <class N, class RoomOf, class Give>
void fill_in_order(N count, std::size_t nodes, RoomOf room_of, Give give) {
  for (std::size_t i = 0; i < nodes; ++i) {
    const N after = static_cast<N>(nodes - i - 1);
    const N here = std::min<N>(room_of(i), std::max<N>(less(count, after), std::min<N>(count, 1)));
    give(i, here);
    count -= here;
  }
}

// So many tasks at a time go to a node, round after round, and one to each where there are enough.
void deal_out(std::uint32_t count, std::uint32_t at_a_time, const OfferList& nodes, std::vector<Share>& shares) {
  for (std::size_t i = 0; i < nodes.size() && count > 0; ++i, --count) shares[i].tasks = 1;
  std::uint64_t up_to = at_a_time;
  for (bool room = true; count > 0 && room; up_to += at_a_time) {
    room = false;
    for (std::size_t i = 0; i < nodes.size() && count > 0; ++i) {
      const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(nodes[i]->tasks, up_to));
      const std::uint32_t more = std::min(count, less(most, shares[i].tasks));
      shares[i].tasks += more;
      count -= more;
      room |= shares[i].tasks < nodes[i]->tasks;
    }
  }
}

// 0: each node as many as it takes before the next one. A whole node has room for tasks on all its CPUs, so Slurm
// spreads them evenly there.
std::uint32_t dealt_at_a_time(const Request& request) {
  return request.exclusive || request.even ? 1 : 0;
}

std::vector<Share> lay_out(const Request& request, OfferList nodes) {
  std::ranges::sort(nodes, {}, &Offer::node);
  std::vector<Share> shares(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) shares[i].node = nodes[i]->node;
  if (!request.tasks_fixed) {
    for (auto& share : shares) share.tasks = request.tasks_per_node;
  } else if (const std::uint32_t at_a_time = dealt_at_a_time(request)) {
    deal_out(request.tasks, at_a_time, nodes, shares);
  } else {
    fill_in_order<std::uint32_t>(
        request.tasks, nodes.size(), [&](std::size_t i) { return nodes[i]->tasks; },
        [&](std::size_t i, std::uint32_t here) { shares[i].tasks = here; });
  }
  for (std::size_t g = 0; g < request.gres_per_job.size(); ++g)
    fill_in_order<std::int32_t>(
        static_cast<std::int32_t>(request.gres_per_job[g].count), nodes.size(),
        [&](std::size_t i) { return nodes[i]->job_gres[g]; },
        [&](std::size_t i, std::int32_t here) { shares[i].job_gres[g] = here; });
  return shares;
}

}  // namespace

FitKey fit_key(const Request& request, const Offer& offer, std::uint32_t tasks, const JobGres& job_gres) {
  const Amount running = std::max<Amount>(1, tasks);
  JobGres here{};
  for (std::size_t i = 0; i < request.gres_per_job.size(); ++i)
    here[i] = std::min(offer.job_gres[i], std::max(1, job_gres[i]));
  Amount cpus = offer.cpus - cpus_for(request, offer.unit, tasks, here);
  Amount gres = offer.gres;  // shares are accounted for in the offer
  for (const auto& need : request.gres_per_node) gres -= need.is_shares() ? 0 : need.count;
  for (const auto& need : request.gres_per_task) gres -= need.is_shares() ? 0 : need.count * running;
  for (std::size_t i = 0; i < request.gres_per_job.size(); ++i)
    gres -= request.gres_per_job[i].is_shares() ? 0 : here[i];
  if (request.least_loaded) cpus = -cpus;
  // Signed numbers in unsigned order.
  const auto ordered = [](Amount n) { return static_cast<std::uint32_t>(n) ^ 0x80000000u; };
  return {offer.weight, offer.growth, std::uint64_t{ordered(gres)} << 32 | ordered(cpus), offer.node};
}

bool prefers_one_node(const Request& request, bool one_weight) {
  if (request.min_nodes != 1 || request.spread || !request.required.empty() || !request.gres_per_job.empty())
    return false;
  if (!request.features.is_per_node()) return false;
  return !request.tasks_fixed || request.tasks == 1 || request.max_nodes == 1 ||
         (one_weight && request.prefer.empty());
}

std::vector<Share> choose(const Request& request, std::span<const Offer> offers) {
  std::vector<std::uint32_t> weights;
  for (const auto& offer : offers)
    if (weights.empty() || weights.back() != offer.weight) weights.push_back(offer.weight);
  std::ranges::sort(weights);
  weights.erase(std::unique(weights.begin(), weights.end()), weights.end());

  // Where all nodes must have the same of several features, they are tried in the order given.
  const std::size_t alternatives = std::max<std::size_t>(1, request.features.one_of.size());
  for (std::size_t alternative = 0; alternative < alternatives; ++alternative) {
    const FeatureBits needed = request.features.one_of.empty() ? 0 : FeatureBits{1} << alternative;
    for (const std::uint32_t weight : weights) {
      OfferList allowed;
      std::uint64_t tasks = 0;
      for (const auto& offer : offers) {
        if ((offer.features & needed) != needed) continue;
        if (offer.weight > weight && !std::ranges::binary_search(request.required, offer.node)) continue;
        allowed.push_back(&offer);
        tasks += offer.tasks;
      }
      if (allowed.size() < request.min_nodes || (request.tasks_fixed && tasks < request.tasks)) continue;
      if (auto nodes = pick_nodes(request, allowed)) return lay_out(request, std::move(*nodes));
    }
  }
  return {};
}

}  // namespace spur::sched
