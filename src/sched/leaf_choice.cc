// SPDX-License-Identifier: Apache-2.0
#include "sched/leaf_choice.h"

#include <algorithm>
#include <array>
#include <bit>

#include "sched/placement.h"

namespace spur::sched {
namespace {

// What the offers of one leaf come to.
struct Leaf {
  std::uint32_t leaf = 0;
  std::int64_t nodes = 0, tasks = 0;
  std::array<std::int64_t, kMaxJobGres> gres{};
  bool required = false;
  OfferList offers;
};

class LeafPicker {
 public:
  LeafPicker(const Request& request, const OfferList& offers, std::uint32_t nodes, const PickNodes& pick)
      : request_(request), pick_(pick), wanted_(nodes) {
    std::vector<std::int32_t> slot(request.topology->leaves(), -1);
    for (const Offer* offer : offers) {
      auto& at = slot[request.topology->leaf(offer->node)];
      if (at < 0) {
        at = static_cast<std::int32_t>(leaves_.size());
        leaves_.push_back({request.topology->leaf(offer->node), 0, 0, {}, false, {}});
      }
      Leaf& leaf = leaves_[static_cast<std::size_t>(at)];
      leaf.offers.push_back(offer);
      leaf.required |= std::ranges::binary_search(request.required, offer->node);
    }
    for (auto& leaf : leaves_) {
      if (request.segment > 1) keep_segments(leaf);
      for (const Offer* offer : leaf.offers) add(leaf, *offer);
    }
    std::erase_if(leaves_, [](const Leaf& leaf) { return leaf.offers.empty(); });
    std::ranges::sort(leaves_, {}, &Leaf::leaf);
  }

  std::optional<OfferList> pick() {
    const std::size_t most =
        request_.most_leaves > 0 ? std::min<std::size_t>(request_.most_leaves, leaves_.size()) : leaves_.size();
    for (std::size_t count = least_leaves(); count <= most; ++count) {
      if (!may_suffice(0, static_cast<std::uint32_t>(-1), count)) continue;
      // Close together, if that takes no more leaves.
      for (const auto* place : places(count))
        if (auto picked = pick_in(place->first_leaf, place->last_leaf, count)) return picked;
      if (auto picked = pick_in(0, static_cast<std::uint32_t>(-1), count)) return picked;
    }
    return std::nullopt;
  }

 private:
  using Chosen = std::vector<const Leaf*>;

  void add(Leaf& leaf, const Offer& offer) const {
    ++leaf.nodes;
    leaf.tasks += offer.tasks;
    for (std::size_t i = 0; i < request_.gres_per_job.size(); ++i) leaf.gres[i] += offer.job_gres[i];
  }
  // Only whole segments of a block are of use: the nodes asked for by name, the roomiest, those that fit best.
  void keep_segments(Leaf& leaf) const {
    const std::size_t keep = leaf.offers.size() / request_.segment * request_.segment;
    std::ranges::stable_sort(leaf.offers, [&](const Offer* a, const Offer* b) {
      const bool by_name_a = std::ranges::binary_search(request_.required, a->node);
      const bool by_name_b = std::ranges::binary_search(request_.required, b->node);
      if (by_name_a != by_name_b) return by_name_a;
      if (request_.tasks_fixed && a->tasks != b->tasks) return a->tasks > b->tasks;
      const auto tasks = request_.tasks_fixed ? 1 : request_.tasks_per_node;
      return fit_key(request_, *a, tasks, {}) < fit_key(request_, *b, tasks, {});
    });
    if (!request_.features.counts.empty()) needed_first(leaf.offers);
    leaf.offers.resize(keep);
  }
  // Behind those asked for by name: nodes with features that too few before them have, most of them first.
  void needed_first(OfferList& offers) const {
    auto done = std::ranges::find_if(
        offers, [&](const Offer* o) { return !std::ranges::binary_search(request_.required, o->node); });
    for (; done != offers.end(); ++done) {
      FeatureBits missing = 0;
      for (std::size_t i = 0; i < request_.features.counts.size(); ++i) {
        const FeatureBits bit = FeatureBits{1} << (16 + i);
        const auto has =
            std::count_if(offers.begin(), done, [&](const Offer* o) { return (o->features & bit) != 0; });
        if (has < std::int64_t{request_.features.counts[i].nodes}) missing |= bit;
      }
      const auto found = [&](const Offer* o) { return std::popcount(o->features & missing); };
      const auto best = std::ranges::max_element(done, offers.end(), {}, found);
      if (found(*best) == 0) return;
      std::rotate(done, best, best + 1);
    }
  }

  bool enough(std::int64_t nodes, std::int64_t tasks, const std::array<std::int64_t, kMaxJobGres>& gres) const {
    if (nodes < wanted_ || (request_.tasks_fixed && tasks < request_.tasks)) return false;
    for (std::size_t i = 0; i < request_.gres_per_job.size(); ++i)
      if (gres[i] < request_.gres_per_job[i].count) return false;
    return true;
  }
  bool enough(const Chosen& chosen) const {
    Leaf sum;
    for (const Leaf* leaf : chosen) {
      sum.nodes += leaf->nodes;
      sum.tasks += leaf->tasks;
      for (std::size_t i = 0; i < kMaxJobGres; ++i) sum.gres[i] += leaf->gres[i];
    }
    return enough(sum.nodes, sum.tasks, sum.gres);
  }

  // By what leaves are large: nodes, or tasks. The first that a job is about.
  std::vector<int> measures() const {
    if (!request_.gres_per_job.empty()) return {2, 1, 0};
    if (request_.tasks_fixed) return {1, 0};
    return {0};
  }
  std::int64_t size(const Leaf& leaf, int measure) const {
    if (measure == 0) return leaf.nodes;
    if (measure == 1) return std::min<std::int64_t>(leaf.tasks, request_.tasks);
    return std::min<std::int64_t>(leaf.gres[0], request_.gres_per_job[0].count);
  }

  // The leaves of a place: those that must be in it, then the largest.
  Chosen ordered(std::uint32_t first, std::uint32_t last, int measure) const {
    Chosen found;
    for (const Leaf& leaf : leaves_)
      if (leaf.leaf >= first && leaf.leaf < last) found.push_back(&leaf);
    std::ranges::stable_sort(found, [&](const Leaf* a, const Leaf* b) {
      if (a->required != b->required) return a->required;
      return size(*a, measure) > size(*b, measure);
    });
    return found;
  }
  bool has_required(std::uint32_t first, std::uint32_t last, std::size_t count) const {
    std::size_t inside = 0;
    for (const Leaf& leaf : leaves_) {
      if (!leaf.required) continue;
      if (leaf.leaf < first || leaf.leaf >= last) return false;
      ++inside;
    }
    return inside <= count;
  }
  bool may_suffice(std::uint32_t first, std::uint32_t last, std::size_t count) const {
    if (!has_required(first, last, count)) return false;
    for (const int measure : measures()) {
      Chosen chosen = ordered(first, last, measure);
      if (chosen.size() < count) return false;
      chosen.resize(count);
      if (enough(chosen)) return true;
    }
    return false;
  }

  // So many leaves at least, by their sums alone.
  std::size_t least_leaves() const {
    std::size_t least = leaves_.size();
    for (const int measure : measures()) {
      std::vector<std::int64_t> sizes;
      for (const Leaf& leaf : leaves_) sizes.push_back(size(leaf, measure));
      std::ranges::sort(sizes, std::greater{});
      const std::int64_t needed = measure == 0   ? wanted_
                                  : measure == 1 ? std::int64_t{request_.tasks}
                                                 : request_.gres_per_job[0].count;
      std::size_t count = 0;
      for (std::int64_t sum = 0; count < sizes.size() && sum < needed; ++count) sum += sizes[count];
      least = std::min(least, count);
    }
    return std::max<std::size_t>(1, least);
  }

  // Switches below which so few leaves will do: low ones first, of those the fullest.
  std::vector<const Topology::Switch*> places(std::size_t count) const {
    std::vector<std::pair<std::int64_t, const Topology::Switch*>> found;
    for (const auto& place : request_.topology->switches()) {
      if (count == 1 || !may_suffice(place.first_leaf, place.last_leaf, count)) continue;
      std::int64_t nodes = 0;
      for (const Leaf& leaf : leaves_)
        if (leaf.leaf >= place.first_leaf && leaf.leaf < place.last_leaf) nodes += leaf.nodes;
      found.emplace_back(nodes, &place);
    }
    std::ranges::stable_sort(found, [](const auto& a, const auto& b) {
      return std::pair(a.second->level, a.first) < std::pair(b.second->level, b.first);
    });
    std::vector<const Topology::Switch*> places;
    for (const auto& [nodes, place] : found) places.push_back(place);
    return places;
  }

  std::optional<OfferList> pick_in(std::uint32_t first, std::uint32_t last, std::size_t count) const {
    for (const int measure : measures()) {
      const Chosen all = ordered(first, last, measure);
      if (all.size() < count) return std::nullopt;
      Chosen chosen(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
      if (!enough(chosen)) continue;
      // The last one may be smaller than the largest that is left.
      const Leaf* largest = chosen.back();
      for (std::size_t i = all.size(); i-- > count && !largest->required;) {
        chosen.back() = all[i];
        if (!enough(chosen)) continue;
        if (auto picked = pick_from(chosen)) return picked;
        break;
      }
      chosen.back() = largest;
      if (auto picked = pick_from(chosen)) return picked;
    }
    return std::nullopt;
  }

  std::optional<OfferList> pick_from(const Chosen& chosen) const {
    OfferList offers;
    for (const Leaf* leaf : chosen) {
      std::size_t take = leaf->offers.size();
      if (request_.segment > 1)  // the blocks are filled in turn, and the last one as far as needed
        take = std::min(
            take, static_cast<std::size_t>(wanted_) - std::min(static_cast<std::size_t>(wanted_), offers.size()));
      offers.insert(offers.end(), leaf->offers.begin(), leaf->offers.begin() + static_cast<std::ptrdiff_t>(take));
    }
    std::ranges::sort(offers, {}, &Offer::node);
    return pick_(std::move(offers), static_cast<std::uint32_t>(wanted_));
  }

  const Request& request_;
  const PickNodes& pick_;
  std::int64_t wanted_;
  std::vector<Leaf> leaves_;
};

}  // namespace

std::optional<OfferList> pick_by_leaves(const Request& request, const OfferList& offers, std::uint32_t nodes,
                                        const PickNodes& pick) {
  return LeafPicker(request, offers, nodes, pick).pick();
}

}  // namespace spur::sched
