// SPDX-License-Identifier: Apache-2.0
#include "sched/end_index.h"

#include <functional>

namespace spur::sched {

void EndIndex::assign(std::vector<End> ends) {
  blocks_.clear();
  std::ranges::sort(ends, std::less{});
  for (std::size_t at = 0; at < ends.size(); at += kBlock) {
    const auto first = ends.begin() + static_cast<std::ptrdiff_t>(at);
    blocks_.emplace_back(first, first + static_cast<std::ptrdiff_t>(std::min(kBlock, ends.size() - at)));
  }
}

// The last block that begins at or before it, or the first.
std::size_t EndIndex::block_of(const End& end) const {
  const auto after =
      std::ranges::upper_bound(blocks_, end, std::less{}, [](const auto& block) { return block.front(); });
  return after == blocks_.begin() ? 0 : static_cast<std::size_t>(after - blocks_.begin()) - 1;
}

void EndIndex::add(const End& end) {
  if (blocks_.empty()) {
    blocks_.push_back({end});
    return;
  }
  const std::size_t b = block_of(end);
  auto& block = blocks_[b];
  block.insert(std::ranges::upper_bound(block, end, std::less{}), end);
  if (block.size() < 2 * kBlock) return;
  std::vector<End> second(block.begin() + kBlock, block.end());
  block.resize(kBlock);
  blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(b) + 1, std::move(second));
}

void EndIndex::remove(Time at, NodeNumber node) {
  const End key{at, node, 0};
  const std::size_t b = block_of(key);
  auto& block = blocks_[b];
  const auto found = std::ranges::lower_bound(block, key, std::less{});
  SPUR_CHECK_MSG(found != block.end() && found->at == at && found->node == node, "every end is in the index once");
  block.erase(found);
  if (block.empty()) blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(b));
}

std::size_t EndIndex::size() const {
  std::size_t count = 0;
  for (const auto& block : blocks_) count += block.size();
  return count;
}

void EndIndex::Cursor::skip_below(std::int32_t cpus) {
  for (; block_ < index_.blocks_.size(); ++block_, at_ = 0) {
    const auto& block = index_.blocks_[block_];
    while (at_ < block.size() && block[at_].cpus < cpus) ++at_;
    if (at_ < block.size()) return;
  }
}

}  // namespace spur::sched
