// SPDX-License-Identifier: Apache-2.0
// All moments at which running jobs give something back, over the whole cluster and in order of time. The search for
// an earliest start walks it from the front, so an entry carries what most of them are passed over by: the node and
// how many of its CPUs are free from then on. Kept in blocks, so that a change moves a few kilobytes at most.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "sched/capacity.h"

namespace spur::sched {

class EndIndex {
 public:
  struct End {
    Time at;
    NodeNumber node = 0;
    std::int32_t cpus = 0;  // free on the node from then on
    friend auto operator<=>(const End&, const End&) = default;
  };

  void clear() { blocks_.clear(); }
  // Replaces everything, in any order.
  void assign(std::vector<End> ends);
  void add(const End& end);
  // It must be there.
  void remove(const End& end);
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

}  // namespace spur::sched
