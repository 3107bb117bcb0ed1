// SPDX-License-Identifier: Apache-2.0
// Node features as a job asks for them (-C, --prefer):
//
//   red&big, red|big, !red, (a&b)|c   what every node must have; without parentheses from left to right, as in Slurm
//   [rack1|rack2]                     all nodes have the same one of these
//   gpu*2&big                         at least two nodes with gpu; all with big
//   [rack1*2&rack2*4]                 two nodes of the one and four of the other
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/node.h"

namespace spur::sched {

// A formula over names. Its terms come behind it in the list of the request.
struct FeatureTerm {
  enum class Op : std::uint8_t { Name, Not, And, Or };
  Op op = Op::Name;
  std::string name;                   // of Op::Name
  std::uint32_t left = 0, right = 0;  // positions in FeatureRequest::terms; Not has only `left`
  friend bool operator==(const FeatureTerm&, const FeatureTerm&) = default;
};

struct FeatureCount {
  std::uint32_t term = 0, nodes = 0;
  friend bool operator==(const FeatureCount&, const FeatureCount&) = default;
};

struct FeatureRequest {
  std::vector<FeatureTerm> terms;
  std::vector<std::uint32_t> all;     // positions of terms that every node satisfies
  std::vector<std::uint32_t> one_of;  // of alternatives: every node satisfies the same one
  std::vector<FeatureCount> counts;   // at least so many nodes each
  bool counts_add_up = false;         // in brackets: the nodes of one count are not those of another
  bool empty() const { return terms.empty(); }
  // Whether nodes are chosen one by one, without a look at the others.
  bool is_per_node() const { return one_of.empty() && counts.empty(); }
  // The fewest nodes that can satisfy it.
  std::uint32_t least_nodes() const;
  friend bool operator==(const FeatureRequest&, const FeatureRequest&) = default;
};

inline constexpr std::size_t kMaxFeatureGroups = 16;  // alternatives, and counts: a bit each in FeatureBits
using FeatureBits = std::uint32_t;                    // alternatives from bit 0, counts from bit 16

// InvalidFeature for what is not understood.
Result<FeatureRequest> parse_features(std::string_view text);

// Whether the node may be one of the job's.
bool has_features(const model::Node& node, const FeatureRequest& request);
// Which alternatives and counts it satisfies.
FeatureBits feature_bits(const model::Node& node, const FeatureRequest& request);

}  // namespace spur::sched
