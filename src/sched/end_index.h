// SPDX-License-Identifier: Apache-2.0
// All moments at which running jobs give something back, over the whole cluster and in order of time. The search for
// an earliest start walks it from the front, so an entry carries what most of them are passed over by: the node and
// how many of its CPUs are free from then on. Kept in blocks, so that a change moves a few kilobytes at most.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "sched/capacity.h"

namespace spur::sched {

class EndIndex {
 public:
  struct End {
    Time at;
    NodeNumber node = 0;
    std::int32_t cpus = 0;  // free on the node from then on; no part of the order
    friend bool operator==(const End&, const End&) = default;
    friend bool operator<(const End& a, const End& b) { return a.at != b.at ? a.at < b.at : a.node < b.node; }
  };

  void clear() { blocks_.clear(); }
  // Replaces everything, in any order.
  void assign(std::vector<End> ends);
  // A node has one end at a time.
  void add(const End& end);
  // It must be there, as in the next one.
  void remove(Time at, NodeNumber node);
  // The i-th of the node's ends, which ascend, has cpus_of(i).
  template <class F>
  void set_cpus(NodeNumber node, std::span<const Time> at, F cpus_of);
  std::size_t size() const;

  // Walks from the front.
  class Cursor {
   public:
    explicit Cursor(const EndIndex& index) : index_(index) {}
    const End* get() const { return block_ < index_.blocks_.size() ? &index_.blocks_[block_][at_] : nullptr; }
    void next() {
      if (++at_ == index_.blocks_[block_].size()) ++block_, at_ = 0;
    }
    // Passes over entries with fewer CPUs.
    void skip_below(std::int32_t cpus);

   private:
    const EndIndex& index_;
    std::size_t block_ = 0, at_ = 0;
  };

 private:
  static constexpr std::size_t kBlock = 512;
  std::size_t block_of(const End& end) const;

  std::vector<std::vector<End>> blocks_;  // none of them empty
};

template <class F>
void EndIndex::set_cpus(NodeNumber node, std::span<const Time> at, F cpus_of) {
  // The next one is often the very next entry: where few nodes have many jobs each, this is a walk.
  std::vector<End>* block = nullptr;
  std::size_t next = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const End key{at[i], node, 0};
    if (!block || next >= block->size() || block->back() < key) {
      block = &blocks_[block_of(key)];
      next = 0;
    }
    if ((*block)[next] < key)
      next = static_cast<std::size_t>(std::ranges::lower_bound(block->begin() + static_cast<std::ptrdiff_t>(next),
                                                               block->end(), key, std::less{}) -
                                      block->begin());
    SPUR_CHECK_MSG(next < block->size() && (*block)[next].at == at[i] && (*block)[next].node == node,
                   "every end is in the index once");
    (*block)[next++].cpus = cpus_of(i);
  }
}

}  // namespace spur::sched
