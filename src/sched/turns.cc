// SPDX-License-Identifier: Apache-2.0
#include "sched/turns.h"

#include "base/check.h"

namespace spur::sched {

// The last block that begins at or before it, or the first.
std::size_t Turns::block_of(const Turn& turn) const {
  const auto after =
      std::ranges::partition_point(blocks_, [&](const auto& block) { return !(turn < block.front()); });
  return after == blocks_.begin() ? 0 : static_cast<std::size_t>(after - blocks_.begin()) - 1;
}

void Turns::insert(const Turn& turn) {
  if (blocks_.empty()) {
    blocks_.push_back({turn});
    first_ = turn;
    return;
  }
  const std::size_t b = block_of(turn);
  auto& block = blocks_[b];
  const auto at = std::ranges::partition_point(block, [&](const Turn& other) { return other < turn; });
  SPUR_CHECK_MSG(at == block.end() || turn < *at, "a job has one turn");
  const bool last = b + 1 == blocks_.size() && at == block.end();
  block.insert(at, turn);
  if (block.size() > kBlock) {
    // Most come last: then the block before stays full.
    const auto keep = static_cast<std::ptrdiff_t>(last ? kBlock : kBlock / 2);
    std::vector<Turn> second(block.begin() + keep, block.end());
    block.resize(static_cast<std::size_t>(keep));
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(b) + 1, std::move(second));
  }
  first_ = blocks_.front().front();
}

void Turns::erase(const Turn& turn) {
  SPUR_CHECK_MSG(!blocks_.empty(), "who leaves was there");
  const std::size_t b = block_of(turn);
  auto& block = blocks_[b];
  const auto at = std::ranges::partition_point(block, [&](const Turn& other) { return other < turn; });
  SPUR_CHECK_MSG(at != block.end() && at->job == turn.job, "who leaves was there");
  block.erase(at);
  if (block.empty()) blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(b));
  if (!blocks_.empty()) first_ = blocks_.front().front();
}

}  // namespace spur::sched
