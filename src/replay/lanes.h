// SPDX-License-Identifier: Apache-2.0
// Which processors a job would be drawn on: a pool has no numbers, a picture needs them. The lowest free ones, in as
// many pieces as it takes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace spur::replay {

struct Piece {
  std::uint32_t first = 0, count = 0;
};

class Lanes {
 public:
  explicit Lanes(std::uint32_t processors) { free_[0] = processors; }

  // Fewer than `count` where there are not as many.
  std::vector<Piece> take(std::uint32_t count) {
    std::vector<Piece> pieces;
    while (count > 0 && !free_.empty()) {
      const auto lowest = free_.begin();
      const Piece piece{lowest->first, std::min(count, lowest->second)};
      const std::uint32_t left = lowest->second - piece.count;
      free_.erase(lowest);
      if (left > 0) free_[piece.first + piece.count] = left;
      pieces.push_back(piece);
      count -= piece.count;
    }
    return pieces;
  }

  void give_back(const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) {
      auto at = free_.emplace(piece.first, piece.count).first;
      if (const auto next = std::next(at); next != free_.end() && at->first + at->second == next->first) {
        at->second += next->second;
        free_.erase(next);
      }
      if (at != free_.begin()) {
        const auto before = std::prev(at);
        if (before->first + before->second == at->first) {
          before->second += at->second;
          free_.erase(at);
        }
      }
    }
  }

 private:
  std::map<std::uint32_t, std::uint32_t> free_;  // first -> how many; never touching each other
};

}  // namespace spur::replay
