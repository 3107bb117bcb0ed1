// SPDX-License-Identifier: Apache-2.0
// The jobs of one priority group in order. Kept in blocks, because a queue of a million jobs is walked at the front
// and changed at both ends; the first one is kept beside them, because a walk that asks five hundred groups whose
// turn it is must not fetch a far place of memory for each.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "base/ids.h"

namespace spur::sched {

// A job's place inside its priority group.
struct Turn {
  std::int64_t order = 0;
  JobId job;
  std::uint32_t slot = 0;  // the backlog's number of the job; no part of the order
  friend bool operator<(const Turn& a, const Turn& b) {
    return a.order != b.order ? a.order < b.order : a.job < b.job;
  }
  friend bool operator==(const Turn&, const Turn&) = default;
};

class Turns {
 public:
  // Valid until something changes.
  class const_iterator {
   public:
    using value_type = Turn;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;
    using pointer = const Turn*;
    using reference = const Turn&;
    const_iterator() = default;
    reference operator*() const { return block_ + at_ == 0 ? turns_->first_ : turns_->blocks_[block_][at_]; }
    pointer operator->() const { return &**this; }
    const_iterator& operator++() {
      if (++at_ == turns_->blocks_[block_].size()) ++block_, at_ = 0;
      return *this;
    }
    const_iterator operator++(int) {
      const const_iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const const_iterator& a, const const_iterator& b) {
      return a.block_ == b.block_ && a.at_ == b.at_;
    }

   private:
    friend class Turns;
    const_iterator(const Turns* turns, std::size_t block, std::size_t at) : turns_(turns), block_(block), at_(at) {}
    const Turns* turns_ = nullptr;
    std::size_t block_ = 0, at_ = 0;
  };

  const_iterator begin() const { return {this, 0, 0}; }
  const_iterator end() const { return {this, blocks_.size(), 0}; }
  bool empty() const { return blocks_.empty(); }

  // It must not be there.
  void insert(const Turn& turn);
  // It must be there.
  void erase(const Turn& turn);
  // The first turn that is_before is false for; it has to be true for all before that one.
  template <class IsBefore>
  const_iterator lower_bound(IsBefore is_before) const {
    auto block = std::ranges::partition_point(blocks_, [&](const auto& one) { return is_before(one.back()); });
    if (block == blocks_.end()) return end();
    const auto at = std::ranges::partition_point(*block, is_before);
    return {this, static_cast<std::size_t>(block - blocks_.begin()), static_cast<std::size_t>(at - block->begin())};
  }

 private:
  static constexpr std::size_t kBlock = 128;
  std::size_t block_of(const Turn& turn) const;

  Turn first_;                             // if there is any
  std::vector<std::vector<Turn>> blocks_;  // none of them empty
};

}  // namespace spur::sched
