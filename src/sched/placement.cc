// SPDX-License-Identifier: Apache-2.0
#include "sched/placement.h"

#include <algorithm>
#include <optional>

#include "base/check.h"

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

// Picks the nodes out of one set of offers.
class Picker {
 public:
  Picker(const Request& request, std::vector<const Offer*> offers) : request_(request), left_(std::move(offers)) {}

  std::optional<std::vector<const Offer*>> pick() {
    const auto available = static_cast<std::uint32_t>(left_.size());
    if (available < request_.min_nodes) return std::nullopt;
    std::uint32_t most = std::min(request_.max_nodes, available);
    if (request_.tasks_fixed) most = std::min(most, request_.tasks);
    wanted_ = std::max(request_.min_nodes, request_.spread ? most : 0);
    if (wanted_ > request_.max_nodes || request_.required.size() > wanted_) return std::nullopt;
    rest_ = whole_job(request_);
    if (!take_required()) return std::nullopt;
    if (request_.tasks_fixed || !request_.gres_per_job.empty() ? fill() : take_best(wanted_ - taken()))
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

  std::size_t next_node(const Rest& next) const {
    std::size_t best = left_.size();
    bool best_ends = false;
    for (std::size_t i = 0; i < left_.size(); ++i) {
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
    const auto middle = left_.begin() + count;
    std::partial_sort(left_.begin(), middle, left_.end(),
                      [&](const Offer* a, const Offer* b) { return better_fit(*a, *b, each); });
    chosen_.insert(chosen_.end(), left_.begin(), middle);
    return true;
  }

  const Request& request_;
  std::vector<const Offer*> left_, chosen_;
  std::uint32_t wanted_ = 0;  // nodes, at least
  Rest rest_;
};

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

// A whole node has room for all its CPUs' tasks, so Slurm spreads them evenly there.
void deal_out(std::uint32_t count, std::span<const Offer* const> nodes, std::vector<Share>& shares) {
  for (bool moved = true; count > 0 && moved;) {
    moved = false;
    for (std::size_t i = 0; i < nodes.size() && count > 0; ++i) {
      if (shares[i].tasks >= nodes[i]->tasks) continue;
      ++shares[i].tasks;
      --count;
      moved = true;
    }
  }
}

std::vector<Share> lay_out(const Request& request, std::vector<const Offer*> nodes) {
  std::ranges::sort(nodes, {}, &Offer::node);
  std::vector<Share> shares(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) shares[i].node = nodes[i]->node;
  if (!request.tasks_fixed) {
    for (auto& share : shares) share.tasks = request.tasks_per_node;
  } else if (request.exclusive) {
    deal_out(request.tasks, nodes, shares);
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
  return {std::uint64_t{offer.weight} << 32 | ordered(gres), std::uint64_t{ordered(cpus)} << 32 | offer.node};
}

bool prefers_one_node(const Request& request, bool one_weight) {
  if (request.min_nodes != 1 || request.spread || !request.required.empty() || !request.gres_per_job.empty())
    return false;
  return !request.tasks_fixed || request.tasks == 1 || request.max_nodes == 1 || one_weight;
}

std::vector<Share> choose(const Request& request, std::span<const Offer> offers) {
  std::vector<std::uint32_t> weights;
  for (const auto& offer : offers)
    if (weights.empty() || weights.back() != offer.weight) weights.push_back(offer.weight);
  std::ranges::sort(weights);
  weights.erase(std::unique(weights.begin(), weights.end()), weights.end());

  for (const std::uint32_t weight : weights) {
    std::vector<const Offer*> allowed;
    std::uint64_t tasks = 0;
    for (const auto& offer : offers) {
      if (offer.weight > weight && !std::ranges::binary_search(request.required, offer.node)) continue;
      allowed.push_back(&offer);
      tasks += offer.tasks;
    }
    if (allowed.size() < request.min_nodes || (request.tasks_fixed && tasks < request.tasks)) continue;
    if (auto nodes = Picker(request, std::move(allowed)).pick()) return lay_out(request, std::move(*nodes));
  }
  return {};
}

}  // namespace spur::sched
