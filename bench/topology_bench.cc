// SPDX-License-Identifier: Apache-2.0
// How well and how fast jobs are placed on a tree of switches: 64 random clusters, half full, jobs of random width.
// Prints the share of placements that span the fewest leaf switches possible, and the time of one placement. The
// least is exact: nodes are counted per leaf, and the leaves that have most are taken until they are enough.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "sched/placement.h"

using namespace spur;
using namespace spur::sched;

int main() {
  std::mt19937_64 dice(1);
  std::size_t placements = 0, least = 0;
  std::chrono::nanoseconds spent{0};
  for (int cluster = 0; cluster < 64; ++cluster) {
    const auto leaves = static_cast<std::uint32_t>(8 + dice() % 120);
    const std::uint32_t nodes = leaves * static_cast<std::uint32_t>(8 + dice() % 40);
    model::TopologyConfig config;
    config.kind = model::TopologyKind::Tree;
    std::vector<std::string> lists(leaves);
    for (std::uint32_t n = 0; n < nodes; ++n) {
      auto& list = lists[dice() % leaves];
      list += (list.empty() ? "" : ",") + std::to_string(n);
    }
    for (std::uint32_t s = 0; s < leaves; ++s)
      if (!lists[s].empty()) config.switches.push_back({"leaf" + std::to_string(s), lists[s], "", s});
    for (std::uint32_t s = 0; s < leaves; s += 16) {
      std::string below;
      for (std::uint32_t leaf = s; leaf < std::min(leaves, s + 16); ++leaf)
        if (!lists[leaf].empty()) below += (below.empty() ? "leaf" : ",leaf") + std::to_string(leaf);
      config.switches.push_back({"spine" + std::to_string(s / 16), "", below, 0});
    }
    const auto find = [](std::string_view name) { return static_cast<std::uint32_t>(std::stoul(std::string(name))); };
    const auto made = Topology::make(config, nodes, find, false);
    if (!made) return std::fprintf(stderr, "%s\n", made.error().message.c_str()), 1;
    const auto topology = std::make_shared<const Topology>(*made);
    for (int draw = 0; draw < 50; ++draw) {
      std::vector<Offer> offers;
      std::vector<std::uint32_t> free(topology->leaves());
      for (std::uint32_t n = 0; n < nodes; ++n) {
        if (dice() % 2 == 0) continue;
        Offer offer;
        offer.node = n;
        offer.tasks = 1;
        offer.cpus = 1;
        offers.push_back(offer);
        ++free[topology->leaf(n)];
      }
      Request request;
      request.topology = topology;
      request.tasks = request.tasks_per_node = 1;
      request.min_nodes = static_cast<std::uint32_t>(2 + dice() % (nodes / 3));
      const auto begin = std::chrono::steady_clock::now();
      const auto shares = choose(request, offers);
      spent += std::chrono::steady_clock::now() - begin;
      if (shares.empty()) continue;
      std::ranges::sort(free, std::greater{});
      std::size_t best = 0;
      for (std::uint32_t sum = 0; sum < request.min_nodes; ++best) sum += free[best];
      std::set<std::uint32_t> spanned;
      for (const auto& share : shares) spanned.insert(topology->leaf(share.node));
      ++placements;
      least += spanned.size() == best;
    }
  }
  std::printf("%zu placements, %.2f %% on the fewest leaves, %.1f us each\n", placements,
              100.0 * static_cast<double>(least) / static_cast<double>(placements),
              std::chrono::duration<double, std::micro>(spent).count() / static_cast<double>(placements));
  return 0;
}
