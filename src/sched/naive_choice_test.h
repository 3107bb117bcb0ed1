// SPDX-License-Identifier: Apache-2.0
// The naive scheduler's choice of nodes, out of those that offer something.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "sched/naive_node_test.h"
#include "sched/popular_gpus.h"

namespace spur::sched {

class NaiveChoice : protected NaiveNode {
 protected:
  using NaiveNode::NaiveNode;

  std::uint32_t weight_of(const Request& request, std::uint32_t n) const {
    bool preferred = true;
    for (const auto term : request.prefer.all) preferred = preferred && holds(request.prefer, term, n);
    return nodes_[n].record->weight + (preferred ? 0 : 1u << 31);
  }

  std::vector<Part> choose_by_weight(const Request& request, const std::vector<Offer>& offers) {
    if (request.features.one_of.empty()) return choose_by_weight_alone(request, offers);
    for (const auto term : request.features.one_of) {
      std::vector<Offer> with;
      for (const auto& offer : offers)
        if (holds(request.features, term, offer.node)) with.push_back(offer);
      if (auto parts = choose_by_weight_alone(request, with); !parts.empty()) return parts;
    }
    return {};
  }
  std::vector<Part> choose_by_weight_alone(const Request& request, const std::vector<Offer>& offers) {
    std::set<std::uint32_t> weights;
    for (const auto& offer : offers) weights.insert(weight_of(request, offer.node));
    for (const auto weight : weights) {
      std::vector<Offer> allowed_now;
      for (const auto& offer : offers) {
        const bool required = std::ranges::find(request.required, offer.node) != request.required.end();
        if (required || weight_of(request, offer.node) <= weight) allowed_now.push_back(offer);
      }
      if (auto parts = choose(request, allowed_now); !parts.empty()) return parts;
    }
    return {};
  }

  // Whether shares would come from a device that nobody uses.
  Amount begins(const GresNeed& need, const Node& node, const Amounts& free) const {
    for (const auto& [name, left] : free.device)
      if (node.shares == need.shares_of && wanted(need, name.first, node.devices.at(name).type) &&
          left < node.total.device.at(name) && left >= need.count)
        return 0;
    return 1;
  }
  // What popular jobs can use less of, if the node takes as much of the job as it can.
  std::int64_t growth_on(const Request& request, const Offer& offer) const {
    const Node& node = nodes_[offer.node];
    Amount whole = 0;
    std::vector<Amount> shares;
    std::vector<Amount> job_gres;
    const Amount tasks = request.tasks_fixed ? std::min<Amount>(offer.tasks, request.tasks) : request.tasks_per_node;
    const auto want = [&](const GresNeed& need, Amount count, Amount lots) {
      if (need.is_gpu) whole += count * lots;
      for (; need.is_shares() && lots > 0; --lots) shares.push_back(count);
    };
    for (const auto& need : request.gres_per_node) want(need, need.count, 1);
    for (const auto& need : request.gres_per_task) want(need, need.count, std::max<Amount>(1, tasks));
    for (std::size_t i = 0; i < request.gres_per_job.size(); ++i) {
      job_gres.push_back(std::min(job_gres_of(request, i, node, offer.free), request.gres_per_job[i].count));
      want(request.gres_per_job[i], job_gres[i], 1);
    }
    GpuNode before{
        std::max<Amount>(0, offer.free.cpu), consumable() ? std::max<Amount>(0, offer.free.mem) : 0, 0, {}};
    Amount in_one = 0;
    for (const auto& [name, device] : node.devices) {
      if (name.first != "gpu") continue;
      const Amount all = node.total.device.at(name), left = offer.free.device.at(name);
      if (before.free.empty()) in_one = all;
      for (const auto id : columns_.gres_ids("gpu", {}))
        if (before.free.empty() && columns_.gres_type(id) == device.type) before.model = id % 64;
      before.free.push_back(static_cast<std::uint32_t>(std::clamp<Amount>(left, 0, all) * 1000 / all));
    }
    if (before.free.empty() || request.exclusive) return 0;
    GpuNode after = before;
    const Amount cpus = cpus_needed(request, node, tasks, job_gres);
    Amount memory = 0;
    if (request.memory == MemoryNeed::PerNode) memory = request.memory_mib;
    if (request.memory == MemoryNeed::PerCpu) memory = memory_for(request, node, cpus);
    if (request.memory == MemoryNeed::PerTask) memory = request.memory_mib * std::max<Amount>(1, tasks);
    if (request.memory == MemoryNeed::PerGpu) memory = request.memory_mib * gpus_of(request, job_gres);
    after.cpu = std::max<Amount>(0, before.cpu - cpus);
    after.memory = std::max<Amount>(0, before.memory - memory);
    for (auto& free : after.free)
      if (whole > 0 && free == 1000) free = 0, --whole;
    for (const Amount count : shares) {
      const auto share = static_cast<std::uint32_t>(std::min<Amount>(count * 1000 / in_one, 1000));
      std::vector<std::uint32_t*> fit;
      for (auto& free : after.free)
        if (free >= share) fit.push_back(&free);
      if (!fit.empty()) **std::ranges::min_element(fit, {}, [](auto* free) { return *free; }) -= share;
    }
    return fragmentation(after, popular_) - fragmentation(before, popular_);
  }
  // All jobs that wait or run, counted one by one.
  std::vector<GpuShape> most_popular() const {
    std::vector<GpuShape> all;
    for (const auto* jobs : {&view_.pending, &view_.active})
      jobs->for_each([&](std::uint32_t, const model::JobPtr& job) {
        const auto shape = gpu_shape(*view_.config, columns_, *job->spec, share_unit_of(view_));
        if (shape) all.push_back(*shape);
        if (shape && job->array_pending) all.back().weight = job->array_pending->size();
      });
    auto popular = popular_shapes(all);
    if (popular.size() > kMostPopular) popular.resize(kMostPopular);
    return popular;
  }
  const std::vector<GpuShape> popular_ = most_popular();

  // weight, growth of fragments, GRES left over, CPUs left over, number
  std::tuple<std::uint32_t, std::int64_t, Amount, Amount, std::uint32_t> fit(
      const Request& request, const Offer& offer, Amount tasks, const std::vector<Amount>& job_gres) const {
    const Node& node = nodes_[offer.node];
    std::vector<Amount> here;
    for (std::size_t i = 0; i < job_gres.size(); ++i)
      here.push_back(std::min(job_gres_of(request, i, node, offer.free), std::max<Amount>(job_gres[i], 1)));
    const Amount cpus = offer.judged.cpu - cpus_needed(request, node, tasks, here);
    Amount gres = 0;
    for (const auto& [kind, count] : offer.judged.gres) gres += count;
    for (const auto& [name, free] : offer.judged.device) gres += free == node.total.device.at(name);
    for (const auto& need : request.gres_per_node)
      gres -= need.is_shares() ? begins(need, node, offer.judged) : need.count;
    for (const auto& need : request.gres_per_task)
      gres -= need.is_shares() ? 0 : need.count * std::max<Amount>(tasks, 1);
    for (std::size_t i = 0; i < here.size(); ++i) gres -= request.gres_per_job[i].is_shares() ? 0 : here[i];
    return {weight_of(request, offer.node), on_empty_ ? 0 : growth_on(request, offer), gres,
            request.least_loaded ? -cpus : cpus, offer.node};
  }

  std::vector<Part> choose(const Request& request, const std::vector<Offer>& offers) {
    if (offers.size() < request.min_nodes) return {};
    Amount wanted = request.min_nodes;
    if (request.spread) {
      Amount most = std::min<Amount>(static_cast<Amount>(offers.size()), request.max_nodes);
      if (request.tasks_fixed) most = std::min<Amount>(most, request.tasks);
      if (request.segment > 1) most -= most % request.segment;
      wanted = std::max(wanted, most);
    }
    const bool free = !request.contiguous && request.features.one_of.empty() && request.features.counts.empty() &&
                      request.most_leaves == 0 && request.segment == 0;
    const Amount step = std::max<Amount>(1, request.segment);
    for (; !free && wanted - step >= Amount{request.min_nodes}; wanted -= step)
      if (auto parts = choose(request, offers, wanted); !parts.empty()) return parts;
    for (; wanted <= Amount{request.max_nodes}; wanted += step) {
      if (auto parts = choose(request, offers, wanted); !parts.empty()) return parts;
      if (request.segment <= 1 || wanted > static_cast<Amount>(offers.size())) break;
    }
    return {};
  }
  std::vector<Part> choose(const Request& request, const std::vector<Offer>& offers, Amount wanted) {
    // One node that takes it all has no neighbours to look for.
    for (const auto& offer : offers)
      if (wanted == 1 && request.required.empty() && request.features.counts.empty() &&
          request.features.one_of.empty() && enough(request, {offer}, 1))
        return pick(request, offers, wanted);
    if (request.contiguous) return choose_neighbours(request, offers, wanted);
    if (request.topology && request.max_nodes > 1) return choose_leaves(request, offers, wanted);
    return pick(request, offers, wanted);
  }

  // Whether nodes come to enough in all.
  bool enough(const Request& request, const std::vector<Offer>& offers, Amount wanted) const {
    Amount tasks = 0;
    std::vector<Amount> gres(request.gres_per_job.size());
    std::set<std::uint32_t> nodes;
    for (const auto& offer : offers) {
      nodes.insert(offer.node);
      tasks += offer.tasks;
      for (std::size_t g = 0; g < gres.size(); ++g)
        gres[g] += job_gres_of(request, g, nodes_[offer.node], offer.free);
    }
    for (std::size_t g = 0; g < gres.size(); ++g)
      if (gres[g] < request.gres_per_job[g].count) return false;
    for (const auto node : request.required)
      if (!nodes.contains(node)) return false;
    return static_cast<Amount>(nodes.size()) >= wanted && (!request.tasks_fixed || tasks >= request.tasks);
  }

  std::vector<Part> choose_neighbours(const Request& request, const std::vector<Offer>& offers, Amount wanted) {
    using Key = std::tuple<std::size_t, std::size_t, std::size_t>;  // length, length of the row of free ones, where
    std::map<Key, std::vector<Offer>> runs;
    for (std::size_t from = 0; from < offers.size(); ++from) {
      std::size_t begin = from, end = from + 1;
      while (begin > 0 && offers[begin - 1].node + 1 == offers[begin].node) --begin;
      while (end < offers.size() && offers[end].node == offers[end - 1].node + 1) ++end;
      std::vector<Offer> run;
      for (std::size_t i = from; i < end; ++i) {
        run.push_back(offers[i]);
        if (!enough(request, run, wanted)) continue;
        if (run.size() <= request.max_nodes) runs[{run.size(), end - begin, from}] = run;
        break;
      }
    }
    for (const auto& [key, run] : runs)
      if (auto parts = pick(request, run, static_cast<Amount>(run.size())); !parts.empty()) return parts;
    return {};
  }

  // ---- leaves
  using Leaves = std::map<std::uint32_t, std::vector<Offer>>;
  Amount size_of_leaf(const Request& request, const std::vector<Offer>& leaf, int measure) const {
    Amount size = 0;
    for (const auto& offer : leaf)
      size += measure == 0 ? 1 : measure == 1 ? offer.tasks : job_gres_of(request, 0, nodes_[offer.node], offer.free);
    if (measure == 1) size = std::min<Amount>(size, request.tasks);
    if (measure == 2) size = std::min<Amount>(size, request.gres_per_job[0].count);
    return size;
  }
  static bool is_required(const Request& request, const Offer& offer) {
    return std::ranges::find(request.required, offer.node) != request.required.end();
  }
  // Leaves with nodes asked for by name first, then the largest.
  std::vector<std::uint32_t> largest_first(const Request& request, const Leaves& leaves, int measure) const {
    std::vector<std::tuple<bool, Amount, std::uint32_t>> order;
    for (const auto& [leaf, offers] : leaves) {
      const bool required =
          std::ranges::any_of(offers, [&](const Offer& offer) { return is_required(request, offer); });
      order.emplace_back(!required, -size_of_leaf(request, offers, measure), leaf);
    }
    std::ranges::sort(order);
    std::vector<std::uint32_t> sorted;
    for (const auto& [required, size, leaf] : order) sorted.push_back(leaf);
    return sorted;
  }
  static std::vector<Offer> join(const Leaves& leaves, const std::vector<std::uint32_t>& chosen) {
    std::vector<Offer> all;
    for (const auto leaf : chosen) all.insert(all.end(), leaves.at(leaf).begin(), leaves.at(leaf).end());
    return all;
  }
  std::vector<int> measures(const Request& request) const {
    if (!request.gres_per_job.empty()) return {2, 1, 0};
    return request.tasks_fixed ? std::vector<int>{1, 0} : std::vector<int>{0};
  }
  // So many of the leaves: all but the last are the largest, the last is the smallest that will do.
  std::vector<Part> choose_among(const Request& request, const Leaves& leaves, Amount wanted, std::size_t count) {
    for (const int measure : measures(request)) {
      const auto order = largest_first(request, leaves, measure);
      if (order.size() < count) return {};
      std::vector<std::uint32_t> chosen(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
      if (!enough(request, join(leaves, chosen), wanted)) continue;
      const auto last = chosen.back();
      for (std::size_t i = order.size(); i-- >= count;) {
        const auto& offers = leaves.at(last);
        if (std::ranges::any_of(offers, [&](const Offer& offer) { return is_required(request, offer); })) break;
        chosen.back() = order[i];
        if (i < count || !enough(request, join(leaves, chosen), wanted)) continue;
        if (auto parts = pick_in(request, leaves, chosen, wanted); !parts.empty()) return parts;
        break;
      }
      chosen.back() = last;
      if (auto parts = pick_in(request, leaves, chosen, wanted); !parts.empty()) return parts;
    }
    return {};
  }
  std::vector<Part> pick_in(const Request& request, const Leaves& leaves, const std::vector<std::uint32_t>& chosen,
                            Amount wanted) {
    std::vector<Offer> offers = join(leaves, chosen);
    if (request.segment > 1 && static_cast<Amount>(offers.size()) > wanted)
      offers.resize(static_cast<std::size_t>(wanted));
    std::ranges::sort(offers, {}, &Offer::node);
    return pick(request, offers, wanted);
  }
  std::vector<Part> choose_leaves(const Request& request, const std::vector<Offer>& offers, Amount wanted) {
    Leaves leaves;
    for (const auto& offer : offers) leaves[request.topology->leaf(offer.node)].push_back(offer);
    if (request.segment > 1) keep_segments(request, leaves);
    for (std::size_t count = 1; count <= leaves.size(); ++count) {
      if (request.most_leaves > 0 && count > request.most_leaves) return {};
      if (!may_do(request, leaves, wanted, count)) continue;
      std::map<std::tuple<std::uint32_t, std::size_t, std::size_t>, Leaves> places;  // level, nodes, which
      for (std::size_t s = 0; s < request.topology->switches().size() && count > 1; ++s) {
        const auto& place = request.topology->switches()[s];
        Leaves below;
        std::size_t nodes = 0;
        for (const auto& [leaf, of_leaf] : leaves)
          if (leaf >= place.first_leaf && leaf < place.last_leaf) below[leaf] = of_leaf, nodes += of_leaf.size();
        if (may_do(request, below, wanted, count)) places[{place.level, nodes, s}] = below;
      }
      for (const auto& [key, below] : places)
        if (auto parts = choose_among(request, below, wanted, count); !parts.empty()) return parts;
      if (auto parts = choose_among(request, leaves, wanted, count); !parts.empty()) return parts;
    }
    return {};
  }
  bool may_do(const Request& request, const Leaves& leaves, Amount wanted, std::size_t count) const {
    for (const int measure : measures(request)) {
      auto order = largest_first(request, leaves, measure);
      if (order.size() < count) return false;
      order.resize(count);
      if (enough(request, join(leaves, order), wanted)) return true;
    }
    return false;
  }
  void keep_segments(const Request& request, Leaves& leaves) const {
    const std::vector<Amount> none(request.gres_per_job.size());
    const Amount tasks = request.tasks_fixed ? 1 : request.tasks_per_node;
    for (auto& [leaf, offers] : leaves) {
      std::ranges::sort(offers, {}, [&](const Offer& offer) {
        return std::tuple(!is_required(request, offer), request.tasks_fixed ? -offer.tasks : 0,
                          fit(request, offer, tasks, none));
      });
      // Each feature that so many nodes must have, as far as this leaf goes.
      std::vector<Offer> kept, rest;
      for (const auto& offer : offers) (is_required(request, offer) ? kept : rest).push_back(offer);
      const auto missing = [&](const Offer& offer) {
        Amount found = 0;
        for (const auto& count : request.features.counts) {
          const auto has = [&](const Offer& one) { return holds(request.features, count.term, one.node); };
          found += has(offer) && std::ranges::count_if(kept, has) < Amount{count.nodes};
        }
        return found;
      };
      while (!rest.empty()) {
        std::size_t best = 0;
        for (std::size_t i = 1; i < rest.size(); ++i)
          if (missing(rest[i]) > missing(rest[best])) best = i;
        kept.push_back(rest[best]);
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(best));
      }
      offers = kept;
      offers.resize(offers.size() / request.segment * request.segment);
    }
    std::erase_if(leaves, [](const auto& leaf) { return leaf.second.empty(); });
  }

  std::vector<Part> pick(const Request& request, std::vector<Offer> offers, Amount wanted) {
    if (static_cast<Amount>(offers.size()) < wanted || wanted > request.max_nodes) return {};
    if (static_cast<Amount>(request.required.size()) > wanted) return {};
    Amount tasks_left = request.tasks_fixed ? request.tasks : 0;
    std::vector<Amount> gres_left;
    for (const auto& need : request.gres_per_job) gres_left.push_back(need.count);
    std::vector<Offer> chosen;

    const auto after_next = [&] { return std::max<Amount>(0, wanted - static_cast<Amount>(chosen.size()) - 1); };
    const auto next_tasks = [&] {
      return request.tasks_fixed ? std::max<Amount>(0, tasks_left - after_next()) : request.tasks_per_node;
    };
    const auto next_gres = [&] {
      std::vector<Amount> next;
      for (const auto left : gres_left) next.push_back(std::max<Amount>(0, left - after_next()));
      return next;
    };
    const auto take = [&](std::size_t i) {
      const auto tasks = next_tasks();
      const auto gres = next_gres();
      if (request.tasks_fixed) tasks_left -= std::min(offers[i].tasks, tasks);
      for (std::size_t g = 0; g < gres.size(); ++g)
        gres_left[g] -= std::min(job_gres_of(request, g, nodes_[offers[i].node], offers[i].free), gres[g]);
      chosen.push_back(offers[i]);
      offers.erase(offers.begin() + static_cast<std::ptrdiff_t>(i));
    };
    for (const auto n : request.required) {
      const auto at = std::ranges::find(offers, n, &Offer::node);
      if (at == offers.end()) return {};
      take(static_cast<std::size_t>(at - offers.begin()));
    }
    const auto open = [&] {
      return static_cast<Amount>(chosen.size()) < wanted || tasks_left > 0 ||
             std::ranges::any_of(gres_left, [](Amount left) { return left > 0; });
    };
    // How many of the features that too few nodes have so far this one has.
    const auto missing = [&](const Offer& offer) {
      int found = 0;
      for (const auto& count : request.features.counts) {
        const auto has = [&](const Offer& one) { return holds(request.features, count.term, one.node); };
        if (std::ranges::count_if(chosen, has) < Amount{count.nodes} && has(offer)) ++found;
      }
      return found;
    };
    const auto lacks = [&](const FeatureCount& count) {
      const auto has = [&](const Offer& one) { return holds(request.features, count.term, one.node); };
      return std::ranges::count_if(chosen, has) < Amount{count.nodes};
    };
    for (;;) {
      const bool counting = std::ranges::any_of(request.features.counts, lacks);
      if (!counting && !open()) break;
      if (chosen.size() >= request.max_nodes) return {};
      const auto tasks = next_tasks();
      const auto gres = next_gres();
      // Those that can take all of it come first, by best fit; then the roomiest.
      const auto rank = [&](const Offer& offer) {
        bool all = offer.tasks >= tasks;
        Amount room = 0;
        for (std::size_t g = 0; g < gres.size(); ++g) {
          const Amount has = job_gres_of(request, g, nodes_[offer.node], offer.free);
          all = all && has >= gres[g];
          room += std::min(has, gres[g]);
        }
        const Amount useful = std::min(offer.tasks, tasks);
        return std::tuple(counting ? -missing(offer) : 0, all ? 0 : 1, all ? 0 : -room, all ? 0 : -useful,
                          fit(request, offer, useful, gres));
      };
      std::size_t best = offers.size();
      for (std::size_t i = 0; i < offers.size(); ++i)
        if (!counting || missing(offers[i]) > 0)
          if (best == offers.size() || rank(offers[i]) < rank(offers[best])) best = i;
      if (best == offers.size()) return {};
      take(best);
    }
    return lay_out(request, chosen);
  }

  std::vector<Part> lay_out(const Request& request, std::vector<Offer> chosen) {
    std::ranges::sort(chosen, {}, &Offer::node);
    std::vector<Part> parts;
    for (const auto& offer : chosen)
      parts.push_back({offer.node, request.tasks_fixed ? 0 : Amount{request.tasks_per_node},
                       std::vector<Amount>(request.gres_per_job.size())});
    // One for each while there are some; what remains goes to the first that have room (evenly on whole nodes).
    Amount tasks = request.tasks_fixed ? request.tasks : 0;
    for (std::size_t i = 0; i < parts.size() && tasks > 0; ++i) ++parts[i].tasks, --tasks;
    const Amount step = request.exclusive || request.even ? 1 : 1'000'000;
    for (Amount up_to = step; tasks > 0; up_to += step)
      for (std::size_t i = 0; i < parts.size(); ++i)
        for (; tasks > 0 && parts[i].tasks < std::min(up_to, chosen[i].tasks); --tasks) ++parts[i].tasks;
    for (std::size_t g = 0; g < request.gres_per_job.size(); ++g) {
      Amount left = request.gres_per_job[g].count;
      for (auto& part : parts)
        if (left > 0) ++part.job_gres[g], --left;
      for (std::size_t i = 0; i < parts.size() && left > 0; ++i) {
        const Amount more =
            std::min(left, job_gres_of(request, g, nodes_[chosen[i].node], chosen[i].free) - parts[i].job_gres[g]);
        parts[i].job_gres[g] += more;
        left -= more;
      }
    }
    return parts;
  }

  bool on_empty_ = false;  // whether it could run at all: then it does not matter what becomes of GPUs
};

}  // namespace spur::sched
